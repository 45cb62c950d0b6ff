"""Wires of others that say only what they must: each door works, or says in words what they lack."""

from __future__ import annotations

import json
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import turnwire
from tests.cli.running import turnwire as run
from tests.toy_wires import NAMES
from turnwire import ConvertError, Reason, UnknownName, session
from turnwire.contract import LINES, Wire
from turnwire.log import plan, read_block
from turnwire.phrases import counted
from turnwire.tokens import advise, compare

TEXTS = {
    "note": '{"note":"ask","id":"7","from":"ada","to":"bob","text":"how far?"}',
    "beep": "~ada>bob:hello~",
    "memo": "MEMO ada\nhello\nEND",
}
DAMAGED = {"note": '{"note":"ask","id":"7","from":3}', "beep": "~ada>bob:cut", "memo": "MEMO eve"}
NSLIP = '@a3|f0|c3|S0|d1|T1|gH|kg|q2|t"refactor_auth"#'
NOTE = json.loads(TEXTS["note"])
NEEDED = ("detect", "decode", "encode", "message", "check", "prompt", "plan", "bulk", "damaged")


@pytest.fixture(params=NAMES)
def bare(request: pytest.FixtureRequest, registering: None) -> str:
    """A toy wire without all that a wire may do without."""
    name: str = request.param
    full = import_module(f"tests.toy_wires.{name}.wire").DESCRIPTOR
    given = {key: full._references[key] for key in NEEDED}
    turnwire.register(Wire(name, title="", package=full.package, style=full.style, marks=full.marks, **given))
    return name


@pytest.fixture
def log(bare: str, tmp_path: Path) -> Path:
    """Two good records of the wire, one of nSLIP, a damaged one, and prose."""
    file = tmp_path / "a.log"
    file.write_text(f"prose\n{TEXTS[bare]}\n{NSLIP}\n{TEXTS[bare]}\n{DAMAGED[bare]}\n")
    return file


def test_a_mixed_log_is_converted_but_for_it(bare: str, log: Path) -> None:
    done = run("convert", "--to", "csp", "--json", log)
    rows = [json.loads(line) for line in done.out.splitlines()]
    assert done.code == 1
    refused = [row for row in rows if row.get("error") == "no_counterpart"]
    assert [row["line"] for row in rows] == sorted(row["line"] for row in rows) and len(rows) == 4
    assert len(refused) == 2 and all(f"{bare} does not say what its fields mean" in row["text"] for row in refused)
    assert [row["wire"] for row in rows if "message" in row] == ["csp"]
    said = run("convert", "--to", bare, log)
    assert (said.code, f"{bare} does not say what its fields mean" in said.err) == (2, True)
    with pytest.raises(ConvertError) as caught:
        turnwire.convert(turnwire.decode(TEXTS[bare]), "csp")
    assert caught.value.reason is Reason.NO_COUNTERPART
    with pytest.raises(UnknownName, match="does not say what its fields mean"):
        turnwire.Converter(bare)


@pytest.mark.parametrize(
    ("command", "code"),
    [
        (("validate",), 1),
        (("scan",), 1),
        (("stats",), 1),
        (("tokens",), 1),
        (("tokens", "--compare"), 1),
        (("tokens", "--advise"), 1),
        (("replay",), 4),
        (("report", "--output", "-"), 1),
    ],
)
def test_commands_read_it(bare: str, log: Path, command: tuple[str, ...], code: int) -> None:
    done = run(*command, log)
    assert done.code == code, done.err
    if command[0] in ("validate", "tokens", "report", "scan"):
        assert bare in done.out.decode()
    assert " 1 rejects" not in done.err and " 1 damaged records" not in done.err


def test_functions_read_it(bare: str, log: Path) -> None:
    data, message = log.read_bytes(), turnwire.decode(TEXTS[bare])
    assert [one.wire for one in turnwire.scan(data).messages()] == [bare, "nslip", bare]
    assert turnwire.log.stats(data).counts.wires[bare] == 2
    assert [one.wire for one in turnwire.extract(data.decode())] == [bare, "nslip", bare]
    found = [one.message for block in plan(str(log), block_bytes=1) for one in read_block(block).messages()]
    assert found.count(message) == 2
    assert turnwire.wires()[bare].plain_values(message) in (message._asdict(), dict(NOTE))
    text = session.encode([message, message])
    assert len(session.decode(text)) == 2
    assert {row.format for row in compare([message], [bare], formats=()).rows} == {bare}
    assert "does not say what its fields mean" in compare([message], ["sap", bare], formats=()).absent["sap"]
    assert bare in advise(data * 9).absent
    assert turnwire.prompt(bare) == turnwire.wires()[bare].prompt()


def test_its_columns_come_from_its_fields(bare: str) -> None:
    [batch] = turnwire.scan(f"{TEXTS[bare]}\n".encode(), wire=bare, columns=None)
    assert "ada" in [next(iter(batch[name])) for name in batch.names if batch.column(name).kind == "text"]


def test_a_message_without_fields_is_refused_in_words() -> None:
    given: dict[str, Callable[..., Any] | type] = dict.fromkeys(("detect", "decode", "encode", "check", "prompt"), str)
    odd = Wire("odd", title="", package=__name__, style=LINES, message=bytes, **given)
    with pytest.raises(UnknownName, match=r"odd does not say its messages as plain values \(Wire.plain\)"):
        odd.plain_values(b"x")


@pytest.mark.parametrize(
    ("number", "said"), [(0, "0 rejects"), (1, "1 reject"), (2, "2 rejects"), (1000, "1,000 rejects")]
)
def test_amounts(number: int, said: str) -> None:
    assert counted(number, "reject") == said


def test_the_report_says_one_reject(log: Path, bare: str) -> None:
    done = run("report", "--output", log.with_suffix(".html"), log)
    assert "3 records and 1 reject in " in done.err and "1 reject with its bytes" in done.err
    assert "1 reject," in log.with_suffix(".html").read_text("utf-8")
