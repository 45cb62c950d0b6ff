"""Inputs × containers × wires × commands: a sample of all cells, each against what was put in."""

from __future__ import annotations

import gzip
import itertools
import json
import random
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import turnwire
from tests.cli.running import turnwire as run
from tests.log.carriers import BAD, CARRIERS, GOOD, in_strings
from tests.log.found import fed, in_pieces
from turnwire import WIRES, session
from turnwire.log import plan, read_block
from turnwire.read.located import located

CELLS = 90


def pretty(text: str) -> str:
    """An object over several lines: the message, or one that has it in a string."""
    return json.dumps(json.loads(text) if text[0] == "{" else {"n": [1, None], "log": text}, indent=2)


CONTAINERS: dict[str, Callable[[str], str]] = {
    # an empty line behind each text, since one directly behind it would make CSP/1 a reject
    **{name: lambda text, carrier=carrier: carrier(f"{text}\n") for name, carrier in CARRIERS.items()},
    "backticks": lambda text: f"So:\n```\n{text}\n```\n",
    "tildes": lambda text: f"So:\n~~~ x\n{text}\n~~~\n",
    "array": lambda text: f"[\n  {text if text[0] == '{' else json.dumps(text)},\n  7\n]\n",
    "pretty": lambda text: pretty(text) + "\n",
    "eight strings": lambda text: in_strings(text, 8),
}


def written(data: bytes, source: str, folder: Path) -> tuple[list[Path], int]:
    """The files of an input, and how often it has each record."""
    file = folder / "a.log"
    file.write_bytes(data)
    if source == "gzip":
        file.write_bytes(gzip.compress(data[:50]) + gzip.compress(data[50:]))
    elif source == "zstd":
        file.write_bytes(pytest.importorskip("zstandard").compress(data))
    elif source == "two":
        (folder / "b.log").write_bytes(data)
        return [file, folder / "b.log"], 2
    return ([file, file] if source == "same" else [file]), 1


def of_scan(files: list[Path], wire: str | None) -> tuple[int, int]:
    """By ``scan``, in blocks."""
    found = turnwire.scan(files, wire=wire, batch_bytes=200)
    return sum(map(len, found)), len(found.rejects)


def of_plan(files: list[Path], wire: str | None) -> tuple[int, int]:
    """By the blocks of a plan."""
    found = [read_block(block) for block in plan(files, wire=wire, block_bytes=1)]
    return sum(len(batch) for scan in found for batch in scan), sum(len(scan.rejects) for scan in found)


def of_located(files: list[Path], wire: str | None) -> tuple[int, int]:
    """By ``located``."""
    ones = [one for file in dict.fromkeys(files) for one in located(str(file), wire)]
    bad = sum(one.error is not None for one in ones)
    return len(ones) - bad, bad


def of_decoder(files: list[Path], wire: str | None) -> tuple[int, int]:
    """By a ``Decoder``, in pieces."""
    found = []
    for file in dict.fromkeys(files):
        found.append(fed(turnwire.Decoder(wire), in_pieces(file.read_bytes(), 7)))
    return sum(len(good) for good, _ in found), sum(len(bad) for _, bad in found)


def of_extract(files: list[Path], wire: str | None) -> tuple[int, None]:
    """By ``extract``."""
    texts = [file.read_bytes().decode() for file in dict.fromkeys(files)]
    return sum(len(turnwire.extract(text, wire and [wire])) for text in texts), None


def of_session(files: list[Path], wire: str | None) -> tuple[int, None]:
    """By a session of the messages."""
    messages = [one.message for one in turnwire.scan(files, wire=wire).messages()]
    return len(session.decode(session.encode(messages))), None


def named(wire: str | None, option: str = "--wire") -> tuple[str, ...]:
    return (option, wire) if wire else ()


def number(pattern: str, text: str) -> int:
    found = re.search(pattern, text)
    return int(found[1].replace(",", "")) if found else 0


def of_validate(files: list[Path], wire: str | None) -> tuple[int, int]:
    """By ``turnwire validate``."""
    done = run("validate", *files, "--json", *named(wire))
    return number(r"([\d,]+) good", done.err), sum(row["severity"] == "error" for row in done.records)


def of_stdin(files: list[Path], wire: str | None) -> tuple[int, int]:
    """By ``turnwire validate -`` of the first file alone."""
    done = run("validate", "-", "--json", *named(wire), stdin=files[0].read_bytes())
    return number(r"([\d,]+) good", done.err), sum(row["severity"] == "error" for row in done.records)


def of_stats(files: list[Path], wire: str | None) -> tuple[int, int]:
    """By ``turnwire stats``."""
    row = run("stats", *files, "--json", *named(wire)).records[0]
    return row["records"], row["rejects"]


def of_tokens(files: list[Path], wire: str | None) -> tuple[int, int]:
    """By ``turnwire tokens``."""
    done = run("tokens", *files, "--json", *named(wire))
    return sum(row["messages"] for row in done.records), number(r"([\d,]+) damaged", done.err)


def of_report(files: list[Path], wire: str | None) -> tuple[int, int]:
    """By ``turnwire report``."""
    said = run("report", *files, "-o", files[0].parent / "page.html", "--tokenizer", "none", *named(wire)).err
    return number(r"([\d,]+) records?", said), number(r"and ([\d,]+) rejects?", said)


def of_conform(files: list[Path], wire: str | None) -> tuple[int, int]:
    """By ``turnwire conform``."""
    rows = run("conform", wire or "nslip", *files, "--json").records
    return sum(row["records"] for row in rows), sum(row["rejects"] for row in rows)


def of_convert(files: list[Path], wire: str | None) -> int:
    """By ``turnwire convert``: all records and rejects, converted or refused."""
    return len(run("convert", *files, "--to", "nslip", "--json", *named(wire, "--from")).records)


WAYS: tuple[Callable[[list[Path], str | None], Any], ...] = (
    *(of_scan, of_plan, of_located, of_decoder, of_extract, of_session, of_validate, of_stdin, of_stats, of_tokens),
    *(of_report, of_conform, of_convert),
)
RAW = (of_decoder, of_extract)
"""Readers of bytes that nobody compressed."""


def cells(seed: int) -> list[tuple[Any, ...]]:
    """A sample of the cells: (container, wire, source, way)."""
    every = itertools.product(CONTAINERS, (None, *WIRES), ("file", "gzip", "zstd", "two", "same"), WAYS)
    return random.Random(seed).sample(
        [one for one in every if not (one[3] in RAW and one[2] in ("gzip", "zstd"))], CELLS
    )


@pytest.mark.once
def test_all_agree(tmp_path: Path) -> None:
    for place, (container, wire, source, way) in enumerate(cells(5)):
        if way is of_conform and wire is None:
            wire = WIRES[place % len(WIRES)]
        chance = random.Random(place)
        wires = [chance.choice(WIRES) if wire is None else wire for _ in range(3)]
        torn = container not in ("pretty", "array")
        texts = [(BAD if torn and chance.random() < 0.3 else GOOD)[name] for name in wires]
        data = "".join(map(CONTAINERS[container], texts)).encode()
        good, bad = sum(text in GOOD.values() for text in texts), sum(text in BAD.values() for text in texts)
        found = turnwire.scan(data)
        records = [one.wire for one in found.messages()]
        assert (sorted(records), len(found.rejects)) == (
            sorted(name for name, text in zip(wires, texts, strict=True) if text == GOOD[name]),
            bad,
        ), (container, texts)
        files, times = written(data, source, tmp_path)
        times = 1 if way is of_stdin else times
        said = way(files, wire)
        expected = {
            of_extract: (good * times, None),
            of_session: (good * times, None),
            of_convert: (good + bad) * times,
        }
        assert said == expected.get(way, (good * times, bad * times)), (container, wire, source, way.__name__, texts)
