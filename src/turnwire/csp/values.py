"""What is inside values: references to places in files, and names of DEFs."""

from __future__ import annotations

import re
from collections.abc import Mapping

from turnwire.csp.spec import WIRE
from turnwire.errors import DecodeError, Reason, expect

_REF = re.compile(r"(.+):([0-9]{1,18})(?:-([0-9]{1,18}))?", re.DOTALL)


def refs(text: str) -> list[tuple[str, int | None, int | None]]:
    """The parts of a DATA value, separated by ``;``: (path, first line, last line).

    ``src/a.ts:7`` is ("src/a.ts", 7, 7); a part that is not a reference is kept whole as (part, None, None); no text
    has no parts. Raises DecodeError(bad_range) for a range that ends before it starts.
    """
    expect(text, str, "the text of a value is read")
    found: list[tuple[str, int | None, int | None]] = []
    offset = 0
    for part in text.split(";") if text else ():
        match = _REF.fullmatch(part)
        if match is None:
            found.append((part, None, None))
        else:
            first = int(match[2])
            last = first if match[3] is None else int(match[3])
            if last < first:
                raise DecodeError(
                    Reason.BAD_RANGE,
                    f"{part!r} ends before it starts",
                    offset=len(text[:offset].encode("utf-8", "surrogatepass")),
                    line=1,
                    wire=WIRE,
                )
            found.append((match[1], first, last))
        offset += len(part) + 1
    return found


def expand(text: str, defs: Mapping[str, str]) -> str:
    """``text`` with every whole comma-separated token that is a DEF replaced by its value, once (reading 7).

    A view for readers: white space around a token stays, values are not expanded again, the wire text is untouched.
    """
    expect(text, str, "the text of a value is expanded")
    expect(defs, Mapping, "DEFs are a mapping of names to values")
    return ",".join(_expanded(token, defs) for token in text.split(","))


def _expanded(token: str, defs: Mapping[str, str]) -> str:
    name = token.strip(" \t")
    if name not in defs:
        return token
    before = token[: len(token) - len(token.lstrip(" \t"))]
    return before + defs[name] + token[len(before) + len(name) :]
