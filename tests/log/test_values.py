"""Lines that are arrays and strings of JSON: what stands in a string ends with it, as in objects."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import turnwire
from tests.log.mixed_logs import GOOD_JSON
from turnwire import DecodeError, Decoder

pytestmark = pytest.mark.usefixtures("scan_core")

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
    decoder, good, bad = Decoder(), 0, 0
    for piece in [*(data[at : at + 11] for at in range(0, len(data), 11)), *[None] * 40]:
        try:
            good += len(decoder.close() if piece is None else decoder.feed(piece))
        except DecodeError:
            bad += 1
    assert (good, bad) == (sum(one[3] is None for one in expected), sum(one[3] is not None for one in expected))


@pytest.mark.parametrize("text", TEXTS)
def test_a_string_alone(text: str) -> None:
    line = json.dumps(text)
    expected = found(f'{{"all":{line}}}'.encode(), len('{"all":'))
    for front, behind in (
        ("", ""),
        (" \t", "\r\n"),
        ("\t ", "\n"),
        ("\ufeff", "\n"),
        ("[\n  ", ",\n"),
        (f"{RECORD}\n", "\n"),
    ):
        data = f"{front}{line}{behind}".encode()
        before = found(front.encode())
        assert found(data) == before + [(one[0] + len(front.encode()), *one[1:]) for one in expected]


WORDS = ["0", "-7", "1.5", "1e5", "1E5", "1e+5", "1E-5", "-1.5e-3", "-1.5E+30", "true", "false", "null"]


@pytest.mark.parametrize("word", WORDS)
def test_a_number_or_a_word_beside_a_string(word: str) -> None:
    for text in (f'[{word},"{RECORD}"]', f'["{RECORD}" , {word}]', f'[{word}, [ {word} ], {{"a": "{RECORD}"}}]'):
        expected = found(f'{{"all":{text}}}'.encode(), len('{"all":'))
        assert [one[1:] for one in expected] == [(0, "nslip", None)]
        assert found(text.encode()) == expected


@pytest.mark.parametrize(
    "line",
    [
        f'["a" {RECORD}',
        f'"Hi," she said: {RECORD}',
        f'[2026-05-04 10:00:00] "x" {RECORD}',
        f'[INFO] "{RECORD}"',
        f'"x" "{RECORD}"',
        f'["x", {RECORD}] X',
        f'["x {RECORD} y"] X',
        f'["x", y, "{RECORD}"]',
        f'["x", 1x, "{RECORD}"]',
        f'["{RECORD}',
        f'[, "{RECORD}"]',
    ],
)
def test_what_is_no_value_is_text(line: str) -> None:
    assert found(line.encode()) == [(line.encode().index(b"@"), None, "nslip", None)]


def test_an_array_of_many_records_that_do_not_fit_at_once() -> None:
    line = json.dumps([RECORD, "@a3|f0|c1|S0|d", {"a": RECORD}] * 1000).encode()
    met = found(line + b"\n" + RECORD.encode())
    assert [one[3] for one in met] == [None, "bad_framing", None] * 1000 + [None]
    assert all(one[1] == 0 for one in met[:-1]) and met[-1][1] is None


@pytest.mark.usefixtures("scan_core")
@pytest.mark.parametrize(
    "number", [1, 10**17, 10**18 - 1, 10**18, 2**63 - 2, 2**63 - 1, 2**63, 10**19 - 1, 10**19, 2**64, 10**30]
)
def test_a_whole_number_is_in_its_column_where_64_bits_hold_it(number: int) -> None:
    header = {"kind": "knowledge", "actor_id": "a", "schema_id": "ioc.knowledge.v0", "logical_clock": number}
    text = json.dumps({"header": header, "payload": {"content": "x"}})
    (batch,) = turnwire.scan(text.encode(), wire="sstp")
    assert batch.valid("logical_clock").tolist() == batch.valid("sequence").tolist() == [number < 2**63]
    assert number >= 2**63 or batch["logical_clock"][0] == batch["sequence"][0] == number
