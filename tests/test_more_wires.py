"""Wires that turnwire does not bring: as registered objects, as folders, as entry points."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import turnwire
from turnwire import Context, EncodeError, Reason, UnknownName, registry
from turnwire.contract import Wire
from turnwire.tokens import compare

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
def test_figures_of_a_log_count_its_answers() -> None:
    found = turnwire.log.stats(LOG)
    assert found.counts.wires["note"] == 2
    assert [(key, pairing.answered) for key, pairing in found.pairings.items() if key[0] == "note"] == [
        (("note", "ask"), 1)
    ]


@pytest.mark.usefixtures("toys")
def test_conversion_goes_by_the_shape() -> None:
    message = turnwire.decode(TEXTS["note"])
    made = turnwire.convert(message, "csp", context=Context(defaults={"csp": {"QUERY:block.id": "Q1"}}))
    assert made.message.sender == "ada"
    assert turnwire.convert(made.message, "note").message == message
    beep = turnwire.convert(turnwire.decode(TEXTS["beep"]), "memo").message
    assert turnwire.encode(beep) == "MEMO ada\nhelloEND\n"
    assert turnwire.convert(message, "beep").message.text == "how far?"


@pytest.mark.usefixtures("toys")
def test_tokens_are_compared() -> None:
    found = compare([TEXTS["beep"]], ["memo", "beep"], formats=())
    assert {row.format for row in found.rows} == {"beep", "memo"} and not found.absent


def turnwire_with_toys(*commands: list[str]) -> list[tuple[int, str]]:
    """The exit code and the output of each command line where the toys are folders beside the other wires."""
    code = f"""if True:
        import io, json, turnwire
        from contextlib import redirect_stderr, redirect_stdout
        turnwire.__path__.append({str(TOYS)!r})
        from turnwire.cli import main
        done = []
        for words in {commands!r}:
            said = io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True)
            with redirect_stdout(said), redirect_stderr(said):
                code = main(words)
            done.append((code, said.buffer.getvalue().decode()))
        print(json.dumps(done))
    """
    return [(code, said) for code, said in json.loads(fresh(code))]


@pytest.mark.once
def test_the_command_line_knows_them(tmp_path: Path) -> None:
    file = tmp_path / "a.log"
    file.write_bytes(LOG)
    validated, conforms, scanned, told = turnwire_with_toys(
        ["validate", "--wire", "note", str(file)],
        ["conform", "note", str(file)],
        ["scan", "--wire", "memo", str(file)],
        ["info", "--json"],
    )
    assert validated[0] == 1 and "2 good note records, 1 fault" in validated[1]
    assert conforms[0] == 1 and "[ ] Every line is a note" in conforms[1]
    assert scanned[0] == 0 and "Traceback" not in scanned[1]
    assert told[0] == 0
    wires = json.loads(told[1])["wires"]
    assert (wires["note"], wires["memo"]) == (["read", "write", "scan"], ["read", "write", "scan"])


def test_a_name_is_taken_once() -> None:
    taken = Wire("csp", title="", package="x", style="lines", **dict.fromkeys(_NEEDED))
    with pytest.raises(ValueError, match="there is a wire 'csp' already"):
        turnwire.register(taken)
    with pytest.raises(TypeError, match=r"register takes a turnwire.contract.Wire, not str"):
        turnwire.register("csp")  # type: ignore[arg-type]
    turnwire.register(turnwire.wires()["csp"])


_NEEDED = ("detect", "decode", "encode", "message", "check", "prompt")


@pytest.mark.parametrize(
    ("changes", "words"),
    [({"name": "A B"}, "lower case"), ({"style": "x"}, "the style")],
)
def test_a_descriptor_that_is_none(changes: dict[str, Any], words: str) -> None:
    given = {"name": "toy", "title": "", "package": "x", "style": "lines", **dict.fromkeys(_NEEDED), **changes}
    with pytest.raises(ValueError, match=words):
        Wire(given.pop("name"), **given)


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
ENTRY = "[turnwire.wires]\nmemo = tests.toy_wires.memo.wire:DESCRIPTOR\n"


def archive(place: Path) -> str:
    with zipfile.ZipFile(place / "toy.zip", "w") as file:
        file.writestr("toy-1.0.dist-info/METADATA", METADATA)
        file.writestr("toy-1.0.dist-info/entry_points.txt", ENTRY)
    return f"sys.path.append({str(place / 'toy.zip')!r})"


def egg(place: Path) -> str:
    within = place / "toy-1.0-py3.11.egg" / "EGG-INFO"
    within.mkdir(parents=True)
    (within / "PKG-INFO").write_text(METADATA)
    (within / "entry_points.txt").write_text(ENTRY)
    return f"sys.path.append({str(within.parent)!r})"


def finder(place: Path) -> str:
    return f"""
import importlib.metadata
class Finder(importlib.metadata.DistributionFinder):
    def find_spec(self, *place):
        return None
    def find_distributions(self, context=None):
        from pathlib import Path
        return [importlib.metadata.Distribution.at(Path({folder(place)!r}))]
sys.meta_path.append(Finder())
"""


def folder(place: Path) -> str:
    within = place / "elsewhere" / "toy-1.0.dist-info"
    within.mkdir(parents=True)
    (within / "METADATA").write_text(METADATA)
    (within / "entry_points.txt").write_text(ENTRY)
    return str(within)


@pytest.mark.parametrize("kind", [archive, egg, finder])
def test_an_entry_point_is_found_wherever_python_finds_it(kind: Callable[[Path], str], tmp_path: Path) -> None:
    """Folders with metadata are looked into without the import of ``importlib.metadata``; all else is left to that."""
    code = f"import sys\n{kind(tmp_path)}\nimport turnwire\nprint(*turnwire.wires())"
    assert fresh(code, Path(__file__).parents[1]) == "nslip csp sstp sap kick memo"


def test_an_object_of_no_wire_is_not_checked() -> None:
    with pytest.raises(EncodeError) as caught:
        turnwire.check(object())
    assert caught.value.reason is Reason.WRONG_TYPE
