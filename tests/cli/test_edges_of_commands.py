"""What commands count, take and refuse, at the edges: models' tools, conversions, measured messages, extras."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import turnwire as library
from tests.cli.running import BAD_DIGIT, GOOD, turnwire
from turnwire.cli import model_tools
from turnwire.cli.commands import info
from turnwire.tokens import budget

pytestmark = pytest.mark.once


@pytest.mark.parametrize("more", [-1, 0, 1, 30])
def test_so_many_records_and_faults_are_named_to_models(more: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model_tools, "MOST", 5)
    count = 5 + more
    good, bad = "@a3|f0|c1|S0|d1|T1#\n" * count, "@a3|f0|c$|S0|d1|T1#\n" * count
    found = model_tools._scan(good)
    assert (found["records"], len(found["found"])) == (count, min(count, 5))
    judged = model_tools._validate(bad)
    assert (judged["rejects"], len(judged["faults"]), judged["more"]) == (count, min(count, 5), max(more, 0))
    taken = model_tools._extract(good)
    assert (len(taken["messages"]), taken["more"]) == (min(count, 5), max(more, 0))


@pytest.mark.parametrize("name", ["new_id", "nothing", "_names"])
def test_what_no_context_of_a_model_has_is_refused(name: str) -> None:
    """A function cannot be given, and what is unknown is named."""
    with pytest.raises(ValueError, match=f"a context has .*, not {name}$"):
        model_tools._convert(GOOD.decode(), "csp", context={name: "x"})


def test_messages_of_several_lines_are_apart(tmp_path: Path) -> None:
    """As their wire wants it: what is converted is read again as the same messages."""
    task = "CSP/1\nFROM A\nTO B\nCTX C0\nINTENT TASK\n\nTASK T{}\nREQ go\n\n"
    path = tmp_path / "a.log"
    path.write_text("".join(task.format(number) for number in (1, 2, 3)))
    done = turnwire("convert", "--to", "csp", path)
    assert done.out.count(b"\n\nCSP/1\n") == 2
    assert [one.message.block.id for one in library.scan(done.out).messages()] == ["T1", "T2", "T3"]


@pytest.mark.parametrize("form", [[], ["--json"]])
def test_a_record_that_is_refused_makes_the_exit_code_1(form: list[str]) -> None:
    for data, code in ((GOOD, 0), (GOOD + b"\n" + BAD_DIGIT, 1), (BAD_DIGIT, 1)):
        assert turnwire("convert", "--to", "nslip", *form, "-", stdin=data + b"\n").code == code


@pytest.mark.parametrize(
    "word",
    ["2026-01-05", "2026-01-05T09:00:00Z", "1767603600", "9:30", "09:30", "now", "today", "yesterday", "tomorrow"],
)
def test_a_time_behind_now_is_told_to_be_none(word: str) -> None:
    done = turnwire("convert", "--to", "nslip", "--now", word)
    assert (done.code, "--now takes no time" in done.err) == (2, True)


def test_other_words_behind_now_are_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for word in ("nowhere", "12345678", "todays.log", "later"):
        assert turnwire("convert", "--to", "nslip", "--now", word).code == 3
    Path("today").write_bytes(GOOD + b"\n")
    assert turnwire("convert", "--to", "nslip", "--now", "today").code == 0


@pytest.mark.parametrize("lacking", [(), ("rich",), ("rich", "pyarrow"), None])
def test_what_is_missing_is_told_how_to_get(lacking: tuple[str, ...] | None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where any is; None: where all are."""
    monkeypatch.setattr(info, "_version", lambda name: None if lacking is None or name in lacking else "1.0")
    told = info.HINT in turnwire("info").out.decode()
    assert told is (lacking != ())


@pytest.mark.parametrize("given", [["--compare"], ["--advise"], ["--price", "3"], [], ["--compare", "--advise"]])
def test_as_many_messages_are_kept_as_are_to_be_compared(given: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("splintr")
    asked: list[dict[str, Any]] = []
    usual = budget.spend

    def spend(*arguments: Any, **options: Any) -> Any:
        asked.append(options)
        return usual(*arguments, **options)

    monkeypatch.setattr(budget, "spend", spend)
    assert turnwire("tokens", "--sample", "7", *given, "-", stdin=GOOD + b"\n").code == 0
    assert asked[0]["sample"] == (7 if given else 0)
