"""The Arrow C data interface, so that Polars, DuckDB, pandas and pyarrow read batches without pyarrow or a copy.

Exported structures hold their Python owner until the consumer releases them. Layouts are those of the Arrow columnar
format: text goes out as string views into the scanned bytes; only rows with escapes are copied, into a buffer of
their own; enums go out as dictionaries.
"""

from __future__ import annotations

import ctypes
import errno
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from turnwire import _backend
from turnwire.arrow_structs import (
    ArrayRelease,
    ArrowArray,
    ArrowSchema,
    ArrowStream,
    GetError,
    GetNext,
    GetSchema,
    SchemaRelease,
    StreamRelease,
)
from turnwire.contract import Column
from turnwire.log.engine.columns import DTYPES
from turnwire.log.input.memory import Pool
from turnwire.log.output.texts import Bits, NumberColumn, PackedColumn

_arrays = _backend.load("log.arrays")
_views = _backend.load("log.views")
_callbacks = _backend.load("log.callbacks")

FORMATS = {
    "u64": "L",
    "i64": "l",
    "u8": "C",
    "f64": "g",
    "bool": "b",
    "timestamp": "tsu:UTC",
    "text": "vu",
    "enum": "C",
    "file": "i",
    "name": "U",
    "binary": "Z",
}
_NULLABLE = 2


# What the consumer still holds of schemas and streams, by the number in private_data; the core holds arrays.
_held: dict[int, Any] = {}
_next_key = iter(range(1, 1 << 62))


def held() -> int:
    """How many structures consumers have not released: one for each column, dictionary, batch, schema and stream."""
    return len(_held) + int(_arrays.exported())


def _hold(owner: Any) -> int:
    key = next(_next_key)
    _held[key] = owner
    return key


def _release(address: int) -> None:
    struct = ArrowSchema.from_address(address)
    for place in range(struct.n_children):
        child = struct.children[place]
        if child.contents.release:
            child.contents.release(child)
    if struct.dictionary and struct.dictionary.contents.release:
        struct.dictionary.contents.release(struct.dictionary)
    key = struct.private_data
    struct.release = SchemaRelease()
    _held.pop(key, None)


# Consumers release whenever it suits them, also while an exception is on its way.
_release_schema = SchemaRelease(_callbacks.foreign(_release, ArrowSchema.release.offset))


# --- schema ---------------------------------------------------------------------------------------------------------


def _fill_schema(
    struct: Any, code: str, name: str, nullable: bool, children: Sequence[Any] = (), dictionary: Any = None
) -> Any:
    code_bytes, name_bytes = code.encode(), name.encode()
    kind = ctypes.POINTER(ArrowSchema)
    pointers = (kind * max(len(children), 1))(*(ctypes.pointer(child) for child in children))
    struct.format, struct.name, struct.metadata = code_bytes, name_bytes, None
    struct.flags = _NULLABLE if nullable else 0
    struct.n_children, struct.children = len(children), ctypes.cast(pointers, ctypes.POINTER(kind))
    struct.dictionary = ctypes.pointer(dictionary) if dictionary is not None else None
    struct.release = _release_schema
    struct.private_data = _hold((code_bytes, name_bytes, pointers, list(children), dictionary))
    return struct


def _column_schema(column: Column) -> Any:
    dictionary = None
    if column.kind in ("enum", "file"):
        dictionary = _fill_schema(ArrowSchema(), "u", "", False)
    nullable = column.nullable or column.kind == "file"
    return _fill_schema(ArrowSchema(), FORMATS[column.kind], column.name, nullable, dictionary=dictionary)


def _batch_schema(struct: Any, columns: Sequence[Column]) -> Any:
    return _fill_schema(struct, "+s", "", False, [_column_schema(column) for column in columns])


# --- arrays ---------------------------------------------------------------------------------------------------------

Filled = tuple[int, tuple[Any, ...], "tuple[int, tuple[Any, ...]] | None"]
"""A column as the core exports it: how many nulls, its buffers, and its dictionary."""

_VIEW = 16
_LARGEST_VIEWS = 2 << 20
_view_memory = Pool(keep=24, largest=_LARGEST_VIEWS)
"""String views, a block for each text column of a batch: taken again once the consumer has let go of it."""
_plain_memory = Pool(keep=8, largest=_LARGEST_VIEWS)
"""The same for what texts with escapes say."""
_zeros: NDArray[np.uint8] = np.zeros(_LARGEST_VIEWS, np.uint8)
"""The views of a column without a text; nobody writes to it, so that it costs no memory."""
_zeros.flags.writeable = False


def _strings(texts: Sequence[bytes], offsets: str = "i4") -> tuple[Any, ...]:
    """Offsets and data of an Arrow string or binary array without nulls."""
    places = np.zeros(len(texts) + 1, offsets)
    np.cumsum([len(text) for text in texts], out=places[1:])
    return None, places, np.frombuffer(b"".join(texts) or b"\0", np.uint8)


@lru_cache(256)
def _dictionary(names: tuple[str, ...]) -> tuple[int, tuple[Any, ...]]:
    """Made once; every batch exports the same buffers."""
    return len(names), _strings([name.encode("utf-8", "replace") for name in names])


def _validity(valid: Bits | NDArray[np.bool_] | None, count: int) -> tuple[Any, int]:
    """A bitmap, or None where every row has a value, and how many have none."""
    if valid is None:
        return None, 0
    if isinstance(valid, Bits):
        bitmap = np.empty((count + 7) // 8, np.uint8)
        nulls = _arrays.bitmap(valid.masks, valid.bit, bitmap)
        return (bitmap, nulls) if nulls else (None, 0)
    nulls = count - int(np.count_nonzero(valid))
    return (np.packbits(valid, bitorder="little"), nulls) if nulls else (None, 0)


def _room(count: int) -> Any:
    """Memory for so many views."""
    return _view_memory.take(count * _VIEW)[: count * _VIEW].reshape(count, _VIEW)


def _text(nulls: int, bitmap: Any, views: Any, data: Sequence[Any]) -> Filled:
    """A text column: its views, and the buffers that these point to."""
    return nulls, (bitmap if nulls else None, views, *data, np.array([len(part) for part in data], np.int64)), None


def _text_array(text: Any) -> Filled:
    """String views: 16 bytes a row, with up to 12 bytes of text inside, the rest in the scanned buffer."""
    valid, escapes = text.validity, text.escapes
    if isinstance(text, NumberColumn):
        return _text_of_numbers(text)
    if isinstance(valid, Bits) and (escapes is None or isinstance(escapes, Bits)):  # one mask a row holds both
        return _text_of_bits(text, valid.masks, valid.bit, -1 if escapes is None else escapes.bit)
    if valid is None and isinstance(escapes, Bits):
        return _text_of_bits(text, escapes.masks, -1, escapes.bit)
    count = len(text)
    bitmap, nulls = _validity(valid, count)
    if nulls == count:
        return _no_text(count, bitmap)
    views = _room(count)
    buffer, arena = np.frombuffer(text.buffer, np.uint8), np.frombuffer(text.arena, np.uint8)
    data = _data(buffer, arena, _views.string_views(buffer, text.offsets, text.lengths, views, arena))
    if escapes is not None:
        data += _plain(text, np.flatnonzero(text.escaped & text.valid), len(data), views)
    return _text(nulls, bitmap, views, data)


def _text_of_bits(text: Any, masks: Any, valid: int, escaped: int) -> Filled:
    """The same in one pass where the bits of one mask a row say which rows have a text (-1: all) and which of them
    have escapes (-1: none)."""
    count = len(text)
    bitmap = np.empty((count + 7) // 8, np.uint8)
    views = _room(count)
    buffer, arena = np.frombuffer(text.buffer, np.uint8), np.frombuffer(text.arena, np.uint8)
    if isinstance(text, PackedColumn):
        packed = text.packed
        numbers = text.rows.view(np.int32).reshape(count, -1)
        places = packed.places(text.name)
        nulls, points = _views.packed_views(buffer, numbers, packed.shape, places, masks, valid, views, bitmap)
        if nulls == count:
            return _no_text(count, bitmap)
        data = _data(buffer, arena, points)
        return _text(nulls, bitmap, views, data)
    spans = text.offsets, text.lengths
    nulls, points, rows, size = _views.text_views(buffer, arena, *spans, masks, valid, escaped, views, bitmap)
    if nulls == count:
        return _no_text(count, bitmap)
    data = _data(buffer, arena, points)
    if rows and text.json and size:
        side = _plain_memory.take(size)[:size]
        both = 1 << escaped | (1 << valid if valid >= 0 else 0)
        data.append(side[: _views.escaped_views(buffer, arena, *spans, masks, both, side, len(data), views)])
    elif rows:
        data += _plain(text, np.flatnonzero(text.escaped & text.valid), len(data), views)
    return _text(nulls, bitmap, views, data)


def _text_of_numbers(text: NumberColumn) -> Filled:
    """The same of whole numbers: most have digits enough for the view alone."""
    count = len(text)
    bitmap = np.empty((count + 7) // 8, np.uint8)
    views = _room(count)
    long = count and int(text.numbers.max()) >= 10**_views.INLINE
    side = np.empty(count * _views.DECIMAL if long else 0, np.uint8)
    masks, bit = text.validity or (None, -1)
    nulls, used = _views.number_views(text.numbers, masks, bit, views, bitmap, side)
    data = [side[:used]] if used else []
    return _text(nulls, bitmap, views, data)


def _no_text(count: int, bitmap: Any) -> Filled:
    size = count * _VIEW
    views = _zeros[:size] if size <= len(_zeros) else np.zeros(size, np.uint8)
    return count, (bitmap, views, np.empty(0, np.int64)), None


def _data(buffer: Any, arena: Any, points: bool) -> list[Any]:
    """The buffers that views point to. Where all texts are short, nobody has to keep the bytes that were scanned."""
    if not points:
        return []
    return [buffer, arena] if len(arena) else [buffer]


def _plain(text: Any, rows: Any, number: int, views: Any) -> list[Any]:
    """Views of these rows, whose texts have escapes, into a buffer of this number with what they say; that buffer, if
    there are any."""
    if not len(rows):
        return []
    plain = [text.bytes(row) for row in rows.tolist()]
    side, lengths = np.frombuffer(b"".join(plain) or b"\0", np.uint8), np.array([len(one) for one in plain], np.int64)
    own = np.empty((len(rows), _VIEW), np.uint8)
    _views.string_views(side, np.cumsum(lengths) - lengths, lengths, own)
    own.view(np.int32)[lengths > _views.INLINE, 2] = number
    views[rows] = own
    return [side]


def _file_array(batch: Any, count: int) -> Filled:
    names, codes = batch.file_codes()
    bitmap, nulls = _validity(codes >= 0, count)
    return nulls, (bitmap, np.maximum(codes, 0)), _dictionary(tuple(names))


_MOST_ALIKE = 1 << 16


@lru_cache(32)
def _alike(value: int, dtype: str) -> NDArray[Any]:
    """One value in all rows; nobody writes to it."""
    return np.full(_MOST_ALIKE, value, dtype)


def _column_array(batch: Any, column: Column) -> Filled:
    count = len(batch)
    value = batch.constant(column) if count <= _MOST_ALIKE else None
    if value is not None:
        names = (batch.file,) if column.kind == "file" else column.names
        values = _alike(value, "i4" if column.kind == "file" else DTYPES[column.kind])[:count]
        none = column.nullable and column.kind != "file"
        bitmap = _zeros[: (count + 7) // 8] if none else None
        return count if none else 0, (bitmap, values), _dictionary(names) if names else None
    if column.kind == "text":
        return _text_array(batch[column.name])
    if column.kind == "file":
        return _file_array(batch, count)
    if column.kind in ("name", "binary"):
        texts = [text if isinstance(text, bytes) else text.encode() for text in batch[column.name]]
        return 0, _strings(texts, "i8"), None
    bitmap, nulls = _validity(batch.validity(column.name) if column.nullable else None, count)
    values = np.ascontiguousarray(batch[column.name])
    if column.kind == "bool":
        values = np.packbits(values, bitorder="little")
    if column.kind != "enum":
        return nulls, (bitmap, values), None
    if nulls:  # the code of a row without a value may be any
        values = np.minimum(values, max(len(column.names) - 1, 0), dtype=np.uint8)
    return nulls, (bitmap, values), _dictionary(column.names)


def _export_batch(address: int, batch: Any) -> None:
    """Fills a struct ArrowArray at this address from a batch. Each column holds the memory that it needs."""
    made: dict[tuple[str, str], Filled] = {}
    columns = []
    for column in batch.columns:
        source = batch.source(column), column.kind  # a text that two columns have is filled once
        if source not in made or column.kind != "text":
            made[source] = _column_array(batch, column)
        columns.append(made[source])
    _arrays.export(address, len(batch), columns)


# --- capsules -------------------------------------------------------------------------------------------------------

_new_capsule = ctypes.pythonapi.PyCapsule_New
_new_capsule.restype, _new_capsule.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
_capsule_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_capsule_pointer.restype, _capsule_pointer.argtypes = ctypes.c_void_p, [ctypes.c_void_p, ctypes.c_char_p]
_structs: dict[int, Any] = {}


def _capsule(struct: Any, name: bytes, destructor: int) -> object:
    address = ctypes.addressof(struct)
    _structs[address] = struct
    capsule: object = _new_capsule(address, name, destructor)
    return capsule


def _destructor(name: bytes) -> int:
    def destroy(capsule: int) -> None:
        struct = _structs.pop(_capsule_pointer(capsule, name))
        if struct.release:  # nobody took it
            struct.release(ctypes.pointer(struct))

    return int(_callbacks.foreign(destroy))


_SCHEMA_NAME, _ARRAY_NAME, _STREAM_NAME = b"arrow_schema", b"arrow_array", b"arrow_array_stream"
_destroy_schema = _destructor(_SCHEMA_NAME)
_destroy_array = _destructor(_ARRAY_NAME)
_destroy_stream = _destructor(_STREAM_NAME)


def schema_capsule(columns: Sequence[Column]) -> object:
    """A PyCapsule "arrow_schema" of a struct of these columns."""
    return _capsule(_batch_schema(ArrowSchema(), columns), _SCHEMA_NAME, _destroy_schema)


def array_capsules(batch: Any) -> tuple[object, object]:
    """PyCapsules "arrow_schema" and "arrow_array" of one batch."""
    array = ArrowArray()
    _export_batch(ctypes.addressof(array), batch)
    return schema_capsule(batch.columns), _capsule(array, _ARRAY_NAME, _destroy_array)


class _Stream:
    def __init__(self, columns: Sequence[Column], batches: Iterator[Any]) -> None:
        self.columns = columns
        self.batches = batches
        self.error = ctypes.create_string_buffer(b"")


def _guarded(stream: _Stream, work: Callable[[], None]) -> int:
    """Runs ``work``; whatever it raises becomes the stream's last error, which the consumer raises in its own words:
    nothing can pass through its code, not even KeyboardInterrupt."""
    try:
        work()
    except BaseException as error:
        stream.error = ctypes.create_string_buffer(f"{type(error).__name__}: {error}".encode("utf-8", "replace"))
        return error.errno if isinstance(error, OSError) and error.errno else errno.EINVAL
    return 0


@GetSchema
def _get_schema(pointer: Any, out: Any) -> int:
    stream = _held[pointer.contents.private_data]
    return _guarded(stream, lambda: _batch_schema(out.contents, stream.columns))


@GetNext
def _get_next(pointer: Any, out: Any) -> int:
    stream = _held[pointer.contents.private_data]

    def work() -> None:
        batch = next(stream.batches, None)
        if batch is None:
            out.contents.release = ArrayRelease()
        else:
            _export_batch(ctypes.addressof(out.contents), batch)

    return _guarded(stream, work)


@GetError
def _get_error(pointer: Any) -> int | None:
    return ctypes.addressof(_held[pointer.contents.private_data].error)


def _close_stream(address: int) -> None:
    stream = ArrowStream.from_address(address)
    _held.pop(stream.private_data, None)
    stream.release = StreamRelease()


_release_stream = StreamRelease(_callbacks.foreign(_close_stream, ArrowStream.release.offset))


def stream_capsule(columns: Sequence[Column], batches: Iterator[Any]) -> object:
    """A PyCapsule "arrow_array_stream" that yields the batches."""
    stream = ArrowStream()
    stream.get_schema, stream.get_next, stream.get_last_error = _get_schema, _get_next, _get_error
    stream.release = _release_stream
    stream.private_data = _hold(_Stream(columns, batches))
    return _capsule(stream, _STREAM_NAME, _destroy_stream)
