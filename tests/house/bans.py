"""Calls that are not made here, each with what to write instead."""
import re

from layout import PURE, ROOT_HALF
from tree import Violation, matches


def call(names):
    """A call of a C function, with or without std:: or ::, but not of a member or of ours."""
    return rf"(?<![\w.>:])(?:std::|::)?(?:{names})\s*\("


EVERYWHERE = [
    (call("sprintf|vsprintf"), "std::string, or fmt::format where it is linked"),
    (call("gets"), "std::getline with a limit"),
    (call("strtok"), "std::string_view::find"),
    (
        call("rand|srand|srandom|drand48") + r"|::random\s*\(",
        "Rng by seed (base/types/rng.h), or randombytes_buf for secrets",
    ),
    (call("tmpnam|tempnam|mktemp"), "mkstemp or mkdtemp"),
    (call("alloca"), "std::vector"),
    (call("signal") + r"(?![^()]*\bSIG_(?:IGN|DFL)\b)", "sigaction or signalfd"),
    (
        call("localtime|gmtime|asctime|ctime"),
        "localtime_r, gmtime_r, or to_rfc3339 (base/types/time.h)",
    ),
    (call("setjmp|longjmp"), "Result<T>"),
    (call("assert"), "MUSTER_ASSERT (base/types/result.h): on in release, too"),
    (r"\bstd::endl\b", r"'\n'"),
    (r"\bstd::(?:auto_ptr|bind|random_shuffle)\b", "std::unique_ptr, a lambda, Rng"),
    (r"\bstd::async\b", "a named thread with a bounded queue"),
    (r"\.detach\s*\(\s*\)", "a thread that is joined"),
    (r"\bthrow\b(?!\s*\()", "return fail(code, text): no exception crosses a folder"),
    (r"\bgoto\b", "a function that returns early"),
    (r"\bvolatile\b(?!\s+sig_atomic_t)", "std::atomic"),
    (
        r"\bstd::(?:source_location\b|format\b|print(?:ln)?\b|views::|ranges::views)",
        "what clang 14 parses (fmt, loops)",
    ),
]
# A pause short enough to be a step of a loop around a condition.
SHORT = (
    r"\s*\(\s*(?:std::chrono::)?(?:micro|nano)seconds"
    r"|\s*\(\s*(?:std::chrono::)?milliseconds\s*[({][12]?\d[)}]"
)
PROGRAMS = ("base", "controller", "worker", "submit", "plugins")
OWNED = ("base", "controller", "worker", "submit")  # A plugin's C interface hands out raw state.
PLACES = [
    (PROGRAMS, call("strcpy|strcat|strncat|stpcpy"), "std::string"),
    (PROGRAMS, call("getpwnam|getpwuid|getgrnam|getgrgid"), "the _r form with a buffer"),
    (
        PROGRAMS,
        r"\bstd::(?:regex|basic_regex|smatch|cmatch)\b",
        "a hand-written scan: std::regex recurses on hostile input",
    ),
    (
        OWNED,
        r"(?<![\w.:])delete\s*(?:\[\s*\])?\s+?\w",
        "an owner: std::unique_ptr, or a container",
    ),
    (
        OWNED,
        r"[^(\s:]\s*\bnew\s+[\w:]+\s*[({\[]",
        "std::make_unique, or std::unique_ptr<T>(new T) where the constructor is private",
    ),
    (PROGRAMS, call("system|popen"), "fork and execve with an argument vector"),
    (
        PROGRAMS,
        call("atoi|atol|atoll|atof|strtol|strtoul|strtoull|sscanf"),
        "parse_count (base/types/size.h), or std::from_chars",
    ),
    (
        ROOT_HALF,
        call("getenv|secure_getenv"),
        "a field of the order, or a flag: root reads no environment",
    ),
    (PURE, call("getenv|secure_getenv|time|clock_gettime|gettimeofday|clock"), "an argument"),
    (PURE, r"\bstd::(?:chrono|thread|mutex|random_device)\b", "an argument: this folder is pure"),
    (PURE, r"\b(?:double|float)\b", "integers: milli-units, fixed point"),
    (
        ("tests/unit", "tests/scenario", "tests/sim", "tests/system", "tests/fuzz", "tests/replay"),
        call("sleep|nanosleep")
        + r"|\busleep\s*\((?!\d{1,4}\))|\bsleep_until\b|\bsleep_for\b(?!"
        + SHORT
        + ")",
        "wait_until (tests/support/wait.h): a condition with a deadline",
    ),
]
HEADERS = [(r"(?m)^\s*using\s+namespace\b", "full names: a header changes nobody's scope")]
WAITING = "a loop with short sleeps around a condition, and a deadline"
KILLING = (r"\b(?:pkill|killall)\b", "kill by the pid you started")
BASH = [
    (r"(?m)(?:^|[;&|]|\bdo\b)\s*sleep\s+[1-9]", WAITING),
    (r"(?<![\w.])eval\b", "arrays"),
    KILLING,
]
PYTHON = [
    (r"\bos\.system\(|\bshell\s*=\s*True", "subprocess with an argument list"),
    KILLING,
]


def check_bans(tree):
    found = []
    for path in tree.cpp:
        code = tree.code(path)
        rules = list(EVERYWHERE)
        rules += [
            (rule, instead)
            for folders, rule, instead in PLACES
            if path.startswith(tuple(f + "/" for f in folders))
        ]
        rules += HEADERS if path.endswith(".h") else []
        found += hits(path, code, rules)
        found += unordered_loops(tree, path)
    for path in tree.files:
        if path.startswith("tests/house/"):
            continue  # Names them all.
        first = first_line(tree, path)
        if path.endswith(".py") or (first.startswith("#!") and "python" in first):
            found += hits(path, re.sub(r"(?m)#.*$", "", tree.text(path)), PYTHON)
        elif first.startswith("#!"):
            found += hits(path, re.sub(r"(?m)(?:^|\s)#.*$", "", tree.text(path)), BASH)
    return found


def first_line(tree, path):
    with open(tree.root / path, "rb") as file:
        return file.readline(200).decode("utf-8", "replace")


def hits(path, code, rules):
    for expression, instead in rules:
        for line, match in matches(code, expression):
            what = match.group(0).strip().rstrip("(").strip() or expression
            yield Violation(path, line, f"{what}: use {instead}")


def unordered_loops(tree, path):
    """Loops over a hash table in a pure folder: their order differs by machine and release."""
    if not path.startswith(tuple(folder + "/" for folder in PURE)):
        return
    folder = path.rsplit("/", 1)[0]
    declared = set()
    for other in tree.under(folder, ends=(".cpp", ".h")):
        declared |= set(
            re.findall(
                r"\bunordered_(?:multi)?(?:map|set)\s*<[^;={}]*>\s*&?\s*(\w+)", tree.code(other)
            )
        )
    if not declared:
        return
    names = "|".join(sorted(declared))
    for line, match in matches(
        tree.code(path), rf":\s*(?:\w+(?:\.|->))*({names})\s*\)|\b({names})\.(?:c?begin)\s*\("
    ):
        name = match.group(1) or match.group(2)
        yield Violation(
            path, line, f"loop over the hash table {name}: use std::map or a sorted vector"
        )
