"""A wire that turnwire does not bring may have documents, as KickLang has: whole texts from a header line on."""

from __future__ import annotations

import pytest

import turnwire
from tests.leaf_wire import DESCRIPTOR, Leaf, Sheet
from tests.log.conftest import scan_core  # noqa: F401  (a fixture)
from turnwire.kick import Space
from turnwire.read.located import located

SHEET = "%% oak\nacorn %ada: inside% @a3|f0|c3|S0|d1|T1#\n"
SPACE = "⫻oak/tree:a/1\n%% content\nmore\n"
NSLIP = "@a3|f0|c3|S0|d1|T1#\n"
LEAF = "%ada: hello%\n"


@pytest.fixture(autouse=True)
def _registered(registering: None) -> None:
    turnwire.register(DESCRIPTOR)


def found(text: str, **options: object) -> list[tuple[str, int, int]]:
    """(wire, offset, length) of each record, wherever it is asked for."""
    data = text.encode()
    every = turnwire.scan(data, **options)  # type: ignore[arg-type]
    places = [(one.wire, one.offset, one.length) for one in every.messages()]
    assert [(one.wire, one.offset, one.length) for one in located(data, **options)] == places + [  # type: ignore[arg-type]
        (row["wire"], row["offset"], row["length"]) for row in every.rejects.rows()
    ]
    for wire in turnwire.WIRES:
        one = turnwire.scan(data, wire=wire, **options)  # type: ignore[arg-type]
        assert [(each.wire, each.offset, each.length) for each in one.messages()] == [
            place for place in places if place[0] == wire
        ], wire
        assert one.rejects.rows() == [row for row in every.rejects.rows() if row["wire"] == wire]
    for size, threads in ((1, 1), (40, 1), (40, 2)):
        small = turnwire.scan(data, batch_bytes=size, threads=threads, **options)  # type: ignore[arg-type]
        assert [(each.wire, each.offset, each.length) for each in small.messages()] == places
    return places


@pytest.mark.usefixtures("scan_core")
def test_where_they_stand() -> None:
    assert found(SHEET) == [("leaf", 0, len(SHEET))]
    assert found(f"prose\n{SHEET}") == [("leaf", 6, len(SHEET))]
    assert found("prose\n" * 9 + f"%% oak\n{NSLIP}") == [("leaf", 54, 27)]
    assert [wire for wire, *_ in found(f"{NSLIP}{SHEET}")] == ["nslip", "leaf", "nslip"]
    fenced = f"```\n{SHEET}```\n{LEAF}~~~\n{SHEET}~~~\n"
    assert [length for _, _, length in found(fenced)] == [len(SHEET), len(LEAF) - 1, len(SHEET)]
    assert [wire for wire, *_ in found(fenced, fences=True)] == ["leaf", "nslip", "leaf", "leaf", "nslip"]
    assert found(SPACE) == [("kick", 0, len(SPACE.encode()))]
    assert found(f"{SHEET}{SPACE}") == [("leaf", 0, len(f"{SHEET}{SPACE}".encode()))]
    both = f"~~~\n{SPACE}~~~\n```\n{SHEET}```\n"
    assert [wire for wire, *_ in found(both)] == ["kick", "leaf"]
    assert [wire for wire, *_ in found(f"%% 7\n{LEAF}")] == ["leaf"]


@pytest.mark.usefixtures("scan_core")
def test_what_they_say() -> None:
    [message] = [one.message for one in turnwire.scan(SHEET.encode()).messages()]
    assert message == Sheet("oak", ("acorn %ada: inside% @a3|f0|c3|S0|d1|T1#",))
    mixed = f"~~~\n{SPACE}~~~\n```\n{SHEET}```\n{LEAF}{NSLIP}".encode()
    [batch] = turnwire.scan(mixed)
    assert batch["kind"].tolist() == ["document", "sheet", "leaf", "REQUEST"]
    assert list(batch["subject"]) == ["⫻oak/tree:a/1", "oak", "hello", None]
    [own] = turnwire.scan(mixed, wire="leaf")
    assert (list(own["text"]), list(own["sender"])) == (["oak", "hello"], [None, "ada"])
    kinds = [type(one.message) for one in turnwire.scan(mixed).messages()]
    assert kinds[:3] == [Space, Sheet, Leaf]


@pytest.mark.usefixtures("scan_core")
def test_damaged_ones_are_rejects() -> None:
    torn = turnwire.scan(f"{SHEET}torn\n".encode())
    assert not list(torn.messages())
    assert [(row["wire"], row["reason"], row["offset"]) for row in torn.rejects.rows()] == [("leaf", "bad_framing", 0)]
    small = turnwire.scan((SHEET * 9).encode(), limits=turnwire.LIMITS._replace(message=60))
    list(small)
    assert small.rejects.rows()[0]["reason"] == "message_too_large"
