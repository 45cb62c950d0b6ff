"""SSTP in logs, as data for the search: what makes an object a message, what counts as damage, its columns, and which
messages answer each other."""

from __future__ import annotations

from turnwire._lazy import Deferred
from turnwire.contract import BulkScanner, Column
from turnwire.errors import Reason
from turnwire.json.fields import Field
from turnwire.json.plan import Fill, Need, Sign, Value, Variant, WirePlan
from turnwire.json.scanner import scanner
from turnwire.pairs import AnswerPattern, Key, PairRule, Pairs
from turnwire.sstp.spec import ARTIFACT_FIELDS, HEADER, MAIN_TEXT, PAYLOADS, WIRE, Kind

_NAMES = (
    *("actor_id", "schema_id", "session_id", "logical_clock", "addressee", "directed_to", "assigned_to", "text"),
    *("provenance", "risk_score", "confidence", "uncertainty", "commit_mode", "verdict", "artifacts", "memory_type"),
)
_NUMBERS = {"logical_clock": "i64", "risk_score": "f64", "confidence": "f64", "uncertainty": "f64", "artifacts": "i64"}
COLUMNS = (
    Column("kind", "enum", names=tuple(kind.value for kind in Kind)),
    *(Column(name, _NUMBERS.get(name, "text"), nullable=name not in ("actor_id", "schema_id")) for name in _NAMES),
)
_FILLED = {column.name for column in COLUMNS} - {"kind", "directed_to"}


def _need(part: str, field: Field) -> Need:
    return Need(f"{part}/{field.name}", field.kind.scanned, field.need == "read", bad=field.kind.bad)


def _variant(kind: Kind) -> Variant:
    needs = (
        Need("header", ("object",), True, instead="origin"),
        Need("payload", ("object",), True),
        Need("header/kind", ("good",), True, bad=Reason.UNKNOWN_KIND),
        *(_need("header", field) for field in HEADER if field.name != "kind"),
        *(_need("payload", field) for field in PAYLOADS[kind]),
        *([Need("header/directed_to", ("string",))] if kind is Kind.QUERY else ()),
    )
    fills = [Fill("kind", "word", "header/kind"), Fill("text", "text", f"payload/{MAIN_TEXT[kind]}")]
    fills += [
        Fill(field.name, field.kind.fills, f"{part}/{field.name}")
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


_PLAIN = ("header", "payload", "kind", "origin", "protocol", "version", "header/directed_to", "header/protocol")
_VALUES = (
    *map(Value, _PLAIN),
    Value("header/kind", "word", tuple(kind.value for kind in Kind)),
    *(Value(f"header/{field.name}") for field in HEADER if field.name != "kind"),
    *map(Value, dict.fromkeys(f"payload/{field.name}" for fields in PAYLOADS.values() for field in fields)),
    *(Value(f"payload/artifacts/*/{name}", text=name != "value") for name in ARTIFACT_FIELDS),
)
_MARKS = ("actor_id", "schema_id", "logical_clock")
_FOREIGN = {"question", "content", "task", "decision", "scope", "claim", "artifacts", "verdict", "summary", "goal"}
_FOREIGN |= {"confidence", "uncertainty", "constraints", "assumptions"}
_SSTP_ONLY = frozenset(field.name for fields in PAYLOADS.values() for field in fields) - _FOREIGN
"""Names in payloads that other protocols hardly have."""
_KIND_VALUES = tuple(f'{kind.value}"' for kind in Kind)
_FLAT = (Sign(("header",), 0, most=0), Sign(("origin",), values=("{",)))
_CLAIMED = (
    (Sign(tuple(f"header/{name}" for name in _MARKS), 2),),
    (Sign(("header/schema_id",), values=("ioc.",)),),
    (Sign(("header/protocol",), values=('sstp"', 'l9"'), cased=False),),
    (Sign(("payload",)), Sign(("header/kind",), values=_KIND_VALUES)),
    (Sign(("header",)), Sign(tuple(f"payload/{name}" for name in sorted(_SSTP_ONLY)), 2)),
    (*_FLAT, Sign(("kind",), values=_KIND_VALUES)),
    (*_FLAT, Sign(("protocol", "version"), values=("sstp",), cased=False)),
)
"""An object that ``decode`` refuses is a damaged message, not a foreign object: its header has two of actor_id,
schema_id and logical_clock, or a schema_id of SSTP, or a kind of SSTP while there is a payload; or its payload has two
names that only SSTP has; or it is of a dialect that shares the name. Any other object with a header and a payload
belongs to another protocol."""
SIGNS = (
    (Sign(_MARKS, 2),),
    (Sign(("header",)), Sign(("kind",), values=_KIND_VALUES)),
    (Sign(("origin",)), Sign(("protocol", "version"), values=("SSTP",), cased=False)),
)
"""Damaged bytes were a message: two of the keys actor_id, schema_id and logical_clock are in them; or a header and a
kind of SSTP; or a dialect's name beside an origin."""


_DECODE = Deferred("turnwire.sstp.codec", "decode")
PLAN = WirePlan(
    wire=WIRE,
    values=_VALUES,
    variants=tuple(_variant(kind) for kind in Kind),
    choose="word",
    word="header/kind",
    detect=Deferred("turnwire.sstp.codec", "detect"),
    decode=_DECODE,
    claimed=_CLAIMED,
    signs=SIGNS,
    clues=(("header",), ("kind", "origin")),
    inside=("header", "origin"),
    torn=("header", "origin", *_MARKS),
    doubts=(("header/protocol", "header/protocol"), ("header/directed_to", "payload/directed_to")),
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
PAIRS = Pairs(
    (
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
)
