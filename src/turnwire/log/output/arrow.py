"""The Arrow C data interface, so that Polars, DuckDB, pandas and pyarrow read batches without pyarrow or a copy.

Exported structures hold their Python owner until the consumer releases them. Layouts are those of the Arrow columnar
format: text goes out as string views into the scanned bytes (``texts``); only rows with escapes are copied, into a
buffer of their own; enums go out as dictionaries. Small batches are joined first: thousands of small files would give
thousands of arrays, each with a cost of its own.
"""

from __future__ import annotations

import ctypes
import errno
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from types import SimpleNamespace
from typing import Any

import numpy as np

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
    release,
)
from turnwire.contract import Column
from turnwire.log.output.batch import DTYPES, Batch, JoinedBatches, Layout
from turnwire.log.output.texts import Bits, Filled, TextColumn, Values, filled, zeros

SMALL = 1 << 16
"""Bytes of scanned input up to which a batch is worth a copy."""
_ENOUGH = 1 << 20
_MOST = 128
"""Batches that are joined at once: a consumer that wants the first rows should not wait for thousands of files."""


def joined(batches: Iterator[Batch]) -> Iterator[Batch]:
    """The same records in the same order, with the batches of small files joined to larger ones. Batches of the same
    file stay what ``batch_bytes`` made them."""
    waiting: list[Batch] = []
    size = 0
    for batch in batches:
        small = batch.scanned <= SMALL and batch.file is not None
        full = len(waiting) == _MOST or size >= _ENOUGH
        if waiting and (full or not small or batch.file == waiting[-1].file):
            yield JoinedBatches(waiting) if waiting[1:] else waiting[0]
            waiting, size = [], 0
        if small:
            waiting.append(batch)
            size += batch.scanned
        else:
            yield batch
    if waiting:
        yield JoinedBatches(waiting) if waiting[1:] else waiting[0]


_core = _backend.load("log.arrow")
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
# Schemas and streams that the consumer has not released, by the number in private_data; the core holds arrays.
_owners: dict[int, Any] = {}
_next_key = iter(range(1, 1 << 62))


def _kept_until_released(owner: Any) -> int:
    key = next(_next_key)
    _owners[key] = owner
    return key


def _release(address: int) -> None:
    release(ArrowSchema.from_address(address), _owners)


# Consumers release whenever it suits them, also while an exception is on its way.
_release_schema = SchemaRelease(_core.foreign(_release, ArrowSchema.release.offset))
# --- schema ---------------------------------------------------------------------------------------------------------


def _schema(
    struct: Any, code: str, name: str = "", nullable: bool = False, children: Sequence[Any] = (), dictionary: Any = None
) -> Any:
    """Fills a struct ArrowSchema. The consumer may let go of each of its structures by itself."""
    texts = code.encode(), name.encode()  # ctypes keeps pointers only
    pointers = (ctypes.POINTER(ArrowSchema) * max(len(children), 1))(*map(ctypes.pointer, children))
    struct.format, struct.name = texts
    struct.flags, struct.release = _NULLABLE if nullable else 0, _release_schema
    struct.n_children, struct.children = len(children), ctypes.cast(pointers, type(struct.children))
    struct.dictionary = None if dictionary is None else ctypes.pointer(dictionary)
    struct.private_data = _kept_until_released((texts, pointers, children, dictionary))
    return struct


def _batch_schema(struct: Any, columns: Sequence[Column]) -> Any:
    """Makes this the schema of a batch."""
    children = []
    for column in columns:
        names = _schema(ArrowSchema(), "u") if column.kind in ("enum", "file") else None
        nullable = column.nullable or column.kind == "file"
        children.append(_schema(ArrowSchema(), FORMATS[column.kind], column.name, nullable, (), names))
    return _schema(struct, "+s", children=children)


# --- arrays ---------------------------------------------------------------------------------------------------------


def _strings(texts: Sequence[bytes], offsets: str = "i4") -> tuple[Any, ...]:
    """Offsets and data of an Arrow string or binary array without nulls."""
    places = np.zeros(len(texts) + 1, offsets)
    np.cumsum([len(text) for text in texts], out=places[1:])
    return None, places, np.frombuffer(b"".join(texts) or b"\0", np.uint8)


@lru_cache(256)
def _dictionary(names: tuple[str, ...]) -> tuple[int, tuple[Any, ...]]:
    """Made once; every batch exports the same buffers."""
    return len(names), _strings([name.encode("utf-8", "replace") for name in names])


@lru_cache(64)
def _plan(layout: Layout) -> tuple[tuple[Any, ...], ...]:
    """How the core makes the array of each column, see :func:`texts.filled`; () for what ``_column`` gives."""
    scanner, first = layout.scanner, dict[str, int]()
    plan: list[tuple[Any, ...]] = []
    for place, column in enumerate(layout.columns):
        how, name, dtype, bit = layout.origins[column.name]
        valid = -1 if bit is None else bit
        if how == "text":
            escaped, packed = scanner.escaped.get(name), scanner.packed
            if (before := first.setdefault(name, place)) != place:
                plan.append(("like", before))
            elif packed is None:
                plan.append(("spans", name, valid, -1 if escaped is None else escaped, scanner.json))
            elif escaped is None:
                plan.append(("rows", packed.array, packed.places(name), packed.shape, valid))
            else:
                plan.append(())
        elif how == "column" and column.kind in DTYPES and column.kind != "bool":
            plan.append(("values", name, dtype, valid if column.nullable else -1, *_names(column)))
        else:
            plan.append(())
    return tuple(plan)


def _names(column: Column) -> tuple[Any, int]:
    """The dictionary of an enum and its highest code."""
    return (_dictionary(column.names), max(len(column.names) - 1, 0)) if column.kind == "enum" else (None, -1)


def _column(batch: Any, column: Column) -> TextColumn | Values | Filled:
    """A column for the core to make an array of, or that array."""
    if column.kind == "file":
        if type(batch) is Batch and batch.file is not None:
            return Values(zeros(4 * len(batch)), None, _dictionary((batch.file,)))
        names, codes = batch.file_codes()
        return Values(np.maximum(codes, 0), _bits(codes >= 0), _dictionary(tuple(names)))
    values = batch.values(column)
    if column.kind in ("name", "binary"):
        return 0, _strings([text if isinstance(text, bytes) else text.encode() for text in values], "i8"), None
    if column.kind == "text":
        text: TextColumn = values
        return text
    values = np.packbits(values, bitorder="little") if column.kind == "bool" else np.ascontiguousarray(values)
    return Values(values, _bits(batch.validity_of(column) if column.nullable else None), *_names(column))


def _bits(valid: Any) -> Bits | None:
    return Bits(valid.astype(np.uint16), 0) if isinstance(valid, np.ndarray) else valid


def _export_batch(address: int, batch: Any) -> None:
    """Fills a struct ArrowArray at this address from a batch. Each column holds the memory that it needs."""
    columns: tuple[Column, ...] = batch.columns
    plan = ((),) * len(columns) if batch._layout is None else _plan(batch._layout)
    arrays, buffer, arena = batch._memory
    found = filled(plan, arrays, buffer, arena, batch.kept, lambda place: _column(batch, columns[place]))
    _core.export(address, batch.kept, found)


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

    return int(_core.foreign(destroy))


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


def _guarded(stream: Any, work: Callable[[], None]) -> int:
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
    stream = _owners[pointer.contents.private_data]
    return _guarded(stream, lambda: _batch_schema(out.contents, stream.columns))


@GetNext
def _get_next(pointer: Any, out: Any) -> int:
    stream = _owners[pointer.contents.private_data]

    def work() -> None:
        batch = next(stream.batches, None)
        if batch is None:
            out.contents.release = ArrayRelease()
        else:
            _export_batch(ctypes.addressof(out.contents), batch)

    return _guarded(stream, work)


@GetError
def _get_error(pointer: Any) -> int | None:
    return ctypes.addressof(_owners[pointer.contents.private_data].error)


def _close_stream(address: int) -> None:
    stream = ArrowStream.from_address(address)
    _owners.pop(stream.private_data, None)
    stream.release = StreamRelease()


_release_stream = StreamRelease(_core.foreign(_close_stream, ArrowStream.release.offset))


def stream_capsule(columns: Sequence[Column], batches: Iterator[Any]) -> object:
    """A PyCapsule "arrow_array_stream" that yields the batches."""
    stream = ArrowStream()
    stream.get_schema, stream.get_next, stream.get_last_error = _get_schema, _get_next, _get_error
    stream.release = _release_stream
    owner = SimpleNamespace(columns=columns, batches=batches, error=ctypes.create_string_buffer(b""))
    stream.private_data = _kept_until_released(owner)
    return _capsule(stream, _STREAM_NAME, _destroy_stream)
