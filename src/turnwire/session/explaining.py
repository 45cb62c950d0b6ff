"""What a session has that its readers need explained."""

from __future__ import annotations

from typing import Any, NamedTuple

from turnwire.errors import DecodeError
from turnwire.session._repeats_py import BARE
from turnwire.session.reading import Session, beginning, in_bytes, plain_events
from turnwire.session.records import record_at


class Used(NamedTuple):
    """parts: as ``howto`` takes them. letter: the first that stands for an alias; "" where there are no aliases."""

    parts: set[str]
    letter: str


def used_in(text: str, sealed: bool) -> Used | None:
    """What a session uses, which may still go on; None for JSON lines. Raises what ``decode`` raises."""
    begin = beginning(text)
    before = plain_events(text if begin < 0 else text[:begin])
    if begin < 0:
        return None
    session = Session(sealed, text[:begin])
    session.events = len(before)
    parts: set[str] = set()
    letter = ""
    found: list[Any] = []
    at = [begin, 1 + text.count("\n", 0, begin)]
    try:
        while at[0] < len(text):
            session.read(record_at(text, sealed, at))
            reader = session.interpreter
            assert reader is not None  # the header came first
            reader.used = parts
            named = reader.aliases.removesuffix(BARE)
            letter = letter or named
            parts |= {"&"} if named else set()
            parts |= {BARE} if reader.aliases != named else set()
            session.rows(text, at, found)
            found.clear()
    except DecodeError as error:
        raise in_bytes(error, text) from None
    return Used(parts, letter)
