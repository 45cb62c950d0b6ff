"""Sessions: clocks, turns, names, identities; and the faults of the real conversation, all of them and nothing else."""

from __future__ import annotations

import json
import random
import re

import pytest
from hypothesis import given, strategies as st

from tests import vectors
from tests.conftest import raised
from tests.sstp.examples import DATA, example, real
from turnwire import sstp
from turnwire.errors import RuleError
from turnwire.sstp.session import MOST, Clocks, is_acknowledgement, is_doubtful, is_receipt
from turnwire.sstp.spec import Kind

pytestmark = pytest.mark.once


def message(actor, clock, kind=Kind.INTENT, to=None, session="s-1", text=None, **payload):
    value = example(kind)
    value["header"] |= {"actor_id": actor, "logical_clock": clock, "session_id": session}
    if session is None:
        del value["header"]["session_id"]
    name = {Kind.QUERY: "directed_to", Kind.DELEGATION: "assigned_to"}.get(kind)
    if name and to is None:
        value["payload"].pop(name)  # null would be of the wrong type
    elif name:
        value["payload"][name] = to
    elif to:
        value["payload"]["directed_to"] = to
    if text is not None:
        value["payload"]["content" if kind is Kind.KNOWLEDGE else "goal"] = text
    value["payload"].update(payload)
    return sstp.decode(json.dumps(value))


def reasons(issues):
    return [str(issue.reason) for issue in issues]


# --- the real conversation -------------------------------------------------------------------------------------------

ACCOUNTS = {
    "Alex-Engineering": "main",
    "sam-sales": "@sam-1772051496:local",
    "morgan-product": "@morgan-1772051496:local",
}


def conversation():
    """(message, account that sent it) for the 16 messages, in the order of the recorded turns."""
    seen = []
    for turn in json.loads((DATA / "openclaw_transcripts.json").read_text("utf-8"))[-1]["turns"]:
        for text, heard in ((turn["userMessage"], True), (turn["response"], False)):
            for found in sstp.salvage(text):
                senders = re.findall(r'"sender": "([^"]+)"', text[: found.start])
                if all(found.message != earlier for earlier, _ in seen):
                    seen.append((found.message, senders[-1] if heard else "main"))
    return seen


def test_the_conversation_is_the_one_of_the_file():
    assert [each.to_dict() for each, _ in conversation()] == real()


@pytest.mark.parametrize("mapped", [False, True])
def test_the_faults_of_the_real_conversation_and_nothing_else(mapped):
    actors = {account: actor for actor, account in ACCOUNTS.items()}
    session = sstp.Session(ACCOUNTS if mapped else list(ACCOUNTS))
    found = {}
    for place, (each, account) in enumerate(conversation()):
        assert sstp.check(each) == []
        issues = session.feed(each, account if mapped else actors[account])
        if issues:
            found[place] = reasons(issues)
    assert found == {
        2: ["unknown_addressee"],  # Product-Head is not an actor
        9: ["identity_mismatch"],  # alex speaks as morgan, twice
        10: ["identity_mismatch"],
        13: ["clock_repeat"],  # morgan's own clock 4, which alex had used
        15: ["out_of_turn"],  # alex commits right behind an evidence bundle of his own
    }
    assert session.session_id == "q2-budget-001"
    assert [session.next_clock(actor) for actor in ACCOUNTS] == [7, 5, 5]


# --- clocks ----------------------------------------------------------------------------------------------------------


def test_strict_raises_and_changes_nothing():
    session = sstp.Session(strict=True)
    session.feed(message("a", 1))
    for bad in (message("a", 2), message("a", 1), message("b", 1, session="other")):
        caught = raised(RuleError, session.feed, bad)
        assert caught.rule and caught.wire == "sstp" and caught.path.startswith("/header/")
    assert session.next_clock("b") == 1
    assert reasons(session.feed(message("b", 2))) == ["clock_gap"]  # an issue also when strict
    assert session.feed(message("a", 2)) == []
    assert raised(RuleError, sstp.Session(strict=True).feed, message("a", 1), "b").rule == "identity"


@given(st.lists(st.integers(1, 12), max_size=30))
def test_ranges_of_clocks_are_a_set(numbers):
    clocks, plain = Clocks(), set()
    for number in numbers:
        if number not in clocks:
            clocks.add(number)
        plain.add(number)
        assert {each for each in range(0, 14) if each in clocks} == plain
        assert clocks.last == max(plain)


@vectors.cases("sstp_forms", kind="session")
def test_sessions(case):
    """Clocks, turns, names and identities: one step after another."""
    session = sstp.Session(case.get("roster"), session_id=case.get("session_id"))
    for step in case["steps"]:
        if "text" in step:
            issues = session.feed(sstp.decode(step["text"]), step.get("from"))
            assert [[str(issue.reason), issue.severity, issue.where] for issue in issues] == [
                found[:3] for found in step["found"]
            ]
            assert all(found[3:] in ([], [issue.text]) for issue, found in zip(issues, step["found"], strict=True))
        elif "next_clock" in step:
            assert session.next_clock(*step["next_clock"]) == step["is"]
        elif "grant" in step:
            session.grant(step["grant"])
        else:
            session.time_out()


@vectors.cases("sstp_forms", kind="statement")
def test_acknowledgements(case):
    text, found = case["text"], case["found"]
    session = sstp.Session()
    session.feed(message("a", 1, Kind.KNOWLEDGE, text="The budget is 3."))
    issues = session.feed(message("b", 1, Kind.KNOWLEDGE, text=text))
    assert reasons(issues) == found and all(issue.severity == "info" for issue in issues)


@vectors.cases("sstp_forms", kind="answer")
def test_a_combination_answers_a_question_where_a_part_of_it_can(case):
    session = sstp.Session()
    session.feed(message("a", 1, Kind.QUERY, "b", question="Shall the old parser go away?"))
    assert reasons(session.feed(message("b", 1, Kind.KNOWLEDGE, text=case["text"]))) == case["found"]


@pytest.mark.parametrize("piece", ["ok ", "ok, ", "👍 ", "👍", "i ", "thank ", ". ", "i will i ", "sounds ", "x👍"])
def test_long_texts_of_forms_are_judged_in_one_pass(piece):
    is_acknowledgement(piece * 10_000)  # a square of that would never end


def test_three_bundles_answer_their_delegation():
    bundles = [message("b", clock, Kind.EVIDENCE_BUNDLE, text=f"claim {clock}") for clock in (1, 2, 3)]
    history = [message("a", 1, Kind.DELEGATION, "b"), *bundles]
    found = sstp.conformance(*history)
    assert found.verdict == "conforms", str(found)
    after = message("a", 2, Kind.KNOWLEDGE, text="all is proved")
    assert sstp.conformance(*history, after).verdict == "conforms"
    alone = sstp.conformance(*bundles)
    assert [line.clause.id for line in alone if line.status == "fail"] == ["one_speaker"]


def test_the_table_of_acknowledgements_can_be_extended():
    session = sstp.Session(acknowledgements=[*sstp.ACKNOWLEDGEMENTS, "Chi capisce."])
    session.feed(message("a", 1))
    assert reasons(session.feed(message("b", 1, Kind.KNOWLEDGE, text="chi  capisce"))) == ["acknowledgement"]


# --- turns -----------------------------------------------------------------------------------------------------------


def test_knowledge_answers_the_open_query():
    session = sstp.Session()
    query = message("a", 1, Kind.QUERY, "b")
    session.feed(query)
    assert session.open_queries == [query]
    session.feed(message("b", 1, Kind.EVIDENCE_BUNDLE))
    assert session.open_queries == [query]
    session.feed(message("b", 2, Kind.KNOWLEDGE))
    assert session.open_queries == []


# --- contributions ---------------------------------------------------------------------------------------------------


def test_what_reading_refuses_is_found_and_changes_nothing():
    session = sstp.Session()
    broken = message("a", 1)
    del broken.header["logical_clock"]
    assert reasons(session.feed(broken)) == ["missing_field"]
    assert session.next_clock("a") == 1 and session.actors == ()
    with pytest.raises(RuleError):
        sstp.Session(strict=True).feed(broken)


def test_what_is_no_message_is_named():
    with pytest.raises(TypeError, match="SSTP messages, not str"):
        sstp.Session().feed("{}")


@pytest.mark.parametrize("roster", [None, ("alex", "b")])
def test_judging_a_message_foresees_what_feeding_it_finds_and_changes_nothing(roster):
    chance = random.Random(5)
    for _ in range(60):
        session = sstp.Session(roster)
        for _ in range(8):
            actor, where = chance.choice(("alex", "Alex", "аlex", "b", "host")), chance.choice(("s-1", "s-1", None))
            clock = max(1, session.next_clock(actor, where) + chance.choice((0, 0, 0, 1, -1)))
            kind, to = chance.choice((Kind.INTENT, Kind.QUERY, Kind.KNOWLEDGE)), chance.choice((None, "b", "nobody"))
            given = message(actor, clock, kind, to, where, chance.choice((None, "Got it, thanks", "two cores fail")))
            foreseen = session._found(given, None).issues
            assert session._found(given, None).issues == foreseen
            assert session.feed(given) == foreseen


@pytest.mark.parametrize(
    ("name", "found"), [("<>", False), ("<a>", True), ("<a", False), ("a>", False), (">a<", False)]
)
def test_a_name_in_angle_brackets_has_a_letter_at_least(name, found):
    assert ("placeholder" in reasons(sstp.check(message(name, 1)))) is found
    assert ("placeholder" in reasons(sstp.check(message("a", 1, Kind.QUERY, name)))) is found
    assert reasons(sstp.check(message("a", 1, text=name))) == []  # a text may be anything


@pytest.mark.parametrize(
    ("said", "question", "is_one"),
    [
        ("ack", "Did you ack it?", True),
        ("read", "Have you read it?", False),
        ("noted", "Is it noted?", False),
        ("noted", "Is it known?", True),
        ("merci", "Tu dis merci ?", False),
        ("\u6536\u5230", "\u6536\u5230\u4e86\u5417?", False),
        ("\u6536\u5230", "\u597d\u5417?", True),
    ],
)
def test_a_receipt_is_asked_for_by_a_word_of_four_letters_or_of_any_beyond_ascii(said, question, is_one):
    assert is_receipt(said, question) is is_one


@pytest.mark.parametrize(("size", "found"), [(MOST - 1, True), (MOST, True), (MOST + 1, False), (MOST + 2, False)])
def test_long_texts_are_not_doubtful(size, found):
    text = ("Ok. " * size)[:size].rstrip().ljust(size, ".")
    assert len(text) == size and is_doubtful(text) is found


def test_what_names_no_session_is_one_of_its_own_beside_several():
    several = [message("ann", 1, session="s-1"), message("bob", 1, session="s-2")]
    nameless = message("cid", 1, Kind.KNOWLEDGE, session=None)
    named = message("cid", 1, session="s-3")
    for more, found in (([nameless, named], True), ([nameless, nameless], False), ([named, named], False)):
        status = {line.clause.id: line.status for line in sstp.conformance(*several, *more)}
        assert (status["clock"] == "pass") is (status["one_speaker"] != "fail") is found
