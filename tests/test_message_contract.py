"""The contract of messages: the values that a scan says, dicts, copies; and a table of classes and libraries, in which
each library gives a message back or raises."""

from __future__ import annotations

import copy
import dataclasses
import importlib
import inspect
import json
import pickle
import pprint
import re
import typing
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any
from unittest import mock

import pytest

import turnwire
from tests import vectors
from tests.conftest import raised
from tests.cores import Envelopes
from tests.fuzz.messages import MESSAGES
from turnwire import csp, kick, nslip, registry, sap, sstp
from turnwire._backend import core_module
from turnwire.contract import Column, TextPlan, Wire
from turnwire.errors import DecodeError
from turnwire.message import Serialisable

COMMON = ("wire", "kind", "sender", "receiver", "conversation", "sequence", "time", "subject")
SLIP = {"conv_id": 3, "turn": 1, "src": 0, "dst": 1, "act": "REQUEST", "frame": "TASK", "slots": {"TAG": "x"}}


def texts() -> list[tuple[str, str]]:
    """(wire, text) of messages of each wire, those of the vectors that are read among them."""
    found = [(wire, text) for wire, texts in MESSAGES.items() for text in texts]
    for wire in turnwire.WIRES[:5]:
        for case in vectors.load(wire):
            found += [(wire, case[key]) for key in ("text", "wire") if isinstance(case.get(key), str)]
    found.append(("kick", "\u2afbtask/dispatch:WePlan/001\nGo.\n"))
    found.append(("nslip", f"@a3|f0|c{'LygHa16AHYF'}|S0|d1|TLygHa16AHYF#"))
    return found


def read(wire: str, text: str) -> Any:
    """The message, or None for a case of the vectors that ``turnwire.decode`` does not take."""
    try:
        return turnwire.decode(text, wire)
    except turnwire.WireError:
        return None


ALL = [(wire, text) for wire, text in texts() if read(wire, text) is not None]


def test_there_are_messages_of_all_wires() -> None:
    assert {wire for wire, _ in ALL} == {"nslip", "csp", "sstp", "sap", "kick"} and len(ALL) > 100


@pytest.mark.parametrize(("wire", "text"), ALL)
def test_values_are_those_of_a_scan(wire: str, text: str) -> None:
    batches = list(turnwire.scan(text.encode(), wire=wire))
    message = read(wire, text)
    if sum(map(len, batches)) != 1:
        pytest.skip("a scan reads something else here, such as the inside of a fence")
    batch = batches[0]
    for name in COMMON:
        said = batch[name][0] if batch.valid(name)[0] else None
        value = getattr(message, name)
        if isinstance(value, datetime):
            assert value.tzinfo is UTC
            value = round((value - datetime(1970, 1, 1, tzinfo=UTC)).total_seconds() * 1_000_000)
            said = said.astype("int64")
        assert value == said, name


@pytest.mark.parametrize(("wire", "text"), ALL)
def test_dicts_and_copies_give_the_message_back(wire: str, text: str) -> None:
    message = read(wire, text)
    cls = type(message)
    fields = message.to_dict()
    assert json.loads(json.dumps(fields)) == fields
    assert cls.from_dict(fields) == message
    assert message == copy.copy(message) == copy.deepcopy(message) == pickle.loads(pickle.dumps(message))
    assert message.replace() == message == message.__replace__()
    assert repr(message) and isinstance(cls.__match_args__, tuple)
    raised(TypeError, message.replace, no_such_field=1)
    raised(DecodeError, cls.from_dict, [])


def test_replace_of_each_wire() -> None:
    made = {wire: read(wire, text) for wire, text in reversed(ALL) if "document" not in str(read(wire, text).kind)}
    assert made["nslip"].replace(turn=9).sequence == 9
    assert made["csp"].replace(ctx="C7").conversation == "C7"
    query = sstp.decode(MESSAGES["sstp"][0])
    assert query.replace(question="why?", session_id="other").subject == "why?"
    assert query.replace(session_id="other").conversation == "other"
    assert query.replace(payload={**query.payload, "question": "who?"}).payload.question == "who?"
    assert made["sap"].replace(correlation_id="7").conversation == "7"
    assert made["kick"].replace(sender="WePlan").sender == "WePlan"


@pytest.mark.parametrize(
    ("cls", "fields"),
    [
        (nslip.SlipMessage, {**SLIP, "act": "SHOUT"}),
        (nslip.SlipMessage, {name: value for name, value in SLIP.items() if name != "src"}),
        (csp.CspMessage, {"sender": "A"}),
        (csp.CspMessage, {"sender": 1, "receiver": "B", "ctx": "C", "intent": "TASK", "block": None}),
        (csp.Task, {"id": "T1", "fields": [["REQ"]]}),
        (csp.Task, {"id": "T1", "fields": [], "more": 1}),
        (csp.Patch, {"id": "P1", "base": "C1", "ops": [["+"]], "apply": "C2"}),
        (sstp.Query, {"header": {"kind": "intent"}, "payload": {}}),
        (kick.Envelope, {"id": "1"}),
        (kick.Space, {"document": 5}),
        (kick.Section, {}),
        (kick.Section, {"name": "a", "content": "x\n"}),
    ],
)
def test_a_dict_that_is_no_message_is_refused(cls: Any, fields: dict[str, Any]) -> None:
    raised(DecodeError, cls.from_dict, fields)


def test_a_message_of_any_wire_is_one(backend: str) -> None:
    """Of the class that has the contract, and of no copy of it; a part of a message is not."""
    for message in samples(backend).values():
        cls = type(message)
        is_message = all(hasattr(cls, name) for name in COMMON)
        assert isinstance(message, turnwire.Message) == issubclass(cls, turnwire.Message) == is_message
        assert (turnwire.Message in cls.__mro__) == is_message


def test_a_method_of_a_base_can_be_replaced(backend: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """As mocks do, and back: what an object was asked for before is not kept."""
    messages = [one for one in samples(backend).values() if isinstance(one, turnwire.Message)]
    before = [one.to_dict() for one in messages]
    for base in {base for one in messages for base in type(one).__mro__ if "to_dict" in vars(base)}:
        if base.__module__.startswith("turnwire._native"):
            continue
        for value in ({"one": 1}, {"other": 2}):
            with monkeypatch.context() as patch:
                patch.setattr(base, "to_dict", lambda self, value=value: value)
                for one in messages:
                    own = next(each for each in type(one).__mro__ if "to_dict" in vars(each))
                    assert (one.to_dict() == value) == (own is base)
            assert [one.to_dict() for one in messages] == before


def test_a_dict_has_just_what_a_message_writes(backend: str) -> None:
    """A field that is missing or wrong is refused; so is one that nobody knows, unless it comes back."""
    tried = dict.fromkeys(("missing", "wrong", "refused", "kept"), 0)
    for message in samples(backend).values():
        cls: Any = type(message)
        fields = message.to_dict()
        for name in cls._schema().get("required", ()):
            if fields == {"more": [1]} or name == "pressureLevel":  # which section 4 asks for, but not of who reads
                continue
            others = {key: value for key, value in fields.items() if key != name}
            assert raised(DecodeError, cls.from_dict, others).wire
            assert raised(DecodeError, cls.from_dict, {**fields, name: [1.5]}).wire
            tried["missing"] += 1
            tried["wrong"] += 1
        more = {**fields, "noSuchField": [1]}
        if cls._schema().get("additionalProperties") is False:
            error = raised(DecodeError, cls.from_dict, more)
            assert (error.reason, error.path) == ("unknown_key", "/noSuchField")
            tried["refused"] += 1
        else:
            assert cls.from_dict(more).to_dict() == more
            tried["kept"] += 1
    assert all(tried.values()), tried


@pytest.mark.parametrize("cls", [sap.Task, sap.Result, sap.Ack, sap.Nack, sap.Issuer, sap.Target])
def test_an_empty_dict_is_no_object_of_sap(cls: Any) -> None:
    assert raised(DecodeError, cls.from_dict, {}).reason == "missing_field"
    assert cls.of({}).to_dict() == {}


def test_common_columns_cannot_be_set(backend: str) -> None:
    """Except what is a field of the message, too."""
    for message in samples(backend).values():
        if isinstance(message, turnwire.Message):
            own = {"sender", "receiver"} & {*getattr(type(message), "__match_args__", ())}
            for name in {*COMMON} - own:
                raised(AttributeError, setattr, message, name, getattr(message, name))


def test_a_kind_of_sstp_reads_no_other(backend: str) -> None:
    intent = next(sstp.decode(text) for text in MESSAGES["sstp"] if '"kind":"query"' not in text)
    with pytest.raises(DecodeError) as caught:
        sstp.Query.from_dict(intent.to_dict())
    assert caught.value.reason == "unknown_kind"


# --- registered wires -------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("toys")
def test_messages_of_a_registered_wire() -> None:
    """One that is made of the contract, and one that knows nothing of it."""
    message = turnwire.decode("~ada>bob:hello~", "beep")
    assert [getattr(message, name) for name in COMMON] == ["beep", "beep", "ada", "bob", None, None, None, "hello"]
    assert type(message).from_dict(message.to_dict()) == message
    assert message.replace(text="bye").subject == "bye"
    assert turnwire.dec_hook(type(message), turnwire.enc_hook(message)) == message
    memo = turnwire.decode("MEMO ada\nEND\n", "memo")
    fields = turnwire.enc_hook(memo)
    assert fields == {"sender": "ada", "text": ""} and turnwire.dec_hook(type(memo), fields) == memo
    with pytest.raises(DecodeError):
        turnwire.dec_hook(type(memo), {"sendr": "ada", "text": ""})
    adapter = pytest.importorskip("pydantic").TypeAdapter(type(message))
    assert adapter.validate_json(adapter.dump_json(message)) == message
    schema = adapter.json_schema()
    assert [*schema["properties"]] == [*message.to_dict()] and {*schema["required"]} <= {*schema["properties"]}


@pytest.mark.parametrize("options", [{}, {"slots": True}, {"frozen": True}, {"kw_only": True}], ids=str)
def test_a_dataclass_may_have_fields_named_as_common_columns(
    monkeypatch: pytest.MonkeyPatch, options: dict[str, bool]
) -> None:
    """As the example of docs/jobs/add_a_wire.md has them."""

    @dataclasses.dataclass(**options)
    class Ping(turnwire.Message):
        sender: str
        subject: str
        time: int = 3

        def __post_init__(self) -> None:
            assert self.subject + "", "a value of another type is no text"

    monkeypatch.setattr(registry, "_known", turnwire.wires())
    parts = {"package": __name__, "style": "token", "title": "", "prompt": str, "check": lambda message: []}
    form = re.compile(rb"<<(\w+):(\w+)>>")

    def decode(data: Any) -> Ping:
        sender, subject = form.fullmatch(data if isinstance(data, bytes) else data.encode()).groups()  # type: ignore[union-attr]
        return Ping(sender=sender.decode(), subject=subject.decode())

    def encode(message: Ping, strict: bool = True) -> str:
        return f"<<{message.sender}:{message.subject}>>"

    plan = TextPlan((b"<<",), form, (Column("sender", "text"), Column("subject", "text")))
    detect = b"<<".__eq__
    turnwire.register(Wire("ping", detect=detect, decode=decode, encode=encode, message=Ping, scanner=plan, **parts))
    message = turnwire.decode(b"<<ada:hello>>", "ping")
    assert [getattr(message, name) for name in COMMON] == ["ping", "ping", "ada", None, None, None, 3, "hello"]
    assert isinstance(message, turnwire.Message) and Ping.from_dict(message.to_dict()) == message
    assert message.replace(sender="bob").sender == "bob" and turnwire.encode(message) == "<<ada:hello>>"
    raised(AttributeError, setattr, message, "kind", "x")
    for fields, reason, path in (
        ({"sender": "ada"}, "missing_field", "/subject"),
        ({"sender": "ada", "subject": "b", "more": 1}, "unknown_key", "/more"),
        ({"sender": 5, "subject": "b"}, "wrong_type", "/sender"),
        ({"sender": "ada", "subject": "<"}, "wrong_type", None),
        ({"sender": "ada", "subject": 5}, "wrong_type", None),  # of which the class raises a TypeError
    ):
        error = raised(DecodeError, Ping.from_dict, fields)
        assert (error.reason, error.path) == (reason, path)
    with pytest.raises(TypeError):
        Ping()  # type: ignore[call-arg]


def test_hooks_refuse_what_is_no_message() -> None:
    raised(TypeError, turnwire.enc_hook, object())
    raised(NotImplementedError, turnwire.dec_hook, int, 1)


# --- the table --------------------------------------------------------------------------------------------------------


WIRES = {"nslip": nslip, "csp": csp, "sstp": sstp, "sap": sap, "kick": kick}
BASES = {csp.Block, sstp.Message, sap.Signal, kick.Policy}
"""Classes with a ``from_dict`` that no message and no part of one is of."""


def samples(backend: str) -> dict[str, Any]:
    """A message of each public class, SlipMessage and Envelope of the core under test, and a part of each class."""
    core = {"nslip": core_module(backend, "nslip.codec"), "kick": Envelopes(backend)}
    task = sap.decode(next(text for text in MESSAGES["sap"] if '"issuer"' in text))
    found = {
        "SlipMessage": core["nslip"].decode('@a3|f0|c3|S0|d1|T1|gH|u"ok"#'),
        "slip, large": core["nslip"].decode("@a3|f0|cLygHa16AHYF|SLygHa16AHYF|d1|T1#"),
        "slip, kept": core["nslip"].decode("@a3|f0|c3|S0|d1|T1|zZ#", unknown="keep"),
        "Envelope": core["kick"].decode(MESSAGES["kick"][0]),
        "Envelope, more": core["kick"].Envelope.from_dict({**json.loads(MESSAGES["kick"][0]), "more": [1]}),
        "Space": kick.parse_space("\u2afbtask/dispatch:WePlan/001\nGo.\n"),
        "Section": turnwire.kick.Section("task", "dispatch", place="WePlan", index="001", content="Go."),
        "Section, read": kick.parse_space("\u2afbtask/dispatch:WePlan\nGo.\n\n").sections[0],
        "Task, more": sap.Task.from_dict({**task.to_dict(), "unknownField": {"a": [1]}}),
        "Task, odd": sap.Task.from_dict({**task.to_dict(), "replace": 1, "x-y": 2}),
        "csp Template": csp.Template(["A", "B"], ["TASK REQ:x"]),
    }
    for cls in (sap.CachePolicy, sap.CacheEvidence, sap.Violation, sap.Artifact, sap.Attachment, sap.ReplyTo):
        found[f"sap {cls.__name__}"] = cls.from_dict({"more": [1]})

    def add(wire: str, value: Any) -> None:
        name = type(value).__name__
        if hasattr(value, "from_dict") and name not in ("SlipMessage", "Envelope"):
            found.setdefault(f"{wire} {name}", value)
            for part in (getattr(value, name) for name in value.__match_args__ if hasattr(value, name)):
                for one in part if isinstance(part, list | tuple) else [part]:
                    add(wire, one)

    for wire in WIRES:
        for example in turnwire.extract(turnwire.prompt(wire)):
            add(wire, example.message)
    return found


def test_there_is_a_sample_of_each_public_class() -> None:
    public = [getattr(package, name) for package in WIRES.values() for name in package.__all__]
    dicts = {cls for cls in public if inspect.isclass(cls) and hasattr(cls, "from_dict")} - BASES
    assert {type(message) for message in samples(turnwire.backend).values()} == dicts


def by_pydantic(message: Any) -> Any:
    from pydantic import BaseModel, create_model

    model: type[BaseModel] = create_model("Holder", wire=(type(message), ...))
    whole = model(wire=message)
    assert whole.model_dump()["wire"] == message.to_dict()
    assert model.model_json_schema()["properties"]["wire"]
    with pytest.raises(ValueError, match="Holder"):
        model(wire=17)
    first, *rest = message.to_dict()
    assert list(whole.model_dump(exclude={"wire": {first}})["wire"]) == rest
    assert json.loads(whole.model_dump_json(include={"wire": {first}})) == {"wire": {first: message.to_dict()[first]}}
    return model.model_validate_json(whole.model_dump_json()).wire  # type: ignore[attr-defined]


def by_pickle(message: Any) -> Any:
    first, *others = (pickle.loads(pickle.dumps(message, protocol)) for protocol in range(pickle.HIGHEST_PROTOCOL + 1))
    assert all(one == first for one in others)
    return first


def by_cattrs_hooks(message: Any) -> Any:
    """With the hooks of docs/start/what_else.md."""
    converter = lib("cattrs").Converter()

    def takes(cls: Any) -> bool:
        return isinstance(cls, type) and issubclass(cls, Serialisable)

    converter.register_unstructure_hook_func(takes, turnwire.enc_hook)
    converter.register_structure_hook_func(takes, lambda fields, cls: turnwire.dec_hook(cls, fields))
    held = dataclasses.make_dataclass("Held", [("one", type(message)), ("more", list[type(message)])])  # type: ignore[misc]
    whole = held(message, [message])
    assert converter.structure(converter.unstructure(whole), held) == whole
    return converter.structure(converter.unstructure(message), type(message))


def by_msgspec(message: Any, enc_hook: Any = None, dec_hook: Any = None) -> Any:
    module = lib("msgspec").json
    return module.decode(module.encode(message, enc_hook=enc_hook), type=type(message), dec_hook=dec_hook)


def by_json(message: Any, library: str = "json", **hook: Any) -> Any:
    module = lib(library)
    return turnwire.dec_hook(type(message), module.loads(module.dumps(message, **hook)))


lib = importlib.import_module
HOOK: dict[str, Any] = {"default": turnwire.enc_hook}
LIBRARIES: dict[str, Callable[[Any], Any]] = {
    "pydantic": by_pydantic,
    "msgspec": by_msgspec,
    "msgspec with hooks": lambda message: by_msgspec(message, turnwire.enc_hook, turnwire.dec_hook),
    "orjson": lambda message: by_json(message, "orjson"),
    "orjson with a hook": lambda message: by_json(message, "orjson", **HOOK),
    "json": by_json,
    "json with a hook": lambda message: by_json(message, **HOOK),
    "cattrs": lambda message: lib("cattrs").structure(lib("cattrs").unstructure(message), type(message)),
    "cattrs with hooks": by_cattrs_hooks,
    "asdict": lambda message: turnwire.dec_hook(type(message), dataclasses.asdict(message)),
    "pickle": by_pickle,
    "deepcopy": copy.deepcopy,
}
ALWAYS = {"pydantic", "cattrs with hooks", "orjson with a hook", "json with a hook", "pickle", "deepcopy"}
"""Those that give every message back."""


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_library_gives_a_message_back_or_raises(backend: str, library: str) -> None:
    if library.split()[0] in ("pydantic", "msgspec", "orjson", "cattrs"):
        pytest.importorskip(library.split()[0])
    given = 0
    for name, message in samples(backend).items():
        if backend != turnwire.backend and library == "pickle" and name.startswith(("slip", "SlipMessage")):
            continue  # a pickle of nSLIP is of the core that reads it
        try:
            back = LIBRARIES[library](message)
        except Exception:
            if library in ALWAYS:
                raise
            continue
        if (library, name) == ("cattrs", "slip, kept"):  # it reads the fields of slipcore's class: docs/slipcore.md
            back.extra = message.extra
        assert back == message, f"{library} changes {name}"
        given += 1
    assert given or library in ("orjson", "json")


def test_msgspec_gives_slip_messages_back(backend: str) -> None:
    pytest.importorskip("msgspec")
    for name in ("SlipMessage", "slip, large"):
        message = samples(backend)[name]
        assert by_msgspec(message) == message == LIBRARIES["msgspec with hooks"](message)
    slots = {str(int(nslip.Slot.TAG)): "x"}  # as JSON writes the keys of slipcore's slots
    assert type(message).from_dict({**SLIP, "act": 3, "frame": 0, "slots": slots}).to_dict() == SLIP


def test_what_dataclasses_write_of_a_task_is_the_task() -> None:
    task = samples("pure")["Task, more"]
    assert dataclasses.asdict(task) == task.to_dict()
    msgspec = pytest.importorskip("msgspec")
    assert json.loads(msgspec.json.encode(task)) == task.to_dict()
    with pytest.raises(TypeError):
        msgspec.json.encode(samples("pure")["Task, odd"])


def test_every_message_is_shown(backend: str) -> None:
    pretty = pytest.importorskip("rich.pretty")
    for message in samples(backend).values():
        assert pprint.pformat(message) == repr(message) == str(message) and pretty.pretty_repr(message)


def test_types_and_signatures(backend: str) -> None:
    for message in samples(backend).values():
        cls = type(message)
        assert inspect.signature(cls)
        unnamed = {"args", "kwargs", "named", "values", "trim", "extra"}
        assert inspect.signature(cls).parameters.keys() - unnamed <= typing.get_type_hints(cls).keys(), cls
        assert typing.get_type_hints(cls.__init__).keys() == {*inspect.signature(cls).parameters, "return"}, cls
        if cls.__module__ == core_module(backend, "nslip.codec").__name__:
            assert cls.__annotations__ == typing.get_type_hints(cls) == inspect.get_annotations(cls)
        double = mock.create_autospec(cls, instance=True)
        assert isinstance(double, cls)


def test_an_object_without_its_constructor_has_no_parts(backend: str) -> None:
    cls = type(samples(backend)["Section"])
    empty = cls.__new__(cls)
    for part in cls.__match_args__:
        raised(AttributeError, getattr, empty, part)


def test_every_message_fits_its_schema(backend: str) -> None:
    pydantic, jsonschema = pytest.importorskip("pydantic"), pytest.importorskip("jsonschema")
    for message in samples(backend).values():
        if message.to_dict() != {"more": [1]}:  # an object of SAP that lacks what section 4 asks for
            schema = pydantic.TypeAdapter(type(message)).json_schema()
            jsonschema.Draft202012Validator(schema).validate(message.to_dict())


@pytest.mark.parametrize(
    "changed",
    [
        *(
            {"slots": slots}
            for slots in ({"TAG": 5}, {"20": "x"}, {"GOAL_ID": "x"}, {"TAG": None}, {"99": 1}, [], None)
        ),
        *({"src": number} for number in (-1, 0, (1 << 64) - 1, 1 << 64, "3", True, None)),
        *({name: value} for name in ("act", "frame") for value in (0, 77, "0", "00", "TASK", "ASK", None, [])),
        *({"extra": extra} for extra in (None, [], {}, "", [1], [{"prefix": "z"}], [{"prefix": "z", "value": "Z"}])),
        {"extra": [{"prefix": "z", "value": "Z", "before": "x"}]},
        {"more": 1},
    ],
)
def test_pydantic_takes_what_its_schema_says(backend: str, changed: dict[str, Any]) -> None:
    pydantic, jsonschema = pytest.importorskip("pydantic"), pytest.importorskip("jsonschema")
    adapter = pydantic.TypeAdapter(type(samples(backend)["SlipMessage"]))
    fields = {**SLIP, **changed}
    try:
        message = adapter.validate_json(json.dumps(fields))
    except ValueError:
        assert not jsonschema.Draft202012Validator(adapter.json_schema()).is_valid(fields)
    else:
        jsonschema.Draft202012Validator(adapter.json_schema()).validate(fields)
        assert adapter.validate_json(adapter.dump_json(message)) == message


def test_slip_message_is_the_dataclass_that_slipcore_s_is(backend: str) -> None:
    cls = type(samples(backend)["SlipMessage"])
    names = ["conv_id", "turn", "src", "dst", "act", "frame", "slots"]
    made = dataclasses.make_dataclass("SlipMessage", names)
    assert repr(cls.__dataclass_params__) == repr(vars(made)["__dataclass_params__"])
    assert list(cls.__match_args__) == names == [field.name for field in dataclasses.fields(cls)]
    hints = typing.get_type_hints(cls)
    assert {name: hints[name] for name in names} == {
        **dict.fromkeys(names[:4], int),
        "act": nslip.Act,
        "frame": nslip.FrameType,
        "slots": dict[nslip.Slot, Any],
    }
    for signature in (inspect.signature(cls), inspect.signature(cls.__init__)):
        assert [name for name in signature.parameters if name not in ("self", "extra")] == names
    double = mock.create_autospec(cls)
    raised(TypeError, double, 1)
    double(1, 2, 3, 4, 5, 6, {})
    assert turnwire.slip.__version__ == "0.1.0"


@pytest.mark.parametrize(
    ("name", "types"),
    [("SlipMessage", {"act": nslip.Act, "conv_id": int}), ("Envelope", {"id": str}), ("Section", {"name": str})],
)
def test_hypothesis_builds_messages(backend: str, name: str, types: dict[str, type]) -> None:
    from hypothesis import given, settings, strategies as st

    cls = type(samples(backend)[name])

    @settings(max_examples=20, database=None)
    @given(st.builds(cls))
    def built(message: Any) -> None:
        assert all(isinstance(getattr(message, field), kind) for field, kind in types.items())

    built()


def test_a_subclass_that_libraries_make(backend: str) -> None:
    """Some make an object without its constructor."""
    msgspec = pytest.importorskip("msgspec")
    base = type(samples(backend)["SlipMessage"])
    cls = type("Own", (base,), {})
    fields = {"conv_id": 1 << 40, "turn": 1, "src": 0, "dst": 1, "act": 3, "frame": 0, "slots": {20: "x"}}
    made = msgspec.convert(fields, cls)
    assert type(made) is cls
    assert made.to_dict() == {**SLIP, "conv_id": 1 << 40}
    assert made.extra == {}
    for few in ({"conv_id": 1}, {"turn": 1}, {"strange": 1}, {}):
        for incomplete in (cls, base):
            raised(msgspec.ValidationError, msgspec.convert, few, incomplete)
    over = dataclasses.make_dataclass("Over", [("note", str, "")], bases=(base,))
    assert over(1, 2, 3, 4, nslip.Act.ASK, nslip.FrameType.TASK, {}, "n").note == "n"  # type: ignore[attr-defined]


def test_copies_of_a_subclass_are_of_it(backend: str) -> None:
    for message in samples(backend).values():
        cls = type("Own", (type(message),), {})
        try:
            made = cls.from_dict(message.to_dict())  # type: ignore[attr-defined]
        except DecodeError:  # of a kind of SSTP there is one class
            continue
        assert type(made) is type(copy.copy(made)) is type(copy.deepcopy(made)) is cls
        assert made == copy.copy(made) == copy.deepcopy(made)


def test_a_message_of_plain_values_is_one_that_can_be_encoded(backend: str) -> None:
    cls: Any = type(samples(backend)["SlipMessage"])
    for name in ("conv_id", "turn", "src", "dst"):
        for number, reason in ((-1, "negative"), (1 << 64, "too_large"), (1 << 70, "too_large")):
            caught = raised(DecodeError, cls.from_dict, {**SLIP, name: number})
            assert (caught.reason, caught.path) == (reason, f"/{name}")
        encode = core_module(backend, "nslip.codec").encode
        assert encode(cls.from_dict({**SLIP, name: (1 << 64) - 1}))
    for slot, value in (("TAG", 5), ("STATUS", None), ("GOAL_ID", "x"), ("SCORE", True), ("SCORE", -1)):
        caught = raised(DecodeError, cls.from_dict, {**SLIP, "slots": {slot: value}})
        assert caught.path == f"/slots/{slot}"


def test_a_model_names_each_class_in_its_schema(backend: str) -> None:
    pydantic = pytest.importorskip("pydantic")
    for name in ("SlipMessage", "sap Task", "Envelope"):
        cls = type(samples(backend)[name])
        fields: Any = {"one": (cls, ...), "more": (list[cls], ...)}  # type: ignore[valid-type]
        schema = pydantic.create_model("Model", **fields).model_json_schema()
        assert (
            schema["properties"]["one"] == schema["properties"]["more"]["items"] == {"$ref": f"#/$defs/{cls.__name__}"}
        )
        assert schema["$defs"][cls.__name__] == cls._schema()


@pytest.mark.once
def test_an_endpoint_returns_and_takes_messages() -> None:
    fastapi = pytest.importorskip("fastapi")
    client = pytest.importorskip("fastapi.testclient")
    app = fastapi.FastAPI()

    @app.post("/turn")
    def turn(message: nslip.SlipMessage) -> nslip.SlipMessage:
        return message.replace(turn=message.turn + 1)

    @app.post("/task")
    def task(message: sap.Task) -> sap.Task:
        return message

    @app.post("/query")
    def query(message: sstp.Query = fastapi.Body()) -> sstp.Query:  # noqa: B008  (as FastAPI wants it)
        return message

    web = client.TestClient(app)
    answer = web.post("/turn", json=SLIP)
    assert (answer.status_code, answer.json()) == (200, {**SLIP, "turn": 2})
    for wrong in ({"act": "SHOUT"}, {"act": "3"}, {"turn": -1}, {"turn": 1 << 64}):
        assert web.post("/turn", json={**SLIP, **wrong}).status_code == 422
    assert web.post("/task", json={}).status_code == 422
    fields = samples("pure")["sap Task"].to_dict()
    assert web.post("/task", json=fields).json() == fields
    fields = json.loads(MESSAGES["sstp"][0])
    assert web.post("/query", json=fields).json() == fields
    schema = web.get("/openapi.json").json()
    body = schema["paths"]["/turn"]["post"]["requestBody"]["content"]["application/json"]["schema"]
    assert body["$ref"] == "#/components/schemas/SlipMessage"
    assert (
        schema["components"]["schemas"]["SlipMessage"]["properties"]["act"]
        and "Task" in schema["components"]["schemas"]
    )
