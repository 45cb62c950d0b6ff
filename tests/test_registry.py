"""How wires are looked for: once, in order, again where looking failed; and where entry points may be."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.cli.running import environment
from tests.conftest import BACKENDS
from tests.toy_wires.leaf import DESCRIPTOR, Leaf, Sheet
from turnwire import registry
from turnwire.contract import Wire

pytestmark = pytest.mark.once

BUILT_IN = ("nslip", "csp", "sstp", "sap", "kick")


def named(name: str) -> Wire:
    """A wire of that name that reads nothing."""
    needed: dict[str, Any] = dict.fromkeys(("detect", "decode", "encode", "check", "prompt"), lambda *_: None)
    return Wire(name, title=name, package=__name__, style="lines", message=type(name, (), {}), **needed)


@pytest.fixture
def fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing was looked for so far, and there is nothing but the built-in wires."""
    for name, value in {"_known": {}, "_complete": False, "_searching": False}.items():
        monkeypatch.setattr(registry, name, value)
    monkeypatch.setattr(registry, "_folders", lambda: iter(()))
    monkeypatch.setattr(registry, "_entries", lambda: iter(()))


@pytest.mark.usefixtures("fresh")
def test_who_registers_first_stands_behind_the_built_in_wires() -> None:
    registry.register(DESCRIPTOR)
    assert registry.names() == (*BUILT_IN, "leaf") == tuple(registry.wires()) == registry.names()
    registry.register(named("other"))
    assert registry.names() == (*BUILT_IN, "leaf", "other") and registry.wire("leaf") is DESCRIPTOR
    assert registry.packages()[:5] == tuple(f"turnwire.{name}" for name in BUILT_IN)


@pytest.mark.usefixtures("fresh")
@pytest.mark.parametrize("at", ["_folders", "_entries"])
def test_what_failed_once_is_looked_for_again(monkeypatch: pytest.MonkeyPatch, at: str) -> None:
    """Nobody takes what was found so far for all that there is."""
    tries = []

    def found() -> Iterator[Any]:
        tries.append(at)
        if len(tries) < 3:
            raise OSError("not now")
        yield DESCRIPTOR

    monkeypatch.setattr(registry, at, found)
    monkeypatch.setattr(
        registry, "_described", lambda given, real=registry._described: given if given is DESCRIPTOR else real(given)
    )
    for _ in range(2):
        with pytest.raises(OSError, match="not now"):
            registry.names()
    for _ in range(2):
        assert registry.names() == (*BUILT_IN, "leaf")
    assert len(tries) == 3


@pytest.mark.usefixtures("fresh")
def test_whoever_asks_while_wires_are_looked_for_gets_those_before(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []

    def found() -> Iterator[Wire]:
        yield named("first")
        seen.append(registry.names())
        yield named("second")
        seen.append(registry.names())

    monkeypatch.setattr(registry, "_entries", found)
    assert registry.names() == (*BUILT_IN, "first", "second")
    assert seen == [(*BUILT_IN, "first"), (*BUILT_IN, "first", "second")]


def test_entry_points_are_taken_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    """Entries that are no wire or cannot be loaded give a warning and are passed over."""

    def lost() -> Any:
        raise ImportError("gone")

    loads = {
        "b": lambda: named("one"),
        "z": lambda: named("last"),
        "a": lambda: named("two"),
        "m": lost,
        "c": lambda: 5,
    }
    points = [SimpleNamespace(name=name, value="x:y", load=load) for name, load in loads.items()]
    monkeypatch.setattr(registry, "_may_have_entries", lambda: True)
    monkeypatch.setattr(metadata, "entry_points", lambda group: points if group == "turnwire.wires" else [])
    with pytest.warns(UserWarning, match="the wire '[cm]'") as told:
        assert [found.name for found in registry._entries()] == ["two", "one", "last"]
    assert [str(one.message).split("'")[1] for one in told] == ["c", "m"]


@pytest.mark.parametrize(
    ("folder", "looked_into"),
    [("x-1.dist-info", True), ("x-1.egg-info", True), ("X-1.DIST-INFO", True), ("X.Egg-Info", True), ("x", False),
     ("dist-info", False), ("x.dist-info.bak", False)],
)  # fmt: skip
@pytest.mark.parametrize(
    ("text", "names_one"),
    [(None, False), ("", False), ("[console_scripts]\nx = y:z\n", False), ("[turnwire.wires]\nx = y:z\n", True)],
)
def test_where_entry_points_are_looked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folder: str, looked_into: bool, text: str | None, names_one: bool
) -> None:
    """In each folder of the path, whatever the case of its name; one that is not there has none."""
    (tmp_path / "some.dist-info").write_text("no folder")
    (tmp_path / folder).mkdir()
    if text is not None:
        (tmp_path / folder / "entry_points.txt").write_text(text)
    monkeypatch.setattr(sys, "meta_path", [])
    monkeypatch.setattr(sys, "path", [str(tmp_path / "nowhere"), str(tmp_path)])
    assert registry._may_have_entries() == (looked_into and names_one)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [""])
    assert registry._may_have_entries() == (looked_into and names_one)


@pytest.mark.parametrize("name", ["x-1.egg", "X.EGG", "x.zip", "x.egg.txt"])
def test_an_archive_may_have_any(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    (tmp_path / name).write_text("x")
    monkeypatch.setattr(sys, "meta_path", [])
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    assert registry._may_have_entries() == name.lower().endswith(".egg")
    monkeypatch.setattr(sys, "path", [str(tmp_path / name)])
    assert registry._may_have_entries()  # whoever knows how to look into it has to


@pytest.mark.usefixtures("fresh")
def test_messages_and_documents_belong_to_their_wire() -> None:
    registry.register(DESCRIPTOR)
    registry.register(other := named("other"))
    assert registry.wire_of(Leaf("a", "b")) == registry.wire_of(Sheet("a", ())) == "leaf"
    assert registry.wire_of(type("Mine", (Leaf,), {})("a", "b")) == "leaf"
    assert registry.wire_of(other.message()) == "other"
    for nothing in (None, 5, "x", (), ("a", "b"), Leaf, object(), DESCRIPTOR):
        assert registry.wire_of(nothing) is None
    assert registry.encode(Leaf("a", "b")) == registry.encode(Leaf("a", "b"), strict=False) == "%a: b%"


@pytest.mark.usefixtures("fresh")
def test_which_wires_are_chosen() -> None:
    registry.register(DESCRIPTOR)
    assert registry.chosen(None) == (*BUILT_IN, "leaf") and registry.scanned() == registry.chosen(None)
    assert registry.chosen("csp") == registry.chosen(["csp"]) == registry.chosen(iter(("csp",))) == ("csp",)
    assert registry.chosen(("sap", "csp", "leaf")) == ("sap", "csp", "leaf") and registry.chosen(()) == ()


# --- the wires of docs/development/wires.md are found in logs by who only puts their folders there --------------------


PAGE = Path(__file__).parents[1] / "docs" / "development" / "wires.md"
JOB = Path(__file__).parents[1] / "docs" / "jobs" / "add_a_wire.md"
MESSAGES = {"ping": "<<ada>bob:hello>>", "memo": "MEMO ada\nIt rains.\nEND", "poke": '{"poke":"soft","by":"ada"}'}
DAMAGED = {"ping": "<<ada>bob:cut", "memo": "MEMO ada", "poke": '{"poke":"soft"}'}
TRY = """if True:
    import sys, json, turnwire
    turnwire.__path__.append(sys.argv[1])
    for name, good, bad in json.loads(sys.argv[2]):
        pretty = json.dumps(json.loads(good), indent=1) if name == "poke" else good
        log = "\\n".join(["prose << MEMO", good, json.dumps({"log": f"so:\\n{good}\\n"}), pretty, bad, ""]).encode()
        message = turnwire.decode(good)
        assert turnwire.detect(good) == name and turnwire.decode(turnwire.encode(message)) == message
        for wire in (None, name):
            scan = turnwire.scan(log, wire=wire)
            found = list(scan.messages())
            assert [one.wire for one in found] == [name] * 3, found
            assert [one.message for one in found] == [message] * 3
            assert [reject["wire"] for reject in scan.rejects.rows()] == [name]
            [batch] = turnwire.scan(log, wire=wire)
            assert list(batch["sender"]) == ["ada"] * 3
        assert [one.message for one in turnwire.extract(log.decode())] == [message] * 3
        decoder, got = turnwire.Decoder(), []
        for at in range(0, log.index(bad.encode() + b"\\n", len(log) - len(bad) - 2), 5):
            got += decoder.feed(log[at : min(at + 5, len(log) - len(bad) - 1)])
        assert got + decoder.close() == [message] * 3, got
        print(name)
"""


def examples() -> dict[str, str]:
    """The files of the page, by the name of their wire; that of a token is what the page of the job registers,
    that of lines a toy wire."""
    blocks = re.findall(
        r"^```python\n# ([a-z]+)/wire\.py\n(.*?)^```$", PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL
    )
    [ping] = re.findall(r"^```python\n(.*?)^log = ", JOB.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    ping = ping.replace("turnwire.register(", "DESCRIPTOR = (").replace("package=__name__", "package=__package__")
    memo = (Path(__file__).parent / "toy_wires" / "memo.py").read_text("utf-8")
    return {"ping": ping, "memo": memo, **dict(blocks)}


def run(path: Path, backend: str, code: str, *arguments: str) -> str:
    """The output of a fresh interpreter that has the folders in ``path``."""
    settings = environment(TURNWIRE_PURE=str(int(backend == "pure")))
    command = [sys.executable, "-c", code, str(path), *arguments]
    done = subprocess.run(command, env=settings, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


MORE = """if True:
    import turnwire.tokens
    log = b"<<ada>bob:hello>>\\n<<bob>ada:hello yourself, my dear>>\\n<<ada>bob:bye>>\\n"
    answered = {key: pairing.answered for key, pairing in turnwire.log.stats(log).pairings.items()}
    assert answered == {("ping", "ping"): 2}, answered
    ping = turnwire.decode("<<ada>bob:hello>>")
    fields = {"ctx": "C0", "block.id": "T7", "block.STATUS": "OK"}
    there = turnwire.convert(ping, "csp", context=turnwire.Context(defaults={"csp": fields}))
    assert turnwire.convert(there.message, "ping").message.subject == "hello", there
    assert turnwire.tokens.advise(log).table()
    from turnwire.read.located import conform
    [clause] = conform("ping", log)
    assert (clause.status, clause.reason) == ("fail", "line 2: it is longer")
    print("more")
"""


@pytest.mark.parametrize("backend", BACKENDS)
def test_the_folders_of_the_page(backend: str, tmp_path: Path) -> None:
    """All at once, which must not get in each other's way; one of them has what a wire may have beyond what it must."""
    page, wires = PAGE.read_text("utf-8"), examples()
    assert wires.keys() == MESSAGES.keys()
    assert sorted(re.findall(r"style=([A-Z]+)", "".join(wires.values()))) == ["LINES", "OBJECT", "TOKEN"]
    [more] = re.findall(r"^```python\n# ping/more\.py\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    names = "".join(f"    {name},\n" for name in re.findall(r'`((?:[a-z]+)="\.more:[A-Za-z]+")`', page))
    assert names.count("more:") == 3
    wires["ping"] = wires["ping"].replace("    scanner=TextPlan(", names + "    scanner=TextPlan(")
    for name, text in wires.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "wire.py").write_text(text, "utf-8")
        (tmp_path / name / "__init__.py").write_text("", "utf-8")
    (tmp_path / "ping" / "more.py").write_text(more, "utf-8")
    given = json.dumps([(name, good, DAMAGED[name]) for name, good in MESSAGES.items()])
    assert run(tmp_path, backend, TRY + MORE, given).split() == [*MESSAGES, "more"]
