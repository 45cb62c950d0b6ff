"""CSP/1 as data: intents, blocks, keys, enums, reasons of the scanner, the shape of its tables.

Headings in brackets are those of the specification ([MESSAGE FORMAT], [INTENT TYPES], ...).
"""

from __future__ import annotations

from enum import StrEnum

from turnwire.errors import Reason

WIRE = "csp"
MAGIC = "CSP/1"


class Intent(StrEnum):
    """The purpose of a message [MESSAGE FORMAT]; a closed set."""

    PLAN = "PLAN"
    TASK = "TASK"
    RESULT = "RESULT"
    ERROR = "ERROR"
    QUERY = "QUERY"
    PATCH = "PATCH"
    FILE = "FILE"
    MEM = "MEM"


class Status(StrEnum):
    """STATUS of a RESULT [INTENT TYPES]."""

    OK = "OK"
    PARTIAL = "PARTIAL"
    FAIL = "FAIL"


class Priority(StrEnum):
    """PRIORITY of a TASK [INTENT TYPES]."""

    P1 = "P1"
    P2 = "P2"
    P3 = "P3"


HEADERS = ("FROM", "TO", "CTX", "INTENT")
MISSING_HEADER = (Reason.MISSING_FROM, Reason.MISSING_TO, Reason.MISSING_CTX, Reason.MISSING_INTENT)
INTENTS = tuple(intent.value for intent in Intent)
"""Names of the intents in the order of their codes: code 0 is PLAN, 7 is MEM."""

BLOCK_WORD = {intent: "FILEOP" if intent == "FILE" else intent for intent in INTENTS}
"""Intent -> first word of its block; only FILE differs (reading 1)."""
INTENT_ALIAS = "FILEOP"

ID_LETTER = {"TASK": "T", "RESULT": "T", "ERROR": "E", "PATCH": "P", "FILEOP": "F"}
"""Block word -> letter its id starts with; blocks that are not listed take any token."""

FIELDS: dict[str, tuple[str, ...]] = {
    "TASK": ("REQ", "IN", "OUT", "OWNER", "PRIORITY"),
    "RESULT": ("STATUS", "PRODUCED", "DATA"),
    "ERROR": ("AT", "CAUSE", "NEXT"),
    "FILEOP": ("PATH", "BASE", "CONTENT"),
}
"""Block word -> its keys in the order in which they are written; other blocks take any key."""

REQUIRED: dict[str, dict[str, Reason]] = {
    "TASK": {"REQ": Reason.MISSING_REQ},
    "RESULT": {"STATUS": Reason.MISSING_STATUS},
    "ERROR": {"AT": Reason.MISSING_AT, "CAUSE": Reason.MISSING_CAUSE},
    "FILEOP": {"PATH": Reason.MISSING_PATH},
}
ENUMS = {"STATUS": tuple(Status), "PRIORITY": tuple(Priority)}
"""Keys of known blocks whose value is one of a closed set."""
FILE_OPS = ("CREATE", "PATCH", "DELETE")
"""Operations :meth:`FileOp.apply` knows; the word itself is an open set."""

LOOK_ALIKE_KEYS = ("STATUS", "SCOPE", "READ_RECS", "POSITION", "RESOLUTION", "DEBATE")
"""Lines that betray the Compact Symbol Protocol, which opens with the same line (reading 9)."""
LOOK_ALIKE_TITLE = "Compact Symbol Protocol"

MIN_HEREDOC = 3

# --- rows: what the cores say of a record ----------------------------------------------------------------------------

TEMPLATE, PREAMBLE, FENCE = 8, 9, 10
"""Codes of rows that are not messages; 0..7 are the intents."""

ROW_WIDTH = 24
"""int32 columns of a row: offset, length, line (0-based, counted from the first byte given), code, then spans
(offset, length; length -1 where absent) of FROM, TO, CTX, block id, five slots, and the lines of BULK_LINES.

The slots are the keys of FIELDS in their order; a PATCH has BASE and APPLY, a FILEOP has its operation fourth.
A template has the slot 0: its flags. Spans are offsets into the buffer that was given.

Beside it a generic block has an extra for each field, a PATCH one for each operation: sign (0 for a field, else
``+ ~ -`` as a byte), key offset, key length, value offset, value length (-1 where absent)."""

BULK_KINDS = (*INTENTS, "TEMPLATE")
"""Names of the records of a bulk scan by their code in a row."""
BULK_TEXTS = (
    *("from", "to", "ctx", "id", "req", "in", "out", "owner", "produced", "data", "at", "cause", "next"),
    *("base", "apply", "ops", "op", "path", "content", "flags", "body"),
)
"""Text columns of a bulk scan; the place of each is its bit in ``present``, the enums follow."""
BULK_ENUMS = {"status": tuple(Status), "priority": tuple(Priority)}
BULK_SLOTS: dict[str, tuple[str, ...]] = {
    **{intent: tuple(key.lower() for key in FIELDS.get(BLOCK_WORD[intent], ())) for intent in INTENTS},
    "PATCH": ("base", "apply"),
    "FILE": ("path", "base", "content", "op"),
    "TEMPLATE": ("flags",),
}
"""Kind -> the columns of its row's slots, in order."""
BULK_LINES = {**dict.fromkeys(("PLAN", "QUERY", "MEM", "TEMPLATE"), "body"), "PATCH": "ops"}
"""Kind -> the column that holds its lines as written, without the last line end: operations of a PATCH, fields of a
generic block, what follows the first line of a template."""

BULK_SPANS: dict[str, tuple[str | None, ...]] = {
    kind: (
        *((None,) * 4 if kind == "TEMPLATE" else ("from", "to", "ctx", "id")),
        *slots,
        *(None,) * (5 - len(slots)),
        BULK_LINES.get(kind),
    )
    for kind, slots in BULK_SLOTS.items()
}
"""Kind -> the columns whose spans are in a row from its fifth number on: the header, the id, five slots, and the lines
of BULK_LINES."""
BULK_WORK = {"TASK": ("id", None), "RESULT": ("id", "status"), "ERROR": ("at", None)}
"""Kind -> the columns that name its task and say how that stands (``contract.WORK``)."""

_REASONS = """
junk bad_magic look_alike missing_from missing_to missing_ctx missing_intent header_order dup_header
bad_header_value bad_header_line bad_intent intent_alias no_body block_mismatch bad_id missing_op bad_op
op_mismatch missing_req missing_status missing_at missing_cause missing_path missing_base missing_apply bad_base
bad_apply bad_enum unknown_key dup_field stray_line trailing_text unclosed_heredoc heredoc_expected bad_utf8
message_too_large too_many_fields key_too_long
"""
REASONS = tuple(Reason(name) for name in _REASONS.split())
"""Reasons for which a scanner rejects, by code; in an order that both cores share."""
