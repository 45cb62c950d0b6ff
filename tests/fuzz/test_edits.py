"""Both cores say the same of single edits of messages of the usual form, alone and in one log: in every place, one in
seven of the bytes that are tried there; all of them with ``-m soak``."""

from __future__ import annotations

import pytest

from tests.conftest import PURE_ONLY
from tests.fuzz.cores import Core
from tests.fuzz.edits import MESSAGES, edits, log
from tests.fuzz.targets import TARGETS, said_of

pytestmark = [pytest.mark.once, pytest.mark.skipif(PURE_ONLY, reason="the compiled core is left out")]
STEPS = [7, pytest.param(1, marks=pytest.mark.soak)]
CASES = [(wire, text.encode()) for wire, texts in MESSAGES.items() for text in texts]
OWN = {"csp": ("csp-lenient",)}
WHOLE = b"\xff%c\0\0"
"""How a target of scans is told to take one block, and the code of a level."""


@pytest.mark.parametrize(("wire", "text"), CASES)
def test_the_message_is_good(wire: str, text: bytes, cores: tuple[Core, Core]) -> None:
    package = cores[0].package
    assert package.encode(package.decode(text, wire))


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize(("wire", "text"), CASES)
def test_each_edit_alone(wire: str, text: bytes, step: int, cores: tuple[Core, Core]) -> None:
    inputs = list(edits(text, step))
    for name in (f"decode-{wire}", *OWN.get(wire, ())):
        native, pure = (said_of(TARGETS[name], inputs, core) for core in cores)
        assert len(native) == len(inputs)
        assert [one for one in zip(inputs, native, pure, strict=True) if one[1] != one[2]] == []


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize(("wire", "text"), CASES)
def test_all_of_them_in_one_log(wire: str, text: bytes, step: int, cores: tuple[Core, Core]) -> None:
    data, scan = log(edits(text, step), wire), TARGETS[f"scan-{wire}"]
    with cores[1].active() as package:
        expected = scan(package, WHOLE % 0 + data)
    for level in range(3):
        with cores[0].active() as package:
            assert scan(package, WHOLE % level + data) == expected
