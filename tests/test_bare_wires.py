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
from tests.test_further_wires import DAMAGED, TEXTS
from tests.toy_wires import NAMES
from turnwire import ConvertError, Reason, UnknownName
from turnwire.contract import LINES, Wire

NSLIP = '@a3|f0|c3|S0|d1|T1|gH|kg|q2|t"refactor_auth"#'
NEEDED = ("detect", "decode", "encode", "message", "check", "prompt", "plan", "bulk")


@pytest.fixture(params=NAMES)
def bare(request: pytest.FixtureRequest, registering: None) -> str:
    """A toy wire without all that a wire may do without."""
    name: str = request.param
    full = import_module(f"tests.toy_wires.{name}.wire").DESCRIPTOR
    given = {key: full._references[key] for key in NEEDED}
    turnwire.register(Wire(name, title="", package=full.package, style=full.style, **given))
    return name


@pytest.fixture
def log(bare: str, tmp_path: Path) -> Path:
    """Two good records of the wire, one of nSLIP, a damaged one, and prose."""
    file = tmp_path / "a.log"
    file.write_text(f"prose\n{TEXTS[bare].strip()}\n{NSLIP}\n{TEXTS[bare].strip()}\n{DAMAGED[bare]}\n")
    return file


def test_a_mixed_log_is_converted_but_for_it(bare: str, log: Path) -> None:
    done = run("convert", "--to", "csp", "--json", log)
    rows = [json.loads(line) for line in done.out.splitlines()]
    assert done.code == 1
    refused = [row for row in rows if row.get("error") == "no_counterpart"]
    assert [row["line"] for row in rows] == sorted(row["line"] for row in rows) and len(rows) == 4
    assert len(refused) == 2 and all(
        f"{bare} does not define the meaning of its fields" in row["text"] for row in refused
    )
    assert [row["wire"] for row in rows if "message" in row] == ["csp"]
    said = run("convert", "--to", bare, log)
    assert (said.code, f"{bare} does not define the meaning of its fields" in said.err) == (2, True)
    with pytest.raises(ConvertError) as caught:
        turnwire.convert(turnwire.decode(TEXTS[bare]), "csp")
    assert caught.value.reason is Reason.NO_COUNTERPART
    with pytest.raises(UnknownName, match="does not define the meaning of its fields"):
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


def test_a_message_without_fields_is_refused_in_words() -> None:
    given: dict[str, Callable[..., Any] | type] = dict.fromkeys(("detect", "decode", "encode", "check", "prompt"), str)
    odd = Wire("odd", title="", package=__name__, style=LINES, message=bytes, **given)
    with pytest.raises(UnknownName, match=r"odd has no Wire.plain"):
        odd.plain_values(b"x")
