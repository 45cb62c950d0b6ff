"""Whether two messages are the same one, delivered again."""

from __future__ import annotations

from turnwire.errors import EncodeError
from turnwire.json.canonical import canonical
from turnwire.json.text import write
from turnwire.sap.members import Record


def content_of(message: Record) -> bytes:
    """Bytes that are equal for equal messages, whatever the order of their keys.

    Canonical JSON; where that has no form (integers beyond 2**53), the plain text of the message.
    """
    try:
        return canonical(message.fields)
    except EncodeError:
        return write(message.fields).encode()
