"""Tokens and cost: each response once, whatever was said again, and the same as counted without turnwire."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.running import turnwire
from tests.formats import samples
from turnwire import UnknownName
from turnwire.log import stats
from turnwire.read.usage import BY, Usage, usage

SESSIONS = [samples.claude_code(seed=seed) for seed in (1, 2)]
TOTALS = samples.claude_totals(line for lines in SESSIONS for line in lines)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two sessions, and one of them again, as it is where a session was resumed."""
    for name, lines in {"a": SESSIONS[0], "b": SESSIONS[1], "c": SESSIONS[0]}.items():
        (tmp_path / f"{name}.jsonl").write_bytes(samples.text(lines))
    return tmp_path


def totals(found: Usage) -> dict[str, list[int]]:
    names = ("responses", "input_tokens", "output_tokens", "cache_write_tokens", "cache_read_tokens")
    return {row["model"]: [row[name] for name in names] for row in found.rows}


def test_each_response_counts_once(folder: Path, scan_core: str) -> None:
    found = usage(str(folder))
    assert totals(found) == TOTALS
    assert found.copies == 9 * 30 - 2 * 30 and found.counts.rejects == 0
    assert found.total["responses"] == 60 and not found.unpriced


@pytest.mark.parametrize("by", BY)
def test_the_sums_do_not_depend_on_what_they_are_added_up_by(by: str, folder: Path) -> None:
    found, other = usage(str(folder), by), usage(str(folder), "model")
    for name in ("responses", "tokens", "output_tokens"):
        assert sum(row[name] for row in found.rows) == other.total[name] == found.total[name]
    assert sum(row["cost"] for row in found.rows) == pytest.approx(other.total["cost"])
    values = {row[by] for row in found.rows}
    expected: dict[str, Any] = {
        "session": {"s1", "s2"},
        "project": {"/home/ada/p0", "/home/ada/p1", "/home/ada/p2"},
        "model": set(samples.MODELS),
        "tool": {"Bash", "Read"},
        "day": {"2025-09-01", "2025-09-02"},
        "wire": {"claude_code"},
    }
    assert values == expected[by]


def test_prices_are_those_of_the_table(folder: Path) -> None:
    price = {"input": 2, "output": 10, "cache_read": 0.5, "cache_write": 3.0}
    found = usage(str(folder), prices={samples.MODELS[0]: price})
    _, fresh, out, written, read = TOTALS[samples.MODELS[0]]
    assert found.total["cost"] == pytest.approx((2 * fresh + 10 * out + 3 * written + 0.5 * read) / 1e6)
    assert found.unpriced == {samples.MODELS[1]: sum(TOTALS[samples.MODELS[1]][1:])}
    with pytest.raises(ValueError, match="dollars"):
        usage(str(folder), prices={"m": {"input": 2}})
    with pytest.raises(UnknownName):
        usage(str(folder), "hour")


def test_a_cost_in_the_file_goes_before() -> None:
    line = {**SESSIONS[0][4], "costUSD": 0.25}
    assert usage(samples.text([line])).total["cost"] == 0.25


def test_a_side_conversation_repeats_its_parent() -> None:
    """By another request; two requests of the conversation itself are two."""
    line = {**SESSIONS[0][4], "isSidechain": False}
    assert usage(samples.text([line, {**line, "requestId": "other", "isSidechain": True}])).total["responses"] == 1
    assert usage(samples.text([line, {**line, "requestId": "other"}])).total["responses"] == 2


def test_rollouts_carry_model_and_session(tmp_path: Path, scan_core: str) -> None:
    for seed in (1, 2):
        (tmp_path / f"rollout-{seed}.jsonl").write_bytes(samples.text(samples.codex(seed=seed)))
    lines = [line for seed in (1, 2) for line in samples.codex(seed=seed)]
    said = {json.dumps(line["payload"]["info"]): line for line in lines if line["payload"].get("info")}
    last = [line["payload"]["info"]["last_token_usage"] for line in said.values()]
    found = usage(str(tmp_path), "session", batch_bytes=2000)
    assert {row["session"]: row["responses"] for row in found.rows} == {"0199-1": 12, "0199-2": 12}
    assert found.total["output_tokens"] == sum(one["output_tokens"] for one in last)
    assert found.total["cache_read_tokens"] == sum(one["cached_input_tokens"] for one in last)
    assert found.total["input_tokens"] == sum(one["input_tokens"] - one["cached_input_tokens"] for one in last)
    assert {row["model"]: row["responses"] for row in usage(str(tmp_path)).rows} == {"gpt-5-codex": 12, "gpt-5": 12}
    assert {row["project"] for row in usage(str(tmp_path), "project").rows} == {"/home/ada/q1", "/home/ada/q2"}


@pytest.mark.once
def test_the_command(folder: Path) -> None:
    done = turnwire("usage", folder, "--by", "model", "--json")
    assert done.code == 0 and done.records == usage(str(folder)).rows
    table = turnwire("usage", folder, "--csv", "--by", "session")
    found = list(csv.DictReader(io.StringIO(table.out.decode())))
    assert [row["session"] for row in found][-1] == "total" and int(found[-1]["responses"]) == 60
    prices = folder / "prices.toml"
    prices.write_text('["claude-sonnet-4-5"]\ninput = 1\noutput = 1\n')
    shown = turnwire("usage", folder / "a.jsonl", "--prices", prices)
    assert shown.code == 0 and samples.MODELS[1] in shown.err
    (folder / "a.jsonl").write_bytes(samples.text(SESSIONS[0])[:-30])
    assert turnwire("usage", folder).code == 1
    (folder / "none.txt").write_text("nothing here\n")
    assert turnwire("usage", folder / "none.txt").code == 4


def test_results_answer_their_calls(folder: Path) -> None:
    found = stats(str(folder / "a.jsonl"), wire="formats").pairings
    assert {key: (one.requests, one.answered, one.orphans) for key, one in found.items() if one.requests} == {
        ("claude_code", "call"): (30, 30, 0)
    }
    rollout = samples.text(samples.codex())
    assert {key: one.answered for key, one in stats(rollout, wire="codex").pairings.items() if one.requests} == {
        ("codex", "call"): 12
    }


def test_tools_are_told_with_their_failures_and_spans_with_their_trees() -> None:
    """A record may make several calls, and answer several; written again they count once."""
    shared = {"parentUuid": None, "sessionId": "s", "timestamp": "2025-09-01T10:00:00Z", "isSidechain": False}
    calls = [
        {"type": "tool_use", "id": f"t{at}", "name": name, "input": {}} for at, name in enumerate(("Bash", "Read"))
    ]
    results = [{"type": "tool_result", "tool_use_id": f"t{at}", "content": "", "is_error": not at} for at in range(2)]
    lines = [
        {**shared, "type": role, "uuid": role, "message": {"id": "m", "model": "x", "role": role, "content": content}}
        for role, content in (("assistant", calls), ("user", results))
    ]
    found = stats(samples.text(lines * 2), wire="claude_code")
    pairing = found.pairings["claude_code", "call"]
    assert (pairing.requests, pairing.answered, pairing.orphans) == (4, 4, 0)
    assert list(found.calls.rows(9)) == [
        {"stat": "tool", "wire": "claude_code", "tool": "Bash", "calls": 1, "answered": 1, "failed": 1},
        {"stat": "tool", "wire": "claude_code", "tool": "Read", "calls": 1, "answered": 1, "failed": 0},
    ]
    tool = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "find", "error.type": "timeout"}
    attributes = [{"key": name, "value": {"stringValue": value}} for name, value in tool.items()]
    span = {"traceId": "a", "startTimeUnixNano": "1700000000000000000", "endTimeUnixNano": "1700000000000000001"}
    parents = {"3": "2", "2": "1", "1": "", "5": "9", "6": "7", "7": "6"}  # the last two are a circle
    log = [{**span, "spanId": one, "parentSpanId": parent, "name": "n"} for one, parent in parents.items()]
    log[0]["attributes"] = attributes
    assert list(stats(samples.text(log), wire="otlp").calls.rows(9)) == [
        {"stat": "tool", "wire": "otlp", "tool": "find", "calls": 1, "answered": 0, "failed": 1},
        {"stat": "tree", "wire": "otlp", "spans": 6, "roots": 1, "orphans": 1, "deepest": 3},
    ]


@pytest.mark.once
def test_a_session_is_shown(folder: Path) -> None:
    """Each record once, also where a session was resumed; calls with what they were made with."""
    done = turnwire("show", folder / "a.jsonl", folder / "c.jsonl", "--json")
    assert done.code == 0 and len(done.records) == len(SESSIONS[0])
    [call] = [turn for turn in done.records if turn.get("call_id") == "toolu_1_0" and turn["kind"] == "tool_call"]
    assert [(part["name"], part["arguments"]) for part in call["parts"]] == [("Bash", {"command": "ls -la"})]
    shown = turnwire("show", folder, "--conversation", "s2")
    assert shown.code == 0 and shown.out.count(b"tool_call Bash") == 15 and b"ls -la" in shown.out
    assert turnwire("show", folder / "a.jsonl", "--conversation", "s2").out == b""
    (folder / "d.jsonl").write_bytes(samples.text(SESSIONS[0])[:-30])
    assert turnwire("show", folder / "d.jsonl").code == 1


@pytest.mark.once
def test_tools_of_servers_are_counted(tmp_path: Path) -> None:
    """Those of a log of MCP and those of a list, the dearest first; a description that is repeated counts once."""
    tools = [
        {"name": name, "description": "x " * size, "inputSchema": {"type": "object", "properties": {}}}
        for name, size in (("small", 1), ("large", 90))
    ]
    answer = {"jsonrpc": "2.0", "id": 1, "result": {"tools": tools}}
    (tmp_path / "log.jsonl").write_bytes(samples.text([answer, {"jsonrpc": "2.0", "id": 2, "method": "ping"}, answer]))
    (tmp_path / "tools.json").write_text(json.dumps(tools))
    for name in ("log.jsonl", "tools.json"):
        done = turnwire("tokens", "--mcp-schema", tmp_path / name, "--json")
        assert done.code == 0 and [row["tool"] for row in done.records] == ["large", "small"]
        assert done.records[0]["tokens"] > done.records[0]["schema"] == done.records[1]["schema"] > 0
    assert turnwire("tokens", "--mcp-schema", tmp_path / "log.jsonl", "--max", "20").code == 1
    (tmp_path / "none.json").write_text("[1, 2]")
    assert turnwire("tokens", "--mcp-schema", tmp_path / "none.json").code == 4


@pytest.mark.once
@pytest.mark.parametrize("command", ["stats", "report"])
def test_sessions_need_no_option(folder: Path, command: str) -> None:
    """Where nothing of the wires is there, what the files look like is read."""
    page = folder.parent / "page.html"
    done = turnwire(command, folder, *(("-o", page) if command == "report" else ("--json",)))
    assert done.code == 0 and "claude_code" in done.err
    found = page.read_bytes() if command == "report" else done.out
    assert b"claude_code" in found and b"tool_call" in found
    (folder / "e.log").write_bytes(b"@a3|f0|c1|S0|d1|T1#\n")
    mixed = turnwire("stats", folder, "--json").records
    assert [row["wire"] for row in mixed if row["stat"] == "wire" and row["records"]] == ["nslip"]
