"""Sessions in the forms of other tools: nothing is counted twice, nothing is lost in silence."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

import pytest

import turnwire
from tests.cli.running import turnwire as command
from tests.formats import samples
from turnwire import UnknownName
from turnwire.handlers import LogHandler, langchain_callback
from turnwire.ledger import Ledger
from turnwire.nslip import Act, FrameType, SlipMessage, Slot
from turnwire.otel import export_spans
from turnwire.read.exporting import FORMS, Exported, export
from turnwire.read.ingesting import POSITION, REJECT, ingest
from turnwire.read.usage import TOKENS, usage

CLAUDE, CODEX = samples.text(samples.claude_code(9)), samples.text(samples.codex(9))
SESSIONS = [pytest.param(CLAUDE, id="claude_code"), pytest.param(CODEX, id="codex")]
CALL = {"type": "tool_use", "id": "t1", "name": "Read", "input": {"path": "a"}}
MESSAGE = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "model": "claude-sonnet-4-5",
    "content": [{"type": "text", "text": "I look"}, CALL, {**CALL, "id": "t2"}, {"type": "image", "source": {}}],
    "stop_reason": "tool_use",
    "usage": {"input_tokens": 7, "output_tokens": 3},
    "container": {"id": "c"},
}


def lines(log: bytes, to: str, **options: Any) -> tuple[list[Any], list[Exported]]:
    found = list(export(log, to, **options))
    return [json.loads(one.text) for one in found if one.text is not None], found


@pytest.mark.parametrize("log", SESSIONS)
@pytest.mark.parametrize("to", ["jsonl", "otlp"])
def test_tokens_are_those_of_usage(log: bytes, to: str, scan_core: str) -> None:
    said, _ = lines(log + log, to)
    want = usage(log).total
    if to == "jsonl":
        assert {name: sum(turn.get(name, 0) for turn in said) for name in TOKENS} == {
            name: want[name] for name in TOKENS
        }
        return
    again = usage("\n".join(map(json.dumps, said)).encode(), wire="otlp").total
    assert {name: again[name] for name in TOKENS[:4]} == {name: want[name] for name in TOKENS[:4]}
    assert again["cost"] == pytest.approx(want["cost"]) and again["responses"] == want["responses"]


def test_a_message_with_several_calls(scan_core: str) -> None:
    log = json.dumps(MESSAGE).encode()
    [said], [told] = lines(log, "openai")
    assert said["role"] == "assistant" and said["content"] == "I look"
    assert [call["id"] for call in said["tool_calls"]] == ["t1", "t2"]
    assert said["tool_calls"][0]["function"] == {"name": "Read", "arguments": '{"path":"a"}'}
    assert {"part:image", "member:container", "model", "input_tokens"} <= {*told.dropped}
    [said], [told] = lines(log, "anthropic")
    assert said["content"] == MESSAGE["content"][:3] and said["usage"] == MESSAGE["usage"]  # type: ignore[index]
    assert told.dropped == ("member:container", "part:image")
    [said], [told] = lines(log, "jsonl")
    assert [part["kind"] for part in said["parts"]] == ["text", "call", "call"]


def test_messages_of_a_session_are_in_order(scan_core: str) -> None:
    said, found = lines(CLAUDE, "openai")
    assert [one["role"] for one in said] == ["user", "assistant", "tool"] * 9
    assert [one.dropped for one in found if one.text is None] == [("summary",)]
    said, _ = lines(CLAUDE, "anthropic")
    assert [one["content"][0]["type"] for one in said] == ["text", "thinking", "tool_result"] * 9
    assert sum("is_error" in one["content"][0] for one in said) == 1
    assert turnwire.scan("\n".join(map(json.dumps, said)).encode(), wire="anthropic").read().rejects.rows() == []


def test_calls_are_spans_below_their_responses(scan_core: str) -> None:
    said, _ = lines(CLAUDE, "otlp")
    each = [one["resourceSpans"][0]["scopeSpans"][0]["spans"][0] for one in said if "resourceSpans" in one]
    chats = {span["spanId"]: span for span in each if span["name"].startswith("chat")}
    calls = [span for span in each if span["name"].startswith("execute_tool")]
    assert len(chats) == len(calls) == 9 and {span["parentSpanId"] for span in calls} == {*chats}
    assert all(int(span["endTimeUnixNano"]) > int(span["startTimeUnixNano"]) for span in calls)
    assert [span["status"] for span in calls].count({"code": 2}) == 1


def test_the_sdk_of_opentelemetry_takes_the_spans() -> None:
    exporters = pytest.importorskip("opentelemetry.sdk.trace.export.in_memory_span_exporter")
    results = pytest.importorskip("opentelemetry.sdk.trace.export")
    kept = exporters.InMemorySpanExporter()
    assert export_spans(CLAUDE, kept) == 18
    spans = kept.get_finished_spans()
    assert len({span.context.span_id for span in spans}) == 18
    assert (
        sum(span.attributes.get("gen_ai.usage.output_tokens", 0) for span in spans)
        == usage(CLAUDE).total["output_tokens"]
    )
    kept.export = lambda spans: results.SpanExportResult.FAILURE
    with pytest.raises(OSError, match="rejected spans 1 to 18"):
        export_spans(CLAUDE, kept)


def test_an_unknown_form_is_refused() -> None:
    with pytest.raises(UnknownName):
        export(CLAUDE, "xml")


@pytest.mark.once
def test_convert_writes_them(tmp_path: Path) -> None:
    log = tmp_path / "a.jsonl"
    log.write_bytes(CLAUDE)
    for to in FORMS:
        done = command("convert", log, "--to", to)
        assert done.code == 0 and all(map(json.loads, done.out.splitlines()))
    first = json.loads(command("convert", log, "--to", "openai", "--json").out.splitlines()[0])
    assert first == {"file": str(log), "line": 1, "to": "openai", "text": None, "dropped": ["summary"]}
    assert command("convert", log, "--to", "otlp", "--carry").code == 2
    assert command("convert", log, "--to", "sap", "--from", "codex").code == 2


def test_a_ledger_keeps_each_record_once(tmp_path: Path, scan_core: str) -> None:
    log = tmp_path / "a.jsonl"
    log.write_bytes(CLAUDE + b'{"sessionId":"s1","parentUuid":null,"uuid":\xff\n')
    with Ledger(tmp_path / "kept.db") as ledger:
        first = ingest(ledger, log)
        assert first.counts.rejects == 1 and first.entries == 1 + len(CLAUDE.splitlines())
        assert ingest(ledger, log).entries == 0
        with log.open("ab") as file:
            file.write(CODEX)
        assert ingest(ledger, log).entries == len(CODEX.splitlines())
        kept = [entry for entry in ledger.entries() if entry.kind not in (POSITION, REJECT)]
        assert b"\n".join(entry.body for entry in kept) + b"\n" == CLAUDE + CODEX
        [reject] = ledger.entries(kind=REJECT)
        assert bytes.fromhex(json.loads(reject.body)["hex"]).endswith(b"\xff")
        assert len([*ledger.find("claude_code", "s1")]) == len(CLAUDE.splitlines()) - 1  # a summary names no session
        assert ledger.verify().fault is None


def test_what_is_logged_is_scanned(tmp_path: Path, scan_core: str) -> None:
    message = SlipMessage(3, 1, 0, 1, Act.REQUEST, FrameType.TASK, {Slot.TASK_ID: 5})
    handler = LogHandler(tmp_path / "a.log")
    log = logging.Logger("agents")
    log.addHandler(handler)
    log.info(message)
    log.info("sent %s \ud800", "it")
    try:
        raise ValueError("no")
    except ValueError:
        log.exception(message)
    handler.close()
    scan = turnwire.scan(tmp_path / "a.log", wire="nslip")
    assert [one.message for one in scan.messages()] == [message, message] and not scan.counts.rejects
    written = [json.loads(line) for line in (tmp_path / "a.log").read_text().splitlines()]
    assert [line["level"] for line in written] == ["INFO", "INFO", "ERROR"] and "ValueError" in written[2]["error"]


def test_the_callback_of_langchain(tmp_path: Path) -> None:
    models = pytest.importorskip("langchain_core.language_models.fake_chat_models")
    from langchain_core.messages import AIMessage
    from langchain_core.runnables import RunnableLambda
    from langchain_core.tools import tool

    @tool
    def add(a: int, b: int) -> int:
        """Adds two numbers."""
        if a < 0:
            raise ValueError("no")
        return a + b

    call = {"name": "add", "args": {"a": 1, "b": 2}, "id": "c1", "type": "tool_call"}
    tokens = {"input_tokens": 10, "output_tokens": 5, "total_tokens": 15, "input_token_details": {"cache_read": 4}}
    meta = {"model_name": "claude-sonnet-4-5", "finish_reason": "tool_calls"}
    answer = AIMessage("hi", tool_calls=[call], usage_metadata=tokens, response_metadata=meta)
    model = models.GenericFakeChatModel(messages=iter([answer]))

    def run(_: str) -> None:
        model.invoke("hello")
        add.invoke(call)
        with pytest.raises(ValueError, match="no"):
            add.invoke({"a": -1, "b": 0})

    RunnableLambda(run).invoke("x", config={"callbacks": [langchain_callback(tmp_path / "a.jsonl")]})
    scan = turnwire.scan(tmp_path / "a.jsonl", wire="otlp").read()
    [batch] = scan.batches
    assert list(batch["kind"]) == ["span", "tool_call", "tool_call"] and len({*batch["conversation"]}) == 1
    assert list(batch["tool"]) == [None, "add", "add"] and list(batch["error"]) == [None, None, "ValueError"]
    total = usage(tmp_path / "a.jsonl").total
    assert (total["input_tokens"], total["cache_read_tokens"], total["output_tokens"]) == (6, 4, 5)
