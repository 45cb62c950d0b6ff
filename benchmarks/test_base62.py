"""pytest-benchmark: base62, scalar and columns, native and pure. Run by `make bench`."""

from __future__ import annotations

import random
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import traffic

import turnwire
from turnwire._backend import core_module

BACKENDS = ["native", "pure"] if turnwire.backend == "native" else ["pure"]
COUNT = 20_000


@pytest.fixture(params=BACKENDS)
def core(request: pytest.FixtureRequest) -> ModuleType:
    """base62, each twin in turn."""
    return core_module(request.param, "nslip.base62")


@pytest.fixture(params=[(1, 3), (4, 10)], ids=["narrow", "wide"])
def numbers(request: pytest.FixtureRequest) -> list[int]:
    """Integers of one to three or of four to ten digits."""
    source = random.Random(traffic.SEED)
    return [traffic.of_digits(source, *request.param) for _ in range(COUNT)]


@pytest.mark.benchmark(group="base62 encode, one")
def test_encode(benchmark: Any, core: ModuleType, numbers: list[int]) -> None:
    assert benchmark(core.encode, numbers[0]) == traffic.base62(numbers[0])


@pytest.mark.benchmark(group="base62 decode, one")
def test_decode(benchmark: Any, core: ModuleType, numbers: list[int]) -> None:
    assert benchmark(core.decode, traffic.base62(numbers[0])) == numbers[0]


@pytest.mark.benchmark(group="base62 encode, a column")
def test_encode_array(benchmark: Any, core: ModuleType, numbers: list[int]) -> None:
    texts = benchmark(core.encode_array, np.array(numbers, np.uint64))
    assert texts.tolist() == [traffic.base62(number).encode() for number in numbers]


@pytest.mark.benchmark(group="base62 decode, a column")
def test_decode_array(benchmark: Any, core: ModuleType, numbers: list[int]) -> None:
    texts = np.array([traffic.base62(number) for number in numbers], "S11")
    assert benchmark(core.decode_array, texts).tolist() == numbers
