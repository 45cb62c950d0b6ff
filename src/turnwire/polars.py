"""Logs as a Polars LazyFrame that reads only the data that a query needs.

Polars passes the columns, filters and ``head`` of a query to the scan. A filter reads its columns batch by batch; other
columns are read only for the remaining rows. The result equals that of filtering
``polars.DataFrame(turnwire.scan(...))``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

from turnwire.errors import MissingDependency

if TYPE_CHECKING:
    from types import ModuleType

    import polars as pl

    from turnwire.log import Batch

_BATCH_BYTES = 2 << 20
_LEAST_BATCH_BYTES = 64 << 10
_BYTES_A_ROW = 256
_ROW = "turnwire row"


def scan(source: Any, *, wire: str | None = None, **options: Any) -> pl.LazyFrame:
    """Returns a LazyFrame of the records in logs; each ``collect`` reads them again.

    Args:
        source, wire: as for :func:`turnwire.scan`.
        options: its other options (``columns``, ``where``, ``errors``, ``threads``, ``limits`` ...), except
            ``follow`` and ``resume``.

    Columns and types are those of ``polars.DataFrame(turnwire.scan(source, ...))``. A query reads only the columns and
    rows that it needs; ``head`` ends the scan early. Rejects are skipped, unless ``errors="raise"``;
    ``turnwire.scan(source).errors()`` yields them.

    Raises MissingDependency without Polars 1.22 or newer, TypeError or ValueError for invalid arguments. ``collect``
    raises read errors.
    """
    from turnwire.log.input.sources import StartGuard
    from turnwire.log.scanning import scan as read

    polars, register = _polars()
    for name in ("follow", "resume"):
        if options.pop(name, None) not in (None, False):
            raise ValueError(f"a LazyFrame does not support {name}=: each collect reads the sources from their start")
    options = {"errors": "skip", **options}
    options["columns"] = [column.name for column in read(source, wire=wire, **options).columns]
    empty: pl.DataFrame = polars.DataFrame(read(b"", wire=wire, columns=options["columns"]))
    starts = StartGuard(source)

    def frames(
        columns: list[str] | None, predicate: pl.Expr | None, rows: int | None, _: int | None
    ) -> Iterator[pl.DataFrame]:
        starts.begin()
        found = read(source, wire=wire, **_narrowed(options, columns, predicate, rows))
        return _frames(polars, empty.select(columns or empty.columns), found, predicate, rows)

    frame: pl.LazyFrame = register(frames, schema=empty.schema)
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


def _narrowed(
    options: dict[str, Any], columns: list[str] | None, predicate: pl.Expr | None, rows: int | None
) -> dict[str, Any]:
    """The options of a scan that reads no more than these columns (all for None) and those of the predicate, and not
    much more than the first so many rows."""
    options = dict(options)
    if columns is not None:
        wanted = {*columns, *([] if predicate is None else predicate.meta.root_names())}
        # A record has to have some column, so that records are counted.
        options["columns"] = [name for name in options["columns"] if name in wanted] or options["columns"][:1]
    if rows is not None:
        size = options.get("batch_bytes", _BATCH_BYTES)
        options["batch_bytes"] = min(size, max(rows * _BYTES_A_ROW, _LEAST_BATCH_BYTES))
    return options


def _frames(
    polars: ModuleType, empty: pl.DataFrame, found: Iterable[Batch], predicate: pl.Expr | None, rows: int | None
) -> Iterator[pl.DataFrame]:
    """Frames with the columns of the empty one: of the first so many rows, where ``rows`` says a number, those that the
    predicate wants."""
    names, left = empty.columns, rows
    yield empty  # Polars 1.22 wants a frame, and keeps it: nothing is in it from here on
    for batch in () if rows == 0 else found:
        if left is not None:
            batch = batch.picked(slice(left)) if left < len(batch) else batch
            left -= len(batch)
        frame = polars.DataFrame(batch) if predicate is None else _filtered(polars, batch, predicate)
        yield frame.select(names)
        if left == 0:
            return


def _filtered(polars: ModuleType, batch: Batch, predicate: pl.Expr) -> pl.DataFrame:
    """The records that the predicate wants, which is asked of the columns that it names alone."""
    asked = [name for name in batch.names if name in predicate.meta.root_names()]
    if asked and len(asked) < len(batch.names):
        looked = polars.DataFrame(batch.picked(columns=asked)).with_row_index(_ROW)
        wanted = looked.filter(predicate)[_ROW]
        predicate = polars.lit(True)
        batch = batch if len(wanted) == len(batch) else batch.picked(wanted.to_numpy())
    frame: pl.DataFrame = polars.DataFrame(batch)
    return frame.filter(predicate)
