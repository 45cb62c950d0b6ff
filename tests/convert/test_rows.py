"""Conversions row by row: each field, each act, each entry of a context, each form of a text."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

import turnwire
from tests.convert.messages import FULL, ID, right
from tests.sap.documents import RESULT
from tests.sstp.examples import example
from turnwire import WIRES, Context, Converted, ConvertError, Reason, csp, kick, sap, sstp
from turnwire.conversion.context import Names, NotedNames
from turnwire.conversion.converting import checked
from turnwire.conversion.facts import FORMS, UNREAD, facts_of, meaning
from turnwire.conversion.histories import Histories
from turnwire.conversion.shapes import ABSENT, parsed, same, shape_of
from turnwire.conversion.sstp import join, split
from turnwire.conversion.tables import ACTS, STATUSES
from turnwire.registry import wire_of
from turnwire.sstp.messages import CLASSES
from turnwire.sstp.spec import Kind

pytestmark = pytest.mark.once


@pytest.mark.parametrize("wire", WIRES)
def test_a_context_names_only_fields_that_are_written(wire: str) -> None:
    """With the kind in front, or without where any kind writes it; what is read alone is refused as what is nothing."""
    kinds = shape_of(wire).places
    written = {place.path for places in kinds.values() for place in places if place.need != "read"}
    paths = {place.path for places in kinds.values() for place in places} | {"nonsense", ""}
    for path in sorted(paths):
        refused(wire, path, path not in written)
        for kind, places in kinds.items():
            own = [place.need != "read" for place in places if place.path == path]
            refused(wire, f"{kind}:{path}", not any(own))
    refused(wire, f"nonsense:{min(written)}", True)


def refused(wire: str, path: str, wanted: bool) -> None:
    for given in ({"defaults": {wire: {path: "x"}}}, {"values": {wire: {path: {"a": "x"}}}}):
        found = None
        try:
            Context(**given)
        except ConvertError as error:
            found = error.reason
        assert found == (Reason.BAD_CONTEXT if wanted else None), path


@pytest.mark.parametrize("dropped", [(), ("a",), ("a", "b")])
@pytest.mark.parametrize("nearest", [None, "TASK"])
@pytest.mark.parametrize("surplus", [(), ("c",)])
def test_what_is_exact_drops_nothing_and_means_the_same(
    dropped: tuple[str, ...], nearest: str | None, surplus: tuple[str, ...]
) -> None:
    assert Converted("x", dropped, surplus, nearest).exact is (dropped == () and nearest is None)


@pytest.mark.parametrize(
    ("text", "whole"),
    [
        ("⫻a/b\nx", True),
        ("⫻", True),
        ("\ufeff⫻a/b\nx", True),
        ("a\n⫻x/y\n", True),
        ("a\n\n⫻x/y", True),
        ("a⫻x", False),
        (" ⫻x", False),
        ("\ufeff", False),
        ("\ufeff\ufeff⫻x", False),
        ("a\n\ufeff⫻x", False),
        ("a\r⫻x", False),
    ],
)
def test_a_text_with_a_section_of_its_own_is_the_whole_content(text: str, whole: bool) -> None:
    """Any other stands below a head that is made for it; either comes back as it was."""
    value = example(Kind.KNOWLEDGE)
    value["payload"]["content"] = text
    context = FULL.replace(uuids={value["header"]["session_id"]: ID})
    made = turnwire.convert(sstp.decode(json.dumps(value)), "kick", context=context, nearest=True)
    content = made.message.content
    assert content == (text if whole else f"⫻report/artifact\n{text}\n")
    assert "payload.content" not in made.dropped


@pytest.mark.parametrize(("below", "reason"), [("", {}), ("\n", {"reason": ""}), ("why\n", {"reason": "why"})])
def test_a_word_of_status_with_nothing_below_has_no_text(below: str, reason: dict[str, str]) -> None:
    """Not an empty one, which an empty line is."""
    content = f"⫻report/status:{ID}/001\nAccepted\n{below}"
    ends = ("WePlan", "Orchestrator", "Info", "⫻report/status")
    made = turnwire.convert(kick.Envelope(ID, "2026-01-15T08:00:00Z", *ends, content, ID), "sap", context=FULL)
    fields = {"status": "ACK", "messageId": ID, "correlationId": ID, **reason}
    assert made.message.fields == fields and "content" not in made.dropped
    assert turnwire.convert(made.message, "kick", context=FULL).message.content == content


NUMBERS = {"A": 1, "B": 2}
NAMED = Context(
    agents=NUMBERS,
    conversations=NUMBERS,
    ids=NUMBERS,
    uuids={"A": ID, "B": f"{ID[:-1]}c"},
    roles={"A": "WePlan", "B": "Dima"},
    defaults={"csp": {"block.REQ": "do it", "ERROR:block.id": "E1", "ctx": "C1"}, "sap": {"status": "RUNNING"}},
    values={"csp": {"block.STATUS": {"blocked": "PARTIAL", '["x"]': "OK"}}, "sap": {"status": {"blocked": "FAILED"}}},
)


COUNTED = ("agents", "conversations", "ids")
STATUS = ("block", "STATUS")
TAKEN: list[tuple[tuple[Any, ...], Any, dict[str, Any]]] = [
    *((("forth", name, "A"), 1, {name: {"A": 1}}) for name in COUNTED),
    *((("back", name, 2), "B", {name: {"B": 2}}) for name in COUNTED),
    *((("number", name, "B"), 2, {name: {"B": 2}}) for name in COUNTED),
    *((("name", name, 1), "A", {name: {"A": 1}}) for name in COUNTED),
    (("forth", "uuids", "A"), ID, {"uuids": {"A": ID}}),
    (("back", "uuids", ID.upper()), "A", {"uuids": {"A": ID.upper()}}),
    (("forth", "roles", "B"), "Dima", {"roles": {"B": "Dima"}}),
    (("back", "roles", "WePlan"), "A", {"roles": {"A": "WePlan"}}),
    (("default", "csp", "TASK", "block.REQ"), "do it", {"defaults": {"csp": {"block.REQ": "do it"}}}),
    (("default", "csp", "ERROR", "block.id"), "E1", {"defaults": {"csp": {"block.id": "E1"}}}),
    (("default", "sap", "Result", "status"), "RUNNING", {"defaults": {"sap": {"status": "RUNNING"}}}),
    (("explicit", "csp", STATUS, "blocked"), "PARTIAL", {"values": {"csp": {"block.STATUS": {"blocked": "PARTIAL"}}}}),
    (("explicit", "csp", STATUS, ["x"]), "OK", {"values": {"csp": {"block.STATUS": {'["x"]': "OK"}}}}),
    (("number", "ids", "7"), 7, {}),
    (("forth", "agents", "C"), ABSENT, {}),
    (("back", "agents", 3), ABSENT, {}),
    (("default", "csp", "TASK", "block.id"), ABSENT, {}),
    (("explicit", "csp", STATUS, "done"), ABSENT, {}),
    (("explicit", "kick", ("sender",), "blocked"), ABSENT, {}),
]


@pytest.mark.parametrize(("ask", "wanted", "entry"), TAKEN)
def test_what_was_taken_out_of_a_context_is_noted(ask: tuple[Any, ...], wanted: Any, entry: dict[str, Any]) -> None:
    """All of it, nothing else, in the form in which a context is read: with that alone the same is found."""
    used: dict[str, Any] = {}

    def answer(names: Names) -> Any:
        return getattr(names, ask[0])(*ask[1:])

    assert answer(NotedNames(NAMED, used)) == wanted == answer(NAMED.names)
    assert used == entry
    assert answer(Context.from_dict(used).names) == wanted
    assert answer(NotedNames(NAMED, used)) == wanted and used == entry


@pytest.mark.parametrize("status", list(sap.spec.Status))
@pytest.mark.parametrize("message", [None, "it broke"])
@pytest.mark.parametrize("output", [..., None, {}, [], "", 0, "it went", {"a": 1}])
def test_what_a_result_says(status: Any, message: str | None, output: Any) -> None:
    """A failure that tells why is an error, and says that; a result that has nothing else to say says what went wrong;
    any other says its output."""
    value = {name: one for name, one in RESULT.items() if name not in ("error", "output")} | {"status": status.value}
    value |= {"error": {"message": message}} if message else {}
    value |= {} if output is ... else {"output": output}
    found = facts_of("sap", shape_of("sap").split(sap.decode(json.dumps(value))), Context().names)
    silent = output in (..., None, {}, [], "") and output != 0
    if status.value == "FAILED" and message:
        assert (found["act"], found["text"]) == ("error", message)
        assert "status" not in found
    else:
        assert (found["act"], found["status"]) == ("inform", status.value)
        said = {"it went": "it went", "{'a': 1}": '{"a":1}', "{}": "{}", "": ""}.get(str(output))
        assert found.get("text") == (message if silent and message and status.value != "SUCCEEDED" else said)


def test_empty_objects_are_fields_too() -> None:
    """Of every wire: what is split is joined again, and each value is somewhere among the fields."""
    empty = 0
    for message in right():
        wire = str(wire_of(message))
        if wire not in ("sap", "sstp"):
            continue
        value = message.to_dict()
        for path in list(places(value)):
            nothing: Any
            for nothing in ({}, [], "", None):
                other = json.loads(json.dumps(value))
                inner = other
                for step in path[:-1]:
                    inner = inner[step]
                inner[path[-1]] = nothing
                made = lenient(wire, other)
                if made is None:
                    continue
                shape = shape_of(wire)
                fields = shape.split(made)
                assert (path in fields and same(fields[path], nothing)) or shape.split(made) != shape.split(message)
                assert any(path[: len(one)] == one for one in fields), (path, nothing)
                assert shape.join(fields).to_dict() == made.to_dict() == other
                empty += nothing == {}
    assert empty > 20


def places(value: dict[str, Any], before: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """The path of each member of an object, and of the objects in it."""
    for name, inner in value.items():
        yield (*before, name)
        if isinstance(inner, dict):
            yield from places(inner, (*before, name))


def lenient(wire: str, value: dict[str, Any]) -> Any:
    """The message of a JSON value, or None where it is none."""
    try:
        return turnwire.decode(json.dumps(value), wire)
    except turnwire.DecodeError:
        return None


TELLS = {"nslip": "act", "csp": "intent", "sstp": "header.kind", "sap": "status", "kick": "channel"}
"""Wire -> the field that tells what a message does, by which errors name it."""


@pytest.mark.parametrize("wire", WIRES)
def test_what_has_no_counterpart_is_named_by_the_field_that_tells_it(wire: str) -> None:
    assert shape_of(wire).kind_path == TELLS[wire]
    named = set()
    for message in right():
        for target in WIRES:
            if wire_of(message) == wire != target:
                named |= counterpart(message, target)
    assert named == {(TELLS[wire], (TELLS[wire],))}


def counterpart(message: Any, target: str) -> set[tuple[str | None, tuple[str, ...]]]:
    """Where an error names what has none; empty where there is one."""
    try:
        turnwire.convert(message, target, context=FULL)
    except ConvertError as error:
        return {(error.path, error.missing)} if error.reason is Reason.NO_COUNTERPART else set()
    return set()


@pytest.mark.parametrize("kind", list(Kind))
@pytest.mark.parametrize("rest", [{}, {"more": 1}, {"more": {}}])
def test_what_is_empty_in_sstp_is_a_field_too(kind: Kind, rest: dict[str, Any]) -> None:
    """Also a payload, where lenient writing gives it back."""
    for part in ("payload", "header"):
        value = {**example(kind), **rest}
        value[part] = {"kind": kind.value} if part == "header" else {}
        message = CLASSES[kind].of(value)
        fields = split(message)
        assert join(fields).to_dict() == message.to_dict() == value
        assert (("payload",) in fields) == (part == "payload")
        assert {path[0] for path in fields} == set(value)


REPORTS, QUESTIONS = ("inform", "observe", "evaluate", "learn"), ("request", "ask", "propose", "patch", "file")
TROUBLE, OTHERS = ("error", "warn", "reject", "stop"), ("commit", "accept", "meta")


@pytest.mark.parametrize("status", [None, *STATUSES, "blocked"])
def test_what_a_message_does_and_how_the_work_stands(status: str | None) -> None:
    """A report tells how the work stands unless it succeeded; a question, that it has not begun or goes on, is nothing
    new; trouble tells its own. Of all others a failure, an end and an unknown word are told."""
    assert {*REPORTS, *QUESTIONS, *TROUBLE, *OTHERS} == set(ACTS)
    wanted: tuple[str, str | None]
    for act in ACTS:
        if act == "inform" and status == "FAILED":
            wanted = "error", None
        elif act in REPORTS:
            wanted = act, None if status == "SUCCEEDED" else status
        elif act in TROUBLE:
            wanted = act, None
        elif act in QUESTIONS:
            wanted = act, None if status in ("QUEUED", "RUNNING") else status
        else:
            wanted = act, status if status in ("FAILED", "CANCELLED", "blocked") else None
        for said in ({"status": status}, {UNREAD: {"status": status}}) if status else ({},):
            assert meaning({"act": act, **said}) == wanted, act


def test_fields_that_a_wire_asks_for_are_those_that_must_be_there() -> None:
    """Without one of them no message of its kind can be made; without any other one can. But reports of KickLang have a
    correlation, which ``finish`` asks for; and the templates of SSTP show three kinds without a session, which a
    conversion asks for all the same."""
    seen = set()
    for message in right():
        wire = str(wire_of(message))
        shape = shape_of(wire)
        fields = shape.split(message)
        kind = shape.kind(fields)[1]
        for place in shape.places[kind]:
            path = parsed(place.path)
            if path in fields and place.need != "read" and place.path not in ("correlation_id", "header.session_id"):
                seen.add((wire, kind, place.path))
                rest = {one: value for one, value in fields.items() if one != path}
                assert is_made(wire, rest) == (place.need != "must"), (wire, kind, path)
    assert len(seen) > 100


def is_made(wire: str, fields: Any) -> bool:
    """Whether strict writing takes the message of these fields."""
    try:
        checked(wire, fields)
    except (turnwire.WireError, KeyError, TypeError):
        return False
    return True


@pytest.mark.parametrize("asks", [True, False])
def test_a_history_that_is_asked_again_is_open_again(asks: bool) -> None:
    """It is given up as open ones are; what is said of it otherwise leaves it among those that have ended."""
    histories, first = Histories("sap", 100), (None, "first")
    histories.written(first, histories.at(first), True, None)
    histories.over(first)
    histories.written(first, histories.at(first), asks, None)
    for number in range(9):
        key = None, str(number)
        histories.written(key, histories.at(key), True, None)
        histories.over(key)
    watch = histories.at(first)
    for number in range(9, 12):
        key = None, str(number)
        histories.written(key, histories.at(key), True, None)
        histories.over(key)
    if asks:
        assert histories.at(first) is watch
    else:
        with pytest.raises(ConvertError, match="no longer followed"):
            histories.at(first)


CSP_HEAD = "CSP/1\nFROM A\nTO B\nCTX C1\nINTENT {}\n\n{}\n"
OPEN_BLOCKS = ("PLAN", "QUERY", "MEM")
BLOCKS = [
    ("TASK", "TASK T1\nREQ x\nIN y", "x"),
    ("RESULT", "RESULT T1\nSTATUS OK\nDATA x", "x"),
    ("ERROR", "ERROR E1\nAT T1\nCAUSE x", "x"),
    ("FILE", "FILEOP F1 CREATE\nPATH a\nCONTENT\n<<<\nx\n>>>", "x\n"),
    ("RESULT", "RESULT T1\nSTATUS OK", None),
    ("FILE", "FILEOP F1 DELETE\nPATH a", None),
    ("PATCH", "PATCH P1\nBASE C1\n+ DEF A = 1\n- DEF B\nAPPLY -> C2", ...),
    *((intent, f"{word} X1\n{lines}", wanted) for intent in OPEN_BLOCKS for word in OPEN_BLOCKS
      for lines, wanted in (("TEXT x\nB y", "x"), ("A 1", ...), ("A 1\nB 2\nA 3", ...))),
    *((intent, f"{word} X1", None) for intent in OPEN_BLOCKS for word in OPEN_BLOCKS),
]  # fmt: skip


@pytest.mark.parametrize(("intent", "block", "wanted"), BLOCKS)
def test_what_a_block_says(intent: str, block: str, wanted: Any) -> None:
    """Its main text; one that has other keys alone says what its lines say, and one without any says nothing."""
    (message,) = csp.parse(CSP_HEAD.format(intent, block), mode="lenient").messages
    found = facts_of("csp", shape_of("csp").split(message), Context().names)
    assert found.get("text") == (block if wanted is ... else wanted)


@pytest.mark.parametrize("nothing", [None, [], {}, ""])
@pytest.mark.parametrize("strange", [5, True, [1], {"a": 1}, [[]]])
def test_what_is_there_and_has_no_meaning_is_known_unless_it_is_nothing(nothing: Any, strange: Any) -> None:
    """Then no default stands for it; where it is empty, one may."""
    seen = 0
    for message in right():
        if wire_of(message) != "sap":
            continue
        shape, names = shape_of("sap"), Context().names
        fields = shape.split(message)
        for place in shape.places[shape.kind(fields)[1]]:
            path = parsed(place.path)
            if place.fact and place.form == "text" and path in fields and path != ("error", "message"):
                seen += 1
                found = facts_of("sap", {**fields, path: strange}, names)
                assert found[UNREAD] == {place.fact: strange} and place.fact not in found
                assert UNREAD not in facts_of("sap", {**fields, path: nothing}, names)
    assert seen > 4


@pytest.mark.parametrize("letter", ["", "T", "E", "P", "t", "TE", "\u0422"])
@pytest.mark.parametrize("number", ["0", "7", "42", "07", "", "-1", "7x", str(2**64 - 1), str(2**64)])
def test_a_letter_of_csp_in_front_of_a_number(letter: str, number: str) -> None:
    """Tasks and errors of CSP/1 are counted with one; agents and conversations are not. No other name is a number, and
    none whose number is another's."""
    counted = number in ("0", "7", "42", str(2**64 - 1))
    for form in ("id_number", "agent_number", "conversation_number"):
        good = counted and (letter == "" or (letter in ("T", "E") and form == "id_number"))
        wanted = int(number) if good else ABSENT
        assert FORMS[form].write(f"{letter}{number}", Context().names, "nslip") == wanted
    taken = Context(ids={"other": 7, "T42": 5})
    wanted = int(number) if counted and letter in ("", "T", "E") and number != "7" else ABSENT
    wanted = 5 if f"{letter}{number}" == "T42" else wanted
    assert FORMS["id_number"].write(f"{letter}{number}", taken.names, "nslip") == wanted
