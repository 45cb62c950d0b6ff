"""Numbers that rules of sessions count by, each just below, at and above: words of an echo, letters, sizes, marks."""

from __future__ import annotations

import json

import pytest

import turnwire
from tests.sstp.examples import example
from tests.sstp.test_session import message, reasons
from turnwire import sstp
from turnwire.sstp.acknowledgements import MOST, is_doubtful, is_receipt
from turnwire.sstp.bulk import claims, marked
from turnwire.sstp.messages import retention_days
from turnwire.sstp.spec import HEADER, Kind
from turnwire.sstp.strays import near


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


@pytest.mark.parametrize("name", ["kind", "type"])
@pytest.mark.parametrize("kind", Kind)
def test_what_is_near_to_a_message(name, kind):
    assert near({name: kind.value}) is (name == "kind")
    assert near({name: kind.value, "actor_id": "a"})
    assert near({name: kind.value, "header": {}, "payload": 1})
    assert near({name: kind.value, **example(kind)["payload"]})
    assert not near({name: kind.value, "actor_id": "a", "other": 1})
    assert not near({name: kind.value.upper(), "actor_id": "a"})


def test_parts_of_a_message_are_near_to_one_by_their_names():
    whole = {field.name: 1 for field in HEADER} | {"directed_to": 1}
    assert near({"header": whole}) and near({"header": whole, "payload": {}}) and near({"header": {}, "payload": {}})
    assert not near({"header": whole | {"other": 1}}) and not near({"header": {}, "payload": {}, "other": {}})
    assert near({"header": {"actor_id": "a"}}) and near({"payload": {"goal": "x"}}) and near({"header": 1})
    assert not near({}) and not near({"header": {"actor": "a"}}) and not near({"payload": {"goals": "x"}})
    assert not near({"header": {"actor_id": "a"}, "body": {}})


MARKS = {"actor_id": "a", "schema_id": "x", "logical_clock": 1}


@pytest.mark.parametrize(
    ("fields", "claimed"),
    [
        *(({"header": {name: MARKS[name]}}, False) for name in MARKS),
        *(({"header": {name: MARKS[name] for name in MARKS if name != left}}, True) for left in MARKS),
        ({"header": {"schema_id": "ioc.x"}}, True),
        ({"header": {"schema_id": "ioc"}}, False),
        ({"header": {"kind": "intent"}}, False),
        ({"header": {"kind": "intent"}, "payload": None}, True),
        ({"header": {"kind": "letter"}, "payload": {}}, False),
        ({"header": {"protocol": "SSTP"}}, True),
        ({"header": {"protocol": "L9"}}, True),
        ({"header": {"protocol": "L8"}}, False),
        ({"header": {}, "payload": {"success_criteria": 1}}, False),
        ({"header": {}, "payload": {"success_criteria": 1, "assigned_to": 1}}, True),
        ({"payload": {"success_criteria": 1, "assigned_to": 1}}, False),
        ({"origin": {}, "kind": "intent"}, True),
        ({"origin": {}, "kind": "letter"}, False),
        ({"origin": 1, "kind": "intent"}, False),
    ],
)
def test_what_claims_to_be_a_message(fields, claimed):
    assert claims(fields) is claimed
    found = sstp.salvage(json.dumps(fields))
    assert [one.message for one in found] == []


@pytest.mark.parametrize(
    ("labels", "days"),
    [
        (["retention:123456789d"], 123456789),
        (["retention:1234567890d"], None),
        (["retention:7d", "retention:30d"], 7),
        (["retention:30d", "retention:7d", "x"], 7),
        (["retention:d"], None),
        (["retention:\u0663d"], None),
        (["retention:3"], None),
        ([7], None),
        ("retention:7d", None),
    ],
)
def test_days_of_retention(labels, days):
    assert retention_days(labels) == days


@pytest.mark.parametrize(
    "marks", [(), ("actor_id",), ("actor_id", "schema_id"), ("schema_id", "logical_clock"), tuple(MARKS)]
)
def test_two_marks_in_damaged_bytes_make_them_a_message(marks):
    damaged = ('{"x": {' + ", ".join(f'"{mark}": 1' for mark in marks)).encode()
    assert marked(damaged) is (len(marks) >= 2)
    scan = turnwire.scan(damaged + b"\n")
    assert sum(map(len, scan)) == 0 and len(scan.rejects.rows()) == (len(marks) >= 2)


@pytest.mark.parametrize("form", ["了解", "好的", "ok", "Received", "merci"])
@pytest.mark.parametrize("end", ["", ".", "!", "。", "！", " . ", "。。", ",", "?"])
def test_marks_that_close_a_text_are_no_part_of_a_form(form, end):
    session = sstp.Session()
    session.feed(message("ann", 1))
    found = reasons(session.feed(message("bob", 1, text=form + end)))
    assert found == (["acknowledgement"] if end != "?" else [])


def test_a_lenient_schema_asks_for_what_reading_asks_for():
    """Nothing of the parts of artifacts, which reading takes as they are."""
    strict, lenient = (json.dumps(sstp.json_schema(strict=strict)) for strict in (True, False))
    parts = '"required": ["type", "name", "value"]'
    assert parts in strict and parts not in lenient
