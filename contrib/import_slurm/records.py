"""Slurm's files as records: lines joined, comments cut, Include followed, with file and line."""
import os
import re
from dataclasses import dataclass

FILE_BYTES_MAX = 16 << 20
LINE_CHARS_MAX = 1 << 20
INCLUDE_DEPTH_MAX = 8
PAIR = re.compile(r'\s*([A-Za-z0-9_.]+)\s*([-+*/]?)=\s*(?:"([^"]*)"|([^\s"]\S*))?(?=\s|$)')


@dataclass(frozen=True, order=True)
class Place:
    path: str
    line: int

    def __str__(self):
        return f"{os.path.basename(self.path)}:{self.line}"


class Refused(Exception):
    """One thing of a line cannot be understood; says what."""


class Problems:
    """The malformed lines, one text each. Nothing is written when there are any."""

    def __init__(self):
        self.texts = []

    def add(self, place, text):
        self.texts.append(f"{place.path}:{place.line}: {text}")


@dataclass(frozen=True)
class Pair:
    key: str  # As written.
    value: str

    @property
    def name(self):
        return self.key.lower()


def read_text(path):
    """The file's text; OSError where it cannot be read, Refused where it is too long."""
    with open(path, "rb") as file:
        data = file.read(FILE_BYTES_MAX + 1)
    if len(data) > FILE_BYTES_MAX:
        raise Refused(f"is longer than {FILE_BYTES_MAX >> 20} MiB")
    return data.decode("utf-8", "replace")


def without_comment(line):
    """The line up to the first # that has no backslash before it."""
    end = 0
    while (end := line.find("#", end)) != -1:
        if end == 0 or line[end - 1] != "\\":
            return line[:end]
        end += 1
    return line


def joined_lines(text):
    """(number of the first line, text) of each line, continued ones joined."""
    begun, parts = 0, []
    for number, line in enumerate(text.split("\n"), 1):
        line = without_comment(line.rstrip("\r"))
        begun = begun if parts else number
        continued = line.endswith("\\")
        parts.append(line[:-1] if continued else line)
        if not continued:
            yield begun, "".join(parts).replace("\\#", "#").strip()
            parts = []
    if parts:
        yield begun, "".join(parts).replace("\\#", "#").strip()


def records_of(path, problems, above=()):
    """Yields (Place, [Pair]) for each line of a file of Slurm's and of those it includes."""
    for number, line in joined_lines(read_text(path)):
        place = Place(path, number)
        if not line:
            continue
        if len(line) > LINE_CHARS_MAX:
            problems.add(place, f"is longer than {LINE_CHARS_MAX} characters")
            continue
        include = re.match(r"(?i)include\s+(\S.*)$", line)
        if include:
            yield from included(place, include.group(1), problems, above + (path,))
            continue
        try:
            yield place, pairs_of(line)
        except Refused as refusal:
            problems.add(place, str(refusal))


def included(place, name, problems, above):
    path = os.path.join(os.path.dirname(above[0]), name)
    if path in above or len(above) > INCLUDE_DEPTH_MAX:
        problems.add(place, f"Include {name}: the file includes itself")
        return
    try:
        yield from records_of(path, problems, above)
    except OSError as error:
        problems.add(place, f"Include {name}: {error.strerror}")
    except Refused as refusal:
        problems.add(place, f"Include {name}: {refusal}")


def pairs_of(line):
    """The KEY=VALUE of a line; values may stand in double quotes."""
    pairs, at = [], 0
    while at < len(line):
        match = PAIR.match(line, at)
        if not match:
            word = line[at:].split()[0]
            raise Refused(f"'{shortened(word)}' is not KEY=VALUE")
        if match.group(2):
            raise Refused(f"'{match.group(1)}{match.group(2)}=' is not read: write the whole value")
        value = match.group(3) if match.group(3) is not None else match.group(4) or ""
        pairs.append(Pair(match.group(1), value))
        at = match.end()
        at += len(line[at:]) - len(line[at:].lstrip())
    return pairs


def shortened(text):
    """For messages: printable, at most 60 characters."""
    text = "".join(c if c.isprintable() else "?" for c in text)
    return text if len(text) <= 60 else text[:57] + "..."
