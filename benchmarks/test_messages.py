"""pytest-benchmark: one nSLIP message, native and pure, beside msgspec on the same fields. Run by `make bench`."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import msgspec
import pytest
import traffic
from single import MESSAGES, struct

import turnwire
from turnwire._backend import core_module

BACKENDS = ["native", "pure"] if turnwire.backend == "native" else ["pure"]


@pytest.fixture(params=BACKENDS)
def core(request: pytest.FixtureRequest) -> ModuleType:
    """The core of nSLIP, each twin in turn."""
    return core_module(request.param, "nslip.codec")


@pytest.fixture(params=list(MESSAGES))
def row(request: pytest.FixtureRequest) -> traffic.Row:
    """The three messages of ten fields."""
    return MESSAGES[request.param]


@pytest.mark.benchmark(group="decode one message")
def test_decode(benchmark: Any, core: ModuleType, row: traffic.Row) -> None:
    message = benchmark(core.decode, traffic.wire(row))
    assert message.conv_id == row["conv_id"]
    assert len(message.slots) == 4


@pytest.mark.benchmark(group="decode one message")
def test_decode_msgspec(benchmark: Any, row: traffic.Row) -> None:
    message = benchmark(msgspec.json.Decoder(struct(row)).decode, traffic.json_line(row))
    assert msgspec.structs.asdict(message) == row


@pytest.mark.benchmark(group="encode one message")
def test_encode(benchmark: Any, core: ModuleType, row: traffic.Row) -> None:
    wire = traffic.wire(row)
    assert benchmark(core.encode, core.decode(wire)) == wire.decode()


@pytest.mark.benchmark(group="encode one message")
def test_encode_with_slots_touched(benchmark: Any, core: ModuleType, row: traffic.Row) -> None:
    wire = traffic.wire(row)
    message = core.decode(wire)
    assert len(message.slots) == 4
    assert benchmark(core.encode, message) == wire.decode()


@pytest.mark.benchmark(group="encode one message")
def test_encode_msgspec(benchmark: Any, row: traffic.Row) -> None:
    text = benchmark(msgspec.json.Encoder().encode, struct(row)(**row))
    assert text == traffic.json_line(row).strip()


@pytest.mark.benchmark(group="4,356 upstream lines")
def test_decode_upstream(benchmark: Any, core: ModuleType) -> None:
    lines = traffic.upstream()
    assert len(benchmark(core.decode_many, lines)) == len(lines) == 4356


@pytest.mark.benchmark(group="4,356 upstream lines")
def test_encode_upstream(benchmark: Any, core: ModuleType) -> None:
    lines = traffic.upstream()
    assert benchmark(core.encode_many, core.decode_many(lines)).splitlines() == lines
