"""The token rules and the laws: for each a text that triggers it and one that does not, at each of its numbers."""

from __future__ import annotations

import pytest

import turnwire
from tests import vectors
from tests.above import backend  # noqa: F401  (a fixture)
from tests.conftest import raised
from turnwire import csp
from turnwire.csp import lints
from turnwire.csp.checklist import CspChecklist
from turnwire.csp.lints import LAW_TEXT_LEAST, Routing, filler, routing_laws

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


@pytest.mark.parametrize(
    ("text", "severities"),
    [
        (DEFS + task(rest="\nIN SRC,LICENSE"), ["info"]),  # which may be a file
        (DEFS + patch("- DEF LIB\n") + task(rest="\nIN LIB", ctx="C1"), ["warning"]),
        ("DEF LIB = l\n\n" + patch("- DEF LIB\n") + task(rest="\nIN LIB", ctx="C1"), ["warning"]),  # nothing is left
        (DEFS + patch("+ DEF NEW = n\n") + task(rest="\nIN NEW", ctx="C0"), ["warning"]),
        (DEFS + task(rest="\nOWNER SOMEBODY"), []),  # an agent
        (DEFS + task(receiver="SOMEBODY"), []),
        (DEFS + patch("- DEF LIB\n") + task(rest="\nOWNER LIB", ctx="C1"), ["warning"]),
        (DEFS + patch("- DEF LIB\n") + task(receiver="LIB", ctx="C1"), ["warning"]),
    ],
)
def test_an_undefined_name_is_a_fact_where_it_was_defined(text, severities):
    found = csp.lint(csp.parse(text, mode="lenient"))
    assert [issue.severity for issue in found if issue.reason == "undef"] == severities


def test_what_is_no_record_is_refused_as_by_check():
    caught = raised(turnwire.EncodeError, csp.lint, "CSP/1\n")
    assert (caught.reason, caught.wire) == ("wrong_type", "csp")


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
    assert routing_laws({"L": text}) == ([] if law is None else [("L", *law)])


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
        *((words, True) for words in ("bitte finde es", "gracias", "finde es: s'il vous plaît", "grazie", "obrigado")),
        *((words, True) for words in ("спасибо", "lütfen", "proszę", "bedankt", "请查找", "sorry to ask", "a; thanks")),
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


@pytest.mark.parametrize("end", ",.!")
def test_one_word_of_politeness_with_dots_is_one(end):
    for text in (f"thanks..{end}", f"sorry,x.y{end}"):
        assert filler(text) is not None


@pytest.mark.parametrize(
    "text",
    ["pleased", "thanks to b", "src/please.ts", "please.ts", "`please`", '"thank you"', "PLEASE_WAIT", "hello", "sure",
     "dear", "a please/b", "thanksgiving", "prégo"],
)  # fmt: skip
def test_what_is_a_part_of_a_word_or_code_is_no_politeness(text):
    assert filler(text) is None


SMALL = ["the", "of", "and", "to", "in", "is", "it", "that", "be", "as"]
LARGE = ["alpha", "bravo", "carrots", "dinner", "engine", "folder", "garden", "hammer", "island"]


@pytest.mark.parametrize(
    ("small", "large", "found"),
    [
        *((small, 14 - small, small > 5) for small in (4, 5, 6, 7)),
        *((small, 13 - small, False) for small in (6, 10)),
        *((small, 15 - small, small > 5) for small in (5, 6, 7)),
        *((small, 20 - small, small > 7) for small in (7, 8, 9, 10)),
    ],
)
def test_prose_has_fourteen_words_and_two_fifths_of_them_are_small(small, large, found):
    words = (SMALL * 2)[:small] + (LARGE * 2)[:large]
    for text in (" ".join(words), " ".join(reversed(words)), " ".join(words).title()):
        assert filler(text) == (f"is prose of {len(words)} words" if found else None)
        assert ("filler" in codes(DEFS + task(rest=f" {text}"))) is (filler(f"find it {text}") is not None)


def test_prose_of_the_shortest_words_is_prose_too():
    assert filler("a " * 12 + "a") is filler("a " * 13) is filler("a " * 12 + "is") is None
    assert filler("a " * 13 + "a") == filler("a\n" * 14) == filler("a " * 12 + "is a") == "is prose of 14 words"
    assert filler("it" * 40) is None


@pytest.mark.parametrize(
    ("touched", "left", "found"), [(89, 11, False), (90, 10, True), (91, 9, True), (899, 101, False), (900, 100, True)]
)
def test_a_rewrite_writes_over_nine_tenths(touched, left, found):
    """Of the bytes of names and values: here of two names of one letter, and of one that is left."""
    first = touched // 2
    values = f"DEF A = {'x' * (first - 1)}\nDEF B = {'y' * (touched - first - 1)}\nDEF C = {'z' * (left - 1)}\n\n"
    text = values + patch("~ DEF A := 1\n~ DEF B := 2\n")
    assert ("full_rewrite" in codes(text)) is found
    assert ("full_rewrite" in codes(values + patch("- DEF A\n- DEF B\n"))) is found


@pytest.mark.parametrize("names", [1, 2, 3, 4])
def test_a_rewrite_is_one_of_three_names_at_least(names):
    letters = "ABCDE"[:names]
    text = "".join(f"DEF {name} = {name}1\n" for name in letters) + "\n"
    text += patch("".join(f"~ DEF {name} := {name}2\n" for name in letters))
    assert ("full_rewrite" in codes(text)) is (names >= 3)


@pytest.mark.parametrize("more", [-1, 0, 1])
def test_a_law_that_is_said_again_has_so_many_letters(more):
    law = ("never delete any file of others" * 2)[: LAW_TEXT_LEAST + more].strip().ljust(LAW_TEXT_LEAST + more, "x")
    text = f"LAWS\n- L1: {law}\n\n" + task(rest=f" ({law})")
    assert ("restate" in codes(text)) is (more >= 0)


@pytest.mark.parametrize("said", ["DEF SRC = src/", "DEF NEW = n/", "LAWS\n- L1: refs only, always", "LAWS\n- L2: x"])
def test_what_is_defined_behind_the_first_message_is_said_again(said):
    """True if or not it says the same, and whatever stands between."""
    laws = "LAWS\n- L1: refs only, always\n\n"
    for front in ("", "```\n"):
        for behind in ("", "\n"):
            assert codes(laws + DEFS + task() + f"\n{front}{said}\n{behind}") >= {"restate"}
    assert "restate" not in codes(laws + DEFS + f"{said}\n\n" + task())


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
