"""JSON wires that turnwire does not bring: one with the kinds, keys and words of others; and plans, of which some are
refused before a core goes by them."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

import pytest

import turnwire
from tests import vectors
from tests.cli.running import turnwire as run
from tests.log.conftest import scan_core  # noqa: F401  (a fixture)
from tests.log.found import everything
from turnwire import DecodeError, Reason
from turnwire.contract import LIMITS, OBJECT, Column, Limits, Wire
from turnwire.json import text as json_text
from turnwire.json.plan import Fill, Need, Value, Variant, WirePlan
from turnwire.json.scanner import scanner

pytestmark = pytest.mark.usefixtures("registering")


def named(key: str) -> Any:
    """Tells by a key whether a text may be a message."""
    return lambda data: f'"{key}"'.encode() in bytes(data.encode() if isinstance(data, str) else data)


def found_by(key: str) -> dict[str, Any]:
    """The parts of a plan by which messages are found that have this key alone."""
    marks = {"claims": lambda fields: key in fields, "marked": named(key)}
    return {"detect": named(key), **marks, "clues": ((key,),), "inside": (key,), "torn": (key,)}


KINDS = ("Command", "query", "wink", "Task", "Alert")
SIGN_STATES = ("QUEUED", "half")
SIGN_FIELDS = ("type", "status", "id", "taskId", "sender")


class Sign(NamedTuple):
    """A message whose kinds are called as those of KickLang, SSTP and SAP, and whose keys are theirs, too."""

    type: str
    status: str | None
    id: str
    taskId: str
    sender: str


def sign_of(data: Any, *, limits: Limits = LIMITS) -> Sign:
    """A sign. Raises DecodeError."""
    fields = json_text.read_object(data, "sign", limits=limits)
    if fields.get("type") not in KINDS:
        raise DecodeError(Reason.UNKNOWN_KEY, "a sign is of a kind", offset=1, line=1, wire="sign")
    if fields.get("status", "half") not in SIGN_STATES or fields.get("id") == "no":
        raise DecodeError(Reason.MISSING_FIELD, "a sign has no such state, or no id", offset=2, line=1, wire="sign")
    return Sign(fields["type"], fields.get("status"), *(str(fields.get(name)) for name in SIGN_FIELDS[2:]))


SIGN_PLAN = WirePlan(
    wire="sign",
    values=(
        Value("type", "word", KINDS),
        Value("status", "word", SIGN_STATES),
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
    decode=sign_of,
    **found_by("sign"),
)
SIGN_COLUMNS = (
    Column("type", "enum", names=KINDS),
    Column("status", "enum", nullable=True, names=SIGN_STATES),
    Column("sender", "text", nullable=True),
)
SIGN = Wire(
    "sign",
    title="Signs",
    package=__name__,
    style=OBJECT,
    detect=named("sign"),
    decode=sign_of,
    encode=lambda message, strict=True: json.dumps({"sign": True, **message._asdict()}),
    message=Sign,
    check=lambda message: [],
    prompt=str,
    scanner=scanner(
        (SIGN_PLAN,), SIGN_COLUMNS, decode=sign_of, common={"kind": ("column", "type"), "sender": ("column", "sender")}
    ),
)


def upstream(name: str, most: int) -> list[str]:
    """Good messages of a wire out of the vectors, each on one line."""
    texts = (case.get("text") for case in vectors.load(name))
    return [text.strip() for text in texts if isinstance(text, str) and is_line_of(name, text)][:most]


def is_line_of(name: str, text: str) -> bool:
    try:
        return "\n" not in text.strip() and turnwire.detect(text) == name and bool(turnwire.decode(text))
    except DecodeError:
        return False


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
    turnwire.register(SIGN)
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
    turnwire.register(SIGN)
    data = "\n".join([*map(json.dumps, SIGNS), *upstream("kick", 5), *upstream("sap", 5)]).encode()
    found = turnwire.scan(data, where={"kind": "Task"})
    assert {one.wire for one in found.messages()} == {"sign", "sap"}
    for command in (["validate", "-"], ["stats", "-"], ["scan", "-"]):
        done = run(*command, stdin=data)
        assert done.code == 0 and "Traceback" not in done.err, done.err


# --- plans ---

STATES = ("open", "shut")


class Ticket(NamedTuple):
    """A message of the toy wire: its number says which conversation it belongs to."""

    number: int
    state: str
    text: str


def decode(data: Any, *, limits: Limits = LIMITS) -> Ticket:
    """A ticket. Raises DecodeError."""
    fields = json_text.read_object(data, "ticket", limits=limits)
    ticket = Ticket(fields.get("ticket"), fields.get("state"), fields.get("text"))  # type: ignore[arg-type]
    if type(ticket.number) is not int or ticket.state not in STATES or not isinstance(ticket.text, str):
        raise DecodeError(Reason.MISSING_FIELD, "a ticket has a number, a state and a text", offset=0, line=1)
    return ticket


def encode(message: Ticket, strict: bool = True) -> str:
    """Its text."""
    return json.dumps({"ticket": message.number, "state": message.state, "text": message.text})


NEEDS = (Need("ticket", ("count", "negative"), True), Need("state", ("good",), True), Need("text", ("string",), True))
FILLS = (Fill("state", "word", "state"), Fill("number", "integer", "ticket"), Fill("text", "text", "text"))
COLUMNS = (Column("state", "enum", names=STATES), Column("number", "i64"), Column("text", "text"))
COMMON = {"kind": ("column", "state"), "conversation": ("number", "number"), "subject": ("column", "text")}
PLAN = WirePlan(
    wire="ticket",
    values=(Value("ticket"), Value("state", "word", STATES), Value("text")),
    variants=(Variant("ticket", NEEDS, FILLS),),
    choose="only",
    decode=decode,
    **found_by("ticket"),
)


def made(
    plan: WirePlan = PLAN, columns: tuple[Column, ...] = COLUMNS, common: Any = COMMON, name: str = "ticket"
) -> Wire:
    """The wire, with another plan and name."""
    given = {"detect": named("ticket"), "decode": decode, "encode": encode, "check": lambda _: [], "prompt": str}
    found = scanner((plan,), columns, decode=decode, common=common)
    return Wire(name, title=name, package=__name__, style=OBJECT, message=Ticket, scanner=found, **given)


TICKETS = [Ticket(7, "open", "a"), Ticket(-12, "shut", 'b"'), Ticket((1 << 63) - 1, "open", ""), Ticket(0, "open", "c")]
LOG = "".join(f"{encode(ticket)}\n" for ticket in TICKETS) + "no ticket\n"


@pytest.mark.parametrize("wire", [None, "ticket"])
def test_a_number_may_be_the_conversation(wire: str | None) -> None:
    turnwire.register(made())
    [batch] = turnwire.scan(LOG.encode(), wire=wire)
    assert list(batch["conversation"]) == ["7", "-12", str((1 << 63) - 1), "0"]
    assert list(batch["subject"]) == ["a", 'b"', "", "c"]
    inside = json.dumps({"log": LOG}).encode()
    assert [list(one["conversation"])[1] for one in turnwire.scan(inside, wire=wire)] == ["-12"]
    kept = turnwire.scan(LOG.encode(), wire=wire, where={"conversation": "-12"})
    assert [found.message for found in kept.messages()] == [TICKETS[1]]


@pytest.mark.parametrize("more", [(), (Column("call_id", "text"),)])
def test_a_wire_may_have_tools_of_its_own(more: tuple[Column, ...]) -> None:
    plan = with_fills(*PLAN.variants[0].fills, Fill("tool", "text", "text"))
    turnwire.register(made(plan, (*COLUMNS, Column("tool", "text"), *more), name="other"))
    for wanted in ("a", {"a", "d"}):
        [batch] = turnwire.scan(LOG.encode(), wire="other", where={"tool": wanted})
        assert list(batch["tool"]) == ["a"]


def with_fills(*fills: Fill) -> WirePlan:
    """The plan with other fills."""
    return PLAN._replace(variants=(Variant("ticket", NEEDS, fills),))


@pytest.mark.parametrize(
    ("plan", "columns", "words"),
    [
        (with_fills(Fill("text", "integer", "ticket")), COLUMNS, "'integer' of 'ticket' cannot fill the column text"),
        (with_fills(Fill("number", "text", "text")), COLUMNS, "allowed are integer, numeral, count, sections"),
        (with_fills(Fill("number", "integer", "ticket")), (Column("number", "u64"),), "nothing can"),
        (with_fills(Fill("state", "word", "state")), (Column("state", "enum", names=("open",)),), "1 names, not 2"),
        (with_fills(Fill("stat", "word", "state")), COLUMNS, "column stat,"),
        (with_fills(Fill("text", "text", "txt")), COLUMNS, "'txt' is no path of its values"),
        (PLAN._replace(variants=(Variant("ticket", (Need("ticket", ("int",)),), ()),)), COLUMNS, "'int' is no type"),
        (PLAN._replace(variants=(Variant("ticket", (Need("tick", ("string",)),), ()),)), COLUMNS, "'tick' is no path"),
    ],
)
def test_a_fill_fits_its_column(plan: WirePlan, columns: tuple[Column, ...], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        made(plan, columns, {"kind": ("column", columns[0].name)})


ESCAPED_TIME = "".join(f"\\u{ord(letter):04x}" for letter in "2024-01-01T00:00:00Z")
BY_FORM = {
    "digits": "text",
    "integer": "i64",
    "truth": "bool",
    "numeral": "i64",
    "epoch": "timestamp",
    "time": "timestamp",
}
WRITTEN = [
    ("1", "1.0", (None, 1, None, None, None, None)),
    ("1.0", "1", ("1", 1, True, None, None, None)),
    ("1", '"01"', (None, None, None, 1, None, None)),
    ("-0", "0.0", (None, 0, None, None, None, None)),
    ("9007199254740992.0", "9007199254740993.0", (None, 9007199254740993, None, None, 9007199254740993, None)),
    ('"1704067200"', '"\\u003704067200"', (None, None, None, None, None, None)),
    ('"\\u003704067200"', '"1704067200"', (None, None, None, 1704067200, 1704067200000000, None)),
    ('"2024-01-01T00:00:00Z"', f'"{ESCAPED_TIME}"', (None, None, None, None, None, None)),
    (f'"{ESCAPED_TIME}"', '"2024-01-01T00:00:00Z"', (None, None, None, None, None, 1704067200000000)),
]
"""A value that says the same as the next one, in other words; that one, and what columns hold of it."""


@pytest.mark.usefixtures("scan_core")
def test_a_value_is_read_as_it_is_written_at_its_own_place() -> None:
    plan = with_fills(*PLAN.variants[0].fills, *(Fill(how, how, "at") for how in BY_FORM))
    columns = (*COLUMNS, *(Column(how, kind, nullable=True) for how, kind in BY_FORM.items()))
    turnwire.register(made(plan._replace(values=(*PLAN.values, Value("at"))), columns, name="other"))
    lines = [f'{{"ticket":1,"state":"open","text":"","like":{like},"at":{at}}}' for like, at, _ in WRITTEN]
    cells, _, _ = everything(turnwire.scan("\n".join(lines).encode(), wire="other"))
    assert list(zip(*(cells[how] for how in BY_FORM), strict=True)) == [expected for *_, expected in WRITTEN]


def test_what_fills_a_common_column_fits_it_too() -> None:
    with pytest.raises(ValueError, match="there is no column nowhere, from which sender comes"):
        made(common={**COMMON, "sender": ("column", "nowhere")})
    with pytest.raises(ValueError, match="the common column time is filled by"):
        made(common={**COMMON, "time": ("column", "number")})
    turnwire.register(made(common={**COMMON, "sender": ("column", "number")}, name="other"))
    with pytest.raises(ValueError, match="other: 'integer' of 'ticket' cannot fill the column sender of kind text"):
        list(turnwire.scan(LOG.encode()))


def test_a_fault_in_a_string_is_explained() -> None:
    turnwire.register(made())
    log = json.dumps({"log": json.dumps({"log": 'so:\n{"ticket":1,"state":"ajar","text":""}'})}).encode()
    told = "a ticket has a number, a state and a text"
    assert [fault.text for fault in turnwire.scan(log).errors()] == [told]
    done = run("validate", "-", stdin=log)
    assert told in done.out.decode()


@pytest.mark.usefixtures("scan_core")
def test_a_json_wire_without_a_kind_has_its_name_as_kind() -> None:
    turnwire.register(made(common={"subject": ("column", "text")}))
    data = b'{"ticket":3,"state":"shut","text":"x"}\n@a3|f0|c1|S0|d1|T1#\n{"ticket":3,"state":1,"text":"x"}\n'
    found = turnwire.scan(data)
    [batch] = found
    assert batch["kind"].tolist() == ["ticket", "REQUEST"]
    assert list(batch["subject"]) == ["x", None]
    assert [one["wire"] for one in found.rejects.rows()] == ["ticket"]
