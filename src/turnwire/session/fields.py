"""Leaves as fields of a row, and back: texts bare where they can be, all else JSON. Bodies as lines, and back."""

from __future__ import annotations

import re

from turnwire.session.values import Leaf, leaf_of, parsed, quoted

_PLAIN = re.compile(r"(?![=&])[^\x00-\x1f\x7f-\x9f\u2028\u2029|\\]+").fullmatch
_ODD = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029]")
"""Characters that a reader might take for the end of a line, or lose."""
_ESCAPED = re.compile(r"(?<!\\)(\\*)(\||\Z)")
_BAR = re.compile(r"(?<!\\)(\\*)\|")


def one_line(text: str) -> str:
    """JSON text in which no character is left that a reader might take for the end of a line."""
    return _ODD.sub(lambda found: f"\\u{ord(found[0]):04x}", text) if _ODD.search(text) else text


def json_field(text: str) -> str:
    """JSON text as a field: without a bar, and on one line."""
    return one_line(text.replace("|", "\\u007c"))


def field(leaf: Leaf, text: bool) -> str:
    """A leaf as a field. text: whether a text is expected; then JSON begins with ``=``."""
    if type(leaf) is bytes:
        return "=" * text + json_field(leaf.decode())
    assert type(leaf) is str
    if not text:
        return json_field(quoted(leaf))
    if _PLAIN(leaf):
        return leaf
    if not leaf or leaf[0] in "=&" or _ODD.search(leaf):
        return "=" + json_field(quoted(leaf))
    return _ESCAPED.sub(lambda found: found[1] * 2 + ("\\|" if found[2] else ""), leaf)


def read_field(given: str, text: bool) -> Leaf:
    """The leaf of a field that is not empty. Raises ValueError where it must be JSON and is not."""
    if text and given[0] != "=":
        return given
    return leaf_of(parsed(given[1:] if text else given))


def split(fields: str) -> list[str]:
    """The fields of a row. Raises ValueError for an odd number of backslashes at the end."""
    if "\\" not in fields:
        return fields.split("|")
    found, held, start = [], "", 0
    for bar in _BAR.finditer(fields + "|"):
        if bar.end() > len(fields) and len(bar[1]) % 2:
            raise ValueError("a row ends in a lone backslash")
        held += fields[start : bar.start()] + "\\" * (len(bar[1]) // 2)
        start = bar.end()
        if len(bar[1]) % 2:
            held += "|"
        else:
            found.append(held)
            held = ""
    return found


def folded(body: str) -> str:
    """A body as lines: those after the first begin with a space, but for empty ones in between."""
    if "\n" not in body:
        return body
    first, *rest = body.split("\n")
    return "\n".join([first, *[f" {line}" if line else "" for line in rest[:-1]], f" {rest[-1]}"])


def unfolded(lines: str) -> str:
    """A body of its lines."""
    if "\n" not in lines:
        return lines
    first, *rest = lines.split("\n")
    return "\n".join([first, *[line[1:] for line in rest]])
