"""JSON wires that share names with those that turnwire brings: kinds, keys, words of one key."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import turnwire
from tests.cli.running import turnwire as run
from tests.log.conftest import scan_core  # noqa: F401  (a fixture)
from turnwire import DecodeError, Reason
from turnwire.contract import LIMITS, OBJECT, Column, Limits, Wire
from turnwire.json import text as json_text
from turnwire.json.plan import Fill, Need, Value, Variant, WirePlan
from turnwire.json.scanner import scanner

VECTORS = Path(__file__).parent / "vectors"
KINDS = ("Command", "query", "wink", "Task", "Alert")
STATES = ("QUEUED", "half")
FIELDS = ("type", "status", "id", "taskId", "sender")


class Sign(NamedTuple):
    """A message whose kinds are called as those of KickLang, SSTP and SAP, and whose keys are theirs, too."""

    type: str
    status: str | None
    id: str
    taskId: str
    sender: str


def detect(data: Any) -> bool:
    """True if it may be a sign."""
    return b'"sign"' in bytes(data.encode() if isinstance(data, str) else data)


def decode(data: Any, *, limits: Limits = LIMITS) -> Sign:
    """A sign. Raises DecodeError."""
    fields = json_text.read_object(data, "sign", limits=limits)
    if fields.get("type") not in KINDS:
        raise DecodeError(Reason.UNKNOWN_KEY, "a sign is of a kind", offset=1, line=1, wire="sign")
    if fields.get("status", "half") not in STATES or fields.get("id") == "no":
        raise DecodeError(Reason.MISSING_FIELD, "a sign has no such state, or no id", offset=2, line=1, wire="sign")
    return Sign(fields["type"], fields.get("status"), *(str(fields.get(name)) for name in FIELDS[2:]))


PLAN = WirePlan(
    wire="sign",
    values=(
        Value("type", "word", KINDS),
        Value("status", "word", STATES),
        Value("id"),
        Value("taskId", "time"),
        Value("sender"),
        Value("sign"),
    ),
    variants=tuple(
        Variant(
            kind,
            (
                Need("type", ("good",), True, (kind,)),
                Need("status", ("good",)),
                Need("id", ("count",), True),
                Need("taskId", ("good",)),
                Need("sign", ("boolean",), True),
            ),
            (Fill("type", "word", "type"), Fill("status", "word", "status"), Fill("sender", "text", "sender")),
        )
        for kind in KINDS
    ),
    choose="word",
    word="type",
    detect=detect,
    decode=decode,
    claims=lambda fields: "sign" in fields,
    marked=lambda raw: b'"sign"' in raw,
    clues=(("sign",),),
    inside=("sign",),
    torn=("sign",),
)
COLUMNS = (
    Column("type", "enum", names=KINDS),
    Column("status", "enum", nullable=True, names=STATES),
    Column("sender", "text", nullable=True),
)
SIGN = Wire(
    "sign",
    title="Signs",
    package=__name__,
    style=OBJECT,
    detect=detect,
    decode=decode,
    encode=lambda message, strict=True: json.dumps({"sign": True, **message._asdict()}),
    message=Sign,
    check=lambda message: [],
    prompt=str,
    plan=PLAN,
    bulk=scanner((PLAN,), COLUMNS, decode=decode, common={"kind": ("column", "type"), "sender": ("column", "sender")}),
)


@pytest.fixture(autouse=True)
def _registered(registering: None) -> None:
    turnwire.register(SIGN)


def upstream(name: str, most: int) -> list[str]:
    """Good messages of a wire out of the vectors, each on one line."""
    rows = (json.loads(line) for line in (VECTORS / f"{name}.jsonl").read_text("utf-8").splitlines())
    texts = (row.get("text") for row in rows)
    found = []
    for text in texts:
        if isinstance(text, str) and "\n" not in text.strip() and turnwire.detect(text) == name:
            try:
                turnwire.decode(text)
            except DecodeError:
                continue
            found.append(text.strip())
    return found[:most]


def kinds_of(found: Any) -> list[tuple[str, str]]:
    """(wire, kind) of each record of a scan."""
    result = []
    for batch in found:
        result += zip(batch["wire"], batch["kind"], strict=True)
    return result


SIGNS = [
    {"sign": True, "type": kind, "status": status, "id": 3 + number, "sender": f"s{number}"}
    for number, (kind, status) in enumerate(zip(KINDS, ("QUEUED", "half", "QUEUED", "half", "QUEUED"), strict=True))
]
SIGNS += [{**SIGNS[0], "taskId": "2026-01-02T03:04:05Z", "id": number} for number in range(40)]
BAD = [{**SIGNS[0], "type": "Info"}, {**SIGNS[1], "status": "SUCCEEDED"}, *({**SIGNS[1], "id": "no"} for _ in range(3))]
FINE = [{**SIGNS[1], "id": text} for text in ("yes", "maybe", "no way")]


@pytest.mark.usefixtures("scan_core")
def test_kinds_of_one_name() -> None:
    others = {name: upstream(name, 12) for name in ("sstp", "sap", "kick")}
    assert all(others.values())
    lines = [json.dumps(sign) for sign in SIGNS]
    mixed = [text for name in others for text in others[name]]
    both = [line for pair in zip(lines, mixed * 9, strict=False) for line in pair]
    found = turnwire.scan("\n".join([*both, *map(json.dumps, BAD), *map(json.dumps, FINE)]).encode())
    told = kinds_of(found)
    signs = [kind for wire, kind in told if wire == "sign"]
    assert signs == [*(sign["type"] for sign in SIGNS), *(sign["type"] for sign in FINE)]
    assert [(row["wire"], row["reason"]) for row in found.rejects.rows()] == [
        ("sign", "unknown_key"),
        *[("sign", "missing_field")] * 4,
    ]
    plain = turnwire.scan("\n".join(mixed).encode())
    expected = set(kinds_of(plain))
    assert {pair for pair in told if pair[0] != "sign"} == expected


def test_where_and_commands_take_a_shared_kind() -> None:
    data = "\n".join([*map(json.dumps, SIGNS), *upstream("kick", 5), *upstream("sap", 5)]).encode()
    found = turnwire.scan(data, where={"kind": "Task"})
    assert {one.wire for one in found.messages()} == {"sign", "sap"}
    for command in (["validate", "-"], ["stats", "-"], ["scan", "-"]):
        done = run(*command, stdin=data)
        assert done.code == 0 and "Traceback" not in done.err, done.err
