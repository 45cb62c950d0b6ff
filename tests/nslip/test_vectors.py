"""The language-neutral cases of nSLIP, on both cores, from text and from bytes."""

from __future__ import annotations

from typing import Any

from tests import vectors
from tests.conftest import raised
from turnwire import DecodeError, EncodeError
from turnwire.nslip import Act, FrameType, Slot

BASE = {"conv_id": 3, "turn": 1, "src": 0, "dst": 1, "act": Act.REQUEST, "frame": FrameType.TASK, "slots": {}}


def expected(case: dict[str, Any]) -> dict[str, Any]:
    fields: dict[str, Any] = case["expect"]
    return fields | {"slots": list(fields["slots"].items())}


def read(message: Any) -> dict[str, Any]:
    """A message in the form of the cases; the order of the slots counts."""
    fields = {name: getattr(message, name) for name in ("conv_id", "turn", "src", "dst")}
    slots = [(slot.name, value) for slot, value in message.slots.items()]
    return fields | {"act": message.act.name, "frame": message.frame.name, "slots": slots}


@vectors.cases("nslip", op="decode")
def test_decode(core: Any, case: dict[str, Any]) -> None:
    nslip, text = core("nslip.codec"), case["wire"]
    for data in (text, text.encode(), memoryview(text.encode())):
        if "error" not in case:
            message = nslip.decode(data)
            assert read(message) == expected(case)
            assert nslip.decode(nslip.encode(message)) == message
            continue
        error = raised(DecodeError, nslip.decode, data)
        assert (error.reason, error.offset, error.line, error.wire) == (case["error"], case["offset"], 1, "nslip")
        assert str(error).isprintable(), "errors are printed on terminals and in logs"


def key(name: str) -> Any:
    return int(name) if name.isdigit() else Slot.__members__.get(name, name)


@vectors.cases("nslip", op="encode")
def test_encode(core: Any, case: dict[str, Any]) -> None:
    nslip = core("nslip.codec")
    fields = BASE | case["fields"]
    if isinstance(fields["slots"], dict):
        fields["slots"] = {key(name): value for name, value in fields["slots"].items()}
    message = nslip.SlipMessage(**fields)
    if "error" not in case:
        assert nslip.encode(message) == case["expect"]
        return
    caught = raised(EncodeError, nslip.encode, message)
    assert (caught.reason, caught.wire) == (case["error"], "nslip")
    assert caught.path == case.get("path", caught.path)


@vectors.cases("nslip_forms", kind="keep")
def test_keeping_is_as_strict_as_reading(core: Any, case: dict[str, Any]) -> None:
    caught = raised(DecodeError, core("nslip.codec").decode, case["wire"], unknown="keep")
    assert caught.reason == case["error"]


@vectors.cases("nslip_forms", kind="dict")
def test_refused_dicts(core: Any, case: dict[str, Any]) -> None:
    nslip = core("nslip.codec")
    fields = nslip.decode('@a3|f0|c3|S0|d1|T1|gH|t"ok"#').to_dict() | case["change"]
    caught = raised(DecodeError, nslip.SlipMessage.from_dict, fields)
    assert (caught.reason, caught.path) == (case["error"], case["path"])


@vectors.cases("nslip_forms", kind="legacy")
def test_the_legacy_header_is_named(core: Any, case: dict[str, Any]) -> None:
    wire, reason = case["wire"], case["error"]
    nslip = core("nslip.codec")
    for unknown in ("error", "keep"):
        caught = raised(DecodeError, nslip.decode, wire, unknown=unknown)
        assert caught.reason == reason
        if reason == "look_alike":
            assert (caught.offset, "draft before v0.1" in str(caught)) == (0, True)
