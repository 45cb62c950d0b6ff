"""The tables of formats: what is found by them, what its columns say, and what is text or damage."""

from __future__ import annotations

import copy
import json
import pickle
from typing import Any

import numpy as np
import pytest

import turnwire
from tests.conftest import raised
from tests.formats import samples
from tests.log.test_ordinary_text import TEXTS
from turnwire import DecodeError, registry
from turnwire.contract import FORMATS
from turnwire.formats.parts import MessageRule, PartRule
from turnwire.formats.table import COLUMNS, Format, Layout, Loose, Present, Source, Words
from turnwire.log import stats
from turnwire.log.engine.inheritance import are_lines
from turnwire.read.usage import usage

LINES: dict[str, list[dict[str, Any]]] = {"claude_code": samples.claude_code(), "codex": samples.codex()}
OLD_ROLLOUT: list[dict[str, Any]] = [
    {"id": "a1", "timestamp": "2025-05-07T17:24:21.500Z", "instructions": None},
    {"record_type": "state"},
    {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "hi"}]},
    {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "so"}], "encrypted_content": None},
    {"type": "function_call", "id": "fc_1", "name": "shell", "arguments": "{}", "call_id": "c1"},
    {"type": "function_call_output", "call_id": "c1", "output": "ok"},
]
SCHEMAS = ("traceId spanId startTimeUnixNano", "timeUnixNano body", "model input instructions", "custom_id response id")
ORDINARY = (
    {"name": "pkg", "version": "1.0.0", "dependencies": {"a": "^1"}, "type": "module"},
    {"type": "FeatureCollection", "features": [{"type": "Feature", "id": "1", "geometry": None, "properties": {}}]},
    {"openapi": "3.1.0", "info": {"title": "t", "version": "1"}, "paths": {"/a": {"get": {"responses": {}}}}},
    {"lockfileVersion": 3, "packages": {"": {"name": "x"}}},
    {"level": "info", "timestamp": "2025-09-01T10:00:00Z", "message": "started", "session": "s"},
    {"type": "user", "id": 7, "name": "ada", "message": "hello", "timestamp": "2025-09-01T10:00:00Z"},
    {"type": "message", "channel": "C1", "user": "U1", "text": "hi", "ts": "1756720800.0001"},
    {"type": "summary", "total": 3},
    {"jsonrpc": "2.0", "id": 3, "result": {"number": "0x1", "transactions": ["a"]}},
    {"jsonrpc": "2.0", "id": 4, "error": {"code": -32000, "message": "reverted"}},
    *({"type": kind} for kind in ("turn.started", "message_stop")),
    {"record_type": "state"},
    {"record_type": "state", "id": 3, "type": "message_stop", "message": "turn.started"},
)


def rows(data: bytes, wire: str = FORMATS) -> list[dict[str, Any]]:
    """The records with the columns that have a value."""
    return [
        {name: batch[name][row] for name in batch.names if batch.valid(name)[row]}
        for batch in turnwire.scan(data, wire=wire)
        for row in range(len(batch))
    ]


@pytest.mark.parametrize("name", LINES)
def test_each_line_is_a_record_of_its_format(name: str, scan_core: str) -> None:
    data = samples.text(LINES[name])
    for wire in (name, FORMATS):
        scan = turnwire.scan(data, wire=wire)
        found = list(scan.messages())
        assert [one.message.to_dict() for one in found] == LINES[name]
        assert {one.wire for one in found} == {name}
        counts = scan.counts
        assert (counts.records, counts.rejects, counts.text_bytes) == (len(LINES[name]), 0, len(LINES[name]))
        assert counts.bytes == len(data) and counts.wires[name] == len(LINES[name])


def test_the_columns_of_claude_code(scan_core: str) -> None:
    found = rows(samples.text(LINES["claude_code"][:6]))
    assert [row["kind"] for row in found] == ["summary", "user", "reasoning", "assistant", "tool_call", "tool_result"]
    call, result = found[4], found[5]
    usage = LINES["claude_code"][4]["message"]["usage"]
    assert {name: call[name] for name in ("tool", "call_id", "id", "request_id", "model", "sender", "project")} == {
        "tool": "Bash",
        "call_id": "toolu_1_0",
        "id": "msg_1_0",
        "request_id": "req_1_0",
        "model": samples.MODELS[0],
        "sender": "assistant",
        "project": "/home/ada/p0",
    }
    assert (call["input_tokens"], call["output_tokens"]) == (usage["input_tokens"], usage["output_tokens"])
    assert call["cache_read_tokens"] == usage["cache_read_input_tokens"]
    assert call["cache_write_tokens"] == usage["cache_creation_input_tokens"]
    assert (result["call_id"], result["failed"], result["conversation"]) == ("toolu_1_0", False, "s1")
    assert result["time"] - call["time"] == 6_000_000


def test_the_columns_of_codex(scan_core: str) -> None:
    found = rows(samples.text(LINES["codex"][:7]))
    kinds = ["session", "turn", "user", "tool_call", "tool_result", "assistant", "usage"]
    assert [row["kind"] for row in found] == kinds
    assert (found[0]["conversation"], found[0]["project"], found[1]["model"]) == (
        "0199-1",
        "/home/ada/q1",
        "gpt-5-codex",
    )
    assert (found[3]["tool"], found[3]["call_id"], found[4]["call_id"]) == ("shell", "c0", "c0")
    last = LINES["codex"][6]["payload"]["info"]["last_token_usage"]
    assert (found[6]["input_tokens"], found[6]["cache_read_tokens"]) == (
        last["input_tokens"],
        last["cached_input_tokens"],
    )
    assert (found[6]["reasoning_tokens"], found[6]["total_tokens"]) == (3, last["total_tokens"])


def test_the_items_of_old_rollouts(scan_core: str) -> None:
    found = rows(samples.text(OLD_ROLLOUT))
    assert {row["wire"] for row in found} == {"codex"}
    assert [row["kind"] for row in found] == ["session", "status", "user", "reasoning", "tool_call", "tool_result"]
    assert [row.get("text") for row in found] == [None, None, "hi", "so", "{}", "ok"]


def test_ordinary_json_and_text_hold_no_record(scan_core: str) -> None:
    whole = *ORDINARY, [{"properties": {name: {"type": "string"} for name in names.split()}} for names in SCHEMAS]
    data = samples.text(whole) + (json.dumps(whole, indent=1) + TEXTS["mail"] + TEXTS["markdown"]).encode()
    data += b"\n".join(samples.text([line])[:-3] for line in ORDINARY)
    scan = turnwire.scan(data, wire=FORMATS)
    scan.read()
    assert (scan.counts.records, scan.counts.rejects, scan.counts.text_bytes) == (0, 0, len(data))


def test_a_scan_of_all_wires_does_not_look_for_formats(scan_core: str) -> None:
    """The strings in them are records of the wires, as before."""
    line = copy.deepcopy(LINES["claude_code"][1])
    line["message"]["content"] = "@a3|f0|c1|S0|d1|T1#"
    data = samples.text([line])
    assert [one.wire for one in turnwire.scan(data).messages()] == ["nslip"]
    assert [one.wire for one in turnwire.scan(data, wire=FORMATS).messages()] == ["claude_code"]
    assert not set(registry.formats()) & set(turnwire.WIRES)


@pytest.mark.parametrize(
    ("change", "reason", "path"),
    [
        (lambda line: line["message"]["usage"].update(output_tokens="9"), "wrong_type", "/message/usage/output_tokens"),
        (lambda line: line.pop("timestamp"), "missing_field", "/timestamp"),
        (lambda line: line.update(message=[]), "wrong_type", "/message"),
        (lambda line: line.update(sessionId=5), "wrong_type", "/sessionId"),
    ],
)
def test_a_broken_record_is_a_reject_where_it_is_wrong(change: Any, reason: str, path: str, scan_core: str) -> None:
    line = copy.deepcopy(LINES["claude_code"][4])
    change(line)
    data = samples.text([LINES["claude_code"][1], line, LINES["claude_code"][2]])
    scan = turnwire.scan(data, wire=FORMATS)
    [refused] = scan.errors()
    caught = raised(DecodeError, turnwire.decode, refused.raw, "claude_code")
    assert (str(caught.reason), caught.path) == (refused.reason, path) == (reason, path)
    assert refused.fault == refused.offset + caught.offset
    assert (refused.line, scan.counts.records) == (2, 2)


def test_damaged_lines_are_named_and_the_rest_is_read(scan_core: str) -> None:
    good = [samples.text([line])[:-1] for line in LINES["claude_code"]]
    damaged = [
        good[1][: len(good[1]) // 2],
        good[2],
        b"\0" * 300 + good[3],
        good[4] + good[5],
        good[6][:40] + good[7],
        good[6].replace(b"go on", b"go \\ud83d on"),
        good[9][3:],
        good[10],
    ]
    data = b"\n".join(damaged) + b"\n"
    scan = turnwire.scan(data, wire="claude_code")
    found = [batch.raw(row).tobytes() for batch in scan for row in range(len(batch))]
    assert found == [good[2], good[3], good[4], good[5], good[7], good[10]]
    reasons = [(row["line"], row["reason"]) for row in scan.rejects.rows()]
    assert [line for line, _ in reasons] == [1, 3, 5, 6, 7]
    assert (reasons[1], reasons[3]) == ((3, "control_character"), (6, "lone_surrogate"))
    counts = scan.counts
    assert counts.record_bytes + counts.reject_bytes + counts.text_bytes == counts.bytes == len(data)


def test_damage_of_rollouts(scan_core: str) -> None:
    """A line in which only its signs are left is named; one behind a stub that ends inside of a string is read."""
    call, output, said = (samples.text([line])[:-1] for line in LINES["codex"][3:6])
    damaged = [call.replace(b"shell", b"\\ud83d"), output[: output.index(b"a\\")] + said, said]
    scan = turnwire.scan(b"\n".join(damaged) + b"\n", wire="codex")
    assert [batch.raw(row).tobytes() for batch in scan for row in range(len(batch))] == [said, said]
    reasons = [(row["line"], row["reason"]) for row in scan.rejects.rows()]
    assert reasons == [(1, "lone_surrogate"), (2, "unterminated_string")]


@pytest.mark.parametrize(
    ("line", "wire"),
    [
        ('{"type":"item.completed","item":{"id":"item_1","type":"command_execution","command":"ls', "codex"),
        ('{"type":"turn.completed","usage":{"input_tokens":9,\0\0\0"cached_input_tokens":4}}', "codex"),
        ('{"type":"content_block_delta","index":0,"delta":{"type":"text_', "anthropic"),
        ('{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"out', "anthropic"),
        (
            '{"id":1,"epoch":1,"input":"x","target":"y","scores":{},"output":{"choices":[{"stop_reason":"stop"}],'
            '"usage":{"input_tokens":1,"outp',
            "inspect",
        ),
        ('{"type":"result","subtype":"success","session_id":"s1","result":"do', "claude_code"),
        ('{"type":"user","timestamp":"2025-09-01T10:00:00Z","message":{"role":"user","content":"h', "claude_code"),
        ('{"type":"error","request_id":"r1","message":"disk fu', None),
        ('{"type":"message","timestamp":"2025-09-01T10:00:00Z","user":"ada","text":"h', None),
        ('{"type":"system","timestamp":"2025-09-01T10:00:00Z","content":"started', None),
        ('{"type":"item","id":7,"index":3,"delta":4,"usage":"', None),
    ],
)
def test_damage_is_named_by_its_signs(line: str, wire: str | None, scan_core: str) -> None:
    """And is that of no other format; ordinary lines that are cut off are text."""
    for data in (line, f"{line}\n", f"hello\n{line}\nhello\n"):
        found = list(turnwire.scan(data.encode(), wire=FORMATS).errors())
        assert [(one.wire, bytes(one.raw)) for one in found] == ([(wire, line.encode())] if wire else [])


DAMAGED = (
    lambda line, cut: line[:cut],
    lambda line, cut: b"\0" * cut + line[:cut] + b"\n",
    lambda line, cut: b"\0" * cut,
)


@pytest.mark.parametrize("name", ["mcp", "a2a", "l9", "langchain", "codex", "claude_code", "anthropic", "openai"])
def test_damage_is_named_by_the_lines_around_it(name: str, scan_core: str) -> None:
    """Lines that are cut, stubs before a good line, NUL bytes: rejects of the format whose records begin alike.
    Ordinary lines among them, whole or cut, are text, and so is all of it in a file without records."""
    lines = [json.dumps(line, separators=(",", ":")).encode() for line in samples.lines(name)]
    good = b"\n".join(lines) + b"\n"
    ordinary = b'{"level":"info","id":{"a":1}}\n{"level":"in\nstarted\n'
    for number, line in enumerate(lines[:: 1 + len(lines) // 3]):
        for place, cut in enumerate((3, 9, 30)):
            for way, damaged in enumerate(DAMAGED if number else DAMAGED[:1]):
                if scan_core == "pure" and (number + place) % 3:
                    continue
                piece, end = damaged(line, cut), b"" if cut == 9 else b"\n"
                data = good + ordinary + piece + end + good + line + b"\n"
                found = turnwire.scan(data, wire=name, batch_bytes=(300, 1 << 20)[way % 2])
                assert sum(map(len, found)) == 2 * len(lines) + 1
                rejects = [(one["wire"], one["line"], bytes(one["raw"])) for one in found.rejects.rows()]
                assert {one[:2] for one in rejects} == {(name, len(lines) + 4)}
                assert b"".join(raw for *_, raw in rejects).rstrip(b"\n") == piece.rstrip(b"\n")
                counts = found.counts
                assert counts.record_bytes + counts.reject_bytes + counts.text_bytes == counts.bytes == len(data)
        for piece in (line[:3], b"\0" * 3):
            alone = turnwire.scan(ordinary + piece + b"\n" + ordinary, wire=name, errors="raise")
            assert sum(map(len, alone)) == 0


@pytest.mark.parametrize(
    ("data", "offsets", "alone"),
    [
        (b"\r\n{1}\n{2}\r\n", (2, 6), True),
        (b"{1} {2}", (0, 4), False),
        (b"{1}{2}", (0, 2), False),
        (b"{1}\n\n\n{2}", (0, 6), False),
        (b"{1}\n{2}\n\n\n", (0, 4), False),
        (b"x{1}\n", (1,), False),
    ],
)
def test_records_alone_on_their_lines_need_no_look(data: bytes, offsets: tuple[int, ...], alone: bool) -> None:
    assert are_lines(np.frombuffer(data, np.uint8), np.array(offsets), np.full(len(offsets), 3)) is alone


def test_lines_may_begin_with_an_object_in_an_object(scan_core: str) -> None:
    """Two heads stand in the first bytes of such a line."""
    line = samples.text(samples.lines("codex")[2:3]).replace(b"{", b'{"a":{"b":1},', 1)
    found = turnwire.scan(line + line[:40] + b"\n" + line, wire=FORMATS)
    assert sum(map(len, found)) == 2 and [one["line"] for one in found.rejects.rows()] == [2]


@pytest.mark.parametrize(
    "put", ["{0}\0{0}", "{0}{0}\0\n{0}", "{0}{1}\0\n{0}", "{0}{0}\0", "\ufeff{0}{2}\n{0}", "{0}{2}\n{0}"]
)
def test_damage_depends_on_no_cut(put: str, scan_core: str) -> None:
    """NUL bytes no longer than the end of a line, a first record behind a byte order mark; blocks of a few bytes."""
    line = samples.text(samples.lines("claude_code")[3:4]).decode()
    data = put.format(line, line[:-1], line[:60]).encode()
    for size in (1 << 20, *range(len(line) - 2, len(line) + 3), len(line) // 2, 16):
        scan = turnwire.scan(data, wire="claude_code", batch_bytes=size)
        assert sum(map(len, scan)) == data.count(b"\n") - ("\0\n" in put or "{2}" in put) + ("{1}" in put)
        assert [bytes(one["raw"]) for one in scan.rejects.rows()] == [b"\0" if "\0" in put else line[:60].encode()]


def test_statistics_say_how_long_each_tool_took(scan_core: str) -> None:
    rows = [one for one in stats(samples.text(samples.claude_code(12)), wire=FORMATS).rows() if one["stat"] == "tool"]
    assert {(one["tool"], one["calls"], one["p50"], one["p95"]) for one in rows} == {
        ("Bash", 6, 6.0, 6.0),
        ("Read", 6, 6.0, 6.0),
    }


@pytest.mark.parametrize("limit", [1200, 1777, 3000])
@pytest.mark.parametrize("indent", [None, 1])
def test_all_spans_of_an_export_over_the_limit(limit: int, indent: int | None, scan_core: str) -> None:
    span = {"traceId": "a", "startTimeUnixNano": "1700000000000000000", "name": "chat", "attributes": []}
    spans = [{**span, "spanId": f"s{number}"} for number in range(40)]
    export = {"resourceSpans": [{"resource": {}, "scopeSpans": [{"scope": {"name": "x"}, "spans": spans}]}]}
    data = json.dumps(export, indent=indent).encode() + b"\n" + json.dumps(spans[0]).encode() + b"\n"
    scan = turnwire.scan(data, wire="otlp", columns=["id"], limits=turnwire.LIMITS._replace(message=limit))
    assert [name for batch in scan for name in batch["id"]] == [one["spanId"] for one in [*spans, spans[0]]]
    assert scan.counts.rejects == 0


def test_a_record_is_a_message_like_any_other() -> None:
    line = samples.text(LINES["claude_code"][4:5])[:-1].decode()
    message: Any = turnwire.decode(line, "claude_code")
    found = message.wire, message.kind, message.sender, message.conversation
    assert found == ("claude_code", "tool_call", "assistant", "s1")
    assert turnwire.encode(message) == line
    assert pickle.loads(pickle.dumps(message)) == copy.deepcopy(message) == message
    assert message.replace(sessionId="s2").conversation == "s2" and message.conversation == "s1"
    raised(DecodeError, message.replace, timestamp=None)


def test_no_wire_takes_the_name_of_a_format(registering: None) -> None:
    with pytest.raises(ValueError, match="codex"):
        turnwire.register(registry.wire("codex"))


def test_damage_of_a_session_line_is_not_of_the_message_in_it(scan_core: str) -> None:
    """Which has the signs of an API; such a message alone is of that."""
    content = [{"type": "text", "text": "hi"}]
    said = {"id": "m", "type": "message", "role": "assistant", "model": "c", "content": content}
    said |= {"stop_reason": "end_turn", "stop_sequence": None, "usage": {"input_tokens": 1, "output_tokens": 1}}
    line = {"parentUuid": None, "sessionId": "s", "type": "assistant", "uuid": "u", "timestamp": "2026-01-10T10:00:00Z"}
    for fields, wire in (
        ({**line, "message": said}, "claude_code"),
        ({"message": said, **line}, "claude_code"),
        (said, "anthropic"),
    ):
        whole = json.dumps(fields).encode()
        for torn in (whole[:-4], whole.replace(b'"hi"', b'"h\x01i"'), whole.replace(b": 1,", b": 1x,")):
            found = turnwire.scan(torn + b"\n", wire=FORMATS)
            assert {one["wire"] for one in found.read().rejects.since(0)} == {wire}
        found = turnwire.scan(whole, wire=FORMATS, limits=turnwire.LIMITS._replace(message=len(whole) - 4))
        assert {one["wire"] for one in found.read().rejects.since(0)} == {wire}


DONE: dict[str, Any] = {"signs": {"ev": ("done",), "ref": ()}, "kind": "tool_result", "columns": {"call_id": "ref"}}


@pytest.mark.once
@pytest.mark.parametrize(
    ("layout", "table", "wrong"),
    [
        ({"kind": "nope"}, {}, "nope"),
        ({"kinds": (Words("ev", {"done": "nope"}),)}, {}, "nope"),
        ({"kinds": (Present("ev", "nope"),)}, {}, "nope"),
        ({"needs": {"a": ("strng",)}}, {}, "strng"),
        ({"columns": {"text": "x//y"}}, {}, "x//y"),
        ({"columns": {"text": ("x", Loose("a[b"))}}, {}, "a\\[b"),
        ({"columns": {"text": ""}}, {}, "path"),
        ({"columns": {"text": Source("x", "lose")}}, {}, "lose"),
        ({"columns": {"nope": "x"}}, {}, "nope"),
        ({"signs": {"/ev": ()}}, {}, "/ev"),
        ({"without": ("ev/",)}, {}, "ev/"),
        ({}, {"parts": (PartRule("a", "reslt"),)}, "reslt"),
        ({}, {"parts": (PartRule("a/", "result"),)}, "a/"),
        ({}, {"messages": (MessageRule("a", (PartRule("b", "text", text="x//y"),)),)}, "x//y"),
        ({}, {"copy_of": ("nope",)}, "nope"),
        ({}, {"asks": ("nope",)}, "nope"),
        ({}, {"keys": ("a//b",)}, "a//b"),
    ],
)
def test_what_is_wrong_in_a_table_is_named_when_it_is_made(
    layout: dict[str, Any], table: dict[str, Any], wrong: str
) -> None:
    with pytest.raises(ValueError, match=wrong):
        Format("mini", "Mini", (Layout(**{**DONE, **layout}),), **table).descriptor()
    assert Format("mini", "Mini", (Layout(**DONE),)).descriptor().name == "mini"


@pytest.mark.parametrize("rule", [PartRule("", "result", text="out", id="ref"), PartRule("", "result", text="out")])
def test_each_id_of_a_call_is_counted(rule: PartRule, registering: None, scan_core: str) -> None:
    """Also where a rule has a part for every record, and no id for it: half of the ids have the highest bit set."""
    reply = Layout(signs={"ev": ("reply",), "ref": ()}, kind="tool_call", columns={"call_id": "ref", "tool": "verb"})
    turnwire.register(Format("mini", "Mini", (Layout(**DONE), reply), parts=(rule,)).descriptor())
    lines = ({"ev": "done" if at % 2 else "reply", "ref": f"k{at // 2}", "verb": "a", "out": "x"} for at in range(100))
    log = "".join(f"{json.dumps(line)}\n" for line in lines).encode()
    [tool] = stats(log, wire="mini").calls.rows(3)
    assert (tool["tool"], tool["calls"], tool["answered"]) == ("a", 50, 50)


@pytest.mark.parametrize("name", ["parent", "error", "failed", "duration_ms", "sequence", "id", "cost"])
def test_any_column_tells_copies(name: str, registering: None) -> None:
    path = {"text": "ref", "bool": "no"}.get(next(one.kind for one in COLUMNS if one.name == name), "n")
    reply = Layout(signs={"ev": ("reply",), "n": ()}, kind="usage", columns={"output_tokens": "n", name: path})
    turnwire.register(Format("mini", "Mini", (reply,), copy_of=(name,)).descriptor())
    line = {"ev": "reply", "n": 7, "ref": "k", "no": False}
    assert usage(samples.text([line, line]), wire="mini").total["responses"] == 1
