"""Texts that are given back: which of them the reader keeps, and until when a message has one."""

from __future__ import annotations

import copy
import json
import pickle
import random
import re

import pytest

from tests.conftest import raised
from tests.cores import Envelopes
from turnwire import kick, sap
from turnwire.contract import LIMITS
from turnwire.errors import EncodeError
from turnwire.json import text as json_text

NUMBERS = ["0", "-0", "7", "-7", "1.0", "1.50", "0.25", "-0.0", "0.00", "0.0001", "0.00001", "1e3", "1E400"]
NUMBERS += ["123456789012345.5", "12345678901234567890"]
NUMBERS += ["0.1234567890123456", "0.30000000000000004", "100000000000000000000.0", "1.10", "5e-324"]
STRINGS = ['""', '"a"', '"\\n"', '"\\u000a"', '"\\/"', '"/"', '"\\""', '"\\\\"', '"\\b\\f\\r\\t"', '"ö"', '"\\u00f6"']
STRINGS += ['"\\u0001"', '"\x7f"', '"\\u2028"', '"\u2028"', '"\\ud83d\\ude00"', '"レ😀"']


def texts(numbers):
    """Objects in forms that may or may not be those in which they are written."""
    for atom in [*NUMBERS, *STRINGS, "true", "null", "[]", "{}", "[ ]", "{ }"]:
        yield f'{{"a":{atom}}}'
        yield f'{{"a":[{atom},{atom}]}}'
    for text in ('{"a":1}', '{"a":[1,{"b":2}]}'):
        for place in range(len(text) + 1):
            yield text[:place] + numbers.choice(" \n\t\r") + text[place:]
    for _ in range(300):
        pairs = [f"{json.dumps(str(key))}:{numbers.choice(NUMBERS + STRINGS)}" for key in range(numbers.randint(0, 4))]
        yield "{" + ",".join(pairs) + "}"


NUMBER = r'(?<![\w"\\])-?[0-9][0-9.eE+-]*'


def without_numbers(text):
    return re.sub(NUMBER, "0", text)


def test_only_text_that_would_be_written_is_kept(core):
    reader = core("json.text").Reader("sap", ("a",))
    write = core("json.write").write
    kept = 0
    for text in texts(random.Random(5)):
        for data in (text, text.encode()):
            try:
                fields, source = reader.read_source(data)
            except ValueError:
                continue
            assert fields == reader.read(data)
            anew = core("json.write").compacted(data)
            assert repr(reader.read(anew)) == repr(fields)
            assert without_numbers(anew) == without_numbers(write(fields))
            assert re.findall(NUMBER, anew) == re.findall(NUMBER, text)
            if source is not None:
                assert source is data
                assert anew == text
                kept += 1
    if core("json.text").__name__.startswith("turnwire._native"):
        assert kept > 100
    assert reader.read_source(bytearray(b'{"a":1}')) == ({"a": 1}, None)
    assert reader.read_source(b'{"a":1}', LIMITS._replace(key=9))[1] is None


def test_only_texts_are_given_back(core):
    write = core("json.write")
    for said in ("", "a", "ö", "レ", "😀", "a" * 100 + "ö" + "b" * 9, "⫻" + "a" * 50 + "😀é"):
        text = f'"{said}"'
        assert write.compacted(text) == write.compacted(text.encode()) == text
    raised(TypeError, write.compacted, bytearray(b"a"))


@pytest.mark.parametrize(
    "number", [0.1, 0.5, 1.0, 52.0, 1e-4, 9.999e-5, 123456.789, 1e9, 1e15, 1e16, 1e22, 0.1 + 0.2, 5e-324]
)
def test_numbers_are_written_shortest(core, number):
    write = core("json.write").write
    for value in (number, -number, number * 3, number / 3, round(number, 3)):
        assert write([value]) == f"[{value!r}]"


class Keyed(dict):
    """A dict that says something else when its items are asked for."""

    def items(self):
        return [("b", 2)]


class Named(dict):
    """A dict with a method more."""

    def name(self):
        return "a"


def test_subclasses_are_written_as_what_they_say(core):
    write = core("json.write").write
    assert write(Named(a=1)) == '{"a":1}'
    assert write({"x": Keyed(a=1)}) == '{"x":{"b":2}}'
    assert write({"a": (1, "b")}) == '{"a":[1,"b"]}'


SSTP = (
    '{"header":{"kind":"query","actor_id":"A","schema_id":"ioc.query.v0","session_id":"s","policy_labels":["x"],'
    '"logical_clock":1},"payload":{"question":"wofür?","required_fields":[],"uncertainty":0.5,"directed_to":"B"}%s}'
)


def written_anew(message):
    return json_text.write(message.to_dict())


SAP = (
    '{"protocolVersion":"2.0","taskId":"3ceaaf30-8142-48ea-91d9-3080f9b439fc","parentTaskId":null,'
    '"correlationId":"9dfb369b-ab13-4fae-a276-55daa05f1119","issuedAt":"2026-11-22T07:00:00Z",'
    '"issuer":{"agentId":"A","agentKind":"agent"},"target":{"capability":"spec.write"},'
    '"constitutionalContext":{"pressureLevel":"consulted","pressure":{"x":%s}},"payload":{"topic":["ü"]},"tags":["a"]}'
)


ANOTHER = "3ceaaf30-8142-48ea-91d9-3080f9b439fd"
CHANGES = [
    ("sstp", lambda message: message.payload.update(question="new")),
    ("sstp", lambda message: message.header["policy_labels"].append("y")),
    ("sstp", lambda message: setattr(message.header, "actor_id", "C")),
    ("sstp", lambda message: message.fields["header"].update(logical_clock=2)),
    ("sstp", lambda message: message.extras["more"].append(1)),
    ("sstp", lambda message: copy.copy(message).payload["required_fields"].append("z")),
    ("sap", lambda task: task.payload["topic"].append("new")),
    ("sap", lambda task: task["payload"].clear()),
    ("sap", lambda task: task.get("tags").append("b")),
    ("sap", lambda task: setattr(task.issuer, "agent_id", "B")),
    ("sap", lambda task: setattr(task, "parent_task_id", ANOTHER)),
    ("sap", lambda task: task.fields.update(more=1)),
    ("sap", lambda task: setattr(task, "fields", json.loads(SAP % 9))),
    ("sap", lambda task: delattr(task, "tags")),
    ("sap", lambda task: task.constitutional_context.pressure.update(y=3)),
    ("sap", lambda task: copy.copy(task).payload.update(z=1)),
]


@pytest.mark.parametrize("kind", [str, str.encode])
@pytest.mark.parametrize(("wire", "change"), CHANGES)
def test_messages_that_were_changed_are_written_anew(package_of, wire, change, kind):
    """Whichever way it was reached; a dict of it is one of its own."""
    package, text = package_of(wire), SSTP % ',"more":[]' if wire == "sstp" else SAP % 52
    message = package.decode(kind(text))
    assert package.encode(message) == package.encode(message, strict=False) == text
    for again in (copy.copy, copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one))):
        assert package.encode(again(message)) == text
    message.to_dict()["payload"].clear()
    assert package.encode(message) == text
    message = package.decode(kind(text))
    if wire == "sap":
        assert (message.get("parentTaskId", 1), "tags" in message, next(iter(message))) == (
            None,
            True,
            "protocolVersion",
        )
        assert package.encode(message.replace()) == text
    change(message)
    assert package.encode(message) == written_anew(message) != text


def test_sap_pressures_are_still_written_whole():
    task = sap.decode(SAP % "41.0")
    assert sap.encode(task, strict=False) == SAP % "41.0"
    assert sap.encode(task) == SAP % 41


READ = [str, str.encode, lambda text: bytearray(text.encode())]
FLOATS = ["0.50", "5e-1", "0.1000000000000000055511151231257827", "1E-3", "0.0", "1.0"]
CHANGED = {"sstp": lambda one: one.payload.update(question="other"), "sap": lambda one: one.payload.update(topic=[])}


def with_float(wire, number, good):
    """A message with this number in it, in a form that writing changes; good: strict writing takes it."""
    if wire == "sstp":
        return SSTP.replace("0.5", "0.70" if good else "1.50") % f',"more": [ {number},"\\u00e9" ]'
    time = "2026-11-22T07:00:00Z" if good else "2026-11-22T07:00:00+00:00"
    return SAP.replace("2026-11-22T07:00:00Z", time).replace('"topic":', f'"n": [ {number} ],"topic":') % 7


@pytest.mark.parametrize("kind", READ)
@pytest.mark.parametrize("number", FLOATS)
@pytest.mark.parametrize("good", [True, False])
@pytest.mark.parametrize("wire", ["sap", "sstp"])
def test_floats_are_written_as_they_were_read(package_of, wire, number, good, kind):
    text, package = with_float(wire, number, good), package_of(wire)
    wanted = text.replace(" [ ", "[").replace(" ]", "]").replace("\\u00e9", "é")
    message = package.decode(kind(text))
    if wire == "sstp":
        assert message.conversation == "s" and message.directed_to == "B"  # texts cannot be changed
    else:
        assert message.task_id == "3ceaaf30-8142-48ea-91d9-3080f9b439fc"
    assert ("wofür" if wire == "sstp" else "3ceaaf30") in repr(message)
    for same in (copy.deepcopy(message), pickle.loads(pickle.dumps(message))):
        assert same == message and package.encode(same, strict=False) == wanted
    assert package.encode(message, strict=False) == wanted
    if good:
        assert package.encode(message) == wanted
    CHANGED[wire](message)
    assert package.encode(message, strict=False) == written_anew(message)


KICK = (
    '{"id":"3ceaaf30-8142-48ea-91d9-3080f9b439fc","timestamp":"2026-11-22T07:00:00Z","sender":"%s",'
    '"receiver":"Orchestrator","type":"Info","channel":"⫻report/status","content":"⫻a/b:c/1\\nx\\n",'
    '"correlation_id":"9dfb369b-4b13-4fae-a276-55daa05f1119"}'
)


@pytest.mark.parametrize("kind", [str, str.encode])
@pytest.mark.parametrize("sender", ["Executor", "Nobody"])
@pytest.mark.parametrize(
    "change",
    [
        lambda envelope: setattr(envelope, "sender", "Somebody"),
        lambda envelope: setattr(envelope, "content", "⫻a\n"),
        lambda envelope: setattr(envelope, "correlation_id", "9dfb369b-4b13-4fae-a276-55daa05f1118"),
        lambda envelope: envelope.extra.update(more=1),
        lambda envelope: setattr(envelope, "extra", {"more": []}),
        lambda envelope: envelope.__init__(*(["x"] * 7)),
    ],
)
def test_envelopes_that_were_changed_are_written_anew(change, sender, kind):
    text = KICK % sender
    envelope = kick.decode(kind(text))
    assert kick.encode(envelope, strict=False) == text
    strict = [issue for issue in kick.check(envelope) if issue.severity == "warning"]
    assert strict == []
    assert kick.encode(envelope) == kick.encode(envelope) == text
    assert kick.check(envelope) == kick.check(envelope)
    assert envelope.space.sections and kick.encode(envelope) == text
    for same in (
        pickle.loads(pickle.dumps(envelope)),
        copy.deepcopy(envelope),
        copy.copy(envelope),
        envelope.replace(),
    ):
        assert kick.encode(same) == text
    change(envelope)
    if envelope.type == "x":
        raised(EncodeError, kick.encode, envelope, strict=False)
        return
    assert kick.encode(envelope, strict=False) == written_anew(envelope) != text


@pytest.mark.parametrize("kind", READ)
@pytest.mark.parametrize("number", FLOATS)
@pytest.mark.parametrize("sender", ["Executor", "Orchestrator"])
def test_floats_of_kicklang_are_written_as_they_were_read(backend, number, sender, kind):
    wire = Envelopes(backend)
    text = (KICK % sender)[:-1] + f', "more" :[ {number} ]}}'
    wanted = text.replace(', "more" :[ ', ',"more":[').replace(" ]", "]")
    envelope = wire.decode(kind(text))
    assert envelope.sender == sender and envelope == wire.decode(text) and "report" in repr(envelope)
    assert wire.encode(envelope, strict=False) == wanted
    if sender != "Orchestrator":
        assert wire.encode(envelope) == wanted
    assert wire.encode(copy.deepcopy(envelope), strict=False) == wanted
    for share in (copy.copy, lambda one: one.replace(), lambda one: one.to_dict()):
        envelope = wire.decode(kind(text))
        shared = share(envelope)
        (shared["more"] if isinstance(shared, dict) else shared.extra["more"]).append(1)
        assert wire.encode(envelope, strict=False) == written_anew(envelope) != wanted
    envelope = wire.decode(kind(text))
    assert envelope.extra == {"more": [float(number)]}
    assert wire.encode(envelope, strict=False) == written_anew(envelope)
    envelope = wire.decode(kind(text))
    envelope.receiver = "Orchestrator"
    envelope.content = "⫻a\nother"
    assert wire.encode(envelope, strict=False) == written_anew(envelope)
