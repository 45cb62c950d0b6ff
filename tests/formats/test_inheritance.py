"""Records of rollouts inherit by every way to read them; the lines of Codex have calls, results and texts."""

from __future__ import annotations

import gzip
import json
import pickle
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import turnwire
from tests.formats import samples
from turnwire.cli.commands.ledger import ingest
from turnwire.ledger import Ledger
from turnwire.log import group_by, stats
from turnwire.log.cluster_plan import plan, read_block
from turnwire.read.exporting import export
from turnwire.read.turns import Turns
from turnwire.read.usage import usage
from turnwire.report.build import report

CARRIED = ("conversation", "project", "model")
COLUMNS = ["kind", *CARRIED, "tool"]
OLD = [
    {"id": "old-1", "timestamp": "2025-05-07T17:24:21.500Z", "instructions": None},
    {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "go on"}]},
]
EXECUTED = [{"type": "thread.started", "thread_id": 'caf\u00e9 "1"'}, {"type": "turn.started"}]
ROLLOUTS: list[dict[str, Any]] = [*samples.codex(7), *OLD, *samples.codex(3, seed=2), *EXECUTED, *samples.codex(2)[1:]]
"""One input with five sessions, the last of which follows a thread whose model nobody says."""
SESSION = samples.text(ROLLOUTS)
Row = tuple[Any, ...]


def expected() -> list[Row]:
    """The columns of each line, told one after another."""
    found: list[Row] = []
    said, tool = dict[str, Any](), None
    for line in ROLLOUTS:
        payload = line.get("payload", line)
        if line.get("type") in ("session_meta", "thread.started") or "instructions" in line:
            said, tool = {"conversation": payload.get("thread_id") or payload["id"]}, None
        said |= {name: payload[key] for name, key in (("project", "cwd"), ("model", "model")) if key in payload}
        counted = payload.get("type") == "token_count"
        tool = tool or payload.get("name")
        found.append((*map(said.get, CARRIED), tool if counted else payload.get("name")))
        tool = None if counted else tool
    return found


EXPECTED = expected()


def rows(batches: Any) -> list[Row]:
    return [row for batch in batches for row in zip(*(batch[name] for name in COLUMNS[1:]), strict=True)]


def resumed(path: Path, step: int) -> Iterator[Any]:
    """A file that grows by pieces, scanned for columns that differ, each time from where it was read."""
    position: Any = {}
    for end in range(step, len(SESSION) + step, step):
        path.write_bytes(SESSION[:end])
        found = turnwire.scan(path, wire="codex", columns=COLUMNS, resume=position)
        yield from found
        position = json.loads(json.dumps(found.position))
        few = turnwire.scan(path, wire="codex", columns=["line"], where={"kind": "user"}, resume=position)
        few.read()
        assert few.counts.records == 0
        position = json.loads(json.dumps(few.position))


def continued(path: Path) -> Iterator[Any]:
    """A file whose last line was read before it had its end, and continues after it: for every line."""
    lines = SESSION.splitlines(keepends=True)
    for number in (1, 2, 5, 9, 40, 52):
        head = b"".join(lines[:number])[:-1]
        path.write_bytes(head)
        before = turnwire.scan(path, wire="codex", columns=COLUMNS)
        got = rows(before)
        position = json.loads(json.dumps(before.position))
        path.write_bytes(SESSION)
        got += rows(turnwire.scan(path, wire="codex", columns=COLUMNS, resume=position))
        assert got == EXPECTED, number
    yield from turnwire.scan(path, wire="codex", columns=COLUMNS)


def planned(path: Path) -> Iterator[Any]:
    path.write_bytes(SESSION)
    blocks = plan(path, wire="codex", columns=COLUMNS, block_bytes=3000)
    assert len(blocks) > 3
    said = [pickle.loads(pickle.dumps(block)) for block in blocks]
    read = {block.start: list(read_block(block)) for block in reversed(said)}
    for block in said:
        yield from read[block.start]


def compressed(path: Path) -> Any:
    path.write_bytes(gzip.compress(SESSION))
    return turnwire.scan(path, wire="codex", columns=COLUMNS, batch_bytes=900)


def scanned(_: Path, **options: Any) -> Any:
    return turnwire.scan(SESSION, **{"wire": "codex", "columns": COLUMNS, **options})


WAYS: dict[str, Any] = {
    "whole": scanned,
    "formats": lambda path: scanned(path, wire="formats"),
    "every column": lambda path: scanned(path, columns=None),
    "pieces": lambda path: scanned(path, batch_bytes=600),
    "threads": lambda path: scanned(path, batch_bytes=600, threads=3),
    "resumed": lambda path: resumed(path, 1777),
    "continued": continued,
    "compressed": compressed,
    "planned": planned,
}


@pytest.mark.parametrize("way", WAYS)
def test_a_record_inherits_however_it_is_read(way: str, tmp_path: Path, scan_core: str) -> None:
    assert rows(WAYS[way](tmp_path / "a.jsonl")) == EXPECTED


@pytest.mark.parametrize("place", range(4))
def test_conditions_are_of_what_is_inherited(place: int, scan_core: str) -> None:
    ways: list[dict[str, Any]] = [{}, {"batch_bytes": 600}, {"batch_bytes": 600, "threads": 3}]
    for options, value in zip(ways[place % 3 :] + ways * 9, {row[place]: 0 for row in EXPECTED}, strict=False):
        found = turnwire.scan(SESSION, wire="codex", where={COLUMNS[1 + place]: {value}}, columns=COLUMNS, **options)
        assert rows(found) == [row for row in EXPECTED if row[place] == value]
        assert found.counts.selected == sum(row[place] == value for row in EXPECTED)


def test_every_entry_reads_them(tmp_path: Path, scan_core: str) -> None:
    """Arrow, sums, statistics, the report, a ledger, turns."""
    pyarrow = pytest.importorskip("pyarrow")
    path = tmp_path / "a.jsonl"
    path.write_bytes(SESSION)
    table = pyarrow.table(turnwire.scan(path, wire="codex", columns=COLUMNS, batch_bytes=600))
    assert list(zip(*(table[name].to_pylist() for name in COLUMNS[1:]), strict=True)) == EXPECTED
    for place, by in ((0, "conversation"), (2, "model")):
        found = group_by(path, by, wire="codex").rows()
        assert {row[by]: row["records"] for row in found} == Counter(row[place] for row in EXPECTED)
    sessions = Counter(row[0] for row in EXPECTED)
    found = (row for row in stats(path, wire="codex").rows() if row["stat"] == "conversation")
    assert {row["conversation"]: row["records"] for row in found} == sessions
    data = report(path, wire="codex", tokenizer=None).data
    assert {name: count for _, name, count in data["conversations"]} == sessions
    with Ledger(tmp_path / "kept.db") as ledger:
        ingest(ledger, path, batch_bytes=600)
        assert {one: len([*ledger.find("codex", one)]) for one in sessions} == sessions
    assert {turn.columns["conversation"] for turn in Turns(path)} == {*sessions}
    assert [turn.text() for turn in Turns(path, conversation="old-1")] == ["", "go on"]


def test_the_samples_of_an_evaluation_have_its_id(scan_core: str) -> None:
    log = {"version": 2, "eval": {"run_id": "r1", "task": "t", "task_id": "i", "task_version": 0, "model": "m"}}
    sample = {"id": 1, "epoch": 1, "input": "q", "target": "a", "messages": []}
    found = turnwire.scan(
        samples.text([{**log, "samples": [sample, sample]}]), wire="inspect", columns=["conversation"]
    )
    assert [one for batch in found for one in batch["conversation"]] == ["r1"] * 3


def thread(*items: dict[str, Any]) -> list[dict[str, Any]]:
    """The lines that ``codex exec --json`` writes of one turn."""
    usage_of = {"input_tokens": 90, "cached_input_tokens": 40, "output_tokens": 12}
    return [*EXECUTED, *items, {"type": "turn.completed", "usage": usage_of}]


RUN = {"id": "item_1", "type": "command_execution", "command": "bash -lc 'make'", "aggregated_output": "no rule\n"}
ASK = {"id": "item_2", "type": "mcp_tool_call", "server": "docs", "tool": "search", "arguments": {"q": "x"}}
HIT = {"content": [{"type": "text", "text": "found"}], "structured_content": None}
CHANGED = {"path": "a"}
THREAD = thread(
    {"type": "item.completed", "item": {"id": "item_0", "type": "reasoning", "text": "I run it"}},
    {"type": "item.started", "item": {**RUN, "aggregated_output": "", "exit_code": None, "status": "in_progress"}},
    {"type": "item.completed", "item": {**RUN, "exit_code": 2, "status": "failed"}},
    {"type": "item.started", "item": {**ASK, "result": None, "error": None, "status": "in_progress"}},
    {"type": "item.completed", "item": {**ASK, "result": HIT, "error": None, "status": "completed"}},
    {
        "type": "item.completed",
        "item": {"id": "item_3", "type": "file_change", "changes": [CHANGED], "status": "failed"},
    },
    {"type": "item.completed", "item": {"id": "item_4", "type": "agent_message", "text": "It has no rule"}},
)


@pytest.mark.once
def test_a_thread_is_read() -> None:
    """With its calls, their results and failures, its texts and tokens."""
    data = samples.text(THREAD)
    again = samples.text({**line, "thread_id": "2"} if "thread_id" in line else line for line in THREAD)
    for log, times in ((data, 1), (data + again, 2)):
        found = [row for row in stats(log, wire="codex").rows() if row["stat"] in ("tool", "answers")]
        tools = {row["tool"]: (row["calls"], row["answered"], row["failed"]) for row in found if "tool" in row}
        assert tools == {"command_execution": (times,) * 3, "file_change": (times,) * 3, "search": (times, times, 0)}
        assert [row["answered"] for row in found if "rule" in row] == [2 * times]
    for by, value in (("tool", "command_execution"), ("session", 'caf\u00e9 "1"')):
        [row] = usage(data, by).rows
        assert (row[by], row["input_tokens"], row["cache_read_tokens"], row["output_tokens"]) == (value, 50, 40, 12)
    told = [(turn.role, part.kind, part.text, part.failed) for turn in Turns(data) for part in turn.parts]
    assert told == [
        ("assistant", "reasoning", "I run it", False),
        ("assistant", "call", "", False),
        ("tool", "result", "no rule\n", True),
        ("assistant", "call", "", False),
        ("tool", "result", "found", False),
        ("assistant", "call", "", False),
        ("tool", "result", "", True),
        ("assistant", "text", "It has no rule", False),
    ]
    said = [json.loads(one.text) for one in export(data, "openai") if one.text is not None]
    calls = [call["function"] for one in said for call in one.get("tool_calls", ())]
    assert calls == [
        {"name": "command_execution", "arguments": "bash -lc 'make'"},
        {"name": "search", "arguments": '{"q":"x"}'},
        {"name": "file_change", "arguments": '[{"path":"a"}]'},
    ]
    asked = [call["id"] for one in said for call in one.get("tool_calls", ())]
    assert asked == [one["tool_call_id"] for one in said if one["role"] == "tool"]  # none of them an orphan
    twice = [json.loads(one.text or "{}") for one in export(data + samples.text(THREAD[1:]), "openai")]
    assert [one["tool_call_id"] for one in twice if one.get("role") == "tool"] == 2 * asked  # ids begin anew in a run


def item(kind: str, **payload: Any) -> dict[str, Any]:
    return {"timestamp": "2026-05-20T10:00:00Z", "type": kind, "payload": payload}


def message(role: str, *texts: str) -> dict[str, Any]:
    return item("response_item", type="message", role=role, content=[{"type": "text", "text": text} for text in texts])


def event(name: str, text: str) -> dict[str, Any]:
    return item("event_msg", type=name, **{"text" if name == "agent_reasoning" else "message": text})


def thought(*texts: str) -> dict[str, Any]:
    return item("response_item", type="reasoning", summary=[{"type": "summary_text", "text": text} for text in texts])


@pytest.mark.once
@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ([message("user", "go on"), event("user_message", "go on")], ["go on"]),
        ([event("agent_message", "done"), message("assistant", "done")], ["done"]),
        ([event("agent_message", "done"), message("user", "done")], ["done", "done"]),
        ([message("user", "a"), event("user_message", "a"), message("user", "a")], ["a", "a"]),
        ([event("agent_reasoning", "a"), event("agent_reasoning", "a"), thought("a", "a")], ["a", "a"]),
        ([message("user", "context"), message("user", "go"), event("user_message", "go")], ["context", "go"]),
        ([event("user_message", "go"), event("agent_message", "go")], ["go", "go"]),
        ([message("user", "go", "on"), event("user_message", "on")], ["go", "on"]),
    ],
)
def test_what_is_said_twice_is_shown_once(lines: list[dict[str, Any]], said: list[str]) -> None:
    lines = [{**line, "timestamp": f"2026-05-20T10:00:{place:02}Z"} for place, line in enumerate(lines)]
    assert [part.text for turn in Turns(samples.text(lines)) for part in turn.parts] == said
    assert sum(map(len, turnwire.scan(samples.text(lines), wire="codex"))) == len(lines)


FAILURES: tuple[tuple[Any, bool | None], ...] = (
    ({"output": '{"output":"","metadata":{"exit_code":1,"duration_seconds":0.1}}'}, True),
    ({"output": json.dumps({"metadata": {"exit_code": 0}, "output": '"exit_code":1'}, indent=1)}, False),
    ({"output": '{"output":"{\\"metadata\\":{\\"exit_code\\":1}}"}'}, None),
    ({"output": '{"exit_code":'}, None),
    ({"output": "Exit code: 127\nWall time: 0 seconds\nOutput:\nno"}, True),
    ({"output": "Exit code: 0\nOutput:\nExit code: 1\n"}, False),
    ({"output": "Chunk ID: 9\nWall time: 0.1 seconds\nProcess exited with code -9\nOutput:\n"}, True),
    ({"output": "the Exit code: 1\n"}, None),
    ({"output": "ok"}, None),
)


@pytest.mark.parametrize(("payload", "failed"), FAILURES)
def test_a_call_fails_by_its_exit_code(payload: dict[str, Any], failed: bool | None, scan_core: str) -> None:
    """Also where it is counted, shown and exported."""
    call = item("response_item", type="function_call", name="shell", arguments="{}", call_id="c1")
    answer = item("response_item", type="function_call_output", call_id="c1", **payload)
    data = samples.text([call, answer])
    [batch] = turnwire.scan(data, wire="codex", columns=["failed"], where={"kind": {"tool_result"}})
    assert (bool(batch["failed"][0]) if batch.valid("failed")[0] else None) is failed
    assert len([*turnwire.scan(data, wire="codex", where={"failed": True})]) == (failed is True)
    [row] = [row for row in stats(data, wire="codex").rows() if row["stat"] == "tool"]
    assert (row["answered"], row["failed"]) == (1, int(failed is True))
    assert [part.failed for turn in Turns(data) for part in turn.parts] == [False, failed is True]


@pytest.mark.parametrize("step", [1, 3])
@pytest.mark.parametrize("way", [way for way in WAYS if way != "continued"])
def test_a_running_total_is_what_it_grew_by(
    way: str, step: int, tmp_path: Path, monkeypatch: Any, scan_core: str
) -> None:
    """Behind totals, alone or beside the tokens of a response, that begin anew, and counts that are written twice."""
    lines, expected = [dict[str, Any](line) for line in ROLLOUTS], list[Any]()
    for line in lines:
        payload = line.get("payload", {})
        if payload.get("type") == "token_count":
            last, total = (payload["info"][f"{of}_token_usage"] for of in ("last", "total"))
            if len(expected) % step == 0:
                line["payload"] = {"type": "token_count", "info": {"total_token_usage": total}}
            expected.append((last["input_tokens"], last["output_tokens"], last["total_tokens"], total["total_tokens"]))
    assert len(expected) > 10
    monkeypatch.setitem(globals(), "SESSION", samples.text(lines))
    monkeypatch.setitem(globals(), "COLUMNS", ["kind", "input_tokens", "output_tokens", "total_tokens", "sequence"])
    found = [row for row in rows(WAYS[way](tmp_path / "a.jsonl")) if row[3]]
    assert found == expected


def count(total: tuple[int, ...] | None, last: tuple[int, ...] | None = None) -> dict[str, Any]:
    """A count of input, output and maybe all tokens."""
    names = ("input_tokens", "output_tokens", "total_tokens")
    told = {"total_token_usage": total, "last_token_usage": last}
    info = {name: dict(zip(names, one, strict=False)) for name, one in told.items() if one}
    return item("event_msg", type="token_count", info=info)


def started(*turns: tuple[str, int, int]) -> list[dict[str, Any]]:
    """The lines of `codex exec --json` of some turns, each with its thread and the tokens of this so far."""
    return [
        line
        for thread_id, read, written in turns
        for line in (
            {"type": "thread.started", "thread_id": thread_id},
            {"type": "turn.completed", "usage": {"input_tokens": read, "output_tokens": written}},
        )
    ]


FIRST, SECOND = (10, 1, 11), (20, 2, 22)
RESUMED = started(("a", 16_000, 504), ("a", 85_000, 681), ("a", 103_000, 779))
COUNTED: tuple[tuple[list[dict[str, Any]], tuple[int, int]], ...] = (
    ([count(FIRST, FIRST), count(SECOND), count((30, 3, 33))], (30, 3)),
    ([count((25, 5, 30)), *[count((38, 7, 45), (13, 2, 15))] * 2, count((38, 7, 45)), count((50, 10, 60))], (50, 10)),
    ([count((50, 5, 55), (50, 5, 55)), count(FIRST, FIRST), count(SECOND, FIRST), count((99, 9, 108))], (149, 14)),
    ([count(FIRST), count(SECOND, SECOND)], (30, 3)),
    ([count(None, FIRST)] * 2, (20, 2)),
    ([count(None, FIRST[:2])] * 2, (20, 2)),
    ([count(FIRST[:2]), count(SECOND[:2])], (20, 2)),
    ([*[count(FIRST[:2], FIRST[:2])] * 2, count(SECOND[:2]), count((30, 3))], (30, 3)),
    (RESUMED, (103_000, 779)),
    (RESUMED * 2, (103_000, 779)),
    (started(("a", 16, 5), ("b", 85, 6), ("b", 90, 7)), (106, 12)),
    (started(("a", 16, 5), ("b", 85, 6), ("a", 30, 9), ("a", 30, 9), ("b", 90, 7), ("a", 31, 9)), (121, 16)),
)


@pytest.mark.parametrize(("lines", "tokens"), COUNTED)
@pytest.mark.parametrize("batch_bytes", [1, 150, 400, 1 << 20])
def test_each_total_is_the_one_before_the_next(
    lines: list[dict[str, Any]], tokens: tuple[int, int], batch_bytes: int, scan_core: str
) -> None:
    """Alone or beside the tokens of a response, and without the sum of its columns."""
    total = usage(samples.text([item("session_meta", id="s1"), *lines]), batch_bytes=batch_bytes).total
    assert (total["input_tokens"], total["output_tokens"]) == tokens


@pytest.mark.once
@pytest.mark.parametrize(("lines", "tokens"), [*COUNTED[:1], *COUNTED[3:]])
def test_runs_of_a_thread_in_several_files(
    lines: list[dict[str, Any]], tokens: tuple[int, int], tmp_path: Path
) -> None:
    """Their totals are those of the lines in one file, wherever the second one begins, which may repeat the first; a
    scan counts each file by itself, as parts of a plan do."""
    executed = "thread_id" in lines[0]
    head = [] if executed else [item("session_meta", id="s1")]
    known = all("total_token_usage" in line["payload"]["info"] for line in lines if not executed)
    for split in range(1 + executed, len(lines), 1 + executed):
        for again in (split, 0) if known else (split,):
            for name, part in (("a", lines[:split]), ("b", lines[again:])):
                (tmp_path / f"{name}.jsonl").write_bytes(samples.text([*head, *part]))
            total = usage(str(tmp_path)).total
            assert (total["input_tokens"], total["output_tokens"]) == tokens, (split, again)
            whole, *alone = (
                [
                    batch[name].tolist()
                    for batch in turnwire.scan(str(path), wire="codex")
                    for name in ("kind", "sequence", "total_tokens")
                ]
                for path in (tmp_path, tmp_path / "a.jsonl", tmp_path / "b.jsonl")
            )
            assert whole == [*alone[0], *alone[1]]


@pytest.mark.once
@pytest.mark.parametrize("last", [True, False])
@pytest.mark.parametrize("batch_bytes", [400, 1 << 20])
def test_a_fork_has_the_responses_behind_its_history(last: bool, batch_bytes: int, tmp_path: Path) -> None:
    """And those of its history where the rollout of its parent is not there: each is of the one that begins first."""
    files, history, heads, total = dict[str, list[Any]](), list[Any](), list[Any](), 0
    for number, name in enumerate(("first", "fork", "forks-fork")):
        parent = {} if not heads else {"forked_from_id": heads[0]["payload"]["id"]}
        heads = [item("session_meta", id=name, cwd=f"/{name}", **parent), *heads]
        own = []
        for _ in range(number + 1):
            total += 10
            said = {"input_tokens": total - 1, "output_tokens": 1, "total_tokens": total}
            added = {"last_token_usage": {"input_tokens": 9, "output_tokens": 1}} if last else {}
            own.append(item("event_msg", type="token_count", info={"total_token_usage": said, **added}))
        history = [*history, *own]
        files[name] = [{**line, "timestamp": f"2025-09-0{number + 1}T00:00:00Z"} for line in (*heads, *history)]
    for names in (("first", "fork", "forks-fork"), ("fork", "forks-fork"), ("forks-fork",)):
        for name in files:
            (tmp_path / f"{name}.jsonl").write_bytes(samples.text(files[name] if name in names else []))
        expected = {name: {"first": 1, "fork": 2, "forks-fork": 3}[name] for name in names}
        expected[names[0]] = 6 - sum(expected[name] for name in names[1:])
        for by, found in (("session", expected), ("project", {f"/{name}": many for name, many in expected.items()})):
            made = usage(str(tmp_path), by, batch_bytes=batch_bytes)
            assert {row[by]: row["responses"] for row in made.rows} == found
            assert sum(made.total[name] for name in ("input_tokens", "output_tokens")) == 60


def test_no_column_has_a_running_total_of_tokens(scan_core: str) -> None:
    [batch] = turnwire.scan(samples.text(samples.codex(5)), wire="codex", where={"kind": "usage"})
    assert (batch["total_tokens"] == batch["input_tokens"] + batch["output_tokens"]).all()
