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
from turnwire.errors import Reason, RuleError
from turnwire.sstp.session import MOST, Clocks, folded, is_acknowledgement, is_doubtful, is_receipt
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


def test_of_two_names_that_a_third_is_like_the_first_one_is_told():
    for roster in (["Ali", "A1i"], ["A1i", "Ali"]):
        (issue,) = sstp.Session(roster).feed(message("Al\u0456", 1))
        assert (issue.reason, issue.text) == (Reason.LOOK_ALIKE, f"'Al\u0456' looks like {roster[0]!r}")


def test_a_clock_that_was_used_in_a_name_counts_in_its_own_session():
    for session, other in (("s-1", "s-2"), ("s-2", "s-1")):
        watch = sstp.Session(session_id="s-1")
        watch.feed(message("ann", 1, session=session), "eve")
        for asked in (other, session):
            found = [issue.reason for issue in watch.feed(message("ann", 1, session=asked), "ann")]
            assert (Reason.CLOCK_REPEAT in found) is (asked == session)


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


@pytest.mark.parametrize(
    ("clocks", "found"),
    [
        ([1, 2, 3], [[], [], []]),
        ([2], [["clock_gap"]]),
        ([1, 3, 4], [[], ["clock_gap"], []]),
        ([1, 1], [[], ["clock_repeat"]]),
        ([1, 2, 3, 2], [[], [], [], ["clock_repeat"]]),
        ([1, 5, 3], [[], ["clock_gap"], ["clock_back"]]),
        ([1, 5, 3, 3, 6], [[], ["clock_gap"], ["clock_back"], ["clock_repeat"], []]),
        ([0], [["clock_back"]]),
        ([10**30, 10**30 + 1], [["clock_gap"], []]),
    ],
)
def test_clocks(clocks, found):
    session = sstp.Session()
    for clock, expected in zip(clocks, found, strict=True):
        session.time_out()
        issues = session.feed(message("a", clock))
        assert reasons(issues) == expected
        assert all(issue.where == "/header/logical_clock" for issue in issues)
        severity = "warning" if expected == ["clock_gap"] else "error"
        assert all(issue.severity == severity for issue in issues)


def test_clocks_count_per_session_and_actor():
    session = sstp.Session()
    for actor, clock, name in (("a", 1, "s"), ("b", 1, "s"), ("a", 2, "s"), ("b", 2, "s")):
        assert session.feed(message(actor, clock, session=name)) == []
    assert session.feed(message("a", 3, Kind.KNOWLEDGE, session=None)) == []  # it belongs to the session
    session.time_out()
    assert reasons(session.feed(message("a", 5, Kind.KNOWLEDGE, session=None))) == ["clock_gap"]
    assert [session.next_clock(name) for name in ("a", "b", "c")] == [6, 3, 1]
    assert session.next_clock("a", "other") == 1


def test_the_session_that_learns_its_id_counts_on():
    """Messages without a session_id belong to the one session there is, which the first one that has an id names."""
    session = sstp.Session()
    for actor in ("ann", "bob"):
        assert session.feed(message(actor, 1, session=None)) == []
    assert session.next_clock("ann") == session.next_clock("ann", "s-1") == 2
    assert Reason.CLOCK_REPEAT in reasons(session.feed(message("ann", 1, session="s-1")))
    assert session.session_id == "s-1"
    session.feed(message("bob", 2, session=None))
    assert session.next_clock("bob", "s-1") == 3 and session.next_clock("bob", "s-2") == 1


def test_strict_raises_and_changes_nothing():
    session = sstp.Session(strict=True)
    session.feed(message("a", 1))
    for bad in (message("a", 2), message("a", 1), message("b", 1, session="other")):
        caught = raised(RuleError, session.feed, bad)
        assert caught.rule and caught.wire == "sstp" and caught.path.startswith("/header/")
    assert session.next_clock("b") == 1
    assert reasons(session.feed(message("b", 2))) == ["clock_gap"]  # an issue also when strict
    assert session.feed(message("a", 2)) == []


@given(st.lists(st.integers(1, 12), max_size=30))
def test_ranges_of_clocks_are_a_set(numbers):
    clocks, plain = Clocks(), set()
    for number in numbers:
        if number not in clocks:
            clocks.add(number)
        plain.add(number)
        assert {each for each in range(0, 14) if each in clocks} == plain
        assert clocks.last == max(plain)


def test_the_seven_templates_are_one_session():
    """Their clocks go from 1 to 7, and three of them have no session_id."""
    session = sstp.Session()
    for clock, kind in enumerate(Kind, 1):
        value = example(kind)
        value["header"] |= {"actor_id": "a", "logical_clock": clock}
        if kind in (Kind.KNOWLEDGE, Kind.EVIDENCE_BUNDLE, Kind.MEMORY_DELTA):
            value["header"].pop("session_id", None)
        session.time_out()
        assert "clock_gap" not in reasons(session.feed(sstp.decode(json.dumps(value))))
    assert session.next_clock("a") == 8


def test_bundles_of_one_delegation_need_not_wait():
    session = sstp.Session()
    assert session.feed(message("a", 1, Kind.DELEGATION, "b")) == []
    for clock in range(1, 4):
        assert session.feed(message("b", clock, Kind.EVIDENCE_BUNDLE)) == []
    assert session.feed(message("b", 4, Kind.KNOWLEDGE, text="all three prove it")) == []
    assert list(session.waiting(Kind.DELEGATION)) == []
    assert reasons(session.feed(message("b", 5, Kind.EVIDENCE_BUNDLE))) == ["out_of_turn"]
    alone = sstp.Session()
    found = [reasons(alone.feed(message("a", clock, Kind.EVIDENCE_BUNDLE))) for clock in range(1, 6)]
    assert found == [[]] + [["out_of_turn"]] * 4


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


@pytest.mark.parametrize("kind", Kind)
def test_who_may_speak_after_each_kind(kind):
    for speaker in ("a", "b", "c"):
        session = sstp.Session(["a", "b", "c"])
        assert session.feed(message("a", 1, kind, "b" if kind in (Kind.QUERY, Kind.DELEGATION) else None)) == []
        issues = session.feed(message(speaker, 2 if speaker == "a" else 1))
        allowed = {Kind.QUERY: "b", Kind.DELEGATION: "b"}.get(kind, "bc")
        assert reasons(issues) == ([] if speaker in allowed else ["out_of_turn"])


def test_speaking_out_of_turn_does_not_take_the_floor():
    session = sstp.Session()
    session.feed(message("a", 1, Kind.QUERY, "b"))
    assert reasons(session.feed(message("c", 1, Kind.QUERY, "a"))) == ["out_of_turn"]
    assert reasons(session.feed(message("a", 2))) == ["out_of_turn"]
    assert session.feed(message("B", 1)) == []  # the same name but for its case


def test_the_host_grants_and_times_out():
    session = sstp.Session()
    session.feed(message("a", 1, Kind.QUERY, "b"))
    session.grant("c")
    assert reasons(session.feed(message("b", 1))) == ["out_of_turn"]
    assert session.feed(message("c", 1)) == []
    session.time_out()
    assert session.feed(message("c", 2)) == []


def test_a_query_to_nobody_leaves_the_floor_open():
    session = sstp.Session(["a", "b"])
    assert reasons(session.feed(message("a", 1, Kind.QUERY, "nobody"))) == ["unknown_addressee"]
    assert session.feed(message("b", 1)) == []


def test_knowledge_answers_the_open_query():
    session = sstp.Session()
    query = message("a", 1, Kind.QUERY, "b")
    session.feed(query)
    assert session.open_queries == [query]
    session.feed(message("b", 1, Kind.EVIDENCE_BUNDLE))
    assert session.open_queries == [query]
    session.feed(message("b", 2, Kind.KNOWLEDGE))
    assert session.open_queries == []


# --- names -----------------------------------------------------------------------------------------------------------


def test_session_id_is_consistent():
    session = sstp.Session(["a", "b"])
    session.feed(message("a", 1))
    issues = session.feed(message("b", 1, session="s-2"))
    assert reasons(issues) == ["session_mismatch"] and issues[0].where == "/header/session_id"
    assert reasons(sstp.Session(session_id="s-9").feed(message("a", 1))) == ["session_mismatch"]


def test_roster():
    session = sstp.Session(["a", "b"])
    assert reasons(session.feed(message("eve", 1))) == ["unknown_actor"]
    assert reasons(session.feed(message("a", 1, Kind.DELEGATION, "carl"))) == ["unknown_addressee"]


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("alex", "Alex"),
        ("alex", "\u0430lex"),
        ("sam-sales", "sam_sales"),
        ("sam-sales", "sam\u200b-sales"),
        ("paul", "pau1"),
        ("bob", "b0b"),
        ("morgan", "rnorgan"),
        ("cafe", "caf\u00e9"),
        ("agent", "\uff41gent"),
    ],
)
def test_look_alikes(left, right):
    for session in (sstp.Session([left, "b"]), sstp.Session()):
        session.feed(message(left, 1))
        session.time_out()
        issues = session.feed(message(right, 1))
        assert reasons(issues) == ["look_alike"], issues
    if folded(left) != folded(right):
        session = sstp.Session([left, "b"])
        assert reasons(session.feed(message("b", 1, Kind.QUERY, right))) == ["look_alike"]


@pytest.mark.parametrize(("left", "right"), [("alex", "alex"), ("alex", "alexa"), ("a", "b"), ("-", "_"), ("a1", "a2")])
def test_no_look_alikes(left, right):
    session = sstp.Session()
    session.feed(message(left, 1))
    session.time_out()
    assert "look_alike" not in reasons(session.feed(message(right, 1)))


def test_identity():
    session = sstp.Session()
    assert session.feed(message("a", 1), "a") == []
    issues = session.feed(message("b", 1), "a")
    assert reasons(issues) == ["identity_mismatch"] and issues[0].severity == "error"
    assert reasons(session.feed(message("b", 1), "b")) == ["clock_repeat"]
    assert raised(RuleError, sstp.Session(strict=True).feed, message("a", 1), "b").rule == "identity"


def test_identities_of_the_transport():
    session = sstp.Session({"a": "@a:local", "b": ["@b:local", "@b:home"]})
    assert session.feed(message("a", 1), "@a:local") == []
    assert session.feed(message("b", 1), "@b:home") == []
    assert reasons(session.feed(message("a", 2), "@b:local")) == ["identity_mismatch"]
    assert reasons(session.feed(message("a", 3), "a")) == ["identity_mismatch"]


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


@pytest.mark.parametrize(("text", "found"), [("In March", []), ("Ship it today", ["echo"]), ("a b c d", ["echo"])])
def test_an_echo_has_three_words(text, found):
    for said in (text, text.upper(), f" {text}. "):
        session = sstp.Session()
        session.feed(message("ann", 1, text=text))
        assert reasons(session.feed(message("bob", 1, text=said))) == found
        assert session.feed(message("ann", 2, text="Something else")) == []
        assert session.feed(message("bob", 2, text=said)) == []  # only what was just said is echoed


@pytest.mark.parametrize(
    ("name", "found"), [("<>", False), ("<a>", True), ("<a", False), ("a>", False), (">a<", False)]
)
def test_a_name_in_angle_brackets_has_a_letter_at_least(name, found):
    assert ("placeholder" in reasons(sstp.check(message(name, 1)))) is found
    assert ("placeholder" in reasons(sstp.check(message("a", 1, Kind.QUERY, name)))) is found
    assert reasons(sstp.check(message("a", 1, text=name))) == []  # a text may be anything


def test_the_newest_of_several_questions_is_answered():
    asks = "Have you received it?", "How many are there?"
    for first, second in (asks, asks[::-1]):
        session = sstp.Session()
        session.feed(message("ann", 1, Kind.QUERY, "bob", question=first))
        session.time_out()
        session.feed(message("ann", 2, Kind.QUERY, "bob", question=second))
        issues = session.feed(message("bob", 1, Kind.KNOWLEDGE, text="Received."))
        assert reasons(issues) == ([] if second == asks[0] else ["acknowledgement"])


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


@pytest.mark.parametrize("form", ["了解", "好的", "ok", "Received", "merci"])
@pytest.mark.parametrize("end", ["", ".", "!", "。", "！", " . ", "。。", ",", "?"])
def test_marks_that_close_a_text_are_no_part_of_a_form(form, end):
    session = sstp.Session()
    session.feed(message("ann", 1))
    found = reasons(session.feed(message("bob", 1, text=form + end)))
    assert found == (["acknowledgement"] if end != "?" else [])


def test_what_names_no_session_is_one_of_its_own_beside_several():
    several = [message("ann", 1, session="s-1"), message("bob", 1, session="s-2")]
    nameless = message("cid", 1, Kind.KNOWLEDGE, session=None)
    named = message("cid", 1, session="s-3")
    for more, found in (([nameless, named], True), ([nameless, nameless], False), ([named, named], False)):
        status = {line.clause.id: line.status for line in sstp.conformance(*several, *more)}
        assert (status["clock"] == "pass") is (status["one_speaker"] != "fail") is found
