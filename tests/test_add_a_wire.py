"""The wires of docs/development/wires.md are found in logs by who only puts their folders there."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.running import environment
from tests.conftest import BACKENDS

pytestmark = pytest.mark.once

PAGE = Path(__file__).parents[1] / "docs" / "development" / "wires.md"
JOB = Path(__file__).parents[1] / "docs" / "jobs" / "add_a_wire.md"
MESSAGES = {
    "ping": "<<ada>bob:hello>>",
    "memo": "MEMO ada\nIt rains.\nEND",
    "poke": '{"poke":"soft","by":"ada"}',
}
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
    wires["ping"] = wires["ping"].replace("    plan=TextPlan(", names + "    plan=TextPlan(")
    for name, text in wires.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "wire.py").write_text(text, "utf-8")
        (tmp_path / name / "__init__.py").write_text("", "utf-8")
    (tmp_path / "ping" / "more.py").write_text(more, "utf-8")
    given = json.dumps([(name, good, DAMAGED[name]) for name, good in MESSAGES.items()])
    assert run(tmp_path, backend, TRY + MORE, given).split() == [*MESSAGES, "more"]
