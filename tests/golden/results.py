"""Results of one log, or of many at once, and the file in which they are kept."""

from __future__ import annotations

import hashlib
import io
import json
import lzma
import os
import tempfile
from array import array
from collections.abc import Callable, Iterator
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

import turnwire
from tests.golden.logs import COUNT, Log, log
from tests.golden.messages import Chance

KEPT = Path(__file__).with_name("results.xz")
ROOT = Path(__file__).parents[2]
LEFT_OUT = ("inside_unclosed_heredoc",)
Row = tuple[str, int, int, int, int, int]
PARTS = ("common columns", "columns of one wire", "another way")


class Results(NamedTuple):
    """The results of one log: rows of the scan of all wires, and the digests of PARTS."""

    rows: list[Row]
    digests: tuple[int, ...]


def tables(found: turnwire.Scan) -> tuple[list[dict[str, Any]], list[dict[str, Any]], dict[str, Any]]:
    """Records, rejects and counts of a scan, as plain values."""
    records: list[dict[str, Any]] = []
    for batch in found:
        columns: dict[str, list[Any]] = {"raw": [bytes(batch.raw(row)) for row in range(len(batch))]}
        for column in batch.columns:
            if column.name not in (*LEFT_OUT, "file"):
                values = zip(list(batch[column.name]), batch.valid(column.name).tolist(), strict=True)
                shown = [value if there else None for value, there in values]
                columns[column.name] = [one.item() if hasattr(one, "item") else one for one in shown]
        records += [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]
    rejects = [{**row, "file": None} for row in found.rejects.rows()]
    sums = found.counts
    counts = {  # by the names under which they are kept
        "bytes": sums.bytes,
        "records": sums.record_bytes,
        "rejects": sums.reject_bytes,
        "text": sums.text_bytes,
        "wires": {wire: count for wire, count in sums.wires.items() if count},
        "reasons": dict(sorted(sums.reasons.items())),
        "selected": sums.selected,
        "gaps": sums.gaps,
    }
    return records, rejects, counts


def rows_of(records: list[dict[str, Any]], rejects: list[dict[str, Any]]) -> list[Row]:
    """Records and rejects in the order of their places, in the form that is kept."""
    rows = []
    for one in (*records, *rejects):
        kind, extra = ("record", one["time"]) if "kind" in one else ("reject", one["fault"] - one["offset"])
        code = f"{kind} {one['wire']} {one['kind'] if kind == 'record' else one['reason']}"
        inner, extra = (-1 if number is None else number for number in (one["inner"], extra))
        rows.append((code, one["offset"], one["length"], one["line"], inner, extra))
    return sorted(rows, key=lambda row: (row[1], row[4], row[0]))


def fed(data: bytes, chance: Chance, wire: str | None = None) -> Iterator[Any]:
    """Messages and errors of a Decoder that is fed in pieces."""
    decoder, place = turnwire.Decoder(wire), 0

    def taken(call: Callable[[], list[Any]]) -> Iterator[Any]:
        while True:
            try:
                yield from (turnwire.encode(one, strict=False) for one in call())
                return
            except turnwire.DecodeError as error:
                yield str(error.reason), error.offset, error.line, error.wire, error.path
                call = decoder.close if call == decoder.close else lambda: decoder.feed(b"")

    while place < len(data):
        piece = data[place : place + chance.pick(1, 7, 64, 400)]
        place += len(piece)
        yield from taken(lambda piece=piece: decoder.feed(piece))
    yield from taken(decoder.close)


def small_batches(data: bytes, chance: Chance) -> Any:
    return tables(turnwire.scan(data, batch_bytes=1 + chance.below(300)))


def two_threads(data: bytes, chance: Chance) -> Any:
    return tables(turnwire.scan(io.BytesIO(data), batch_bytes=64 + chance.below(400), threads=2))


def extracted(data: bytes, chance: Chance) -> Any:
    for one in turnwire.extract(data.decode("utf-8", "replace"), rejects=True):
        yield one.wire, one.start, one.end, one.wrapped, one.error and str(one.error.reason)


def resumed(data: bytes, chance: Chance) -> Any:
    """A file that grows between two scans."""
    with tempfile.TemporaryDirectory() as folder:
        path, place = Path(folder, "a.log"), chance.below(len(data) + 1)
        path.write_bytes(data[:place])
        first = turnwire.scan(path, resume={}, batch_bytes=100)
        yield tables(first)
        with path.open("ab") as file:
            file.write(data[place:])
        yield tables(turnwire.scan(path, resume=first.position))


def blocks(data: bytes, chance: Chance) -> Any:
    """The blocks of a plan; of one that refuses its cut, the place."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "a.log")
        path.write_bytes(data)
        for block in turnwire.log.plan(path, block_bytes=100 + chance.below(400)):
            try:
                yield tables(turnwire.log.read_block(block))
            except turnwire.DecodeError as refused:
                yield str(refused.reason), refused.offset


WAYS: tuple[Callable[[bytes, Chance], Any], ...] = (
    fed,
    small_batches,
    two_threads,
    lambda data, chance: fed(data, chance, chance.pick(*turnwire.WIRES)),
    extracted,
    resumed,
    blocks,
)


def parts(number: int, data: bytes) -> Iterator[tuple[str, Any]]:
    """All that is found in a log: of all wires at once, of some wires by name, and every other time in another way."""
    records, rejects, counts = tables(turnwire.scan(data))
    yield "rows", rows_of(records, rejects)
    yield PARTS[0], (records, rejects, counts)
    there = [wire for wire in turnwire.WIRES if any(wire == one["wire"] for one in (*records, *rejects))]
    there += turnwire.WIRES[number % 20 : number % 20 + 1]
    yield PARTS[1], {wire: tables(turnwire.scan(data, wire=wire)) for wire in there}
    way = WAYS[number % 14 : number % 14 + 1]
    yield PARTS[2], [list(read(data, Chance(number))) for read in way]


def results(one: Log) -> Results:
    rows, *others = (found for _, found in parts(one.number, one.data))
    digests = (hashlib.sha256(ascii(other).encode()).digest() for other in others)
    return Results(rows, tuple(int.from_bytes(digest[:4]) for digest in digests))


def vectors() -> list[Log]:
    """The texts of the vectors, their lines as they are, and files of real traffic."""
    logs: list[tuple[str, bytes]] = []
    for path in sorted((ROOT / "tests/vectors").glob("*.jsonl")):
        for line in path.read_text("utf-8").split("\n")[:-1]:
            vector = json.loads(line)
            name = f"{path.stem} {vector['id']}"
            logs.append((f"{name} as a line", line.encode()))
            if isinstance(text := vector.get("text", vector.get("wire")), str):
                logs.append((name, text.encode("utf-8", "surrogatepass")))
    for path in sorted([*ROOT.glob("examples/data/*"), *ROOT.glob("tests/data/*.json*")]):
        logs.append((path.relative_to(ROOT).as_posix(), path.read_bytes()))
    return [Log(COUNT + int.from_bytes(hashlib.sha256(data).digest()[:4]), name, data) for name, data in logs]


def key(one: Log) -> str:
    """The name of a vector with a digest of its text: one that is changed is another."""
    return f"{one.number} {one.recipe}"


def keep(found: list[Results], named: dict[str, Results], digest: str) -> None:
    """Writes the results of all logs, and of the vectors behind them: numbers column by column, which xz likes."""
    every = [*found, *named.values()]
    codes = sorted({row[0] for one in every for row in one.rows})
    place = {code: number for number, code in enumerate(codes)}
    columns: list[list[int]] = [[] for _ in range(6)]
    for one in every:
        end, line = 0, 1
        for code, offset, length, at, inner, extra in one.rows:
            numbers = place[code], offset - end, length, at - line, inner, extra
            for column, number in zip(columns, numbers, strict=True):
                column.append(number)
            end, line = offset + length, at
    head = {"codes": codes, "logs": len(found), "named": list(named), "digest": digest}
    arrays = [array("H", [len(one.rows) for one in every]), *(array("q", column) for column in columns)]
    arrays += [array("I", [one.digests[part] for one in every]) for part in range(len(PARTS))]
    sizes = [len(column.tobytes()) for column in arrays]
    text = json.dumps(head | {"sizes": sizes}).encode() + b"\n"
    KEPT.write_bytes(lzma.compress(text + b"".join(column.tobytes() for column in arrays), preset=9))


def kept() -> tuple[list[Results], dict[str, Results], str]:
    """The same, read back."""
    text = lzma.decompress(KEPT.read_bytes())
    head_text, _, rest = text.partition(b"\n")
    head, numbers = json.loads(head_text), []
    for kind, size in zip("HqqqqqqIII", head["sizes"], strict=True):
        numbers.append(array(kind, rest[:size]))
        rest = rest[size:]
    counts, *columns = numbers
    rows, every = zip(*columns[:6], strict=True), []
    for count, *digests in zip(counts, *columns[6:], strict=True):
        end, line, mine = 0, 1, []
        for _ in range(count):
            code, gap, length, lines, inner, extra = next(rows)
            mine.append((head["codes"][code], end + gap, length, line + lines, inner, extra))
            end, line = end + gap + length, line + lines
        every.append(Results(mine, tuple(digests)))
    named = dict(zip(head["named"], every[head["logs"] :], strict=True))
    return every[: head["logs"]], named, head["digest"]


def run(numbers: range) -> Iterator[tuple[int, Results, bytes]]:
    """The results of generated logs and the digests of their texts, made by as many processes as there are cores."""
    with get_context("spawn").Pool(os.cpu_count()) as pool:
        yield from pool.imap(_numbered, numbers, chunksize=100)


def _numbered(number: int) -> tuple[int, Results, bytes]:
    one = log(number)
    return number, results(one), hashlib.sha256(one.data).digest()
