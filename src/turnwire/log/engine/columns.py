"""The columns of a scan: the place of a record, the columns of any wire, the columns of its own wire."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from turnwire import registry
from turnwire.contract import COMMON, WORK, BulkScanner, Column, TextPlan, Wire
from turnwire.errors import Reason, UnknownName, nearest
from turnwire.log.search.texts import CARRIERS

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

DTYPES = {"u64": "u8", "i64": "i8", "u8": "u1", "enum": "u1", "bool": "?", "timestamp": "i8", "f64": "f8"}

REASONS: tuple[Reason | None, ...] = (None, *Reason)
"""The reasons of rejects, at their codes."""

POSITIONS = (
    Column("file", "file", nullable=True),
    Column("record", "i64"),
    Column("offset", "i64"),
    Column("length", "i64"),
    Column("line", "i64"),
)
"""The columns of the place of a record, whatever its wire."""


CARRIER = Column("carrier", "enum", names=CARRIERS)
"""The carrier of a record: a column on request, since only the readable twin of the search fills it."""


def bulk_scanner(name: str) -> BulkScanner:
    """The bulk scanner of a wire: its own, or one that is made of its text plan. Raises UnknownName if it cannot be
    scanned."""
    wire = registry.wire(name)
    if not wire.has("scanner"):
        text = f"{name} cannot be scanned: the wire has no scanner; decode() reads it"
        raise UnknownName("wire", name, registry.scanned(), text)
    return wire.scanner if isinstance(wire.scanner, BulkScanner) else _made_of_plan(wire)


@lru_cache(64)
def own(scanner: BulkScanner) -> dict[str, Column]:
    """The wire's own columns by name."""
    return {column.name: column for column in scanner.columns}


def common(scanner: BulkScanner) -> tuple[Column, ...]:
    """The columns of COMMON as this wire has them: an enum has the names of the column it comes from."""
    mine = own(scanner)
    result = []
    for column in COMMON:
        source = scanner.common.get(column.name, ("", ""))[1]
        if column.name in mine:
            result.append(mine[column.name])
        elif column.name == "wire":
            result.append(column._replace(names=registry.names()))
        elif column.name == "kind" and source in mine:
            result.append(column._replace(names=mine[source].names))
        else:
            result.append(column)
    return tuple(result)


@lru_cache(64)
def _all(scanner: BulkScanner, _: tuple[str, ...]) -> tuple[dict[str, Column], tuple[Column, ...]]:
    """Every column that a scan of this wire can give, by name and as they are; the same ones for each scan, until a
    further wire is registered."""
    every = (*POSITIONS, *common(scanner), *scanner.columns)
    there = {column.name: column for column in every if column not in WORK}
    return {**there, CARRIER.name: CARRIER}, tuple(there.values())


def known(scanner: BulkScanner) -> Mapping[str, Column]:
    """Every column that a scan of this wire can give, in order."""
    return _all(scanner, registry.names())[0]


def chosen(scanner: BulkScanner, names: Iterable[str] | None) -> tuple[Column, ...]:
    """The columns of these names, in this order; all of them for None. Raises TypeError, UnknownName or
    ValueError (one is named twice)."""
    there, every = _all(scanner, registry.names())
    hidden = {column.name: column for column in scanner.columns[-len(WORK) :] if column in WORK}
    if names is None:
        return every
    if isinstance(names, str):
        raise TypeError("columns must be a list of names, not one string")
    if not isinstance(names, Iterable):
        raise TypeError(f"columns must be a list of names, not {type(names).__name__}")
    result: list[Column] = []
    for name in names:
        if not isinstance(name, str):
            raise TypeError(f"columns must be a list of names; {name!r} is not a name")
        if name not in there and name not in hidden:
            raise no_column(scanner, name, there, f"{told(scanner)} has no column {name!r}; it has {', '.join(there)}")
        column = there.get(name) or hidden[name]
        if column in result:
            raise ValueError(f"the column {name!r} is named twice")
        result.append(column)
    return tuple(result)


def no_column(scanner: BulkScanner, name: object, there: Iterable[str], text: str) -> UnknownName:
    """The error about a column that a scan has not: it names the wires that have it, once one of them is named."""
    there, having = tuple(there), []
    if scanner.wire == "mixed":
        columns = {wire: own(bulk_scanner(wire)) for wire in registry.scanned()}
        having = [wire for wire, mine in columns.items() if name in mine]
        if not having and nearest(name, there) is None:
            every = dict.fromkeys(column for mine in columns.values() for column in mine)
            guess = nearest(name, every)
            having = [wire for wire, mine in columns.items() if guess in mine]
            text = f"{text}; did you mean {guess!r}" if having else text
    return UnknownName("column", name, there, text, wires=having)


def told(scanner: BulkScanner) -> str:
    """The name of what a scan reads, for people: a wire or format, or all wires, which share their columns."""
    return "a scan of all wires (none is named)" if scanner.wire == "mixed" else scanner.wire


def text_spans(
    scanner: BulkScanner, arrays: Mapping[str, Any], count: int, name: str
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The places of the texts of one of the wire's own columns: offsets and lengths of ``count`` rows, made from the
    arrays that the core filled."""
    if scanner.packed is not None and name in scanner.bits:
        return scanner.packed.spans(arrays[scanner.packed.array][:count], name)
    spans = arrays[name][:count]
    return spans & 0xFFFFFFFF, spans >> 32


def table_dtypes(scanner: BulkScanner, columns: Iterable[Column]) -> dict[str, str]:
    """The arrays that the core fills for these columns, with their dtypes: also those that common ones come from."""
    mine = own(scanner)
    dtypes = {"offset": "i8", "length": "i8", "present": scanner.present}
    if "inner" in mine:  # records inside JSON strings: where their text is, in the buffer or the arena
        dtypes["place"] = dtypes["size"] = "i8"
    if "wire" in mine:  # records of several wires: each is decoded by its own
        dtypes["wire"] = "u1"
    for column in columns:
        source = column.name if column.name in mine else scanner.common.get(column.name, ("", column.name))[1]
        if source in mine and mine[source].kind == "text" and scanner.packed is not None and source in scanner.bits:
            dtypes[scanner.packed.array] = scanner.packed.dtype
        elif source in mine:
            dtypes[source] = DTYPES.get(mine[source].kind, "i8")
        elif source == "line":
            dtypes[source] = "i8"
        elif column is CARRIER:
            dtypes[source] = "u1"
    return dtypes


# --- wires without a scanner of their own ----------------------------------------------------------------------------

_TAKEN = {"file", "arena", "own_bytes", *(column.name for column in POSITIONS)}
"""Names that no column of a wire can have: a scan has them for places."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MOST_COLUMNS = 60
_FITTING = {
    "kind": {"enum"},
    "sequence": {"i64", "u64", "u8"},
    "time": {"timestamp"},
    **{name: {"text", "u64"} for name in ("sender", "receiver", "conversation")},
    "subject": {"text"},
}
"""Kinds of columns from which a common one can come."""


@lru_cache(64)
def _made_of_plan(wire: Wire) -> BulkScanner:
    """The scanner of a wire with a :class:`TextPlan`, whose columns are what its messages say, each read by its decode.
    Raises ValueError for a wrong plan."""
    from turnwire.log.search.rows import DTYPES as SEARCHED  # which needs the reasons

    plan = wire.scanner
    if not isinstance(plan, TextPlan):
        raise TypeError(f"the scanner of {wire.name}, of style {wire.style!r}, is a turnwire.contract.TextPlan")
    columns = {column.name: column for column in plan.columns}
    if taken := sorted({*_TAKEN, *SEARCHED} & columns.keys()):
        raise ValueError(f"{wire.name} cannot name a column {' or '.join(taken)}: every scan has one")
    sources = {column.name: column.name for column in COMMON if column.name in columns} | dict(plan.common)
    if "kind" not in sources:
        columns["kind"] = Column("kind", "enum", names=(wire.name,))
        sources["kind"] = "kind"
    for name, source in sources.items():
        if source not in columns or columns[source].kind not in _FITTING.get(name, ()):
            raise ValueError(f"the common column {name!r} of {wire.name} cannot come from {source!r}")
    if columns[sources["kind"]].nullable:
        raise ValueError(
            f"the column {sources['kind']!r} of {wire.name} gives the kind of each record, so it must not be nullable"
        )
    if len(columns) > _MOST_COLUMNS:
        raise ValueError(f"{wire.name} has more than {_MOST_COLUMNS} columns")
    common = {
        name: ("number" if columns[source].kind == "u64" and name != "sequence" else "column", source)
        for name, source in sources.items()
    }
    mine = tuple(columns.values())
    values_of = plan.values or wire.plain_values

    def read(message: Any, asked: Container[str]) -> dict[str, Any]:
        values, found = values_of(message), dict[str, Any]()
        for column in mine:
            value = values.get(column.name)
            if column.name not in asked:
                continue
            if value is None and not column.nullable and column.names == (wire.name,):
                value = wire.name
            if value is not None:
                found[column.name] = _value(wire, column, value)
            elif not column.nullable:
                text = f"the column {column.name!r} of {wire.name} is not nullable, but values() returns nothing for it"
                raise ValueError(text)
        return found

    return BulkScanner(
        wire=wire.name,
        columns=mine,
        present="u8",
        bits={column.name: bit for bit, column in enumerate(mine)},
        escaped={},
        plain=bytes,
        reasons=REASONS,
        decode=lambda raw, *, unknown="error": wire.decode(bytes(raw)),
        common=common,
        read=read,
    )


def _value(wire: Wire, column: Column, value: Any) -> Any:
    """A value as its column has it; a text as bytes."""
    if column.kind == "text" and isinstance(value, str):
        return value.encode("utf-8", "replace")
    if column.kind == "enum" and value in column.names:
        return column.names.index(value)
    if column.kind == "timestamp" and isinstance(value, datetime):
        return ((value if value.tzinfo else value.replace(tzinfo=UTC)) - _EPOCH) // timedelta(microseconds=1)
    if column.kind in ("text", "enum") or not isinstance(value, (int, float)):
        text = f"values() of {wire.name} returns {value!r} for {column.name!r}, a column of kind {column.kind!r}"
        raise ValueError(text)
    return value
