"""SSTP in logs, as data for the search: what makes an object a message, what counts as damage, its columns, and which
messages answer each other."""

from __future__ import annotations

from typing import Any

from turnwire._lazy import Deferred
from turnwire.contract import BulkScanner, Column
from turnwire.json.plan import Ask, Fill, Need, Sign, Value, Variant, WirePlan
from turnwire.json.scanner import scanner
from turnwire.pairs import AnswerPattern, Key, PairRule
from turnwire.sstp.spec import ARTIFACT_FIELDS, HEADER, MAIN_TEXT, PAYLOADS, TYPES, WIRE, Field, Kind

_NAMES = tuple(Kind)

COLUMNS = (
    Column("kind", "enum", names=tuple(kind.value for kind in Kind)),
    Column("actor_id", "text"),
    Column("schema_id", "text"),
    Column("session_id", "text", nullable=True),
    Column("logical_clock", "i64", nullable=True),
    Column("addressee", "text", nullable=True),
    Column("directed_to", "text", nullable=True),
    Column("assigned_to", "text", nullable=True),
    Column("text", "text", nullable=True),
    Column("provenance", "text", nullable=True),
    Column("risk_score", "f64", nullable=True),
    Column("confidence", "f64", nullable=True),
    Column("uncertainty", "f64", nullable=True),
    Column("commit_mode", "text", nullable=True),
    Column("verdict", "text", nullable=True),
    Column("artifacts", "i64", nullable=True),
    Column("memory_type", "text", nullable=True),
)

_FILLED = {column.name for column in COLUMNS} - {"kind", "directed_to"}


def _need(part: str, field: Field) -> Need:
    return Need(f"{part}/{field.name}", TYPES[field.type].scanned, field.need == "read")


def _variant(kind: Kind) -> Variant:
    header = [_need("header", field) for field in HEADER if field.name != "kind"]
    payload = [_need("payload", field) for field in PAYLOADS[kind]]
    needs = (
        Need("header", ("object",), True),
        Need("payload", ("object",), True),
        Need("header/kind", ("good",), True),
        Need("header/directed_to", ("string",)),
        *header,
        *payload,
    )
    fills = [Fill("kind", "word", "header/kind"), Fill("text", "text", f"payload/{MAIN_TEXT[kind]}")]
    fills += [
        Fill(field.name, TYPES[field.type].fills, f"{part}/{field.name}")
        for part, fields in (("header", HEADER), ("payload", PAYLOADS[kind]))
        for field in fields
        if field.name in _FILLED
    ]
    if kind is Kind.DELEGATION:
        fills.append(Fill("addressee", "text", "payload/assigned_to"))
    if kind is Kind.QUERY:
        fills += [
            Fill(name, "text", "payload/directed_to", "header/directed_to") for name in ("directed_to", "addressee")
        ]
    return Variant(kind.value, needs, tuple(fills))


def _values() -> tuple[Value, ...]:
    payload = dict.fromkeys(f"payload/{field.name}" for fields in PAYLOADS.values() for field in fields)
    return (
        Value("header"),
        Value("payload"),
        Value("kind"),
        Value("origin"),
        Value("protocol"),
        Value("version"),
        Value("header/kind", "word", tuple(kind.value for kind in Kind)),
        *(Value(f"header/{field.name}") for field in HEADER if field.name != "kind"),
        Value("header/directed_to"),
        Value("header/protocol"),
        *(Value(path) for path in payload),
        *(Value(f"payload/artifacts/*/{name}", text=name != "value") for name in ARTIFACT_FIELDS),
    )


_MARKS = ("actor_id", "schema_id", "logical_clock")
_KIND_WORDS = frozenset(kind.value for kind in Kind)
_FOREIGN = {"question", "content", "task", "decision", "scope", "claim", "artifacts", "verdict", "summary", "goal"}
_FOREIGN |= {"confidence", "uncertainty", "constraints", "assumptions"}
_SSTP_ONLY = frozenset(field.name for fields in PAYLOADS.values() for field in fields) - _FOREIGN
"""Names in payloads that other protocols hardly have."""
_DIALECTS = ("sstp", "l9")


def claims(fields: dict[str, Any]) -> bool:
    """True if a JSON object that ``decode`` refuses is a damaged SSTP message (a reject), not a foreign object.

    So it is if its header has two of actor_id, schema_id and logical_clock, or a schema_id of SSTP, or a kind of SSTP
    while there is a payload; if its payload has two names that only SSTP has; or if it is of a dialect that shares the
    name. Any other object with a header and a payload belongs to another protocol.
    """
    header, payload = fields.get("header"), fields.get("payload")
    if isinstance(header, dict):
        marks = sum(name in header for name in _MARKS)
        schema, protocol = header.get("schema_id"), header.get("protocol")
        if marks >= 2 or (isinstance(schema, str) and schema.startswith("ioc.")):
            return True
        if isinstance(protocol, str) and protocol.casefold() in _DIALECTS:
            return True
        if "payload" in fields and _is_kind(header.get("kind")):
            return True
    if "header" in fields:
        return isinstance(payload, dict) and len(_SSTP_ONLY & payload.keys()) >= 2
    return isinstance(fields.get("origin"), dict) and (_is_kind(fields.get("kind")) or _names_dialect(fields))


def _is_kind(kind: Any) -> bool:
    return isinstance(kind, str) and kind in _KIND_WORDS


def _names_dialect(fields: dict[str, Any]) -> bool:
    names = (fields.get("protocol"), fields.get("version"))
    return any(isinstance(name, str) and name.casefold().startswith("sstp") for name in names)


SIGNS = (
    (Sign(_MARKS, 2),),
    (Sign(("header",)), Sign(("kind",), values=tuple(f'{kind}"' for kind in _KIND_WORDS))),
    (Sign(("origin",)), Sign(("protocol", "version"), values=("SSTP",), cased=False)),
)
"""Damaged bytes were a message: two of the keys actor_id, schema_id and logical_clock are in them; or a header and a
kind of SSTP; or a dialect's name beside an origin."""


def variant_of(fields: dict[str, Any]) -> int:
    """The number of a message's kind."""
    return _NAMES.index(fields["header"]["kind"])


_DECODE = Deferred("turnwire.sstp.codec", "decode")
PLAN = WirePlan(
    wire=WIRE,
    values=_values(),
    variants=tuple(_variant(kind) for kind in Kind),
    choose="word",
    word="header/kind",
    detect=Deferred("turnwire.sstp.codec", "detect"),
    decode=_DECODE,
    claims=claims,
    signs=SIGNS,
    variant_of=variant_of,
    clues=(("header",), ("kind", "origin")),
    inside=("header", "origin"),
    torn=("header", "origin", *_MARKS),
    doubts=(("header/protocol", "header/protocol"), ("header/directed_to", "payload/directed_to")),
    asks=(
        Ask("header/schema_id", opening="ioc."),
        *(Ask(path) for path in ("header/protocol", "protocol", "version", "kind")),
    ),
)

SCANNER: BulkScanner = scanner(
    (PLAN,),
    COLUMNS,
    decode=_DECODE,
    fault=Deferred("turnwire.sstp.codec", "fault"),
    common={
        "kind": ("column", "kind"),
        "sender": ("column", "actor_id"),
        "receiver": ("column", "addressee"),
        "conversation": ("column", "session_id"),
        "sequence": ("column", "logical_clock"),
        "subject": ("column", "text"),
    },
)


_TO = tuple(Key((session, "folded receiver"), needs=("receiver",)) for session in ("conversation", None))
_FROM = Key(("conversation", "folded sender"))
_TO_NOBODY = tuple(Key((session,), without=("receiver",)) for session in ("conversation", None))
_KNOWLEDGE = frozenset({"knowledge"})
PAIRS = (
    PairRule(
        "query",
        frozenset({"query"}),
        (
            AnswerPattern(_KNOWLEDGE, _TO, _FROM),
            AnswerPattern(_KNOWLEDGE, _TO_NOBODY, Key(("conversation",)), others=True),
        ),
    ),
    PairRule(
        "delegation",
        frozenset({"delegation"}),
        (AnswerPattern(frozenset(kind.value for kind in Kind), _TO, _FROM),),
        progress=frozenset({"evidence_bundle"}),
    ),
)
