"""SAP messages for conversion: messages as tables of fields and back, and the kinds and acts of such tables."""

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
"""Keeps fields of other wires that SAP has no place for."""
_FAILED = "FailedResult"
"""The kind, in the tables of conversion, of a Result that tells an error."""

_ACTS_OF_KINDS = own_acts("sap")
_PATHS = [parsed(place.path) for places in PLACES["sap"].values() for place in places]
_FIXED: dict[str, Fields] = {name: {(key,): said for key, said in row.items()} for name, row in FIXED["sap"].items()}
# The objects whose members are fields of their own: meta, and all in which conversion knows a place.
_OPENED: frozenset[Path] = frozenset({("meta",), *(path[:depth] for path in _PATHS for depth in range(1, len(path)))})


def split(message: Message) -> Fields:
    """The fields of a message, such as ``issuer.agentId`` and ``meta.x``. Arrays, the payload, the output, and objects
    in which no other wire has a counterpart are one field each."""
    return flat(message.to_dict(), _OPENED)


def join(fields: Fields) -> Message:
    """The message that has these fields. Raises KeyError if they are of no SAP message."""
    whole = nested(fields)
    cls = kind_of(whole)
    if cls is None:
        raise KeyError("these fields do not form a SAP message")
    return cls.from_dict(whole)


def kind(fields: Fields) -> tuple[str | None, str]:
    """(act, kind) of a message by its fields. The kind is the name of the class; of a FAILED Result with an error
    message it is FailedResult, whose act is "error"."""
    if ("messageId",) in fields and ("taskId",) not in fields:
        name = "Nack" if fields.get(("status",)) == "NACK" else "Ack"
    elif ("reportedAt",) not in fields and ("producer", "agentId") not in fields:
        name = "Task"
    else:
        failed = fields.get(("status",)) == "FAILED" and ("error", "message") in fields
        name = _FAILED if failed else "Result"
    return _ACTS_OF_KINDS[name], name


def begin(act: str, facts: dict[str, Any]) -> tuple[str, Fields]:
    """(kind, fixed fields) of the message for an act. A Result whose status is FAILED becomes a FailedResult, since its
    text is then the error message."""
    name = ACTS[act]["sap"].kind
    if name == "Result" and facts.get("status") == "FAILED":
        name = _FAILED
    return name, _FIXED[name]


def facts(fields: Fields, kind: str, names: Names) -> dict[str, Any]:
    """More than the fields at their places: the text of a Result without output that did not succeed is its error
    message."""
    reason = fields.get(("error", "message"))
    silent = kind == "Result" and fields.get(("output",)) in (None, {}, [], "")
    return {"text": reason} if silent and isinstance(reason, str) and fields.get(("status",)) != "SUCCEEDED" else {}


_ALIGNMENT, _CHECKS, _VIOLATIONS = (
    ("constitutionalEvidence", name) for name in ("alignment", "policyChecks", "violations")
)


def finish(fields: Fields, facts: dict[str, Any], names: Names) -> tuple[Path, ...]:
    """Completes the fields of a new message: an alignment VALID (from the context) that its status or its evidence
    contradicts becomes ESCALATE. No further field is needed."""
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
    finishes=frozenset(),
)
