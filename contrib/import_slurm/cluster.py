"""Switches, blocks and licences: what belongs to no queue and no account."""
from import_slurm.values import Refused, compressed, count_of, is_name

LICENCES_MAX = 1000000000


def take_switches(site, document, report):
    """[[switch]] tables; a block is a switch with block = true."""
    for name, switch in site.switches.items():
        if not is_name(name):
            report.no_equal(switch.place, name, "is no name for a switch: left out")
            continue
        table = document.table("switch", f"{switch.place}")
        table.put("name", name)
        below = [child for child in switch.below if is_name(child)]
        if below:
            table.put("switches", compressed(below))
            if switch.nodes:
                text = "a switch has nodes or switches below it: its nodes were left out"
                report.differs(switch.place, name, text)
        elif switch.nodes:
            table.put("nodes", compressed(switch.nodes))
        if switch.kind == "block":
            table.put("block", True)


def take_licences(site, document, report):
    """Licenses=matlab:10,ansys: one of what has no count."""
    if "licenses" not in site.settings:
        return
    pair, place = site.settings["licenses"]
    seen = set()
    for item in filter(None, (part.strip() for part in pair.value.split(","))):
        name, _, count = item.partition(":")
        try:
            total = count_of(count or "1", 0, LICENCES_MAX)
        except Refused as refusal:
            report.no_equal(place, f"Licenses={item}", f"{refusal}: left out")
            continue
        if not is_name(name) or name in seen:
            text = "is there twice: left out" if name in seen else "is no name for a licence"
            report.no_equal(place, f"Licenses={item}", text)
            continue
        seen.add(name)
        table = document.table("licence", f"{place}")
        table.put("name", name)
        table.put("total", total)
