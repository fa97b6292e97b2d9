"""The values in Slurm's files: host lists, times, numbers, GRES. Refused when malformed."""
import re
from dataclasses import dataclass

from import_slurm.records import Refused, shortened

HOSTS_MAX = 100000
DAYS_MAX = 3650  # What Muster takes as a duration.
NAME = re.compile(r"[A-Za-z0-9._-]{1,128}")
UNLIMITED = -1


def is_name(text):
    """Whether Muster takes it as the name of a queue, an account or a feature."""
    return NAME.fullmatch(text) is not None


def words_of(text):
    """The parts between commas that stand outside brackets and parentheses."""
    parts, depth, begin = [], 0, 0
    for at, c in enumerate(text):
        depth += (c in "[(") - (c in "])")
        if depth < 0:
            raise Refused(f"'{shortened(text)}': a bracket closes that was not opened")
        if c == "," and depth == 0:
            parts.append(text[begin:at])
            begin = at + 1
    if depth:
        raise Refused(f"'{shortened(text)}': a bracket is not closed")
    return [part.strip() for part in parts + [text[begin:]] if part.strip()]


def hosts_of(text):
    """The names of a host list such as n[01-04,7],m2, in the order written."""
    names = []
    for word in words_of(text):
        names += expanded(word, HOSTS_MAX - len(names))
    for name in names:
        if not is_name(name):
            raise Refused(f"'{shortened(name)}' is not the name of a node")
    return names


def expanded(word, room):
    open_at = word.find("[")
    if open_at == -1:
        return [word]
    close_at = word.find("]", open_at)
    numbers = numbers_of(word[open_at + 1 : close_at], room)
    tails = expanded(word[close_at + 1 :], room) if word[close_at + 1 :] else [""]
    if len(numbers) * len(tails) > room:
        raise Refused(f"'{shortened(word)}' has more than {HOSTS_MAX} nodes")
    return [word[:open_at] + number + tail for number in numbers for tail in tails]


def numbers_of(text, room):
    numbers = []
    for part in text.split(","):
        match = re.fullmatch(r"(\d{1,18})(?:-(\d{1,18}))?", part.strip())
        if not match:
            raise Refused(f"'[{shortened(text)}]' is not a list of numbers and ranges")
        low, high = match.group(1), match.group(2) or match.group(1)
        if int(high) < int(low):
            raise Refused(f"'[{shortened(text)}]': a range runs backwards")
        if int(high) - int(low) >= room - len(numbers):
            raise Refused(f"'[{shortened(text)}]' has more than {HOSTS_MAX} nodes")
        numbers += [str(n).zfill(len(low)) for n in range(int(low), int(high) + 1)]
    return numbers


def compressed(names):
    """Short host lists for names: n[01-04,07]. In the order in which each prefix came first."""
    groups = {}
    for name in names:
        match = re.fullmatch(r"(.*?)(\d{0,18})(\D*)", name)
        prefix, digits, suffix = match.groups()
        groups.setdefault((prefix, suffix, len(digits)), []).append(digits)
    lists = []
    for (prefix, suffix, width), numbers in groups.items():
        if len(numbers) == 1 or width == 0:
            lists.append(prefix + numbers[0] + suffix)
        else:
            lists.append(f"{prefix}[{ranges_of(sorted(map(int, set(numbers))), width)}]{suffix}")
    return lists


def ranges_of(numbers, width):
    spans = []
    for number in numbers:
        if spans and number == spans[-1][1] + 1:
            spans[-1][1] = number
        else:
            spans.append([number, number])
    texts = [[str(n).zfill(width) for n in span] for span in spans]
    return ",".join(low if low == high else f"{low}-{high}" for low, high in texts)


def count_of(text, least=0, most=2**32 - 1):
    """A whole number; UNLIMITED or INFINITE, where Slurm has them, are the largest."""
    if text.upper() in ("UNLIMITED", "INFINITE"):
        return most
    if not re.fullmatch(r"\d{1,18}", text) or not least <= int(text) <= most:
        raise Refused(f"'{shortened(text)}' is not a whole number from {least} to {most}")
    return int(text)


def choice_of(text, *names):
    """One of the names, in lower case."""
    if text.lower() not in names:
        raise Refused(f"'{shortened(text)}' is not one of {', '.join(names).upper()}")
    return text.lower()


def seconds_of(text):
    """Slurm's time: M, M:S, H:M:S, D-H, D-H:M, D-H:M:S. UNLIMITED for no limit."""
    if text.upper() in ("UNLIMITED", "INFINITE", "-1"):
        return UNLIMITED
    match = re.fullmatch(r"(?:(\d{1,6})-)?(\d{1,9})(?::(\d{1,9}))?(?::(\d{1,9}))?", text)
    if not match:
        raise Refused(f"'{shortened(text)}' is not a time such as 30, 12:00:00 or 7-00:00:00")
    days, parts = match.group(1), [int(part) for part in match.groups()[1:] if part is not None]
    if days is not None or len(parts) == 3:
        units = (3600, 60, 1)
    else:
        units = (60, 1)
    total = int(days or 0) * 86400 + sum(part * unit for part, unit in zip(parts, units))
    return total


def duration(seconds):
    """Muster's form: 1d12h."""
    text, seconds = "", min(seconds, DAYS_MAX * 86400)
    for unit, size in (("d", 86400), ("h", 3600), ("m", 60), ("s", 1)):
        if seconds >= size:
            text += f"{seconds // size}{unit}"
            seconds %= size
    return text or "0s"


@dataclass(frozen=True)
class Gres:
    name: str
    type: str
    count: int


def gres_of(text):
    """The resources of Gres=gpu:a100:4(S:0-1),nvme:2."""
    found = []
    for word in words_of(text):
        match = re.fullmatch(r"([A-Za-z0-9_.-]+)((?::[A-Za-z0-9_.+-]+)*)(?:\(.*\))?", word)
        if not match:
            raise Refused(f"'{shortened(word)}' is not a resource such as gpu:a100:4")
        parts = [part for part in match.group(2).split(":") if part and part != "no_consume"]
        count = 1
        if parts and re.fullmatch(r"\d{1,12}[KMGT]?", parts[-1], re.I):
            digits = parts.pop()
            unit = "kmgt".find(digits[-1].lower()) + 1
            count = int(digits[:-1] if unit else digits) << (10 * unit)
        if len(parts) > 1:
            raise Refused(f"'{shortened(word)}' is not a resource such as gpu:a100:4")
        found.append(Gres(match.group(1).lower(), parts[0].lower() if parts else "", count))
    return found
