"""Every function that takes ``limits=`` says so when it is given something else."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import turnwire
from tests.conftest import PURE_ONLY
from turnwire import csp, kick, log, sap, sstp
from turnwire._backend import core_module
from turnwire.json import text as json_text

pytestmark = pytest.mark.once

OBJECT = b'{"a": 1}'
TAKERS: dict[str, Callable[[Any], Any]] = {
    "scan": lambda limits: turnwire.scan(b"", limits=limits),
    "Decoder": lambda limits: turnwire.Decoder(limits=limits),
    "Decoder of nslip": lambda limits: turnwire.Decoder("nslip", limits=limits),
    "Decoder of sap": lambda limits: turnwire.Decoder("sap", limits=limits),
    "sstp.decode": lambda limits: sstp.decode(OBJECT, limits=limits),
    "sap.decode": lambda limits: sap.decode(OBJECT, limits=limits),
    "kick.decode": lambda limits: kick.decode(OBJECT, limits=limits),
    "csp.decode": lambda limits: csp.decode("CSP/1", limits=limits),
    "csp.parse": lambda limits: csp.parse("CSP/1", limits=limits),
    "csp.parse, lenient": lambda limits: csp.parse("CSP/1", mode="lenient", limits=limits),
    "csp.read_log": lambda limits: csp.read_log("CSP/1", limits=limits),
    "json_text.read_object": lambda limits: json_text.read_object(OBJECT, "sap", limits=limits),
    "json_text.write": lambda limits: json_text.write({}, limits=limits),
    "log.stats": lambda limits: log.stats(b"", limits=limits),
}


@pytest.mark.parametrize("wrong", [None, 5, {"message": 3}, (1, 2)], ids=["None", "int", "dict", "tuple"])
@pytest.mark.parametrize("name", TAKERS)
def test_what_is_no_limits_is_refused_in_words(name: str, wrong: Any) -> None:
    with pytest.raises(TypeError, match=f"limits is a turnwire.Limits .* not {type(wrong).__name__}"):
        TAKERS[name](wrong)


@pytest.mark.parametrize("core", ["pure"] if PURE_ONLY else ["native", "pure"])
def test_both_readers_of_json_refuse_it(core: str) -> None:
    reader = core_module(core, "json.text")
    with pytest.raises(TypeError, match="limits is a turnwire"):
        reader.Reader("sap").read(OBJECT, None)
    assert reader.Reader("sap").read(OBJECT, turnwire.LIMITS._replace(key=9)) == {"a": 1}
