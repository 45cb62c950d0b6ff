"""Messages and text around them at the edges: prefixes, lines in strings, templates, look-alikes."""

from __future__ import annotations

import copy
import gzip
import json
import random
from itertools import product
from pathlib import Path
from typing import Any

import pytest

import turnwire
from tests.sstp.examples import example
from tests.sstp.test_session import message as told
from tests.vectors import cases, load
from turnwire import registry, sstp
from turnwire.errors import DecodeError, WireError
from turnwire.read import extraction
from turnwire.read.contents import contents
from turnwire.read.located import conform, conformance, located, pieces, specification
from turnwire.read.surroundings import LocatedRecords

pytestmark = pytest.mark.once

SAID = sstp.encode(told("ann", 1))
CSP = "CSP/1\nFROM A\nTO B\nCTX C0\nINTENT QUERY\n\nQUERY Q1\nGOAL y"


@cases("clauses")
def test_the_clauses_that_a_log_breaks_and_in_which_lines(case: dict[str, Any]) -> None:
    """Or several texts, which are counted; of some also what is open and what is doubtful."""
    if "log" in case:
        judged = conform(case["wire"], case["log"].encode())
    else:
        judged = getattr(turnwire, case["wire"]).conformance(*case["texts"])
        assert judged.verdict == case["verdict"]
    for name, places in (("broken", "faults"), ("open", "open"), ("doubtful", "doubts")):
        told = [
            [line.clause.id, [one.line for one in getattr(line, places)]] for line in judged if getattr(line, places)
        ]
        assert told == case.get(name, told)


def test_rejects_are_counted_in_a_list_of_messages() -> None:
    found = conformance("nslip", [(1, "@a0|f0|c1|S1|d2|T0#"), (2, "@nonsense"), (3, "@a0|f0|c1|S1|d2|T0#"), (4, "x")])
    assert (found.records, found.rejects) == (2, 2)


def nested(inside: str, depth: int) -> str:
    """A text in so many strings, each in an object."""
    for _ in range(depth):
        inside = json.dumps({"a": inside})
    return inside


@pytest.mark.parametrize("depth", range(9))
def test_a_reject_in_strings_in_strings_is_shown_without_their_escapes(depth: int) -> None:
    refused = SAID[:-1] + ',"x":1,"x":2}'
    [reject] = located(nested(refused, depth).encode())
    assert turnwire.explain(reject) == turnwire.explain(next(located(refused.encode())))


@pytest.mark.parametrize("cut", [1, 8, 20])
def test_a_compressed_input_that_is_damaged_is_not_taken_for_a_whole_one(cut: int) -> None:
    """The records before the damage are not all there are."""
    packed = gzip.compress(b"a line\n" * 1000, mtime=0)
    assert [content for _, content in contents(packed)] == [b"a line\n" * 1000]
    with pytest.raises(DecodeError, match="gzip"):
        list(contents(packed[:-cut]))


FRAME = "@a0|f0|c1|S1|d2|T0#"
BROKEN = "@a3|f0 broken"


def everything(data: bytes) -> LocatedRecords:
    return LocatedRecords(data, list(pieces(data)))


@pytest.mark.parametrize("front", ["", "front\n\n"])
@pytest.mark.parametrize("between", [" ", "\n\n", "\n\nwords\n\n", "\n\nwords and words\n\n\n"])
@pytest.mark.parametrize("behind", ["", "\n", "\n\nend", "\n\nend\n"])
@pytest.mark.parametrize("unit", [SAID, FRAME, CSP], ids=["sstp", "nslip", "csp"])
def test_what_a_string_says_beside_its_messages(unit: str, front: str, between: str, behind: str) -> None:
    """White space behind a message is beside it."""
    if unit is CSP and between == " ":
        between = "\n"
    said = f"{front}{unit}{between}{unit}{behind}"
    data = json.dumps({"a": said}).encode()
    told = [(at, text.decode()) for at, text in everything(data).strings(b"{}")]
    rest = f"{front}{{}}{between}{{}}{behind}"
    assert told == [(6, rest)] * (rest.replace("{}", "").strip() != "")


@pytest.mark.parametrize("wire", turnwire.WIRES)
def test_every_wire_is_judged_as_of_a_moment(wire: str) -> None:
    """True if it has times or not; what none has is refused, and None is not given."""
    assert conform(wire, b"", now=1.0, nonsense=None) == conform(wire, b"")
    with pytest.raises(TypeError, match="nonsense is not an option of"):
        conform(wire, b"", nonsense=1)


def test_what_is_found_in_several_files_is_told_once(tmp_path: Path) -> None:
    """In the order of the files, each in its own."""
    for name in "abc":
        (tmp_path / f"{name}.log").write_text(f"{BROKEN}\n{FRAME}\n{BROKEN}\n" if name != "b" else f"{BROKEN}\n")
    told = [(Path(one.file or "").stem, one.line, one.error is None) for one in located(str(tmp_path), "nslip")]
    every = [("a", 1, False), ("a", 2, True), ("a", 3, False), ("b", 1, False)]
    assert told == every + [("c", line, good) for _, line, good in every[:3]]


@pytest.mark.parametrize("wire", turnwire.WIRES)
def test_a_message_by_itself_is_what_the_search_finds(wire: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Which is not asked for one that decode takes."""
    texts = [text for case in load(wire) for key in ("wire", "text") if isinstance(text := case.get(key), str)]
    texts += [f"{text}\n" for text in texts] + [f" {text}" for text in texts[:20]]
    quick = [repr(turnwire.extract(text)) for text in texts]
    monkeypatch.setattr(extraction, "_one_message", lambda text: None)
    assert [repr(turnwire.extract(text)) for text in texts] == quick
    assert any(one != "[]" for one in quick)


# ----------------------------------------------------------------------------------------------------------------------
# A checker admits what it finds no fault in: message by message, on every message of the vectors, and on what checking
# has something to say of.


WIRES = ("nslip", "csp", "sstp", "kick")


def messages(wire: str) -> list[Any]:
    """The messages of the vectors that are read, and the same without a name or with an empty one."""
    found = []
    for case in load(wire):
        text = case.get("text", case.get("wire"))
        if not isinstance(text, str):
            continue
        for changed in (text, *_emptied(text)):
            try:
                read = registry.wire(wire).decode(changed)
                if wire == "csp":  # of which it is asked what strict writing writes
                    registry.wire(wire).encode(read)
            except (WireError, ValueError):
                continue
            found.append(read)
    return [one for one in found if isinstance(one, registry.wire(wire).message)]


def _emptied(text: str) -> list[str]:
    """A JSON object with one of its texts empty, each in turn."""
    try:
        value = json.loads(text)
    except ValueError:
        return []
    found = []
    for part in [value, *value.values()] if isinstance(value, dict) else []:
        for name in [name for name, one in part.items() if isinstance(one, str)] if isinstance(part, dict) else []:
            kept, part[name] = part[name], ""
            found.append(json.dumps(value))
            part[name] = kept
    return found


@pytest.mark.parametrize("wire", WIRES)
def test_a_judge_admits_what_it_finds_no_fault_in(wire):
    checker = specification(wire).checker
    seen = set()
    for message in messages(wire):
        admits, judges = checker(), checker()
        refused = admits.admits(copy.deepcopy(message), 1)
        judges.message(copy.deepcopy(message), 1)
        clause = judges.faults[0].clause if judges.faults else None
        assert (refused.clause if refused else None) == clause, message
        assert admits.faults == []
        seen.add(clause)
    assert None in seen and (len(seen) > 1 or wire == "nslip")  # of which nothing that is read breaks a clause


@pytest.mark.parametrize("wire", WIRES)
def test_a_message_that_is_refused_changes_nothing(wire):
    checker, several = specification(wire).checker, messages(wire)
    if wire == "sstp":  # of two actors in two sessions, or in one without a name
        several = []
        for place, (actor, session, clock) in enumerate(product("ab", ("s", "t", None), (1, 2, 3))):
            value = example(sstp.Kind.KNOWLEDGE)
            value["payload"]["content"] = f"the finding of number {place}"
            value["header"] |= {"actor_id": actor, "session_id": session, "logical_clock": clock}
            if session is None:
                del value["header"]["session_id"]
            several.append(sstp.decode(json.dumps(value)))
    for seed in range(20):
        random.Random(seed).shuffle(several)
        tried, spared = checker(), checker()
        for line, message in enumerate(several[:80]):
            if tried.admits(copy.deepcopy(message), line) is None:
                assert spared.admits(copy.deepcopy(message), line) is None
        for one in (tried, spared):
            one.end()
        assert (tried.faults, tried.open, tried.applied) == (spared.faults, spared.open, spared.applied)
