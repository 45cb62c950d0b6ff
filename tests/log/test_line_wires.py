"""CSP/1 in the strings of JSON: what the core makes of what a line wire claims there."""

from __future__ import annotations

import json
import random
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.log import over_lines
from tests.log.engines import GOOD
from tests.log.json_engines import ENGINES, LIMIT, Read, engine, quoted, tables
from tests.log.mixed_logs import csp_message
from turnwire import WIRES
from turnwire.json.scanner import LineState
from turnwire.log.engine.all_wires import finder
from turnwire.log.engine.claims import ShortTexts, StringClaims

pytestmark = pytest.mark.once

CSP = WIRES.index("csp")
MESSAGE = csp_message(random.Random(3)).rstrip(b"\n")
TORN = b"CSP/1\nFROM A\nTO B\nCTX C0\nINTENT RESULT\n\nRESULT T1\nSTATUS MAYBE\n"


def read(text: bytes) -> Any:
    """What the wires of lines claim of a string."""
    found = finder()
    return found.claims(text, ShortTexts(found.csp))


def scan(name: str, data: bytes, claims: Any, cuts: tuple[int, ...] = (), limit: int = LIMIT) -> Read:
    """All of ``data`` by one engine, all wires but the lines of CSP/1 outside of strings."""
    with engine(name) as core:
        plan = core.Plan(*finder()._plan_arguments, lines=((CSP, (b"CSP/1", b"CSP\\/1")),))
        room = len(data) + 1
        columns, rejects = tables(finder().scanner, room, room)
        columns["depth"] = columns["wire"].copy()
        rows = bad = position = 0
        line, state = 1, LineState()
        for size in (*cuts, len(data)):
            rows, bad, position, line = core.scan_block(
                plan, data, position, size, size == len(data), columns, rows, room, rejects, bad, room,
                line=line, limit=limit, state=state, claims=claims,
            )  # fmt: skip
        assert position == len(data)
        return Read(columns, rows, rejects, bad, line)


def all_cores(data: bytes) -> Read:
    found = {name: scan(name, data, read) for name in ENGINES}
    first = found[ENGINES[0]]
    found["asked"] = scan(ENGINES[0], data, StringClaims(finder()))
    for name, other in found.items():
        assert other == first, (name, data)
    return first


def raw(data: bytes, found: Read) -> list[bytes]:
    """The records, as their text says them."""
    text = data + found.arena
    places = zip(found.columns["place"], found.columns["size"], strict=True)
    return [text[place : place + size] for place, size in places]


@pytest.mark.parametrize("wrap", ['{"a": %s}', '{"a": %s x', "so: %s", 'so: {"a" %s'])
@pytest.mark.parametrize(
    "inside", [MESSAGE.decode(), '@a3|f0|c1|S0|d1|T1|t"x"#', '{"header": {"kind": "intent"}, "payload": 2}']
)
def test_strings_in_strings_are_followed_as_deep_by_all_cores(wrap: str, inside: str) -> None:
    """Of good objects, of damage and of text."""
    text, met = wrap.replace("%s", json.dumps(inside)), []
    for _ in range(9):
        found = all_cores(text.encode() + b"\n")
        met.append(found.rows + found.bad > 0)
        text = wrap.replace("%s", json.dumps(text))
    assert any(met) or inside.startswith("{")  # which is not looked for in damage


def test_a_line_that_is_claimed_in_a_string_may_begin_with_its_time() -> None:
    """As that of any record there."""
    line = b"2026-11-22T07:00:00Z CSP/1 x"
    data = b'{"log": "so:\\n%b\\n", "time": "2025-01-01T00:00:00Z"}\n' % line
    for name in ENGINES:
        found = scan(name, data, lambda text: [(4, len(text), 1, CSP, 0, 0)])
        assert raw(data, found) == [line + b"\n"], name
        assert np.datetime64(int(found.columns["time"][0]), "us") == np.datetime64("2026-11-22T07:00:00"), name


@pytest.mark.parametrize(
    "wrap",
    [
        b'{"log": %b, "n": 1}\n',
        b'{"a": [1,\n%b\n]}',
        b'[\n  "x",\n  %b\n]\n',
        b'  "userMessage": %b,\n',
        b'{"header": "damaged" %b\n',
    ],
)
@pytest.mark.parametrize("levels", [1, 2, 3])
def test_a_message_in_a_string(wrap: bytes, levels: int) -> None:
    text = b"said:\n" + MESSAGE + b"\n```\n" + GOOD + b"\n"
    for _ in range(levels - 1):
        text = b'{"m": %b}' % quoted(text)
    data = b"first\n" + wrap % quoted(text)
    found = all_cores(data)
    assert [one.rstrip(b"\n") for one in raw(data, found)] == [MESSAGE, GOOD]
    assert (found.columns["wire"], found.columns["depth"]) == ([CSP, 0], [levels] * 2)
    assert found.columns["line"] == [1 + data.count(b"\n", 0, at) for at in found.columns["offset"]]
    assert data[found.columns["offset"][0] :].startswith(b'"')
    assert found.rejects["offset"] == []
    if levels == 1:
        assert found.columns["inner"][0] == len(b"said:\n")


def test_a_slash_may_be_escaped() -> None:
    data = b'{"log": %b}\n' % quoted(MESSAGE).replace(b"/", b"\\/")
    assert [one.rstrip(b"\n") for one in raw(data, all_cores(data))] == [MESSAGE]


def test_damage_and_what_is_content() -> None:
    data = b'{"log": %b}\n' % quoted(b"x\n" + TORN + GOOD + b"\n")
    found = all_cores(data)
    assert [WIRES[code] for code in found.rejects["wire"]] == ["csp"]
    assert (found.rejects["inner"], found.columns["depth"]) == ([2], [1])
    message = json.loads(over_lines.RECORDS["sstp"][0])
    message["payload"]["goal"] = MESSAGE.decode()
    data = json.dumps(message).encode() + b"\n" + GOOD
    assert all_cores(data).columns["depth"] == [0, 0]
    assert all_cores(b"CSP/1\nand CSP/1 \\ x").rows == 0


def test_what_the_callback_raises() -> None:
    def fails(text: bytes) -> Any:
        raise KeyError(text)

    for name in ENGINES:
        with pytest.raises(KeyError):
            scan(name, b'{"log": "CSP/1"}', fails)
        with pytest.raises(ValueError, match="claims must be in order"):
            scan(name, b'{"log": "CSP/1"}', lambda text: [(3, 9, 1, CSP, 0, 0)])
        assert scan(name, b'{"log": "CSP/1"}', None).rows == 0


def test_a_record_of_nslip_that_the_limit_cuts() -> None:
    line = b'@a3|f0|c1|S0|d1|T1|t"so \\"it\\\\ is\\" x"# and {} @a3|f0|c1|S0|d1|T1#\n'
    for limit in range(15, len(line) + 2):
        found = [scan(name, line + GOOD, None, limit=limit) for name in ENGINES]
        assert all(one == found[0] for one in found), limit


class Counted(StringClaims):
    """Keeps the sizes of the strings about which it is called."""

    def __init__(self) -> None:
        super().__init__(finder())
        self.sizes: list[int] = []

    def __call__(self, text: bytes) -> Any:
        self.sizes.append(len(text))
        return super().__call__(text)


@pytest.mark.skipif(ENGINES[0] == "pure", reason="what is plain Python is called")
@pytest.mark.parametrize(
    ("text", "called"),
    [
        (MESSAGE + b"\n", False),
        ((MESSAGE + b"\n") * 64, False),
        ((MESSAGE + b"\n") * 65, True),
        (TORN * 64, False),
        (TORN * 65, True),
        ((MESSAGE + b"\n" + TORN) * 32, False),
        ((TORN + MESSAGE + b"\n") * 32 + MESSAGE, True),
        ((b"x" * (1 << 16) + b"\n" + MESSAGE)[-(1 << 16) :], False),
        ((b"x" * (1 << 16) + b"\n" + MESSAGE)[-(1 << 16) - 1 :], True),
        (b"CSP/1\n", False),
        (b"CSP/1", False),
    ],
)
def test_short_strings_are_asked_about_without_a_call(text: bytes, called: bool) -> None:
    data, claims = b'{"log": %b}\n' % quoted(text), Counted()
    found = scan(ENGINES[0], data, claims)
    assert found == scan(ENGINES[0], data, read)
    assert claims.sizes == [len(text)] * called
    assert claims.found == (found.rows + found.bad > 0) == (len(text) > 6)


@given(seed=st.integers(0, 1 << 40))
def test_both_cores_agree(seed: int) -> None:
    chance = random.Random(seed)
    parts = []
    for _ in range(chance.randrange(1, 5)):
        pieces = [csp_message(chance), TORN, GOOD, chance.choice(over_lines.ALL), b"CSP/1", b"CSP/1 x\n", b"text\n"]
        text = chance.choice((b"", b"\n", b"x")).join(chance.choice(pieces) for _ in range(chance.randrange(1, 4)))
        for _ in range(chance.randrange(3)):
            text = b'{"m": %b}' % quoted(text)
        parts.append(chance.choice((b'{"log": %b}', b"[\n%b\n]", b'{"a": %b,\n', b"%b", b'{"b" %b')) % quoted(text))
        parts.append(chance.choice((b"\n", b" ", b"", b"\r\n")))
    data = bytearray(b"".join(parts))
    for _ in range(chance.randrange(3)):
        data[chance.randrange(len(data))] = chance.choice(b'"\\{}\n,')
    whole = all_cores(bytes(data))
    cuts = tuple(sorted(chance.randrange(len(data) + 1) for _ in range(chance.randrange(1, 5))))
    for name in (ENGINES[0], "pure"):
        pieces = scan(name, bytes(data), read, cuts)
        assert (pieces.columns["offset"], pieces.rejects) == (whole.columns["offset"], whole.rejects)
