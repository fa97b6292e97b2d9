"""Includes go where docs/ARCHITECTURE.md allows; heavy headers in few files; SQL only in sql/."""
import re

from layout import ALLOWED, HEAVY, PURE, Targets, folder_of
from tree import Violation, matches

INCLUDE = r'(?m)^[ \t]*#[ \t]*include[ \t]*(["<])([^">]+)[">]'
OURS = ("base/", "controller/", "worker/", "submit/", "plugins/", "tests/", "contrib/")
IMPURE = {
    "chrono": "time is an argument (Instant)",
    "random": "base/types/rng.h by seed",
    "thread": "one thread, the host's",
    "mutex": "one thread, the host's",
    "condition_variable": "one thread, the host's",
    "future": "one thread",
    "atomic": "one thread, the host's",
    "fstream": "an effect",
    "iostream": "an effect",
    "filesystem": "an effect",
    "cmath": "fixed point (no libm: results differ by machine)",
    "ctime": "time is an argument (Instant)",
    "unistd.h": "an effect",
    "time.h": "time is an argument (Instant)",
    "sys/socket.h": "an effect",
    "fcntl.h": "an effect",
    "pthread.h": "one thread, the host's",
}


def check_includes(tree):
    targets = Targets(tree.text("CMakeLists.txt")) if tree.exists("CMakeLists.txt") else Targets("")
    found = []
    for path in tree.cpp:
        if path.startswith("tests/"):
            continue
        found += includes_of(tree, path, allowed_for(path, targets))
    for folder, uses in targets.uses.items():
        for used in uses:
            if folder in ALLOWED and used != folder and used not in ALLOWED[folder]:
                found.append(
                    Violation(
                        "CMakeLists.txt",
                        0,
                        f"{folder} may not use {used} (docs/ARCHITECTURE.md §2)",
                    )
                )
        if folder not in ALLOWED:
            found.append(
                Violation(
                    "CMakeLists.txt", 0, f"{folder} is not in the table of tests/house/layout.py"
                )
            )
    return found


def allowed_for(path, targets):
    if path in targets.mains:
        used = targets.mains[path]  # A main wires up what its libraries use.
        return sorted(
            {"base/types", *used, *(name for one in used for name in ALLOWED.get(one, []))}
        )
    folder = folder_of(path)
    allowed = ALLOWED.get(folder, [])
    declared = targets.uses.get(folder)
    return [
        folder,
        *(allowed if declared is None else [name for name in allowed if name in declared]),
    ]


def includes_of(tree, path, allowed):
    found = []
    for line, match in matches(tree.text(path), INCLUDE):
        quote, header = match.groups()
        if quote == '"' and not header.startswith(OURS):
            found.append(
                Violation(path, line, f'"{header}": write the path from the root of the project')
            )
        elif header.startswith(OURS):
            if quote == "<":
                found.append(Violation(path, line, f'<{header}>: our own headers go in "quotes"'))
            if folder_of(header) not in allowed:
                names = ", ".join(allowed)
                found.append(
                    Violation(
                        path, line, f"includes {header}, but may only use {names} (CMakeLists.txt)"
                    )
                )
            elif not tree.exists(header):
                found.append(Violation(path, line, f"{header} does not exist"))
        elif path.startswith(tuple(folder + "/" for folder in PURE)) and header in IMPURE:
            found.append(
                Violation(path, line, f"<{header}> in a pure folder: use {IMPURE[header]}")
            )
    return found


def check_heavy(tree):
    found = []
    for name, (expression, folders, files_max) in HEAVY.items():
        users = []
        for path in tree.cpp:
            for line, match in matches(tree.text(path), INCLUDE):
                if not re.match(expression, match.group(2)):
                    continue
                if path.endswith(".h"):
                    found.append(
                        Violation(path, line, f"{name} in a header: hide it behind a plain one")
                    )
                elif not path.startswith("tests/"):
                    if folder_of(path) not in folders:
                        found.append(
                            Violation(path, line, f"{name} belongs into {', '.join(folders)}")
                        )
                    users.append(path)
        users = sorted(set(users))
        if len(users) > files_max:
            count = f"{len(users)} files, more than {files_max}"
            text = f"{name} is included by {count}: {', '.join(users)}"
            found.append(Violation(users[-1], 0, text))
    return found


SQL = (
    r'(?i)"\s*(?:select\s[^"]*\sfrom\s|insert\s+into\s|update\s+\w+\s+set\s|delete\s+from\s'
    r"|alter\s+\w+\s|truncate\s+table\s|(?:create|drop)\s+(?:or\s+replace\s+)?"
    r"(?:table|view|index|schema|database|role|function|type)\s"
    r"|copy\s+\w+\s*(?:\(|from|to)|with\s+\w+\s+as\s*\()"
)
RAW_SQL = (
    r'(?is)R"[^(]{0,16}\(\s*(?:select|insert\s+into|update|delete\s+from|create|drop|alter|with)\s'
)


def check_sql(tree):
    """SQL is text in sql/, with bound parameters; a program names a statement, and writes none."""
    found = []
    for path in tree.cpp:
        if path.startswith("tests/"):
            continue
        text = tree.uncommented(path)
        for expression in (SQL, RAW_SQL):
            for line, _ in matches(text, expression):
                found.append(
                    Violation(
                        path, line, "SQL in a program: put it into sql/ and bind its parameters"
                    )
                )
    return found
