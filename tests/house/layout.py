"""Who may use whom (docs/ARCHITECTURE.md §2), and what CMakeLists.txt says about it."""
import re

# Folder → folders whose headers it may include, besides its own.
ALLOWED = {
    "base/types": [],
    "base/message": ["base/types"],
    "base/session": ["base/types"],
    "base/link": ["base/types", "base/message"],
    "base/order": ["base/types"],
    "base/journal": ["base/types"],
    "base/daemon": ["base/types"],
    "controller/core": ["base/types"],
    "controller/record": ["base/types", "base/message", "base/journal", "controller/core"],
    "controller/config": ["base/types", "controller/core"],
    "controller/sql": ["base/types", "base/message", "controller/core", "controller/record"],
    "controller/host": [
        "base/types",
        "base/message",
        "base/session",
        "base/link",
        "base/order",
        "base/journal",
        "base/daemon",
        "controller/core",
        "controller/config",
        "controller/record",
        "controller/sql",
    ],
    "controller/sim": ["base/types", "controller/core"],
    "controller/sim/replay": ["base/types", "controller/core"],
    "controller/state": ["base/types", "controller/core", "controller/config", "controller/record"],
    "worker/core": ["base/types"],
    "worker/host": [
        "base/types",
        "base/message",
        "base/session",
        "base/link",
        "base/order",
        "base/daemon",
        "worker/core",
        "plugins/api",
    ],
    "worker/launcher": ["base/types", "base/order", "plugins/api"],
    "worker/shepherd": ["base/types", "base/order", "plugins/api"],
    "submit/script": ["base/types"],
    "submit/client": ["base/types", "base/message"],
    "submit/cli": ["base/types", "base/message", "submit/script", "submit/client"],
    "submit/gateway": ["base/types", "base/message", "base/session", "base/link", "base/daemon"],
    "plugins/api": [],
    "plugins/gpu_fake": ["plugins/api"],
    "plugins/gpu_nvml": ["plugins/api"],
}
PURE = ("base/types", "base/session", "controller/core", "worker/core")
ROOT_HALF = ("worker/launcher", "worker/shepherd", "base/order")

# Heavy header → where it may stand, and in how many .cpp files (tests apart). Never in a header.
HEAVY = {
    "msgpack": (r"msgpack(?:\.hpp|/)", ["base/message"], 8),
    "spdlog": (r"spdlog/", ["base/daemon"], 2),
    "CLI11": (r"CLI/", ["submit/cli", "base/daemon", "controller", "worker", "submit"], 14),
    "toml++": (
        r"toml\+\+|toml\.hpp|tomlplusplus",
        ["controller/config", "worker/host", "base/daemon", "submit/gateway", "plugins/gpu_fake"],
        5,
    ),
    "libpqxx": (r"pqxx/", ["controller/sql"], 4),
    "nlohmann-json": (
        r"nlohmann/",
        [
            "base/message",
            "controller",
            "controller/host",
            "controller/record",
            "submit/client",
            "submit/cli",
        ],
        8,
    ),
    "ZeroMQ": (r"zmq\.hpp|zmq\.h|zmq_addon", ["base/link"], 7),
}


def folder_of(path):
    """The library folder of a source: two levels, except mains (controller/x.cpp → controller)."""
    parts = path.split("/")
    return "/".join(parts[:2]) if len(parts) > 2 else parts[0]


def cmake_calls(text):
    """(function, words) of every muster_*() call."""
    text = re.sub(r"#[^\n]*", "", text)
    for match in re.finditer(r"\b(muster_\w+)\s*\(([^()]*)\)", text):
        yield match.group(1), match.group(2).split()


def section(words, name):
    """Words after `name` up to the next keyword."""
    if name not in words:
        return []
    found = []
    for word in words[words.index(name) + 1 :]:
        if word in ("uses", "links", "EXCLUDE", "RECURSE", "TIMEOUT"):
            break
        found.append(word)
    return found


class Targets:
    """What the top CMakeLists.txt declares."""

    def __init__(self, text):
        self.folder = {}  # library → folder
        self.uses = {}  # folder → folders it declares
        self.mains = {}  # main file → folders
        self.recursive = set()
        declared = []
        for function, words in cmake_calls(text):
            if function in ("muster_library", "muster_headers", "muster_plugin"):
                self.folder[words[0]] = words[1]
                declared.append((words[1], section(words, "uses")))
                if "RECURSE" in words:
                    self.recursive.add(words[1])
            elif function == "muster_program":
                self.mains[words[1]] = section(words, "uses")
        self.uses = {
            folder: [self.folder.get(name, name) for name in names] for folder, names in declared
        }
        self.mains = {
            main: [self.folder.get(name, name) for name in names]
            for main, names in self.mains.items()
        }
