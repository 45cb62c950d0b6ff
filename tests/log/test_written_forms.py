"""What files of records are called and cut into, cells that spreadsheets could run, times and texts at their edges."""

from __future__ import annotations

import csv
import itertools
import json
import sys
import unicodedata
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import turnwire
from tests.counting import called
from turnwire.atomic import PREFIX, SUFFIX
from turnwire.log import guarded, unguarded, write
from turnwire.log.output import parts
from turnwire.log.output.json_lines import times
from turnwire.log.output.parts import Parts
from turnwire.log.output.writers import format_of
from turnwire.nslip import base62

pytestmark = pytest.mark.once

pa = pytest.importorskip("pyarrow")

ENDINGS = {
    "parquet": (".parquet",),
    "arrow": (".arrow", ".feather", ".ipc"),
    "csv": (".csv",),
    "ndjson": (".ndjson", ".jsonl"),
}
"""As docs/output.md has them."""


@pytest.mark.parametrize(("form", "ending"), [(form, one) for form, some in ENDINGS.items() for one in some])
def test_the_ending_of_a_name_says_the_format(form: str, ending: str) -> None:
    """However it is written; a format that is named goes before it."""
    for name in (f"a{ending}", f"A{ending.upper()}", f"there/a.log{ending.title()}"):
        assert format_of(name) == form
        for named in ENDINGS:
            assert format_of(name, named) == named
    for name in ("a", ending, f"a{ending}.gz", f"a{ending}x"):
        with pytest.raises(turnwire.UnknownName, match="does not say which format"):
            format_of(name)


SIGNS = ("EQUALS SIGN", "PLUS SIGN", "HYPHEN-MINUS", "COMMERCIAL AT")
SPACES = [sign for sign in map(chr, range(sys.maxunicode + 1)) if sign.isspace() and sign not in "\x1c\x1d\x1e\x1f"]
HIDDEN = [
    unicodedata.lookup(name) for name in ("ZERO WIDTH SPACE", "LEFT-TO-RIGHT OVERRIDE", "WORD JOINER", "SOFT HYPHEN")
]


@pytest.mark.parametrize("size", ["", "FULLWIDTH ", "SMALL "])
@pytest.mark.parametrize("name", SIGNS)
def test_each_sign_of_a_formula_is_guarded(name: str, size: str) -> None:
    """Also behind each white space of Unicode, and behind what nobody sees."""
    sign = unicodedata.lookup(size + name)
    for before in ("", *SPACES, *HIDDEN, " \u00a0", "'", "''", "' "):
        text = f"{before}{sign}1"
        assert guarded(text) == f"'{text}", repr(text)
        assert unguarded(guarded(text)) == text
    for text in (f"1{sign}1", f"a {sign}1", f"\u00b7{sign}"):
        assert guarded(text) == text


@pytest.mark.parametrize("formulas", ["guard", "keep"])
@pytest.mark.parametrize("by", [None, "wire", "day"])
def test_cells_are_guarded_where_that_is_asked_for(tmp_path: Path, by: str | None, formulas: str) -> None:
    """In one file, and in each of a directory."""
    found = turnwire.scan(b'@a3|f0|c1|S0|d1|T1|t"=1+1"#\n')
    (path,) = write(found, tmp_path / "out", format="csv", partition_by=by, formulas=formulas)
    with open(path, newline="") as file:
        (row,) = csv.DictReader(file)
    assert row["subject"] == ("'=1+1" if formulas == "guard" else "=1+1")


@pytest.mark.parametrize("by", ["wire", "day"])
@pytest.mark.parametrize("count", [1, 3])
def test_records_without_a_day_have_a_folder(tmp_path: Path, by: str, count: int) -> None:
    """Where all of a batch have none, too."""
    folder = {"wire": "wire=nslip", "day": "day=__HIVE_DEFAULT_PARTITION__"}[by]
    found = turnwire.scan(b"@a3|f0|c1|S0|d1|T1#\n" * count)
    paths = write(found, tmp_path / "out", partition_by=by, format="ndjson")
    assert paths == [str(tmp_path / "out" / folder / "part-0.ndjson")]
    assert len(Path(paths[0]).read_bytes().splitlines()) == count


@pytest.mark.parametrize(("long", "old"), [(False, False), (False, True), (True, False), (True, True)])
def test_a_part_is_due_when_it_is_long_or_old(
    tmp_path: Path, long: bool, old: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parts, "PART_BYTES", 1 if long else 1 << 40)
    monkeypatch.setattr(parts, "PART_SECONDS", 0.0 if old else 1e9)
    found = turnwire.scan(b"@a3|f0|c1|S0|d1|T1#\n")
    with Parts(tmp_path / "out.ndjson") as output:
        output.begin(found.columns)
        assert not output.due, "there is none"
        for batch in found:
            output.take(batch)
        assert output.due is (long or old)
        output.commit({"record": 1})
        assert not output.due


def test_a_folder_of_parts_is_one_process_alone_and_swept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the dead left goes, nothing of ours stays open behind a refusal, and the folder is there after a crash."""
    synced = called(monkeypatch, parts, "sync_directory", lambda place: place)
    out, opened = tmp_path / "out.ndjson", Path("/proc/self/fd")
    with Parts(out):
        pass
    with Parts(out):
        assert synced == [tmp_path]
        before = len(list(opened.iterdir())) if opened.exists() else 0
        with pytest.raises(BlockingIOError), Parts(out):
            pass
        assert before in (0, len(list(opened.iterdir())))
    (out / "other").touch()
    with pytest.raises(FileExistsError), Parts(out):
        pass
    (out / "other").unlink()
    for name in (f"{PREFIX}1{SUFFIX}", "part-00001.pending"):
        (out / name).write_bytes(b"{}")
    with Parts(out):
        assert list(out.iterdir()) == []


def test_a_part_is_as_old_as_its_first_record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And where it is ended, that says how far it is."""
    monkeypatch.setattr(parts.time, "monotonic", lambda: 1e6)
    found = turnwire.scan(b"@a3|f0|c1|S0|d1|T1#\n")
    with Parts(tmp_path / "out.ndjson") as output:
        output.begin(found.columns)
        for batch in found:
            output.take(batch)
            assert (output.position, output.due) == (None, False)
        output.commit({"record": 1})
        assert output.position == {"record": 1}
    assert [Path(path).name for path in output.paths] == ["part-00001.ndjson"]


def test_times_around_1970() -> None:
    """Microseconds since then; the first moment is one as any other."""
    moments = (-1, 0, 1, None, 999_999, 1_000_000, 253_402_300_799_999_999)
    assert times(moments) == [
        "1969-12-31T23:59:59.999999Z",
        "1970-01-01T00:00:00.000000Z",
        "1970-01-01T00:00:00.000001Z",
        None,
        "1970-01-01T00:00:00.999999Z",
        "1970-01-01T00:00:01.000000Z",
        "9999-12-31T23:59:59.999999Z",
    ]


def test_a_record_of_the_first_moment_has_its_time(tmp_path: Path) -> None:
    data = b"1970-01-01T00:00:00Z @a3|f0|c1|S0|d1|T1#\n@a3|f0|c1|S0|d1|T1#\n"
    for partition in (None, "day"):
        place = tmp_path / f"out-{partition}.ndjson"
        paths = write(turnwire.scan(data), place, partition_by=partition, format="ndjson")
        rows = [json.loads(line) for path in paths for line in Path(path).read_bytes().splitlines()]
        assert {row["time"] for row in rows} == {"1970-01-01T00:00:00.000000Z", None}


LOG = b"".join(
    b"@a3|f0|c%s|S%d|d1|T%d%s#\n" % (base62.encode(number).encode(), number % 3, number, b'|t"goal_%d"' % number)
    for number in range(5)
)


@pytest.mark.parametrize(("wire", "name"), [("nslip", "tag"), ("nslip", "sender"), (None, "subject"), (None, "sender")])
def test_a_column_of_texts_is_a_sequence(wire: str | None, name: str) -> None:
    """As a list of the same texts is: indices from both ends, slices, and the error behind each end."""
    (batch,) = turnwire.scan(LOG, wire=wire)
    column: Any = batch[name]
    texts = ["goal_0", "goal_1", "goal_2", "goal_3", "goal_4"] if name in ("tag", "subject") else list("01201")
    assert list(column) == texts == column.to_numpy().tolist()
    for index in range(-len(texts), len(texts)):
        assert column[index] == texts[index]
        assert column[np.int64(index)] == texts[index]
    for index in (len(texts), -len(texts) - 1):
        with pytest.raises(IndexError):
            column[index]
    for start, stop in itertools.product((None, -6, -2, 0, 3, 9), repeat=2):
        assert column[start:stop] == texts[start:stop]
    assert (list(reversed(column)), texts[1] in column, "x" in column) == (texts[::-1], True, False)
    assert column.index(texts[2]) == texts.index(texts[2])


def test_ids_of_any_number_of_digits_are_texts_for_arrow() -> None:
    """Views hold 12 bytes themselves: around that, and at each other power of ten."""
    numbers = sorted({10**power + more for power in range(20) for more in (-1, 0, 1)} | {(1 << 64) - 1})
    for some in (*([number] for number in numbers), numbers):
        data = b"".join(b"@a3|f0|c%s|S0|d1|T1#\n" % base62.encode(number).encode() for number in some)
        for wire in ("nslip", None):
            found = turnwire.scan(data, wire=wire, columns=["conversation"])
            assert pa.table(found)["conversation"].to_pylist() == list(map(str, some))


@pytest.mark.parametrize("turn", [0, (1 << 63) - 2, (1 << 63) - 1, 1 << 63, (1 << 64) - 1])
def test_a_sequence_is_a_signed_number_where_it_fits(turn: int) -> None:
    data = b"@a3|f0|c1|S0|d1|T%s#\n" % base62.encode(turn).encode()
    for beside in (b"", b"@a3|f0|c1|S0|d1|T5#\n"):
        for wire in ("nslip", None):
            found = turnwire.scan(data + beside, wire=wire, columns=["sequence"])
            wanted = [turn if turn < 1 << 63 else None, *([5] if beside else [])]
            assert pa.table(found)["sequence"].to_pylist() == wanted


def test_texts_of_strings_in_many_small_files(tmp_path: Path) -> None:
    """For Arrow, small files are one: what their strings of JSON said goes from each to its own records."""
    for number in range(6):
        record = f'@a3|f0|c{number}|S0|d1|T1|t"a text of more than twelve bytes, number {number}"#'
        bare = f'@a3|f0|c{number}|S0|d1|T2|t"another text that no view can hold, number {number}"#'
        lines = [json.dumps({"msg": f'say "{number}": {record}'}), bare] if number % 3 else [bare]
        (tmp_path / f"{number}.log").write_text("".join(f"{line}\n" for line in lines))
    for wire, name in (("nslip", "tag"), (None, "subject")):
        found = turnwire.scan(tmp_path, wire=wire)
        texts = [text for batch in found for text in batch[name]]
        assert len(set(texts)) == len(texts) == 10
        assert pa.table(found)[name].to_pylist() == texts


def test_a_range_in_a_string_begins_at_any_byte_of_it() -> None:
    record = "@a3|f0|c1|S0|d1|T1#"
    for before in ("", "a", "ab"):
        data = json.dumps({"m": f"{before}{record}"}).encode() + b"\n"
        for wire in ("nslip", None):
            (found,) = turnwire.scan(data, wire=wire).messages()
            assert (found.inner, found.wrapped) == (len(before), "json_string")


def test_rejects_that_are_read_during_a_scan_stay_what_they_are() -> None:
    lines = [b"@a3|f0|c%d|S$%d#\n" % (number, number) for number in range(40)]
    data = b"".join(b"@a3|f0|c1|S0|d1|T1#\n" + line for line in lines)
    found = turnwire.scan(data, wire="nslip", batch_bytes=100)
    looks = 0
    for _ in found:
        looks += 1
        first = next(found.rejects.since(0), None)
        assert first is None or first["raw"] + b"\n" == lines[0]
    assert looks > 10
    assert [raw + b"\n" for raw in found.rejects["raw"]] == lines
