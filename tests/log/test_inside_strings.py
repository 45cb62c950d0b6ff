"""Damage inside JSON strings: where it stands, and what is given in front of it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.log.engines import GOOD
from tests.log.mixed_logs import GOOD_JSON
from tests.log.test_mixed import everything
from turnwire import LIMITS, DecodeError, Scan, scan
from turnwire.json._rows_py import Written
from turnwire.json._unescape_py import plain
from turnwire.log.engine.streaming import BlockStream

pytestmark = pytest.mark.usefixtures("scan_core")
SSTP = next(record for record in GOOD_JSON if record.startswith(b'{"header"'))
BAD = {"nslip": "@a3|f0 bad", "sstp": SSTP.decode()[:-9]}


def wrapped(*texts: str) -> bytes:
    return json.dumps({"log": "\n".join(texts)}).encode()


@pytest.mark.parametrize("wire", [None, "sstp"])
def test_where_a_reject_stands_in_its_string(wire: str | None) -> None:
    good, bad = SSTP.decode(), BAD["sstp"]
    data = b"x " + wrapped("é " + good, bad, good) + b"\n" + bad.encode() + b"\n"
    found = scan(data, wire=wire)
    columns, rejects, _ = everything(found)
    outer = 1 + len(b"\xc3\xa9 " + SSTP)
    assert [one["inner"] for one in rejects] == [outer, None]
    assert found.rejects["inner"].tolist() == [outer, -1]
    assert found.rejects.valid("inner").tolist() == [True, False]
    assert found.rejects.valid("offset").all()
    assert list(found.rejects.since(1)) == rejects[1:]
    assert columns["inner"] == [3, outer + len(bad) + 1]


def test_rejects_in_arrow_have_inner() -> None:
    polars = pytest.importorskip("polars")
    found = scan(wrapped(GOOD.decode(), BAD["nslip"]) + b"\n@a3|f0 bad\n")
    list(found)
    assert polars.DataFrame(found.rejects)["inner"].to_list() == [len(GOOD) + 1, None]


@pytest.mark.parametrize("before", ["", "x ", "é"])
def test_a_string_in_prose_begins_behind_its_quote(before: str) -> None:
    """Also where the quote is the first byte of the line."""
    line = f"{before}{json.dumps('say ' + SSTP.decode())} and more\n".encode()
    columns, rejects, _ = everything(scan(line, wire="sstp"))
    assert (columns["inner"], columns["offset"], rejects) == ([4], [line.index(b'"')], [])


def test_rejects_in_strings_of_strings() -> None:
    """`inner` counts in the outermost string, in which the inner one is written with escapes."""
    inside = json.dumps({"msg": f"a {BAD['nslip']}"})
    data = json.dumps({"log": f"b {inside}"}).encode()
    _, (reject,), _ = everything(scan(data))
    assert reject["inner"] == 2 + inside.index("@a3")


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r\n\r\n"])
def test_a_reject_in_a_string_ends_in_front_of_the_end_of_its_line(end: str) -> None:
    data = json.dumps({"log": f"x {BAD['nslip']}{end}y"}).encode()
    _, (reject,), _ = everything(scan(data))
    assert (reject["offset"], reject["inner"], reject["length"]) == (data.index(b"@"), 2, len(BAD["nslip"]))


PARTS = [
    *((each, each.encode(), False) for each in ("a", "é", "\U0001f600")),
    (r"\n", b"\n", True),
    (r"\u00e9", "é".encode(), True),
    (r"\u20ac", "€".encode(), True),
    (r"\ud83d\ude00", "\U0001f600".encode(), True),
]


@given(st.lists(st.sampled_from(PARTS), max_size=12))
def test_a_place_in_a_string_is_that_as_it_is_written(parts: list[tuple[str, bytes, bool]]) -> None:
    """Inside a character that is an escape it is where that begins."""
    span, said, expected = b"", b"", []
    for written, part, escape in parts:
        expected += [len(span) + (0 if escape else at) for at in range(len(part))]
        span, said = span + written.encode(), said + part
    assert plain(span) == said
    places = Written(span)
    assert [places.place(at) for at in range(len(said) + 1)] == [*expected, len(span)]


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
    with pytest.raises(DecodeError) as caught:
        collect(found, rows)
    everywhere = everything(scan(data, wire=wire))
    assert rows == everywhere[0]["offset"][: 2 + before]
    assert caught.value.offset == everywhere[1][0]["fault"]
    assert found.counts.wires[kind] == 2 + before
    assert len(found.rejects) == 1


def test_a_stream_gives_them_in_order_too() -> None:
    stream = BlockStream(None, "error", LIMITS)
    stream.write(wrapped(GOOD.decode(), BAD["nslip"], GOOD.decode()) + b"\n")
    met: list[str] = []
    while len(met) < 4:
        try:
            met.append(type(stream.read()).__name__)
        except DecodeError as error:
            met.append(str(error.reason))
    assert met == ["SlipMessage", "bad_digit", "SlipMessage", "NoneType"]


@pytest.mark.usefixtures("scan_core")
@pytest.mark.parametrize("wire", [None, "nslip"])
def test_any_number_of_records_in_one_string(wire: str | None) -> None:
    """More than the first guess has room for, the whole input being one string."""
    record = '@a1|f0|c1|S2|d3|T4|t"a \\"q\\" é"#'
    for count, ways in ((300, 3), (1500, 1)):
        inside = json.dumps({"a": f"{record}\n" * count})
        for data in (inside, json.dumps([inside]), f"INFO x\n{inside}\n")[:ways]:
            found = scan(data.encode(), wire=wire)
            assert sum(map(len, found)) == count and not len(found.rejects)


@pytest.mark.usefixtures("scan_core")
@pytest.mark.parametrize("front", ["", "x {}", '{"a": "@a3|f0|c1|S0|d1|T1#"} '])
def test_records_for_which_the_first_guess_has_no_room_are_in_their_string_too(front: str) -> None:
    """They have its place and the time of the object, wherever the input is cut."""
    count = 98
    data = f'{front}{{"log": "{"@a3|f0|c1|S0|d1|T1#" * count}", "time": "2026-05-04T10:00:00Z"}}\n'.encode()
    for size in (1 << 20, 31):
        (found,) = (batch for batch in scan(data, batch_bytes=size, columns=["offset", "inner", "time"]))
        assert found["inner"].tolist()[-count:] == [19 * number for number in range(count)]
        assert found["offset"].tolist()[-count:] == [len(front) + 8] * count
        assert found.valid("inner").tolist()[-count:] == found.valid("time").tolist()[-count:] == [True] * count


@pytest.mark.parametrize("wire", ["nslip", None])
def test_the_place_of_a_string_behind_damage_is_its_quote(wire: str | None) -> None:
    (batch,) = scan(b'@ay"@a8|f3|c5|S3|d0|T9|t\\"\\"#', wire=wire)
    assert (batch["offset"].tolist(), batch["inner"].tolist()) == ([3], [0])


CSP = "CSP/1\nFROM A\nTO B\nCTX C0\nINTENT RESULT\n\nRESULT T1\nSTATUS OK\nDATA done\n"
JOURNAL = json.dumps({"MESSAGE": list(CSP.encode()), "__REALTIME_TIMESTAMP": "1795330802000000"})
WRITTEN = {
    "plain": json.dumps({"log": CSP}),
    "an escaped slash": json.dumps({"log": CSP}).replace("/", "\\/"),
    "an escaped slash in strings": json.dumps({"log": json.dumps({"log": CSP}).replace("/", "\\/")}),
    "escaped letters": json.dumps({"log": '{"a": 1}\n' + CSP}).replace("CSP/1", "\\u0043SP\\u002f1"),
    "an array of bytes": JOURNAL,
    "an array of bytes in a string": json.dumps({"log": JOURNAL}),
}
"""The same message as writers of JSON put it."""


@pytest.mark.parametrize("name", WRITTEN)
def test_a_scan_for_csp_alone_sees_what_json_escapes(name: str) -> None:
    data = f"{CSP}\n\n{WRITTEN[name]}\n\n{CSP}\n".encode()
    places = [(one.offset, one.line, one.inner) for one in scan(data).messages() if one.wire == "csp"]
    assert len(places) == 3
    assert [(one.offset, one.line, one.inner) for one in scan(data, wire="csp").messages()] == places


def test_an_object_over_lines_is_one_however_blocks_cut_it(tmp_path: Path) -> None:
    wrapper = json.dumps({"time": "2026-05-04T10:00:00.5Z", "more": "x" * 40, "log": CSP}, indent=1)
    data = f"{CSP}\n\n{wrapper}\ntext\n{CSP}\n\n{{".encode()
    (tmp_path / "a.log").write_bytes(data)
    for size in (1, 40, 90, 150, 200, 1 << 20):
        times: list[int | None] = []
        for batch in (found := scan(tmp_path / "a.log", wire="csp", batch_bytes=size, resume={})):
            times += [
                int(time) if there else None for time, there in zip(batch["time"], batch.valid("time"), strict=True)
            ]
        assert times == [None, 1777888800500000, None], size
        assert found.position["files"][0]["offset"] == found.counts.bytes == len(data) - 1, size


@pytest.mark.parametrize("wire", ["csp", None])
@pytest.mark.parametrize("number", range(1, 16))
def test_damage_in_a_string_stands_between_its_messages(number: int, wire: str | None) -> None:
    """Of four messages of CSP/1 any may be damaged: each range begins where it begins."""
    good = "CSP/1\nFROM A\nTO B\nCTX C1\nINTENT RESULT\n\nRESULT T1\nSTATUS OK\n\n"
    texts = [good.replace("CTX C1\n", "") if number >> place & 1 else good for place in range(4)]
    starts = [sum(map(len, texts[:place])) for place in range(4)]
    found = scan(json.dumps({"log": "".join(texts)}).encode() + b"\n", wire=wire)
    columns, rejects, _ = everything(found)
    assert columns["inner"] == [starts[place] for place in range(4) if not number >> place & 1]
    assert [one["inner"] for one in rejects] == [starts[place] for place in range(4) if number >> place & 1]
