"""What the benchmarks measure with, and that benchmarks/README.md says what the kept results say."""

from __future__ import annotations

import csv
import json
from importlib import import_module
from itertools import islice, pairwise
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import turnwire
from turnwire import nslip

FOLDER = Path(__file__).parent.parent / "benchmarks"
pytestmark = [pytest.mark.skipif(not FOLDER.is_dir(), reason="needs the source tree"), pytest.mark.once]
KINDS = ("narrow ids", "wide ids", "varied")


@pytest.fixture
def module(monkeypatch: pytest.MonkeyPatch) -> Any:
    """A module of benchmarks/ by its name."""
    monkeypatch.syspath_prepend(str(FOLDER))
    return import_module


@pytest.fixture
def traffic(module: Any) -> ModuleType:
    return module("traffic")  # type: ignore[no-any-return]


def plain(message: nslip.SlipMessage) -> dict[str, Any]:
    header = ("act", "frame", "conv_id", "src", "dst", "turn")
    return {name: getattr(message, name) for name in header} | {
        slot.name.lower(): value for slot, value in message.slots.items()
    }


@pytest.mark.parametrize("kind", KINDS)
def test_generated_lines_are_canonical_and_hold_their_rows(traffic: ModuleType, kind: str) -> None:
    for row in traffic.rows(kind, 400):
        wire = traffic.wire(row)
        message = nslip.decode(wire)
        assert plain(message) == row
        assert list(plain(message)) == list(row)
        assert nslip.encode(message).encode() == wire


@pytest.mark.parametrize("kind", KINDS)
def test_the_other_forms_hold_the_same_rows(traffic: ModuleType, kind: str) -> None:
    rows = traffic.rows(kind, 400)
    text = b"".join(map(traffic.csv_line, rows)).decode()
    read = list(csv.DictReader(text.splitlines(), fieldnames=traffic.COLUMNS))
    assert read == [{name: str(row.get(name, "")) for name in traffic.COLUMNS} for row in rows]
    assert [json.loads(traffic.json_line(row)) for row in rows] == rows


def test_generated_traffic_is_the_same_every_time(traffic: ModuleType) -> None:
    for kind in KINDS:
        assert traffic.rows(kind, 50) == traffic.rows(kind, 50)
        assert traffic.rows(kind, 50) != list(islice(traffic.GENERATED[kind](seed=1), 50))


@pytest.mark.parametrize(("kind", "least", "most"), [("narrow ids", 1, 3), ("wide ids", 4, 10)])
def test_ids_are_as_wide_as_their_kind_says(traffic: ModuleType, kind: str, least: int, most: int) -> None:
    names = ("conv_id", "goal_id", "task_id", "result_id")
    widths = {len(traffic.base62(row[name])) for row in traffic.rows(kind, 400) for name in names if name in row}
    assert widths == set(range(least, most + 1))


def test_damage_costs_the_damaged_alone(traffic: ModuleType) -> None:
    lines = [traffic.wire(row) for row in traffic.rows("narrow ids", 1000)]
    wounded = list(traffic.damaged(lines))
    hurt = [number for number, (line, other) in enumerate(zip(lines, wounded, strict=True)) if line != other]
    assert len(hurt) == 10
    scan = turnwire.scan(traffic.repeated(wounded, 1), wire="nslip")
    assert sum(len(batch) for batch in scan) == 990
    assert set(scan.rejects["line"].tolist()) == {number + 1 for number in hurt}
    scan.rejects.close()


def test_a_log_holds_all_its_messages(traffic: ModuleType) -> None:
    lines = [traffic.wire(row) for row in traffic.rows("narrow ids", 1000)]
    log = traffic.repeated(traffic.in_a_log(lines), 1)
    scan = turnwire.scan(log, wire="nslip")
    found = [bytes(batch.raw(row)) for batch in scan for row in range(len(batch))]
    assert len(scan.rejects) == 0
    assert list(dict.fromkeys(found)) == list(dict.fromkeys(lines))
    assert len(found) == 1000 + log.count(b" answered by ") > 1000
    scan.rejects.close()


def test_rounds_run_by_turns_after_a_warm_up(module: Any) -> None:
    ran: list[str] = []

    def run(name: str) -> Any:
        def note() -> float:
            ran.append(name)
            return float(len(ran))

        return note

    measure = module("measure")
    samples = measure.by_turns({"a": run("a"), "b": run("b")}, 3)
    assert "".join(ran) == "abbaabba"
    assert samples == {"a": [4.0, 5.0, 8.0], "b": [3.0, 6.0, 7.0]}


def test_a_ratio_is_taken_round_by_round(module: Any) -> None:
    measure = module("measure")
    assert measure.ratio({"one": [2.0, 9.0, 8.0], "two": [1.0, 3.0, 2.0]}, "one", "two") == (3.0, 2.0, 4.0)


def test_a_wrong_result_is_never_timed(module: Any) -> None:
    run = module("measure").once(lambda: 3, expected=4)
    with pytest.raises(AssertionError, match="gave 3 instead of 4"):
        run()


def test_the_page_says_what_the_kept_results_say(module: Any) -> None:
    sections = ("wires", "growth", "messages", "bulk", "files", "files_all_threads", "processes")
    kept = [(name, FOLDER / "results" / f"{name}.json") for name in sections]
    results = {name: json.loads(path.read_text("utf-8")) for name, path in kept if path.exists()}
    assert len(results) >= 6
    assert (FOLDER / "README.md").read_text("utf-8") == module("report").readme(results)


def test_the_page_says_what_was_kept_of_tasks_over_http(module: Any) -> None:
    found = json.loads((FOLDER / "results" / "sap_http.json").read_text("utf-8"))
    assert module("sap_http").table(found) in (FOLDER / "README.md").read_text("utf-8")


def test_tables_are_rectangular(module: Any) -> None:
    table = module("report").markdown(["name", "figure"], [["a", "1.25"], ["long", "7"]]).splitlines()
    assert table[1] == "| ---- | -----: |"
    assert all(len(one) == len(other) for one, other in pairwise(table))


def test_logs_for_counting_instructions_hold_their_wires(module: Any) -> None:
    logs, cases = module("logs").LOGS, module("instructions").CASES
    assert {case.log for case in cases.values()} == set(logs)
    for name, wires in {"mixed": turnwire.WIRES, **{wire: (wire,) for wire in turnwire.WIRES}}.items():
        data = logs[name](200_000)
        scan = turnwire.scan(data)
        found = {wire for batch in scan for wire in batch["wire"].tolist()}
        assert len(data) >= 200_000 and not len(scan.rejects)
        assert {turnwire.WIRES[wire] if isinstance(wire, int) else wire for wire in found} == set(wires)


def test_the_table_of_instructions_gives_ratios(module: Any) -> None:
    lines = module("instructions").table({"a log": 3.0}, {"a log": 2.0}).splitlines()
    assert lines[1].split() == ["a", "log", "3.00", "2.00", "1.500"]


def test_the_gate_shuts_above_the_band(module: Any) -> None:
    gate = module("gate")
    base = {"decode a": 100.0, "scan b": 2.0}
    assert gate.faults({"decode a": 102.9, "scan b": 1.0}, base) == []
    assert gate.faults({"decode a": 103.1, "scan b": 2.0}, base) == [
        "decode a takes +3.1%, more than 3% above the baseline"
    ]
    assert gate.faults({"decode a": 100.0, "scan c": 2.0}, base) == [
        "scan b is not in both tables",
        "scan c is not in both tables",
    ]
    assert "SLOWER" in gate.table({"decode a": 103.1}, base) and "only in the baseline" in gate.table({}, base)


def test_the_gate_judges_where_the_baseline_was_made_alike(module: Any, capsys: pytest.CaptureFixture[str]) -> None:
    gate = module("gate")
    other = gate.differences({"compiler": "GCC 13", "Python": "3.11"}, {"compiler": "GCC 12", "Python": "3.11"})
    assert other == ["compiler: GCC 13 here, GCC 12 for the baseline"]
    assert gate.verdict(["slow"], other, True) == 0
    assert "NOT JUDGED" in capsys.readouterr().out
    assert gate.verdict(["slow"], [], False) == 0
    assert "NOT JUDGED" in capsys.readouterr().out
    assert gate.verdict(["slow"], [], True) == 1
    assert capsys.readouterr().out == "FAILED: slow\n"
    assert gate.verdict([], [], True) == 0


def test_the_baseline_of_the_gate_holds_every_wire(module: Any) -> None:
    gate = module("gate")
    for kept in json.loads(gate.BASELINE.read_text("utf-8")).values():
        assert {f"{what} {wire}" for what in gate.WHAT for wire in turnwire.WIRES} < set(kept["figures"])
        assert {f"scan {case}" for case in module("instructions").CASES} < set(kept["figures"])
        assert "compiler" in kept["made with"] and "Cython" in kept["made with"]
    for wire in turnwire.WIRES:
        assert len([turnwire.decode(text, wire=wire) for text in gate.messages(wire)]) == gate.MESSAGES
