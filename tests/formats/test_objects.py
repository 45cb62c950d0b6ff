"""One object of each form that a format writes, generated in the shape of real ones, and what its columns say."""

from __future__ import annotations

import gzip
import io
import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

import turnwire
from tests.conftest import needs_both
from tests.formats import samples
from tests.formats.test_tables import OLD_ROLLOUT, rows
from turnwire import registry
from turnwire.contract import FORMATS
from turnwire.formats.table import Compiled
from turnwire.json.plan import Judgement
from turnwire.read.usage import usage

CHAT_USAGE = {
    "prompt_tokens": 20,
    "completion_tokens": 7,
    "total_tokens": 27,
    "prompt_tokens_details": {"cached_tokens": 12, "audio_tokens": 0},
    "completion_tokens_details": {"reasoning_tokens": 3},
}
CALL = {"id": "call_1", "type": "function", "function": {"name": "look_up", "arguments": '{"q":"x"}'}}
CHAT = {
    "id": "chatcmpl-1",
    "object": "chat.completion",
    "created": 1756720800,
    "model": "gpt-4o-2024-08-06",
    "choices": [
        {
            "index": 0,
            "message": {"role": "assistant", "content": None, "tool_calls": [CALL]},
            "finish_reason": "tool_calls",
        }
    ],
    "usage": CHAT_USAGE,
}
RESPONSE = {
    "id": "resp_1",
    "object": "response",
    "created_at": 1756720800,
    "status": "completed",
    "error": None,
    "model": "gpt-5",
    "output": [
        {"id": "rs_1", "type": "reasoning", "summary": []},
        {"id": "m1", "type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "hi \u2603"}]},
    ],
    "usage": {"input_tokens": 9, "output_tokens": 4, "output_tokens_details": {"reasoning_tokens": 2}},
}
MESSAGE = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "model": "claude-opus-4-1-20250805",
    "content": [{"type": "text", "text": "I look"}, {"type": "tool_use", "id": "toolu_1", "name": "grep", "input": {}}],
    "stop_reason": "tool_use",
    "stop_sequence": None,
    "usage": {"input_tokens": 5, "cache_read_input_tokens": 2, "cache_creation_input_tokens": 1, "output_tokens": 8},
}
AI = {
    "content": "hi",
    "type": "ai",
    "id": "run-1",
    "tool_calls": [{"name": "look_up", "args": {}, "id": "c1", "type": "tool_call"}],
    "response_metadata": {"model_name": "gpt-4o", "finish_reason": "stop"},
    "usage_metadata": {"input_tokens": 11, "output_tokens": 3, "input_token_details": {"cache_read": 4}},
}
A2A = {
    "kind": "message",
    "messageId": "m1",
    "contextId": "x1",
    "taskId": "t1",
    "role": "user",
    "parts": [{"kind": "text", "text": "tell"}],
}
TASK = {
    "kind": "task",
    "id": "t1",
    "contextId": "x1",
    "status": {"state": "working", "timestamp": "2025-09-01T10:00:00Z"},
    "artifacts": [],
}
SPAN = {
    "traceId": "5b8efff798038103d269b633813fc60c",
    "spanId": "eee19b7ec3c1b174",
    "parentSpanId": "eee19b7ec3c1b173",
    "name": "chat gpt-4o",
    "kind": 3,
    "startTimeUnixNano": "1756720800000000000",
    "endTimeUnixNano": "1756720801000000000",
    "attributes": [
        {"key": "gen_ai.request.model", "value": {"stringValue": "gpt-4o"}},
        {"key": "gen_ai.usage.input_tokens", "value": {"intValue": "210"}},
        {"key": "server.address", "value": {"stringValue": "x"}},
        {"key": "gen_ai.usage.output_tokens", "value": {"intValue": 12}},
    ],
    "status": {"code": 2, "message": "refused"},
}
LOG = {"timeUnixNano": "1756720800000000000", "severityText": "INFO", "body": {"stringValue": "hi"}, "attributes": []}
EVAL = {
    "version": 2,
    "status": "success",
    "eval": {
        "run_id": "r1",
        "eval_id": "e1",
        "task": "sums",
        "model": "openai/gpt-4o",
        "created": "2025-09-01T10:00:00Z",
    },
    "plan": {},
}
SAMPLE = {
    "id": 7,
    "epoch": 1,
    "input": "2+2",
    "target": "4",
    "messages": [{"role": "user", "content": "2+2"}],
    "output": {"model": "gpt-4o", "completion": "4", "choices": [{"stop_reason": "stop"}],
               "usage": {"input_tokens": 6, "output_tokens": 1}},
}  # fmt: skip
L9 = {
    "header": {
        "protocol": "SSTP",
        "subprotocol": "SIEP",
        "version": "0.0.5",
        "kind": "commit",
        "subkind": "converged",
        "participants": {"actors": [{"id": "a", "role": "sender"}], "groups": None},
        "message": {"id": "i1", "parents": ["i0"], "episode": "urn:ioc:episode:1"},
        "context": {"topic": "t", "epistemic": None, "semantic": None},
        "attributes": {"msg_created": "2025-09-01T10:00:00Z"},
    },
    "payload": [{"type": "utterance", "location": "inline", "content": "agreed"}],
}
CLAUDE = {"parentUuid": None, "isSidechain": False, "sessionId": "s1", "uuid": "u1", "cwd": "/p",
          "timestamp": "2025-09-01T10:00:00Z"}  # fmt: skip
NOON = 1756720800000000
OBJECTS: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    ("openai", CHAT, {"kind": "tool_call", "id": "chatcmpl-1", "tool": "look_up", "call_id": "call_1", "time": NOON,
                      "input_tokens": 20, "output_tokens": 7, "cache_read_tokens": 12, "reasoning_tokens": 3,
                      "stop_reason": "tool_calls", "sender": "assistant"}),
    ("openai", {**CHAT, "object": "chat.completion.chunk", "choices": [], "usage": None}, {"kind": "event"}),
    ("openai", RESPONSE, {"kind": "assistant", "text": "hi \u2603", "model": "gpt-5", "time": NOON, "input_tokens": 9,
                          "output_tokens": 4, "reasoning_tokens": 2, "stop_reason": "completed"}),
    ("openai", {"custom_id": "q1", "method": "POST", "url": "/v1/chat/completions", "body": {"model": "gpt-4o"}},
     {"kind": "request", "request_id": "q1", "subject": "/v1/chat/completions", "model": "gpt-4o"}),
    ("openai", {"id": "b1", "custom_id": "q1", "response": {"status_code": 200, "body": CHAT}, "error": None},
     {"kind": "response", "id": "b1", "request_id": "q1", "model": "gpt-4o-2024-08-06", "output_tokens": 7}),
    ("openai", {"id": "b2", "custom_id": "q2", "response": None, "error": {"code": "x", "message": "expired"}},
     {"kind": "error", "error": "expired"}),
    ("anthropic", MESSAGE, {"kind": "tool_call", "id": "msg_1", "tool": "grep", "call_id": "toolu_1", "text": "I look",
                            "input_tokens": 5, "cache_read_tokens": 2, "cache_write_tokens": 1, "output_tokens": 8}),
    ("anthropic", {"custom_id": "q1", "result": {"type": "succeeded", "message": MESSAGE}},
     {"kind": "response", "request_id": "q1", "id": "msg_1", "output_tokens": 8, "model": MESSAGE["model"]}),
    ("anthropic", {"custom_id": "q2", "result": {"type": "errored", "error": {"error": {"message": "no"}}}},
     {"kind": "error", "error": "no"}),
    ("anthropic", {"type": "error", "error": {"type": "overloaded_error", "message": "busy"}, "request_id": "req_1"},
     {"kind": "error", "error": "busy", "subject": "overloaded_error", "request_id": "req_1"}),
    ("mcp", {"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": {"name": "grep", "arguments": {}}},
     {"kind": "tool_call", "call_id": "3", "tool": "grep", "subject": "tools/call"}),
    ("mcp", {"jsonrpc": "2.0", "id": 3, "result": {"content": [{"type": "text", "text": "x"}], "isError": True}},
     {"kind": "tool_result", "call_id": "3", "failed": True, "text": "x"}),
    ("mcp", {"jsonrpc": "2.0", "method": "notifications/initialized"}, {"kind": "notification"}),
    ("mcp", {"jsonrpc": "2.0", "id": "a", "result": {"tools": []}}, {"kind": "tools", "call_id": "a"}),
    ("mcp", {"jsonrpc": "2.0", "id": None, "error": {"code": -32700, "message": "parse"}},
     {"kind": "error", "error": "parse"}),
    ("a2a", {"jsonrpc": "2.0", "id": "1", "method": "message/send", "params": {"message": A2A}},
     {"kind": "request", "call_id": "1", "conversation": "x1", "id": "m1", "text": "tell", "sender": "user"}),
    ("a2a", {"jsonrpc": "2.0", "id": "1", "result": TASK},
     {"kind": "task", "call_id": "1", "conversation": "x1", "id": "t1", "stop_reason": "working", "time": NOON}),
    ("a2a", A2A, {"kind": "message", "id": "m1", "conversation": "x1", "parent": "t1", "text": "tell"}),
    ("a2a", TASK, {"kind": "task", "id": "t1"}),
    ("a2a", {"kind": "status-update", "taskId": "t1", "contextId": "x1", "status": {"state": "completed"}},
     {"kind": "status", "id": "t1", "stop_reason": "completed"}),
    ("otlp", SPAN, {"kind": "span", "conversation": SPAN["traceId"], "id": SPAN["spanId"],
                    "parent": SPAN["parentSpanId"], "subject": "chat gpt-4o", "time": NOON, "error": "refused",
                    "model": "gpt-4o", "input_tokens": 210, "output_tokens": 12}),
    ("otlp", LOG, {"kind": "log", "time": NOON, "text": "hi", "subject": "INFO"}),
    ("langchain", {"lc": 1, "type": "constructor", "id": ["langchain", "AIMessage"], "kwargs": AI},
     {"kind": "tool_call", "id": "run-1", "tool": "look_up", "model": "gpt-4o", "input_tokens": 11,
      "cache_read_tokens": 4}),
    ("langchain", {"type": "human", "data": {"content": "hi", "type": "human", "id": None, "response_metadata": {}}},
     {"kind": "user", "text": "hi", "sender": "human"}),
    ("inspect", EVAL["eval"], {"kind": "evaluation", "conversation": "r1", "id": "e1", "time": NOON}),
    ("inspect", EVAL, {"kind": "evaluation", "conversation": "r1", "subject": "sums", "model": "openai/gpt-4o",
                       "time": NOON, "stop_reason": "success"}),
    ("inspect", SAMPLE, {"kind": "sample", "id": "7", "sequence": 1, "text": "4", "output_tokens": 1}),
    ("claude_code", {**CLAUDE, "type": "system", "subtype": "compact_boundary", "content": "x", "durationMs": 7},
     {"kind": "system", "conversation": "s1", "subject": "compact_boundary", "text": "x", "duration_ms": 7,
      "sidechain": False, "time": NOON}),
    ("claude_code", {"type": "file-history-snapshot", "messageId": "m1", "snapshot": {}, "isSnapshotUpdate": False},
     {"kind": "event", "id": "m1"}),
    ("claude_code", {"type": "queue-operation", "operation": "enqueue", "timestamp": "2025-09-01T10:00:00Z",
                     "content": "go on", "sessionId": "s1"}, {"kind": "event", "text": "go on", "conversation": "s1"}),
    ("codex", {"type": "thread.started", "thread_id": "t1"}, {"kind": "session", "conversation": "t1"}),
    ("codex", {"type": "turn.completed", "usage": {"input_tokens": 9, "cached_input_tokens": 4, "output_tokens": 2}},
     {"kind": "usage", "input_tokens": 9, "cache_read_tokens": 4, "output_tokens": 2}),
    ("codex", {"type": "item.completed", "item": {"id": "item_1", "type": "agent_message", "text": "done"}},
     {"kind": "assistant", "id": "item_1", "text": "done"}),
    ("l9", L9, {"kind": "commit", "id": "i1", "conversation": "urn:ioc:episode:1", "subject": "t", "time": NOON,
                "stop_reason": "converged", "text": "agreed"}),
]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "made", "expected"), OBJECTS, ids=[f"{name}-{n}" for n, (name, *_) in enumerate(OBJECTS)]
)
def test_an_object_is_a_record_with_its_columns(
    name: str, made: dict[str, Any], expected: dict[str, Any], scan_core: str
) -> None:
    """Compact or over many lines, alone or in a list, by a scan of its format and by one of all."""
    compact = json.dumps(made, separators=(",", ":")).encode()
    for data in (compact + b"\n", json.dumps(made, indent=2).encode(), b"[" + compact + b", " + compact + b"]\n"):
        for wire in (name, FORMATS):
            found = rows(data, wire)
            assert len(found) == 1 + (data[:1] == b"[")
            for row in found:
                assert row["wire"] == name
                assert {column: row.get(column) for column in expected} == expected
    assert turnwire.detect(compact) not in registry.formats() and registry.wire(name).detect(compact)
    assert turnwire.decode(compact, name).to_dict() == made


@pytest.mark.parametrize(
    ("name", "member"),
    [("mcp", "id"), ("otlp", "startTimeUnixNano"), ("openai", "created"), ("a2a", "id"), ("inspect", "id")],
)
def test_a_member_that_may_be_text_or_a_number_is_nothing_else(name: str, member: str, scan_core: str) -> None:
    made = next(made for wire, made, _ in OBJECTS if wire == name and member in made)
    scan = turnwire.scan(samples.text({**made, member: value} for value in ({}, [], True)), wire=name)
    assert [(one.reason, one.line) for one in scan.errors()] == [("wrong_type", line) for line in (1, 2, 3)]
    assert scan.counts.records == 0


@pytest.mark.once
@needs_both
def test_the_native_search_asks_python_about_no_good_object(monkeypatch: pytest.MonkeyPatch) -> None:
    def asked(self: Judgement, raw: bytes, fields: Any = None) -> tuple[int, int, int, int]:
        raise AssertionError(raw)

    monkeypatch.setattr(Judgement, "whole", asked)
    scan = turnwire.scan(samples.text(made for _, made, _ in OBJECTS), wire=FORMATS)
    assert sum(map(len, scan)) == len(OBJECTS)


def test_each_layout_of_a_table_has_an_object() -> None:
    made = [(name, fields) for name, fields, _ in OBJECTS]
    made += [("claude_code", line) for line in samples.claude_code(1)]
    made += [("codex", line) for line in (*samples.codex(1), *OLD_ROLLOUT)]
    for name, found in registry.formats().items():
        for layout in found.table.layouts:
            assert any(Compiled(name, layout).is_signed(fields) for wire, fields in made if wire == name), layout


def test_a_log_of_an_evaluation_in_json_has_its_samples(scan_core: str) -> None:
    log = {**EVAL, "samples": [{**SAMPLE, "id": number} for number in range(9)], "stats": {}}
    for data in (samples.text([log]), json.dumps(log, indent=2).encode()):
        for limits in (turnwire.LIMITS, turnwire.LIMITS._replace(message=900)):
            scan = turnwire.scan(data, wire="inspect", columns=["kind", "id"], limits=limits)
            found = [(kind, one) for batch in scan for kind, one in zip(batch["kind"], batch["id"], strict=True)]
            assert found == [("evaluation", "e1"), *(("sample", str(number)) for number in range(9))]
            assert scan.counts.rejects == 0


def test_all_of_them_in_one_log(scan_core: str) -> None:
    data = samples.text(made for _, made, _ in OBJECTS)
    scan = turnwire.scan(data, wire=FORMATS)
    assert [(one.wire, one.line) for one in scan.messages()] == [(name, n) for n, (name, *_) in enumerate(OBJECTS, 1)]
    assert (scan.counts.rejects, scan.counts.text_bytes) == (0, len(OBJECTS))


def test_spans_are_found_in_an_export(scan_core: str) -> None:
    export = {
        "resourceSpans": [{"resource": {}, "scopeSpans": [{"scope": {}, "spans": [SPAN, {**SPAN, "spanId": "b"}]}]}]
    }
    for data in (samples.text([export]), json.dumps(export, indent=1).encode()):
        assert [row["id"] for row in rows(data)] == [SPAN["spanId"], "b"]


def test_compressed_files_and_archives(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "log.eval", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("header.json", json.dumps(EVAL, indent=2))
        archive.writestr("samples/7_epoch_1.json", json.dumps(SAMPLE, indent=2))
    assert sorted(row["kind"] for row in rows(str(tmp_path / "log.eval"))) == ["evaluation", "sample"]  # type: ignore[arg-type]
    (tmp_path / "chat.jsonl.gz").write_bytes(gzip.compress(samples.text([CHAT])))
    assert usage(str(tmp_path / "chat.jsonl.gz")).total["output_tokens"] == 7


def test_what_was_cached_is_no_fresh_input() -> None:
    found = {row["wire"]: row for row in usage(samples.text([CHAT, MESSAGE]), "wire").rows}
    assert (found["openai"]["input_tokens"], found["openai"]["cache_read_tokens"]) == (8, 12)
    assert (found["anthropic"]["input_tokens"], found["anthropic"]["cache_read_tokens"]) == (5, 2)


def test_a_file_like_object_is_a_source() -> None:
    assert usage(io.BytesIO(samples.text([CHAT]))).total["responses"] == 1


def test_attributes_are_told_by_their_keys(scan_core: str) -> None:
    """In any order and number, of spans that are alike otherwise, too; a key behind its value tells nothing."""
    names = ("gen_ai.usage.input_tokens", "gen_ai.usage.output_tokens", "other", "gen_ai.usage.cache_read.input_tokens")
    spans = []
    for number in range(120):
        keys = names[number % 4 :] + names[: number % 4]
        attributes = [{"key": key, "value": {"intValue": str(100 * number + names.index(key))}} for key in keys]
        spans.append({**SPAN, "attributes": attributes[: 1 + number % 4]})
    turned = {**SPAN, "attributes": [{"value": {"intValue": "5"}, "key": names[0]}]}
    found = rows(samples.text([*spans, turned]), "otlp")
    columns = {names[0]: "input_tokens", names[1]: "output_tokens", names[3]: "cache_read_tokens"}
    for row, span in zip(found, spans, strict=False):
        said = {one["key"]: int(one["value"]["intValue"]) for one in span["attributes"]}
        assert {name: row.get(column) for name, column in columns.items()} == {name: said.get(name) for name in columns}
    assert len(found) == 121 and "input_tokens" not in found[-1]
    operation = {"key": "gen_ai.operation.name", "value": {"stringValue": "execute_tool"}}
    assert rows(samples.text([{**SPAN, "attributes": [operation]}]))[0]["kind"] == "tool_call"
