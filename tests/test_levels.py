"""Each compiled module that has code for several processors says what it chose, and chooses nothing beyond what it
may."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib import import_module
from types import ModuleType

import pytest

from tests.conftest import PURE_ONLY
from tests.levels import each_level, levels_of

pytestmark = [pytest.mark.once, pytest.mark.skipif(PURE_ONLY, reason="asks compiled modules")]

NAMES = ("nslip.scan", "json.lines", "kick.format", "csp.cuts")


@pytest.fixture(params=NAMES)
def module(request: pytest.FixtureRequest) -> ModuleType:
    return import_module(f"turnwire._native.{request.param}")


def test_no_level_beyond_the_one_that_is_asked_for(module: ModuleType) -> None:
    try:
        for place, level in enumerate(module.LEVELS):
            assert module.LEVELS.index(module.choose_simd(level)) <= place
    finally:
        module.choose_simd(module.SIMD)


def test_scalar_code_is_always_there(module: ModuleType) -> None:
    assert levels_of(module)[0] == "scalar"
    assert levels_of(module)[-1] == module.SIMD
    assert list(each_level(module)) == levels_of(module)


def test_the_environment_keeps_to_the_scalar_code() -> None:
    code = "from importlib import import_module\n" + "".join(
        f"print(import_module('turnwire._native.{name}').SIMD)\n" for name in NAMES
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "TURNWIRE_SIMD": "0", "TURNWIRE_PURE": ""},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == ["scalar"] * len(NAMES)
