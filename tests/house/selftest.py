#!/usr/bin/python3
"""Every house check must stay silent on good code and find a violation planted for it."""
import importlib.machinery
import importlib.util
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))


def load_run():
    loader = importlib.machinery.SourceFileLoader("house_run", str(HERE / "run"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("house_run", loader))
    loader.exec_module(module)
    return module


house = load_run()

GOOD = {
    "CMakeLists.txt": "# Targets.\nmuster_library(base_types base/types)\n"
    "muster_library(base_link base/link uses base_types)\n"
    "muster_library(controller_core controller/core uses base_types)\n"
    "muster_library(worker_launcher worker/launcher uses base_types)\n",
    "base/types/README.md": "Values.\n",
    "base/types/thing.h": "// A thing.\n#pragma once\nint thing(int a);\n",
    "base/types/thing.cpp": '// A thing.\n#include "base/types/thing.h"\n'
    "int thing(int a) { return a; }\n",
    "base/link/README.md": "Links.\n",
    "base/link/wire.cpp": '// A wire.\n#include <zmq.hpp>\n#include "base/types/thing.h"\n'
    '// rand() in a comment, and "select x from y" too.\n'
    'void Wire::run() { const char* text = "system(1)"; thing(text[0]); }\n',
    "controller/core/README.md": "Pure.\n",
    "controller/core/job.cpp": '// Jobs.\n#include "base/types/thing.h"\n'
    "int f() { return thing(1); }\n",
    "worker/launcher/README.md": "Root.\n",
    "tests/README.md": "Tests.\n",
    "tests/unit/CMakeLists.txt": "# Lists.\n",
    "tests/unit/types/CMakeLists.txt": "# Types.\n"
    "muster_test(unit_types unit thing_test.cpp uses base_types)\n",
    "tests/unit/types/thing_test.cpp": '// Tests.\n#include "base/types/thing.h"\n'
    "TEST(A, B) { thing(1); }\n",
    "tests/system/a/CMakeLists.txt": "# A.\nfile(GLOB a ${CMAKE_CURRENT_SOURCE_DIR}/test_*.py)\n",
    "tests/system/a/test_found.py": "# Found by its pattern.\n",
    "sql/README.md": "SQL.\n",
    "sql/one.sql": "-- One.\nselect 1;\n",
}


def body(lines):
    return "// Long.\nint f() {\n" + "  g();\n" * lines + "}\n"


# (check, file, what it holds, part of the complaint)
PLANTED = [
    ("includes", "controller/core/a.cpp", '// A.\n#include "base/link/wire.h"\n', "may only use"),
    ("includes", "base/types/a.cpp", '// A.\n#include "thing.h"\n', "from the root"),
    ("includes", "base/types/a.cpp", '// A.\n#include "base/types/none.h"\n', "does not exist"),
    ("includes", "base/types/a.cpp", "// A.\n#include <base/types/thing.h>\n", "quotes"),
    ("includes", "controller/core/a.cpp", "// A.\n#include <chrono>\n", "pure folder"),
    (
        "includes",
        "CMakeLists.txt",
        GOOD["CMakeLists.txt"].replace("core uses base_types", "core uses base_link"),
        "may not use base/link",
    ),
    ("heavy", "base/types/a.h", "// A.\n#include <msgpack.hpp>\n", "in a header"),
    (
        "heavy",
        "controller/core/a.cpp",
        "// A.\n#include <pqxx/pqxx>\n",
        "belongs into controller/sql",
    ),
    ("heavy", "base/link/{}.cpp", "// A.\n#include <zmq.hpp>\n", "more than 7"),
    (
        "sql",
        "base/link/a.cpp",
        '// A.\nauto q = "insert into job values (" + id + ")";\n',
        "bind its parameters",
    ),
    ("sql", "base/link/a.cpp", '// A.\nauto q = R"(\nselect a from b)";\n', "bind its parameters"),
    ("sizes", "base/types/a.cpp", "// A.\n" + "\n" * 800, "lines, more than 800"),
    ("sizes", "base/types/a.h", "// A.\n" + "\n" * 400, "lines, more than 400"),
    ("sizes", "base/types/a.cpp", body(69), "f: 71 lines, more than 70"),
    (
        "sizes",
        "base/types/a.cpp",
        "// A.\nA::A(int b)\n    : b_(b),\n      c_{b} {\n" + "  g();\n" * 70 + "}\n",
        "A::A: 74 lines",
    ),
    (
        "sizes",
        "base/types/a.cpp",
        "// A.\nvoid A::f(int a, B<int, int> b, int c, int d, int e, int g) const {}\n",
        "A::f: 6 parameters",
    ),
    (
        "sizes",
        "base/types/a.cpp",
        "// A.\nvoid f() {\n  for (;;) {\n    if (a) {\n      while (b) {\n        if (c) {\n"
        "          if (d) {\n            g({1});\n          }\n        }\n      }\n    }\n  }\n}\n",
        "5 levels of nesting",
    ),
    ("sizes", "base/types/a.cpp", "// " + "x" * 98 + "\n", "101 columns"),
    ("root_half", "worker/launcher/a.cpp", "int a;\n" * 5287, "5287 lines of code"),
    ("bans", "base/link/a.cpp", "// A.\nvoid f() { strcpy(a, b); }\n", "std::string"),
    ("bans", "base/link/a.cpp", "// A.\nvoid f() { std::sprintf(a, b); }\n", "fmt::format"),
    ("bans", "base/link/a.cpp", "// A.\nvoid f() { system(a); }\n", "execve"),
    ("bans", "base/link/a.cpp", "// A.\nvoid f() { popen(a); }\n", "execve"),
    ("bans", "base/link/a.cpp", "// A.\nvoid f() { gets(a); }\n", "getline"),
    ("bans", "base/link/a.cpp", "// A.\nint f() { return rand(); }\n", "Rng"),
    ("bans", "base/link/a.cpp", "// A.\nstd::regex pattern;\n", "hand-written"),
    ("bans", "base/link/a.cpp", "// A.\nvoid f() { throw X{}; }\n", "return fail"),
    ("bans", "base/link/a.cpp", "// A.\nX* f() { return new X(); }\n", "make_unique"),
    ("bans", "base/link/a.cpp", "// A.\nvoid f(X* x) { delete x; }\n", "owner"),
    ("bans", "base/link/a.h", "// A.\nusing namespace std;\n", "full names"),
    ("bans", "worker/launcher/a.cpp", "// A.\nauto f() { return getenv(a); }\n", "no environment"),
    (
        "bans",
        "controller/core/a.cpp",
        "// A.\nauto f() { return ::time(nullptr); }\n",
        "an argument",
    ),
    (
        "bans",
        "controller/core/a.cpp",
        "// A.\nstd::unordered_map<int, int> jobs_;\nvoid f() { for (auto& j : jobs_) {} }\n",
        "hash table jobs_",
    ),
    ("bans", "controller/core/a.cpp", "// A.\ndouble share;\n", "fixed point"),
    (
        "bans",
        "tests/unit/types/thing_test.cpp",
        "// A.\nTEST(A, B) { std::this_thread::sleep_for(x); }\n",
        "wait_until",
    ),
    ("bans", "tests/run", "#!/bin/bash\nsleep 5\n", "short sleeps"),
    ("bans", "tests/system/a.py", "# A.\nos.system(1)\n", "argument list"),
    ("bans", "contrib/x", "#!/bin/bash\npkill muster\n", "by the pid"),
    ("comments", "base/types/a.cpp", "#include <vector>\n", "begin with a comment"),
    ("comments", "sql/a.sql", "select 1;\n", "begin with a comment"),
    ("comments", "worker/shepherd/a.cpp", "// A.\n", "no README.md"),
    ("dead", "base/types/unused.h", "// A.\n", "no other file includes it"),
    ("dead", "base/elsewhere/a.cpp", "// A.\n", "no target has it"),
    ("dead", "tests/house/unnamed.py", "# A.\n", "nothing names it"),
    ("registered", "tests/unit/types/other_test.cpp", "// A.\n", "never runs"),
    ("registered", "tests/unit/area/x_test.cpp", "// A.\n", "no CMakeLists.txt"),
    ("registered", "tests/system/test_a.py", "# A.\n", "never runs"),
    (
        "registered",
        "tests/sim/types/CMakeLists.txt",
        "# A.\nmuster_test(a unit a.cpp)\n",
        "label unit",
    ),
    ("names", "base/link/string_utils.cpp", "// A.\n", "does not say"),
    ("names", "base/link/thing.cpp", "// A.\n", "has the same name"),
    ("words", "base/link/a.cpp", "// A.\nint Wire::get_size() const { return 1; }\n", "get_size"),
    ("links", "docs/a.md", "See [b](../sql/README.md) and [c](c.md#x).\n", "c.md leads nowhere"),
    ("words", "base/link/a.cpp", "// A.\nclass LinkManager {};\n", "LinkManager"),
    ("names", "base/link/BadName.cpp", "// A.\n", "snake_case"),
]


class Sandbox:
    def __init__(self, files, build=None):
        self.root = Path(tempfile.mkdtemp(prefix="house."))
        for path, text in files.items():
            target = self.root / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text)
        self.tree = house.Tree(self.root, build)

    def found(self, check):
        return [str(one) for one in house.violations(self.tree, check, house.exemptions(self.tree))]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.root)


def with_planted(path, text):
    files = dict(GOOD)
    for number in range(8) if "{}" in path else [0]:
        files[path.format(number)] = text
    return files


def test_sources():
    for name in house.SOURCE_CHECKS:
        with Sandbox(GOOD) as good:
            yield f"{name} is silent on good code", good.found(name) == [], good.found(name)
    for check, path, text, complaint in PLANTED:
        with Sandbox(with_planted(path, text)) as bad:
            found = bad.found(check)
            yield f"{check} finds {complaint!r}", any(complaint in one for one in found), found
    missing = set(house.SOURCE_CHECKS) - {planted[0] for planted in PLANTED}
    yield "every check has a planted violation", not missing, missing


def test_exemptions():
    planted = {**GOOD, "base/types/a.cpp": body(80)}
    with Sandbox({**planted, house.EXEMPT: "sizes base/types/a.cpp f: a table\n"}) as one:
        yield "an exemption works", one.found("sizes") == [], one.found("sizes")
    with Sandbox({**GOOD, house.EXEMPT: "sizes base/types/a.cpp f: a table\n"}) as one:
        yield "an old exemption is found", any(
            "remove it" in text for text in one.found("sizes")
        ), one.found("sizes")
    with Sandbox({**planted, house.EXEMPT: "sizes base/types/a.cpp f:\n"}) as one:
        yield "an exemption needs a reason", any(
            "reason" in text for text in one.found("sizes")
        ), one.found("sizes")


def compiled(root, name, source, *flags):
    (root / "one.cpp").write_text(source)
    subprocess.run(["g++", "-O1", *flags, "one.cpp", "-o", name], cwd=root, check=True)


def test_archives():
    with Sandbox(GOOD) as one:
        one.tree.build = one.root
        for source, complaint in (
            ("#include <ctime>\nlong f() { return time(nullptr); }\n", "calls time"),
            (
                "#include <chrono>\n" "auto f() { return std::chrono::steady_clock::now(); }\n",
                "calls _ZNSt6chrono",
            ),
            ("int f(int a) { return a; }\n", None),
        ):
            compiled(one.root, "one.o", source, "-c")
            for library in ("base_types", "controller_core"):
                (one.root / f"lib{library}.a").unlink(missing_ok=True)
                subprocess.run(["ar", "rc", f"lib{library}.a", "one.o"], cwd=one.root, check=True)
            found = one.found("archives")
            good = found == [] if complaint is None else any(complaint in text for text in found)
            yield f"archives finds {complaint!r}", good, found


def test_commands():
    with Sandbox({**GOOD, "submit/cli/gpua.cpp": "// A.\n"}) as one:
        one.tree.build = one.root
        yield "commands misses a command", any(
            "no command" in text for text in one.found("commands")
        ), None
        (one.root / "bin").mkdir()
        compiled(one.root, "bin/gpua", "int main() {}\n")
        yield "commands is silent on a plain program", one.found("commands") == [], one.found(
            "commands"
        )
        needs_zmq = ("-Wl,--no-as-needed", "-lzmq")
        compiled(one.root, "bin/gpub", "int main() {}\n", *needs_zmq)
        yield "commands passes over programs of other folders", one.found(
            "commands"
        ) == [], one.found("commands")
        compiled(one.root, "bin/gpua", "int main() {}\n", *needs_zmq)
        yield "commands finds ZeroMQ", any(
            "libzmq" in text for text in one.found("commands")
        ), one.found("commands")


def test_links():
    """link_<library> fails to build when a library uses one that it does not declare."""
    project = (
        "cmake_minimum_required(VERSION 3.25)\nproject(planted LANGUAGES CXX)\n"
        "add_library(muster_warnings INTERFACE)\n"
        f"include({HERE.parents[1]}/cmake/targets.cmake)\n"
        "muster_library(one one)\nmuster_library(two two{uses})\nmuster_link_tests()\n"
    )
    sources = {
        "one/one.cpp": "int one() { return 1; }\n",
        "two/two.cpp": "int one();\nint two() { return one(); }\n",
    }
    for uses, builds in ((" uses one", True), ("", False)):
        with Sandbox({**sources, "CMakeLists.txt": project.replace("{uses}", uses)}) as one:
            log = ""
            for command in (
                ["cmake", "-G", "Ninja", "-S", ".", "-B", "out"],
                ["cmake", "--build", "out"],
            ):
                done = subprocess.run(
                    command, cwd=one.root, capture_output=True, text=True, check=False
                )
                log += done.stdout + done.stderr
                if done.returncode != 0:
                    break
            good = done.returncode == 0 if builds else done.returncode != 0 and "one()" in log
            yield f"a library {'with' if builds else 'without'} its declaration", good, log[-2000:]


def test_counts():
    """tests/counts takes nothing for a pass or a skip that is a failure."""
    cases = (
        ('<testcase name="a" status="run"/>', "1 passed, 0 failed, 0 skipped"),
        ('<testcase name="a" status="fail"/>', "0 passed, 1 failed, 0 skipped"),
        (
            '<testcase name="a" status="notrun"><skipped message="SKIP_77"/></testcase>',
            "0 passed, 0 failed, 1 skipped",
        ),
        (
            '<testcase name="a" status="notrun"><skipped message="Unable to find it"/></testcase>',
            "0 passed, 1 failed, 0 skipped",
        ),
    )
    for case, expected in cases:
        with Sandbox({"j.xml": f"<testsuite>{case}</testsuite>"}) as one:
            command = [str(HERE.parent / "counts"), str(one.root / "j.xml"), str(one.root)]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            good = done.stdout.endswith(expected + "\n")
            good = good and (done.returncode == 0) == expected.startswith("1 passed")
            yield f"counts says {expected}", good, done.stdout


def main():
    failed = count = 0
    for test in (
        test_sources,
        test_exemptions,
        test_archives,
        test_commands,
        test_links,
        test_counts,
    ):
        for name, good, found in test():
            count += 1
            if not good:
                failed += 1
                print(f"FAILED {name}: {found}")
    print(f"{count - failed} of {count} as planted")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
