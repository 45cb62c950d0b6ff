"""Advice on logs, and the sums it rests on."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

import turnwire
from tests.cli.running import REAL
from tests.conftest import raised
from tests.tokens.material import HOSTILE, KICK, REQUEST, SAP, SSTP, TEXTS, context
from turnwire import WIRES, tokens
from turnwire.registry import wire_of
from turnwire.tokens.advice import ALL, NOTICEABLE, TokenUse, comparisons, spend
from turnwire.tokens.comparison import OWN

pytestmark = pytest.mark.once

pytest.importorskip("splintr")


def log(*lines: str) -> bytes:
    return "\n".join(lines).encode()


@given(st.lists(st.tuples(st.sampled_from(["a", "b", None]), st.integers(0, 50)), max_size=20))
def test_what_is_read_again_at_each_turn(messages: list[tuple[str | None, int]]) -> None:
    meter = TokenUse("nslip", "o200k_base")
    for line, (name, count) in enumerate(messages, 1):
        meter.add([count], [name], None, [line], None)
    again = 0
    for place, (name, _) in enumerate(messages):
        again += sum(count for other, count in messages[:place] if other == name is not None)
    assert (meter.tokens, meter.cached) == (sum(count for _, count in messages), again)
    assert sum(meter.conversations.values()) == sum(count for name, count in messages if name is not None)


def test_messages_of_all_wires_are_counted_in_one_scan() -> None:
    """A file object can be read once only: what is counted of it was met in one pass."""
    lines = [TEXTS[wire] for wire in reversed(WIRES)]
    counter = tokens.load("o200k_base")
    found = spend(io.BytesIO(log(*lines, "")), [counter], sample=1)
    ids = {"sap": json.loads(SAP)["correlationId"], "kick": json.loads(KICK)["correlation_id"]}
    conversations = {"nslip": "1", "csp": "C1", "sstp": "s", **ids}
    assert [wire for wire, _ in found.spent] == list(found.samples) == list(WIRES)
    for (wire, _), own in found.spent.items():
        (message,) = found.samples[wire].messages
        assert message == turnwire.decode(TEXTS[wire])
        (largest,) = own.largest
        assert largest.conversation == conversations[wire]
        assert own.conversations == {conversations[wire]: own.tokens}
        before = log(*lines).index(TEXTS[wire].encode())
        assert largest.line == log(*lines).count(b"\n", 0, before) + 1


def test_a_log_is_counted_as_it_stands() -> None:
    lines = [REQUEST, REQUEST.replace("c1", "c2"), "x " + REQUEST.replace("T1", "T2") + " y", "@a3|bad#"]
    counters = [tokens.load("o200k_base"), tokens.load("gemma3")]
    found = spend(log(*lines), counters, wire="nslip", budget=33)
    texts = [lines[0], lines[1], lines[2][2:-2]]
    assert set(found.spent) == {("nslip", "o200k_base"), ("nslip", "gemma3")}
    assert found.damaged == 1
    for (_, name), own in found.spent.items():
        counts = [tokens.count(text, name) for text in texts]
        assert (own.tokens, own.messages) == (sum(counts), 3)
        assert own.bytes == sum(len(text) for text in texts)
        assert own.conversations == {"1": counts[0] + counts[2], "2": counts[1]}
        assert own.cached == counts[0]
        assert own.over == sum(count > 33 for count in counts)
        assert own.largest[0].tokens == max(counts)
        assert {each.line for each in own.largest} == {1, 2, 3}


def test_advice_adds_up() -> None:
    advice = tokens.advise(REAL, {"o200k_base": (2.5, 0.25)}, tokenizers=["cl100k_base"], sample=50)
    costs = {(cost.wire, cost.tokenizer): cost for cost in advice.costs}
    own = costs["nslip", "o200k_base"]
    lines = REAL.read_text("utf-8").split()
    assert own.messages == len(lines) == 4356
    assert own.tokens == sum(tokens.count_many(lines))
    assert own.once == pytest.approx(own.tokens * 2.5e-6)
    assert own.growing == pytest.approx(own.tokens * 2.5e-6 + own.cached * 0.25e-6)
    assert own.uncached == pytest.approx((own.tokens + own.cached) * 2.5e-6)
    assert costs["nslip", "cl100k_base"].once is None
    assert not own.estimated and own.round_trip
    assert [change.tokens for change in advice.changes] == sorted((c.tokens for c in advice.changes), reverse=True)
    assert "nslip as kick" in advice.absent
    assert json.loads(json.dumps(advice.to_dict())) == advice.to_dict()
    assert f"{own.tokens:,}" in advice.table() and "to change first" in advice.table()


@pytest.mark.parametrize(("spaced", "told"), [(1, False), (2, True), (3, True)])
def test_white_space_is_told_from_three_hundredths_on(spaced: int, told: bool) -> None:
    """Of 30 messages, each of which costs about two thirds more where it is indented."""
    flat = turnwire.encode(turnwire.decode(SSTP))
    wide = json.dumps(json.loads(SSTP), indent=2)
    narrow, more = tokens.count(flat), tokens.count(wide) - tokens.count(flat)
    share = spaced * more / (30 * narrow + spaced * more)
    assert (share >= NOTICEABLE) is told
    advice = tokens.advise(log(*[wide] * spaced, *[flat] * (30 - spaced)), wires=["sstp"])
    forms = [change for change in advice.changes if change.part == "form"]
    assert [change.share for change in forms] == [pytest.approx(share)] * told
    assert [change.apply([wide, flat.encode()]) for change in forms] == [[flat, flat]] * told


@pytest.mark.parametrize("lines", [[REQUEST], [REQUEST, SSTP], [SSTP, REQUEST, SAP]])
def test_messages_of_several_wires_are_compared_together_too(lines: list[str]) -> None:
    counters = [tokens.load("o200k_base"), tokens.load("gemma3")]
    found = list(comparisons(spend(log(*lines), counters, sample=5), counters))
    names = [name for name in WIRES if name in {wire_of(turnwire.decode(line)) for line in lines}]
    several = [(name, 1) for name in names] + [(ALL, len(lines))] * (len(names) > 1)
    pers = ("message", "conversation")
    assert [(wire, many, one.facts["per"]) for wire, many, one in found] == [
        (*one, per) for one in several for per in pers
    ]
    for wire, many, one in found:
        own = {row.tokenizer: row.tokens for row in one.rows if row.format == (OWN if wire == ALL else wire)}
        texts = [turnwire.encode(turnwire.decode(line)) for line in lines if wire in (ALL, turnwire.detect(line))]
        whole = texts if one.facts["per"] == "message" else ["\n".join(texts)]
        assert own == {counter.name: sum(counter.count_many(whole)) for counter in counters} and len(texts) == many


def test_a_session_is_advised_for_what_it_saves() -> None:
    """Applied to the whole log it saves what is said, within what later blocks differ from the first."""
    from turnwire import session

    lines = REAL.read_text("utf-8").split("\n")[:400]
    advice = tokens.advise(log(*lines), wires=["nslip"])
    (change,) = [change for change in advice.changes if change.part == "session"]
    own, packed = advice.costs[0], advice.costs[-1]
    assert packed.wire == "session" and packed.estimated and packed.round_trip
    assert change.tokens == own.tokens - packed.tokens
    text = session.encode([turnwire.decode(line) for line in lines])
    assert change.apply(lines) == [text]
    assert tokens.count(text) == pytest.approx(packed.tokens, rel=0.1)


def test_a_session_of_all_messages_is_counted_and_not_estimated() -> None:
    """White space in the log makes what is written dearer, not the session."""
    from turnwire import session

    lines = [json.dumps(json.loads(SSTP), indent=4)] * 12
    advice = tokens.advise(log(*lines), wires=["sstp"])
    own, packed = advice.costs[0], advice.costs[-1]
    assert own.tokens == 12 * tokens.count(lines[0]) and not packed.estimated
    assert packed.tokens == tokens.count(session.encode([turnwire.decode(SSTP)] * 12))


def test_other_wires_are_estimated_from_the_sample() -> None:
    advice = tokens.advise(log(*[REQUEST] * 40), context=context(), sample=10, wires=["nslip", "kick", "csp"])
    costs = {cost.wire: cost for cost in advice.costs}
    one = {row.format: row for row in tokens.compare(REQUEST, formats=(), context=context()).rows}
    assert costs["csp"].tokens == 40 * one["csp"].total and costs["csp"].estimated
    assert [each.partition(" ")[0] for each in costs["csp"].dropped] == list(one["csp"].dropped)
    assert not costs["csp"].round_trip
    assert costs["csp"].cached == round(costs["nslip"].cached * one["csp"].total / one["nslip"].tokens)
    assert advice.facts["sampled"] == {"nslip": 10} and advice.facts["messages"] == {"nslip": 40}
    assert not any(change.part == "wire" for change in advice.changes), "what drops something is not an advice"


@pytest.mark.parametrize("exact", [True, False])
def test_a_cheaper_wire_is_advised_when_it_carries_all(monkeypatch: pytest.MonkeyPatch, exact: bool) -> None:
    from turnwire.conversion import Converted

    sent = turnwire.decode(REQUEST)
    short = turnwire.decode("CSP/1\nFROM a\nTO b\nCTX C\nINTENT QUERY\n\nQUERY q\n")
    back = sent if exact else sent.replace(turn=9)
    monkeypatch.setattr(turnwire, "convert", lambda message, to, **_: Converted(short if to == "csp" else back, ()))
    advice = tokens.advise(log(*[REQUEST] * 3), {"o200k_base": 1e6}, wires=["nslip", "csp"])
    found = [change for change in advice.changes if change.part == "wire"]
    csp = next(cost for cost in advice.costs if cost.wire == "csp")
    assert csp.round_trip == exact
    saved = 3 * (tokens.count(REQUEST) - tokens.count(turnwire.encode(short)))
    assert saved > 0
    assert [(change.tokens, change.money) for change in found] == ([(saved, pytest.approx(saved))] if exact else [])
    assert [change.apply([REQUEST]) for change in found] == ([[turnwire.encode(short)]] if exact else [])


def test_sources_of_any_kind_and_none() -> None:
    data = log(REQUEST, REQUEST)
    counts = {tokens.advise(source).costs[0].tokens for source in (data, io.BytesIO(data))}
    assert counts == {2 * tokens.count(REQUEST)}
    with pytest.raises(ValueError, match="no message"):
        tokens.advise(b"nothing here")
    raised(FileNotFoundError, tokens.advise, "nowhere.log")
    with pytest.raises(ValueError, match="price"):
        tokens.advise(data, {"o200k_base": -1})


def test_the_page_of_the_advice_escapes(tmp_path: Path) -> None:
    advice = tokens.advise(log(*[REQUEST] * 30), {"o200k_base": 1.0}, wires=["nslip", "csp"])
    strange = tokens.Advice(
        [cost._replace(dropped=(HOSTILE,), log=HOSTILE, wire=HOSTILE) for cost in advice.costs],
        [change._replace(text=HOSTILE) for change in advice.changes],
        {HOSTILE: HOSTILE},
        {**advice.facts, "messages": {HOSTILE: 1}, "tokenizers": {"o200k_base": HOSTILE}},
    )
    assert advice.changes
    path = tmp_path / "page.html"
    strange.html(path)
    text = path.read_text("utf-8")
    for bad in ("<script", "\x1b", "\u202e", "http:", "https:", "src="):
        assert bad not in text
    assert text.count("</style>") == 1 and "&lt;script&gt;" in text
    assert "\x1b" not in strange.table()


def test_a_log_with_a_template() -> None:
    """The scan of CSP/1 gives templates beside messages; they are counted as well."""
    found = turnwire.tokens.advise(b"CSP/1 MODE;A\nX\n\n")
    assert found.costs
