"""Muster's configuration as text: tables in the order made, strings quoted."""
import json


class Table:
    def __init__(self, head, comment=""):
        self.head, self.comment = head, comment
        self.lines = []

    def put(self, key, value):
        self.lines.append(f"{key} = {text_of(value)}")

    def text(self):
        comment = [f"# {self.comment}"] if self.comment else []
        return "\n".join(comment + [self.head] * bool(self.head) + self.lines) + "\n"


def text_of(value):
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return "[" + ", ".join(map(text_of, value)) + "]"
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key} = {text_of(item)}" for key, item in value.items()) + " }"
    if isinstance(value, int):
        return str(value)
    quoted = json.dumps(value, ensure_ascii=False)  # Which TOML's basic strings are, but for DEL.
    return quoted.replace("\x7f", "\\u007f")


class Document:
    """Put into `root` first: TOML has the keys without a table before all tables."""

    def __init__(self, sources):
        self.root = Table("")
        self.tables = []
        self.account_names = []
        self.sources = sources

    def section(self, name):
        return self.add(Table(f"[{name}]"))

    def table(self, name, comment):
        return self.add(Table(f"[[{name}]]", comment))

    def add(self, table):
        self.tables.append(table)
        return table

    def number_of(self, name):
        return sum(table.head == f"[[{name}]]" for table in self.tables)

    def text(self):
        head = "# Made by import-slurm from " + ", ".join(self.sources) + ".\n"
        head += "# Read report.txt beside this file, then: gpuadmin config check controller.toml\n"
        return head + "\n".join([self.root.text()] + [t.text() for t in self.tables if t.lines])
