"""The JSON scan: native and pure read the same out of anything, in one piece and in many."""

from __future__ import annotations

import json
import random
from functools import reduce
from itertools import accumulate
from operator import getitem
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import BACKENDS
from tests.log.json_engines import (
    ENGINES,
    JSON_WIRES,
    LIMIT,
    RECORDS,
    both,
    damaged_log,
    engine,
    new_plan,
    quoted,
    read,
    scanner_of,
    scanner_plans,
    tables,
)
from turnwire.contract import Column
from turnwire.json._parts_py import DAMAGED
from turnwire.json.scanner import REASONS, LineState, bits
from turnwire.log.engine.claims import empty_parts
from turnwire.nslip import spec

pytestmark = pytest.mark.once

SEEDS = st.integers(0, 1 << 40)


@pytest.mark.parametrize("wire", JSON_WIRES)
@given(seed=SEEDS)
def test_damaged_logs(wire: str, seed: int) -> None:
    chance = random.Random(seed)
    both(wire, damaged_log(chance, RECORDS[wire]))


@pytest.mark.parametrize("wire", JSON_WIRES)
@given(seed=SEEDS)
def test_pieces_of_a_log_are_the_log(wire: str, seed: int) -> None:
    chance = random.Random(seed)
    data = damaged_log(chance, RECORDS[wire])
    cuts = tuple(sorted(chance.randrange(len(data) + 1) for _ in range(chance.randrange(1, 6))))
    for backend in BACKENDS:
        whole = read(backend, wire, data)
        pieces = read(backend, wire, data, cuts=cuts)
        assert (pieces.columns["offset"], pieces.columns["inner"]) == (whole.columns["offset"], whole.columns["inner"])
        assert (pieces.columns["time"], pieces.rejects) == (whole.columns["time"], whole.rejects)


@pytest.mark.parametrize("wire", JSON_WIRES)
@given(seed=SEEDS)
def test_long_lines_are_read_piece_by_piece(wire: str, seed: int) -> None:
    """With a limit smaller than a line, both cores cut it at the same places, whole or in blocks."""
    chance = random.Random(seed)
    data = damaged_log(chance, RECORDS[wire])
    limit = chance.randrange(100, 700)
    whole = both(wire, data, limit=limit)
    pieces = both(wire, data, limit=limit, cuts=tuple(sorted(chance.randrange(len(data) + 1) for _ in range(4))))
    assert pieces.rejects == whole.rejects
    assert [pieces.columns[name] for name in ("offset", "inner", "time")] == [
        whole.columns[name] for name in ("offset", "inner", "time")
    ]


@pytest.mark.parametrize("wire", JSON_WIRES)
@given(seed=SEEDS)
def test_full_tables_lose_nothing(wire: str, seed: int) -> None:
    chance = random.Random(seed)
    data = damaged_log(chance, RECORDS[wire], most=12)
    whole = both(wire, data)
    parts = both(wire, data, rooms=(chance.randrange(6, 12), chance.randrange(8, 12)))
    assert parts == whole


REFUSED = b'{"header": {"kind": "intent"}, "payload": 2'
PIECES = {
    "g": b'{"header":{"kind":"intent","actor_id":"a","schema_id":"x","session_id":"s","logical_clock":1},'
    b'"payload":{"goal":"g"}}',
    "b": REFUSED + b"}",
    "d": b'{"a" ',
    "o": b'{"x": 1}',
    "t": REFUSED.replace(b": 2", b" 2"),
}
"""A good message, a refused one, damage, an object that is none, and damage that carries the marks of a wire."""
AROUND = {"l": b'{"all": [%b]}', "r": REFUSED + b', "x": [%b]}', "s": b'{"log": %b}'}
"""What holds others: an object, a refused message, a string."""


def line_of(form: str) -> bytes:
    """A line of ``PIECES``; those behind a letter of ``AROUND`` stand in brackets."""
    open_: list[list[bytes]] = [[]]
    letters = [""]
    for letter in form:
        if letter in PIECES:
            open_[-1].append(PIECES[letter])
        elif letter in AROUND:
            letters.append(letter)
        elif letter == "[":
            open_.append([])
        else:
            inside, kind = open_.pop(), letters.pop()
            text = quoted(b" ".join(inside)) if kind == "s" else b", ".join(inside)
            open_[-1].append(AROUND[kind] % text)
    return b" ".join(open_[0]) + b"\n"


def calls(name: str, data: bytes, room: int, reject_room: int) -> list[Any]:
    """What each call of an engine returns that has room for so many more rows and rejects, until there is no further
    one; and what was stored."""
    scanner = scanner_of("sstp")
    columns, rejects = tables(scanner, 99, 99)
    state, found = LineState(), [(0, 0, 0, 1)]
    with engine(name) as core:
        plan = new_plan(core, scanner_plans("sstp"), scanner.columns)
        while len(found) < 2 or found[-1] != found[-2]:
            rows, bad, position, line = found[-1]
            most, arguments = (rows + room, bad + reject_room), {"line": line, "limit": LIMIT, "state": state}
            found.append(
                core.scan_block(
                    plan, data, position, len(data), True, columns, rows, most[0], rejects, bad, most[1], **arguments
                )
            )
    rows, bad, *_ = found[-1]
    stored = [columns[key][:rows].tolist() for key in ("offset", "length", "inner", "place", "size")]
    stored.append(bytes(columns.get("arena", b"")))
    return [*found, stored, {key: column[:bad].tolist() for key, column in rejects.items()}]


@pytest.mark.parametrize(
    ("form", "rooms"),
    [
        ("r[r[gg]]bd", (1, 4)),
        ("s[br[gg]]g", (1, 4)),
        ("s[gg]", (1, 4)),
        ("dl[gg]", (1, 2)),
        ("bts[gbog]", (2, 1)),
        ("tr[gb]b", (5, 1)),
        ("ds[gg]g", (1, 3)),
        ("ts[gbb]", (4, 1)),
        ("dl[s[b]r[s[s[]bg]b]b]", (3, 1)),
        ("gr[ggg]", (1, 3)),
        ("br[b]g", (1, 1)),
        ("s[o]s[t]", (3, 5)),
    ],
)
def test_wherever_a_table_is_full_all_cores_stop_at_the_same_place(form: str, rooms: tuple[int, int]) -> None:
    """Inside objects, strings and refused messages, behind damage or not: what was stored of them stays or goes."""
    found = [calls(name, line_of(form), *rooms) for name in ENGINES]
    assert found == found[:1] * len(found)


@pytest.mark.parametrize("rooms", [(9, 9), (9, 0), (9, 1), (1, 9), (2, 9)])
def test_of_a_damaged_claim_texts_stay_that_a_row_points_to(rooms: tuple[int, int]) -> None:
    """Lines in it that a record does not fill are one reject with what is around them; what strings in them say is not
    kept, nor what a line says that is a record for which there was no room. There the line is read anew."""
    token = b"@a3|f0|c1|S0|d1|T1#\n"
    pieces = [line_of("s[g]") + token + line_of("s[bt]") + line_of("g"), line_of("s[g]") + token, line_of("s[b]")]
    data, cuts = b"".join(pieces), [0, *accumulate(map(len, pieces))]
    scanner = scanner_of("sstp")
    scanner = scanner._replace(columns=(*scanner.columns, Column("sender", "text", nullable=True)))
    tokens = (7, range(11), range(len(spec.REASONS)))
    arguments = (scanner_plans("sstp"), scanner.columns, *bits(scanner.columns), REASONS, tokens)
    found = []
    for name in ENGINES:
        columns, rejects = tables(scanner, 9, 9)
        state, parts = LineState(), empty_parts(3, 1)
        parts["start"][:], parts["stop"][:], parts["what"][0] = cuts[:-1], cuts[1:], DAMAGED
        parts["line"][1:] = [1 + data.count(b"\n", 0, cut) for cut in cuts[1:]]
        with engine(name) as core:
            tables_of = {"columns": columns, "rows": 0, "room": rooms[0]}
            more = {"rejects": rejects, "reject_rows": 0, "reject_room": rooms[1], "state": state, "parts": parts}
            ends = core.scan_block(core.Plan(*arguments), data, 0, len(data), True, **tables_of, **more)
        stored = [columns[key][: ends[0]].tolist() for key in ("offset", "length", "inner", "place", "size")]
        refused = {key: column[: ends[1]].tolist() for key, column in rejects.items()}
        found.append((ends, stored, bytes(columns.get("arena", b"")), refused, state.at, parts["start"].tolist()))
    assert found == found[:1] * len(found)
    assert rooms != (9, 9) or found[0][0] == (4, 3, 3, 8)


@pytest.mark.parametrize("room", [1, 2, 3])
@pytest.mark.parametrize("before", range(4))
@pytest.mark.parametrize("wire", JSON_WIRES)
def test_a_record_behind_damage_that_does_not_fit_is_given_next(wire: str, before: int, room: int) -> None:
    """In a string: it ends the damage in front of it also where there is no room for it yet."""
    good = next(text for text in RECORDS[wire] if read(BACKENDS[0], wire, text + b"\n").rows == 1)
    line = good[:-1] + b' {"log": ' + json.dumps(good.decode()).encode() + b"}\n"
    data = (good + b"\n") * before + line * 2 + good + b"\n"
    whole = both(wire, data)
    assert (whole.rows, whole.bad) == (before + 3, 2)
    assert both(wire, data, rooms=(room, 8)) == whole


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b""])
def test_damage_over_lines_is_no_longer_than_a_message_may_be(end: bytes) -> None:
    """Where the line of the fault goes on behind the limit, what follows is no part of it."""
    data = b'{"header": {"kind": "intent"},\n"payload" ' + b"xyz " * 100 + end
    for limit in range(60, 90, 7):
        found = both("sstp", data, limit=limit)
        assert (found.rows, found.rejects["offset"]) == (0, [0])
        assert found.rejects["length"] == [limit]


@pytest.mark.parametrize("wire", JSON_WIRES)
def test_one_line_with_more_than_fits(wire: str) -> None:
    """Of a list of messages in one object, as many as fit are given, then the others."""
    good = RECORDS[wire][0]
    bad = good[:-1] + b', "x": 1, "x": 2}'
    refused = {"sstp": b'{"header": {"kind": "intent"}, "payload": 2}', "sap": b'{"protocolVersion": 1, "taskId": 2}'}
    kick = '{"channel": "\u2afba/b", "id": "1"}'.encode()
    for one, rows in ((good, 40), (bad, 0), (refused.get(wire, kick), 0)):
        data = b'{"all": [%b]}\n' % b", ".join([one] * 40)
        whole = both(wire, data)
        assert whole.rows == rows
        assert whole.bad in ((0,) if rows else (1, 40))
        assert both(wire, data, rooms=(7, 7)) == whole


@pytest.mark.parametrize("wire", JSON_WIRES)
def test_words_of_one_list_where_those_of_another_should_stand(wire: str) -> None:
    """Each short text of the vectors in the place of each other one, in the middle of a block and as its last bytes."""
    records = [text for text in RECORDS[wire] if _is_object(text)]
    documents = [json.loads(text) for text in records]
    places = [(number, path) for number, document in enumerate(documents) for path in texts(document)]
    words = sorted({reduce(getitem, path, documents[number]) for number, path in places})
    words = [word for word in words if len(word) < 40 and word.isascii()]
    words += [word + "x" for word in words[::3]] + [word[:-1] for word in words[1::3]]
    chance = random.Random(wire)
    for number, path in chance.sample(places, min(len(places), 60)):
        lines = []
        for word in chance.sample(words, min(len(words), 40)):
            document = last(json.loads(records[number]), path, word)
            lines.append(json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode())
        both(wire, b"\n".join(lines))
        for line in lines[:6]:
            both(wire, line)


def texts(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The paths of all texts in a document."""
    if isinstance(value, str):
        return [path]
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [found for key, inner in pairs for found in texts(inner, (*path, key))]


def last(document: Any, path: tuple[Any, ...], word: str) -> Any:
    """The document with a word at a path, whose members are the last ones of their objects."""
    key, *rest = path
    inner = last(document[key], tuple(rest), word) if rest else word
    if isinstance(document, dict):
        del document[key]
    document[key] = inner
    return document


def _is_object(text: bytes) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except ValueError:
        return False
