"""Logs as a Polars LazyFrame: only what a query wants is read.

Polars hands the columns, the filters and the ``head`` of a query to the scan. Filters that :func:`turnwire.scan` knows
as ``where=`` choose records before anything is made of them. Polars applies the whole filter to what comes, so that
the answer is always that of ``polars.DataFrame(turnwire.scan(...))``.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from io import BytesIO
from math import inf, isnan, nextafter
from typing import TYPE_CHECKING, Any

from turnwire.errors import MissingDependency

if TYPE_CHECKING:
    from types import ModuleType

    import polars as pl

    from turnwire.contract import Column

    Condition = set[Any] | tuple[Any, Any]
    """A condition of ``where=`` for a column: values any of which will do, or a half-open range."""

_BATCH_BYTES = 2 << 20
_LEAST_BATCH_BYTES = 64 << 10
_BYTES_A_ROW = 256
_MOST_TEXTS = 4
"""Polars compares more values of a text, and ranges of texts, faster than ``where=`` does."""


def scan(source: Any, *, wire: str | None = None, **options: Any) -> pl.LazyFrame:
    """A LazyFrame of the records in logs; each ``collect`` reads them anew.

    Args:
        source, wire: as for :func:`turnwire.scan`.
        options: what else it takes (``columns``, ``where``, ``errors``, ``threads``, ``limits`` and so on), but
            ``follow`` and ``resume``.

    Columns and types are those of ``polars.DataFrame(turnwire.scan(source, ...))``. Comparisons of a column with a
    value, ``is_in``, ``is_between``, ``is_null`` and ``is_not_null``, joined by ``&``, are looked for while scanning;
    only the columns that a query needs are made; ``head`` ends the scan early. Damaged ranges are passed over, unless
    ``errors="raise"``; ``turnwire.scan(source).errors()`` gives them.

    Raises MissingDependency without Polars 1.22 or newer, TypeError or ValueError for arguments that make no sense.
    What reading raises comes out of ``collect``.
    """
    from turnwire.log.scanning import scan as read

    polars, register = _polars()
    for name in ("follow", "resume"):
        if options.pop(name, None) not in (None, False):
            raise ValueError(f"a LazyFrame takes no {name}=: each collect reads the sources from their start")
    options = {"errors": "skip", **options}
    columns = read(source, wire=wire, **options).columns
    options["columns"] = [column.name for column in columns]
    empty: pl.DataFrame = polars.DataFrame(read(b"", wire=wire, columns=options["columns"]))
    frame: pl.LazyFrame = register(_FrameSource(polars, source, wire, columns, options, empty), schema=empty.schema)
    return frame


def _polars() -> tuple[ModuleType, Callable[..., Any]]:
    try:
        import polars
        from polars.io.plugins import register_io_source

        old = tuple(map(int, polars.__version__.split(".")[:2])) < (1, 22)
    except ImportError:
        old = True
    if old:
        raise MissingDependency(
            "turnwire.polars needs Polars 1.22 or newer: pip install 'turnwire[sql]'", name="polars"
        )
    return polars, register_io_source


class _FrameSource:
    """The source that Polars asks for the frames of a query."""

    def __init__(
        self,
        polars: ModuleType,
        source: Any,
        wire: str | None,
        columns: tuple[Column, ...],
        options: dict[str, Any],
        empty: pl.DataFrame,
    ) -> None:
        from turnwire.log.input.sources import Starts

        self._polars = polars
        self._source = source
        self._wire = wire
        self._options = options
        self._columns = {column.name: column for column in columns}
        self._empty = empty
        self._starts = Starts(source)

    def __call__(
        self, columns: list[str] | None, predicate: pl.Expr | None, rows: int | None, batch_rows: int | None
    ) -> Iterator[pl.DataFrame]:
        """Frames with these columns (all for None). Of the first so many rows, where ``rows`` says a number, those
        that the predicate wants. ``batch_rows`` is a hint only."""
        from turnwire.log.scanning import scan

        self._starts.begin()
        found = scan(self._source, wire=self._wire, **self._narrowed(columns, predicate, rows))
        return self._frames(found, columns, predicate, rows)

    def _narrowed(self, columns: list[str] | None, predicate: pl.Expr | None, rows: int | None) -> dict[str, Any]:
        """The options of a scan that reads no more than that."""
        options = dict(self._options)
        if columns is not None:
            wanted = {*columns, *([] if predicate is None else predicate.meta.root_names())}
            # A record has to have some column, so that records are counted.
            options["columns"] = [name for name in options["columns"] if name in wanted] or options["columns"][:1]
        if rows is not None:
            size = options.get("batch_bytes", _BATCH_BYTES)
            options["batch_bytes"] = min(size, max(rows * _BYTES_A_ROW, _LEAST_BATCH_BYTES))
        elif predicate is not None:  # the first rows are counted before they are filtered
            given = dict(options.get("where") or {})
            options["where"] = {**self._pushed(predicate), **given}
        return options

    def _pushed(self, predicate: pl.Expr) -> dict[str, Condition]:
        """The conditions of a predicate that a scan can judge; more records may pass them than pass the predicate."""
        from turnwire.log.scanning import scan

        pushed = {}
        for name, condition in conditions(self._polars, predicate).items():
            column = self._columns[name]
            if column.kind == "text" and (isinstance(condition, tuple) or len(condition) > _MOST_TEXTS):
                continue
            if column.kind == "enum" and isinstance(condition, set):
                condition = condition & {None, *column.names}  # no record has any other name
            try:
                scan(b"", wire=self._wire, where={name: condition})
            except (TypeError, ValueError):
                continue  # of this column a scan cannot ask that (the order of an enum, a number of its line)
            pushed[name] = condition
        return pushed

    def _frames(
        self, found: Any, columns: list[str] | None, predicate: pl.Expr | None, rows: int | None
    ) -> Iterator[pl.DataFrame]:
        yield self._empty.select(columns or self._empty.columns)  # Polars 1.22 wants a frame, and keeps it
        left = rows
        for batch in () if rows == 0 else found:
            frame: pl.DataFrame = self._polars.DataFrame(batch)
            if left is not None:
                frame = frame.head(left)
                left -= frame.height
            if predicate is not None:
                frame = frame.filter(predicate)
            yield frame.select(columns) if columns else frame
            if left == 0:
                return


# --- predicates -------------------------------------------------------------------------------------------------------

_FLIPPED = {"Eq": "Eq", "Lt": "Gt", "LtEq": "GtEq", "Gt": "Lt", "GtEq": "LtEq"}
_BETWEEN = {"Both": ("GtEq", "LtEq"), "Left": ("GtEq", "Lt"), "Right": ("Gt", "LtEq"), "None": ("Gt", "Lt")}
_CONTAINED = "text"
"""A condition of this name asks for what the bytes of a record contain, also where a wire has a column of the name."""


def conditions(polars: ModuleType, predicate: pl.Expr) -> dict[str, Condition]:
    """The conditions that all rows meet for which a predicate is true, column by column. A part of the predicate that
    has no such form gives none: whoever reads has to apply the predicate."""
    try:
        tree = json.loads(predicate.meta.serialize(format="json"))
    except polars.exceptions.PolarsError:  # there are expressions without a form as text, such as Python functions
        return {}
    result: dict[str, Condition] = {}
    for part in _conjuncts(tree):
        for name, condition in _conditions(polars, part):
            if name != _CONTAINED:
                result[name] = _both(result[name], condition) if name in result else condition
    return result


def _conjuncts(tree: Any) -> Iterator[Any]:
    match tree:
        case {"BinaryExpr": {"left": left, "op": "And" | "LogicalAnd", "right": right}}:
            yield from _conjuncts(left)
            yield from _conjuncts(right)
        case _:
            yield tree


def _conditions(polars: ModuleType, tree: Any) -> list[tuple[str, Condition]]:
    """The conditions of one part: a comparison with a value, or one of four functions."""
    match tree:
        case {"Column": str(name)}:
            return [(name, {True})]
        case {"BinaryExpr": {"left": {"Column": str(name)}, "op": str(op), "right": right}}:
            return _compared(name, op, _values(polars, right))
        case {"BinaryExpr": {"left": left, "op": str(op), "right": {"Column": str(name)}}}:
            return _compared(name, _FLIPPED.get(op, ""), _values(polars, left))
        case {"Function": {"input": [{"Function": inner}], "function": {"Boolean": "Not"}}}:
            match inner:
                case {"input": [{"Column": str(name)}], "function": {"Boolean": "IsNull"}}:
                    return [(name, (None, None))]
        case {"Function": {"input": [{"Column": str(name)}, *given], "function": {"Boolean": how}}}:
            values = [_values(polars, one) for one in given]
            return _asked(name, how, values)
    return []


def _asked(name: str, how: Any, values: list[list[Any] | None]) -> list[tuple[str, Condition]]:
    """The condition that a boolean function of a column states."""
    match how, values:
        case "IsNull", []:
            return [(name, {None})]
        case "IsNotNull", []:
            return [(name, (None, None))]
        case (("IsIn" | {"IsIn": _}), [list(among)]):
            return [(name, set(among))]  # also null, which is more than is asked for
        case {"IsBetween": {"closed": str(closed)}}, [low, high] if closed in _BETWEEN:
            first, last = _BETWEEN[closed]
            return [*_compared(name, first, low), *_compared(name, last, high)]
    return []


def _compared(name: str, op: str, values: list[Any] | None) -> list[tuple[str, Condition]]:
    """A column compared with a value; nothing where that is not a number or text."""
    if values is None or len(values) != 1 or not isinstance(values[0], (int, float, str)):
        return []
    [value] = values
    if isinstance(value, float) and isnan(value):
        return []
    if op == "Eq":
        return [(name, {value})]
    ranges = {"GtEq": (value, None), "Lt": (None, value), "Gt": (_next(value), None), "LtEq": (None, _next(value))}
    return [(name, ranges[op])] if op in ranges else []


def _next(value: float | str) -> float | str:
    """The least value of the same type above this one."""
    if isinstance(value, str):
        return value + "\0"
    return value + 1 if isinstance(value, int) else nextafter(value, inf)


def _values(polars: ModuleType, tree: Any) -> list[Any] | None:
    """The values of a literal, as numbers and texts (times in microseconds since 1970); None for anything else."""
    inner = tree
    while isinstance(inner, dict) and "Cast" in inner:
        inner = inner["Cast"]["expr"]
    if not isinstance(inner, dict) or "Literal" not in inner:
        return None
    try:
        expression = polars.Expr.deserialize(BytesIO(json.dumps(tree).encode()), format="json")
        values = polars.select(expression).to_series()
    except polars.exceptions.PolarsError:  # a literal that Polars writes and does not read
        return None
    if isinstance(values.dtype, polars.List):
        values = values.explode()
    if isinstance(values.dtype, (polars.Categorical, polars.Enum)):
        values = values.cast(polars.String)
    if isinstance(values.dtype, polars.Datetime):
        return values.to_physical().to_list() if values.dtype.time_unit == "us" else None
    return values.to_list() if values.dtype.is_numeric() or values.dtype in (polars.String, polars.Boolean) else None


def _both(one: Condition, other: Condition) -> Condition:
    """The condition that both of two conditions state."""
    if isinstance(one, set) and isinstance(other, set):
        return one & other
    if isinstance(one, tuple) and isinstance(other, tuple):
        lows = [low for low in (one[0], other[0]) if low is not None]
        highs = [high for high in (one[1], other[1]) if high is not None]
        return max(lows, default=None), min(highs, default=None)
    values, (low, high) = (one, other) if isinstance(one, set) and isinstance(other, tuple) else (other, one)
    return {
        value
        for value in values
        if value is not None and (low is None or value >= low) and (high is None or value < high)
    }
