"""Three wires that turnwire does not bring, one of each style, through every door: all find the same."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import turnwire
from tests.cli.running import turnwire as run
from tests.log.conftest import scan_core  # noqa: F401  (a fixture)
from turnwire import DecodeError, Decoder
from turnwire.log import plan, read_block
from turnwire.read.judging import conform
from turnwire.read.located import located
from turnwire.tokens import advise

TEXTS = {
    "note": '{"note":"ask","id":"7","from":"ada","to":"bob","text":"how far?"}',
    "beep": "~ada>bob:hello~",
    "memo": "MEMO ada\nhello\nEND",
}
DAMAGED = {"note": '{"note":"ask","id":"7","from":3}', "beep": "~ada>bob:cut", "memo": "MEMO eve"}
REASONS = {"note": "missing_field", "beep": "bad_framing", "memo": "bad_framing"}
LINE, PREFIX, STRING, STRINGS, PRETTY = "line", "prefix", "string", "string in a string", "pretty-printed"
CONTAINERS = [
    *((name, container) for name in TEXTS for container in (LINE, STRING, STRINGS)),
    ("note", PREFIX),
    ("beep", PREFIX),
    ("note", PRETTY),
]
KINDS = {"note": "ask", "beep": "beep", "memo": "calm"}


def contained(name: str, container: str) -> str:
    """A message in a container."""
    text = TEXTS[name]
    if container == PREFIX:
        return f"2026-01-02T03:04:05Z INFO {text} sent"
    if container == PRETTY:
        return json.dumps(json.loads(text), indent=2)
    for _ in range({STRING: 1, STRINGS: 2}.get(container, 0)):
        text = json.dumps({"log": f"so:\n{text}\n"})
    return text


@pytest.fixture
def log(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """Twice the message in its container, prose and an nSLIP record around it, something damaged at the end."""
    name, container = request.param
    text = contained(name, container)
    file = tmp_path / "a.log"
    file.write_text(f"prose ~ MEMO\n{text}\n@a3|f0|c3|S0|d1|T1#\n{text}\n{DAMAGED[name]}\n", "utf-8")
    return file


both = pytest.mark.parametrize(("name", "container", "log"), [(*one, one) for one in CONTAINERS], indirect=["log"])


def fed(data: bytes, wire: str | None, size: int) -> tuple[list[Any], list[str]]:
    """What a Decoder gives for pieces of this size: messages, and the reasons of what is damaged."""
    decoder = Decoder(wire)
    found, bad = [], []
    pieces = [data[at : at + size] for at in range(0, len(data), size)]
    for take in (*(lambda piece=piece: decoder.feed(piece) for piece in pieces), decoder.close):
        try:
            found += take()
        except DecodeError as error:
            bad.append(str(error.reason))
            found += decoder.feed(b"")
    return found + decoder.close(), bad


@both
@pytest.mark.usefixtures("scan_core", "toys")
def test_what_is_found(name: str, container: str, log: Path) -> None:
    message, data = turnwire.decode(TEXTS[name]), log.read_bytes()
    slip = turnwire.decode("@a3|f0|c3|S0|d1|T1#")
    every = turnwire.scan(data)
    found = list(every.messages())
    assert [one.wire for one in found] == [name, "nslip", name] and found[0].message == found[2].message == message
    assert [(bad["wire"], bad["reason"]) for bad in every.rejects.rows()] == [(name, REASONS[name])]
    [batch] = turnwire.scan(data)
    assert batch["kind"][0] == KINDS[name]
    assert batch["sender"][0] == batch["sender"][2] == "ada" and list(batch["receiver"]).count("bob") == 2 * (
        name != "memo"
    )
    assert batch.valid("time").tolist() == [container == PREFIX, False, container == PREFIX]
    one = turnwire.scan(data, wire=name)
    mine = list(one.messages())
    assert [each.message for each in mine] == [message, message]
    assert [(each.offset, each.length, each.line, each.inner) for each in mine] == [
        (each.offset, each.length, each.line, each.inner) for each in found if each.wire == name
    ]
    assert one.rejects.rows() == every.rejects.rows()
    assert [each.message for each in located(data, name) if each.error is None] == [message, message]
    for size in (1, 7, len(data)):
        assert fed(data, name, size) == ([message, message], [REASONS[name]])
        assert fed(data, None, size) == ([message, slip, message], [REASONS[name]])
    assert [each.message for each in turnwire.extract(data.decode())] == [message, slip, message]
    assert [each.message for each in turnwire.extract(data.decode(), [name])] == [message, message]
    blocks = plan(str(log), wire=name, block_bytes=1)
    cut = [each.message for block in blocks for each in read_block(block).messages()]
    assert cut == [message, message]
    assert sum(len(read_block(block).errors and list(read_block(block).errors())) for block in blocks) == 1


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


@both
@pytest.mark.usefixtures("scan_core", "toys")
def test_what_the_commands_say(name: str, container: str, log: Path, tmp_path: Path) -> None:
    for wire in ([], ["--wire", name]):
        done = run("validate", *wire, log)
        good = f"2 good {name} records" if wire else "3 good records"
        assert done.code == 1 and good in done.err + done.out.decode() and REASONS[name] in done.out.decode()
        rows = run("scan", *wire, "--format", "ndjson", "--output", "-", log)
        assert rows.code in (0, 1) and sum(row.get("sender") == "ada" for row in rows.records) == 2
    done = run("stats", log)
    assert done.code in (0, 1) and name in done.out.decode()
    page = tmp_path / "report.html"
    done = run("report", log, "--output", page)
    assert done.code in (0, 1) and name in page.read_text("utf-8")
    done = run("tokens", log)
    assert done.code in (0, 1) and name in done.out.decode()
    target = {"note": "beep", "beep": "memo", "memo": "memo"}[name]
    done = run("convert", "--to", target, "--from", name, log)
    assert "ada" in done.out.decode()


@pytest.mark.parametrize("name", TEXTS)
@pytest.mark.usefixtures("toys")
def test_the_rest(name: str, tmp_path: Path) -> None:
    good = f"{TEXTS[name]}\n".encode()
    assert conform(name, good)
    assert not conform(name, f"{DAMAGED[name]}\n".encode())
    file = tmp_path / "a.log"
    file.write_bytes(good)
    done = run("conform", name, file)
    assert done.code == 0 and "[x]" in done.out.decode()
    assert turnwire.prompt(name)
    assert turnwire.log.stats(good * 3).counts.wires[name] == 3
    assert advise(good * 20)
    assert sum(len(batch) for batch in turnwire.scan([str(file)] * 1, threads=2)) == 1
