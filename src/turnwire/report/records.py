"""The records of a log for the report: columns grouped by distinct values, and one record in full."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from turnwire.errors import WireError
from turnwire.read.coding import MOST_NAME, Coded, TextColumns, named
from turnwire.read.grouping import group_keys

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from turnwire.log import Batch

COLUMNS = (
    *("file", "offset", "length", "line"),
    *("wire", "kind", "sender", "receiver", "conversation", "sequence", "time", "subject"),
)
"""Columns that are read of each record, beside its bytes."""
OTHERS = -2
"""The code of "one of the names that are not kept apart"."""
MOST_RAW = 2048
"""Bytes of a record as written that are shown."""
MOST_FIELDS = 64
MOST_VALUE = 1024
"""Characters of one decoded field that are shown."""
OVERHEAD = 200  # characters that a message takes in the page beside its texts, about


class Chunk:
    """Some records of one ``file``, the ``number``-th. times: i64 microseconds, UTC, where ``timed``; lengths: i64
    bytes."""

    def __init__(self, batch: Batch, number: int = 0) -> None:
        self.batch = batch
        self.file = batch.file
        self._number = number
        self.texts = TextColumns(batch)
        self.lengths: NDArray[np.int64] = batch["length"]
        self.times, self.timed = self.texts.times

    def __len__(self) -> int:
        return len(self.batch)

    def coded(self, name: str) -> Coded:
        """The column "wire", "kind", "sender", "receiver", "conversation" or "subject"; long names are cut."""
        return self.texts[name].coded()

    @cached_property
    def keys(self) -> NDArray[np.uint64]:
        """A number for each record's conversation, as ``Groups`` has it; for those of a wire that name none, its code
        and 1."""
        wires = self.batch.codes("wire")
        keys = group_keys(wires, self.texts["conversation"])
        return np.where(keys == 0, wires.astype(np.uint64) + np.uint64(1), keys)

    def place(self, row: int) -> tuple[int, str | None, int, int]:
        """A number that grows with the place of a record in the log, its file, line and offset."""
        offset = int(self.batch["offset"][row])
        return (self._number << 48) + offset, self.file, int(self.batch["line"][row]), offset

    def sequence(self, row: int) -> str | None:
        """Its number in the conversation, as decimal text: it may be more than a page can hold as a number."""
        return str(int(self.batch["sequence"][row])) if self.batch.valid("sequence")[row] else None


# --- one record in full ---------------------------------------------------------------------------------------------


class Details(NamedTuple):
    """A record that the page shows, each text cut to a bound.

    number: grows with its place in the log. time: microseconds, UTC. length: bytes in the log.
    fields: (name, value) pairs.
    """

    number: int
    conversation: str | None
    kind: str | None
    sender: str | None
    receiver: str | None
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
        return OVERHEAD + len(self.raw) + texts + len(self.subject or "")


def details(chunk: Chunk, row: int, tokenizer: Any = None) -> Details:
    """One record of a chunk, with its tokens where there is a tokenizer."""
    number, file, line, offset = chunk.place(row)
    try:
        found = [*fields(chunk.batch.message(row))]
    except WireError as error:  # what scanning took and decoding refuses
        found = [("not decoded", str(error))]
    if len(found) > MOST_FIELDS:
        found[MOST_FIELDS:] = [("…", f"{len(found) - MOST_FIELDS:,} more fields")]
    named_by = map(chunk.texts.__getitem__, ("conversation", "kind", "sender", "receiver", "subject"))
    conversation, kind, sender, receiver, subject = (one.text(row) if one.numbers[row] else None for one in named_by)
    if subject is None and "tool" in chunk.batch.names and chunk.batch.valid("tool")[row]:
        subject = named(chunk.batch["tool"][row])
    raw = bytes(chunk.batch.raw(row))
    tokens = None if tokenizer is None else tokenizer.count(raw.decode("utf-8", "replace"))
    values: tuple[Any, ...] = (
        *(number, conversation, kind, sender, receiver, chunk.sequence(row)),
        *(int(chunk.times[row]) if chunk.timed[row] else None, subject),
        *(file, line, offset, int(chunk.lengths[row]), tokens),
        shortened(raw.decode("utf-8", "backslashreplace"), MOST_RAW),
        [(shortened(name, MOST_NAME), shortened(value, MOST_VALUE)) for name, value in found],
    )
    return Details(*values)


def shortened(text: str, most: int) -> str:
    """The text, cut at its end where it is long, saying how much is missing."""
    return text if len(text) <= most else f"{text[:most]}… ({len(text) - most:,} more characters)"


def fields(message: Any) -> Iterator[tuple[str, str]]:
    """The decoded fields of a message of any wire as (name, value) pairs; parts of objects and lists by their path."""
    if not hasattr(message, "to_dict"):  # of a registered wire
        return _flat("", {name: getattr(message, name) for name in type(message).__match_args__})
    return _flat("", message.to_dict())


def _flat(path: str, value: Any) -> Iterator[tuple[str, str]]:
    if isinstance(value, Mapping) and value:
        for name, part in value.items():
            yield from _flat(f"{path}.{name}" if path else str(name), part)
    elif isinstance(value, list | tuple) and value:
        for place, part in enumerate(value):
            texts = isinstance(part, list | tuple) and all(isinstance(one, str) for one in part)
            yield from _flat(f"{path}[{place}]", " ".join(part) if texts else part)  # a field of CSP/1: name and value
    else:
        yield path, json.dumps(value) if value is None or isinstance(value, bool) else str(value)
