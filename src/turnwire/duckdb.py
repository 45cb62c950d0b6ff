"""Logs as a relation of DuckDB: only the columns that a query wants are made.

DuckDB takes a :class:`turnwire.Scan` as it is (``duckdb.sql("select ... from scan")``), with all of its columns. Its
Python API tells nothing but a ``pyarrow.dataset.Dataset`` which columns it wants, so this module looks like one to it.
DuckDB 2.0 keeps its filters to itself; where an older version passes them, pyarrow applies them to the batches. They
cannot be turned into ``where=``: pyarrow has no way to look into an expression.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from turnwire.errors import MissingDependency

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import ModuleType

    import duckdb

    from turnwire.log.scanning import Scan


def scan(
    source: Any, *, wire: str | None = None, connection: duckdb.DuckDBPyConnection | None = None, **options: Any
) -> duckdb.DuckDBPyRelation:
    """A relation of the records in logs; each query reads them anew.

    Args:
        source, wire: as for :func:`turnwire.scan`.
        connection: the connection that the relation belongs to; DuckDB's default one for None.
        options: what else :func:`turnwire.scan` takes (``columns``, ``where``, ``errors``, ``threads``, ``limits`` and
            so on), but ``follow`` and ``resume``. ``where`` chooses records before DuckDB sees them.

    Columns and types are those of ``select * from scan``. Only the columns that a query needs are made, and ``limit``
    ends the scan early. Damaged ranges are passed over, unless ``errors="raise"``.

    Raises MissingDependency without DuckDB and pyarrow, TypeError or ValueError for arguments that make no sense. What
    reading raises comes out of the query as an error of DuckDB with the same words.
    """
    from turnwire.log.input.sources import Starts
    from turnwire.log.scanning import scan as read

    duck, pyarrow = _packages()
    for name in ("follow", "resume"):
        if options.pop(name, None) not in (None, False):
            raise ValueError(f"a relation takes no {name}=: each query reads the sources from their start")
    options = {"errors": "skip", **options}
    described = read(source, wire=wire, **options)
    starts = Starts(source)

    def narrowed(columns: list[str] | None) -> Scan:
        starts.begin()
        return described if columns is None else read(source, wire=wire, **{**options, "columns": columns})

    relation: duckdb.DuckDBPyRelation = (duck if connection is None else connection).from_arrow(
        _dataset(pyarrow, described, narrowed)
    )
    return relation


def _packages() -> tuple[ModuleType, ModuleType]:
    try:
        import duckdb
        import pyarrow
        import pyarrow.dataset
    except ImportError as missing:
        raise MissingDependency(
            "turnwire.duckdb needs DuckDB and pyarrow: pip install 'turnwire[sql,files]'", name=missing.name
        ) from None
    return duckdb, pyarrow


def _dataset(pyarrow: ModuleType, described: Scan, narrowed: Callable[[list[str] | None], Scan]) -> Any:
    """A dataset for DuckDB: of it, only ``schema`` and ``scanner`` are used, and there is nothing else."""

    class ColumnReader:
        """A reader of some columns: DuckDB asks for one for each query."""

        def __init__(self, found: Scan, wanted: Any) -> None:
            self._found = found
            self._wanted = wanted

        @property
        def projected_schema(self) -> Any:
            return pyarrow.schema(self._found)

        def to_reader(self) -> Any:
            reader = pyarrow.RecordBatchReader.from_stream(self._found)
            if self._wanted is None:
                return reader
            return pyarrow.RecordBatchReader.from_batches(reader.schema, _filtered(pyarrow, reader, self._wanted))

    class Records(pyarrow.dataset.Dataset):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            """The base class cannot be made and has nothing that would be needed."""

        @property
        def schema(self) -> Any:
            return pyarrow.schema(described)

        def scanner(self, columns: list[str] | None = None, filter: Any = None, **_: Any) -> Any:
            return ColumnReader(narrowed(columns), filter)

    return Records()


def _filtered(pyarrow: ModuleType, reader: Any, wanted: Any) -> Iterator[Any]:
    """The batches with the rows for which an expression is true. pyarrow cannot filter string views, only strings."""
    views, texts = reader.schema, reader.schema
    for place, field in enumerate(views):
        if pyarrow.types.is_string_view(field.type):
            texts = texts.set(place, field.with_type(pyarrow.string()))
    for batch in reader:
        yield from pyarrow.Table.from_batches([batch]).cast(texts).filter(wanted).cast(views).to_batches()
