"""The manual pages of the daemons: every option of --help, and no other; and that man(1) likes
them where it is installed."""
import glob
import os
import re
import shutil
import subprocess
import unittest

BIN = os.path.join(os.environ["MUSTER_BUILD"], "bin")
PAGES = os.path.join(os.environ["MUSTER_SOURCE"], "docs", "man")
UNITS = os.path.join(os.environ["MUSTER_SOURCE"], "contrib", "systemd")
SECTIONS = ["NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "EXIT STATUS", "EXAMPLES", "SEE ALSO"]


def page_of(program):
    with open(os.path.join(PAGES, program + ".8")) as file:
        return file.read()


def help_of(*words):
    return subprocess.run(
        [os.path.join(BIN, words[0]), *words[1:], "--help"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout


def options_of_help(text):
    return set(re.findall(r"^ +(?:-h,)?--([a-z][a-z-]+)", text, re.MULTILINE)) - {"help"}


def options_of_page(text):
    tags = re.findall(r"^\.TP\n\.B.? (.*)$", text, re.MULTILINE)
    names = [re.search(r"--([a-z-]+)", tag.replace("\\", "")) for tag in tags]
    return {name.group(1) for name in names if name} - {"help"}


class DaemonPages(unittest.TestCase):
    def programs(self):
        found = [os.path.basename(path)[:-2] for path in glob.glob(os.path.join(PAGES, "*.8"))]
        self.assertGreaterEqual(len(found), 5)
        return sorted(found)

    def test_options_are_those_of_help(self):
        for program in self.programs():
            with self.subTest(program=program):
                shown = options_of_help(help_of(program))
                if program == "muster-worker":
                    shown |= options_of_help(help_of(program, "enrol"))
                self.assertEqual(options_of_page(page_of(program)), shown)

    def test_sections(self):
        for program in self.programs():
            for section in SECTIONS:
                self.assertIn(f"\n.SH {section}\n", page_of(program), program)

    def test_what_the_units_refer_to_exists(self):
        for path in glob.glob(os.path.join(UNITS, "*.service")):
            with open(path) as file:
                for name in re.findall(r"man:([a-z-]+)\(8\)", file.read()):
                    self.assertIn(name, self.programs())

    @unittest.skipUnless(shutil.which("groff"), "groff is not installed")
    def test_groff_has_no_complaint(self):
        for program in self.programs():
            path = os.path.join(PAGES, program + ".8")
            result = subprocess.run(
                ["groff", "-man", "-Tutf8", "-ww", "-z", path], capture_output=True, text=True
            )
            self.assertEqual(result.stderr, "", program)


if __name__ == "__main__":
    unittest.main(verbosity=2)
