"""The scan of the JSON wires: records, rejects and text; all engines read the same, however it is cut."""

from __future__ import annotations

import json
from itertools import accumulate, product
from typing import Any

import pytest
from hypothesis import given, strategies as st

import turnwire
from tests.conftest import BACKENDS, refusal
from tests.log.json_engines import JSON_WIRES, RECORDS, both
from turnwire import registry
from turnwire._backend import core_module
from turnwire.errors import DecodeError
from turnwire.json.plan import MISSING

on_each_core = pytest.mark.usefixtures("scan_core")
"""Not for what compares the cores by itself."""


def rows(data: bytes, wire: Any = "sstp", **options: Any) -> tuple[list[dict[str, Any]], list[dict[str, Any]], Any]:
    """All rows and rejects of a scan, and its counts."""
    scan = turnwire.scan(data, wire=wire, **options)
    found = [
        {name: batch[name][row] if batch.valid(name)[row] else None for name in batch.names}
        | {"raw": batch.raw(row).tobytes()}
        for batch in scan
        for row in range(len(batch))
    ]
    counts = scan.counts
    assert counts.record_bytes + counts.reject_bytes + counts.text_bytes == counts.bytes == len(data)
    return found, scan.rejects.rows(), counts


@on_each_core
@pytest.mark.parametrize("wire", JSON_WIRES)
def test_every_vector_is_what_decode_says(wire: str) -> None:
    package = registry.wire(wire)
    refused = 0
    for text in RECORDS[wire]:
        found, rejects, _ = rows(b"INFO x: " + text + b"\r\n", wire)
        error = refusal(DecodeError, package.decode, text)
        if error is not None:
            assert found == []
            assert [(one["reason"], one["fault"], one["line"]) for one in rejects] == [
                (error.reason, (error.offset or 0) + 8, 1)
            ]
            refused += 1
        else:
            assert [(one["offset"], one["length"], one["raw"]) for one in found] == [
                (8, len(text.rstrip()), text.rstrip())
            ]
            assert rejects == []
            assert [one.message for one in turnwire.scan(text, wire=wire).messages()] == [package.decode(text)]
    assert refused >= 4


ODD: tuple[Any, ...] = (
    *(None, True, -1, 0, 1.5, 10**30, "", "x", [], ["a"], ["a", 1], [{}], [{"uri": 1}], [{"name": {}, "type": 2}]),
    *(
        {},
        {"a": 1},
        {"a": 1, "b": "c"},
        {"type": "string"},
        "ACK",
        "query",
        "Alert",
        "\u2afba/b",
        "\u2afb/b",
        "\u2afb\xe4/b",
    ),
    *("2016-12-31T23:59:60Z", "2026-11-22T07:00:60Z", "0001-01-01T00:00:00+05:00", "2.1", "VALID"),
)


def places_of(value: Any) -> list[tuple[Any, Any]]:
    """Each member and item in a value of JSON: what holds it, and its key or index."""
    inner = list(value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ())
    return [place for key, one in inner for place in [(value, key), *places_of(one)]]


@on_each_core
@pytest.mark.parametrize("wire", JSON_WIRES)
def test_a_scan_refuses_as_decode_does_whatever_stands_in_a_field(wire: str) -> None:
    """Also where the field is missing: the same reason at the same place."""
    package = registry.wire(wire)
    good = [json.loads(text) for text in RECORDS[wire] if refusal(DecodeError, package.decode, text) is None]
    wanted: list[Any] = []
    rejected: list[Any] = []
    log = b""
    for message in good[:: len(good) // 4]:
        for number, (holder, key) in enumerate(places_of(message)):
            kept = holder[key]
            for odd in (*ODD[number % 3 :: 3], MISSING):
                if odd is MISSING:
                    del holder[key]
                else:
                    holder[key] = odd
                line = json.dumps(message, ensure_ascii=len(wanted) % 2 == 0).encode()
                error = refusal(DecodeError, package.decode, line)
                if error is None:
                    wanted.append((len(log), len(line)))
                elif package.scanner.plans[0].is_claimed(json.loads(line)):
                    rejected.append((len(log), error.reason, len(log) + (error.offset or 0)))
                log += line + b"\n"
            holder.insert(key, kept) if isinstance(holder, list) else holder.update({key: kept})
    found, rejects, _ = rows(log, None)
    assert [(one["offset"], one["length"]) for one in found] == wanted
    assert [(one["offset"], one["reason"], one["fault"]) for one in rejects] == rejected
    assert {one["wire"] for one in rejects} == {wire}
    assert len(rejected) > 150 and len({reason for _, reason, _ in rejected}) > 3


@on_each_core
@given(
    span=st.binary(max_size=60),
    odd=st.lists(st.sampled_from([b"\\", b'\\"', b"\\n", b"\\ud83d", b"\\ude00", b"\\u00e9", b"\\u12"])),
)
def test_escapes_native_and_pure(span: bytes, odd: list[bytes]) -> None:
    text = span + b"".join(odd) + span[:3]
    plains = {core_module(backend, "json.text").plain(text) for backend in BACKENDS}
    assert len(plains) == 1


MARKS = ("", "\ufeff", "\\ufeff", "\\uFEFF", "\ufefe", "\uf03f", "\\ufefe", "\\nfeff", "x")
STARTS = (
    *(f"\\{escape}" for escape in '"\\/bfrt'),
    *"u2AFB",
    "\\u2afa",
    "\\u0009",
    "\\ud83d\\ude00",
    "\u2afa",
    "u2afb",
)


@on_each_core
def test_sections_are_counted_as_the_reader_does() -> None:
    """A byte order mark in front of the first sigil is no text, what is like one is; only a sigil begins a section."""
    text = json.dumps(json.loads(RECORDS["kick"][0]) | {"content": "HERE"})
    sigils = ("⫻", "\\u2afb", "\\u2AFB", "⫺", "\\u2afa")
    contents = [f"{mark}{sigil}content/x:a/1\\nText\\n{sigil}content/y" for mark, sigil in product(MARKS, sigils)]
    contents.append("⫻a\\n" + "\\n".join(f"{start}2afb and more" for start in STARTS) + "\\n\\u2AFBb\\nx\\r\\u2AFBc")
    texts = [text.replace("HERE", content) for content in contents]
    found, _, _ = rows("\n".join(texts).encode(), "kick")
    read = registry.wire("kick").decode
    assert [row["sections"] for row in found] == [len(read(one).space.sections) for one in texts]
    assert found[-1]["sections"] == 2


GOOD_MESSAGE = (
    '{"header":{"kind":"intent","actor_id":"a","schema_id":"x","session_id":"s","logical_clock":1},'
    '"payload":{"goal":"g"}}'
)
"""A message without any white space."""


def judged(*lines: bytes) -> list[bool]:
    """True if each of these lines, read one after the other in one log, is a record; else it must be a reject."""
    columns, rejects, _ = both("sstp", b"\n".join(lines) + b"\n")
    there = set(columns["offset"])
    assert len(there) + len(rejects) == len(lines)
    starts = accumulate((len(line) + 1 for line in lines[:-1]), initial=0)
    return [start in there for start in starts]


PIECES = (
    "",
    "\u00e9",
    "\u30ec\u30d3",
    "\U0001f600",
    "\\n",
    '\\"',
    "\\\\",
    '\\\\\\"',
    "\\u00e9",
    "\\ud83d\\ude00",
    "\\\\" * 40,
    "\u00e9" * 70,
    '\\"\u30ec' * 30,
)

BAD_PIECES = (
    *(b"\xff", b"\xc3", b"\xe3\x83", b"\xf0\x9f\x98", b"\x80", b"\xc0\xaf", b"\xe0\x80\x80", b"\xed\xa0\x80"),
    *(b"\xf4\x90\x80\x80", b"\xf5\x80\x80\x80", b"\x00", b"\x1f", b"\t", b"\\x", b"\\u12", b"\\ud83d"),
    *(b"\\ude00", b"\\ud83d\\u0041", b'\\"\xe3\x83\\n', b"\xc3\\n"),
)


@pytest.mark.once
@pytest.mark.parametrize("number", range(len(PIECES)))
def test_good_strings_over_every_place_of_a_block(number: int) -> None:
    piece = PIECES[number]
    other = PIECES[number - 1]
    lines = [GOOD_MESSAGE.replace('"g"', f'"\u00e9{"x" * before}{piece}{other}"').encode() for before in range(68)]
    assert judged(*lines) == [True] * len(lines)


@pytest.mark.once
@pytest.mark.parametrize("piece", BAD_PIECES)
def test_bad_strings_over_every_place_of_a_block(piece: bytes) -> None:
    good = GOOD_MESSAGE.encode()
    for filler, tail in ((b"x", b"yyy"), (b"\xc3\xa9", b""), (b"\\n", b"\xc3\xa9")):
        lines = [
            good.replace(b'"g"', b'"' + filler * before + piece + tail + b'"') for before in range(0, 68, len(filler))
        ]
        assert judged(*lines) == [False] * len(lines)
