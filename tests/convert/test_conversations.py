"""Whole conversations over all twenty pairs: what comes out conforms, or what is wanting is said."""

from __future__ import annotations

import itertools
import random
from typing import Any

import pytest

import turnwire
from tests.conftest import raised, rounds
from tests.convert.dialogues import DIALOGUES, given, made_id
from turnwire import WIRES, Context, Converter, ConvertError, Reason, nslip
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
