"""Whether two messages are the same one, delivered again, and whether two ids are one."""

from __future__ import annotations

from hashlib import sha256

from turnwire.errors import EncodeError
from turnwire.json.canonical import canonical
from turnwire.json.text import write
from turnwire.sap.members import Record


def content_of(message: Record) -> bytes:
    """Bytes that are equal for equal messages, whatever the order of their keys and the case of their ids.

    Canonical JSON; where that has no form (integers beyond 2**53), the plain text of the message.
    """
    fields = message.fields
    ids = {name: fields[name].lower() for name in _IDS if isinstance(fields.get(name), str)}
    fields = {**fields, **ids}
    try:
        return canonical(fields)
    except EncodeError:
        return write(fields).encode()


_IDS = ("taskId", "correlationId", "parentTaskId")


def digest_of(message: Record) -> bytes:
    """SHA-256 of :func:`content_of`."""
    return sha256(content_of(message)).digest()


def uuid_key(uuid: str) -> str:
    """The form under which an id is kept and looked up: UUIDs are compared without regard to case (RFC 4122)."""
    return uuid.lower()


def same_id(one: str | None, other: str | None) -> bool:
    """Whether two ids are one by value."""
    if isinstance(one, str) and isinstance(other, str):
        return uuid_key(one) == uuid_key(other)
    return one == other
