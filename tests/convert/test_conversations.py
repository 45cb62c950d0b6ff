"""Whole conversations over all twenty pairs: what comes out conforms, or what is wanting is said."""

from __future__ import annotations

import itertools
import json
import random
from collections import Counter
from typing import Any

import pytest

import turnwire
from tests.conftest import raised, rounds
from tests.convert.dialogues import DIALOGUES, given, made_id
from tests.sstp.examples import example
from turnwire import WIRES, Context, Converter, ConvertError, Reason, nslip, sstp
from turnwire.checklists import FAIL
from turnwire.read.located import conformance
from turnwire.registry import reading

pytestmark = pytest.mark.once
PAIRS = list(itertools.permutations(WIRES, 2))
REFUSED = {Reason.NO_COUNTERPART, Reason.MISSING_FIELD, Reason.NOT_CONFORMING}


def through(converter: Converter, messages: list[Any]) -> tuple[list[Any], list[Any]]:
    """The messages that are made, and for each why it was refused."""
    made: list[Any] = []
    why: list[Any] = []
    for message in messages:
        try:
            made.append(converter.feed(message).message)
            why.append(None)
        except ConvertError as error:
            why.append(error)
    return made, why


def judged(source: str, target: str, tasks: int, nearest: bool) -> int:
    messages = DIALOGUES[source](tasks)
    converter = Converter(target, context=given(source), nearest=nearest)
    made, why = through(converter, messages)
    closing = converter.close()
    refused = [error for error in why if error is not None]
    assert {error.reason for error in refused} <= REFUSED
    assert all(error.text and error.missing for error in refused)
    texts = [turnwire.encode(one) for one in made]
    found = conformance(target, enumerate(texts, 1))
    assert [line for line in found if line.status == FAIL] == [] == list(closing.faults), str(found)
    assert len(closing.open) == sum(len(line.open) for line in found)
    assert not closing.open or refused or nearest, "what is whole stays whole"
    return len(made)


@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_dialogues_conform_or_say_why_not(source: str, target: str) -> None:
    assert conformance(source, enumerate(map(turnwire.encode, DIALOGUES[source](3)), 1)), "the source is valid"
    assert judged(source, target, 3, nearest=False) >= 4
    assert judged(source, target, 3, nearest=True) >= 4


def test_tasks_turns_and_clocks_are_those_of_the_conversation() -> None:
    converter = Converter("sap", context=given("nslip"))
    made, why = through(converter, DIALOGUES["nslip"](2))
    ids = [message.to_dict().get("taskId", message.to_dict().get("messageId")) for message in made]
    assert [ids.count(name) for name in dict.fromkeys(ids)] == [4, 4]
    assert len({message.correlation_id for message in made}) == 1
    assert Counter(str(error.reason) for error in why if error) == {"no_counterpart": 2, "not_conforming": 2}

    converter = Converter("sstp", context=given("nslip"))
    made, _ = through(converter, DIALOGUES["nslip"](3))
    for actor in ("0", "1"):
        clocks = [message.logical_clock for message in made if message.actor_id == actor]
        assert clocks == list(range(1, len(clocks) + 1)) and len(clocks) > 2

    made, _ = through(Converter("nslip", context=given("sstp")), DIALOGUES["sstp"](2))
    assert [message.turn for message in made] == list(range(1, 9))
    assert {(message.src, message.dst) for message in made} == {(1, 2), (2, 1)}, "an answer goes to who asked"

    made, _ = through(Converter("csp", context=given("sap")), DIALOGUES["sap"](3))
    assert {message.ctx for message in made} == {"C0"}
    assert [message.receiver for message in made] == ["A-ml-001", "A-prime"] * 3


def test_tasks_of_two_conversations_do_not_become_one() -> None:
    def say(conversation: int, act: str, source: int, target: int) -> Any:
        return nslip.decode(f'@a{act}|f0|c{conversation}|S{source}|d{target}|T1|k7|t"x"#')

    messages = [say(1, "3", 0, 1), say(2, "3", 0, 1), say(2, "1", 1, 0), say(1, "1", 1, 0)]
    made, why = through(
        Converter("csp", context=given("nslip").replace(defaults={"csp": {"block.STATUS": "OK"}})), messages
    )
    assert not any(why)
    assert [message.block.id for message in made] == ["T7", "T701", "T701", "T7"]


def test_the_context_that_was_learned_leads_back() -> None:
    converter = Converter("sap", context=given("nslip"))
    first = DIALOGUES["nslip"](1)[0]
    made = converter.feed(first).message
    assert converter.context.uuids == {"3": made.correlation_id, "1": made.task_id}
    back = turnwire.convert(made, "nslip", context=converter.context.replace(defaults={"nslip": {"turn": 1}}))
    assert (back.message.conv_id, back.message.get(nslip.Slot.TASK_ID)) == (3, 1)
    strict = Converter("sap", context=given("nslip").replace(new_id=None))
    caught = raised(ConvertError, strict.feed, first)
    assert caught.known == {"taskId": "1", "correlationId": "3"}, "no id is given where none may be"


def test_what_is_refused_changes_nothing() -> None:
    """The clock of a refused message is the next one's, and nobody has had the floor."""
    converter = Converter("sstp", context=given("nslip"))
    ask, again, answer = (
        nslip.decode(f'@a{act}|f0|c1|S{source}|d{target}|T1|t"{text}"#')
        for act, source, target, text in (("2", 0, 1, "why so"), ("2", 0, 1, "well then"), ("1", 1, 0, "that is why"))
    )
    assert converter.feed(ask).message.logical_clock == 1
    caught = raised(ConvertError, converter.feed, again)
    assert (caught.reason, caught.path) == (Reason.NOT_CONFORMING, "addressee")
    assert converter.feed(answer).message.actor_id == "1"
    assert converter.feed(again).message.logical_clock == 2
    closing = converter.close()
    assert (closing.faults, len(closing.open), converter.unanswered) == ((), 1, 1)


def test_names_of_what_is_refused_are_free() -> None:
    several = [message for dialogue in DIALOGUES.values() for message in dialogue(3)]
    for seed in range(rounds(5)):
        random.Random(seed).shuffle(several)
        tried, spared = (Converter("csp", context=given("csp"), nearest=True) for _ in range(2))
        for message in several:
            try:
                tried.feed(message)
            except ConvertError:
                continue
            spared.feed(message)
        assert (tried.context.ids, tried.close()) == (spared.context.ids, spared.close())


def test_memory_is_bounded() -> None:
    converter = Converter("csp", context=Context(defaults=given("nslip").defaults), remember=10)
    for number in range(500):
        converter.feed(nslip.decode(f'@a3|f0|c{nslip.base62.encode(number)}|S0|d1|T1|k7|t"x"#'))
    held = (converter._tasks, converter._counts, converter._requested, converter._own, converter._taken)
    assert all(len(table) <= 11 for table in (*held, converter._asked, converter._aliases))
    known: Any = vars(converter._checker)["linter"]
    assert max(map(len, (known.tasks, known.agents))) <= 10
    left = converter.close().open
    assert len(left) == 10 + 1 and left[-1].text.startswith("490 more"), "what is forgotten stays open"
    assert converter.unanswered == 500


CSP_HEAD = "CSP/1\nFROM A\nTO B\nCTX {}\nINTENT {}\n\n{}\n"


def test_the_context_of_csp_is_the_state_that_its_own_patches_lead_to() -> None:
    """Messages of CSP/1 among others: what is made stands at the head, and no name is given twice."""
    converter = Converter("csp", context=Context(defaults={"csp": {"block.STATUS": "OK"}}))
    texts = [
        CSP_HEAD.format("C0", "PATCH", "PATCH P1\nBASE C0\n+ DEF X = 1\nAPPLY -> C1"),
        '@a3|f0|c1|S0|d1|T1|k7|t"x"#',
        CSP_HEAD.format("C1", "TASK", "TASK T8\nREQ do it"),
        CSP_HEAD.format("C1", "PATCH", "PATCH P2\nBASE C1\n+ DEF Y = 1\nAPPLY -> C2"),
        '@a1|f0|c1|S1|d0|T2|k7|t"x"#',
        '@a3|f0|c1|S0|d1|T3|k8|t"y"#',
        CSP_HEAD.format("C9", "PATCH", "PATCH P3\nBASE C9\n+ DEF Z = 1\nAPPLY -> C10"),
        '@a1|f0|c1|S1|d0|T4|k8|t"y"#',
    ]
    made, why = through(converter, [turnwire.decode(text) for text in texts])
    assert [error is not None for error in why] == [False] * 6 + [True, False]
    assert (why[6].reason, why[6].path) == (Reason.NOT_CONFORMING, "state"), "nobody knows C9"
    assert [message.ctx for message in made] == ["C0", "C1", "C1", "C1", "C2", "C2", "C2"]
    assert [message.block.id for message in made if message.intent != "PATCH"] == ["T7", "T8", "T7", "T801", "T801"]


def test_tasks_of_two_conversations_and_work_without_a_name_stay_apart_in_sap() -> None:
    converter = Converter("sap", context=given("nslip"))
    texts = ['@a3|f0|c1|S0|d1|T1|t"a"#', '@a3|f0|c1|S0|d2|T2|k1|t"b"#', '@a3|f0|c2|S0|d1|T1|k1|t"c"#',
             '@a1|f0|c2|S1|d0|T2|k1|t"c"#', '@a1|f0|c1|S2|d0|T3|k1|t"b"#', '@a1|f0|c1|S1|d0|T4|t"a"#']  # fmt: skip
    made, why = through(converter, list(map(nslip.decode, texts)))
    assert not any(why)
    ids = [message.task_id for message in made]
    assert len(set(ids)) == 3 and ids[3:] == [ids[2], ids[1], ids[0]]
    assert [line for line in conformance("sap", enumerate(map(turnwire.encode, made), 1)) if line.status == FAIL] == []


@pytest.mark.parametrize(("target", "clause"), [("csp", "answers"), ("sap", "correlation")])
def test_who_asked_for_work_does_not_answer_it(target: str, clause: str) -> None:
    """Its reply to a question of who does it is not a result: that one comes later, and is the only one."""
    converter = Converter(target, context=given("nslip"))
    request, _, _, question, told, done = DIALOGUES["nslip"](1)
    through(converter, [request, question])  # SAP has no question
    with pytest.raises(ConvertError, match="0 requested 1 and cannot answer it") as caught:
        converter.feed(told)
    assert (caught.value.reason, caught.value.path) == (Reason.NOT_CONFORMING, clause)
    answer = converter.feed(done).message
    assert "text_6" in turnwire.encode(answer), "the result itself"


def test_a_question_about_work_is_no_other_work() -> None:
    """The answer to it does not end the work, and goes to who asked."""
    converter = Converter("sstp", context=given("nslip"))
    request, _, _, question, told, done = DIALOGUES["nslip"](1)
    made, why = through(converter, [request, question, told])
    assert [error for error in why if error] == [] and converter.unanswered == 1
    made, why = through(converter, [done])
    assert [error for error in why if error] == [] and made[0].actor_id == "1" and converter.unanswered == 0
    assert converter.close() == ((), ())


def test_a_task_that_only_looks_like_an_id_of_csp_is_given_one() -> None:
    """KickLang's own T-7 is not a T and a number; it is none of those that are there already."""
    converter = Converter("csp", context=given("kick"))
    for number, name in enumerate(("T-7", "T1", "T-7b", "T7", "T-7"), 1):
        head, kind, ends = ("task/dispatch", "Command", ("Orchestrator", "WePlan"))
        channel = "command/dispatch"
        if number == 5:
            head, kind, ends, channel = "report/error", "Info", ends[::-1], "report/error"
        content = f"⫻{head}:{name}/001\nx\n"
        message = turnwire.kick.Envelope(
            made_id(number), "2026-01-15T08:00:00Z", *ends, kind, f"⫻{channel}", content, made_id(99)
        )
        made = converter.feed(message).message
        if number < 5:
            assert made.block.id == ("T1", "T101", "T2", "T7")[number - 1]
    assert made.block.get("AT") == "T1"


def test_an_answer_to_what_nobody_asked_for_is_refused_or_told() -> None:
    early, asked, stray = ('@a1|f0|c1|S1|d0|T1|k9|t"x"#', '@a3|f0|c1|S0|d1|T2|k1|t"x"#', '@a1|f0|c1|S1|d0|T3|k5|t"x"#')
    converter = Converter("sap", context=given("nslip"))
    made, why = through(converter, list(map(nslip.decode, (early, asked, stray))))
    assert len(made) == 2 and why[2] is not None
    assert (why[2].reason, why[2].path) == (Reason.NOT_CONFORMING, "correlation")
    assert [fault.clause for fault in converter.close().faults] == ["correlation"], "the first cannot be taken back"
    alone = Converter("sap", context=given("nslip"))
    alone.feed(nslip.decode(early))
    assert alone.close().faults == (), "the beginning of the log is not there"


def test_a_question_begins_a_conversation_of_kicklang() -> None:
    converter = Converter("kick", context=given("nslip"))
    texts = ('@a2|f0|c1|S1|d0|T1|t"where"#', '@a2|f0|c1|S1|d0|T2|k3|t"and when"#')
    first, second = (converter.feed(nslip.decode(text)).message for text in texts)
    assert first.correlation_id is None and second.correlation_id == first.id
    found = conformance("kick", enumerate(map(turnwire.encode, (first, second)), 1))
    assert [line for line in found if line.status == FAIL] == []


def test_what_is_overdue_is_told_at_the_end() -> None:
    """A dispatch that nobody takes up is a fault in KickLang once its time is over, by the time of another task."""
    converter = Converter("kick", context=given("sap"))
    first, second = (message for message in DIALOGUES["sap"](2) if type(message).__name__ == "Task")
    converter.feed(first)
    converter.feed(second.replace(issued_at="2026-01-02T00:00:00Z"))
    closing = converter.close()
    assert [fault.clause for fault in closing.faults] == ["loop"] and len(closing.open) == 1


@pytest.mark.parametrize("target", ["sap", "sstp", "kick"])
def test_a_checklist_follows_so_much_and_tells_how_much_more_there_was(target: str) -> None:
    """A message about work that is no longer tracked is refused; what was open there stays open."""
    context = given("nslip").replace(uuids={str(number): made_id(number) for number in range(1, 41)})
    converter = Converter(target, context=context, remember=5)

    def say(act: str, source: int, to: int, task: int) -> Any:
        head = f"@a{act}|f0|c{task if target == 'sstp' else 1}|S{source}|d{to}|T1|k{nslip.base62.encode(task)}"
        return nslip.decode(f'{head}|t"text {task} {act}"#')

    for task in range(1, 41):
        converter.feed(say("3", 0, 1, task))
        if task % 2:
            converter.feed(say("9" if target == "kick" else "1", 1, 0, task))
    converter.feed(say("9" if target == "kick" else "1", 1, 0, 40))
    with pytest.raises(ConvertError) as caught:
        converter.feed(say("9" if target == "kick" else "1", 1, 0, 34 if target == "sstp" else 2))
    assert caught.value.reason is Reason.NOT_CONFORMING
    closing = converter.close()
    assert closing.faults == ()
    more = sum(int(one.text.split()[0]) for one in closing.open if "no longer tracked" in one.text)
    assert len(closing.open) - 1 + more == converter.unanswered == 19, closing


@pytest.mark.parametrize("target", WIRES)
def test_a_refusal_costs_the_same_however_long_the_history_is(target: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is copied, and each message is judged once."""
    monkeypatch.setattr("copy.deepcopy", lambda *_: pytest.fail("a copy"))
    asked: Any = []
    kind = reading("located").record_checklist(target).__class__
    admits = kind.admits
    monkeypatch.setattr(kind, "admits", lambda *given: asked.append(0) or admits(*given))
    converter = Converter(target, context=given("nslip"), nearest=True)
    turns = [f'@a{act}|f0|c1|S{source}|d{target}|T1|k1|t"text {number}"#'
             for number in range(40)
             for act, source, target in (("3", 0, 1), ("2", 0, 1), ("1", 1, 0), ("1", 1, 0))]  # fmt: skip
    made, why = through(converter, list(map(nslip.decode, turns)))
    refused = {"csp": 40, "sstp": 80, "nslip": 0, "sap": 156, "kick": 119}
    assert len([error for error in why if error]) == refused[target]
    unasked = [error for error in why if error and error.reason is not Reason.NOT_CONFORMING]
    assert len(asked) == len(turns) - len(unasked)
    assert [line for line in conformance(target, enumerate(map(turnwire.encode, made), 1)) if line.status == FAIL] == []


def test_names_that_no_def_gives_are_refused() -> None:
    """As conform of the target finds them, over all tasks."""
    converter = Converter("csp")
    texts = [
        CSP_HEAD.format(
            "C0", "PATCH", "PATCH P1\nBASE C0\n+ DEF PARSER = src/p.py\n+ DEF GONE = src/g.py\nAPPLY -> C1"
        ),
        CSP_HEAD.format("C1", "PATCH", "PATCH P2\nBASE C1\n- DEF GONE\nAPPLY -> C2"),
        CSP_HEAD.format("C2", "TASK", "TASK T8\nREQ do it\nIN GONE"),
        CSP_HEAD.format("C2", "TASK", "TASK T8\nREQ do it\nIN PARSER,LICENSE"),
        CSP_HEAD.format("C0", "TASK", "TASK T9\nREQ do it"),
    ]
    made, why = through(converter, [turnwire.decode(text) for text in texts])
    assert [getattr(error, "path", None) for error in why] == [None, None, "ids", None, "ctx"]
    assert [line for line in conformance("csp", enumerate(map(turnwire.encode, made), 1)) if line.status == FAIL] == []


def test_an_answer_for_which_nothing_can_ask_is_refused_at_once() -> None:
    context = given("nslip")
    defaults = {**context.defaults, "sap": {**context.defaults["sap"], "taskId": made_id(5)}}
    converter = Converter("sap", context=context.replace(defaults=defaults))
    caught = raised(ConvertError, converter.feed, nslip.decode('@a9|f0|c1|S1|d0|T1|t"disk_full"#'))
    assert (caught.reason, caught.path) == (Reason.NOT_CONFORMING, "correlation")
    converter.feed(nslip.decode('@a3|f0|c1|S0|d1|T2|k1|t"x"#'))
    assert converter.close().faults == ()


def test_a_request_that_says_cancel_is_no_request() -> None:
    message = nslip.decode('@a3|f0|c1|S0|d1|T2|k1|u"cancel"|t"x"#')
    context = given("nslip").replace(defaults={**given("nslip").defaults, "csp": {"block.STATUS": "OK"}})
    for target in ("csp", "sap", "sstp", "kick"):
        caught = raised(ConvertError, Converter(target, context=context).feed, message)
        assert caught.reason == Reason.NO_COUNTERPART and "cancel" in caught.text
        assert Converter(target, context=context, nearest=True).feed(message).nearest


def test_answers_without_a_session_belong_to_where_their_sender_was_asked() -> None:
    def sent(kind: str, actor: str, clock: int, session: str | None, **payload: Any) -> Any:
        value = example(sstp.Kind(kind))
        del value["header"]["session_id"]
        value["header"] |= {"actor_id": actor, "logical_clock": clock} | ({"session_id": session} if session else {})
        value["payload"] |= payload
        return sstp.decode(json.dumps(value))

    log = [
        sent("query", "ada", 1, "s", directed_to="bob"),
        sent("query", "eve", 1, "t", directed_to="carl"),
        sent("knowledge", "bob", 1, None, content="it is on main"),
        sent("delegation", "ada", 2, "s", assigned_to="bob"),
        sent("evidence_bundle", "bob", 2, None),
        sent("knowledge", "carl", 1, None, content="it is green"),
    ]
    names = {"ada": 1, "bob": 2, "carl": 3, "eve": 4}
    converter = Converter("nslip", context=Context(agents=names, conversations={"s": 5, "t": 6}))
    written = [converter.feed(message).message for message in log]
    assert [(one.conv_id, one.turn, one.src, one.dst) for one in written] == [
        (5, 1, 1, 2), (6, 1, 4, 3), (5, 2, 2, 1), (5, 3, 1, 2), (5, 4, 2, 1), (6, 2, 3, 4),
    ]  # fmt: skip
    stranger = sent("knowledge", "zoe", 1, None)
    assert "conv_id" in raised(ConvertError, converter.feed, stranger).missing
