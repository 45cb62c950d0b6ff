"""Wires that turnwire does not bring: as registered objects and entry points; their messages, columns and commands.

That every door finds them at the same places is in ``test_doors_agree``; folders are in ``test_add_a_wire``.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import turnwire
from tests.cli.running import turnwire as run
from tests.log.conftest import scan_core  # noqa: F401  (a fixture)
from turnwire import Context, EncodeError, Reason, UnknownName, registry
from turnwire.contract import Wire
from turnwire.read.judging import conform

TEXTS = {
    "note": '{"note":"ask","id":"7","from":"ada","to":"bob","text":"how far?"}',
    "beep": "~ada>bob:hello~",
    "memo": "MEMO ada\nhello\nEND\n",
}
ANSWER = '{"note":"tell","id":"7","from":"bob","to":"ada","text":"done"}'
DAMAGED = {"note": '{"note":"ask","id":"7","from":3}', "beep": "~ada>bob:cut", "memo": "MEMO eve"}
REASONS = {"note": "missing_field", "beep": "bad_framing", "memo": "bad_framing"}
KINDS = {"note": "ask", "beep": "beep", "memo": "calm"}
NSLIP = "@a3|f0|c3|S0|d1|T1#"
LOG = f"{TEXTS['note']}\n{NSLIP}\nprose\n{ANSWER}\n{DAMAGED['note']}\n".encode()


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
    with pytest.warns(UserWarning, match="a scan of all wires treats (bare|plain) as text: it has no plan") as told:
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
    with pytest.raises(ValueError, match="there is already a wire 'csp'"):
        turnwire.register(taken)
    with pytest.raises(TypeError, match=r"register expects a turnwire.contract.Wire, not str"):
        turnwire.register("csp")  # type: ignore[arg-type]
    turnwire.register(turnwire.wires()["csp"])


_NEEDED = ("detect", "decode", "encode", "message", "check", "prompt")


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
    path = os.pathsep.join([str(tmp_path), str(Path(__file__).parents[1]), *(entry for entry in sys.path if entry)])
    given = {**os.environ, "PYTHONPATH": path}
    done = subprocess.run([sys.executable, "-c", code], env=given, capture_output=True, text=True, check=True)
    names, told = done.stdout.splitlines()
    assert names == "nslip csp sstp sap kick memo"
    assert "the wire 'lost' (tests.toy_wires.lost:DESCRIPTOR) cannot be loaded" in told


def test_an_object_of_no_wire_is_not_checked() -> None:
    with pytest.raises(EncodeError) as caught:
        turnwire.check(object())
    assert caught.value.reason is Reason.WRONG_TYPE


def lines(name: str) -> bytes:
    """A log with the message behind a prefix (where it can be), alone, in a string, and a damaged one."""
    text = TEXTS[name].strip()
    prefixed = text if name == "memo" else f"2026-01-02T03:04:05Z INFO {text} sent"
    held = json.dumps({"log": f"so:\n{text}\n"})
    return f"prose ~ MEMO\n{prefixed}\n{NSLIP}\n{text}\n{held}\n{DAMAGED[name]}\n".encode()


@pytest.mark.usefixtures("scan_core", "toys")
@pytest.mark.parametrize("name", TEXTS)
def test_what_a_scan_says_of_them(name: str) -> None:
    message, slip, data = turnwire.decode(TEXTS[name]), turnwire.decode(NSLIP), lines(name)
    every, one = turnwire.scan(data), turnwire.scan(data, wire=name)
    assert [found.message for found in every.messages()] == [message, slip, message, message]
    assert [found.message for found in one.messages()] == [message] * 3
    assert [(bad["wire"], bad["reason"]) for bad in every.rejects.rows()] == [(name, REASONS[name])]
    assert one.rejects.rows() == every.rejects.rows()
    [batch] = turnwire.scan(data)
    assert [batch["kind"][row] for row in (0, 2, 3)] == [KINDS[name]] * 3
    assert [batch["sender"][row] for row in (0, 2, 3)] == ["ada"] * 3
    assert list(batch["receiver"]).count("bob") == 3 * (name != "memo")
    assert batch.valid("time").tolist() == [name != "memo", False, False, False]
    assert [found.message for found in turnwire.extract(data.decode(), [name])] == [message] * 3
    sound, decoder = data[: data.rindex(DAMAGED[name].encode())], turnwire.Decoder()
    fed = [found for at in range(0, len(sound), 7) for found in decoder.feed(sound[at : at + 7])]
    assert fed + decoder.close() == [message, slip, message, message]


@pytest.mark.usefixtures("scan_core", "toys")
def test_own_columns() -> None:
    [batch] = turnwire.scan("\n".join(TEXTS.values()).encode(), wire="beep")
    assert (list(batch["sender"]), list(batch["text"]), list(batch["subject"])) == (["ada"], ["hello"], ["hello"])
    [batch] = turnwire.scan(b"MEMO ada\nEND\nMEMO bob\nA\nB\nEND\n", wire="memo", columns=["lines", "urgency", "first"])
    assert batch["lines"].tolist() == [0, 2] and batch.codes("urgency").tolist() == [0, 1]
    assert batch.valid("first").tolist() == [False, True] and batch["first"][1] == "A"
    pyarrow = pytest.importorskip("pyarrow")
    table = pyarrow.table(turnwire.scan(b"MEMO bob\nA\nB\nEND\n", wire="memo"))
    assert table.select(["urgency", "lines", "sender"]).to_pylist() == [
        {"urgency": "urgent", "lines": 2, "sender": "bob"}
    ]
    chosen = turnwire.scan(b"MEMO ada\nEND\nMEMO bob\nA\nEND\n", where={"sequence": 1})
    assert [one.message.sender for one in chosen.messages()] == ["bob"]


@pytest.mark.usefixtures("toys")
@pytest.mark.parametrize(("name", "target"), [("note", "beep"), ("beep", "memo"), ("memo", "memo")])
def test_what_the_commands_say_of_them(name: str, target: str, tmp_path: Path) -> None:
    good = f"{TEXTS[name].strip()}\n".encode()
    assert conform(name, good) and not conform(name, f"{DAMAGED[name]}\n".encode())
    assert turnwire.log.stats(good * 3).counts.wires[name] == 3
    log = tmp_path / "a.log"
    log.write_bytes(good)
    done = run("conform", name, log)
    assert done.code == 0 and "[x]" in done.out.decode()
    assert "ada" in run("convert", "--to", target, "--from", name, log).out.decode()
    assert name in run("report", log, "--output", "-").out.decode()
    for wire in ([], ["--wire", name]):
        rows = run("scan", *wire, "--format", "ndjson", "--output", "-", log).records
        assert [row["sender"] for row in rows] == ["ada"]
    done = run("validate", "--wire", name, log)
    assert done.code == 0 and f"1 good {name} record" in done.err + done.out.decode()
