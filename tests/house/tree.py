"""The project's files as the house checks see them: found once, read once, comments blanked."""
import functools
import os
import re
from dataclasses import dataclass
from pathlib import Path

SKIPPED = {".git", "build", "__pycache__"}
CPP = (".cpp", ".h")


@dataclass(frozen=True, order=True)
class Violation:
    path: str
    line: int
    text: str

    def __str__(self):
        place = f"{self.path}:{self.line}" if self.line else self.path
        return f"{place}: {self.text}"


class Tree:
    """root: the source tree. build: a build folder, or None for checks that only read sources."""

    def __init__(self, root, build=None):
        self.root = Path(root)
        self.build = Path(build) if build else None

    @functools.cached_property
    def files(self):
        found = []
        for folder, folders, names in os.walk(self.root):
            folders[:] = sorted(name for name in folders if name not in SKIPPED)
            for name in sorted(names):
                path = Path(folder, name)
                if path.is_file() and not path.is_symlink():
                    found.append(path.relative_to(self.root).as_posix())
        return found

    def under(self, *folders, ends=None):
        prefixes = tuple(folder.rstrip("/") + "/" for folder in folders)
        return [
            path
            for path in self.files
            if (not prefixes or path.startswith(prefixes)) and (ends is None or path.endswith(ends))
        ]

    @functools.cached_property
    def cpp(self):
        return self.under(ends=CPP)

    @functools.cache
    def text(self, path):
        return (self.root / path).read_bytes().decode("utf-8", "replace")

    @functools.cache
    def code(self, path):
        """Text with comments and literals blanked, every line where it was."""
        return blank(self.text(path), literals=True)

    @functools.cache
    def uncommented(self, path):
        """Text with comments blanked and literals kept."""
        return blank(self.text(path), literals=False)

    def exists(self, path):
        return (self.root / path).exists()


TOKENS = re.compile(
    r'//[^\n]*|/\*.*?\*/|R"(?P<d>[^()\\ ]{0,16})\(.*?\)(?P=d)"|"(?:\\.|[^"\\\n])*"'
    r"|(?<![0-9A-Fa-f])'(?:\\.|[^'\\\n])*'",
    re.S,
)


def blank(text, literals):
    def replace(match):
        token = match.group(0)
        if token.startswith(("//", "/*")):
            return re.sub(r"[^\n]", " ", token)
        if not literals:
            return token
        return token[0] + re.sub(r"[^\n]", " ", token[1:-1]) + token[-1]

    return TOKENS.sub(replace, text)


def line_of(text, offset):
    return text.count("\n", 0, offset) + 1


@functools.cache
def _pattern(expression):
    return re.compile(expression)


def matches(text, expression):
    """(line, match) of every hit in text."""
    for match in _pattern(expression).finditer(text):
        yield line_of(text, match.start()), match
