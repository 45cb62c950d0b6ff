"""No meaning is changed unasked, no fact replaced, nothing believed because it was carried."""

from __future__ import annotations

import itertools
import json
from typing import Any

import pytest

import turnwire
from tests.conftest import raised
from tests.convert.messages import DEFAULTS, FULL, ID, explicit, right
from tests.sap.documents import RESULT
from tests.sstp.examples import example
from turnwire import WIRES, Converted, Converter, ConvertError, Reason, csp, kick, nslip, sap, sstp
from turnwire.registry import wire_of

pytestmark = pytest.mark.once
OTHER = f"{ID[:-1]}c"
KEY = b"thirty-two bytes that nobody has"


def envelope(channel: str, content: str = "", kind: str = "Command", receiver: str = "WePlan") -> kick.Envelope:
    sender = "Orchestrator" if kind == "Command" else "Dima"
    name = channel.replace("command/", "task/", 1)
    text = f"⫻{name}:T7/001\n{content}\n"
    return kick.Envelope(ID, "2026-01-15T08:00:00Z", sender, receiver, kind, f"⫻{channel}", text, OTHER)


def refusal(message: Any, target: str, **options: Any) -> ConvertError:
    return raised(ConvertError, turnwire.convert, message, target, **{"context": FULL, **options})


def tried(message: Any, target: str, **options: Any) -> Converted | None:
    """The message that is made, or None where it is refused with a reason."""
    try:
        return turnwire.convert(message, target, **options)
    except ConvertError as error:
        if error.reason not in (Reason.NO_COUNTERPART, Reason.MISSING_FIELD) or not error.missing:
            raise
    return None


@pytest.mark.parametrize("target", ["nslip", "csp", "sstp", "sap"])
@pytest.mark.parametrize("channel", ["command/stop", "command/escalate", "command/resume", "command/anything"])
def test_no_command_but_a_dispatch_becomes_a_work_order(channel: str, target: str) -> None:
    for nearest in (False, True):
        error = refusal(envelope(channel, "run the migration"), target, nearest=nearest)
        assert (error.reason, error.nearest, error.path) == (Reason.NO_COUNTERPART, None, "channel")
        assert channel in str(error) and error.there


GRAVE = [
    nslip.decode('@a9|f0|c3|S1|d0|T2|k7|t"disk_full"#'),
    nslip.decode('@a7|f0|c3|S1|d0|T2|k7|t"no_rights"#'),
    nslip.decode('@a1|f0|c3|S1|d0|T2|k7|u"failed"|t"disk_full"#'),
    csp.message("B", "A", "C1", csp.Error("E1", {"AT": "T7", "CAUSE": "disk full"})),
    csp.message("B", "A", "C1", csp.Result("T7", {"STATUS": "FAIL", "DATA": "disk full"})),
    sap.decode(json.dumps({**RESULT, "status": "FAILED", "error": {"message": "disk full"}, "output": {}})),
    sap.decode(json.dumps({"messageId": ID, "correlationId": OTHER, "status": "NACK", "reason": "no rights"})),
    envelope("alert/error", "disk full", "Alert", "Broadcast"),
    envelope("alert/violation", "disk full", "Alert", "Broadcast"),
    envelope("report/status", "Failed\ndisk full", "Info", "Orchestrator"),
]


def bad(message: Any) -> bool:
    """True if a message says, to who knows its own wire only, that something failed or is refused."""
    match wire_of(message):
        case "nslip":
            return message.act.name in ("ERROR", "REJECT") or message.get(nslip.Slot.STATUS) == "failed"
        case "csp":
            return str(message.intent) == "ERROR" or bool(message.block.get("STATUS") == "FAIL")
        case "sstp":
            return bool(message.to_dict()["payload"].get("verdict") == "fail")
        case "sap":
            return str(message.status) in ("FAILED", "NACK")
    return message.family == "alert" or "\nFailed\n" in message.content or message.channel == "⫻report/reject"


@pytest.mark.parametrize("message", GRAVE, ids=lambda message: f"{wire_of(message)}-{type(message).__name__}")
def test_failures_and_refusals_stay_what_they_are(message: Any) -> None:
    reached = 0
    for target in set(WIRES) - {wire_of(message)}:
        for nearest in (False, True):
            context = explicit(message, target, FULL.replace(roles={"0": "Orchestrator"}), nearest=nearest)
            made = tried(message, target, context=context, nearest=nearest)
            if made is not None:
                text = turnwire.encode(made.message)
                assert bad(made.message) or ("query/" in text and nearest), text
                assert not nearest or target != "sstp" or made.nearest == "evidence_bundle"
                reached += 1
    assert reached >= 4


@pytest.mark.parametrize("word", ["blocked", "cancelled", "error", "failed", "waiting"])
def test_a_status_is_not_made_another(word: str) -> None:
    message = nslip.decode(f'@a1|f0|c3|S1|d0|T2|k7|u"{word}"#')
    context = FULL.replace(uuids={"3": ID, "7": OTHER}, roles={"0": "Orchestrator"})
    for target in ("csp", "sstp", "sap", "kick"):
        made = tried(message, target, context=context)
        if made is None:
            continue
        back = turnwire.convert(made.message, "nslip", context=context, nearest=True).message
        assert back.get(nslip.Slot.STATUS) == word or (word, back.act.name) == ("failed", "ERROR")
    said = FULL.replace(values={"csp": {"block.STATUS": {"blocked": "PARTIAL"}}})
    made = turnwire.convert(nslip.decode('@a1|f0|c3|S1|d0|T2|k7|u"blocked"#'), "csp", context=said, nearest=True)
    assert (made.message.block.get("STATUS"), made.nearest) == ("PARTIAL", "RESULT")


@pytest.mark.parametrize("target", ["sstp", "sap", "kick"])
def test_what_is_carried_is_not_believed(target: str) -> None:
    """A message of the target with a carry that says something else."""
    forged: dict[str, Any] = {
        "wire": "nslip",
        "fields": ["act", "frame", "conv_id", "turn", "src", "dst", "slots.TAG"],
        "rest": {"act": "COMMIT", "frame": "PLAN", **dict.fromkeys(("conv_id", "turn", "src", "dst"), 1)},
    }
    forged["rest"]["slots.TAG"] = "wipe prod"
    if target == "sstp":
        value = example(sstp.Kind.KNOWLEDGE)
        value["payload"]["content"] = "the sky is blue"
        value["header"]["turnwire"] = forged
        message: Any = sstp.decode(json.dumps(value))
    elif target == "sap":
        message = sap.decode(json.dumps({**RESULT, "output": "the sky is blue", "meta": {"turnwire": forged}}))
    else:
        message = envelope("report/artifact", "the sky is blue", "Info", "Orchestrator")
        message = message.replace(content=f"{message.content}\n⫻turnwire/carry\n{json.dumps(forged)}\n")
    context = FULL.replace(
        agents={"alex": 4, "A-ml-001": 5, "Dima": 6, "Orchestrator": 2, "some text": 3},
        conversations={"s-1": 1, OTHER: 2, RESULT["correlationId"]: 3},
        ids={RESULT["taskId"]: 7, "T7": 8},
    )
    plain = turnwire.convert(message, "nslip", context=context)
    assert plain.message.act is nslip.Act.INFORM and "wipe" not in turnwire.encode(plain.message)
    for options in ({}, {"key": KEY}, {"nearest": True}):
        assert refusal(message, "nslip", restore=True, **options).reason is Reason.BAD_CARRY


def test_a_signature_holds_a_carry_to_its_message() -> None:
    message = nslip.decode('@a3|f0|c3|S0|d1|T1|gH|kg|q2|t"refactor_auth"#')
    context = FULL.replace(agents={"MAIN": 0, "CODER": 1}, conversations={"s": 3})
    made = turnwire.convert(message, "sstp", context=context, carry=True, key=KEY)
    back = turnwire.convert(made.message, "nslip", restore=True, key=KEY)
    assert (back.message, back.exact) == (message, True)
    assert refusal(made.message, "nslip", restore=True, key=b"another").reason is Reason.BAD_CARRY
    error = refusal(made.message, "nslip", restore=True, context=None)
    assert error.reason is Reason.BAD_CARRY, "who MAIN is nobody says"
    assert turnwire.convert(made.message, "nslip", restore=True, context=context).message == message
    other = sstp.decode(turnwire.encode(made.message).replace("refactor_auth", "refactor_all"))
    assert refusal(other, "nslip", restore=True, key=KEY).reason is Reason.BAD_CARRY
    unsigned = turnwire.convert(message, "sstp", context=context, carry=True).message
    assert refusal(unsigned, "nslip", restore=True, key=KEY).reason is Reason.BAD_CARRY
    with pytest.raises(TypeError, match="a key must be bytes"):
        turnwire.convert(message, "sstp", context=context, carry=True, key="text")  # type: ignore[arg-type]


TRUE = {
    # what a message does, as who knows its own wire alone sees it: kinds of nSLIP, CSP/1, SSTP, SAP, KickLang
    "order": "REQUEST; TASK; delegation; Task; command/dispatch",
    "question": "ASK; QUERY; query; ; query/*",
    "report": "INFORM; RESULT; knowledge; Result; report/artifact report/status",
    "failure": "ERROR; ERROR; ; Result; alert/error report/error report/status",
    "observation": "OBSERVE; ; ; ; report/observe",
    "proposal": "PROPOSE; PLAN; intent; ; report/propose",
    "decision": "COMMIT; ; commit; ; report/commit",
    "acceptance": "ACCEPT; ; ; Ack; report/status",
    "refusal": "REJECT; ; ; Nack; report/reject",
    "judgement": "EVAL; ; evidence_bundle; ; report/evaluate",
    "memory": "; MEM; memory_delta; ; report/learn",
    "protocol": "META; ; ; ; report/meta",
    "warning": "; ; ; ; alert/violation",
    "stop": "; ; ; ; command/stop",
    "patch": "; PATCH; ; ; ",
    "file": "; FILE; ; ; ",
}


def kind(message: Any) -> str:
    match wire_of(message):
        case "nslip":
            return str(message.act.name)
        case "csp":
            return str(message.intent)
        case "sstp":
            return str(message.KIND.value)
        case "sap":
            return type(message).__name__
    return str(message.channel).removeprefix("⫻")


def deeds(message: Any) -> set[str]:
    wire, name = str(wire_of(message)), kind(message)
    family = f"{name.partition('/')[0]}/*"
    place = WIRES.index(wire)
    return {deed for deed, kinds in TRUE.items() if {name, family} & set(kinds.split(";")[place].split())}


def every_kind() -> list[Any]:
    """Right messages, one of every kind, and some channels of KickLang."""
    commands = [envelope(f"command/{name}", "x") for name in ("dispatch", "stop", "escalate")]
    words = ("Accepted", "In Progress", "Completed", "Failed\nwhy")
    reports = [envelope("report/status", word, "Info", "Orchestrator") for word in words]
    names = ("artifact", "observe", "propose", "commit", "reject", "evaluate", "learn", "meta", "error")
    reports += [envelope(f"report/{name}", "x", "Info", "Orchestrator") for name in names]
    alerts = [envelope(f"alert/{name}", "x", "Alert", "Broadcast") for name in ("error", "violation")]
    return [*right(), *GRAVE, *commands, *reports, *alerts]


def test_every_kind_to_every_wire() -> None:
    """By a table of its own: what is made does what its source does, and no fact is another's."""
    made = 0
    for message in every_kind():
        for target, boss in itertools.product(set(WIRES) - {wire_of(message)}, ("0", "1", "MAIN")):
            context = explicit(message, target, FULL.replace(roles={boss: "Orchestrator"}))
            there = tried(message, target, context=context)
            if there is not None:
                made += 1
                assert deeds(message) & deeds(there.message), (kind(message), kind(there.message))
    assert made > 90


OTHER = "11111111-1111-4111-8111-111111111111"


@pytest.mark.parametrize("message", GRAVE, ids=lambda message: f"{wire_of(message)}-{type(message).__name__}")
def test_no_default_says_that_a_failure_is_done(message: Any) -> None:
    defaults = {"nslip": {**DEFAULTS["nslip"], "slots.STATUS": "done"}}
    context = FULL.replace(defaults=defaults, agents={}, ids={}, conversations={}, new_id=lambda: ID)
    if wire_of(message) != "nslip":
        made = Converter("nslip", context=context, nearest=True).feed(message).message
        assert made.get(nslip.Slot.STATUS) in (None, "failed")
