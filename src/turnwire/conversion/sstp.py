"""SSTP messages as fields."""

from __future__ import annotations

from typing import Any

from turnwire.conversion.shapes import Fields, Path, Shape, flat, nested
from turnwire.conversion.tables import ACTS, PLACES, own_acts
from turnwire.sstp.messages import CLASSES, Message
from turnwire.sstp.spec import SCHEMA_IDS

CARRY: Path = ("header", "turnwire")
_OPENED: frozenset[Path] = frozenset({("header",), ("payload",)})

_OWN = own_acts("sstp")
_FIXED: dict[str, Fields] = {
    kind.value: {("header", "kind"): kind.value, ("header", "schema_id"): name} for kind, name in SCHEMA_IDS.items()
}


def split(message: Message) -> Fields:
    """``header.X``, ``payload.X`` and the other keys of the object."""
    return flat(message.to_dict(), _OPENED)


def join(fields: Fields) -> Message:
    """The message of its fields."""
    whole = nested(fields)
    whole.setdefault("payload", {})
    return CLASSES[whole["header"]["kind"]].of(whole)


def kind(fields: Fields) -> tuple[str | None, str]:
    """``header.kind``."""
    name = fields["header", "kind"]
    return _OWN[name], name


def begin(act: str, facts: dict[str, Any]) -> tuple[str, Fields]:
    """The kind and its schema_id."""
    if act == "inform" and facts.get("status") == "FAILED":
        act = "error"  # a knowledge message would not say that something failed
    name = ACTS[act]["sstp"].kind
    return name, _FIXED[name]


SHAPE = Shape(
    split,
    join,
    kind,
    begin,
    PLACES["sstp"],
    carry=CARRY,
    tells=(("header", "kind"),),
    counts="sender",
    finishes=frozenset(),
)
