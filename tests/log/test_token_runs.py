"""Runs of nSLIP lines in the search of all wires: wherever one is interrupted, the same is found as in other ways."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import PURE_ONLY
from tests.log.engines import UPSTREAM
from tests.log.mixed_logs import GOOD_JSON
from tests.log.test_mixed import everything, use
from tests.log.ways import simd
from tests.nslip.twins import rounds
from turnwire import scan

RUN = 64
"""How many records the native core reads before it fills their rows."""
LINES = [line for line in UPSTREAM.read_bytes().splitlines() if len(line) < 128]
INTERRUPTIONS = [
    b"",
    b"text",
    b"2026-11-22T07:00:00Z " + LINES[0],
    LINES[0] + b"\r",
    LINES[0] + b" tail",
    LINES[0] + LINES[1],
    LINES[0][:-1],
    b'@a3|f0|c1|S0|d1|T1|t"CSP/1"#',
    b'@a3|f0|c1|S0|d1|T1|t"CSP/1;"#',
    b'@a3|f0|c1|S0|d1|T1|t"{"#',
    b"@a3|f0|c1|S0|d1|T1|t10|g10#",
    b"@a3|f0|c1|S0|d1|T1|g1|t1|g2#",
    b"@a3|f0|cZZZZZZZZZZ|Szzzzzzzz|d4LDQQ|TzzzzzzzzzZ#",
    b"@a3|f0|c1|S0|d1|TzzzzzzzzzzzZ#",
    b'@a3|f0|c1|S0|d1|T1|t"' + b"x" * 150 + b'"#',
    '@a3|f0|c1|S0|d1|T1|t"überprüfen"#'.encode(),
    b'["' + LINES[0] + b'"]',
    b"CSP/1",
    b"{",
    GOOD_JSON[0],
]
LOGS = [None, ["sender"], ["subject", "time"], ["kind", "sequence", "line"]]


def found_by(data: bytes, patch: pytest.MonkeyPatch, **options: Any) -> list[Any]:
    """What each level of SIMD finds, then the pure core."""
    found = []
    for level, backend in (("avx512", "native"), ("avx2", "native"), ("scalar", "native"), ("scalar", "pure")):
        with patch.context() as inner, simd(level, backend):
            use(backend, inner)
            found.append(everything(scan(data, **options)))
    return found


@pytest.mark.skipif(PURE_ONLY, reason="compares the cores")
@pytest.mark.parametrize("interruption", INTERRUPTIONS)
def test_a_run_may_be_interrupted_anywhere(interruption: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    for before in (0, 1, RUN - 1, RUN, RUN + 1, 2 * RUN):
        data = b"\n".join([b"the first line", *LINES[:before], interruption, *LINES[-RUN - 1 :]]) + b"\n"
        first, *others = found_by(data, monkeypatch)
        assert others == [first] * 3, before
        assert len(first[0]["offset"]) >= before


@pytest.mark.skipif(PURE_ONLY, reason="compares the cores")
def test_runs_in_blocks_of_any_size(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    chance = random.Random(15)
    for _ in range(rounds(30)):
        lines = [
            chance.choice(INTERRUPTIONS) if chance.random() < 0.03 else chance.choice(LINES)
            for _ in range(chance.choice((5, RUN, 150)))
        ]
        path = tmp_path / "log"
        path.write_bytes(b"\n".join(lines) + b"\n" * chance.randrange(2))
        options: dict[str, Any] = {"batch_bytes": chance.choice((100, 1000, 8 << 20)), "columns": chance.choice(LOGS)}
        found = []
        for level, backend in (("avx512", "native"), ("avx2", "native"), ("scalar", "native"), ("scalar", "pure")):
            with monkeypatch.context() as inner, simd(level, backend):
                use(backend, inner)
                run = scan(path, **options)
                rows = [
                    [list(batch[column.name]) for column in batch.columns if column.name != "file"] for batch in run
                ]
                found.append((rows, run.rejects.rows(), run.counts))
        assert found[1:] == found[:1] * 3, lines
