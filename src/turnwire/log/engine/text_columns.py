"""Columns of wires that have a ``TextPlan``: what their messages say, as arrays, each read by its wire's decode."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import numpy as np

from turnwire.contract import COMMON, LINES, BulkScanner, Column, TextPlan, Wire
from turnwire.errors import Reason
from turnwire.log.engine.columns import POSITIONS
from turnwire.log.search.rows import DTYPES as SEARCHED

if TYPE_CHECKING:
    Arrays = dict[str, Any]

REASONS: tuple[Reason | None, ...] = (None, *Reason)
TAKEN = {"file", "timed", "arena", "own_bytes", *SEARCHED, *(column.name for column in POSITIONS)}
"""Names that no column of a wire can have: a scan has them for places."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_TEXT = {"text"}
_FITTING = {
    "kind": {"enum"},
    "sequence": {"i64", "u64", "u8"},
    "time": {"timestamp"},
    **{name: {"text", "u64"} for name in ("sender", "receiver", "conversation")},
    "subject": _TEXT,
}
"""Kinds of columns from which a common one can come."""


def scanner(wire: Wire) -> BulkScanner:
    """The description that a scan needs of a wire with a :class:`TextPlan`. Raises ValueError for a wrong plan."""
    plan = wire.plan
    if not isinstance(plan, TextPlan):
        raise TypeError(f"the plan of {wire.name}, of style {wire.style!r}, is a turnwire.contract.TextPlan")
    columns = {column.name: column for column in plan.columns}
    if taken := sorted(TAKEN & columns.keys()):
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
            f"the column {sources['kind']!r} of {wire.name} says the kind of each record: it is not nullable"
        )
    if len(columns) > _MOST_COLUMNS:
        raise ValueError(f"{wire.name} has more than {_MOST_COLUMNS} columns")
    common = {
        name: ("number" if columns[source].kind == "u64" and name != "sequence" else "column", source)
        for name, source in sources.items()
    }
    own = tuple(columns.values())
    bits = {column.name: bit for bit, column in enumerate(own)}

    def read(records: list[bytes], dtypes: Mapping[str, str], place: int) -> tuple[Arrays, bytes]:
        return read_columns(wire, own, bits, records, dtypes, place)

    return BulkScanner(
        wire=wire.name,
        columns=own,
        present="u8",
        bits=bits,
        escaped={},
        plain=bytes,
        reasons=REASONS,
        decode=lambda raw, *, unknown="error": wire.decode(bytes(raw)),
        common=common,
        spans_lines=wire.style == LINES,
        read=read,
    )


_MOST_COLUMNS = 60


def read_columns(
    wire: Wire,
    columns: tuple[Column, ...],
    bits: Mapping[str, int],
    records: list[bytes],
    dtypes: Mapping[str, str],
    place: int,
) -> tuple[Arrays, bytes]:
    """As ``BulkScanner.read`` says. Raises ValueError where a value is none for its column."""
    arrays: Arrays = {name: np.zeros(len(records), dtype) for name, dtype in dtypes.items()}
    present = np.zeros(len(records), np.uint64)
    values_of = wire.plan.values or wire.plain_values
    asked = [column for column in columns if column.name in dtypes or f"{column.name}.length" in dtypes]
    texts: list[bytes] = []
    for row, record in enumerate(records if asked else ()):
        values = values_of(wire.decode(record))
        for column in asked:
            name, value = column.name, values.get(column.name)
            if value is None and not column.nullable and column.kind == "enum" and column.names == (wire.name,):
                value = wire.name
            if value is None:
                if not column.nullable:
                    raise ValueError(
                        f"the column {name!r} of {wire.name} is not nullable: values() gives nothing for it"
                    )
                continue
            present[row] |= np.uint64(1 << bits[name])
            if column.kind == "text":
                text = _text(wire, column, value)
                arrays[f"{name}.offset"][row], arrays[f"{name}.length"][row] = place, len(text)
                place += len(text)
                texts.append(text)
            else:
                arrays[name][row] = _value(wire, column, value)
    if "present" in arrays:
        arrays["present"] = present.astype(arrays["present"].dtype)
    return arrays, b"".join(texts)


def _wrong(wire: Wire, column: Column, value: Any) -> ValueError:
    return ValueError(f"values() of {wire.name} gives {value!r} for {column.name!r}, a column of kind {column.kind!r}")


def _text(wire: Wire, column: Column, value: Any) -> bytes:
    if not isinstance(value, str):
        raise _wrong(wire, column, value)
    return value.encode("utf-8", "replace")


def _value(wire: Wire, column: Column, value: Any) -> Any:
    if column.kind == "enum" and value in column.names:
        return column.names.index(value)
    if column.kind == "timestamp" and isinstance(value, datetime):
        return ((value if value.tzinfo else value.replace(tzinfo=UTC)) - _EPOCH) // timedelta(microseconds=1)
    if column.kind == "enum" or not isinstance(value, (int, float)):
        raise _wrong(wire, column, value)
    return value
