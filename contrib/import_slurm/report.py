"""What became of Slurm's settings: entries with file and line, and the numbers to compare."""
from dataclasses import dataclass, field

TITLES = (
    ("no equal", "What has no equal, and what to do instead"),
    ("differs", "What was taken over with a difference"),
    ("not needed", "What Muster needs no setting for"),
)


@dataclass(frozen=True)
class Entry:
    kind: str  # One of TITLES.
    place: str
    what: str
    text: str

    def __str__(self):
        return f"{self.place}: {self.what}: {self.text}"


@dataclass
class Report:
    entries: list = field(default_factory=list)
    counts: dict = field(default_factory=dict)

    def no_equal(self, place, what, text):
        self.entries.append(Entry("no equal", str(place), what, text))

    def differs(self, place, what, text):
        self.entries.append(Entry("differs", str(place), what, text))

    def not_needed(self, place, what, text):
        self.entries.append(Entry("not needed", str(place), what, text))

    def of_kind(self, kind):
        def by_place(entry):
            path, _, line = entry.place.rpartition(":")
            return (path, int(line)) if line.isdigit() else (entry.place, 0)

        return sorted(dict.fromkeys(e for e in self.entries if e.kind == kind), key=by_place)

    def summary(self):
        """One line for people and tests: what to compare with the cluster once it runs."""
        counts = self.counts
        gpus = ", ".join(f"{n} {kind}" for kind, n in counts["gpu_types"].items())
        lines = [
            f"queues     {counts['queues']}",
            f"accounts   {counts['accounts']}",
            f"users      {counts['users']}",
            f"nodes      {counts['nodes']} expected, with {counts['gpus']} GPUs"
            + (f" ({gpus})" if gpus else ""),
        ]
        if "usage_rows" in counts:
            rows = counts["usage_rows"]
            lines.append(f"usage      {rows} rows of sshare: gpuadmin usage import usage.csv")
        lines += [f"{kind:10} {len(self.of_kind(kind))}" for kind, _ in TITLES]
        return "\n".join(lines)

    def text(self):
        parts = ["From Slurm to Muster: made by import-slurm.", "", self.summary()]
        for kind, title in TITLES:
            entries = self.of_kind(kind)
            if entries:
                parts += ["", f"{title} ({len(entries)})", *(f"  {entry}" for entry in entries)]
        return "\n".join(parts) + "\n"

    def as_json(self):
        listed = [
            {"kind": e.kind, "place": e.place, "what": e.what, "text": e.text}
            for kind, _ in TITLES
            for e in self.of_kind(kind)
        ]
        return {"counts": self.counts, "entries": listed}
