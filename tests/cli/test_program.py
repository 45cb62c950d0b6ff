"""The program around the commands: how they are found, help, versions, what a start loads; info and bench."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

import turnwire as library
from tests.cli.running import environment, turnwire
from turnwire.cli import commands, main

pytestmark = pytest.mark.once


def test_a_module_in_commands_is_a_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "greet.py").write_text(
        "import click\n\n"
        "@click.command('greet', short_help='Says hello.')\n"
        "def command():\n    click.echo('hello')\n    return 1\n"
    )
    monkeypatch.setattr(commands, "__path__", [*commands.__path__, str(tmp_path)])
    done = turnwire("greet")
    assert (done.out, done.code) == (b"hello\n", 1)
    text = turnwire("--help").out
    assert b"Says hello." in text
    names = re.findall(rb"^  (\w+)  ", text, re.MULTILINE)
    assert names == sorted(names) and names.index(b"greet") < names.index(b"info"), "in whichever folder they are"


def test_help_names_every_command_and_the_exit_codes() -> None:
    text = turnwire("--help").out.decode()
    for name in ("scan", "validate", "info", "bench"):
        assert f"  {name} " in text
        assert turnwire(name, "--help").code == 0
    assert "130 interrupted" in text


def test_version() -> None:
    assert turnwire("--version").out.decode() == f"turnwire {library.__version__} ({library.backend})\n"


def test_main_gives_the_code_and_raises_nothing(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    assert main(["info"]) == 0
    assert main(["scan", "nowhere"]) == 3
    assert main(["scan"]) == 2
    assert b"No such file" in capfdbinary.readouterr().err


@pytest.mark.parametrize("arguments", [["--help"], ["scan", "nowhere"]], ids=" ".join)
def test_a_quick_start_loads_nothing_heavy(arguments: list[str]) -> None:
    code = "import sys; from turnwire.cli import main; main(sys.argv[1:]); print(*sys.modules, file=sys.stderr)"
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments], env=environment(), capture_output=True, text=True, timeout=300
    )
    loaded = set(done.stderr.splitlines()[-1].split())
    assert "click" in loaded
    assert loaded & {"numpy", "msgspec", "rich", "polars", "duckdb", "pyarrow"} == set()


def test_info_says_what_is_there() -> None:
    found = json.loads(turnwire("info", "--json").out)
    assert found["version"] == library.__version__
    assert found["backend"] == library.backend
    assert found["limits"] == library.LIMITS._asdict()
    assert found["wires"]["nslip"] == ["read", "write", "scan"]
    assert set(found["wires"]) == set(library.WIRES)
    text = turnwire("info").out.decode()
    assert f"core       {library.backend}" in text
    assert "nslip (read, write, scan)" in text


def test_bench_measures_this_core_beside_msgspec() -> None:
    rows = turnwire("bench", "--json").records
    assert [row["task"] for row in rows] == ["decode", "encode", "scan"]
    assert all(row[library.backend] > 0 and row["msgspec"] > 0 for row in rows)
    assert turnwire("bench").out.decode().splitlines()[0].split() == list(rows[0])
