"""Sessions in the forms of other tools, above the cores: nothing is counted twice, nothing is lost in silence."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Iterator
from pathlib import Path
from random import Random
from threading import Timer
from typing import Any

import pytest

import turnwire
from tests.cli.running import turnwire as command
from tests.conftest import put, raised
from tests.formats import samples
from tests.formats.test_tables import rows
from turnwire import DecodeError, UnknownName, registry
from turnwire.cli.commands.ledger import POSITION, REJECT, ingest
from turnwire.formats.table import sources_of
from turnwire.handlers import LogHandler, langchain_callback
from turnwire.ledger import Ledger
from turnwire.nslip import Act, FrameType, SlipMessage, Slot
from turnwire.otel import export_spans
from turnwire.read.exporting import FORMS, Exported, export
from turnwire.read.turns import Turns
from turnwire.read.usage import TOKENS, usage

pytestmark = pytest.mark.once
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


def _responses(*order: int, session: str = "s") -> list[str]:
    """Lines of one response, the last of whose blocks has its tokens, of the results of its calls, an event, a turn."""
    shared = {"sessionId": session, "timestamp": "2025-09-01T10:00:00Z"}
    blocks = [{"type": "text", "text": "I look"}, CALL, {**CALL, "id": "t2"}]
    blocks.append({"type": "web_search_tool_result", "tool_use_id": "t1", "content": []})
    said = [
        {**MESSAGE, "content": [block], "usage": {"input_tokens": 7, "output_tokens": tokens}}
        for block, tokens in zip(blocks, (1, 1, 50, 20), strict=True)
    ]
    results = [{"type": "tool_result", "tool_use_id": f"t{number}", "content": "a"} for number in (1, 2)]
    found = [
        {"type": "assistant", "requestId": "r1", "uuid": f"a{number}", "message": one, **shared}
        for number, one in enumerate(said)
    ]
    searched = found.pop()
    found += [
        {"type": "user", "uuid": f"u{number}", "message": {"role": "user", "content": [one]}, **shared}
        for number, one in enumerate(results)
    ]
    found.append({"type": "system", "subtype": "hook", "uuid": "e", "content": "ran", **shared})
    found.append({"type": "user", "uuid": "v", "message": {"role": "user", "content": "and?"}, **shared})
    found.append(searched)
    return [json.dumps(found[number]) for number in order]


_PLAIN = _responses(0, 1, 2, 3, 4)
_SPLIT = [
    pytest.param(_PLAIN + _responses(0, 1, 2, 3, 4, session="resumed"), id="resumed"),
    pytest.param(_responses(0, 1, 3, 2, 4), id="results_between"),
    pytest.param(_responses(0, 1, 5, 3, 2, 4), id="events_between"),
    pytest.param(_responses(0, 1, 7, 2, 4), id="results_of_the_server"),
    pytest.param(_responses(0, 6, 1, 2, 3, 4), id="a_turn_between"),
    pytest.param(_responses(0, 1, 6, 2, 3, 4), id="a_turn_before_the_last"),
    pytest.param([_PLAIN[0].replace('"sessionId"', '\0"'), *_PLAIN[1:]], id="damaged_first"),
    pytest.param([_PLAIN[0], _PLAIN[1].replace('"sessionId"', '\\0"'), *_PLAIN[2:]], id="damaged_second"),
]


def test_a_line_that_waits_is_named(tmp_path: Path) -> None:
    """While it has no end; one that is a whole object needs none."""
    log, begun = tmp_path / "a.jsonl", samples.text([{"type": "thread.started", "thread_id": "t"}])
    for more, waits in ((b'{"type":"turn.st', 16), (b'{"type":"turn.started"}', 0), (b'{"type":"turn.st\n', 0)):
        log.write_bytes(begun + more)
        made = command("ledger", "ingest", tmp_path / f"{len(more)}.db", log)
        with Ledger(str(tmp_path / f"api{len(more)}.db")) as ledger:
            found = ingest(ledger, log)
        assert found.waits == (((str(log), len(begun), waits),) if waits else ())
        assert (f"{waits} bytes" in made.err) is bool(waits)


def test_blocks_of_anthropic_stay_blocks() -> None:
    """Images too, in a prompt and in the result of a tool; what the API has no block for is text."""
    image: dict[str, Any] = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}}
    a, other = {"type": "text", "text": "a"}, {"type": "reference", "id": 1}
    line: dict[str, Any] = {"type": "user", "sessionId": "s", "uuid": "u", "timestamp": "2025-09-01T10:00:00Z"}
    contents: list[list[dict[str, Any]]] = [[image], [a, a], [a, image], [a, other]]
    for content in contents:
        result = {"type": "tool_result", "tool_use_id": "t", "content": content}
        for number, blocks in enumerate(([a, image], [result])):
            told = {**line, "uuid": f"u{number}", "message": {"role": "user", "content": blocks}}
            [made] = export(samples.text([told]), "anthropic")
            [*_, last] = json.loads(made.text or "")["content"]
            assert not any("part:" in name or name == "result" for name in made.dropped)
            if number:
                kinds = ["text" if one is other else one["type"] for one in content]
                assert [one["type"] for one in last["content"]] == kinds and last["content"][0] == content[0]
            else:
                assert last == image


@pytest.mark.parametrize("log", _SPLIT)
def test_a_response_in_several_records_counts_once(log: list[str]) -> None:
    text = "\n".join(log).encode()
    said, _ = lines(text, "jsonl")
    want = usage(text).total
    assert want["tokens"] and want["responses"] == 1
    assert [sum(turn.get(name, 0) for turn in said) for name in TOKENS] == [want[name] for name in TOKENS]
    assert {turn["role"] for turn in said if any(turn.get(name) for name in TOKENS)} == {"assistant"}
    called = [turn["role"] for turn in said if any(part["kind"] in ("call", "result") for part in turn["parts"])]
    assert called == sorted(called)  # results follow all calls


@pytest.mark.parametrize("log", SESSIONS)
@pytest.mark.parametrize("to", ["jsonl", "otlp"])
def test_tokens_are_those_of_usage(log: bytes, to: str) -> None:
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


def test_tokens_that_only_a_whole_session_has_are_told() -> None:
    """Those of an agent's span or of a result beyond those of the responses, wherever they stand."""
    times = {"startTimeUnixNano": "1700000000000000000", "endTimeUnixNano": "1700000001000000000"}

    def span(number: int, operation: str, tokens: int, trace: str) -> dict[str, Any]:
        said = [attribute("gen_ai.operation.name", operation), attribute("gen_ai.usage.input_tokens", tokens)]
        return {"traceId": trace, "spanId": str(number), "name": "x", **times, "attributes": said}

    def result(session: str, fresh: int, said: int) -> dict[str, Any]:
        counts = {"input_tokens": fresh, "output_tokens": said}
        return {"type": "result", "subtype": "success", "session_id": session, "usage": counts}

    log = [span(1, "invoke_agent", 10, "aa"), span(2, "chat", 6, "aa"), span(3, "invoke_agent", 7, "bb")]
    log += [result("s", 9, 4), result("other", 9, 4), *map(json.loads, _responses(1, 2)), result("s", 5, 10_000)]
    for data in map(samples.text, (log, log[::-1])):
        said, want = lines(data, "jsonl")[0], usage(data).total
        assert want["input_tokens"] == 10 + 7 + 9 + 9 and want["output_tokens"] == 10_004
        assert all(sum(turn.get(name, 0) for turn in said) == want[name] for name in TOKENS)


def test_an_absurd_count_is_left_out_and_named() -> None:
    """As usage leaves it out: a negative count, or a cost that is no response's."""
    made, log, named = Random(1), [], []
    line = json.loads(_PLAIN[0])
    for number in range(40):
        counts = {name: made.choice((-5, 0, 3, 7)) for name in ("input_tokens", "output_tokens")}
        message, cost = {**MESSAGE, "id": f"m{number}", "usage": counts}, made.choice((-1.0, 0.5, 2e9))
        log.append({**line, "message": message, "costUSD": cost, "uuid": f"u{number}"})
        absurd = [f"member:message/usage/{name}" for name, count in counts.items() if count < 0]
        absurd = ["member:message/usage"] if len(absurd) == len(counts) else absurd  # nothing is left of it
        named.append({*absurd, *["member:costUSD"] * (not 0 <= cost < 1e9)})
    text = samples.text(log)
    said, found = lines(text, "jsonl")
    total = usage(text, mode="display").total
    assert {name: sum(turn.get(name, 0) for turn in said) for name in TOKENS} == {name: total[name] for name in TOKENS}
    assert sum(turn.get("cost", 0) for turn in said) == total["cost"] > 0 < total["tokens"]
    dropped = [{name for name in one.dropped if "usage" in name or "cost" in name} for one in found]
    assert dropped == named


def test_a_message_with_several_calls() -> None:
    log = json.dumps(MESSAGE).encode()
    [said], [told] = lines(log, "openai")
    assert said["role"] == "assistant" and said["content"] == "I look"
    assert [call["id"] for call in said["tool_calls"]] == ["t1", "t2"]
    assert said["tool_calls"][0]["function"] == {"name": "Read", "arguments": '{"path":"a"}'}
    assert {"part:image", "member:container", "model", "input_tokens"} <= {*told.dropped}
    [said], [told] = lines(log, "anthropic")
    assert said["content"] == MESSAGE["content"] and said["usage"] == MESSAGE["usage"]
    assert told.dropped == ("member:container",)
    [said], [told] = lines(log, "jsonl")
    assert [part["kind"] for part in said["parts"]] == ["text", "call", "call", "data"]


def test_messages_of_a_session_are_in_order() -> None:
    said, found = lines(CLAUDE, "openai")
    assert [one["role"] for one in said] == ["user", "assistant", "tool"] * 9
    assert [one.dropped for one in found if one.text is None] == [("summary",)]
    result = {"type": "result", "subtype": "success", "session_id": "s", "total_cost_usd": 5.0}
    assert [one.dropped for one in lines(samples.text([result]), "anthropic")[1]] == [("cost", "turn")]
    said, _ = lines(CLAUDE, "anthropic")
    assert [one["content"][0]["type"] for one in said] == ["text", "thinking", "tool_result"] * 9
    assert sum("is_error" in one["content"][0] for one in said) == 1
    assert turnwire.scan("\n".join(map(json.dumps, said)).encode(), wire="anthropic").read().rejects.rows() == []


def test_calls_are_spans_below_their_responses() -> None:
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


@pytest.mark.parametrize("log", SESSIONS)
def test_an_export_of_spans_is_read_back(log: bytes) -> None:
    """With session, project, model, tokens, times and call ids; and its spans come back as they were."""
    said, _ = lines(log, "otlp")
    back = "\n".join(map(json.dumps, said)).encode()
    for columns in (("conversation", "project"), ("call_id", "tool", "conversation"), ("model", "conversation")):
        found, want = ({tuple(map(row.get, columns)) for row in rows(one)} for one in (back, log))
        assert {row for row in want if None not in row} <= found
    for by in ("session", "project", "model", "day"):
        expected = [{**row, "cost": pytest.approx(row["cost"])} for row in usage(log, by).rows]
        assert usage(back, by).rows == expected
    again, found_again = lines(back, "otlp")
    assert {one.dropped for one in found_again} == {()}
    assert list(map(objects, again)) == list(map(objects, said))


def objects(line: dict[str, Any]) -> Any:
    """The spans or log records of a request to a collector."""
    [of] = line.get("resourceSpans") or line["resourceLogs"]
    [within] = of.get("scopeSpans") or of["scopeLogs"]
    return within.get("spans") or within["logRecords"]


def held_in(value: Any) -> Iterator[tuple[Any, ...]]:
    """Each span and log record of exports, with the other members around it."""
    for kind in ("Logs", "Spans"):
        for of in value.get(f"resource{kind}", ()) if isinstance(value, dict) else ():
            for within in of[f"scope{kind}"]:
                around = [{**one, f"scope{kind}": None, "spans": None, "logRecords": None} for one in (of, within)]
                yield from ((*around, one) for one in within.get("spans", within.get("logRecords")))
    for one in value if isinstance(value, list) else ():
        yield from held_in(one)


def test_a_span_keeps_what_is_around_it() -> None:
    """Its resource and scope, in each form of an export; what cannot be told, and what a form lacks, is named."""
    each = iter(range(100))

    def spans() -> list[dict[str, Any]]:
        return [{**OTLP_SPAN, "spanId": f"eee19b7ec3c1b{next(each):03}"} for _ in range(3)]

    def export_of(service: str) -> dict[str, Any]:
        scopes = [{"scope": {"name": name}, "schemaUrl": "u", "spans": spans()} for name in "ab"]
        resource = {"attributes": [attribute("service.name", service)], "droppedAttributesCount": 2}
        logs = [{"timeUnixNano": NANO, "body": {"stringValue": f"{service} {number}"}} for number in range(2)]
        of_logs = {"resource": resource, "scopeLogs": [{"scope": {"name": "l"}, "logRecords": logs}]}
        return {"resourceLogs": [of_logs], "resourceSpans": [{"resource": resource, "scopeSpans": scopes}]}

    made = [export_of(service) for service in ("shop", "bank", "mill")]
    for text in (
        samples.text([*made, *spans()]),
        b"\n".join(json.dumps(one, indent=1).encode() for one in made),
        json.dumps(made, indent=1).encode(),
        b"INFO " + json.dumps(made).encode(),
    ):
        said, found = lines(text, "otlp", batch_bytes=900)
        got = [one for line in said for one in held_in(line)]
        assert [one for one in got if "resource" in one[0]] == [*held_in(made)] and len(got) == len(said)
        assert {one.dropped for one in found} == {()}
        named = {name for one in lines(text, "jsonl")[1] for name in one.dropped}
        assert {"member:resource", "member:scope", "member:schemaUrl"} <= named
    cut, string = json.dumps(made[0])[:-3], json.dumps({"log": json.dumps(made[0]) + "\n", "stream": "stdout"})
    for text in (cut.encode(), string.encode()):
        found = lines(text, "otlp")[1]
        assert len(found) == 8 and {one.dropped for one in found} == {("member:resource", "member:scope")}


def test_an_unknown_form_is_refused() -> None:
    raised(UnknownName, export, CLAUDE, "xml")


def test_a_record_that_is_written_again_is_exported_once() -> None:
    """Longer, under one id. Another record of the same response is a further part of it, whatever it begins with."""

    def record(text: str, uuid: str) -> dict[str, Any]:
        message = {"id": "m", "type": "message", "role": "assistant", "model": "claude-opus-4-5", "usage": {}}
        message["content"] = [{"type": "text", "text": "First."}, {"type": "text", "text": text}]
        said = {"uuid": uuid, "sessionId": "s", "requestId": "r", "timestamp": "2026-01-05T09:00:00.000Z"}
        return {"type": "assistant", **said, "message": message}

    for uuid, expected in (("a", "First.\nHello world"), ("b", "First.\nHel\nFirst.\nHello world")):
        data = samples.text([record("Hel", "a"), record("Hello world", uuid)])
        [line] = export(data, "openai")
        assert json.loads(line.text or "")["content"] == expected
        assert "\n".join(turn.text() for turn in Turns(data)) == expected


def test_records_with_one_time_are_several() -> None:
    """Codex's have no id of their own; those of a copied history were all written at one time."""

    def record(text: str) -> dict[str, Any]:
        said = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]}
        return {"timestamp": "2026-01-05T09:00:00.000Z", "type": "response_item", "payload": said}

    assert [turn.text() for turn in Turns(samples.text([record("go"), record("go on")]))] == ["go", "go on"]


def test_events_of_one_span_are_several() -> None:
    """OpenTelemetry's logs have no id of their own, only that of the span around them."""

    def event(text: str, time: str) -> dict[str, Any]:
        span = {"traceId": "5b8efff798038103d269b633813fc60c", "spanId": "eee19b7ec3c1b174"}
        return {**span, "timeUnixNano": time, "severityText": "INFO", "body": {"stringValue": text}, "attributes": []}

    records = [event("yes", "1756720800000001000"), event("yes", "1756720802000000000")]
    records.append(event("yes please", "1756720803000000000"))
    assert [turn.text() for turn in Turns(samples.text(records))] == ["yes", "yes", "yes please"]


def test_turns_wait_for_no_other_record(tmp_path: Path) -> None:
    """They come before the error behind them, and where a log is followed that does not grow."""
    record = {"type": "user", "uuid": "a", "sessionId": "s", "timestamp": "2026-01-05T09:00:00.000Z"}
    said = json.dumps({**record, "message": {"role": "user", "content": "hi"}}) + "\n"
    found = iter(Turns((said + said[:-9] + "\n").encode(), errors="raise"))
    assert next(found).text() == "hi"
    with pytest.raises(DecodeError):
        next(found)
    path = tmp_path / "a.jsonl"
    path.write_text(said)
    grows = Timer(5, path.write_text, [said + said.replace('"a"', '"b"')])
    grows.start()
    try:
        assert next(iter(Turns(path, follow=True))).text() == "hi" and not grows.finished.is_set()
    finally:
        grows.cancel()


def test_convert_writes_them(tmp_path: Path) -> None:
    log = put(tmp_path / "a.jsonl", CLAUDE)
    for to in FORMS:
        done = command("convert", log, "--to", to)
        assert done.code == 0 and all(map(json.loads, done.out.splitlines()))
        shown = command("convert", log, "--to", to, "-v")
        assert "member:gitBranch" in shown.err
    first = json.loads(command("convert", log, "--to", "openai", "--json").out.splitlines()[0])
    assert first == {"file": str(log), "line": 1, "to": "openai", "text": None, "dropped": ["summary"]}
    for option in ("--carry", "--now"):
        refused = command("convert", log, "--to", "otlp", option)
        assert refused.code == 2 and option in refused.err
    assert command("convert", log, "--to", "sap", "--from", "codex").code == 2


def test_a_ledger_keeps_each_record_once(tmp_path: Path) -> None:
    log = put(tmp_path / "a.jsonl", CLAUDE + b'{"sessionId":"s1","parentUuid":null,"uuid":\xff\n')
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


def test_a_ledger_keeps_the_records_of_the_five_wires_without_a_word(tmp_path: Path) -> None:
    log = put(tmp_path / "a.log", b"@a3|f0|c1|S0|d1|T1#\n@a1|f0|c$#\n")
    for entries in (2, 0):
        made = command("ledger", "ingest", tmp_path / "kept.db", log)
        assert (made.code, f"{entries // 2} records" in made.err) == (entries // 2, True)
    with Ledger(tmp_path / "kept.db") as ledger:
        assert [entry.kind for entry in ledger.entries()] == ["nslip", REJECT, POSITION]


GROWING = {
    "claude_code": b"INFO " + b"\n".join(CLAUDE.splitlines()[:3]),
    "pretty": json.dumps([json.loads(line) for line in CODEX.splitlines()[:2]], indent=1).encode(),
    "alone": json.dumps(json.loads(CODEX.splitlines()[0]), indent=1).encode(),
    "nslip": b'@a3|f0|c1|S0|d1|T1#\n{"log": "@a3|f0|c2|S0|d1|T1# and"}\n'
    + b"@a3|f0|c3|S0|d1|T1# @a3|f0 bad\n@a3|f0|c3|S0|d1|T1#",
    "csp": b"CSP/1\nFROM A\nTO B\nCTX C0\nINTENT FILE\n\nFILEOP F1 CREATE\nPATH b.txt\nCONTENT\n<<<\none\n>>>\n" * 2,
    "kick": "⫻a/b:\nrefactor\n⫻c/d:e\nmore\n".encode(),
}


@pytest.mark.parametrize("what", GROWING)
def test_a_ledger_keeps_what_is_whole_at_the_end_of_a_log_that_grows(what: str, tmp_path: Path) -> None:
    """At once where nothing that may follow changes it, wherever the log is cut, and never twice."""
    log, data = tmp_path / "a.log", GROWING[what]
    wire = what if what in registry.names() else "formats"
    expected = [bytes(batch.raw(row)) for batch in turnwire.scan(data, wire=wire) for row in range(len(batch))]
    with Ledger(tmp_path / "kept.db") as ledger:
        for cut in [*range(len(data) % 3, len(data), 3), len(data)]:
            log.write_bytes(data[:cut])
            ingest(ledger, log, wire=wire)
        kept = [entry.body for entry in ledger.entries() if entry.kind not in (POSITION, REJECT)]
        assert kept == (expected if what not in ("csp", "kick") else expected[:-1])
        rejects = len([*ledger.entries(kind=REJECT)])
        log.write_bytes(data + b"\n\n")
        ingest(ledger, log, wire=wire)
        assert len([*ledger.entries(kind=REJECT)]) == rejects == (what == "nslip")
    with Ledger(tmp_path / "other.db") as ledger:
        log.write_bytes(data)
        assert ingest(ledger, log, wire=wire).counts.records == len(kept)


def test_a_handler_keeps_what_is_named_as_a_column(tmp_path: Path) -> None:
    handler = LogHandler(tmp_path / "a.log")
    log = logging.Logger("agents")
    log.addHandler(handler)
    kept = {"tool": "Bash", "input_tokens": 5, "conversation": "c", "failed": False, "cost": 0.5}
    log.info("called", extra={**kept, "other": 1, "model": None, "subject": "\ud800", "error": ["é"]})
    log.info("plain")
    handler.close()
    first, second = (json.loads(line) for line in (tmp_path / "a.log").read_text().splitlines())
    assert {name: first[name] for name in kept} == kept and "é" in first["error"] and "ud800" in first["subject"]
    assert first.keys() - second.keys() == {*kept, "subject", "error"}


def test_what_is_logged_is_scanned(tmp_path: Path) -> None:
    message = SlipMessage(3, 1, 0, 1, Act.REQUEST, FrameType.TASK, {Slot.TASK_ID: 5})
    handler = LogHandler(tmp_path / "a.log")
    log = logging.Logger("agents")
    log.addHandler(handler)
    log.info(message)
    log.info("sent %s \ud800", "it")
    log.info(turn := {"role": "user", "content": [{"type": "text", "text": "é"}]})
    try:
        raise ValueError("no")
    except ValueError:
        log.exception(message)
    handler.close()
    scan = turnwire.scan(tmp_path / "a.log", wire="nslip")
    assert [one.message for one in scan.messages()] == [message, message] and not scan.counts.rejects
    written = [json.loads(line) for line in (tmp_path / "a.log").read_text().splitlines()]
    assert [line["level"] for line in written] == ["INFO"] * 3 + ["ERROR"] and "ValueError" in written[3]["error"]
    assert [one.message.to_dict() for one in turnwire.scan(tmp_path / "a.log", wire="anthropic").messages()] == [turn]


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

    options: Any = {"callbacks": [langchain_callback(tmp_path / "a.jsonl")], "metadata": {"thread_id": "th"}}
    RunnableLambda(run).invoke("x", config=options)
    scan = turnwire.scan(tmp_path / "a.jsonl", wire="otlp").read()
    [batch] = scan.batches
    assert list(batch["kind"]) == ["span", "tool_call", "tool_call"] and {*batch["conversation"]} == {"th"}
    assert list(batch["tool"]) == [None, "add", "add"] and list(batch["error"]) == [None, None, "ValueError"]
    total = usage(tmp_path / "a.jsonl").total
    assert (total["input_tokens"], total["cache_read_tokens"], total["output_tokens"]) == (6, 4, 5)
    said, _ = lines((tmp_path / "a.jsonl").read_bytes(), "openai")
    asked, done, failed = said
    assert [one["function"]["arguments"] for one in asked["tool_calls"]] == ['{"a":1,"b":2}']
    assert (done["tool_call_id"], done["content"]) == ("c1", "3")
    assert failed["tool_calls"][0]["function"]["arguments"] == '{"a":-1,"b":0}'


def attribute(key: str, value: Any) -> dict[str, Any]:
    text = value if isinstance(value, str) else json.dumps(value)
    return {"key": key, "value": {"intValue": str(value)} if isinstance(value, int) else {"stringValue": text}}


SESSION, SAYS, ASKS, ANSWER = "session-1", "what is said", {"q": "asked"}, "an answer"
NANO = "1756720800000000000"
OTLP_SPAN = {"traceId": "5b8efff798038103d269b633813fc60c", "spanId": "eee19b7ec3c1b174", "startTimeUnixNano": NANO}
HELD: dict[str, list[dict[str, Any]]] = {}
for line in (Path(__file__).parent / "conversations.jsonl").read_text().splitlines():
    HELD.setdefault(json.loads(line)["wire"], []).append(json.loads(line)["record"])
"""Format -> records with what it can hold of a text, a call, its result, tokens, a session and a time."""
MARKS = {
    **{SAYS: "text", "asked": "call|part:data", ANSWER: "result", "7777": "input_tokens"},
    **{SESSION: "conversation", "10:00:00|1756720800": "time"},
}
"""The texts to look for: a text, a call, a result, tokens, a session and a time, and the names of its loss."""


@pytest.mark.parametrize("to", FORMS)
@pytest.mark.parametrize("wire", registry.formats())
def test_what_a_record_holds_is_carried_or_named(wire: str, to: str) -> None:
    log = samples.text(HELD[wire])
    said, found = lines(log, to)
    whole = [json.dumps(HELD[wire][one.line - 1]) for one in found if one.text is None]
    lost = " ".join(name for one in found for name in one.dropped)
    facts = [mark for mark in MARKS if re.search(mark, log.decode())]
    assert facts
    for mark in facts:
        carried = re.search(mark, "\n".join(json.dumps(one) for one in said))
        named = re.search(rf"(?:^| )(?:{MARKS[mark]})(?: |$)", lost) or any(re.search(mark, one) for one in whole)
        assert carried or (named and to in ("openai", "anthropic")), (mark, said, lost)


@pytest.mark.parametrize("wire", registry.formats())
def test_no_member_is_lost_in_silence(wire: str) -> None:
    """Each value of each vector is in the turn, or its member is named."""
    for vector in samples.vectors(wire):
        if "columns" not in vector:
            continue
        found = list(export(samples.text([vector["input"]]), "jsonl", wire=wire))
        said = "\n".join(str(one.text) for one in found)
        named = [name.removeprefix("member:") for one in found for name in one.dropped]
        for path, value in leaves(vector["input"]):
            written = (
                str(value),
                json.dumps(value, ensure_ascii=False),
                json.dumps(str(value), ensure_ascii=False)[1:-1],
            )
            told = any(path == name or path.startswith(f"{name}/") for name in named)
            assert told or any(one in said for one in written) or is_of_the_table(wire, path, value), (
                path,
                said,
                named,
            )


def is_of_the_table(wire: str, path: str, value: Any) -> bool:
    """True if a value is one of the words by which the format is known, or a part of a time or of a sum of tokens."""
    table = registry.formats()[wire].table
    every = [(name, one) for of in table.layouts for name, given in of.columns.items() for one in sources_of(given)]
    made = [one for name, one in every if name in ("time", "input_tokens") or one.how not in ("", "loose", "digits")]
    words = {word for layout in table.layouts for some in layout.signs.values() for word in some}
    words |= {word for layout in table.layouts for rule in layout.kinds for word in getattr(rule, "kinds", ())}
    steps = path.split("/")
    paths = [where.split("/") for one in made for where in (one.path, one.start)]
    alike = any(len(one) == len(steps) and all(map(is_step, one, steps)) for one in paths)
    return alike or steps[-1] in ("type", "kind") or (isinstance(value, str) and value in words)


def is_step(step: str, of: str) -> bool:
    return step in ("{}", of)


def leaves(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """The values in an object that say something, with their paths as losses have them."""
    if isinstance(value, dict | list):
        items = value.items() if isinstance(value, dict) else (("*", one) for one in value)
        for key, one in items:
            keyed = key == "*" and isinstance(one, dict) and {"key", "value"} <= {*one}
            step = f"[{one['key']}]" if keyed else key
            inner = one["value"] if keyed else one
            yield from leaves(inner, f"{path}/{step}" if path else step)
    elif value not in (None, ""):
        yield path, value


def event(name: str, **members: Any) -> dict[str, Any]:
    return {"timeUnixNano": NANO, "name": name, "attributes": [attribute(key, one) for key, one in members.items()]}


def spoken(said: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    """Who says what, in messages for the API of OpenAI."""
    calls = [[(one["id"], one["function"]["arguments"]) for one in message.get("tool_calls", ())] for message in said]
    return [(one["role"], one["content"], *of) for one, of in zip(said, calls, strict=True)]


ASKED, GIVEN = ("user", "why?"), ("tool", ANSWER)
WRITTEN = json.dumps(ASKS, separators=(",", ":"))
CONVENTIONS = [
    json.loads(line) for line in (Path(__file__).parent / "conventions.jsonl").read_text("utf-8").splitlines()
]
"""How traces have told messages, in each version of the conventions, and records that tell the same so."""


@pytest.mark.parametrize("told", CONVENTIONS, ids=[told["how"] for told in CONVENTIONS])
def test_spans_have_the_messages_of_each_version_of_the_conventions(told: dict[str, Any]) -> None:
    """A history that was told before is not told again."""
    said, _ = lines(samples.text(told["records"]), "openai")
    assert spoken(said) == [ASKED, ("assistant", SAYS, ("c1", WRITTEN)), GIVEN]


def test_records_of_several_messages_are_conversations() -> None:
    said, _ = lines(samples.text(HELD["inspect"]), "openai")
    assert spoken(said) == [ASKED, ("assistant", SAYS, ("c1", WRITTEN)), GIVEN]
    task = HELD["a2a"][0]
    later = {**task, "history": [*task["history"], {"messageId": "m2", "role": "agent", "parts": [{"text": "more"}]}]}
    said, found = lines(samples.text([task, {**later, "artifacts": []}]), "openai")
    assert spoken(said) == [("user", SAYS), ("assistant", ANSWER), ("assistant", "more")]
    assert "part:data" in found[1].dropped
    said, _ = lines(samples.text(HELD["openai"][1:]), "openai")
    assert spoken(said) == [GIVEN, ("user", "?")]


def test_show_prints_them(tmp_path: Path) -> None:
    log = tmp_path / "a.jsonl"
    for wire, expected in (
        ("inspect", ("why?", SAYS, ANSWER, "[target]", "look")),
        ("a2a", (SAYS, ANSWER, "asked")),
        ("l9", (SAYS, "asked", "ada → bob")),
        ("otlp", ("why?", SAYS, ANSWER)),
        ("openai", (SAYS, ANSWER)),
    ):
        actors = [{"role": "sender", "id": "ada"}, {"role": "receiver", "id": "bob"}]
        header = {"header": {**HELD["l9"][0]["header"], "participants": {"actors": actors}}} if wire == "l9" else {}
        log.write_bytes(samples.text({**one, **header} for one in HELD[wire]))
        done = command("show", log)
        assert done.code == 0 and all(one in done.out.decode() for one in expected), done.out
