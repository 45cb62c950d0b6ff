"""The last line of a command leads on, notes about single records end, and --exit-zero fails no script."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from tests.cli.running import turnwire
from turnwire import nslip
from turnwire.cli.output import Notes

pytestmark = pytest.mark.once

GOOD = "@a3|f0|c1|S1|d2|T1#\n"


@pytest.mark.parametrize("command", ["scan", "stats", "validate"])
@pytest.mark.parametrize("bad", [False, True])
def test_the_last_line_names_the_damage_and_a_command_that_runs(
    command: str, bad: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "a log.txt"
    path.write_text(GOOD + ("@a3|f0|c$\n" * 2 + "@a3|f0\n") * bad)
    done = turnwire(command, path)
    last = done.err.splitlines()[-1]
    assert done.code == bad
    assert ("bad_digit (2)" in last) == bad
    following = shlex.split(last.partition("next: ")[2])
    assert following[0] == "turnwire" and following[1] != command
    assert turnwire(*following[1:]).code == bad


@pytest.mark.parametrize("command", ["scan", "stats", "usage"])
def test_a_condition_that_nothing_meets_leads_nowhere(command: str) -> None:
    line = b'{"sessionId":"s","timestamp":"2025-09-01T10:00:00Z","message":{"id":"m","usage":{"input_tokens":1}}}\n'
    done = turnwire(command, "-", "--where", "conversation=t", "--wire", "claude_code", stdin=line)
    assert done.err.count("--where") == 1 and "next: " not in done.err


@pytest.mark.parametrize("command", ["scan", "stats", "validate", "tokens"])
def test_exit_zero_is_for_bad_records_alone(command: str, tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_text(GOOD + "@a3|f0|c$\n")
    assert turnwire(command, path).code == 1
    assert turnwire(command, path, "--exit-zero").code == 0


def test_what_is_dropped_is_named_for_the_first_messages(tmp_path: Path) -> None:
    path, context = tmp_path / "log", tmp_path / "context.json"
    message = nslip.SlipMessage(1, 1, 1, 2, nslip.Act.INFORM, nslip.FrameType.TASK, {nslip.Slot.SCORE: 7})
    path.write_text("".join(f"{nslip.encode(message.replace(turn=turn))}\n" for turn in range(Notes.MOST + 30)))
    context.write_text("{}")
    few = turnwire("convert", path, "--to", "csp", "--context", context).err.splitlines()
    all_of_them = turnwire("convert", path, "--to", "csp", "--context", context, "-v").err.splitlines()
    assert len(all_of_them) >= Notes.MOST + 30 and len(few) <= len(all_of_them) - 29
    assert few[: Notes.MOST] == all_of_them[: Notes.MOST]
