"""Small batches as one: thousands of small files would give thousands of Arrow arrays, each with a cost of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from turnwire.log.output.batch import Batch, Columns
from turnwire.log.output.texts import TextColumn, rows_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from turnwire.contract import Column

SMALL = 1 << 14
"""Bytes of scanned input up to which a batch is worth a copy."""
_ENOUGH = 1 << 20
_MOST = 128
"""Batches that are joined at once: a consumer that wants the first rows should not wait for thousands of files."""


def joined(batches: Iterator[Batch]) -> Iterator[Batch | Joined]:
    """The same records in the same order, with the batches of small files joined to larger ones. Batches of the same
    file stay what ``batch_bytes`` made them."""
    waiting: list[Batch] = []
    size = 0
    for batch in batches:
        if waiting and batch.file == waiting[-1].file:
            yield from _taken(waiting)
            size = 0
        if batch.scanned > SMALL or batch.file is None:
            yield from _taken(waiting)
            size = 0
            yield batch
            continue
        waiting.append(batch)
        size += batch.scanned
        if size >= _ENOUGH or len(waiting) == _MOST:
            yield from _taken(waiting)
            size = 0
    yield from _taken(waiting)


def _taken(waiting: list[Batch]) -> Iterator[Batch | Joined]:
    """What waits, as one; then nothing waits."""
    batches = waiting[:]
    waiting.clear()
    if len(batches) == 1:
        yield batches[0]
    elif batches:
        yield Joined(batches)


class Joined(Columns):
    """Batches one behind the other, as far as the Arrow export asks: it owns copies and keeps none of them alive."""

    def __init__(self, batches: Sequence[Batch]) -> None:
        self.columns: tuple[Column, ...] = batches[0].columns
        self._count = sum(map(len, batches))
        self._files = self._files_of(batches)
        self._buffers: dict[tuple[int, ...], tuple[list[memoryview], memoryview]] = {}
        self._values: dict[str, Any] = {}
        self._valid: dict[str, NDArray[np.bool_] | None] = {}
        for column in self.columns:
            parts = [] if column.kind == "file" else [batch[column.name] for batch in batches]
            if column.kind == "text":
                self._values[column.name] = self._text(parts)
            elif parts:
                self._values[column.name] = np.concatenate(parts)
            valid = [(batch.validity(column.name), len(batch)) for batch in batches]
            self._valid[column.name] = _joined_rows(valid)
        self._buffers.clear()

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, name: str) -> Any:
        return self._values[name]

    def validity(self, name: str) -> NDArray[np.bool_] | None:
        """Which records have a value in this column; None where all have."""
        return self._valid[name]

    def file_codes(self) -> tuple[list[str], NDArray[np.int32]]:
        """As :meth:`Batch.file_codes`."""
        return self._files

    @staticmethod
    def _files_of(batches: Sequence[Batch]) -> tuple[list[str], NDArray[np.int32]]:
        names: dict[str, int] = {}
        codes = []
        for batch in batches:
            code = -1 if batch.file is None else names.setdefault(batch.file, len(names))
            codes.append(np.full(len(batch), code, np.int32))
        return list(names), np.concatenate(codes)

    def _text(self, parts: Sequence[TextColumn]) -> TextColumn:
        """The texts over one buffer, and one arena, of all."""
        buffer, arena = self._bytes(parts, lambda part: part.buffer), self._bytes(parts, lambda part: part.arena)
        before = before_arena = 0
        offsets = []
        for part in parts:
            inside = part.offsets >= len(part.buffer)
            shift = np.where(inside, len(buffer) - len(part.buffer) + before_arena, before)
            offsets.append(part.offsets + shift)
            before += len(part.buffer)
            before_arena += len(part.arena)
        lengths = np.concatenate([part.lengths for part in parts])
        valid = _joined_rows([(part.validity, len(part)) for part in parts])
        escapes = None
        if any(part.escapes is not None for part in parts):
            escapes = np.concatenate([part.escaped for part in parts])
        plain = next((part.plain for part in parts if part.plain is not None), None)
        return TextColumn(buffer, np.concatenate(offsets), lengths, valid, escapes, plain, arena, parts[0].json)

    def _bytes(self, parts: Sequence[TextColumn], of: Callable[[TextColumn], memoryview]) -> memoryview:
        """The bytes of all parts; columns of the same bytes share them."""
        views = [of(part) for part in parts]
        key = tuple(map(id, views))
        if key not in self._buffers:
            self._buffers[key] = views, memoryview(b"".join(views))  # while the views are there, so are their ids
        return self._buffers[key][1]


def _joined_rows(parts: Sequence[tuple[Any, int]]) -> NDArray[np.bool_] | None:
    if all(which is None for which, _ in parts):
        return None
    return np.concatenate([rows_of(which, count) for which, count in parts])
