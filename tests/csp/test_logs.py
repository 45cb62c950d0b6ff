"""Logs: preambles wherever a scan finds the messages behind them, the state they replay to, the tasks, the records."""

from __future__ import annotations

import pytest

from tests import vectors
from tests.csp.generate import shape
from tests.csp.test_rules import DEFS, patch, result, task
from turnwire import LIMITS, csp
from turnwire.csp.bulk import work
from turnwire.csp.codec import preambles
from turnwire.csp.logs import Replaying
from turnwire.pairs import Work
from turnwire.read.located import conform


@vectors.cases("csp_forms", kind="log")
def test_what_a_log_says(case) -> None:
    """Its records and damage, the state that they lead to, and what every judge says of them, whoever reads it."""
    text = case["text"]
    document, damaged = csp.read_log(text.encode())
    assert [[shape(one), one.line] for one in document.records] == case["records"]
    assert [[error.reason, error.line] for error in damaged] == case["damaged"]
    assert [[one.reason, one.where, one.severity] for one in csp.lint(document)] == case["lint"]
    whole = case["about"] == "what is defined behind the first message"  # which all readers read alike
    for source in (text, document) if whole else (document,):
        found = csp.replay(source)
        assert [found.store.head, dict(found.store.defs), dict(found.store.laws)] == [
            case[name] for name in ("head", "defs", "laws")
        ]
        assert [[error.reason, error.line] for _, error in found.refused] == case["refused"]
    judged = conform("csp", text.encode())
    for name, places in (("broken", "faults"), ("doubtful", "doubts")):
        told = [
            [line.clause.id, [one.line for one in getattr(line, places)]] for line in judged if getattr(line, places)
        ]
        assert told == case[name]
    if whole:
        for mode in ("strict", "lenient"):
            again = csp.parse(text, mode=mode)
            told = [[shape(one), one.line] for one in again.records if not isinstance(one, csp.Junk)]
            assert told == case["records"] and not again.issues
            assert [[one.reason, one.where, one.severity] for one in csp.lint(again)] == case["lint"]
        written = csp.encode(document)
        assert csp.encode(csp.parse(written)) == written and "LAWS\n- L1" in written


def test_what_a_limit_cuts_off_a_message_is_text_and_may_be_a_preamble() -> None:
    text = "CSP/1\nFROM A\nTO B\nCTX C0\nINTENT MEM\n\nMEM M1\n<<<\n" + "x\n" * 9 + "```\nDEF A = b\n\n>>>\n\n"
    for message, found in ((20, [csp.Preamble({"A": "b"})]), (1000, [])):
        assert csp.read_log(text, limits=LIMITS._replace(message=message)).document.records == found


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


@pytest.mark.parametrize(("at", "task"), [("T7", "T7"), ("T7x", None), ("src/a.ts", None), ("T", None)])
def test_an_error_is_about_a_task_where_it_names_one(at, task):
    for cause in ("none", "\n<<<\nAT T1\n>>>"):
        text = f"CSP/1\nFROM A\nTO B\nCTX C0\nINTENT ERROR\n\nERROR E1\nAT {at}\nCAUSE {cause}\n"
        assert work(text.replace(" \n", "\n").encode()) == Work(task)


def test_a_fence_that_is_no_utf8_hides_no_preamble() -> None:
    """It is text of the log, which nobody reads."""
    data = b"DEF A = x\n```\xe3x\nDEF B = y\n```\n" + task().encode()
    assert [record.defs for _, _, record in preambles(data)] == [{"A": "x"}, {"B": "y"}]
    assert conform("csp", data).records == 1
