"""Messages in JSON strings, as all writers of JSON put them: in arrays, alone, many, and damage among them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

import turnwire
from tests.conftest import raised
from tests.log.engines import GOOD
from tests.log.found import everything, fed, in_pieces
from tests.log.mixed_logs import GOOD_JSON
from turnwire import DecodeError, Decoder, Scan, scan

pytestmark = pytest.mark.usefixtures("scan_core")
SSTP = next(record for record in GOOD_JSON if record.startswith(b'{"header"'))
BAD = {"nslip": "@a3|f0 bad", "sstp": SSTP.decode()[:-9]}


def wrapped(*texts: str) -> bytes:
    return json.dumps({"log": "\n".join(texts)}).encode()


def collect(found: Scan, rows: list[int]) -> None:
    for batch in found:
        rows += batch["offset"].tolist()


@pytest.mark.parametrize(("wire", "kind"), [(None, "nslip"), (None, "sstp"), ("sstp", "sstp")])
@pytest.mark.parametrize("before", [0, 1, 3])
def test_records_in_front_of_the_first_fault_are_given(wire: str | None, kind: str, before: int) -> None:
    """Of the same string those before it, and none after it."""
    good = {"nslip": GOOD, "sstp": SSTP}[kind].decode()
    line = wrapped(*[good] * before, BAD[kind], good, good)
    data = (good + "\n").encode() * 2 + line + b"\n" + good.encode() + b"\n"
    found = scan(data, wire=wire, errors="raise")
    rows: list[int] = []
    caught = raised(DecodeError, collect, found, rows)
    everywhere = everything(scan(data, wire=wire))
    assert rows == everywhere[0]["offset"][: 2 + before]
    assert caught.offset == everywhere[1][0]["fault"]
    assert found.counts.wires[kind] == 2 + before
    assert len(found.rejects) == 1


@pytest.mark.parametrize("wire", [None, "nslip"])
def test_any_number_of_records_in_one_string(wire: str | None) -> None:
    """More than the first guess has room for, the whole input being one string."""
    record = '@a1|f0|c1|S2|d3|T4|t"a \\"q\\" é"#'
    for count, ways in ((300, 3), (1500, 1)):
        inside = json.dumps({"a": f"{record}\n" * count})
        for data in (inside, json.dumps([inside]), f"INFO x\n{inside}\n")[:ways]:
            found = scan(data.encode(), wire=wire)
            assert sum(map(len, found)) == count and not len(found.rejects)


@pytest.mark.parametrize("depth", [0, 1])
def test_each_line_of_a_container_keeps_its_rejects(depth: int) -> None:
    line = {"log": BAD["nslip"] + "\n", "stream": "stdout"}
    for _ in range(depth):
        line = {"log": json.dumps(line) + "\n", "stream": "stdout"}
    assert len(found((json.dumps(line) + "\n").encode() * 700)) == 700
    many = {"log": (json.dumps({"msg": BAD["nslip"] + "\n"}) + "\n") * 700}
    assert len(found(json.dumps(many).encode())) == 512  # of one string no more are kept


RECORD = "@a3|f0|c1|S0|d1|T1#"
MESSAGE = "CSP/1\nFROM A\nTO B\nCTX C0\nINTENT MEM\n\nMEM M1\nKEY x\n"

TEXTS = [
    *(RECORD, f"x {RECORD} {RECORD}", "@a3|f0|c1|S0|d", f"@a3|f0|c|{RECORD}", '@a3|f0|c1|S0|d1|T1|t"a \\"b"#'),
    *(MESSAGE, "CSP/1 MODE;A\nSTATUS ok", "CSP/1;A", "CSP/1\nFROM A", "plain", "", "\\", '{"a": 1', "a, b: [c]"),
    *(GOOD_JSON[0].decode(), json.dumps({"log": RECORD}), json.dumps([RECORD])),
]

Found = list[tuple[Any, ...]]


def found(data: bytes, shift: int = 0, **options: Any) -> Found:
    """(offset - shift, inner, wire, reason) of the records and rejects."""
    scan = turnwire.scan(data, **options)
    met: Found = [(one.offset - shift, one.inner, one.wire, None) for one in scan.messages()]
    met += [(row["offset"] - shift, row["inner"], row["wire"], row["reason"]) for row in scan.rejects.rows()]
    return sorted(met, key=lambda one: (one[0], -1 if one[1] is None else one[1]))


values = st.recursive(
    st.one_of(st.sampled_from(TEXTS), st.sampled_from([None, True, -1.5e3, 7])),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4), st.dictionaries(st.sampled_from(["a", "b", "log"]), inner, max_size=3)
    ),
    max_leaves=8,
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(values, max_size=5), st.booleans(), st.sampled_from([None, 40, 7]), st.sampled_from(["", "\n", "\r\n"]))
def test_an_array_has_what_it_has_in_an_object(value: list[Any], plain: bool, size: int | None, end: str) -> None:
    line = json.dumps(value, ensure_ascii=plain) + end
    text = line.removesuffix(end) if end else line
    within = f'{{"all":{text}}}{end}'.encode()
    data = line.encode()
    options = {} if size is None else {"batch_bytes": size}
    expected = found(within, len('{"all":'))
    assert found(data, **options) == expected
    for wire in ("nslip", "csp"):
        assert found(data, wire=wire, **options) == [one for one in expected if one[2] == wire]
    good, bad = fed(Decoder(), in_pieces(data, 11))
    records = sum(one[3] is None for one in expected)
    assert (len(good), len(bad)) == (records, len(expected) - records)


@pytest.mark.parametrize(
    "number", [1, 10**17, 10**18 - 1, 10**18, 2**63 - 2, 2**63 - 1, 2**63, 10**19 - 1, 10**19, 2**64, 10**30]
)
def test_a_whole_number_is_in_its_column_where_64_bits_hold_it(number: int) -> None:
    header = {"kind": "knowledge", "actor_id": "a", "schema_id": "ioc.knowledge.v0", "logical_clock": number}
    text = json.dumps({"header": header, "payload": {"content": "x"}})
    (batch,) = turnwire.scan(text.encode(), wire="sstp")
    assert batch.valid("logical_clock").tolist() == batch.valid("sequence").tolist() == [number < 2**63]
    assert number >= 2**63 or batch["logical_clock"][0] == batch["sequence"][0] == number
