"""The parts of wires: every byte belongs to at most one part, and taking a part out takes out nothing else."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

import turnwire
from tests.tokens.material import CSP, KICK, PATCH, REQUEST, SAP, TEXTS, UUID
from turnwire import tokens
from turnwire.tokens.parts import spans, without

pytest.importorskip("splintr")
pytestmark = pytest.mark.once


def parts(text: str, wire: str) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for part, start, end in spans(text, wire):
        found.setdefault(part, []).append(text[start:end])
    return found


@pytest.mark.parametrize(("wire", "text"), [*TEXTS.items(), ("csp", PATCH)])
def test_parts_cover_the_text_once(wire: str, text: str) -> None:
    found = list(spans(text, wire))
    assert [start for _, start, _ in found[1:]] == [end for _, _, end in found[:-1]]
    assert (found[0][1], found[-1][2]) == (0, len(text))


@given(tag=st.text(max_size=20), status=st.text(max_size=5))
def test_strings_of_nslip_are_text_whatever_is_in_them(tag: str, status: str) -> None:
    message = turnwire.decode('@a3|f0|c1|S0|d1|T1|e3|u""|t""#')
    message.slots.update({turnwire.nslip.Slot.TAG: tag, turnwire.nslip.Slot.STATUS: status})
    text = turnwire.encode(message)
    found = parts(text, "nslip")
    assert len(found["separators"]) == 8
    assert found["prefixes"] == ["a", "f", "c", "S", "d", "T", "e", "u", "t"]
    assert found["codes"] == ["3", "0"] and found["ids"] == ["1", "0", "1"] and found["numbers"] == ["1", "3"]
    assert found["quotes"] == ['"'] * 4 and found["framing"] == ["@", "#"]
    escaped = [each.replace("\\", "\\\\").replace('"', '\\"') for each in (status, tag)]
    assert found.get("text", []) == [each for each in escaped if each]
    assert without(text, "nslip", "separators").count("|") == (tag + status).count("|")


def test_parts_of_the_others() -> None:
    found = parts(SAP, "sap")
    assert len(found["uuids"]) == 2 and found["timestamps"] == ["2026-01-01T00:00:00Z"]
    assert '"taskId"' in found["names"] and "2.0" in found["text"]
    assert parts(KICK, "kick")["text"][-1].startswith("⫻task/dispatch:T-7/001\\n")
    found = parts(CSP, "csp")
    assert found["magic"] == ["CSP/1"]
    assert found["words"] == ["FROM", "TO", "CTX", "INTENT", "TASK", "REQ", "PRIORITY"]
    assert found["ids"] == [" C1", " T1"] or found["ids"] == [" C1", " T1", " P1"]
    assert parts('{"a b":[1, true],\n"t":"x"}', "sstp")["spaces"] == [" ", "\n"]


def test_prices_are_differences() -> None:
    for part in tokens.ablate([REQUEST, SAP]):
        text = {"nslip": REQUEST, "sap": SAP}[part.wire]
        names = part.part.split(" and ")
        canonical = turnwire.encode(turnwire.decode(text))
        left = without(canonical, part.wire, *names)
        assert part.tokens == tokens.count(canonical) - tokens.count(left)
        assert part.bytes == len(canonical.encode()) - len(left.encode())
        assert part.of == tokens.count(canonical) and part.share == part.tokens / part.of
    both = {part.part: part for part in tokens.ablate(SAP)}
    assert both["uuids and timestamps"].times == both["uuids"].times + both["timestamps"].times == 3
    assert UUID not in without(SAP, "sap", "uuids")


def test_the_dearest_come_first_and_several_messages_add_up() -> None:
    found = tokens.ablate([REQUEST] * 3)
    assert [part.tokens for part in found] == sorted((part.tokens for part in found), reverse=True)
    one = {part.part: part for part in tokens.ablate(REQUEST)}
    assert all(part.tokens == 3 * one[part.part].tokens and part.times == 3 * one[part.part].times for part in found)
