"""What slurm.conf, gres.conf and topology.conf say about a site: settings, nodes, partitions."""
from dataclasses import dataclass, field

from import_slurm.records import Pair, Place, Refused, records_of
from import_slurm.values import choice_of, count_of, gres_of, hosts_of, seconds_of
from import_slurm.values import words_of

RECORDS = ("nodename", "partitionname", "nodeset", "downnodes", "frontendname")


@dataclass
class Node:
    name: str
    place: Place
    keys: dict  # lower-case key → Pair

    def text(self, key, default=""):
        return self.keys[key].value if key in self.keys else default

    def cpus_text(self):
        return self.text("cpus") or self.text("procs")


@dataclass
class Partition:
    name: str
    place: Place
    keys: dict

    def text(self, key, default=""):
        return self.keys[key].value if key in self.keys else default


@dataclass
class Site:
    settings: dict = field(default_factory=dict)  # lower-case key → (Pair, Place)
    nodes: dict = field(default_factory=dict)  # name → Node
    sets: dict = field(default_factory=dict)  # name → (names, place)
    partitions: dict = field(default_factory=dict)  # name → Partition
    partition_keys: list = field(default_factory=list)  # (Place, Pair) in the order written
    node_keys: list = field(default_factory=list)
    gpus_typed: dict = field(default_factory=dict)  # node or "" → {type}, of gres.conf
    gres_keys: list = field(default_factory=list)
    switches: dict = field(default_factory=dict)  # name → Switch

    def setting(self, key, default=""):
        return self.settings[key][0].value if key in self.settings else default


@dataclass
class Switch:
    place: Place
    kind: str  # switch or block
    nodes: list
    below: list


NODE_NUMBERS = "cpus procs sockets boards socketsperboard corespersocket threadspercore realmemory"
NODE_NUMBERS += " corespeccount memspeclimit tmpdisk weight"
PARTITION_NUMBERS = "prioritytier priorityjobfactor maxnodes minnodes maxcpuspernode defmempercpu"
PARTITION_NUMBERS += " maxmempercpu defmempernode maxmempernode"
YES_NO = "default hidden rootonly reqresv lln exclusiveuser disablerootjobs"
CHECKS = {
    **{key: count_of for key in (NODE_NUMBERS + " " + PARTITION_NUMBERS).split()},
    **{key: lambda text: choice_of(text, "yes", "no") for key in YES_NO.split()},
    **{key: seconds_of for key in ("maxtime", "gracetime", "overtimelimit")},
    "defaulttime": lambda text: None if text.upper() == "NONE" else seconds_of(text),
    "gres": gres_of,
}
SETTING_CHECKS = {
    **{
        key: count_of
        for key in """killwait maxjobcount maxarraysize priorityweightage priorityweightfairshare
        priorityweightjobsize priorityweightpartition priorityweightqos priorityweightassoc
        slurmdtimeout minjobage""".split()
    },
    "licenses": words_of,
    "prioritymaxage": seconds_of,
    "prioritydecayhalflife": seconds_of,
    "priorityfavorsmall": lambda text: choice_of(text, "yes", "no"),
    "disablerootjobs": lambda text: choice_of(text, "yes", "no"),
}


def checked_keys(place, pairs, checks, problems):
    """{lower-case key: Pair} of those that are well formed; the others are problems."""
    keys = {}
    for pair in pairs:
        try:
            if pair.name in keys:
                raise Refused("is given twice")
            if pair.name in checks:
                checks[pair.name](pair.value)
            keys[pair.name] = pair
        except Refused as refusal:
            problems.add(place, f"{pair.key}: {refusal}")
    return keys


class SlurmConf:
    """Reads slurm.conf record by record into a Site."""

    def __init__(self, site, problems):
        self.site, self.problems = site, problems
        self.defaults = {"nodename": {}, "partitionname": {}}

    def read(self, path):
        for place, pairs in records_of(path, self.problems):
            try:
                self.take(place, pairs)
            except Refused as refusal:
                self.problems.add(place, f"{pairs[0].key}: {refusal}")
        if self.problems.texts:
            return  # A node may lack because its line is malformed.
        for partition in self.site.partitions.values():
            self.check_nodes(partition)

    def take(self, place, pairs):
        first = pairs[0].name
        if first == "nodename":
            self.take_nodes(place, pairs)
        elif first == "partitionname":
            self.take_partitions(place, pairs)
        elif first == "nodeset":
            self.take_set(place, pairs)
        elif first in RECORDS:
            self.site.settings[f"{first} {place.line}"] = (pairs[0], place)
        else:
            for pair in pairs:
                if pair.name in RECORDS:
                    raise Refused(f"{pair.key} must begin its line")
            keys = checked_keys(place, pairs, SETTING_CHECKS, self.problems)
            self.site.settings.update({key: (pair, place) for key, pair in keys.items()})

    def take_nodes(self, place, pairs):
        keys = checked_keys(place, pairs[1:], CHECKS, self.problems)
        if "feature" in keys:
            keys["features"] = keys.pop("feature")
        self.site.node_keys += [(place, pair) for pair in keys.values()]
        if pairs[0].value.upper() == "DEFAULT":
            self.defaults["nodename"].update(keys)
            return
        for name in hosts_of(pairs[0].value):
            if name in self.site.nodes:
                raise Refused(f"{name} stands at {self.site.nodes[name].place} already")
            self.site.nodes[name] = Node(name, place, {**self.defaults["nodename"], **keys})

    def take_partitions(self, place, pairs):
        keys = checked_keys(place, pairs[1:], CHECKS, self.problems)
        if "shared" in keys:
            keys.setdefault("oversubscribe", Pair("Shared", keys.pop("shared").value))
        if "state" in keys:
            choice_of(keys["state"].value, "up", "down", "drain", "inactive")
        self.site.partition_keys += [(place, pair) for pair in keys.values()]
        if pairs[0].value.upper() == "DEFAULT":
            self.defaults["partitionname"].update(keys)
            return
        for name in filter(None, pairs[0].value.split(",")):
            if name in self.site.partitions:
                raise Refused(f"{name} stands at {self.site.partitions[name].place} already")
            found = {**self.defaults["partitionname"], **keys}
            self.site.partitions[name] = Partition(name, place, found)

    def take_set(self, place, pairs):
        keys = checked_keys(place, pairs[1:], CHECKS, self.problems)
        names = hosts_of(keys["nodes"].value) if "nodes" in keys else []
        if "feature" in keys:
            wanted = keys["feature"].value
            names += [
                node.name
                for node in self.site.nodes.values()
                if wanted in node.text("features").split(",")
            ]
        self.site.sets[pairs[0].value] = (list(dict.fromkeys(names)), place)

    def check_nodes(self, partition):
        try:
            unknown = [name for name in nodes_of(self.site, partition) if not self.knows(name)]
        except Refused as refusal:
            self.problems.add(partition.place, f"Nodes: {refusal}")
            return
        if unknown:
            self.problems.add(partition.place, f"Nodes: no NodeName has {unknown[0]}")

    def knows(self, name):
        return name in self.site.nodes


def nodes_of(site, partition):
    """The names of a partition's nodes, sets resolved. Refused when the list is malformed."""
    names = []
    if partition.text("nodes").upper() == "ALL":
        return list(site.nodes)
    for name in hosts_of(partition.text("nodes")):
        if name.upper() == "ALL":
            names += site.nodes
        else:
            names += site.sets[name][0] if name in site.sets else [name]
    return list(dict.fromkeys(names))


def read_gres(path, site, problems):
    """gres.conf: which types of GPU a node has; the rest is found out by Muster's workers."""
    for place, pairs in records_of(path, problems):
        keys = checked_keys(place, pairs, {}, problems)
        site.gres_keys += [(place, pair) for pair in keys.values()]
        try:
            names = hosts_of(keys["nodename"].value) if "nodename" in keys else [""]
            if "count" in keys:
                gres_of("gpu:" + keys["count"].value)
        except Refused as refusal:
            problems.add(place, str(refusal))
            continue
        for name in names:
            if name and name not in site.nodes:
                problems.add(place, f"NodeName: slurm.conf has no node {name}")
                break
            if "name" in keys and keys["name"].value.lower() == "gpu" and "type" in keys:
                site.gpus_typed.setdefault(name, set()).add(keys["type"].value.lower())


def read_topology(path, site, problems):
    """topology.conf: switches or blocks with the nodes and switches below them."""
    for place, pairs in records_of(path, problems):
        kind = pairs[0].name
        if kind == "blocksizes":
            continue
        if kind not in ("switchname", "blockname"):
            problems.add(place, f"'{pairs[0].key}' is neither SwitchName nor BlockName")
            continue
        keys = checked_keys(place, pairs[1:], {}, problems)
        try:
            take_switch(site, place, pairs[0], keys)
        except Refused as refusal:
            problems.add(place, f"{pairs[0].key}={pairs[0].value}: {refusal}")
    check_tree(site, problems)


def take_switch(site, place, first, keys):
    if first.value in site.switches:
        raise Refused(f"stands at {site.switches[first.value].place} already")
    nodes = hosts_of(keys["nodes"].value) if "nodes" in keys else []
    if nodes and nodes[0].upper() == "ALL":
        nodes = list(site.nodes)
    below = hosts_of(keys["switches"].value) if "switches" in keys else []
    if not nodes and not below:
        raise Refused("has neither Nodes nor Switches")
    for name in nodes:
        if name not in site.nodes:
            raise Refused(f"slurm.conf has no node {name}")
    site.switches[first.value] = Switch(place, first.name[:-4], nodes, below)


def check_tree(site, problems):
    above = {}
    for name, switch in site.switches.items():
        for child in switch.below + [f"node {node}" for node in switch.nodes]:
            if not child.startswith("node ") and child not in site.switches:
                problems.add(switch.place, f"Switches: there is no switch {child}")
            elif child in above:
                text = f"{child} stands below {above[child]} and below {name}"
                problems.add(switch.place, text)
            above[child] = name
    for name, switch in site.switches.items():
        seen, at = {name}, above.get(name)
        while at is not None and at not in seen:
            seen.add(at)
            at = above.get(at)
        if at == name:
            problems.add(switch.place, f"{name} stands below itself")
