"""``turnwire.scan``: what is found, that nothing is lost, and batches as columns."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.fuzz.messages import MESSAGES
from tests.log.engines import GOOD, UPSTREAM, VECTORS
from tests.log.found import plain_values
from tests.nslip.twins import plain
from turnwire import Batch, DecodeError, Reason, Scan, nslip, scan
from turnwire.nslip.spec import Slot

pytestmark = pytest.mark.usefixtures("scan_core")
ID = "6ba7b810-9dad-41d1-80b4-00c04fd430c8"
LINES = UPSTREAM.read_bytes().split(b"\n")[:500] + VECTORS


def scan_nslip(source: Any, **options: Any) -> Scan:
    return scan(source, wire="nslip", **options)


def table(found: Scan) -> dict[str, list[Any]]:
    """Every column of every batch as plain values; None where there is none."""
    columns: dict[str, list[Any]] = {column.name: [] for column in found.columns}
    for batch in found:
        for column in batch.columns:
            columns[column.name] += plain_values(batch, column.name)
    return columns


def everything(found: Scan) -> tuple[Any, ...]:
    return table(found), found.rejects.rows(), found.counts


def test_errors_skip_and_raise() -> None:
    data = GOOD + b"\n@a3|f0 bad\n" + GOOD + b"\n@c1|\n"
    skipped = scan_nslip(data, errors="skip")
    assert sum(map(len, skipped)) == 2
    assert skipped.counts == nslip_counts(data)
    assert skipped.rejects.rows() == []
    raised = scan_nslip(data, errors="raise")
    batches = iter(raised)
    assert len(next(batches)) == 1
    with pytest.raises(DecodeError) as caught:
        next(batches)
    error = caught.value
    assert (error.reason, error.offset, error.line, error.wire) == (Reason.BAD_DIGIT, data.index(b" bad"), 2, "nslip")
    assert "@a3|f0 bad" in str(error)
    counts = raised.counts
    assert counts.bytes == data.index(b"\n" + GOOD) == counts.record_bytes + counts.reject_bytes + counts.text_bytes
    assert [one["raw"] for one in raised.rejects.rows()] == [b"@a3|f0 bad"]
    assert list(batches) == []


def nslip_counts(data: bytes) -> Any:
    found = scan_nslip(data)
    list(found)
    return found.counts


def test_errors_raise_names_the_file(tmp_path: Any) -> None:
    (tmp_path / "bad.log").write_bytes(b"\n\n@a3|")
    with pytest.raises(DecodeError) as caught:
        list(scan_nslip(tmp_path, errors="raise"))
    assert (caught.value.path, caught.value.line) == (str(tmp_path / "bad.log"), 3)


def test_unknown_slots_and_frames_are_kept_when_asked() -> None:
    data = b'@a3|f9|c1|S0|d1|T1|x"\xc3\xbc"|g2#\n' + GOOD
    assert nslip_counts(data).reasons == {"unknown_frame": 1}
    (batch,) = scan_nslip(data, unknown="keep")
    assert batch.valid("frame").tolist() == [False, True]
    assert batch["goal_id"].tolist() == [2, 17]
    assert nslip.encode(batch.message(0)).encode() == data.split(b"\n")[0]


def test_columns_that_are_asked_for() -> None:
    (batch,) = scan_nslip(GOOD, columns=["tag", "src", "line"])
    assert batch.names == ("tag", "src", "line")
    assert (batch["tag"][0], batch["src"][0], batch["line"][0]) == ("hello", 0, 1)
    assert bytes(batch.raw(0)) == GOOD
    for other in ("goal_id", "nothing"):
        with pytest.raises(KeyError, match="tag, src, line"):
            batch[other]
        with pytest.raises(KeyError):
            batch.valid(other)
    (bare,) = scan_nslip(GOOD, columns=[])
    assert (len(bare), bare.names) == (1, ())


def test_a_batch_as_columns() -> None:
    text = 'a "quote", a \\ and ünïcödé'
    wires = [GOOD.decode(), nslip.encode(nslip.SlipMessage(1, 2, 3, 4, 5, 4, {Slot.TAG: text, Slot.STATUS: ""}))]
    (batch,) = scan_nslip("\n".join(wires).encode())
    assert isinstance(batch, Batch)
    assert batch.codes("act").dtype == np.uint8
    assert (
        batch["act"].tolist()
        == [batch.column("act").names[code] for code in batch.codes("act")]
        == ["REQUEST", "COMMIT"]
    )
    assert (batch["act"] == "COMMIT").tolist() == [False, True]
    with pytest.raises(TypeError, match="tag"):
        batch.codes("tag")
    with pytest.raises(KeyError):
        batch.codes("none")
    assert batch["src"].dtype == batch["goal_id"].dtype == np.uint64
    assert batch["offset"].dtype == np.int64
    assert batch.valid("goal_id").tolist() == [True, False]
    assert batch.valid("src").tolist() == [True, True]
    assert batch.valid("file").tolist() == [False, False]
    assert batch["file"].tolist() == [None, None]
    assert batch.file is None
    assert repr(batch).startswith("<Batch nslip rows=2 ")
    tag = batch["tag"]
    assert (len(tag), list(tag), tag[-1], tag[0:1], tag[::-1]) == (2, ["hello", text], text, ["hello"], [text, "hello"])
    assert tag.to_numpy().tolist() == ["hello", text]
    assert tag.to_numpy().dtype == object
    assert (tag.bytes(1), tag.escaped.tolist()) == (text.encode(), [False, True])
    assert bytes(tag.buffer[tag.offsets[0] : tag.offsets[0] + tag.lengths[0]]) == b"hello"
    status = batch["status"]
    assert (list(status), status.bytes(0), status.valid.tolist()) == ([None, ""], None, [False, True])
    assert status.lengths.tolist() == [0, 0]
    for row in (2, -3):
        with pytest.raises(IndexError):
            tag[row]
        with pytest.raises(IndexError):
            batch.raw(row)
        with pytest.raises(IndexError):
            batch.message(row)
    assert [plain(batch.message(row)) for row in (0, -1)] == [plain(nslip.decode(wire)) for wire in wires]
    assert batch.raw(-1) == wires[1].encode()
    with pytest.raises(TypeError):
        batch.raw(0)[0] = 0


@pytest.mark.parametrize("gap", ["", " "])
@pytest.mark.parametrize("more", ["", "\\u90fa", "\\u0031", "\\n\\/"])
@pytest.mark.parametrize(
    ("wire", "column", "key", "log"),
    [
        (
            "sap",
            "conversation",
            '"correlationId"',
            MESSAGES["sap"][0].replace("1B9F0AFd-90fa-4A0F-bF0a-AF90af096b9A", ID),
        ),
        ("kick", "family", '"channel"', MESSAGES["kick"][0].replace("Orchestrator", "\u2afbcommand/dispatch")),
        ("sstp", "sender", '"actor_id"', MESSAGES["sstp"][0].replace('"s"', '"a"')),
        ("mcp", "call_id", '"id"', '{"jsonrpc":"2.0","method":"tools/call","params":{"n":[77,-7,7]},"id":7}'),
    ],
)
def test_a_text_is_where_its_own_key_is(wire: str, column: str, key: str, log: str, more: str, gap: str) -> None:
    """Though the message says the same elsewhere, before it and after it."""
    record = log.replace('":', f'"{gap}:{gap}').replace("{", f'{{"more":"{more}",', 1).encode()
    (batch,) = scan(record, wire=wire)
    texts = batch[column]
    start = texts.offsets[0]
    assert record[:start].rstrip(b' ":\xe2\xab\xbb').endswith(key.strip('"').encode())
    assert record[start : start + texts.lengths[0]].decode() == texts[0]
