"""Finds functions in C++ whose comments and literals are blanked: length, parameters, nesting."""
import re
from dataclasses import dataclass

SCOPE = re.compile(r'^\s*(?:inline\s+)?(?:namespace\b|extern\s*")')
TYPE = re.compile(r"\b(?:class|struct|union|enum)\b")
MEMBER_INIT = re.compile(r"\)[^()]*:\s*(?:.*,)?\s*[\w:]+(?:<[^<>]*>)?\s*$", re.S)
CONTROL = re.compile(r"\b(?:if|for|while|switch|catch)\b")
TEST = re.compile(r"^(?:TEST|TEST_F|TEST_P|TYPED_TEST)$")


@dataclass
class Function:
    name: str
    line: int  # Of its name.
    lines: int  # From the name's line to the closing brace.
    parameters: int
    nesting: int


def matching(text, at, open_char, close_char):
    depth = 0
    for i in range(at, len(text)):
        if text[i] == open_char:
            depth += 1
        elif text[i] == close_char:
            depth -= 1
            if depth == 0:
                return i
    return len(text) - 1


def nesting_of(body):
    """Deepest run of blocks that control flow or a lambda opens inside a body (braces included)."""
    deepest, stack = 0, []
    for match in re.finditer(r"[{}]", body[1:-1]):
        if match.group(0) == "{":
            before = body[1 : match.start() + 1].rstrip()
            counts = re.search(
                r"(?:\)|\]|\belse|\bdo|\btry|\bmutable|\bnoexcept)$|\)\s*->\s*[\w:<>,&* ]+$", before
            )
            stack.append(bool(counts) and not re.search(r"\b(?:case|default)\b[^;{}]*:$", before))
            deepest = max(deepest, sum(stack))
        elif stack:
            stack.pop()
    return deepest


def parameter_group(header):
    """The (…) that holds a function's parameters: the first one after its name."""
    at = header.find("(")
    if re.search(r"\boperator\s*\($", header[: at + 1]):
        at = header.find("(", header.find(")", at))
    return at, matching(header, at, "(", ")")


def count_parameters(group):
    inner = group.strip()
    if not inner or inner == "void":
        return 0
    depth, count = 0, 1
    for c in inner:
        if c in "(<[{":
            depth += 1
        elif c in ")>]}":
            depth -= 1
        elif c == "," and depth == 0:
            count += 1
    return count


def without_template(header):
    match = re.match(r"\s*template\s*<", header)
    if not match:
        return header, 0
    end = matching(header, match.end() - 1, "<", ">")
    rest, skipped = without_template(header[end + 1 :])
    return rest, skipped + end + 1


def functions_of(code):
    """Every function defined in code. Lambdas belong to the function they stand in."""
    code = re.sub(
        r"(?m)^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", lambda one: "\n" * one.group(0).count("\n"), code
    )
    found, at, boundary = [], 0, 0
    while at < len(code):
        c = code[at]
        if c in ";}":
            boundary = at + 1
        elif c == ":" and re.search(r"\b(?:public|private|protected)\s*$", code[boundary:at]):
            boundary = at + 1
        elif c == "{":
            at, boundary = enter(code, boundary, at, found)
            continue
        at += 1
    return found


def enter(code, boundary, at, found):
    """Deals with the brace at `at`; returns where to go on and where the next header begins."""
    header, skipped = without_template(code[boundary:at])
    start = boundary + skipped
    plain = re.sub(r"\[\[.*?\]\]", "", header)
    before_paren = plain.split("(")[0]
    if SCOPE.match(plain) or (TYPE.search(before_paren) and "(" not in plain):
        return at + 1, at + 1
    if TYPE.search(before_paren) and not re.search(r"\w\s*\(", plain):
        return at + 1, at + 1
    is_function = "(" in plain and "=" not in re.sub(
        r"operator\s*[=!<>+\-*/|&^]+", "", before_paren
    )
    if is_function and MEMBER_INIT.search(header) and not CONTROL.match(header.strip()):
        return matching(code, at, "{", "}") + 1, boundary
    end = matching(code, at, "{", "}")
    if is_function:
        found.append(describe(code, start, at, end))
    return end + 1, end + 1


def describe(code, start, at, end):
    header = code[start:at]
    first, last = parameter_group(header)
    name_match = re.search(r"((?:operator\s*\S{1,3}|~?[\w:]+))\s*$", header[:first].rstrip() or "")
    name = name_match.group(1) if name_match else "?"
    line = code.count("\n", 0, start + (name_match.start(1) if name_match else 0)) + 1
    parameters = 0 if TEST.match(name) else count_parameters(header[first + 1 : last])
    if TEST.match(name):
        name = ".".join(part.strip() for part in header[first + 1 : last].split(","))
    return Function(
        name, line, code.count("\n", 0, end) + 2 - line, parameters, nesting_of(code[at : end + 1])
    )
