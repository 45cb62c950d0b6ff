"""Checks for a session that was written without: what a model writes, its host seals."""

from __future__ import annotations

from turnwire.errors import DecodeError
from turnwire.session.checks import Chain
from turnwire.session.howto import HEADER
from turnwire.session.reading import Session, beginning, in_bytes, plain_events
from turnwire.session.records import records


def seal(text: str) -> str:
    """A session without checks as one with checks; a header and an end are added where they are missing.

    Raises DecodeError for a record that cannot be read: what is sealed is whole.
    """
    begin = beginning(text)
    plain = begin < 0
    if plain:
        text, begin = f"{HEADER}\n{text}", 0
    session = Session(False)
    session.events = len(plain_events(text[:begin]))
    chain = Chain(text[:begin])
    parts = [text[:begin]]
    try:
        for record in records(text, False, begin):
            if not record.raw.strip():
                continue
            if plain and record.raw[:1] == '"':  # JSON lines hold text as it is, records behind a mark
                record = record._replace(body=f"!{record.body}", raw=f"!{record.raw}")
            session.read(record)
            parts.append(chain.sealed(record.raw))
    except DecodeError as error:
        raise in_bytes(error, text) from None
    if not session.ended:
        parts.append(chain.sealed(f".{session.events}"))
    return "".join(parts)
