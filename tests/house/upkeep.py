"""Every file says what it is, is used by something, and every test is registered."""
import fnmatch
import os
import re

from layout import ALLOWED, Targets, cmake_calls, folder_of
from functions import functions_of
from tree import CPP, Violation, matches

KINDS = ("unit", "scenario", "sim", "replay", "fuzz", "bench", "system", "house")
COMMENTS = {
    ".cpp": "//",
    ".h": ("//", "/*"),
    ".sql": "--",
    ".py": ("#!", '"""', "#"),
    ".cmake": "#",
    "CMakeLists.txt": "#",
}
README_FOLDERS = (*ALLOWED, "sql", "contrib", "tests")


def check_comments(tree):
    found = []
    for path in tree.files:
        for ending, begin in COMMENTS.items():
            is_test_list = ending == "CMakeLists.txt" and path.count("/") > 1
            if path.endswith(ending) and not is_test_list and not tree.text(path).startswith(begin):
                found.append(Violation(path, 1, "begin with a comment saying what this file is"))
    for folder in README_FOLDERS:
        if tree.under(folder, ends=CPP + (".sql", ".py")) and not tree.exists(
            folder + "/README.md"
        ):
            found.append(
                Violation(folder, 0, "has no README.md saying what it is for and what it may use")
            )
    return found


def check_links(tree):
    """A page's links to files of the project lead somewhere."""
    found = []
    for path in tree.under(ends=".md"):
        for line, match in matches(tree.text(path), r"\]\(([^)#\s]+)(?:#[^)\s]*)?\)"):
            target = match.group(1)
            if "://" in target or target.startswith("mailto:"):
                continue
            if not tree.exists(os.path.normpath(os.path.join(os.path.dirname(path), target))):
                found.append(Violation(path, line, f"the link to {target} leads nowhere"))
    return found


def check_dead(tree):
    """Headers that nobody includes, sources that no target has, scripts that nobody names."""
    included = set()
    for path in tree.cpp:
        own = re.sub(r"\.(?:cpp|h)$", "", path)
        for header in re.findall(r'(?m)^\s*#\s*include\s*"([^"]+)"', tree.text(path)):
            near = f"{os.path.dirname(path)}/{header}"
            header = near if "/" not in header and tree.exists(near) else header
            if re.sub(r"\.h$", "", header) != own:
                included.add(header)
    targets = Targets(tree.text("CMakeLists.txt")) if tree.exists("CMakeLists.txt") else Targets("")
    found = []
    for path in tree.cpp:
        if path.endswith(".h") and path not in included:
            found.append(
                Violation(path, 0, "no other file includes it: remove it, or move it into its .cpp")
            )
        elif path.endswith(".cpp") and not is_built(tree, path, targets):
            found.append(
                Violation(path, 0, "no target has it: remove it, or name it in a CMakeLists.txt")
            )
    return found + unnamed_scripts(tree)


def is_built(tree, path, targets):
    if path in targets.mains or path.startswith("tests/"):
        return True  # Tests: see check_registered.
    if path.startswith("contrib/"):
        return False
    folder = os.path.dirname(path)
    if folder in targets.folder.values():
        return True
    return any(folder.startswith(parent + "/") for parent in targets.recursive)


def unnamed_scripts(tree):
    found = []
    scripts = [
        path
        for path in tree.under("tests", "contrib", "cmake")
        if path.endswith((".py", ".sh", ".cmake"))
    ]
    for path in scripts:
        name = os.path.basename(path)
        stem = name.rsplit(".", 1)[0]
        wanted = re.compile(
            rf"\b{re.escape(name)}\b|\b(?:import|from)\s+[\w., ]*\b{re.escape(stem)}\b"
        )
        listing = os.path.dirname(path) + "/CMakeLists.txt"
        if tree.exists(listing) and names_test(tree, listing, path):
            continue
        if not any(other != path and wanted.search(tree.text(other)) for other in tree.files):
            found.append(
                Violation(path, 0, "nothing names it: register it, mention it or remove it")
            )
    return found


def check_registered(tree):
    """Each test source stands in a CMakeLists.txt at or above it, under the label of its folder."""
    found = []
    lists = [path for path in tree.under("tests") if os.path.basename(path) == "CMakeLists.txt"]
    functions = tree.under("cmake", ends=".cmake")
    for path in tree.under("tests", ends=".cpp"):
        above = [one for one in lists if path.startswith(os.path.dirname(one) + "/")]
        name = re.compile(rf"(?<![\w.]){re.escape(os.path.basename(path))}\b")
        if path.startswith("tests/support/"):
            continue  # A library of its own, by glob.
        if not any(name.search(tree.text(one)) for one in above + functions):
            found.append(Violation(path, 0, "no CMakeLists.txt names it, so it never runs"))
    for path in tree.under("tests", ends=".py"):
        if os.path.basename(path).startswith("test_") or path.endswith("_test.py"):
            if not any(names_test(tree, one, path) for one in lists):
                found.append(Violation(path, 0, "no CMakeLists.txt names it, so it never runs"))
    for path in lists:
        kind = path.split("/")[1]
        for function, words in cmake_calls(tree.text(path)):
            if function == "muster_test" and kind in KINDS and words[1] != kind:
                found.append(
                    Violation(
                        path, 0, f"{words[0]} has the label {words[1]} in the folder of {kind}"
                    )
                )
    for path in tree.under("tests"):
        parts = path.split("/")
        if len(parts) > 3 and parts[1] in KINDS and parts[1] != "house" and path.endswith(".cpp"):
            if "/".join(parts[:3]) + "/CMakeLists.txt" not in lists:
                found.append(Violation("/".join(parts[:3]), 0, "has tests but no CMakeLists.txt"))
    return sorted(set(found))


def names_test(tree, listing, path):
    """Whether a CMakeLists.txt names a test's file, or finds it by a pattern in its own folder."""
    name = os.path.basename(path)
    if name in tree.text(listing):
        return True
    if os.path.dirname(listing) != os.path.dirname(path):
        return False
    patterns = re.findall(r"\$\{CMAKE_CURRENT_SOURCE_DIR\}/([\w*]+\.py)", tree.text(listing))
    return any(fnmatch.fnmatch(name, pattern) for pattern in patterns)


VAGUE_FUNCTION = re.compile(r"^(?:get|do|handle)_|_(?:util|helper|misc)s?$")
VAGUE_TYPE = r"\b(?:class|struct)\s+(\w*(?:Manager|Utils?|Helpers?|Misc|Handler))\b"


def check_words(tree):
    """Functions and types are named after what they do and are (docs/STYLE.md §1)."""
    found = []
    for path in tree.cpp:
        code = tree.code(path)
        for function in functions_of(code):
            if VAGUE_FUNCTION.search(function.name.split("::")[-1]):
                text = f"{function.name}: say what it does, not get_, do_, handle_, util, helper"
                found.append(Violation(path, function.line, text))
        for line, match in matches(code, VAGUE_TYPE):
            text = f"{match.group(1)}: say what it is, not Manager, Util, Helper, Handler"
            found.append(Violation(path, line, text))
    return found


def check_names(tree):
    """A file is named after what it holds, and no other file of its program has that name."""
    found, seen = [], {}
    vague = re.compile(r"(?:^|_)(?:util|utils|helper|helpers|misc|common|manager|stuff)(?:_|\.|$)")
    for path in tree.cpp:
        name = os.path.basename(path)
        if vague.search(name):
            found.append(Violation(path, 0, "the name does not say what it holds"))
        if not re.fullmatch(r"[a-z][a-z0-9_]*\.(?:cpp|h)", name):
            found.append(Violation(path, 0, "file names are snake_case"))
        if path.startswith("tests/"):
            continue
        key = (path.split("/")[0], name)  # Once in each of base, controller, worker, submit.
        if key in seen and folder_of(seen[key]) != folder_of(path):
            found.append(Violation(path, 0, f"{seen[key]} has the same name"))
        seen.setdefault(key, path)
    return found
