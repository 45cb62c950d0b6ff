"""One record in full, as the page shows it: its place, its text, its decoded fields, each cut to a bound."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import Enum
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, NamedTuple

from turnwire.errors import WireError

if TYPE_CHECKING:
    from turnwire.report.records import Chunk

MOST_RAW = 2048  # bytes of the record as written
MOST_FIELDS = 64
MOST_VALUE = 1024  # characters of one decoded field
MOST_NAME = 256  # characters of a sender, a conversation, a subject, the name of a field
_OVERHEAD = 200  # characters that a message takes in the page beside its texts, about


class Details(NamedTuple):
    """A record that the page shows.

    number: grows with its place in the log. time: microseconds, UTC. length: bytes in the log.
    fields: (name, value) pairs.
    """

    number: int
    wire: str
    kind: str | None
    sender: str | None
    receiver: str | None
    conversation: str | None
    sequence: str | None
    time: int | None
    subject: str | None
    file: str | None
    line: int
    offset: int
    length: int
    tokens: int | None
    raw: str
    fields: list[tuple[str, str]]

    @property
    def size(self) -> int:
        """Characters that the record takes in the page, about."""
        texts = sum(len(name) + len(value) for name, value in self.fields)
        return _OVERHEAD + len(self.raw) + texts + len(self.subject or "")


def details(chunk: Chunk, row: int, tokens: int | None) -> Details:
    """One record of a chunk."""
    names = ("wire", "kind", "sender", "receiver", "conversation", "subject")
    wire, kind, sender, receiver, conversation, subject = (chunk.text(name, row) for name in names)
    raw = chunk.raw(row)
    file, line, offset = chunk.place(row)
    return Details(
        number=chunk.number(row),
        wire=wire or "",
        kind=kind,
        sender=sender,
        receiver=receiver,
        conversation=conversation,
        sequence=chunk.sequence(row),
        time=int(chunk.times[row]) if chunk.timed[row] else None,
        subject=subject,
        file=file,
        line=line,
        offset=offset,
        length=int(chunk.lengths[row]),
        tokens=tokens,
        raw=shortened(raw.decode("utf-8", "backslashreplace"), MOST_RAW),
        fields=[(shortened(name, MOST_NAME), shortened(value, MOST_VALUE)) for name, value in _decoded(chunk, row)],
    )


def named(text: str) -> str:
    """A name that is not too long for a page: what is cut keeps a mark of its own, so that two never become one."""
    if len(text) <= MOST_NAME:
        return text
    mark = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=4).hexdigest()
    return f"{text[:MOST_NAME]}… ({len(text) - MOST_NAME:,} more characters, {mark})"


def shortened(text: str, most: int) -> str:
    """The text, cut at its end where it is long, saying how much is missing."""
    return text if len(text) <= most else f"{text[:most]}… ({len(text) - most:,} more characters)"


def _few(message: Any) -> Iterator[tuple[str, str]]:
    number = 0
    for number, field in enumerate(fields(message)):
        if number < MOST_FIELDS:
            yield field
    if number >= MOST_FIELDS:
        yield "…", f"{number + 1 - MOST_FIELDS:,} more fields"


def fields(message: Any) -> Iterator[tuple[str, str]]:
    """The decoded fields of a message of any wire as (name, value) pairs; parts of objects and lists by their path."""
    if hasattr(message, "to_dict"):
        yield from _flat("", message.to_dict())
    elif hasattr(message, "block"):  # CSP: a header, and a block of ordered pairs
        block = message.block
        yield from (("FROM", message.sender), ("TO", message.receiver), ("CTX", message.ctx))
        yield from (("INTENT", _word(message.intent)), (str(block.kind), block.id))
        if hasattr(block, "op"):
            yield "operation", _word(block.op)
        yield from block.fields
    else:  # what CSP holds beside messages
        yield from _flat("", {name: getattr(message, name) for name in type(message).__match_args__})


def _decoded(chunk: Chunk, row: int) -> Iterator[tuple[str, str]]:
    """The fields of a record; what scanning took and decoding refuses says so in place of them."""
    try:
        message = chunk.message(row)
    except WireError as error:
        return iter([("not decoded", str(error))])
    return _few(message)


def _flat(path: str, value: Any) -> Iterator[tuple[str, str]]:
    if isinstance(value, Mapping) and value:
        for name, part in value.items():
            yield from _flat(f"{path}.{name}" if path else str(name), part)
    elif isinstance(value, list | tuple) and value:
        for place, part in enumerate(value):
            yield from _flat(f"{path}[{place}]", part)
    else:
        yield path, _word(value)


def _word(value: Any) -> str:
    if isinstance(value, Enum):
        return str(value.value)
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    return str(value)
