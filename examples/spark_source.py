"""turnwire as a data source of Spark 4: ``spark.dataSource.register(TurnwireSource)``, then

    spark.read.format("turnwire").option("path", "/logs").option("wire", "nslip").load()

Options: path, wire, and block_bytes (64 MiB by default). Each block of ``turnwire.log.plan`` is one partition, so the
driver and every executor must reach the files by the same names. Needs turnwire[files] everywhere, and this file too
(``spark-submit --py-files spark_source.py``).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition

import turnwire
from turnwire.log import plan, read_block

SPARK_TYPES = {pyarrow.uint64(): pyarrow.decimal128(20, 0), pyarrow.uint8(): pyarrow.int16()}
"""Spark has no unsigned numbers: the next type that holds them all."""


def spark_type(kind: Any) -> Any:
    """The type that Spark has for one of a scan: plain strings for views and dictionaries."""
    if pyarrow.types.is_dictionary(kind) or pyarrow.types.is_string_view(kind):
        return pyarrow.string()
    return SPARK_TYPES.get(kind, kind)


def spark_schema(scan: Any) -> Any:
    """The Arrow schema of a scan in types that Spark has."""
    found = pyarrow.RecordBatchReader.from_stream(scan).schema
    return pyarrow.schema([field.with_type(spark_type(field.type)) for field in found])


class TurnwireReader(DataSourceReader):  # type: ignore[misc] # pyspark is not here when types are checked
    """Plans on the driver, reads on the executors."""

    def __init__(self, options: dict[str, str]) -> None:
        self.options = options

    def partitions(self) -> list[Any]:
        """One partition for each block."""
        size = int(self.options.get("block_bytes", 64 << 20))
        blocks = plan(self.options["path"], wire=self.options["wire"], block_bytes=size)
        return [InputPartition(block) for block in blocks]

    def read(self, partition: Any) -> Iterator[Any]:
        """The record batches of a block."""
        scan = read_block(partition.value)
        schema = spark_schema(scan)
        for batch in scan:
            yield from pyarrow.Table.from_batches([pyarrow.record_batch(batch)]).cast(schema).to_batches()


class TurnwireSource(DataSource):  # type: ignore[misc]
    """The data source "turnwire"."""

    @classmethod
    def name(cls) -> str:
        """The argument of ``format``."""
        return "turnwire"

    def schema(self) -> Any:
        """The columns of the wire."""
        from pyspark.sql.pandas.types import from_arrow_schema

        return from_arrow_schema(spark_schema(turnwire.scan(b"", wire=self.options["wire"])))

    def reader(self, schema: Any) -> TurnwireReader:
        """The reader of the rows."""
        return TurnwireReader(self.options)
