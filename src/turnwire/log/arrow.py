"""The Arrow C data interface, so that Polars, DuckDB, pandas and pyarrow read batches without pyarrow or a copy.

Exported structures hold their Python owner until the consumer releases them. Layouts are those of the Arrow columnar
format: text goes out as string views into the scanned bytes; only rows with escapes are copied, into a buffer of
their own; enums go out as dictionaries.
"""

from __future__ import annotations

import ctypes
import errno
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from turnwire import _backend
from turnwire.contract import Column
from turnwire.log.memory import Pool

_views = _backend.load("views")
_callbacks = _backend.load("callbacks")

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


class ArrowSchema(ctypes.Structure):
    """struct ArrowSchema."""


class ArrowArray(ctypes.Structure):
    """struct ArrowArray."""


class ArrowStream(ctypes.Structure):
    """struct ArrowArrayStream."""


_SchemaRelease = ctypes.CFUNCTYPE(None, ctypes.POINTER(ArrowSchema))
_ArrayRelease = ctypes.CFUNCTYPE(None, ctypes.POINTER(ArrowArray))
_StreamRelease = ctypes.CFUNCTYPE(None, ctypes.POINTER(ArrowStream))
_GetSchema = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ArrowStream), ctypes.POINTER(ArrowSchema))
_GetNext = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ArrowStream), ctypes.POINTER(ArrowArray))
_GetError = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.POINTER(ArrowStream))

ArrowSchema._fields_ = [
    ("format", ctypes.c_char_p),
    ("name", ctypes.c_char_p),
    ("metadata", ctypes.c_char_p),
    ("flags", ctypes.c_int64),
    ("n_children", ctypes.c_int64),
    ("children", ctypes.POINTER(ctypes.POINTER(ArrowSchema))),
    ("dictionary", ctypes.POINTER(ArrowSchema)),
    ("release", _SchemaRelease),
    ("private_data", ctypes.c_void_p),
]
ArrowArray._fields_ = [
    ("length", ctypes.c_int64),
    ("null_count", ctypes.c_int64),
    ("offset", ctypes.c_int64),
    ("n_buffers", ctypes.c_int64),
    ("n_children", ctypes.c_int64),
    ("buffers", ctypes.POINTER(ctypes.c_void_p)),
    ("children", ctypes.POINTER(ctypes.POINTER(ArrowArray))),
    ("dictionary", ctypes.POINTER(ArrowArray)),
    ("release", _ArrayRelease),
    ("private_data", ctypes.c_void_p),
]
ArrowStream._fields_ = [
    ("get_schema", _GetSchema),
    ("get_next", _GetNext),
    ("get_last_error", _GetError),
    ("release", _StreamRelease),
    ("private_data", ctypes.c_void_p),
]

# What the consumer still holds, by the number in private_data.
_held: dict[int, Any] = {}
_next_key = iter(range(1, 1 << 62))


def _hold(owner: Any) -> int:
    key = next(_next_key)
    _held[key] = owner
    return key


def _release(struct: Any, null: Any) -> None:
    for place in range(struct.n_children):
        child = struct.children[place]
        if child.contents.release:
            child.contents.release(child)
    if struct.dictionary and struct.dictionary.contents.release:
        struct.dictionary.contents.release(struct.dictionary)
    key = struct.private_data
    struct.release = null
    _held.pop(key, None)


# Consumers release whenever it suits them, also while an exception is on its way.
_release_schema = _SchemaRelease(
    _callbacks.foreign(lambda address: _release(ArrowSchema.from_address(address), _SchemaRelease()))
)
_release_array = _ArrayRelease(
    _callbacks.foreign(lambda address: _release(ArrowArray.from_address(address), _ArrayRelease()))
)


# --- schema ---------------------------------------------------------------------------------------------------------


def _children(structs: Sequence[Any], kind: Any) -> Any:
    pointers = (ctypes.POINTER(kind) * max(len(structs), 1))(*(ctypes.pointer(struct) for struct in structs))
    return ctypes.cast(pointers, ctypes.POINTER(ctypes.POINTER(kind))), pointers


def _fill_schema(
    struct: Any, code: str, name: str, nullable: bool, children: Sequence[Any] = (), dictionary: Any = None
) -> Any:
    code_bytes, name_bytes = code.encode(), name.encode()
    array, pointers = _children(children, ArrowSchema)
    struct.format, struct.name, struct.metadata = code_bytes, name_bytes, None
    struct.flags = _NULLABLE if nullable else 0
    struct.n_children, struct.children = len(children), array
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


def _fill_array(
    struct: Any,
    length: int,
    buffers: Sequence[Any],
    *,
    nulls: int = 0,
    children: Sequence[Any] = (),
    dictionary: Any = None,
    owner: Any = None,
) -> Any:
    """``buffers`` are NumPy arrays or None (a missing validity bitmap)."""
    addresses = [None if buffer is None else _address(buffer) for buffer in buffers]
    table = (ctypes.c_void_p * max(len(buffers), 1))(*addresses)
    array, pointers = _children(children, ArrowArray)
    struct.length, struct.null_count, struct.offset = length, nulls, 0
    struct.n_buffers, struct.buffers = len(buffers), ctypes.cast(table, ctypes.POINTER(ctypes.c_void_p))
    struct.n_children, struct.children = len(children), array
    struct.dictionary = ctypes.pointer(dictionary) if dictionary is not None else None
    struct.release = _release_array
    struct.private_data = _hold((list(buffers), table, pointers, list(children), dictionary, owner))
    return struct


def _address(buffer: NDArray[Any]) -> int:
    return int(buffer.ctypes.data)


def _strings(texts: Sequence[bytes], offsets: str = "i4") -> list[Any]:
    """Offsets and data of an Arrow string or binary array without nulls."""
    places = np.zeros(len(texts) + 1, offsets)
    np.cumsum([len(text) for text in texts], out=places[1:])
    return [None, places, np.frombuffer(b"".join(texts) or b"\0", np.uint8)]


def _dictionary(names: Sequence[str]) -> Any:
    encoded = [name.encode("utf-8", "replace") for name in names]
    return _fill_array(ArrowArray(), len(names), _strings(encoded))


def _validity(valid: NDArray[np.bool_] | None) -> tuple[Any, int]:
    if valid is None or valid.all():
        return None, 0
    return np.packbits(valid, bitorder="little"), int(len(valid) - valid.sum())


_view_memory = Pool(keep=24)
"""String views, a block for each text column of a batch: taken again once the consumer has let go of it."""


def _text_array(text: Any) -> Any:
    """String views: 16 bytes a row, with up to 12 bytes of text inside, the rest in the scanned buffer."""
    count = len(text)
    views = _view_memory.take(max(count, 1) * 16)[: count * 16].reshape(count, 16)
    buffer, arena = np.frombuffer(text.buffer, np.uint8), np.frombuffer(text.arena, np.uint8)
    _views.string_views(buffer, text.offsets, text.lengths, views, arena)
    data = [buffer, arena] if len(arena) else [buffer]
    rows = np.flatnonzero(text.escaped & text.valid)
    if len(rows):
        side, lengths = _plain_texts(text, rows, buffer, arena)
        own = np.empty((len(rows), 16), np.uint8)
        _views.string_views(side, np.cumsum(lengths) - lengths, lengths, own)
        own.view(np.int32).reshape(-1, 4)[lengths > 12, 2] = len(data)
        views[rows] = own
        data.append(side)
    sizes = np.array([len(part) for part in data], np.int64)
    bitmap, nulls = _validity(text.valid)
    return _fill_array(ArrowArray(), count, [bitmap, views, *data, sizes], nulls=nulls)


def _plain_texts(text: Any, rows: Any, buffer: Any, arena: Any) -> tuple[Any, Any]:
    """The texts of rows with escapes, without them, one behind the other; and how long each of them is."""
    lengths = text.lengths[rows]
    if text.json:
        side = np.empty(max(int(lengths.sum()), 1), np.uint8)
        size = _views.json_texts(buffer, arena, text.offsets[rows], lengths, side)
        return side[: max(size, 1)], lengths
    plain = [text.bytes(row) for row in rows]
    side = np.frombuffer(b"".join(plain) or b"\0", np.uint8)
    return side, np.array([len(one) for one in plain], np.int64)


def _file_array(batch: Any, count: int) -> Any:
    names, codes = batch.file_codes()
    bitmap, nulls = _validity(codes >= 0)
    indices = np.maximum(codes, 0)
    return _fill_array(ArrowArray(), count, [bitmap, indices], nulls=nulls, dictionary=_dictionary(names))


def _column_array(batch: Any, column: Column) -> Any:
    count = len(batch)
    if column.kind == "text":
        return _text_array(batch[column.name])
    if column.kind == "file":
        return _file_array(batch, count)
    if column.kind in ("name", "binary"):
        texts = [text if isinstance(text, bytes) else text.encode() for text in batch[column.name]]
        return _fill_array(ArrowArray(), count, _strings(texts, "i8"))
    bitmap, nulls = _validity(batch.valid(column.name) if column.nullable else None)
    values = np.ascontiguousarray(batch[column.name])
    if column.kind == "bool":
        values = np.packbits(values, bitorder="little")
    dictionary = _dictionary(column.names) if column.kind == "enum" else None
    if nulls and column.kind == "enum":
        values = np.where(values < len(column.names), values, 0).astype(np.uint8)
    return _fill_array(ArrowArray(), count, [bitmap, values], nulls=nulls, dictionary=dictionary)


def _batch_array(struct: Any, batch: Any) -> Any:
    children = [_column_array(batch, column) for column in batch.columns]
    return _fill_array(struct, len(batch), [None], children=children, owner=batch)


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
    array = _capsule(_batch_array(ArrowArray(), batch), _ARRAY_NAME, _destroy_array)
    return schema_capsule(batch.columns), array


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


@_GetSchema
def _get_schema(pointer: Any, out: Any) -> int:
    stream = _held[pointer.contents.private_data]
    return _guarded(stream, lambda: _batch_schema(out.contents, stream.columns))


@_GetNext
def _get_next(pointer: Any, out: Any) -> int:
    stream = _held[pointer.contents.private_data]

    def work() -> None:
        batch = next(stream.batches, None)
        if batch is None:
            out.contents.release = _ArrayRelease()
        else:
            _batch_array(out.contents, batch)

    return _guarded(stream, work)


@_GetError
def _get_error(pointer: Any) -> int | None:
    return ctypes.addressof(_held[pointer.contents.private_data].error)


def _close_stream(address: int) -> None:
    stream = ArrowStream.from_address(address)
    _held.pop(stream.private_data, None)
    stream.release = _StreamRelease()


_release_stream = _StreamRelease(_callbacks.foreign(_close_stream))


def stream_capsule(columns: Sequence[Column], batches: Iterator[Any]) -> object:
    """A PyCapsule "arrow_array_stream" that yields the batches."""
    stream = ArrowStream()
    stream.get_schema, stream.get_next, stream.get_last_error = _get_schema, _get_next, _get_error
    stream.release = _release_stream
    stream.private_data = _hold(_Stream(columns, batches))
    return _capsule(stream, _STREAM_NAME, _destroy_stream)
