"""Columns of wires that have a ``TextPlan``: what their messages say, as arrays, each read by its wire's decode."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from turnwire.contract import COMMON, LINES, BulkScanner, Column, TextPlan, Wire
from turnwire.log.engine.columns import POSITIONS, REASONS
from turnwire.log.search.rows import DTYPES as SEARCHED

if TYPE_CHECKING:
    from collections.abc import Container

TAKEN = {"file", "arena", "own_bytes", *SEARCHED, *(column.name for column in POSITIONS)}
"""Names that no column of a wire can have: a scan has them for places."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MOST_COLUMNS = 60
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

    values_of = plan.values or wire.plain_values

    def read(message: Any, asked: Container[str]) -> dict[str, Any]:
        values, found = values_of(message), dict[str, Any]()
        for column in own:
            value = values.get(column.name)
            if column.name not in asked:
                continue
            if value is None and not column.nullable and column.names == (wire.name,):
                value = wire.name
            if value is not None:
                found[column.name] = _value(wire, column, value)
            elif not column.nullable:
                text = f"the column {column.name!r} of {wire.name} is not nullable: values() gives nothing for it"
                raise ValueError(text)
        return found

    return BulkScanner(
        wire=wire.name,
        columns=own,
        present="u8",
        bits={column.name: bit for bit, column in enumerate(own)},
        escaped={},
        plain=bytes,
        reasons=REASONS,
        decode=lambda raw, *, unknown="error": wire.decode(bytes(raw)),
        common=common,
        spans_lines=wire.style == LINES,
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
        text = f"values() of {wire.name} gives {value!r} for {column.name!r}, a column of kind {column.kind!r}"
        raise ValueError(text)
    return value
