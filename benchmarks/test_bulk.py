"""pytest-benchmark: the bulk scan of nSLIP, native and pure, over all kinds of traffic. Run by `make bench`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest
import traffic
from bulk_scan import KINDS, check, data_of, keep, stream

import turnwire
from turnwire._backend import core_module
from turnwire.log.engine import all_wires

BACKENDS = ["native", "pure"] if turnwire.backend == "native" else ["pure"]
BYTES = {"native": 1 << 20, "pure": 1 << 15}
COLUMNS: dict[str, Iterable[str] | None] = {
    "all": None,
    "four": traffic.FOUR_COLUMNS,
    "place": ("offset", "length"),
}


@pytest.fixture(params=BACKENDS)
def backend(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """The scan with each twin in turn."""
    name: str = request.param
    monkeypatch.setattr(all_wires, "_core", core_module(name, "log.search"))
    return name


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("columns", list(COLUMNS))
def test_scan(benchmark: Any, backend: str, kind: str, columns: str) -> None:
    data = data_of(kind, BYTES[backend])
    benchmark.group = f"scan, {backend}, {columns} columns"
    benchmark.extra_info["bytes"] = len(data)
    assert benchmark(stream, data, COLUMNS[columns]) == check(data)


@pytest.mark.benchmark(group="scan, all batches kept")
def test_keep(benchmark: Any) -> None:
    data = traffic.repeated(traffic.upstream(), 1 << 20)
    assert benchmark(keep, data) == len(data.splitlines())
