"""Numbers that conversions count by, each just below, at and above."""

from __future__ import annotations

import contextlib
import itertools
import json
import random
import re
import uuid

import pytest

import turnwire
from tests.convert.dialogues import given
from tests.convert.messages import FULL
from tests.sstp.examples import example
from turnwire import Converter, ConvertError, kick, nslip, sstp
from turnwire.checklists import Fault, Judge
from turnwire.conversion import carrying
from turnwire.conversion import facts as forms
from turnwire.conversion.context import ABSENT, Context, LearnedNames
from turnwire.conversion.conversation import _numbered
from turnwire.conversion.histories import Histories, History
from turnwire.conversion.sap import begin
from turnwire.conversion.shapes import pointed, shown
from turnwire.nslip.spec import SHORT_STRING
from turnwire.registry import reading
from turnwire.sstp.spec import Kind

pytestmark = pytest.mark.once


@pytest.mark.parametrize(
    ("name", "number"),
    [
        ("0", 0),
        ("7", 7),
        (str(10**18), 10**18),
        (str(10**19), 10**19),
        (str(2**64 - 1), 2**64 - 1),
        (str(2**64), None),
        ("9" * 20, None),
        ("1" * 21, None),
        ("07", None),
        ("-1", None),
        ("\u0667", None),
        ("T7", None),
    ],
)
def test_a_name_that_is_a_number_of_64_bits_is_that_number(name, number):
    found = Context().names.number("ids", name)
    assert (found == number and type(found) is int) if number is not None else not isinstance(found, int)


@pytest.mark.parametrize("name", ["T", "T1", "T10", "1", "\u0661", "t-"])
def test_numbered_names_differ_from_those_of_any_other_name(name):
    names = [name, f"{name}1", f"{name}0", f"{name}10"]
    made = list(itertools.chain.from_iterable([_numbered(one, number) for number in range(1, 30)] for one in names))
    assert _numbered(name, 0) == name
    assert len(set(made[:29])) == 29 and not set(made[:29]) & {name}


@pytest.mark.parametrize("room", [1, 10, 999, 1000, 1100, 2000, 5000])
def test_histories_that_are_over_are_kept_in_a_hundredth_of_the_room(room):
    histories = Histories("sap", room)
    most = max(10, room // 100)
    for number in range(3 * most):
        key = None, f"T{number}"
        histories.written(key, histories.at(key), True, None)
        histories.over(key)
        assert len(histories) <= max(most, 1) + 1
    assert len(histories) in (most, most + 1)


@pytest.mark.parametrize("room", [1, 100, 300])
def test_histories_that_are_open_are_followed_in_a_tenth_of_the_room(room):
    histories, most = Histories("sap", room), max(10, room // 10)
    for number in range(2 * most):
        histories.written((None, str(number)), histories.at((None, str(number))), True, None)
        assert len(histories) == min(number + 1, most)
    with pytest.raises(ConvertError, match="no longer followed"):
        histories.at((None, str(2 * most - most - 1)))


def test_work_that_is_asked_for_again_is_the_newest():
    converter = Converter("sap", context=given("nslip"), remember=2)
    for name in "aba":
        converter._note("nslip", {"conversation": "1", "sender": "2", "receiver": "3", "act": "request", "task": name})
    assert [key[1] for key in converter._tasks] == ["b", "a"]


@pytest.mark.parametrize(
    ("act", "status", "kind"),
    [("inform", "FAILED", "FailedResult"), ("inform", "SUCCEEDED", "Result"), ("inform", None, "Result")]
    + [(act, "FAILED", kind) for act, kind in (("accept", "Ack"), ("reject", "Nack"), ("request", "Task"))],
)
def test_a_report_alone_has_failed_by_its_status(act, status, kind):
    assert begin(act, {"status": status})[0] == kind


@pytest.mark.parametrize(
    "carried",
    [
        {},
        {"fields": []},
        {"fields": "a"},
        {"fields": ["a"], "rest": ["a"]},
        {"fields": ["a"], "texts": ["a"]},
        {"fields": [1]},
    ],
)
def test_what_was_carried_is_a_list_of_fields_and_their_values(carried):
    with pytest.raises(ConvertError):
        carrying.restored(carried, {}, "sap")


@pytest.mark.parametrize("moments", list(itertools.permutations([None, 50.0, 100.0])))
def test_the_moment_of_histories_never_goes_back(moments):
    histories = Histories("kick", 100)
    latest = 0.0
    for number, moment in enumerate(moments):
        key = None, str(number)
        histories.written(key, histories.at(key), True, moment)
        latest = max(latest, moment or 0.0)
        assert histories._moment == latest


def test_what_is_wrong_in_a_history_is_told_at_the_end_also_where_it_is_over():
    histories = Histories("sap", 100)
    wrong = [Fault("correlation", 1, name) for name in ("over", "open")]
    for fault in wrong:
        watch = histories.at((None, fault.text))
        watch.early = fault
        histories.written((None, fault.text), watch, False, None)
    histories.over((None, "over"))
    histories.any_asked = True
    assert histories.close() == ((wrong[0], wrong[1]), ())


class Once(Judge):
    """Every number once. It does not foresee: what was refused stays in it."""

    def __init__(self):
        super().__init__()
        self.seen = set()

    def message(self, message, line, offset=None, raw=None):
        if message in self.seen:
            self.seen.update(range(100))
            self.fault("once", line, f"{message} again")
        self.seen.add(message)


def test_what_a_judge_refused_that_does_not_foresee_leaves_no_trace(monkeypatch):
    """Neither in a short history, nor in a longer one."""
    monkeypatch.setattr(reading("judging"), "judge_of", lambda wire: Once())
    for seed in range(10):
        rnd, watch, taken = random.Random(seed), History("x", 100), []
        for _ in range(60):
            number = rnd.randrange(40)
            fault = watch.refuses(number)
            assert fault == (Fault("once", len(taken) + 1, f"{number} again") if number in taken else None)
            taken += [] if number in taken else [number]
        assert watch.count == len(taken) > 20 and watch.judge.seen == set(taken)


@pytest.mark.parametrize("text", ['{"a": 1}', '{"a":1} ', '{"a":1e2}', '{"a":1,"a":1}', "[1]", '{"a":1'])
def test_text_that_an_object_would_not_give_back_is_text(text):
    for form, kept in (("payload", {"text": text}), ("json", text)):
        assert forms.FORMS[form].write(text, None, "sap") == kept
        assert forms.FORMS[form].write('{"a":1}', None, "sap") == {"a": 1}


def test_the_block_of_a_file_is_the_one_of_its_intent():
    """FILEOP, which therefore is no field of its own."""
    text = "CSP/1\nFROM A\nTO B\nCTX C0\nINTENT FILE\n\nFILEOP F1 DELETE\nPATH a\n"
    made = turnwire.convert(turnwire.decode(text), "sstp", context=FULL, nearest=True)
    assert made.dropped == ("intent", "block.id", "block.op", "block.PATH")


@pytest.mark.parametrize("room", [2, 3, 4])
def test_who_spoke_last_is_remembered_longest(room):
    converter = Converter("sstp", context=given("nslip"), remember=room)
    talks = [("1", "1", "2"), ("1", "1", "3"), ("2", "1", "4"), ("3", "5", "1")]
    for conversation, sender, receiver in talks:
        converter._note(
            "nslip", {"conversation": conversation, "sender": sender, "receiver": receiver, "act": "inform"}
        )
    order = list(dict.fromkeys(reversed([end for _, *ends in talks for end in ends])))[:room]
    assert list(reversed(converter._spoke)) == order
    assert converter._spoke["1"] == "3"
    converter._note("nslip", {"conversation": "4", "sender": "6", "act": "inform"})  # to nobody: nobody is no speaker
    assert set(converter._spoke) == {"6", *order[: room - 1]} - {None}


@pytest.mark.parametrize("target", ["csp", "sstp"])
def test_an_answer_answers_the_question_about_work_too(target):
    converter = Converter(target, context=given("nslip"), nearest=True)
    unanswered = []
    for text in (
        '@a3|f0|c3|S0|d1|T1|k1|t"x"#',
        "@a6|f0|c3|S1|d0|T2|k1#",
        '@a2|f0|c3|S0|d1|T3|k1|t"how is it going"#',
        '@a1|f0|c3|S1|d0|T4|k1|u"done"|t"there"#',
    ):
        converter.feed(nslip.decode(text))
        unanswered.append(converter.unanswered)
    assert unanswered == [1, 1, 2, 0]


@pytest.mark.parametrize(("name", "is_one"), [("<>", True), ("<a>", False), ("<a", True), ("a", True), ("", True)])
def test_a_placeholder_is_no_name(name, is_one):
    assert forms._name(name) is (is_one and forms._filled(name))


@pytest.mark.parametrize("more", [-1, 0, 1])
def test_a_short_string_is_as_long_as_nslip_lets_it_be(more):
    assert forms._short("x" * (SHORT_STRING + more)) is (more <= 0)
    assert not forms._short("x\ny")


@pytest.mark.parametrize(("first", "last"), [(0, 5), (1, 2**63 - 1), (3, 3), (1, float("inf"))])
def test_counters_go_up_to_their_ends(first, last):
    pair = forms._counter(first, last)
    for value in (first - 1, first, first + 1, last - 1, last, last + 1):
        good = isinstance(value, int) and first <= value <= last
        assert pair.write(value, None, "x") == pair.read(value, None, "x") == (value if good else ABSENT)
    assert pair.write(True, None, "x") == pair.read(1.0, None, "x") == ABSENT


@pytest.mark.parametrize("more", [-1, 0, 1, 50])
def test_long_values_are_cut_where_they_are_told(more):
    text = "x" * (forms._SHOWN - 2 + more)  # in quotes
    told = forms._excerpt(text)
    assert told == (repr(text) if more <= 0 else repr(text)[: forms._SHOWN] + "…")


@pytest.mark.parametrize("left", [0, 1, 2, 5])
def test_levels_that_are_left_below_a_value(left):
    value = 1
    for levels in range(8):
        assert carrying._depth(value, left) == (left - levels if levels <= left else -1), levels
        value = [value] if levels % 2 else {"a": value}
    assert carrying._depth([[], {}, [[], 1]], left) == (left - 2 if left >= 2 else -1)


@pytest.mark.parametrize("behind", ["", "\n", "\nmore", "\nmore\n", "\n\n"])
def test_what_only_looks_like_something_carried_is_text(behind):
    """What is carried is one line, and the last."""
    content = 'a\n\u2afbturnwire/carry\n{"x":1}' + behind
    made = turnwire.convert(envelope(content), "sstp", context=FULL, nearest=True)
    cut = behind == "\n"
    assert made.message.to_dict()["payload"]["content"] == ("a" if cut else content)


def envelope(content):
    name = "00000000-0000-4000-8000-000000000001"
    return kick.Envelope(name, "2026-01-01T00:00:00Z", "WePlan", "Orchestrator", "Info", "\u2afbreport/status", content)


@pytest.mark.parametrize("wrong", ["7", "null", '"x"', "{}", "[1, null]", "true"])
def test_filled_that_is_no_list_of_texts_fills_nothing(wrong):
    changed = 0
    for kind in Kind:
        message = sstp.decode(json.dumps(example(kind)))
        for target in ("kick", "sap"):
            try:
                text = turnwire.encode(
                    turnwire.convert(message, target, context=FULL, carry=True, nearest=True).message
                )
            except ConvertError:
                continue
            other = re.sub(r'(\\?"filled\\?":) ?\[[^\]]*\]', lambda found: found[1] + wrong.replace('"', '\\"'), text)
            if other == text:
                continue
            changed += 1
            with contextlib.suppress(turnwire.DecodeError, ConvertError):
                decoded = turnwire.registry.wire(target).decode(other)
                assert turnwire.convert(decoded, "sstp", restore=True, context=FULL, nearest=True).message is not None
    assert changed


@pytest.mark.parametrize("room", [1, 2, 3])
def test_names_are_learned_while_there_is_room(room):
    learned = LearnedNames(Context(new_id=lambda: "7fbb32b6-0d2c-4c1a-9b75-2a4b3b0b6c0b"), room)
    found = [learned.learn("agents", name) for name in "abcd"]
    assert found == [*range(1, room + 1), *[ABSENT] * (4 - room)]


def test_a_number_is_given_to_one_name_of_its_kind():
    """Neither one that the context has, nor one that was given before; each kind is counted by itself."""
    context = Context(agents={"B": 1, "C": 3, "D": 4}, conversations={"B": 2}, new_id=lambda: str(uuid.uuid4()))
    learned = LearnedNames(context, 9)
    assert [learned.learn("agents", name) for name in "xyz"] == [2, 5, 6]
    assert [learned.learn("conversations", name) for name in "xy"] == [1, 3]
    assert [learned.back("agents", number) for number in range(1, 7)] == ["B", "x", "C", "D", "y", "z"]
    known = learned.as_context()
    assert known.agents == {"B": 1, "C": 3, "D": 4, "x": 2, "y": 5, "z": 6}
    assert known.conversations == {"B": 2, "x": 1, "y": 3}


def test_messages_that_number_their_own_are_counted_by_their_kind():
    names = LearnedNames(Context(defaults={"csp": {"MEM:block.id": "M7"}}), 9)
    kinds = ("ERROR", "QUERY", "ERROR", "MEM", "QUERY", "ERROR", "PLAN", "TASK")
    found = [names.default("csp", kind, "block.id") for kind in kinds]
    assert found == ["E1", "Q1", "E2", "M7", "Q2", "E3", "L1", ABSENT]


@pytest.mark.parametrize("written", [str.lower, str.upper])
def test_a_name_is_found_by_the_id_that_it_was_given_in_either_case(written):
    made = written("7fbb32b6-0d2c-4c1a-9b75-2a4b3b0b6c0b")
    learned = LearnedNames(Context(new_id=lambda: made), 9)
    assert learned.learn("uuids", "T1") == learned.forth("uuids", "T1") == made
    assert [learned.back("uuids", one) for one in (made, made.lower(), made.upper())] == ["T1"] * 3


@pytest.mark.parametrize("target", turnwire.WIRES)
def test_a_converter_that_is_closed_twice_says_the_same(target):
    converter = Converter(target, context=FULL.replace(new_id=lambda: str(uuid.uuid4())), nearest=True)
    for text in ("@a0|f0|c1|S2|d3|T4|k5#", "@a1|f0|c1|S2|d3|T4|k5#", "@a3|f0|c9|S2|d3|T4|k6#"):
        with contextlib.suppress(ConvertError):
            converter.feed(nslip.decode(text))
    first, second = converter.close(), converter.close()
    assert first == second


@pytest.mark.parametrize(
    ("pointer", "path"), [("/a~01b", ("a~1b",)), ("/a~1b/c", ("a/b", "c")), ("/~0~1/x.y", ("~/", "x.y"))]
)
def test_a_json_pointer_is_read_as_its_standard_says(pointer, path):
    """First "~1", then "~0" (RFC 6901, section 4)."""
    assert pointed(pointer) == shown(path)


PATCH = "CSP/1\nFROM A\nTO B\nCTX C0\nINTENT PATCH\n\nPATCH P1\nBASE C0\n+ DEF A = 1\nAPPLY -> C1\n"


@pytest.mark.parametrize("target", ["sap", "sstp", "kick"])
def test_a_kind_that_comes_near_at_most_is_refused_before_its_fields_are_asked_for(target):
    with pytest.raises(ConvertError, match="no_counterpart"):
        turnwire.convert(turnwire.decode(PATCH), target, context=Context())


@pytest.mark.parametrize("target", ["sstp", "kick"])
def test_what_a_near_kind_carries_comes_back_where_near_kinds_are_taken(target):
    message = turnwire.decode(PATCH)
    made = turnwire.convert(message, target, context=FULL, nearest=True, carry=True).message
    assert turnwire.convert(made, "csp", context=FULL, restore=True, nearest=True).message == message
    with pytest.raises(ConvertError, match="bad_carry: what was carried is not a"):
        turnwire.convert(made, "csp", context=FULL, restore=True)
