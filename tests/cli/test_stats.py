"""``turnwire stats``: the same as the library says, safe for terminals."""

from __future__ import annotations

import json
from pathlib import Path

from tests.cli.running import GOOD, REAL, turnwire
from turnwire import slip
from turnwire.log import stats


def test_json_lines_are_the_rows_of_the_library() -> None:
    done = turnwire("stats", REAL, "--json", "--top", "3")
    assert done.code == 0
    assert done.records == [json.loads(json.dumps(row)) for row in stats(str(REAL), wire="nslip").rows(3)]


def test_tables_for_people(log: Path) -> None:
    done = turnwire("stats", log, "--top", "1")
    assert done.code == 1, "two records are damaged"
    text = done.out.decode()
    assert "rejects            2" in text
    for title in ("wires", "kinds", "senders", "receivers", "damaged, by reason", "busiest conversations", "answers"):
        assert f"\n{title}\n" in text
    (others,) = {line.split()[0] for line in text.splitlines() if line.startswith("(")}
    assert others == "(others)"


def test_only_what_is_wanted_counts() -> None:
    rows = turnwire("stats", "--wire", "nslip", REAL, "--json", "--where", "act=INFORM").records
    assert [row["records"] for row in rows if row["stat"] == "wire"] == [4356], "what there is"
    kinds = [(row["kind"], row["records"]) for row in rows if row["stat"] == "kind"]
    assert kinds == [("INFORM", 1089)], "what was looked at"


def test_nothing_that_strangers_wrote_steers_a_terminal(tmp_path: Path) -> None:
    message = slip.SlipMessage(1, 2, 3, 4, slip.Act.ASK, slip.FrameType.TASK, {slip.Slot.TAG: "\x1b[2Jevil\u202e"})
    (tmp_path / "log\x1b[2J").write_text(slip.encode(message))
    for form in ((), ("--json",)):
        done = turnwire("stats", tmp_path, *form)
        assert done.code == 0
        assert b"\x1b" not in done.out and "\u202e".encode() not in done.out


def test_an_empty_log_and_wrong_usage(tmp_path: Path) -> None:
    (tmp_path / "none").write_bytes(b"")
    done = turnwire("stats", tmp_path / "none")
    assert (done.code, done.out.split()[:2]) == (0, [b"records", b"0"])
    assert turnwire("stats").code == 2
    assert turnwire("stats", tmp_path / "missing").code == 3
    assert turnwire("stats", "-", stdin=GOOD).code == 0
