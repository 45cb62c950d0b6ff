"""Fields and facts: what each field, act, form of a text and entry of a context means."""

from __future__ import annotations

import json
import uuid
from typing import Any

import pytest

import turnwire
from tests.convert.messages import FULL, right
from tests.sap.documents import RESULT
from turnwire import WIRES, Context, ConvertError, Reason, csp, sap
from turnwire.conversion.context import Names
from turnwire.conversion.converting import checked
from turnwire.conversion.facts import FORMS, UNREAD, mapper, meaning
from turnwire.conversion.shapes import ABSENT, parsed, shape_of
from turnwire.conversion.tables import ACTS, STATUSES
from turnwire.registry import wire_of

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


@pytest.mark.parametrize("status", list(sap.spec.Status))
@pytest.mark.parametrize("message", [None, "it broke"])
@pytest.mark.parametrize("output", [..., None, {}, [], "", 0, "it went", {"a": 1}])
def test_what_a_result_says(status: Any, message: str | None, output: Any) -> None:
    """A failure that tells why is an error, and says that; a result that has nothing else to say says what went wrong;
    any other says its output."""
    value = {name: one for name, one in RESULT.items() if name not in ("error", "output")} | {"status": status.value}
    value |= {"error": {"message": message}} if message else {}
    value |= {} if output is ... else {"output": output}
    found = mapper("sap", Context().names).facts(shape_of("sap").split(sap.decode(json.dumps(value))))
    silent = output in (..., None, {}, [], "") and output != 0
    if status.value == "FAILED" and message:
        assert (found["act"], found["text"]) == ("error", message)
        assert "status" not in found
    else:
        assert (found["act"], found["status"]) == ("inform", status.value)
        said = {"it went": "it went", "{'a': 1}": '{"a":1}', "{}": "{}", "": ""}.get(str(output))
        assert found.get("text") == (message if silent and message and status.value != "SUCCEEDED" else said)


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
    """The path by which an error names what has none; empty where there is one."""
    try:
        turnwire.convert(message, target, context=FULL)
    except ConvertError as error:
        return {(error.path, error.missing)} if error.reason is Reason.NO_COUNTERPART else set()
    return set()


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
    """True if strict writing takes the message of these fields."""
    try:
        checked(mapper(wire, Context().names), fields)
    except (turnwire.WireError, KeyError, TypeError):
        return False
    return True


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
    found = mapper("csp", Context().names).facts(shape_of("csp").split(message))
    assert found.get("text") == (block if wanted is ... else wanted)


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


@pytest.mark.parametrize("text", ['{"a": 1}', '{"a":1} ', '{"a":1e2}', '{"a":1,"a":1}', "[1]", '{"a":1'])
def test_text_that_an_object_would_not_give_back_is_text(text: str) -> None:
    names = Names(Context(), 9)
    for form, kept in (("payload", {"text": text}), ("json", text)):
        assert FORMS[form].write(text, names, "sap") == kept
        assert FORMS[form].write('{"a":1}', names, "sap") == {"a": 1}


def test_a_number_is_given_to_one_name_of_its_kind() -> None:
    """Neither one that the context has, nor one that was given before; each kind is counted by itself."""
    context = Context(agents={"B": 1, "C": 3, "D": 4}, conversations={"B": 2}, new_id=lambda: str(uuid.uuid4()))
    learned = Names(context, 9)
    assert [learned.learn("agents", name) for name in "xyz"] == [2, 5, 6]
    assert [learned.learn("conversations", name) for name in "xy"] == [1, 3]
    assert [learned.back("agents", number) for number in range(1, 7)] == ["B", "x", "C", "D", "y", "z"]
    known = learned.as_context()
    assert known.agents == {"B": 1, "C": 3, "D": 4, "x": 2, "y": 5, "z": 6}
    assert known.conversations == {"B": 2, "x": 1, "y": 3}
