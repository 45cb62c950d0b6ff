"""Tokens and cost: each response once, whatever was said again, and the same as counted without turnwire."""

from __future__ import annotations

import json
import os
import shlex
import sys
from collections.abc import Iterator
from datetime import datetime
from decimal import Decimal
from itertools import cycle, islice, permutations, product
from pathlib import Path
from random import Random
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from tests.cli.running import turnwire
from tests.conftest import put, raised, rounds
from tests.formats import samples
from turnwire import UnknownName
from turnwire.formats.prices import PRICES as PACKAGED, price_of
from turnwire.log import stats
from turnwire.read.exporting import export
from turnwire.read.turns import Turns
from turnwire.read.usage import BY, MODES, Usage, known_folders, usage
from turnwire.report import report

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


@pytest.mark.once
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
    raised(UnknownName, usage, str(folder), "hour")
    with pytest.raises(ValueError, match="time zone"):
        usage(str(folder), timezone="Nowhere/At_All")


RATES = {"input": 3, "output": 15, "cache_read": 0.3, "cache_write": 3.75}
ABOVE = {"input": 6, "output": 22.5, "cache_read": 0.6, "cache_write": 7.5}
PRICES = {"m-1": {**RATES, "fast": 6}, "m-2": {**RATES, "above_200k": ABOVE}}


def odd_sessions(made: Random) -> list[dict[str, Any]]:
    """Responses with all that counts are wrong by: blocks, side conversations that say again what their parents said,
    two durations of caches, long contexts, the fast mode, costs of the file, days that differ by time zone."""
    lines: list[dict[str, Any]] = []
    for number in range(40):
        shared = {
            "sessionId": f"s{number % 3}",
            "cwd": "/p",
            "version": "2.1.0",
            "parentUuid": None,
            "type": "assistant",
        }
        for block in range(made.randrange(1, 4)):
            written = made.randrange(300_000)
            usage: dict[str, Any] = {
                "input_tokens": made.randrange(300_000),
                "output_tokens": made.randrange(900),
                "cache_creation_input_tokens": written,
                "cache_read_input_tokens": made.randrange(500_000),
            }
            if made.random() < 0.7:
                hour = made.randrange(written + 1)
                usage["cache_creation"] = {
                    "ephemeral_5m_input_tokens": written - hour,
                    "ephemeral_1h_input_tokens": hour,
                }
            if block and made.random() < 0.4:
                usage = {**lines[-1]["message"]["usage"]}
            if made.random() < 0.4:
                usage["speed"] = made.choice(("fast", "standard"))
            line = {
                **shared,
                "uuid": f"u{number}-{block}",
                "timestamp": f"2026-03-{28 + number % 2}T{made.randrange(24):02}:30:00.000Z",
                "message": {"id": f"msg{number % 25}", "role": "assistant", "model": f"m-{number % 3}", "usage": usage},
                "requestId": f"req{number % 25}" if made.random() < 0.8 else f"req{number}",
                "isSidechain": made.random() < 0.25,
            }
            if made.random() < 0.2:
                line["costUSD"] = made.randrange(100) / 8
            lines.append(line)
    made.shuffle(lines)
    return lines


def as_ccusage(lines: list[dict[str, Any]], mode: str, zone: str) -> dict[str, dict[str, list[float]]]:
    """By the rules of ccusage (its revision 5816e640, for Claude Code), told one after another: the day and the model
    -> input, output, cache written and read, cost."""
    kept: list[dict[str, Any]] = []
    for line in lines:
        same = [one for one in kept if one["message"]["id"] == line["message"]["id"]]
        exact = [one for one in same if one["requestId"] == line["requestId"]]
        replayed = [one for one in same if line["isSidechain"] or one["isSidechain"]]
        before = next(iter(exact + replayed), None)
        if before is None:
            kept.append(line)
        elif line["isSidechain"] != before["isSidechain"]:
            kept[kept.index(before)] = before if line["isSidechain"] else line
        else:
            worth = [(sum(_spent(one)), "speed" in one["message"]["usage"]) for one in (before, line)]
            kept[kept.index(before)] = line if worth[1] > worth[0] else before
    found: dict[str, dict[str, list[float]]] = {"day": {}, "model": {}}
    for line in kept:
        moment = datetime.fromisoformat(line["timestamp"]).astimezone(ZoneInfo(zone))
        message = line["message"]
        fast = message["usage"].get("speed") == "fast"
        cost = line.get("costUSD", 0.0) if mode == "display" else _calculated(message, fast)
        cost = line.get("costUSD", cost) if mode == "auto" else cost
        for by, value in (("day", str(moment.date())), ("model", message["model"] + "-fast" * fast)):
            sums = found[by].setdefault(value, [0.0] * 5)
            found[by][value] = [one + more for one, more in zip(sums, (*_spent(line), cost), strict=True)]
    return found


def _spent(line: dict[str, Any]) -> list[int]:
    usage = line["message"]["usage"]
    return [
        usage["input_tokens"],
        usage["output_tokens"],
        usage["cache_creation_input_tokens"],
        usage["cache_read_input_tokens"],
    ]


def _calculated(message: dict[str, Any], fast: bool) -> float:
    price: Any = PRICES.get(message["model"])
    if price is None:
        return 0.0
    above, usage = price.get("above_200k", price), message["usage"]
    kept = usage.get("cache_creation", {"ephemeral_5m_input_tokens": usage["cache_creation_input_tokens"]})
    asked = [
        (usage["input_tokens"], price["input"], above["input"]),
        (usage["output_tokens"], price["output"], above["output"]),
        (kept.get("ephemeral_5m_input_tokens", 0), price["cache_write"], above["cache_write"]),
        (kept.get("ephemeral_1h_input_tokens", 0), price["input"] * 2, above["input"] * 2),
        (usage["cache_read_input_tokens"], price["cache_read"], above["cache_read"]),
    ]
    cost = sum(min(count, 200_000) * rate + max(count - 200_000, 0) * more for count, rate, more in asked)
    return cost / 1e6 * (price.get("fast", 1) if fast else 1)


@pytest.mark.once
def test_totals_are_those_of_ccusage(monkeypatch: pytest.MonkeyPatch) -> None:
    """In any order of lines, and also where what was counted is merged often."""
    zones = ("UTC", "Europe/Berlin", "Asia/Kolkata")
    for seed, (mode, zone, merge) in zip(range(rounds(24)), cycle(product(MODES, zones, (1 << 16, 3))), strict=False):
        monkeypatch.setattr("turnwire.read.usage._MERGE", merge)
        lines = odd_sessions(Random(seed))
        expected = as_ccusage(lines, mode, zone)
        for by in ("day", "model"):
            found = usage(samples.text(lines), by, prices=PRICES, mode=mode, timezone=zone, batch_bytes=1 << 12)
            names = ("input_tokens", "output_tokens", "cache_write_tokens", "cache_read_tokens", "cost")
            assert {row[by]: [row[name] or 0 for name in names] for row in found.rows} == {
                value: pytest.approx(sums) for value, sums in expected[by].items()
            }
            assert mode == "display" or {*found.unpriced} <= {"m-0", "m-0-fast"}


def test_a_response_with_a_damaged_record_has_the_counts_of_its_best_copy(scan_core: str) -> None:
    """Of a line that is cut off behind it the message is read, whose request and session the other lines tell. Which
    response a damaged line is of is told, also where its tokens are lost."""
    lines = SESSIONS[0][:11]
    last = samples.text([lines[4]])  # with the most tokens
    for damaged, best in (
        (last.partition(b',"requestId"')[0], lines[4]),
        (last.replace(b',"requestId"', b'\0\0,"requestId"'), lines[4]),
        (last[: last.index(b'"usage"')], lines[3]),
        (last.replace(b'"usage"', b'\0"usage"'), lines[3]),
        (last[:40], lines[3]),
    ):
        others = [line for line in lines if line is not lines[4]]
        for files in ([*others, damaged], [damaged, *others], [*lines[:4], damaged, *lines[5:]]):
            found = usage(samples.text(files), "session")
            expected = samples.claude_totals([*others, best])
            assert totals(usage(samples.text(files))) == expected
            [row] = found.rows
            assert (row["session"], row["responses"], row["incomplete"]) == ("s1", 2, len(found.incomplete))
            assert found.incomplete == (() if damaged == last[:40] else ("msg_1_0",))
            assert found.counts.rejects == 1
    cut = last.partition(b',"requestId"')[0]
    assert [usage(cut).total[name] for name in ("responses", "incomplete")] == [1, 1]
    assert usage(samples.text([*lines, cut]), where={"model": {samples.MODELS[1]}}).incomplete == ()


@pytest.mark.once
def test_damaged_counts_without_an_id_are_told() -> None:
    """By what the record before belongs to, wherever they are cut. A record with a word of another kind is no count."""
    whole = samples.text(samples.codex(5)).splitlines(keepends=True)
    places = {"session": "0199-1", "model": "gpt-5", "project": "/home/ada/q1", "wire": "codex", "day": "2025-09-01"}
    for at, word in ((27, b"token_count"), (23, b"user_message")):
        for end in (12, 50, whole[at].index(word) + len(word) + 1, len(whole[at]) - 3):
            data = b"".join([*whole[:at], whole[at][:end] + b"\n", *whole[at + 1 :]])
            many = int(at == 27 or end <= 50)
            assert usage(data).lost == ({"0199-1": 1} if many else {})
            assert usage(b"".join([*whole[:at], whole[at][:end]])).lost == usage(data).lost  # nothing is behind it
            found = {by: {row[by]: row["incomplete"] for row in usage(data, by).rows} for by in places}
            assert [found[by][value] for by, value in places.items()] == [many] * len(places)
            told = [usage(data, where={"model": model}).total["incomplete"] for model in ("gpt-5", "gpt-5-codex")]
            assert told == [many, 0]


USED = ("input_tokens", "output_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")


def damaged(line: bytes, other: bytes, made: Random) -> bytes:
    """A line as those on disks are damaged: cut, begun twice, with NULs in it or over it, mixed with another."""
    at, zeros = made.randrange(1, len(line)), b"\0" * made.randrange(1, 90)
    return made.choice(
        (
            line[:at],
            line[:at] + line,
            line[:at] + zeros + line[at:],
            line[:at] + zeros + line[at + len(zeros) :],
            line[:at] + other + b"\n" + line[at:],
        )
    )


def members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object, none of whose keys comes twice."""
    if len(dict(pairs)) < len(pairs):
        raise ValueError("a key comes twice")
    return dict(pairs)


def readable(data: bytes) -> Iterator[dict[str, Any]]:
    """All objects that can be read, from left to right."""
    text, at, decoder = data.decode(), 0, json.JSONDecoder(object_pairs_hook=members)
    while (at := text.find("{", at)) >= 0:
        try:
            found, at = decoder.raw_decode(text, at)
            yield found
        except ValueError:
            at += 1


def test_totals_of_damaged_sessions(scan_core: str) -> None:
    """Of each response the readable copy with the most tokens counts, and what is lost is told. What somebody read or
    wrote is no response, also on a damaged line."""
    for seed in range(rounds(6)):
        made = Random(seed)
        lines = samples.claude_code(5, 1) + samples.claude_code(5, 2)
        quoted = json.dumps({**lines[4], "message": {**lines[4]["message"], "id": "msg_quoted"}})
        lines.insert(5, {**lines[5], "toolUseResult": {"stdout": quoted}})
        whole = samples.text([*lines, *lines[: made.randrange(20)]]).splitlines()
        odd = (b"%b\r", b"\n \n%b", b"\xef\xbb\xbf%b")
        hurt = {at: b"" for at in range(len(whole)) if made.random() < 0.25 or at == 5}
        for at in hurt:
            hurt[at] = damaged(whole[at], whole[made.choice((1, 4))], made)
        files = [
            hurt.get(at, made.choice(odd) % line if made.random() < 0.2 else line) for at, line in enumerate(whole)
        ]
        data = b"\n".join(files).replace(b'"the \\u00e9', b'"the \\udce9')
        best, session = dict[str, list[int]](), dict[str, str | None]()
        for record in readable(data.replace(b"\\udce9", b"x")):
            message = record.get("message", record)
            if "usage" in message and {"type", "role", "content", "model", "id"} <= {*message}:
                counts = [message["usage"].get(name, 0) for name in USED]
                best[message["id"]] = max(best.get(message["id"], counts), counts, key=sum)
                session[message["id"]] = session.get(message["id"]) or record.get("sessionId")
        expected: dict[str | None, list[int]] = {}
        for one, counts in best.items():
            sums = expected.setdefault(session[one], [0] * 5)
            expected[session[one]] = [sums[0] + 1, *(map(sum, zip(sums[1:], counts, strict=True)))]
        found = usage(data, "session", batch_bytes=made.choice((1 << 20, 3000)))
        names = ("responses", "input_tokens", "output_tokens", "cache_write_tokens", "cache_read_tokens")
        assert {row["session"]: [row[name] for name in names] for row in found.rows} == expected
        said = [line["message"] for line in lines if "usage" in line.get("message", {})]
        before = {one["id"]: sum(map(one["usage"].__getitem__, USED)) for one in said}  # the last one has the most
        told = {one for one in best if any(b'"id":"%b"' % one.encode() in line for line in hurt.values())}
        assert {one for one in told if sum(best[one]) < before[one]} <= {*found.incomplete} <= {*best}


@pytest.mark.once
def test_a_cost_of_which_nothing_is_known_is_none(tmp_path: Path) -> None:
    """And one of which a part is not known is a lower bound: the models of that part are told with their tokens."""
    (tmp_path / "a.jsonl").write_bytes(samples.text([*SESSIONS[0], SESSIONS[1][4]]))
    (tmp_path / "prices.toml").write_text(f"[{samples.MODELS[1]}]\ninput = 1\noutput = 1\n")
    spent = {model: sum(counts[1:]) for model, counts in samples.claude_totals(SESSIONS[0]).items()}
    other = sum(samples.claude_totals([SESSIONS[1][4]])[samples.MODELS[0]][1:])
    command = "usage", tmp_path / "a.jsonl", "--prices", tmp_path / "prices.toml", "--by"
    found = {row["session"]: row for row in turnwire(*command, "session", "--json").records}
    assert found["s1"]["cost"] > 0 and found["s1"]["unpriced"] == {samples.MODELS[0]: spent[samples.MODELS[0]]}
    assert (found["s2"]["cost"], found["s2"]["unpriced"]) == (None, {samples.MODELS[0]: other})
    found = {row["model"]: row for row in turnwire(*command, "model", "--json").records}
    assert found[samples.MODELS[0]]["cost"] is None and found[samples.MODELS[1]]["unpriced"] == {}
    total = usage(str(tmp_path / "a.jsonl"), "session", prices={samples.MODELS[1]: {"input": 1, "output": 1}}).total
    assert total["unpriced"] == {samples.MODELS[0]: spent[samples.MODELS[0]] + other}
    shown = usage(samples.text(SESSIONS[0]), mode="display")  # the file has no costs
    assert shown.total["cost"] is None and shown.unpriced == spent


def test_a_copied_history_counts_once() -> None:
    """That of a rollout that was forked, and of one whose agent was started with the history before it."""
    lines = samples.codex()
    head, copied = lines[0]["payload"], lines[1:-8]
    later = [{**line, "timestamp": "2025-09-03T00:00:00.250Z"} for line in copied]
    started = {"subagent": {"thread_spawn": {"parent_thread_id": head["id"], "depth": 1}}}
    for more in ({"forked_from_id": head["id"]}, {"source": started}):
        fork = [{**lines[0], "payload": {**head, "id": "fork", **more}}, *later]
        for files in ([*lines, *fork], [*fork, *lines]):
            assert usage(samples.text(files)).total["responses"] == usage(samples.text(lines)).total["responses"]


@pytest.mark.once
@pytest.mark.parametrize("names", [("a", "b"), ("b", "a")])
def test_a_response_is_of_the_file_that_begins_first(names: tuple[str, str], tmp_path: Path) -> None:
    """Whatever the names: a session that was resumed has the end of the history before it in its own file."""
    lines = [line for line in samples.claude_code(3) if line["type"] == "assistant"]
    resumed = [{**line, "sessionId": "resumed"} for line in lines[3:]]
    for name, told in zip(names, (lines[:6], resumed), strict=True):
        (tmp_path / f"{name}.jsonl").write_bytes(samples.text(told))
    assert {row["session"]: row["responses"] for row in usage(tmp_path, "session").rows} == {"s1": 2, "resumed": 1}


@pytest.mark.once
@pytest.mark.parametrize("session", [{}, {"gen_ai.conversation.id": "c1"}])
def test_the_tokens_of_an_agent_count_once_in_its_trace(session: dict[str, str]) -> None:
    """Also if its responses name no session, and are no children of its span."""

    def span(number: int, operation: str, tokens: int, **more: str) -> dict[str, Any]:
        said = {"gen_ai.operation.name": {"stringValue": operation}, "gen_ai.usage.input_tokens": {"intValue": tokens}}
        said |= {name: {"stringValue": value} for name, value in more.items()}
        attributes = [{"key": name, "value": value} for name, value in said.items()]
        times = {"startTimeUnixNano": "1700000000000000000", "endTimeUnixNano": "1700000001000000000"}
        return {"traceId": "aa", "spanId": str(number), "name": "x", **times, "attributes": attributes}

    spans = [span(1, "invoke_agent", 10, **session), span(2, "chat", 6), span(3, "chat", 4)]
    total = usage(samples.text(spans)).total
    assert (total["responses"], total["input_tokens"]) == (2, 10)
    of = "gen_ai.conversation.id"  # an agent of two sessions, of which one has further traces, with and without one
    spans = [span(1, "invoke_agent", 12), *(span(at, "chat", at, **{of: f"c{at % 2}"}) for at in (2, 3))]
    spans += [{**span(4, "chat", 5, **{of: "c1"}), "traceId": "bb"}]
    spans += [{**span(at, "invoke_agent", at, **{of: "c1"}), "traceId": "cc"} for at in (7, 8)]
    for order in islice(permutations(spans), 0, None, 29):
        rows = usage(samples.text(order), "session").rows
        assert {row["session"]: row["input_tokens"] for row in rows} == {"c0": 2, "c1": 12 - 2 + 5 + 8}
        exported = (json.loads(one.text or "{}") for one in export(samples.text(order), "jsonl"))
        assert sum(turn.get("input_tokens", 0) for turn in exported) == 12 + 5 + 8


def test_providers_differ_in_whether_cached_tokens_are_input_and_reasoning_is_output() -> None:
    """In samples of inspect_ai the total tells, also of two models; without one both are what the file says."""
    said = {
        "m/apart": {
            "input_tokens": 10,
            "output_tokens": 5,
            "input_tokens_cache_read": 70,
            "input_tokens_cache_write": 3,
        },
        "m/within": {"input_tokens": 90, "output_tokens": 4, "input_tokens_cache_read": 60, "reasoning_tokens": 3},
        "m/thinks": {"input_tokens": 50, "output_tokens": 5, "reasoning_tokens": 20},
        "m/both": {"input_tokens": 50, "output_tokens": 5, "input_tokens_cache_read": 40, "reasoning_tokens": 20},
    }
    totals = {"m/apart": 88, "m/within": 94, "m/thinks": 75, "m/both": 75}
    for names, given, fresh, written in (
        (["m/apart"], True, 10, 5),
        (["m/within"], True, 30, 4),
        (["m/thinks"], True, 50, 25),
        (["m/both"], True, 10, 25),
        (["m/apart", "m/within"], True, 40, 9),
        (["m/apart", "m/thinks"], True, 60, 30),
        (["m/apart", "m/thinks"], 0, 60, 10),
    ):
        counts = {name: {**said[name], **({"total_tokens": totals[name]} if given else {})} for name in names}
        sample = {"id": 1, "epoch": 1, "input": "q", "target": "a", "messages": [], "model_usage": counts}
        found, [*_, turn] = usage(samples.text([sample])).total, Turns(samples.text([sample]))
        assert found["input_tokens"] == turn.tokens["input_tokens"] == fresh
        assert found["output_tokens"] == turn.tokens["output_tokens"] == written
        assert not given or found["tokens"] == sum(totals[name] for name in names)


def test_known_folders_are_those_of_the_variables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    places = [tmp_path / "a" / "projects", tmp_path / "b" / "projects", tmp_path / "c" / "archived_sessions"]
    for place in places:
        place.mkdir(parents=True)
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", f"{tmp_path / 'a'}, {tmp_path / 'b'}")
    monkeypatch.setenv("CODEX_HOME", str(tmp_path / "c"))
    assert list(known_folders()) == list(map(str, places))


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        ("anthropic/claude-opus-4.6", (5, 1)),
        ("us.anthropic.claude-sonnet-4-5-20250929-v1:0", (3, 1)),
        ("claude-opus-4-8-fast", (5, 2)),
        ("gpt-5.1-codex-max-2026-01-01", (1.25, 1)),
        ("claude-opus-4-80", None),
    ],
)
def test_a_model_has_the_price_of_its_name(model: str, expected: Any) -> None:
    price = price_of(model, PACKAGED)
    assert (price and (price.input, price.fast)) == expected


@pytest.mark.once
def test_a_report_names_the_costliest_session(folder: Path) -> None:
    """By the tokens of its responses, each once, and counts no others; a conversation of another format is apart."""
    dearest, *_ = rows = usage(folder, "session").rows
    tokens = {row["session"]: row["tokens"] for row in rows}
    said = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m", "gen_ai.conversation.id": dearest["session"]}
    attributes: list[Any] = [{"key": key, "value": {"stringValue": text}} for key, text in said.items()]
    attributes.append({"key": "gen_ai.usage.input_tokens", "value": {"intValue": str(dearest["tokens"])}})
    other = {"traceId": "t", "spanId": "a", "name": "chat", "startTimeUnixNano": "1", "attributes": attributes}
    (folder / "other.jsonl").write_bytes(samples.text([other]))
    data = report(folder, wire="formats").data
    assert data["totals"]["tokenizer"] is None
    assert {row["session"]: row["tokens"] for row in usage(folder, "session").rows} != tokens
    [text] = [text for text, *_ in data["findings"] if "costliest" in text]
    assert f"{dearest['session']} (claude_code): {dearest['tokens']:,} tokens" in text


def test_counts_of_any_size_add_up() -> None:
    """Also where the file is wrong by far."""
    lines = [{**SESSIONS[0][4], "requestId": f"r{number}"} for number in range(3)]
    usage_of = {"input_tokens": 2**63 - 1, "output_tokens": 1}
    data = samples.text({**line, "message": {**line["message"], "usage": usage_of}} for line in lines)
    assert usage(data).total["input_tokens"] == 3 * (2**63 - 1)


def test_counts_are_integers_however_they_are_written(scan_core: str) -> None:
    """A count that is no integer of 64 bits counts as 0 and is told, as a negative one is."""
    made = Random(5)
    written = ["3.0", "2.5", "3e2", "1e25", str(10**25), "-4", "-0.0", "9223372036854775807.0", "9223372036854775808"]
    written += [f"{made.randrange(10**9)}.{made.choice((0, 5, 25))}e{made.randrange(-3, 12)}" for _ in range(40)]
    numbers = [Decimal(text) for text in written]
    good = [0 <= number < 2**63 and number == int(number) for number in numbers]
    [line] = samples.text([SESSIONS[0][4]]).splitlines()
    said = SESSIONS[0][4]["message"]["usage"]["output_tokens"]
    sample: dict[str, Any] = {
        "epoch": 1,
        "input": "",
        "target": "",
        "messages": [],
        "model_usage": {"a": {"output_tokens": 1}},
    }
    for text, wire in (
        (line.replace(b'"output_tokens":%d' % said, b'"output_tokens":@'), "claude_code"),
        (
            json.dumps({**sample, "model_usage": {**sample["model_usage"], "b": {"output_tokens": "@"}}}).encode(),
            "inspect",
        ),
    ):
        every = [text.replace(b'"@"', b"@").replace(b"@", one.encode()) for one in written]
        data = b"\n".join(one.replace(b"req_1_0", b"r%d" % number) for number, one in enumerate(every))
        more = wire == "inspect"
        found = usage(data, wire=wire)
        assert found.total["responses"] == len(written) and found.counts.rejects == 0
        valid = [number + more for number, one in zip(numbers, good, strict=True) if one and number + more < 2**63]
        assert (found.total["output_tokens"], found.unusable) == (sum(map(int, valid)), len(written) - len(valid))


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


def responses(files: list[list[dict[str, Any]]]) -> list[dict[str, Any]]:
    """The responses of sessions of Claude Code and of rollouts, told one line after another: of copies the first with
    the most tokens, with the first tool of all of them, and with what was said before it in its rollout, also of
    tools."""
    found: dict[Any, dict[str, Any]] = {}
    for lines in files:
        before, called = dict[str, Any](), None
        for line in lines:
            payload, message = line.get("payload", {}), line.get("message", {})
            if line["type"] == "session_meta":
                before["conversation"] = payload["id"]
            before |= {name: payload[key] for name, key in (("model", "model"), ("project", "cwd")) if payload.get(key)}
            called = called or payload.get("name")
            if payload.get("info"):
                counts, key = payload["info"]["last_token_usage"], json.dumps([before["conversation"], payload["info"]])
                said, output = {**before, "kind": "usage", "tool": called}, counts["output_tokens"]
                called = None
            elif "usage" in message:
                [block], key, output = message["content"], line["requestId"], message["usage"]["output_tokens"]
                said = {"model": message["model"], "conversation": line["sessionId"], "project": line["cwd"]}
                kinds = {"thinking": "reasoning", "text": "assistant", "tool_use": "tool_call"}
                said |= {"kind": kinds[block["type"]], "tool": block.get("name")}
            else:
                continue
            said |= {"time": line["timestamp"], "output": output}
            kept = found.setdefault(key, said)
            tool = kept["tool"] or said["tool"]
            found[key] = {**(said if output > kept["output"] else kept), "tool": tool}
    return [*found.values()]


CONDITIONS: tuple[tuple[dict[str, Any], str], ...] = (
    ({"model": {"gpt-5-codex"}}, "model"),
    ({"model": {"gpt-5", samples.MODELS[0]}, "kind": {"usage", "tool_call"}}, "project"),
    ({"conversation": {"0199-2", "s1"}}, "session"),
    ({"project": {"/home/ada/q1", "/home/ada/p2"}}, "project"),
    ({"time": ("2025-09-01T00:31:00Z", "2025-09-01T10:00:02Z")}, "model"),
    ({"tool": {None, "Bash"}}, "tool"),
    ({"tool": {"Read"}, "project": ("/home/ada/p1", "/home/ada/q2")}, "session"),
    ({"kind": {"assistant"}}, "model"),
    ({"conversation": {None}}, "model"),
)
"""Conditions, and what is added up by."""


def test_conditions_hold_for_responses(tmp_path: Path, scan_core: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """For what they inherit, and for what is left of their copies; the rows are those of a usage without conditions."""
    monkeypatch.setattr("turnwire.read.usage._MERGE", 99)
    files = [*SESSIONS, *(samples.codex(seed=seed) for seed in (1, 2)), SESSIONS[0]]
    for number, lines in enumerate(files):
        (tmp_path / f"{number}.jsonl").write_bytes(samples.text(lines))

    def fits(value: Any, wanted: Any) -> bool:
        return wanted[0] <= value < wanted[1] if isinstance(wanted, tuple) else value in wanted

    told = responses(files)
    assert len(told) == 60 + 24
    for where, by in CONDITIONS[:: 1 if scan_core == "native" else 2]:
        name, expected = {"session": "conversation"}.get(by, by), dict[Any, list[int]]()
        for said in told:
            if all(fits(said[column], wanted) for column, wanted in where.items()):
                count, output = expected.get(said[name], (0, 0))
                expected[said[name]] = [count + 1, output + said["output"]]
        found = usage(str(tmp_path), by, where=where, batch_bytes=20_000).rows
        assert {row[by]: [row["responses"], row["output_tokens"]] for row in found} == expected
        if {*where} == {name}:
            assert found == [row for row in usage(str(tmp_path), by).rows if fits(row[by], where[name])]


@pytest.mark.once
def test_the_command(folder: Path) -> None:
    done = turnwire("usage", folder, "--by", "model", "--json")
    assert done.code == 0 and done.records == usage(str(folder)).rows
    *_, last = turnwire("usage", folder, "--by", "session").out.decode().splitlines()
    assert last.split()[:2] == ["total", "60"]
    done = turnwire("usage", folder, "--where", "tool=Bash", "--by", "tool", "--json")
    assert done.records == [row for row in usage(str(folder), "tool").rows if row["tool"] == "Bash"]
    prices = put(folder / "prices.toml", '["claude-sonnet-4-5"]\ninput = 1\noutput = 1\n')
    shown = turnwire("usage", folder / "a.jsonl", "--prices", prices)
    assert shown.code == 0 and samples.MODELS[1] in shown.err
    (folder / "a.jsonl").write_bytes(samples.text(SESSIONS[0])[:-30])
    assert turnwire("usage", folder).code == 1
    (folder / "none.txt").write_text("nothing here\n")
    assert turnwire("usage", folder / "none.txt").code == 4


def test_spans_are_told_with_their_trees() -> None:
    tool = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "find", "error.type": "timeout"}
    attributes = [{"key": name, "value": {"stringValue": value}} for name, value in tool.items()]
    span = {"traceId": "a", "startTimeUnixNano": "1700000000000000000", "endTimeUnixNano": "1700000000000000001"}
    parents = {"3": "2", "2": "1", "1": "", "5": "9", "6": "7", "7": "6"}  # the last two are a circle
    log = [{**span, "spanId": one, "parentSpanId": parent, "name": "n"} for one, parent in parents.items()]
    log[0]["attributes"] = attributes
    assert list(stats(samples.text(log), wire="otlp").calls.rows(9)) == [
        {
            "stat": "tool",
            "wire": "otlp",
            "tool": "find",
            "calls": 1,
            "answered": 0,
            "failed": 1,
            "p50": None,
            "p95": None,
        },
        {"stat": "tree", "wire": "otlp", "spans": 6, "roots": 1, "orphans": 1, "deepest": 3},
    ]


@pytest.mark.parametrize(
    ("name", "tools"),
    [
        ("mcp", [("add", 2, 2, 1), ("sub", 1, 1, 1)]),
        ("langchain", [("look_up", 1, 1, 0)]),
        ("codex", [("shell", 2, 2, 0)]),
        ("otlp", [("look_up", 1, 0, 1)]),
    ],
)
def test_calls_of_a_sample_have_their_results(name: str, tools: list[tuple[Any, ...]]) -> None:
    found = stats(str(samples.FOLDER / name / "samples.jsonl"), wire=name).calls.rows(9)
    assert [tuple(row.values())[2:6] for row in found if row["stat"] == "tool"] == tools


LINES = (Path(__file__).parent / "cases.jsonl").read_text("utf-8").splitlines()
CASES = {case["about"]: case for case in map(json.loads, LINES)}
"""Lines of files, and what is found of them: tools (calls, answered, failed), answers (requests, answered), how many
turns, the costs of sessions in a mode and how many are unusable, or the responses of models (and their output)."""


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_what_comes_again_is_a_copy_by_its_id_and_counts_once(
    case: dict[str, Any], tmp_path: Path, scan_core: str
) -> None:
    for number, lines in enumerate(case["files"]):
        (tmp_path / f"{number}.jsonl").write_bytes(samples.text(lines))
    log, price = str(tmp_path), {"m-1": RATES}
    if "turns" in case:
        assert len([*Turns(log)]) == case["turns"]
    if "tools" in case:
        found = stats(log, wire="formats")
        rows = [row for row in found.calls.rows(9) if row["stat"] == "tool"]
        assert {row["tool"]: [row["calls"], row["answered"], row["failed"]] for row in rows} == case["tools"]
        pairs = found.pairings.values()
        assert [sum(one.requests for one in pairs), sum(one.answered for one in pairs)] == case["answers"]
    if "costs" in case:
        by = usage(log, "session", prices=price, mode=case["mode"])
        costs = {row["session"]: row["cost"] for row in by.rows}
        assert costs == pytest.approx(case["costs"]) and by.unusable == case["unusable"]
        assert by.total["cost"] == pytest.approx(sum(costs.values())) and by.total["input_tokens"] >= 0
    if "outputs" in case:
        rows = {row["model"] or "": [row["responses"], row["output_tokens"]] for row in usage(log).rows}
        assert rows == case["outputs"]
    if "responses" in case:
        assert {row["model"]: row["responses"] for row in usage(log).rows} == case["responses"]


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
    (folder / "e.jsonl").write_bytes(samples.text([{"type": "summary", "summary": "done", "leafUuid": "x"}]))
    assert turnwire("show", folder / "e.jsonl").out.startswith(b"summary")  # no brackets where no time is


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
    page = {**answer, "result": {"tools": tools, "nextCursor": "2"}}
    for data, found in (
        (samples.text([page]), 2),
        (samples.text([answer, answer])[:-30], 2),
        (json.dumps(tools)[:-70].encode() + b"\n", 0),
    ):
        (tmp_path / "cut.json").write_bytes(data)
        done = turnwire("tokens", "--mcp-schema", tmp_path / "cut.json", "--json")
        assert (done.code, len(done.records)) == (1, found) and "cut.json" in done.err
    for text in ("[1, 2]", '{"a":1}\n{"b":2}\n', "[10:00] hello"):
        (tmp_path / "none.json").write_text(text)
        assert turnwire("tokens", "--mcp-schema", tmp_path / "none.json").code == 4


SERVER = """
import os, sys
from mcp.server import MCPServer
open(sys.argv[1], "w").write(str(os.getpid()))
server = MCPServer("sums")
for size, name in enumerate(("small", "large")):
    server.add_tool(lambda a: a, name=name, description="x " * 90 * size)
server.run()
"""


@pytest.mark.once
def test_tools_of_a_server_that_is_started(tmp_path: Path) -> None:
    """It is stopped again, and told of if it fails."""
    pytest.importorskip("mcp")
    script, pid = tmp_path / "a server.py", tmp_path / "pid"
    script.write_text(SERVER)
    done = turnwire("tokens", "--mcp-schema", "--json", shlex.join([sys.executable, str(script), str(pid)]))
    assert done.code == 0 and [row["tool"] for row in done.records] == ["large", "small"]
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid.read_text()), 0)
    done = turnwire("tokens", "--mcp-schema", "--", sys.executable, "-c", "raise SystemExit('no key')")
    assert done.code == 3 and "no key" in done.err
    assert turnwire("tokens", "--mcp-schema", f"{script.name}-is-no-program x").code == 3
