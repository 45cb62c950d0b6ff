"""Wires that turnwire does not bring: as registered objects, as folders, as entry points."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import turnwire
from turnwire import Context, EncodeError, Reason, UnknownName, registry
from turnwire.contract import Wire

TOYS = Path(__file__).parent / "toy_wires"
TEXTS = {
    "note": '{"note":"ask","id":"7","from":"ada","to":"bob","text":"how far?"}',
    "beep": "~ada>bob:hello~",
    "memo": "MEMO ada\nhello\nEND\n",
}
ANSWER = '{"note":"tell","id":"7","from":"bob","to":"ada","text":"done"}'
DAMAGED = '{"note":"ask","id":"7","from":3}'
NSLIP = "@a3|f0|c3|S0|d1|T1#"
LOG = f"{TEXTS['note']}\n{NSLIP}\nprose\n{ANSWER}\n{DAMAGED}\n".encode()


@pytest.mark.usefixtures("toys")
@pytest.mark.parametrize("name", TEXTS)
def test_one_door_for_them_too(name: str) -> None:
    text = TEXTS[name]
    assert turnwire.detect(text) == name
    message = turnwire.decode(text)
    assert registry.wire_of(message) == name
    assert turnwire.encode(message) == text
    assert turnwire.check(message) == []
    assert turnwire.prompt(name) == turnwire.wires()[name].prompt()
    assert (*["nslip", "csp", "sstp", "sap", "kick"], "note", "beep", "memo") == turnwire.WIRES
    found = turnwire.extract(f"I say:\n{text.strip()}\nand {NSLIP}")
    assert (found[0].wire, found[0].message) == (name, message)
    assert found[1].wire == "nslip"


@pytest.mark.usefixtures("toys")
def test_a_wire_without_a_plan_is_named() -> None:
    given = dict.fromkeys(("detect", "decode", "encode", "message", "check", "prompt"), lambda _: False)
    for name, style in (("bare", "token"), ("plain", "object")):
        turnwire.register(Wire(name, title="", package="x", style=style, **given))
    with pytest.warns(UserWarning, match="a scan of all wires takes (bare|plain) for text: it has no plan") as told:
        found = turnwire.scan(LOG)
    assert len(told) == 2
    assert [one.wire for one in found.messages()] == ["note", "nslip", "note"]
    for name in ("bare", "plain"):
        with pytest.raises(UnknownName, match=f"{name} cannot be scanned") as caught:
            turnwire.scan(b"", wire=name)
        assert caught.value.reason is Reason.UNKNOWN_WIRE


@pytest.mark.usefixtures("toys")
def test_conversion_goes_by_the_shape() -> None:
    message = turnwire.decode(TEXTS["note"])
    made = turnwire.convert(message, "csp", context=Context(defaults={"csp": {"QUERY:block.id": "Q1"}}))
    assert made.message.sender == "ada"
    assert turnwire.convert(made.message, "note").message == message
    beep = turnwire.convert(turnwire.decode(TEXTS["beep"]), "memo").message
    assert turnwire.encode(beep) == "MEMO ada\nhelloEND\n"
    assert turnwire.convert(message, "beep").message.text == "how far?"


def test_a_name_is_taken_once() -> None:
    taken = Wire("csp", title="", package="x", style="lines", **dict.fromkeys(_NEEDED))
    with pytest.raises(ValueError, match="there is a wire 'csp' already"):
        turnwire.register(taken)
    with pytest.raises(TypeError, match=r"register takes a turnwire.contract.Wire, not str"):
        turnwire.register("csp")  # type: ignore[arg-type]
    turnwire.register(turnwire.wires()["csp"])


_NEEDED = ("detect", "decode", "encode", "message", "check", "prompt")


def fresh(code: str, *paths: Path) -> str:
    """What a fresh interpreter prints."""
    path = os.pathsep.join([*map(str, paths), *(entry for entry in sys.path if entry)])
    done = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_a_folder_beside_the_others_is_a_wire() -> None:
    code = f"""if True:
        import turnwire
        turnwire.__path__.append({str(TOYS)!r})
        text = {TEXTS["note"]!r}
        print(turnwire.detect(text), *turnwire.wires(), type(turnwire.decode(text)).__module__)
    """
    assert fresh(code) == "note nslip csp sstp sap kick beep memo note turnwire.note.codec"


def test_an_entry_point_names_a_wire(tmp_path: Path) -> None:
    installed = tmp_path / "toy-1.0.dist-info"
    installed.mkdir()
    (installed / "METADATA").write_text("Metadata-Version: 2.1\nName: toy\nVersion: 1.0\n")
    (installed / "entry_points.txt").write_text(
        "[turnwire.wires]\nmemo = tests.toy_wires.memo.wire:DESCRIPTOR\nlost = tests.toy_wires.lost:DESCRIPTOR\n"
    )
    code = """if True:
        import warnings, turnwire
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            print(*turnwire.wires())
        print([str(each.message) for each in told])
    """
    names, told = fresh(code, tmp_path, Path(__file__).parents[1]).splitlines()
    assert names == "nslip csp sstp sap kick memo"
    assert "the wire 'lost' (tests.toy_wires.lost:DESCRIPTOR) cannot be loaded" in told


METADATA = "Metadata-Version: 2.1\nName: toy\nVersion: 1.0\n"


def test_an_object_of_no_wire_is_not_checked() -> None:
    with pytest.raises(EncodeError) as caught:
        turnwire.check(object())
    assert caught.value.reason is Reason.WRONG_TYPE
