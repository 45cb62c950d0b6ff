"""The token rules and the laws: for each a text that triggers it and one that does not, at each of its numbers."""

from __future__ import annotations

import turnwire
from tests import vectors
from tests.above import backend  # noqa: F401  (a fixture)
from tests.conftest import raised
from turnwire import csp
from turnwire.csp import lints
from turnwire.csp.checklist import CspChecklist
from turnwire.csp.lints import Routing, routing_laws

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


@vectors.cases("csp_forms", kind="rule")
def test_token_rules(case):
    assert case["rule"] in codes(case["bad"])
    assert case["rule"] not in codes(case["good"])


@vectors.cases("csp_forms", kind="lint")
def test_what_is_found_in_a_text(case):
    found = csp.lint(csp.parse(case["text"], mode="lenient"))
    assert [[str(issue.reason), issue.severity, issue.where] for issue in found] == case["found"]


def test_what_is_no_record_is_refused_as_by_check():
    caught = raised(turnwire.EncodeError, csp.lint, "CSP/1\n")
    assert (caught.reason, caught.wire) == ("wrong_type", "csp")


def test_lint_against_a_store():
    store = csp.Store({"SRC": "src/"})
    store.apply(csp.decode(patch("+ DEF A = 1\n")))
    store.apply(csp.decode(task(ctx="C1")))
    assert codes(result(ctx="C1"), store) == set()
    assert codes(result(7, ctx="C0"), store) == {"no_task", "ctx_stale"}
    found = csp.lint(csp.decode(task(2, "\nIN src/", ctx="C1")), store)
    assert [(str(issue.reason), issue.where, issue.severity) for issue in found] == [("expanded", 1, "info")]


LAWS = {"L1": "Web search/fetch -> WEB_RES only", "L3": "Refactoring -> REF_FIND first", "L9": "be brief"}


@vectors.cases("csp_forms", kind="routing")
def test_what_a_law_that_routes_is(case):
    assert routing_laws({"L": case["law"]}) == ([("L", *case["routes"])] if case["routes"] else [])


@vectors.cases("csp_forms", kind="law")
def test_a_task_falls_under_the_law_whose_subject_it_begins_with(case):
    line = csp.conformance(case["text"]).line("laws")
    assert [[fault.line, fault.text.partition(":")[0]] for fault in line.faults] == case["broken"]
    assert line.status == ("fail" if case["broken"] else "pass")


def test_laws_route():
    assert routing_laws(LAWS) == [
        ("L1", "Web search/fetch", "WEB_RES", "only"),
        ("L3", "Refactoring", "REF_FIND", "first"),
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
    routing = Routing(LAWS)
    found = [len(routing.feed(message, {"REF_FIND": "ref-finder"})) for message in csp.parse(text).messages]
    assert found == [0, 1, 1, 0, 0]


def test_only_some_kinds_of_records_can_be_doubtful():
    """Kinds that ``validate`` passes over are those in which check finds nothing."""
    from tests.csp.generate import document

    met = 0
    for seed in range(120):
        for one in turnwire.scan(document(seed), wire="csp").messages():
            record = one.message
            if isinstance(record, csp.CspMessage) and record.block.id and record.intent != "FILE":
                met += 1
                assert csp.check(record) == []
    assert set(turnwire.wires()["csp"].scanner.doubtful[1]) == {"FILE", "TEMPLATE"}
    assert met > 40


def test_what_preambles_define_is_the_first_checkpoint() -> None:
    context = lints.Linter()
    for record in (csp.Preamble({"A": "x"}), csp.Preamble({"B": "y"}), csp.decode(task()), csp.Preamble({"C": "z"})):
        context.feed(record)
    assert context.state.at("C0") == context.state.defs == context.state.at("C7") == {"A": "x", "B": "y"}


def laws_of(routing: Routing, req: str) -> list[str]:
    return [law.id for law in routing.of(req)]


def test_a_task_falls_under_each_law_whose_subject_it_names() -> None:
    subjects = ("code review", "review the code", "write tests/docs", "writing", "deploy")
    laws = Routing({f"L{number}": f"{subject} -> A only" for number, subject in enumerate(subjects)})
    assert laws_of(laws, "reviewing code of the parser") == ["L0", "L1"]
    assert laws_of(laws, "write docs") == ["L2", "L3"]
    assert laws_of(laws, "write") == ["L3"]
    assert laws_of(laws, "explain") == []
    words = [f"{one}{two}" for one in "bcdfg" for two in "klmnpqrst"]
    many = Routing({f"L{number}": f"{word} x -> A only" for number, word in enumerate(words)})
    assert [laws_of(many, f"x {word} now") for word in words] == [[law.id] for law in many.laws]


def test_a_classifier_says_which_laws_a_task_falls_under():
    text = "LAWS\n- L1: Refactoring -> REF only\n- L2: Tests -> QA only\n\n" + task(1) + task(2, "\nOWNER REF")
    asked = []

    def classify(message, laws):
        asked.append([law.id for law in laws])
        return ["L1", "L9"]

    assert csp.conformance(text).line("laws").status == "pass"
    judged = csp.conformance(text, classify=classify).line("laws")
    assert judged.status == "fail" and asked == [["L1", "L2"]] * 2
    assert [found.text for found in judged.faults] == ["L1: Refactoring goes to REF only, T1 went to CODER"]


def test_answers_to_tasks_that_were_not_given_crowd_out_no_task() -> None:
    checker = CspChecklist()
    texts = [task(1), *(result(number, sender="CODER", receiver="MAIN") for number in (*range(10, 15), 1))]
    for line, text in enumerate(texts, 1):
        checker.message(csp.decode(text), line)
        checker.forget(2)
    checker.end()
    assert [one.line for one in checker.faults if one.clause == "answers"] == [2, 3, 4, 5, 6] and not checker.open
