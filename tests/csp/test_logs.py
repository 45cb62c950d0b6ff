"""Logs: preambles wherever a scan finds the messages behind them, the state they replay to, the tasks, the records."""

from __future__ import annotations

import json

import pytest

from tests.csp.test_rules import DEFS, patch, result, task
from turnwire import LIMITS, csp
from turnwire.checklists import PASS
from turnwire.csp.bulk import work
from turnwire.csp.codec import preambles
from turnwire.csp.faults import explain
from turnwire.csp.logs import Replaying
from turnwire.errors import Reason
from turnwire.pairs import Work
from turnwire.read.located import conform

LOG = (
    "DEF SRC = src/\nDEF API = api/\n\nLAWS\n- L1: Web search -> WEB_RES only\n\n"
    "CSP/1\nFROM MAIN\nTO CODER\nCTX C0\nINTENT PATCH\n\nPATCH P1\nBASE C0\n+ DEF LIB = lib/\n- DEF API\nAPPLY -> C1\n"
)
PLACES = {
    "lines": LOG,
    "a string": json.dumps({"msg": LOG}) + "\n",
    "a string in a string": json.dumps({"a": json.dumps({"msg": LOG})}) + "\n",
    "one prefix": "".join(f"10:00 bus: {line}\n" for line in LOG.splitlines()),
    "an indent": "".join(f"    {line}\n" if line else "\n" for line in LOG.splitlines()),
}


@pytest.mark.parametrize("place", PLACES)
def test_the_state_is_the_same_wherever_a_log_stands(place: str) -> None:
    document, damaged = csp.read_log(PLACES[place].encode())
    assert damaged == []
    store = csp.replay(document).store
    assert dict(store.at("C1").defs) == {"SRC": "src/", "LIB": "lib/"}
    assert dict(store.at("C1").laws) == {"L1": "Web search -> WEB_RES only"}
    judged = conform("csp", PLACES[place].encode())
    assert judged.line("state").status == PASS


@pytest.mark.parametrize("place", PLACES)
def test_what_is_wrong_in_a_preamble_is_told(place: str) -> None:
    broken = {name: text.replace("DEF SRC = src/", "DEF src = src/") for name, text in PLACES.items()}
    _, damaged = csp.read_log(broken[place].encode())
    assert [str(error.reason) for error in damaged] == [
        str(error.reason) for error in csp.read_log(broken["lines"].encode())[1]
    ]
    twice = {name: text.replace("DEF API = api/", "DEF SRC = api/") for name, text in PLACES.items()}
    _, damaged = csp.read_log(b"first\n" + twice[place].encode())
    assert [(str(error.reason), error.line) for error in damaged] == [("def_exists", 2 if "string" in place else 3)]


def test_what_a_limit_cuts_off_a_message_is_text_and_may_be_a_preamble() -> None:
    text = "CSP/1\nFROM A\nTO B\nCTX C0\nINTENT MEM\n\nMEM M1\n<<<\n" + "x\n" * 9 + "```\nDEF A = b\n\n>>>\n\n"
    for message, found in ((20, [csp.Preamble({"A": "b"})]), (1000, [])):
        assert csp.read_log(text, limits=LIMITS._replace(message=message)).document.records == found


def test_a_template_inside_an_unclosed_heredoc_is_one() -> None:
    document, damaged = csp.read_log("CSP/1\nINTENT RESULT\n<<<\nCSP/1;x\nCSP/1")
    assert document.records == [csp.Template(["x"])] and len(damaged) == 1


def test_text_with_a_zero_byte_names_no_file() -> None:
    assert csp.read_log("a\0/*") == (csp.Document([]), [])


def test_logs_are_taken_as_a_scan_takes_them(tmp_path):
    text = DEFS + task(1) + patch("+ DEF A = 1\n") + result(1, ctx="C1")
    path = tmp_path / "a.log"
    path.write_text(text)
    log = csp.read_log(path)
    assert log == csp.read_log(str(path)) == csp.read_log(text) == csp.read_log([path])
    for source in (text, path, str(path), [path], f"{tmp_path}/*.log", log, log.document):
        assert csp.replay(source).store.head == "C1"


def test_a_log_in_a_storage_is_read():
    fsspec = pytest.importorskip("fsspec")
    text = DEFS + task(1) + result(1)
    fsspec.filesystem("memory").pipe("/csp/a.log", text.encode())
    source = fsspec.open("memory:///csp/a.log")
    assert csp.read_log(source) == csp.read_log(text)
    assert csp.replay([source]).refused == csp.replay(source).refused == []


def test_laws_that_are_given_twice_before_the_first_message_are_refused():
    replaying = Replaying()
    assert replaying.feed(csp.Preamble({}, {"L1": "one"})) is None
    assert replaying.feed(csp.Preamble({}, {"L2": "two"})) is None
    error = replaying.feed(csp.Preamble({}, {"L1": "three"}))
    assert str(error.reason) == "checkpoint_exists" and "L1 is already defined" in str(error)


LATER = "DEF B = LIB\nLAWS\n- L1: x -> A only\n"


@pytest.mark.parametrize(
    "text",
    [
        task(1) + LATER + result(1),
        task(1) + result(1) + "\n" + LATER,
        "DEF A = b\n\n" + task(1) + "```\n" + LATER + "```\n" + result(1),
        "CSP/1; !x\nTASK\n\n" + task(1) + LATER + "\n" + result(1),
    ],
)
def test_one_answer_for_what_is_defined_behind_the_first_message(text: str) -> None:
    """It is a record of every reader, and every judge says that it is said again, at its line; it changes nothing."""
    line = text.count("\n", 0, text.index(LATER)) + 1
    read = [csp.parse(text), csp.parse(text, mode="lenient"), csp.read_log(text.encode()).document]
    for document in read:
        late = [one for one in document.records if isinstance(one, csp.Preamble)][-1]
        assert (late.defs, late.laws, late.line) == ({"B": "LIB"}, {"L1": "x -> A only"}, line)
        assert not document.issues
        told = [(str(one.reason), one.where, one.severity) for one in csp.lint(document)]
        assert told == [("restate", line, "info")]
    for source in (text, *read):
        found = csp.replay(source)
        assert [(str(error.reason), error.line, error.text) for _, error in found.refused] == [
            ("restate", line, explain(Reason.RESTATE))
        ]
        assert "LIB" not in found.store.defs.values() and not found.store.laws
    for judged in (conform("csp", text.encode()), csp.conformance(text), csp.conformance(csp.parse(text))):
        assert [(one.clause.id, place.line) for one in judged for place in one.doubts] == [("restate", line)]
        assert not any(one.faults for one in judged)
    written = csp.encode(read[0])
    assert csp.encode(csp.parse(written)) == written and "LAWS\n- L1" in written


@pytest.mark.parametrize("mode", ["strict", "lenient"])
@pytest.mark.parametrize("front", ["", "DEF A = b\n\n", "LAWS\n- L2: y\n\n"])
@pytest.mark.parametrize("behind", ["\n" + LATER, "\n\nDEF C = d\n" + LATER, "```\n\n" + LATER, ""])
def test_decode_of_one_message_gives_the_same_answer(mode: str, front: str, behind: str) -> None:
    text = front + ("```\n" if behind.startswith("```") else "") + task(1).rstrip("\n") + "\n" + behind
    later = [one.line for one in csp.parse(text).records if isinstance(one, csp.Preamble) and one.line > 5]
    found = csp.decode(text, mode=mode)
    assert found == csp.parse(text).messages[0]
    assert [(str(one.reason), one.where, one.severity) for one in found.issues] == [
        ("restate", line, "info") for line in later
    ]
    assert len(later) == bool(behind) and csp.encode(found) == csp.encode(found.replace())
    assert csp.check(found) == list(found.issues)


@pytest.mark.parametrize("place", ["a string", "one prefix"])
def test_what_is_defined_later_is_found_where_the_messages_are(place: str) -> None:
    text = LOG + "\nDEF NEW = n\n"
    data = {
        "a string": json.dumps({"msg": text}),
        "one prefix": "".join(f"10:00 bus: {line}\n" for line in text.splitlines()),
    }[place].encode()
    document, damaged = csp.read_log(data)
    assert [type(one).__name__ for one in document.records] == ["Preamble", "CspMessage", "Preamble"] and not damaged
    assert [str(one.reason) for one in csp.lint(document)] == ["restate"]
    (doubt,) = [place for one in conform("csp", data) for place in one.doubts]
    assert "restate" in doubt.text


@pytest.mark.parametrize(("at", "task"), [("T7", "T7"), ("T7x", None), ("src/a.ts", None), ("T", None)])
def test_an_error_is_about_a_task_where_it_names_one(at, task):
    for cause in ("none", "\n<<<\nAT T1\n>>>"):
        text = f"CSP/1\nFROM A\nTO B\nCTX C0\nINTENT ERROR\n\nERROR E1\nAT {at}\nCAUSE {cause}\n"
        assert work(text.replace(" \n", "\n").encode()) == Work(task)


@pytest.mark.parametrize(
    ("later", "named"), [("DEF A = a\n", []), ("DEF A = b\n", ["A"]), ("LAWS\n- L1: y\n", ["L1"]), ("DEF N = a\n", [])]
)
def test_what_contradicts_c0_later_breaks_its_state(later: str, named: list[str]) -> None:
    found = conform("csp", ("DEF A = a\nLAWS\n- L1: x\n\n" + task(1) + result(1) + later).encode())
    assert found.line("restate").status == PASS and len(found.line("restate").doubts) == 1
    faults = found.line("state").faults
    assert len(faults) == len(named) and all(name in fault.text for name, fault in zip(named, faults, strict=True))


def test_a_fence_that_is_no_utf8_hides_no_preamble() -> None:
    """It is text of the log, which nobody reads."""
    data = b"DEF A = x\n```\xe3x\nDEF B = y\n```\n" + task().encode()
    assert [record.defs for _, _, record in preambles(data)] == [{"A": "x"}, {"B": "y"}]
    assert conform("csp", data).records == 1
