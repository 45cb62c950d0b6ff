"""The two cores of the search of logs find the same in each block: records, rejects, columns, the state behind it."""

from __future__ import annotations

import json
import random
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tests.conftest import THINNED, rounds
from tests.golden.logs import log
from tests.log.test_matrix import BAD, GOOD
from tests.log.test_search import CARRIERS, PRETTY
from turnwire.log import _search_py as pure
from turnwire.log.engine.all_wires import finder
from turnwire.log.engine.columns import table_dtypes
from turnwire.log.search.state import SearchState

pytestmark = pytest.mark.once
native = pytest.importorskip("turnwire._native.log.search")
TEXTS = ("sender", "receiver", "conversation", "subject")
PLACES = dict.fromkeys(("line", "inner", "time"), "i8")
DTYPES = {f"{name}.{part}": "i8" for name in TEXTS for part in ("offset", "length")} | PLACES
DTYPES |= {"kind": "u1", "sequence": "i8"}
LIMIT = 1 << 24


def placed(arrays: dict[str, Any], base: int) -> dict[str, Any]:
    """The same with the columns that are left out where all records stand in the file."""
    nothing = np.zeros(len(arrays["offset"]), np.uint8)
    there = {"place": arrays["offset"] - base, "size": arrays["length"], "inner": nothing, "depth": nothing}
    return {**there, **arrays}


def searched(search: Any, data: bytes, cuts: list[int], limit: int = LIMIT) -> list[Any]:
    """Rows and rejects of each block of an input that is read up to these places; texts instead of their places."""
    state, start, line, blocks_said, own = SearchState(), 0, 1, [], 0
    for end in [*cuts, len(data)]:
        block = SimpleNamespace(data=memoryview(data[start:end]), size=end - start, base=start)
        final = end == len(data)
        said = search(finder(), block, final, line, state, False, limit, DTYPES)
        arrays, count, tables, position, line = said
        buffer = data[start:end] + arrays.pop("arena", b"")
        arrays = placed(arrays, start)
        rows = [{name: array[row].item() for name, array in arrays.items()} for row in range(count)]
        for row in rows:
            row["place"] = buffer[row["place"] : row["place"] + row["size"]]
            for name in TEXTS:
                offset = row.pop(f"{name}.offset")
                row[name] = buffer[offset : offset + row.pop(f"{name}.length")]
        rejects = [
            {name: array[row].item() for name, array in table.items()} for table, size in tables for row in range(size)
        ]
        own += sum(one["own_bytes"] for one in rows + rejects)
        blocks_said.append((rows, rejects, position, line, state.kept()))
        start += position
    assert own <= len(data)  # no byte belongs to two
    return blocks_said


@pytest.mark.parametrize("first", range(0, 50_000, 2_500))
def test_cores_agree_on_logs(first: int) -> None:
    for number in range(first, first + rounds(10)):
        data, chance = log(number).data, random.Random(number)
        cuts = sorted(chance.randrange(len(data) + 1) for _ in range(chance.randrange(4))) if data else []
        assert searched(native.searched, data, cuts) == searched(pure.searched, data, cuts), number


ORDINARY = [
    ".",
    "a line of text {",
    "```",
    "```json",
    "~~~",
    "<<<",
    ">>>",
    '{"stream": true, "n": [1]}',
    '{"log": "x", "stream": "stderr"}',
    "2026-01-02 10:00:00 INFO CSP/1",
    "  CSP/1",
    "CSP/1; STRICT",
    "FROM A",
    '["a", "b {x}"]',
    "\ufeffCSP/1",
    '"sender": "A"}',
    "}",
    "\u2af0 a",
    "# \u2afb head",
]


TORN = [
    b'"',
    b"}",
    b"[",
    b",",
    b":",
    b"\\",
    b"\\u12",
    b"\\ud800",
    b"\\udc00x",
    b"\xff",
    b"\xed\xa0\x80",
    b"\xe2\x82",
    b"\x01",
    b"NaN",
    b"-Infinity",
    b"-",
    b"01",
    b"1.",
    b"1e",
    b"1e999",
    b"tru",
    b"+",
    b"1" * 5000,
    b'"kind":1,',
    b'"kind":1,"kind":2,',
    b"@",
    b"\xef\xbb\xbf",
    b"CSP/1",
    b"<<<",
    b"\n",
    b"```",
]


def torn(text: bytes, chance: random.Random) -> bytes:
    """A text with something more or less in it, or a part of it."""
    at, behind = sorted(chance.choices(range(len(text) + 1), k=2))
    pieces = (
        text[:at] + chance.choice(TORN) + text[at:],
        text[:at] + text[behind:],
        text[at:],
        text[:at],
        text[:at] + b"\n",
    )
    return chance.choice(pieces)


def carried(chance: random.Random) -> bytes:
    """A log of messages and ordinary lines, in carriers in carriers, some of each damaged or cut, interleaved."""
    texts = [*GOOD.values(), *BAD.values(), *PRETTY.values(), *ORDINARY]
    pieces = []
    for _ in range(chance.randrange(1, 5)):
        text = chance.choice(texts) if chance.random() < 0.8 else chance.choice(ORDINARY)
        while chance.random() < 0.3:
            text = torn(text.encode(), chance).decode(errors="replace") or "."
        text += chance.choice(["", "\n", "\n\n"]) + (chance.choice(ORDINARY) if chance.random() < 0.3 else "")
        for _ in range(chance.choice([0, 1, 1, 1, 2, 2, 3])):
            text = CARRIERS[chance.choice(list(CARRIERS))](text or ".").removesuffix("\n" * chance.randrange(2))
            if chance.random() < 0.1:
                text = torn(text.encode(errors="surrogatepass"), chance).decode(errors="replace")
        pieces.append(text)
    if chance.random() < 0.3:  # services whose lines are interleaved
        left = [
            [f"{'ab'[number % 2]}-{number} | {line}" for line in one.split("\n")] for number, one in enumerate(pieces)
        ]
        mixed = []
        while left := [one for one in left if one]:
            mixed.append(chance.choice(left).pop(0))
        pieces = mixed
    return "\n".join(pieces).encode("utf-8", "surrogatepass")[: chance.choice([-1, None])]


@pytest.mark.parametrize("first", range(0, 2_000, 100))
def test_cores_agree_in_carriers(first: int) -> None:
    for number in range(first, first + rounds(8)):
        chance = random.Random(number)
        data = carried(chance)
        cuts = sorted(chance.randrange(len(data) + 1) for _ in range(chance.randrange(4))) if data else []
        assert searched(native.searched, data, cuts) == searched(pure.searched, data, cuts), number


def owned(search: Any, wire: str, data: bytes, cut: int) -> list[Any]:
    """The own columns of a wire's records in both parts of an input."""
    found, state, start, records = finder(wire), SearchState(), 0, []
    scanner = found.scanner
    dtypes = table_dtypes(scanner, scanner.columns)
    dtypes = {"own_present": dtypes.pop("present"), **dtypes, **PLACES}
    texts = [column.name for column in scanner.columns if column.kind == "text"]
    asked = {*dtypes, *(f"{name}.{part}" for name in texts for part in ("offset", "length")), "time", "inner"} - {
        "place"
    }
    for end in (cut, len(data)):
        block = SimpleNamespace(data=memoryview(data[start:end]), size=end - start, base=start)
        arrays, count, _, position, _ = search(found, block, end == len(data), 1, state, True, LIMIT, dtypes)
        buffer = data[start:end] + arrays.pop("arena", b"")
        arrays = placed(arrays, start)
        mine = arrays["wire"][:count] == found.code
        arrays = {name: array[:count][mine] for name, array in arrays.items()}
        if scanner.packed is not None:
            rows = arrays.pop(scanner.packed.array)
            for name in texts:
                arrays[f"{name}.offset"], arrays[f"{name}.length"] = scanner.packed.spans(rows, name)
        for row in range(len(arrays["wire"])):
            values = {name: array[row].item() for name, array in arrays.items() if name in asked}
            for name in texts:
                offset = values.pop(f"{name}.offset")
                values[name] = buffer[offset : offset + values.pop(f"{name}.length")]
            records.append(values)
        start += position
    return records


@pytest.mark.parametrize("wire", ["nslip", "csp"])
@pytest.mark.parametrize("first", range(0, 50_000, 5_000))
def test_cores_agree_on_a_wires_own_columns(wire: str, first: int) -> None:
    for number in range(first, first + rounds(8)):
        data = log(number).data
        cut = random.Random(number).randrange(len(data) + 1)
        assert owned(native.searched, wire, data, cut) == owned(pure.searched, wire, data, cut), number


@pytest.mark.parametrize("wire", ["nslip", "csp"])
def test_own_columns_in_strings_and_streams(wire: str) -> None:
    messages = {
        "nslip": b'@aA|f2|c9|S1|d2|T3|k1|pS|r2|qA|u"o\\"k"|t"tag"#\n@T3|d2|S1|c9|f1|a0|g5#\n'
        b"@a0|f0|c1|S1|d1|TLygHa16AHYF#\n",
        "csp": b"CSP/1\nFROM A\nTO B\nCTX C0\nINTENT TASK\n\nTASK T1\nREQ x\nPRIORITY P1\n\n"
        b"CSP/1\nFROM B\nTO A\nCTX C0\nINTENT RESULT\n\nRESULT T1\nSTATUS PARTIAL\nDATA\n<<<\nmany\n>>>\n\n",
    }
    said = messages[wire]
    time = "2026-01-02T10:00:01.1Z"
    carried = b"".join(f"{time} stdout F ".encode() + line + b"\n" for line in said.splitlines())
    docker = b"".join(
        json.dumps({"log": line.decode(), "stream": "stdout", "time": time}).encode() + b"\n"
        for line in said.splitlines(keepends=True)
    )
    data = b"text\n".join([said * 40, json.dumps({"msg": said.decode()}).encode() + b"\n", carried, docker, said])
    records = owned(native.searched, wire, data, 100)
    assert records == owned(pure.searched, wire, data, 100)
    assert len(records) == 44 * (3 if wire == "nslip" else 2)


@pytest.mark.parametrize("number", [0, 4, 8, 26])
def test_cores_agree_on_each_cut(number: int) -> None:
    data = log(number).data[:700]
    for cut in range(number % 3, len(data), 3 * THINNED):
        assert searched(native.searched, data, [cut]) == searched(pure.searched, data, [cut]), cut


@pytest.mark.parametrize("limit", [64, 200, 1000])
def test_cores_agree_on_what_is_too_large(limit: int) -> None:
    for number in range(rounds(15)):
        data = log(number).data
        assert searched(native.searched, data, [], limit) == searched(pure.searched, data, [], limit), number


def test_columns_grow_with_the_rows() -> None:
    record = b'@aA|f2|c9|S1|d2|T3|k1|pS|r2|qA|t"tag"#'
    data = b"".join(record + ending for ending in (b"\n", b" ", b"\n{}\n", b"{\n") for _ in range(1500))
    assert searched(native.searched, data, [70_000]) == searched(pure.searched, data, [70_000])


def test_own_bytes_are_the_length_where_all_stands_together() -> None:
    block = SimpleNamespace(data=b"@a0|f0|c1|S1|d2|T3#\n", size=20, base=0)
    columns, *_ = native.searched(finder(), block, True, 1, SearchState(), False, LIMIT, {})
    assert columns["own_bytes"].tolist() == columns["length"].tolist() == [19]


TEARABLE = [
    b'{"header":{"kind":"query","actor_id":"a","schema_id":"ioc.query.v0","logical_clock":1,"session_id":"s"},'
    b'"payload":{"question":"why\\n\xc3\xa4?","required_fields":["x"],"uncertainty":0.5}}\n',
    b'{"protocolVersion":"2.0","taskId":"7fbb32b6-0d2c-4c1a-9b75-2a4b3b0b6c0a","constitutionalContext":{"a":[1,null]},'
    b'"issuedAt":"2026-01-01T10:00:00Z","issuer":{"agentId":"A"}}\n',
    b'{"id":"x","timestamp":"2026-11-22T07:00:32Z","sender":"WePlan","type":"Command","receiver":"Orchestrator",'
    b'"channel":"\xe2\xab\xbbcommand/x","content":"\xe2\xab\xbba/b\\ntext"}\n',
    b'{"messageId":"m","correlationId":null,"status":"ACK"}\n',
    b"CSP/1\nFROM A\nTO B\nCTX C0\nINTENT RESULT\n\nRESULT T1\nSTATUS OK\nDATA\n<<<\nmany\n>>>\n\n",
]


@pytest.mark.parametrize("seed", range(20))
def test_cores_agree_on_what_is_torn(seed: int) -> None:
    chance = random.Random(seed)
    for _ in range(rounds(15)):
        data = b"".join(torn(text, chance) for text in chance.choices(TEARABLE, k=3))
        assert searched(native.searched, data, []) == searched(pure.searched, data, []), data
