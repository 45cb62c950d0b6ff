"""pytest-benchmark: decode and encode of each wire, and scans, on the native core and on the pure one. `make bench`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from messages import CASES, texts_of
from scans import found

import turnwire


@pytest.mark.parametrize("case", CASES)
def test_decode(benchmark: Any, case: str) -> None:
    texts = texts_of(case)
    benchmark(lambda: [turnwire.decode(text) for text in texts])


@pytest.mark.parametrize("case", CASES)
def test_encode(benchmark: Any, case: str) -> None:
    messages = [turnwire.decode(text) for text in texts_of(case)]
    benchmark(lambda: [turnwire.encode(message) for message in messages])


@pytest.mark.parametrize("case", CASES)
def test_scan(benchmark: Any, case: str) -> None:
    texts = texts_of(case)
    log = b"\n".join(texts * (10 if turnwire.backend == "native" else 1)) + b"\n"
    benchmark(found, log)
