"""Tool calls and their results, several in a record: as counted without turnwire, from what was written."""

from __future__ import annotations

import gc
import json
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import zip_longest
from random import Random
from typing import Any

import pytest

from tests.cli.running import turnwire
from tests.conftest import put, rounds
from tests.formats import samples
from turnwire import registry
from turnwire.log import group_by, scan, stats
from turnwire.read.grouping import Stats
from turnwire.read.usage import usage

Event = tuple[bool, str, str | None, bool]
"""If it is a result, the id of the call, its tool, and if it failed."""
TOOLS = ("Bash", "Read", 'caf\u00e9 "1"')
SHARED = {"sessionId": "s", "isSidechain": False}


def moment(second: int) -> str:
    return f"2025-09-01T10:{second // 60:02}:{second % 60:02}Z"


def claude_code(second: int, events: list[Event], made: Random) -> dict[str, Any]:
    """A line with some calls or results, among other blocks."""
    blocks: list[Any] = [
        {"type": "tool_result", "tool_use_id": of, "content": [{"type": "text", "text": "x"}], "is_error": failed}
        if result
        else {"type": "tool_use", "id": of, "name": tool, "input": {"id": "no", "name": "no", "type": "tool_use"}}
        for result, of, tool, failed in events
    ]
    for place in range(made.randrange(3)):
        blocks.insert(made.randrange(len(blocks) + 1), {"type": "text", "text": f'{place} {{"type":"tool_use"}}'})
    role = "user" if any(event[0] for event in events) else "assistant"
    message = {"id": f"m{second}", "role": role, "model": "m", "content": blocks}
    return {**SHARED, "type": role, "uuid": f"u{second}", "timestamp": moment(second), "message": message}


def batch_result(second: int, events: list[Event], made: Random) -> dict[str, Any]:
    """A result of a batch of Anthropic's API, in which servers may have answered."""
    message = claude_code(second, events, made)["message"] | {"type": "message", "role": "assistant"}
    return {"custom_id": f"c{second}", "result": {"type": "succeeded", "message": message}}


def sample(second: int, events: list[Event], made: Random) -> dict[str, Any]:
    """A sample of inspect, each call and result in a message of its own."""
    said: list[dict[str, Any]] = [
        {"role": "tool", "tool_call_id": of, "content": "x", "error": {"type": "timeout"} if failed else None}
        if result
        else {"role": "assistant", "content": "", "tool_calls": [{"id": of, "function": tool, "arguments": {}}]}
        for result, of, tool, failed in events
    ]
    return {
        "id": second,
        "epoch": 1,
        "input": "q",
        "target": "a",
        "messages": [{"role": "user", "content": "q"}, *said],
    }


FORMS: dict[str, Callable[[int, list[Event], Random], dict[str, Any]]] = {
    "claude_code": claude_code,
    "anthropic": batch_result,
    "inspect": sample,
}


def logged(form: str, made: Random) -> Iterator[list[Event]]:
    """The calls and results of records: results follow their calls, in these forms also in the same record."""
    waiting: list[tuple[str, str]] = []
    for record in range(made.randrange(2, 12)):
        events: list[Event] = []
        for number in range(made.randrange(1, 5)):
            results = form != "claude_code" or record % 2
            if waiting and results and made.random() < 0.6:
                of, _ = waiting.pop(made.randrange(len(waiting)))
                events.append((True, of, None, made.random() < 0.3))
            elif form != "claude_code" or not results:
                waiting.append((f"{record}-{number}", made.choice(TOOLS)))
                events.append((False, *waiting[-1], False))
        if events:
            yield events


def counted(found: Stats) -> dict[str, list[int]]:
    rows = [row for row in found.calls.rows(99) if row["stat"] == "tool"]
    return {row["tool"]: [row["calls"], row["answered"], row["failed"]] for row in rows}


@pytest.mark.parametrize("form", FORMS)
def test_each_call_of_a_record_counts_once_with_its_result(form: str, scan_core: str) -> None:
    """Of tools and of answers, however many a record has, and where records are written again."""
    for seed in range(rounds(12)):
        made = Random(seed)
        records = list(logged(form, made))
        lines = [FORMS[form](second, events, made) for second, events in enumerate(records)]
        order = [at for at in range(len(lines)) for _ in range(made.randrange(1, 3))]
        log = samples.text(lines[at] for at in order)
        tool = {of: name for events in records for result, of, name, _ in events if not result}
        asked, answered, failed = Counter(tool.values()), Counter[Any](), Counter[Any]()
        for events in records:
            for result, of, _, bad in events:
                answered[tool[of]] += result
                failed[tool[of]] += bad
        found = stats(log, wire="formats", batch_bytes=made.choice([700, 1 << 20]))
        assert counted(found) == {name: [asked[name], answered[name], failed[name]] for name in asked}, seed
        pairing = found.pairings[form, "call"]
        assert (pairing.requests, pairing.answered, pairing.orphans) == (asked.total(), answered.total(), 0), seed
        having = Counter(name for at in order for name in {name for _, _, name, _ in records[at]} - {None} or {None})
        rows = group_by(log, "tool", wire="formats", batch_bytes=made.choice([700, 1 << 20])).rows()
        assert {row["tool"]: row["records"] for row in rows} == having, seed
        del having[None]
        selected = {name: scan(log, wire="formats", where={"tool": name}, batch_bytes=2000) for name in having}
        assert {name: sum(map(len, found)) for name, found in selected.items()} == having, seed


@pytest.mark.once
def test_statistics_do_not_depend_on_blocks() -> None:
    """Nor does their order."""
    every = zip_longest(*map(samples.lines, reversed(registry.formats())))
    log = samples.text(line for several in every for line in several if line)
    found = [[*stats(log, wire="formats", batch_bytes=size).rows()] for size in (900, 20_000, 1 << 20)]
    assert found[0] == found[1] == found[2]


def test_answers_take_as_long_as_each_of_them_took(scan_core: str) -> None:
    """Calls of one record that are answered one after the other, by tool; in one record nobody knows how long."""
    calls: list[Event] = [(False, "a", "Bash", False), (False, "b", "Read", False)]
    made = Random(1)
    log = [
        claude_code(0, calls, made),
        *(claude_code(at, [(True, of, None, False)], made) for at, of in ((4, "b"), (9, "a"))),
    ]
    log.append(claude_code(20, [(False, "c", "Bash", False), (False, "d", "Bash", False)], made))
    log.append(claude_code(21, [(True, "c", None, False), (True, "d", None, False)], made))
    found = stats(samples.text(log), wire="claude_code").pairings["claude_code", "call"].latencies
    assert (found.count, found.least, found.most, found.total) == (4, 1_000_000, 9_000_000, 15_000_000)
    rows = {row["tool"]: row for row in group_by(samples.text(log), "tool", wire="claude_code").rows()}
    assert rows.pop(None)["records"] == 3, "results without a name"
    assert {name: (row["records"], row["answers"], row["p95"]) for name, row in rows.items()} == {
        "Bash": (2, 3, 9.0),
        "Read": (1, 1, 4.0),  # one record is of both
    }
    together = [batch_result(0, [*calls, (True, "a", None, False)], made)]
    pairing = stats(samples.text(together), wire="anthropic").pairings["anthropic", "call"]
    assert (pairing.requests, pairing.answered, pairing.latencies.count) == (2, 1, 0)


def test_a_result_tells_of_a_call_that_comes_later(scan_core: str) -> None:
    """One that names its tool: the call is made and answered once, in whatever order and how often they are there."""
    data: dict[str, Any] = {"content": "", "type": "ai", "tool_calls": [{"name": "look", "args": {}, "id": "c1"}]}
    call, result = (
        {"type": "ai", "data": data},
        {"type": "tool", "data": {"content": "x", "name": "look", "tool_call_id": "c1"}},
    )
    for log, requests in (
        ([call, result], 1),
        ([result, call, call], 1),
        ([result], 0),
        ([call, call, result, call], 1),
    ):
        found = stats(samples.text(log), wire="langchain", batch_bytes=100)
        pairing = found.pairings["langchain", "call"]
        assert counted(found) == {"look": [1, 1, 0]}
        assert (pairing.requests, pairing.answered, pairing.orphans) == (requests, requests, 1 - requests)


def rpc(at: int, members: dict[str, Any]) -> bytes:
    """A line with a message of MCP."""
    return f"{moment(at)} {json.dumps({'jsonrpc': '2.0', 'id': 5, **members})}".encode()


CLIENT = ({"method": "tools/call", "params": {"name": "add"}}, {"result": {"content": [{"type": "text", "text": "3"}]}})
READ = ({"method": "resources/read", "params": {"uri": "u"}}, {"result": {"contents": [{"uri": "u", "text": "x"}]}})
SERVER = (
    ({"method": "sampling/createMessage"}, {"result": {"role": "assistant", "content": {}, "model": "m"}}),
    ({"method": "elicitation/create"}, {"result": {"action": "accept", "content": {}}}),
    ({"method": "roots/list"}, {"result": {"roots": [{"uri": "file:///a"}]}}),
)


@pytest.mark.parametrize("client", [CLIENT, READ])
@pytest.mark.parametrize("server", SERVER)
def test_the_sides_of_a_connection_have_ids_of_their_own(client: Any, server: Any, scan_core: str) -> None:
    """Requests of both at once, answered in any order: each takes as long as it took."""
    for first, second in ((client, server), (server, client)):
        for order in ((first, second), (second, first)):
            log = [rpc(at, one[0]) for at, one in ((0, first), (10, second))]
            log += [rpc(at, one[1]) for at, one in zip((40, 100), order, strict=True)]
            pairing = stats(samples.text(log), wire="mcp").pairings["mcp", "call"]
            took = [at - (0 if one is first else 10) for at, one in zip((40, 100), order, strict=True)]
            assert (pairing.requests, pairing.answered, pairing.orphans, pairing.further) == (2, 2, 0, 0)
            assert [pairing.latencies.least, pairing.latencies.most] == [1_000_000 * one for one in sorted(took)]
            log[2] = rpc(40, {"error": {"code": -1, "message": "no"}})  # answers the request that was made last
            least = stats(samples.text(log[:3]), wire="mcp").pairings["mcp", "call"].latencies
            assert (least.count, least.least) == (1, 30_000_000)


def chat(number: int, tools: list[str]) -> dict[str, Any]:
    """A chat completion that calls some tools."""
    calls = [
        {"id": f"{number}-{at}", "type": "function", "function": {"name": name, "arguments": "{}"}}
        for at, name in enumerate(tools)
    ]
    message = {"role": "assistant", "content": None, "tool_calls": calls}
    choices = [{"index": 0, "finish_reason": "tool_calls", "message": message}]
    tokens = {"prompt_tokens": 1, "completion_tokens": 1 + number, "total_tokens": 2 + number}
    return {
        "id": f"r{number}",
        "object": "chat.completion",
        "created": 1,
        "model": "m",
        "choices": choices,
        "usage": tokens,
    }


def test_tokens_go_to_the_first_tool(scan_core: str) -> None:
    """Of a response, in every format, one record or several; a condition selects what the row of the tool has."""
    for seed in range(rounds(12)):
        made = Random(seed)
        lines, expected = list[Any](), Counter[str | None]()
        for number in range(made.randrange(2, 9)):
            tools = [made.choice(TOOLS) for _ in range(made.randrange(4))]
            expected[tools[0] if tools else None] += 1 + number
            if made.random() < 0.5:
                lines.append(chat(number, tools))
                continue
            blocks: list[Event] = [(False, f"{number}-{at}", name, False) for at, name in enumerate(tools)]
            cut = made.randrange(len(blocks) + 1)
            for part in filter(None, (blocks[:cut], blocks[cut:])) if blocks else ([],):
                line = claude_code(number, part, made)
                line["message"]["usage"] = {"input_tokens": 1, "output_tokens": 1 + number}
                lines.append({**line, "requestId": f"q{number}"})
        log = samples.text(lines)
        found = usage(log, "tool", batch_bytes=900).rows
        assert {row["tool"]: row["output_tokens"] for row in found} == expected, seed
        for row in found:
            assert usage(log, "tool", where={"tool": {row["tool"]}}, batch_bytes=900).rows == [row], seed


@pytest.mark.once
def test_a_session_and_a_conversation_are_one_value(tmp_path: Any) -> None:
    """As a word of --by, and in Python."""
    path = put(tmp_path / "a.jsonl", samples.text(samples.claude_code()))
    for command in ("stats", "usage"):
        both = [turnwire(command, path, "--by", by, "--json").records for by in ("session", "conversation")]
        assert both[0] == both[1] != []
    assert usage(str(path), "conversation").rows == usage(str(path), "session").rows
    assert [*group_by(path, "session", wire="formats").rows()] == [
        *group_by(path, "conversation", wire="formats").rows()
    ]
    rows = turnwire("stats", path, "--by", "tool", "--json").records
    assert {row["tool"]: (row["records"], row["answers"]) for row in rows if "without" not in row} == {
        "Bash": (15, 15),
        "Read": (15, 15),
    }


@pytest.mark.once
def test_one_of_several_calls_costs_less_than_eight_alone() -> None:
    """In steps of the interpreter: a record with many, beside as many records with one; and odd types beside them."""

    def steps(log: bytes) -> int:
        taken = 0

        def note(frame: Any, what: str, _: Any) -> Any:
            nonlocal taken
            frame.f_trace_opcodes, taken = True, taken + (what == "opcode")
            return note

        gc.disable()  # what other tests left has finalizers, which count, too
        sys.settrace(note)
        try:
            stats(log, wire="claude_code")
        finally:
            sys.settrace(None)
            gc.enable()
        return taken

    def each(size: int, odd: bytes = b"") -> float:
        calls: list[Event] = [(False, f"t{number}", "Bash", False) for number in range(480)]
        log = [claude_code(number % 60, calls[number : number + size], Random(1)) for number in range(0, 480, size)]
        lines = [line.replace(b'"content":[', b'"content":[' + odd) for line in samples.text(log).splitlines(True)]
        return (steps(b"".join(lines)) - steps(b"".join(lines[: len(lines) // 2]))) / 240

    stats(samples.text(samples.claude_code(2)), wire="claude_code")  # what is made once does not count
    one = each(1)
    assert 0 < max(each(size, odd) for size in (2, 60) for odd in (b"", b'"x",{"type":"text","text":5},')) < 8 * one
