"""What `sacctmgr dump` says about accounts and users, and `sshare` about what they used."""
import re
from dataclasses import dataclass, field

from import_slurm.limits import Scopes
from import_slurm.records import Place, Refused, read_text, shortened
from import_slurm.values import count_of

SHARES_OF_PARENT = 2**31 - 1
ENTITY = re.compile(r"(Cluster|Parent|Account|User)\s+-\s+'?([^':]*)'?(?::(.*))?$", re.I)
OPTION = re.compile(r"([A-Za-z]+)\+?=('(?:[^']*)'|\"[^\"]*\"|[^:]*)(?::|$)")


@dataclass
class Account:
    name: str
    parent: str  # "" below the root
    place: Place
    options: dict  # lower-case key → (key, value)
    users: dict = field(default_factory=dict)  # name → [User]


@dataclass
class User:
    name: str
    place: Place
    options: dict


@dataclass
class Tree:
    path: str = ""
    cluster: str = ""
    options: dict = field(default_factory=dict)
    place: Place = None
    accounts: dict = field(default_factory=dict)  # name → Account, parents first
    root_users: list = field(default_factory=list)


def options_of(text):
    options, at = {}, 0
    while at < len(text):
        match = OPTION.match(text, at)
        if not match:
            raise Refused(f"'{shortened(text[at:])}' is not OPTION=VALUE")
        key, value = match.group(1), match.group(2).strip("'\"")
        if key.lower() in options:
            raise Refused(f"{key} is given twice")
        options[key.lower()] = (key, value)
        at = match.end()
    if options.get("fairshare", ("", "parent"))[1].lower() != "parent":
        count_of(options["fairshare"][1])
    for key, value in options.values():
        Scopes().take(key, value)
    return options


class DumpFile:
    """Reads the lines of `sacctmgr dump` into a Tree."""

    def __init__(self, problems):
        self.tree, self.problems = Tree(), problems
        self.parent = "root"

    def read(self, path):
        self.tree.path = path
        for number, line in enumerate(read_text(path).split("\n"), 1):
            line = line.strip()
            if line and not line.startswith("#"):
                try:
                    self.take(Place(path, number), line)
                except Refused as refusal:
                    self.problems.add(Place(path, number), str(refusal))
        if not self.tree.cluster:
            self.problems.add(Place(path, 1), "has no line Cluster - 'NAME': is it a dump?")
        return self.tree

    def take(self, place, line):
        match = ENTITY.match(line)
        if not match:
            raise Refused(f"'{shortened(line)}' is not Cluster, Parent, Account or User - 'NAME'")
        kind, name = match.group(1).lower(), match.group(2).strip()
        if not name:
            raise Refused(f"{match.group(1)} has no name")
        options = options_of(match.group(3) or "")
        getattr(self, "take_" + kind)(place, name, options)

    def take_cluster(self, place, name, options):
        if self.tree.cluster:
            raise Refused(f"a second cluster, {name}: dump one at a time")
        self.tree.cluster, self.tree.options, self.tree.place = name, options, place

    def take_parent(self, _place, name, _options):
        if name != "root" and name not in self.tree.accounts:
            self.parent = None
            raise Refused(f"Parent {name}: no Account line above has that name")
        self.parent = name

    def take_account(self, place, name, options):
        if name == "root":
            return
        if name in self.tree.accounts:
            raise Refused(f"Account {name} stands at {self.tree.accounts[name].place} already")
        if self.parent is None:
            return  # Its Parent line is a problem already.
        parent = "" if self.parent == "root" else self.parent
        self.tree.accounts[name] = Account(name, parent, place, options)

    def take_user(self, place, name, options):
        if self.parent == "root":
            self.tree.root_users.append(User(name, place, options))
        elif self.parent is not None:
            users = self.tree.accounts[self.parent].users
            users.setdefault(name, []).append(User(name, place, options))


@dataclass
class Usage:
    account: str
    user: str  # Empty: the account's own row.
    raw: int
    place: Place


def read_sshare(path, problems):
    """The rows of `sshare -a --parsable2` (or -p): who used how much, decayed."""
    header, rows = None, []
    for number, line in enumerate(read_text(path).split("\n"), 1):
        cells = [cell.strip() for cell in line.split("|")]
        place = Place(path, number)
        if not line.strip():
            continue
        if header is None:
            header = [cell.lower() for cell in cells]
            if not {"account", "user", "rawusage"} <= set(header):
                problems.add(place, "is no header with Account, User and RawUsage: sshare -a -P?")
                return []
            continue
        if len(cells) != len(header):
            problems.add(place, f"has {len(cells)} columns, the header {len(header)}")
            continue
        row = dict(zip(header, cells))
        try:
            rows.append(
                Usage(row["account"], row["user"], count_of(row["rawusage"], 0, 2**62), place)
            )
        except Refused as refusal:
            problems.add(place, f"RawUsage: {refusal}")
    return rows
