"""Both cores say the same of what was found by fuzzing, and of a few mutants of the vectors; many with ``-m soak``."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.conftest import PURE_ONLY
from tests.fuzz.cores import Core
from tests.fuzz.running import SEEDS, beginning
from tests.fuzz.seeds import dictionary, mutants, seeds, tried, words
from tests.fuzz.several import forked, told
from tests.fuzz.targets import TARGETS, differs, said_of

pytestmark = [pytest.mark.once, pytest.mark.skipif(PURE_ONLY, reason="the compiled core is left out")]
MANY = 20_000


@pytest.mark.parametrize("name", TARGETS)
def test_cores_agree(name: str, cores: tuple[Core, Core]) -> None:
    inputs = list(tried(name))
    native, pure = (said_of(TARGETS[name], inputs, core) for core in cores)
    assert [one for one in zip(inputs, native, pure, strict=True) if one[1] != one[2]] == []


@pytest.mark.soak
@pytest.mark.parametrize("name", TARGETS)
def test_cores_agree_on_many(name: str, cores: tuple[Core, Core]) -> None:
    for data in mutants(name, MANY):
        assert differs(TARGETS[name], data, *cores) is None, data


def test_a_short_run_has_time_for_more_than_seeds() -> None:
    begun = beginning("scan-all", 4)
    assert len(begun) == 4 * SEEDS < len(seeds("scan-all"))
    assert set(begun) <= set(seeds("scan-all"))
    assert beginning("decode-csp", 4) == seeds("decode-csp")
    assert len(beginning("scan-all", 600)) == len(seeds("scan-all"))


def test_a_difference_is_seen(cores: tuple[Core, Core]) -> None:
    """What a target says of each core is compared, values and refusals alike."""
    assert differs(lambda package, data: package.backend, b"", *cores) == (("value", "native"), ("value", "pure"))
    refused = differs(lambda package, data: package.decode(data[package.backend == "pure" :]), b"?@a3#", *cores)
    assert refused is not None and refused[0][0] == refused[1][0] == "DecodeError"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_what_a_target_finds_ends_its_process_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def found() -> None:
        print("scan-all: 12 runs")
        raise AssertionError("the cores do not agree")

    for name, run, code in (("good", lambda: print("scan-all: 7 runs"), 0), ("bad", found, 1)):
        log = tmp_path / name
        process = forked(run, log)
        assert os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) == code
        told(name, code, log.read_text())
    assert capsys.readouterr().out.split()[:7] == ["good", "7", "runs", "bad", "12", "runs", "FAILED"]
    assert "the cores do not agree" in (tmp_path / "bad").read_text()


def test_words_are_those_of_the_specifications() -> None:
    assert {b"protocolVersion", b"CSP/1\n", b"schema_id", b"correlation_id"} <= set(words())
    assert len(dictionary().splitlines()) == len(words())
