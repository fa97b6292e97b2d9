"""Slurm's limits of accounts, users and QOS as Muster's: what may be held at once, by whom."""
import re
from dataclasses import dataclass, field

from import_slurm.records import Place, Refused, read_text
from import_slurm.values import UNLIMITED, count_of, duration, seconds_of

COUNT_MAX = 1000000000
KINDS = {"cpu": "cpus", "node": "nodes", "gres/gpu": "gpus"}
# Slurm's key → (whose jobs, what): of all together, of each user, of each account, of one job.
PLAIN = {
    "grpjobs": ("limits", "running_jobs"),
    "grpsubmitjobs": ("limits", "queued_jobs"),
    "grpsubmit": ("limits", "queued_jobs"),
    "maxjobs": ("user_limits", "running_jobs"),
    "maxsubmitjobs": ("user_limits", "queued_jobs"),
    "maxjobspu": ("user_limits", "running_jobs"),
    "maxsubmitpu": ("user_limits", "queued_jobs"),
    "maxjobspa": ("account_limits", "running_jobs"),
    "maxsubmitpa": ("account_limits", "queued_jobs"),
}
TRES = {"grptres": "limits", "maxtrespu": "user_limits", "maxtrespa": "account_limits"}
GPU_MINUTES = {"grptresrunmins": "limits", "maxtresrunmins": "user_limits"}
WALL = ("maxwalldurationperjob", "maxwall")
KEYS = (*PLAIN, *TRES, *GPU_MINUTES, *WALL)


def tres_of(text):
    """{kind: number} of cpu=400,gres/gpu=16; what Slurm writes with a unit is not read."""
    found = {}
    for part in filter(None, text.split(",")):
        kind, equals, number = part.partition("=")
        if not equals or not re.fullmatch(r"-?\d{1,18}[A-Za-z]?", number):
            raise Refused(f"'{part}' is not KIND=NUMBER")
        found[kind.strip().lower()] = number
    return found


class Scopes:
    """The tables limits, user_limits and account_limits of one object of Muster's."""

    def __init__(self):
        self.tables = {}
        self.left = []  # (key, value) without an equal.

    def take(self, key, value):
        """True when it is a limit. Refused when it is malformed."""
        name = key.lower()
        if name not in KEYS or not value:
            return name in KEYS
        if name in PLAIN:
            scope, what = PLAIN[name]
            self.put(scope, what, count_of(value))
        elif name in WALL:
            seconds = seconds_of(value)
            if seconds not in (UNLIMITED, 0):
                self.tables.setdefault("limits", {})["time_max"] = duration(seconds)
        elif name in TRES:
            self.take_tres(key, value, TRES[name])
        else:
            self.take_minutes(key, value, GPU_MINUTES[name])
        return True

    def take_tres(self, key, value, scope):
        for kind, number in tres_of(value).items():
            if kind in KINDS and number.isdigit() and int(number) > 0:
                self.put(scope, KINDS[kind], int(number))
            elif number != "-1":
                self.left.append((key, f"{kind}={number}"))

    def take_minutes(self, key, value, scope):
        for kind, number in tres_of(value).items():
            if kind == "gres/gpu" and number.isdigit() and int(number) > 0:
                self.put(scope, "gpu_minutes", int(number))
            elif number != "-1":
                self.left.append((key, f"{kind}={number}"))

    def put(self, scope, what, number):
        if number == 0:
            self.left.append((what, "0"))  # Slurm's 0 allows nothing, Muster's everything.
        else:
            most = COUNT_MAX * (1000 if what == "gpu_minutes" else 1)
            self.tables.setdefault(scope, {})[what] = min(number, most)


@dataclass
class Qos:
    name: str
    place: Place
    priority: int
    usage: float  # UsageFactor.
    scopes: Scopes
    others: list = field(default_factory=list)  # (key, value) without an equal.
    preempts: list = field(default_factory=list)  # Names of QOS.
    exempt: int = 0  # PreemptExemptTime, in seconds.


UNSAID = ("name", "priority", "usagefactor")
EMPTY = {"preemptmode": "cluster", "gracetime": "00:00:00", "usagefactor": "1.000000"}


def read_qos(path, problems):
    """{name: Qos} of `sacctmgr --parsable2 show qos`."""
    header, found = None, {}
    for number, line in enumerate(read_text(path).split("\n"), 1):
        cells, place = [cell.strip() for cell in line.split("|")], Place(path, number)
        if not line.strip():
            continue
        if header is None:
            header = [cell.lower() for cell in cells]
            if not {"name", "priority"} <= set(header):
                problems.add(place, "is no header with Name and Priority: sacctmgr -P show qos?")
                return {}
        elif len(cells) != len(header):
            problems.add(place, f"has {len(cells)} columns, the header {len(header)}")
        else:
            try:
                qos = qos_of(place, dict(zip(header, cells)))
                found[qos.name] = qos
            except Refused as refusal:
                problems.add(place, str(refusal))
    return found


def qos_of(place, row):
    usage = row.get("usagefactor") or "1"
    if not re.fullmatch(r"\d{1,6}(\.\d{1,12})?", usage):
        raise Refused(f"UsageFactor: '{usage}' is not a number")
    scopes = Scopes()
    qos = Qos(row["name"].lower(), place, count_of(row["priority"] or "0"), float(usage), scopes)
    for key, value in row.items():
        if key in UNSAID or not value or value == EMPTY.get(key):
            continue
        try:
            if key == "preempt":
                qos.preempts = [name for name in value.lower().split(",") if name]
            elif key == "preemptexempttime":
                seconds = seconds_of(value)
                qos.exempt = 0 if seconds == UNLIMITED else seconds
            elif not scopes.take(key, value):
                qos.others.append((key, value))
        except Refused as refusal:
            raise Refused(f"{key}: {refusal}") from None
    qos.others += scopes.left
    return qos
