"""The token rules, the laws, the board: for each a text that triggers it and one that does not."""

from __future__ import annotations

import pytest

import turnwire
from tests import vectors
from turnwire import csp
from turnwire.csp import lints

DEFS = "DEF SRC = src/\nDEF LIB = lib/\nDEF CODER = coder\n\n"


def said(intent, block, ctx="C0", sender="MAIN", receiver="CODER"):
    return f"CSP/1\nFROM {sender}\nTO {receiver}\nCTX {ctx}\nINTENT {intent}\n\n{block}\n\n"


def task(number=1, rest="", **header):
    return said("TASK", f"TASK T{number}\nREQ find it{rest}", **header)


def result(number=1, status="OK", rest="", **header):
    return said("RESULT", f"RESULT T{number}\nSTATUS {status}{rest}", **header)


def patch(ops, number=1, **header):
    return said("PATCH", f"PATCH P{number}\nBASE C{number - 1}\n{ops}APPLY -> C{number}", **header)


def codes(text, store=None):
    return {str(found.reason) for found in csp.lint(csp.parse(text, mode="lenient"), store)}


@pytest.mark.parametrize(
    ("code", "bad", "good"),
    [
        ("restate", DEFS + task() + "```\nDEF SRC = src/\n", DEFS + task()),
        ("restate", DEFS + task(rest="\nIN\n<<<\nDEF SRC = src/\n>>>"), DEFS + task(rest="\nIN\n<<<\nSRC\n>>>")),
        ("restate", DEFS + patch("~ DEF SRC := src/\n"), DEFS + patch("~ DEF SRC := s/\n")),
        (
            "restate",
            "LAWS\n- L1: Web search -> WEB_RES only\n" + task(rest=" (Web search -> WEB_RES only)"),
            DEFS + task(),
        ),
        ("expanded", DEFS + task(rest="\nIN src/,LIB"), DEFS + task(rest="\nIN SRC,LIB")),
        ("expanded", DEFS + task(receiver="coder"), DEFS + task()),
        ("undef", DEFS + task(rest="\nIN SRC,NOWHERE"), DEFS + task(rest="\nIN SRC")),
        ("undef", DEFS + task(rest="\nIN MADE"), DEFS + task() + result(rest="\nPRODUCED MADE") + task(2, "\nIN MADE")),
        ("ctx_stale", DEFS + patch("+ DEF A = 1\n") + task(), DEFS + patch("+ DEF A = 1\n") + task(ctx="C1")),
        ("no_task", result(), task() + result()),
        ("no_task", said("ERROR", "ERROR E1\nAT T9\nCAUSE x"), said("ERROR", "ERROR E1\nAT P9\nCAUSE x")),
        ("dup_result", task() + result() + result(), task() + result(status="PARTIAL") + result()),
        ("dup_result", task() + result() + result(), task() + result() + task() + result()),
        ("filler", task(rest=", please"), task(rest=" displeased")),
        ("filler", task() + "Thanks!\n", task()),
        (
            "full_rewrite",
            DEFS + patch("~ DEF SRC := a\n~ DEF LIB := b\n- DEF CODER\n"),
            DEFS + patch("~ DEF SRC := a\n~ DEF LIB := b\n"),
        ),
        (
            "full_rewrite",
            2 * said("FILE", "FILEOP F1 CREATE\nPATH a"),
            said("FILE", "FILEOP F1 CREATE\nPATH a")
            + said("FILE", "FILEOP F2 DELETE\nPATH a")
            + said("FILE", "FILEOP F3 CREATE\nPATH a"),
        ),
        ("synonym", DEFS + patch("+ DEF SOURCE = src/\n"), DEFS + patch("- DEF SRC\n+ DEF SOURCE = src/\n")),
        ("synonym", "DEF A = x\nDEF B = x\n", "DEF A = x\nDEF B = y\n"),
    ],
)
def test_token_rules(code, bad, good):
    assert code in codes(bad)
    assert code not in codes(good)


def test_the_examples_of_the_specification_are_clean():
    text = (
        DEFS
        + "DEF CODE_EXP = code-explorer\n"
        + next(case["text"] for case in vectors.load("csp") if case["id"] == "csp-006")
    )
    assert codes(text) == set()


def test_lint_against_a_store():
    store = csp.Store({"SRC": "src/"})
    store.apply(csp.decode(patch("+ DEF A = 1\n")))
    store.apply(csp.decode(task(ctx="C1")))
    assert codes(result(ctx="C1"), store) == set()
    assert codes(result(7, ctx="C0"), store) == {"no_task", "ctx_stale"}
    found = csp.lint(csp.decode(task(2, "\nIN src/", ctx="C1")), store)
    assert [(str(issue.reason), issue.where, issue.severity) for issue in found] == [("expanded", 1, "info")]


LAWS = {"L1": "Web search/fetch -> WEB_RES only", "L3": "Refactoring -> REF_FIND first", "L9": "be brief"}


def by_words(message, laws):
    subject = message.block.get("REQ")
    return [law.id for law in laws if law.subject.split("/")[0].split(" ")[0].lower() in subject.lower()]


@pytest.mark.parametrize(
    ("text", "law"),
    [
        ("a -> B only", ("a", "B", "only")),
        ("  a  b->B\tfirst ", ("a  b", "B", "first")),
        ("a -> b -> C only", ("a -> b", "C", "only")),
        ("-> -> C only", ("->", "C", "only")),
        ("-> C only", None),
        ("a -> C", None),
        ("a -> C onlyfirst", None),
        ("a -> 1C only", None),
        ("a\nb -> C only", None),
        ("a\n-> C only", ("a", "C", "only")),
        ("", None),
    ],
)
def test_what_a_law_that_routes_is(text, law):
    assert csp.routing_laws({"L": text}) == ([] if law is None else [csp.Law("L", *law)])


def test_laws_route():
    assert csp.routing_laws(LAWS) == [
        csp.Law("L1", "Web search/fetch", "WEB_RES", "only"),
        csp.Law("L3", "Refactoring", "REF_FIND", "first"),
    ]
    text = "".join(
        said("TASK", f"TASK T{number}\nREQ {words}\nOWNER {owner}")
        for number, (words, owner) in enumerate(
            [
                ("web search", "WEB_RES"),
                ("web search", "CODER"),
                ("refactoring", "CODER"),
                ("refactoring", "ref-finder"),
                ("refactoring", "CODER"),
            ]
        )
    )
    found = csp.judge_laws(csp.parse(text), LAWS, by_words, {"REF_FIND": "ref-finder"})
    assert [(str(issue.reason), issue.where) for issue in found] == [("law_broken", 11), ("law_broken", 21)]
    assert csp.judge_laws(csp.parse(text), LAWS, lambda message, laws: ["L9"]) == []


def test_the_board():
    text = (
        task(1, "\nOWNER A") + task(2, "\nOWNER A") + task(3) + task(4) + task(5)
        + result(1) + result(2, "FAIL") + said("ERROR", "ERROR E1\nAT T3\nCAUSE x") + result(4, "PARTIAL")
        + result(8, sender="B") + task(2, "\nOWNER A")
    )  # fmt: skip
    board = csp.board(csp.parse(text))
    assert board.open == {"A": ["T2"], "CODER": ["T4", "T5"]}
    assert board.answered == {"A": ["T1"]}
    assert board.failed == {"CODER": ["T3"]}
    assert board.orphaned == {"B": ["T8"]}


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("tests -> QA only", ("tests", "QA", "only")),
        ("  a -> b -> C_1.x-y \t first ", ("a -> b", "C_1.x-y", "first")),
        ("tests->QA only", ("tests", "QA", "only")),
        ("-> QA only", None),
        ("two\nlines -> QA only", None),
        ("line\n -> QA only", ("line", "QA", "only")),
        ("x -> QA", None),
        ("x -> 1QA only", None),
        ("x" + " " * 200_000 + "y", None),
        ("x" + " " * 200_000 + "-> QA only", ("x", "QA", "only")),
        ("x -> " * 50_000, None),
    ],
)
def test_forms_of_routing_laws(text: str, found: tuple[str, ...] | None) -> None:
    laws = csp.routing_laws({"L1": text})
    assert [law[1:] for law in laws] == ([] if found is None else [found])


def test_only_some_kinds_of_records_can_be_doubtful():
    """What ``validate`` passes over by its kind, check finds nothing in."""
    from tests.csp.generate import document
    from turnwire.csp.wire import DESCRIPTOR

    met = 0
    for seed in range(300):
        for one in turnwire.scan(document(seed), wire="csp").messages():
            record = one.message
            if isinstance(record, csp.CspMessage) and record.block.id and record.intent != "FILE":
                met += 1
                assert csp.check(record) == []
    assert set(DESCRIPTOR.doubtful_kinds) == {"FILE", "TEMPLATE"}
    assert met > 100


def test_logs_are_taken_as_a_scan_takes_them(tmp_path):
    text = DEFS + task(1) + patch("+ DEF A = 1\n") + result(1, ctx="C1")
    path = tmp_path / "a.log"
    path.write_text(text)
    log = csp.read_log(path)
    assert log == csp.read_log(str(path)) == csp.read_log(text) == csp.read_log([path])
    for source in (text, path, str(path), [path], f"{tmp_path}/*.log", log, log.document, log.document.messages):
        board = csp.board(source)
        assert (board.answered, board.open) == ({"CODER": ["T1"]}, {})
    for source in (text, path, str(path), log, log.document):
        assert csp.replay(source).store.head == "C1"


@pytest.mark.parametrize(
    ("words", "owner", "broken"),
    [
        ("web search for jwt", "CODER", True),
        ("search web for jwt", "CODER", True),
        ("web search for jwt", "WEB_RES", False),
        ("fetch the web page", "CODER", True),
        ("find web search handler", "CODER", False),
        ("refactor auth", "CODER", True),
    ],
)
def test_a_task_falls_under_the_law_whose_subject_it_begins_with(words, owner, broken):
    laws = "LAWS\n- L1: Web search/fetch -> WEB_RES only\n- L3: Refactoring -> REF_FIND first\n\n"
    text = laws + said("TASK", f"TASK T1\nREQ {words}\nOWNER {owner}")
    status = csp.conformance(text).line("laws").status
    assert status == ("fail" if broken else "pass")


@pytest.mark.parametrize(
    ("words", "filler"),
    [
        ("find hello.ts", False),
        ("mend the thanks page", False),
        ("rename str.cheers", False),
        ("please find it", True),
        ("bitte finde es", True),
        ("请查找", True),
        ("I would like you to look at the place where the token is read and to tell me what is wrong with it", True),
        ("find `please` in SRC", False),
    ],
)
def test_what_is_filler(words, filler):
    found = codes(said("TASK", f"TASK T1\nREQ {words}"))
    assert ("filler" in found) is filler
    heredoc = codes(said("TASK", f"TASK T1\nREQ\n<<<\n{words}\n>>>"))
    assert ("filler" in heredoc) is filler, "heredocs are looked into"


def test_what_preambles_define_is_the_first_checkpoint() -> None:
    context = lints.Context(None)
    context.learn(csp.messages.Preamble({"A": "x"}))
    context.learn(csp.messages.Preamble({"B": "y"}))
    context.learn(csp.decode("CSP/1\nFROM A\nTO B\nCTX C0\nINTENT TASK\n\nTASK T1\nREQ x\n"))
    context.learn(csp.messages.Preamble({"C": "z"}))
    assert dict(context.at("C0").defs) == {"A": "x", "B": "y"}
    assert dict(context.state.defs) == dict(context.at("C7").defs) == {"A": "x", "B": "y", "C": "z"}
