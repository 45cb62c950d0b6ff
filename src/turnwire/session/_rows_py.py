"""Where records end, and all the events that follow each other read in one go."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from turnwire.session._checks_py import Chain
from turnwire.session._fields_py import split
from turnwire.session._state_py import Expected, State, read
from turnwire.session._values_py import Leaf

if TYPE_CHECKING:
    from turnwire.session.shapes import Shape
    from turnwire.session.state import Template

row = re.compile(r"([A-Za-z]+)(?: (.*))?", re.DOTALL).fullmatch
"""The name of a template, and what follows a space behind it, of the body of a row."""
surrogate = re.compile(r"\\u[dD][89a-fA-F]|[\ud800-\udfff]").search
"""A lone surrogate may be among the texts of a body where this finds something."""


def record_end(text: str, start: int) -> int:
    """Where the record that starts there ends: at the feed before a line that begins another one; -1 if none does."""
    at = text.find("\n", start)
    while at >= 0:
        after = at + 1
        while text[after : after + 1] == "\n":
            after += 1
        following = text[after : after + 1]
        if following == "":
            return -1
        if following != " ":
            return at
        at = text.find("\n", after)
    return -1


def unfolded(raw: str) -> str:
    """A body as one text: lines after the first lose the space that they begin with."""
    if "\n" not in raw:
        return raw
    first, *rest = raw.split("\n")
    return "\n".join([first, *(line[1:] for line in rest)])


def rows(
    text: str,
    at: list[int],
    chain: Chain | None,
    templates: dict[str, Template],
    state: State,
    expand: Callable[[str], str] | None,
    rare: Callable[[str, Expected], Leaf],
    given_back: Callable[[Shape, list[Leaf]], Any],
    other: Callable[[str], Any],
    found: list[Any],
) -> None:
    """Reads the records of events for as long as each is whole and its check fits, and adds the events.

    at: offset and line of the first; when this ends, of the record that is not one of these, of which ``chain`` knows
    nothing yet; when one of the functions raises, of the record in which it does. chain: None for records without
    checks. expand: puts back what aliases are, None where there are none. rare: as ``read`` takes it. given_back: an
    event of its shape and leaves. other: an event of a body that is no row, or perhaps with a lone surrogate.
    """
    width = 0 if chain is None else 2
    while True:
        start = at[0]
        end = record_end(text, start)
        if end - width <= start or text[start] in "^.%":
            return
        raw = text[start : end - width]
        if chain is not None and not chain.follows(raw, text[end - 2 : end]):
            return
        body = unfolded(raw)
        if expand is not None:
            body = expand(body)
        head = row(body)
        template = None if head is None else templates.get(head[1])
        if head is None or template is None or surrogate(body):
            found.append(other(body))
        else:
            fields = fields_of(head[2], head[1], len(template.open))
            found.append(given_back(template.shape, read(state, template, fields, rare)))
        at[0] = end + 1
        at[1] += raw.count("\n") + 1


def fields_of(rest: str | None, name: str, most: int) -> list[str]:
    """The fields of a row. rest: what is behind the name and a space. Raises ValueError for more than ``most``."""
    if rest is None:
        return []
    fields = split(rest)
    if not rest or len(fields) > most:
        raise ValueError(f"{len(fields)} fields where template {name} has {most} open members")
    return fields
