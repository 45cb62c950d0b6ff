"""SAP messages as fields."""

from __future__ import annotations

from typing import Any

from turnwire.conversion.context import Names
from turnwire.conversion.shapes import Fields, Path, Shape, flat, nested, parsed
from turnwire.conversion.tables import ACTS, FIXED, PLACES, own_acts
from turnwire.sap.codec import kind_of
from turnwire.sap.judgement import judge
from turnwire.sap.messages import Message
from turnwire.sap.spec import Alignment

CARRY: Path = ("meta", "turnwire")
_FAILED = "FailedResult"

_OWN = own_acts("sap")


_PATHS = [parsed(place.path) for places in PLACES["sap"].values() for place in places]
_FIXED: dict[str, Fields] = {name: {(key,): said for key, said in row.items()} for name, row in FIXED["sap"].items()}
_OPENED = {("meta",), *(path[:depth] for path in _PATHS for depth in range(1, len(path)))}


def split(message: Message) -> Fields:
    """The fields of the object and of the objects in it (``issuer.agentId``, ``meta.x``); arrays, the payload, the
    output, and records that no other wire knows are kept whole."""
    return flat(message.to_dict(), _OPENED)


def join(fields: Fields) -> Message:
    """The message of its fields."""
    whole = nested(fields)
    cls = kind_of(whole)
    if cls is None:
        raise KeyError("these fields belong to no SAP message")
    return cls.from_dict(whole)


def kind(fields: Fields) -> tuple[str | None, str]:
    """The class of the object; a failed Result that has an error message is an error, and says that message."""
    if ("messageId",) in fields and ("taskId",) not in fields:
        name = "Nack" if fields.get(("status",)) == "NACK" else "Ack"
    elif ("reportedAt",) not in fields and ("producer", "agentId") not in fields:
        name = "Task"
    else:
        failed = fields.get(("status",)) == "FAILED" and ("error", "message") in fields
        name = _FAILED if failed else "Result"
    return _OWN[name], name


def begin(act: str, facts: dict[str, Any]) -> tuple[str, Fields]:
    """The class of the object, and what all of the class have. What a failed report says is why it failed."""
    name = ACTS[act]["sap"].kind
    if name == "Result" and facts.get("status") == "FAILED":
        name = _FAILED
    return name, _FIXED[name]


def facts(fields: Fields, kind: str, names: Names) -> dict[str, Any]:
    """The reason of a failure, where a Result that did not succeed has nothing else to say."""
    reason = fields.get(("error", "message"))
    silent = kind == "Result" and fields.get(("output",)) in (None, {}, [], "")
    return {"text": reason} if silent and isinstance(reason, str) and fields.get(("status",)) != "SUCCEEDED" else {}


_ALIGNMENT, _CHECKS, _VIOLATIONS = (
    ("constitutionalEvidence", name) for name in ("alignment", "policyChecks", "violations")
)


def finish(fields: Fields, facts: dict[str, Any], names: Names) -> tuple[Path, ...]:
    """A Result that a context calls VALID is ESCALATE where its status or its evidence does not let it be VALID."""
    if fields.get(_ALIGNMENT) == Alignment.VALID:
        evidence = fields.get(_CHECKS) or (), fields.get(_VIOLATIONS) or ()
        if not judge(str(fields.get(("status",))), Alignment.VALID, *evidence).valid:
            fields[_ALIGNMENT] = Alignment.ESCALATE.value
    return ()


SHAPE = Shape(
    split,
    join,
    kind,
    begin,
    PLACES["sap"],
    facts,
    finish,
    carry=CARRY,
    tasks_alone=True,
    asked_first="correlation",
    by_others="correlation",
    tells=(("status",), ("target", "capability")),
    fresh=frozenset({("Task", ("taskId",)), ("Task", ("correlationId",))}),
)
