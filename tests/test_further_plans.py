"""Plans of a JSON wire that turnwire does not bring, and which are refused before a core goes by them."""

from __future__ import annotations

import json
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

pytestmark = pytest.mark.usefixtures("registering")

STATES = ("open", "shut")


class Ticket(NamedTuple):
    """A message of the toy wire: its number says which conversation it belongs to."""

    number: int
    state: str
    text: str


def detect(data: Any) -> bool:
    """True if it may be a ticket."""
    return b'"ticket"' in bytes(data.encode() if isinstance(data, str) else data)


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
    detect=detect,
    decode=decode,
    claims=lambda fields: "ticket" in fields,
    marked=lambda raw: b'"ticket"' in raw,
    clues=(("ticket",),),
    inside=("ticket",),
    torn=("ticket",),
)


def made(
    plan: WirePlan = PLAN, columns: tuple[Column, ...] = COLUMNS, common: Any = COMMON, name: str = "ticket"
) -> Wire:
    """The wire, with another plan and name."""
    given = {"check": lambda _: [], "prompt": str}
    bulk = scanner((plan,), columns, decode=decode, common=common)
    more = {"detect": detect, "decode": decode, "encode": encode, "message": Ticket, "plan": plan, "bulk": bulk}
    return Wire(name, title="Tickets", package=__name__, style=OBJECT, **given, **more)


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
    ],
)
def test_a_fill_fits_its_column(plan: WirePlan, columns: tuple[Column, ...], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        made(plan, columns, {"kind": ("column", columns[0].name)})


def test_what_fills_a_common_column_fits_it_too() -> None:
    with pytest.raises(ValueError, match="there is no column nowhere, from which sender comes"):
        made(common={**COMMON, "sender": ("column", "nowhere")})
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
