"""A leaf as a field of a row, and back: texts bare where they can be, all else JSON."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from turnwire.session._values_py import Leaf, minified, parsed, quoted

PLAIN = re.compile(r"(?![=&])[^\x00-\x1f\x7f-\x9f\u2028\u2029|\\]+").fullmatch
_ODD = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029]")
"""Characters that a reader might take for the end of a line, or lose."""
_BARS = re.compile(r"(\\*)(\||\Z)")
_CUT = re.compile(r"(\\*)\|")


def json_field(text: str) -> str:
    """JSON text as a field: without a bar, and without a character that ends a line."""
    if "|" in text:
        text = text.replace("|", "\\u007c")
    return one_line(text)


def one_line(text: str) -> str:
    """JSON text in which no character is left that a reader might take for the end of a line."""
    return _ODD.sub(lambda found: f"\\u{ord(found[0]):04x}", text) if _ODD.search(text) else text


def bare(text: str) -> str:
    """A text as a field, not the beginning of another form. Bars and what is before them are escaped."""
    if PLAIN(text):
        return text
    if not text or text[0] in "=&" or _ODD.search(text):
        return "=" + json_field(quoted(text))
    return _BARS.sub(_doubled, text) if "|" in text or text[-1] == "\\" else text


def _doubled(found: re.Match[str]) -> str:
    return found[1] * 2 + ("\\|" if found[2] else "")


def field(leaf: Leaf, text: bool) -> str:
    """A leaf as a field; ``text``: whether a text is expected."""
    if type(leaf) is str:
        return bare(leaf) if text else json_field(quoted(leaf))
    found = json_field(leaf.decode())  # type: ignore[union-attr]
    return "=" + found if text else found


def leaf_of(given: str, text: bool, written: Callable[[Any], str] = minified) -> Leaf:
    """The leaf of a field that is neither empty nor an alias. written: writes what ``parsed`` gives. Raises ValueError
    where it must be JSON and is not."""
    if text:
        if given[0] != "=":
            return given
        given = given[1:]
    value = parsed(given)
    if type(value) is str:
        return value
    return value if type(value) is bytes else written(value).encode()


def split(body: str) -> list[str]:
    """The fields of a row. Raises ValueError for an odd number of backslashes at the end."""
    if "\\" not in body:
        return body.split("|")
    found, held, start = [], "", 0
    for cut in _CUT.finditer(body):
        slashes = len(cut[1])
        held += body[start : cut.start()] + "\\" * (slashes // 2)
        start = cut.end()
        if slashes % 2:
            held += "|"
        else:
            found.append(held)
            held = ""
    rest = body[start:]
    kept = rest.rstrip("\\")
    slashes = len(rest) - len(kept)
    if slashes % 2:
        raise ValueError("a row ends in a lone backslash")
    found.append(held + kept + "\\" * (slashes // 2))
    return found


def folded(body: str) -> str:
    """A body over several lines: those after the first begin with a space, empty ones inside stay empty."""
    if "\n" not in body:
        return body
    first, *rest = body.split("\n")
    last = len(rest) - 1
    lines = [f" {line}" if line or number == last else "" for number, line in enumerate(rest)]
    return "\n".join([first, *lines])
