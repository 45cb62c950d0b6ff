"""The one door for all wires: detect, decode and encode by wire."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest

import turnwire
from tests.fuzz.messages import MESSAGES
from tests.log.engines import GOOD
from turnwire import WIRES, DecodeError, EncodeError, Reason, UnknownName, nslip
from turnwire.nslip.spec import Act

TEXT = GOOD.decode()


@pytest.mark.parametrize("data", [TEXT, GOOD, bytearray(GOOD), memoryview(GOOD), f"  {TEXT}\n", "@a3 cut", GOOD[:5]])
def test_an_nslip_record_is_recognised(data: Any) -> None:
    """By its beginning: it may still be damaged."""
    assert turnwire.detect(data) == "nslip"


@pytest.mark.parametrize("data", ["", " \n", "hello", "bob@example.com", b"\xff\xfe", "\ud800", b"\0" * 9, "@", "#"])
def test_what_is_no_message(data: Any) -> None:
    assert turnwire.detect(data) is None
    with pytest.raises(DecodeError) as caught:
        turnwire.decode(data)
    assert (caught.value.reason, caught.value.offset, caught.value.line) == (Reason.UNKNOWN_WIRE, 0, 1)
    assert all(name in str(caught.value) for name in WIRES)


@pytest.mark.parametrize("data", [TEXT, GOOD, bytearray(GOOD), memoryview(GOOD)])
@pytest.mark.parametrize("wire", [None, "nslip"])
def test_a_message_goes_through(data: Any, wire: str | None) -> None:
    message = turnwire.decode(data, wire)
    assert message == nslip.decode(GOOD)
    assert turnwire.encode(message) == turnwire.encode(message, strict=False) == TEXT


@pytest.mark.parametrize("wire", WIRES)
def test_what_is_written_is_text_whatever_it_was_read_from(wire: str) -> None:
    written = 0
    for one in MESSAGES[wire]:
        data = one.encode() if isinstance(one, str) else one
        try:
            texts = [turnwire.encode(turnwire.decode(data.decode(), wire), strict=strict) for strict in (True, False)]
        except turnwire.WireError:
            continue
        for form, whole in product((bytes, bytearray, memoryview), (data, texts[0].encode())):
            message = turnwire.decode(form(whole), wire)
            assert [turnwire.encode(message, strict=strict) for strict in (True, False)] == texts
        written += 1
    assert written


def test_a_damaged_message_raises_what_its_wire_raises() -> None:
    with pytest.raises(DecodeError) as caught:
        turnwire.decode("@a3|f0|cx|S?#")
    assert (caught.value.reason, caught.value.offset, caught.value.wire) == (Reason.BAD_DIGIT, 11, "nslip")
    with pytest.raises(DecodeError) as caught:
        turnwire.decode("hello", "nslip")
    assert caught.value.reason == Reason.BAD_FRAMING


@pytest.mark.parametrize("wrong", [5, None, 1.5, ["@a3"], object()])
def test_only_text_and_bytes_are_read(wrong: Any) -> None:
    for reading in (turnwire.detect, turnwire.decode):
        with pytest.raises(DecodeError) as caught:
            reading(wrong)
        assert caught.value.reason == Reason.WRONG_TYPE
        assert type(wrong).__name__ in str(caught.value)


@pytest.mark.parametrize("wrong", [5, None, "text", b"@a3", [], object(), nslip, Act.ASK, nslip.SlipMessage])
def test_only_messages_are_written(wrong: Any) -> None:
    for strict in (True, False):
        with pytest.raises(EncodeError) as caught:
            turnwire.encode(wrong, strict)
        assert caught.value.reason == Reason.WRONG_TYPE


@pytest.mark.parametrize("name", ["", "NSLIP", "slip", "morse", "turnwire.nslip", 5])
def test_a_name_that_is_no_wire(name: Any) -> None:
    for reading in (lambda: turnwire.decode(TEXT, name), lambda: turnwire.scan(b"", wire=name)):
        with pytest.raises(UnknownName) as caught:
            reading()
        assert caught.value.reason == Reason.UNKNOWN_WIRE
        assert repr(name) in str(caught.value)
