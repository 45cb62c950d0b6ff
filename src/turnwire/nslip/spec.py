"""nSLIP (SLIP v0.1) as data: acts, frames, slots, prefixes. Section numbers are those of the specification."""

from __future__ import annotations

from enum import IntEnum
from typing import Protocol, runtime_checkable

from turnwire.errors import Reason

WIRE = "nslip"
SCHEMA_VERSION = 1
"""Version of the Act/Frame/Slot schema that the CBOR and protobuf forms carry (section 6)."""


class Act(IntEnum):
    """Speech acts, a closed set (section 2)."""

    OBSERVE = 0
    INFORM = 1
    ASK = 2
    REQUEST = 3
    PROPOSE = 4
    COMMIT = 5
    ACCEPT = 6
    REJECT = 7
    EVAL = 8
    ERROR = 9
    META = 10


class FrameType(IntEnum):
    """Frame types (section 2)."""

    TASK = 0
    PLAN = 1
    OBSERVATION = 2
    EVALUATION = 3
    CONTROL = 4


class Slot(IntEnum):
    """Slots with their stable codes (section 2)."""

    GOAL_ID = 0
    TASK_ID = 1
    PARENT_TASK_ID = 2
    RESULT_ID = 3
    PRIORITY = 10
    SCORE = 11
    STATUS = 12
    ERROR_CODE = 13
    TAG = 20


# Section 3: framing and the order in which the header is written.
START_MARKER = "@"
END_MARKER = "#"
SEPARATOR = "|"
HEADER = (("a", "act"), ("f", "frame"), ("c", "conv_id"), ("S", "src"), ("d", "dst"), ("T", "turn"))
HEADER_PREFIXES = "afcSdT"
LEGACY_PREFIXES = "afcsdt"
"""The header of a draft before v0.1, in this order, s and t with bare digits: refused by name (look_alike)."""
MOST_DIGITS = 11
"""Digits of the first field of a candidate in a log; no 64-bit integer needs more."""
CANDIDATE = rb"@[%b][0-9A-Za-z]{1,%d}\|" % (HEADER_PREFIXES.encode(), MOST_DIGITS)
"""Regular expression of what may be a record in a log; all else is text."""
SLOT_PREFIX = {
    Slot.GOAL_ID: "g",
    Slot.TASK_ID: "k",
    Slot.PARENT_TASK_ID: "p",
    Slot.RESULT_ID: "r",
    Slot.PRIORITY: "q",
    Slot.SCORE: "s",
    Slot.STATUS: "u",
    Slot.ERROR_CODE: "e",
    Slot.TAG: "t",
}
PREFIX_SLOT = {prefix: slot for slot, prefix in SLOT_PREFIX.items()}
STRING_SLOTS = frozenset({Slot.STATUS, Slot.TAG})

# What reading can refuse; the place of a reason is its code in the core (the enum in _native/nslip/parse.h).
_REASONS = """
bad_framing empty_message empty_field unknown_prefix empty_value bad_digit too_large wrong_type unterminated_string
bad_escape junk_after_string duplicate missing_field unknown_act unknown_frame trailing_junk bad_utf8 newline_in_string
message_too_large look_alike
"""
REASONS: tuple[Reason | None, ...] = (None, *map(Reason, _REASONS.split()))

BASE62_ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
MAX_INTEGER = (1 << 64) - 1
MAX_ACT, MAX_FRAME = max(Act), max(FrameType)
"""The last codes of section 2; asking the classes anew takes a walk through them."""
SHORT_STRING = 64
"""Characters beyond which ``check`` warns: large artifacts belong in stores and are referenced by id (section 2)."""

DOUBTFUL = (len('@a0|f0|c0|S0|d0|T0|t""#') + SHORT_STRING + 1, ())
"""Bytes of the shortest record without unknown fields that ``check`` doubts: in those it finds long strings
and nothing else, since what was read can be written."""


@runtime_checkable
class ArtifactStore(Protocol):
    """Returns the artifact for an id (sections 1, 2 and 5), such as a ``dict``."""

    def __getitem__(self, number: int, /) -> object:
        """The object with this id. Raises KeyError."""


class Extra(dict[str, str]):
    """Unknown slots (and an unknown frame under "f") that ``unknown="keep"`` kept: prefix -> value as written.

    ``before`` stores how many known slots precede each unknown one, so that writing produces the same bytes.
    """

    __slots__ = ("before",)

    def __init__(self, *args: object, **kwargs: str) -> None:
        super().__init__(*args, **kwargs)
        self.before: dict[str, int] = {}

    def __reduce__(self) -> tuple[object, ...]:
        return Extra, (dict(self),), (None, {"before": dict(self.before)})
