"""Sessions of coding agents: their columns, and what they cost, against DuckDB and Polars on the same files.

    python -m benchmarks.usage [--size BYTES] [--files N] [--rounds N] [--threads N]

Files are generated in the shape of Claude Code's: a response is a line for each of its blocks, a resumed session
repeats lines of another file, the result of a tool stands in its line twice, texts have newlines, quotes, code and CJK.
No line is damaged, since Polars stops at one. All three readers are asked the same, and must give the same answers:

- columns: of each line its type, session, time, project, model, id, request and four counts of tokens, as Arrow;
- usage: of each model the responses and their tokens, each response (``message.id`` and ``requestId``) counted once:
  the copy with the most tokens. By session and by day the answers are compared, too.

The peers are told the format and the types, and so build only what is asked; turnwire finds the format itself, among
all that it knows, and checks each line by it. Without ``--threads`` each has one.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import sys
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter, process_time
from typing import Any

os.environ["POLARS_MAX_THREADS"] = dict(zip(sys.argv, sys.argv[1:], strict=False)).get("--threads", "1")

import duckdb
import polars
import pyarrow

import turnwire
from benchmarks.measure import by_turns, machine, once, ratio
from turnwire.read.usage import usage

THREADS = os.environ["POLARS_MAX_THREADS"]  # read when Polars is imported
MODELS = ("claude-sonnet-4-5-20250929", "claude-opus-4-1-20250805", "claude-haiku-4-5-20251001")
TOKENS = ("input_tokens", "output_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
SUMS = ("responses", "input_tokens", "output_tokens", "cache_write_tokens", "cache_read_tokens")
COLUMNS = ("kind", "conversation", "time", "project", "model", "id", "request_id", *SUMS[1:])
LETTERS = "ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz123456789"
PROSE = (
    *[
        "the",
        "build",
        "fails",
        "because",
        "a",
        "test",
        "of",
        "the",
        "parser",
        "expects",
        "another",
        "offset",
        "now",
        "so",
        "I",
        "look",
        "at",
        "what",
        "changed",
    ],
    *("`setup.py`,", '"quoted"', "it's", "—", "é", "会议记录", "テスト", "결과", "✓", "\n\n", "- ", "**Note:**"),
)
CODE = (
    "    def take(self, batch: Batch) -> None:\n",
    '        """Adds the records of a batch."""\n',
    '        if batch.file != self._file:\n            raise ValueError(f"{self._file!r} isn\'t {batch.file}")\n',
    '\tfor (size_t i = 0; i < n; i++) {\n\t\tputs("\\\\n");\n\t}\n',
    "-rw-r--r--  1 ada  staff   4096 Sep 14 11:02 src/turnwire/log/scanning.py\n",
    "E       AssertionError: assert {'a': 1, 'b': [2, 3]} == {'a': 1}\n",
    "  # 会議の記録を読む\n",
    "\x1b[32mPASSED\x1b[0m tests/log/test_where.py::test_ranges[native] (0.02s)\n",
)


class Texts:
    """Random texts: cuts of a long one, of about a length."""

    def __init__(self, numbers: random.Random) -> None:
        self.numbers = numbers
        self.prose = " ".join(numbers.choices(PROSE, k=1 << 18))
        self.code = "".join(numbers.choices(CODE, (4, 4, 4, 4, 4, 4, 1, 1), k=1 << 15))
        self.letters = "".join(numbers.choices(LETTERS, k=1 << 20))

    def cut(self, text: str, usual: int, most: int) -> str:
        """A part of a text: half of them shorter than ``usual``, some much longer."""
        size = min(most, 1 + int(self.numbers.lognormvariate(0, 1.2) * usual))
        at = self.numbers.randrange(len(text) - size)
        return text[at : at + size]

    def id(self, prefix: str, size: int = 24) -> str:
        at = self.numbers.randrange(len(self.letters) - size)
        return prefix + self.letters[at : at + size]

    def uuid(self) -> str:
        digits = f"{self.numbers.getrandbits(128):032x}"
        return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))


def session(texts: Texts) -> Iterator[dict[str, Any]]:
    """The lines of a session, without end."""
    numbers = texts.numbers
    name, second, parent = texts.uuid(), numbers.randrange(40 * 86400), None
    shared = {"isSidechain": False, "userType": "external", "cwd": f"/home/ada/work/{numbers.choice('abcdef')}"}
    shared |= {"sessionId": name, "version": "2.0.14", "gitBranch": "main"}

    def line(kind: str, message: dict[str, Any], **more: Any) -> dict[str, Any]:
        nonlocal second, parent
        second += numbers.randrange(1, 40)
        clock = f"{second // 3600 % 24:02}:{second // 60 % 60:02}:{second % 60:02}.{numbers.randrange(1000):03}Z"
        made = {"parentUuid": parent, **shared, "type": kind, "message": message, **more, "uuid": texts.uuid()}
        parent = made["uuid"]
        day = second // 86400
        return {**made, "timestamp": f"2025-{9 + day // 30:02}-{1 + day % 30:02}T{clock}"}

    yield {"type": "summary", "summary": texts.cut(texts.prose, 40, 90), "leafUuid": texts.uuid()}
    while True:
        yield line("user", {"role": "user", "content": texts.cut(texts.prose, 200, 9000)})
        for _ in range(numbers.randrange(1, 12)):
            tool, call = numbers.choice(("Bash", "Read", "Edit", "Grep")), texts.id("toolu_01")
            said = {
                name: int(numbers.lognormvariate(0, 1) * most)
                for name, most in zip(TOKENS, (9, 150, 900, 30000), strict=True)
            }
            said["cache_creation"] = {"ephemeral_5m_input_tokens": said[TOKENS[2]], "ephemeral_1h_input_tokens": 0}
            message = {"model": numbers.choice(MODELS), "id": texts.id("msg_01"), "type": "message"}
            message["role"] = "assistant"
            edit = {"old_string": texts.cut(texts.code, 300, 9000), "new_string": texts.cut(texts.code, 400, 9000)}
            blocks = [
                {
                    "type": "thinking",
                    "thinking": texts.cut(texts.prose, 500, 9000),
                    "signature": texts.cut(texts.letters, 600, 4000),
                },
                {"type": "text", "text": texts.cut(texts.prose, 200, 5000)},
                {
                    "type": "tool_use",
                    "id": call,
                    "name": tool,
                    "input": edit if tool == "Edit" else {"command": texts.cut(texts.code, 60, 2000)},
                },
            ]
            request = texts.id("req_011")
            for number, block in enumerate(blocks[numbers.randrange(3) :]):
                counts = said if block is blocks[2] else {**said, "output_tokens": 1 + number % 2}
                content = {**message, "content": [block], "stop_reason": None, "stop_sequence": None}
                usage = {**counts, "service_tier": "standard"}
                yield line("assistant", {**content, "usage": usage}, requestId=request)
            output = texts.cut(texts.code, 900, 60_000)
            result = {"tool_use_id": call, "type": "tool_result", "content": output, "is_error": False}
            twice = {"stdout": output, "stderr": "", "interrupted": False, "isImage": False}
            yield line("user", {"role": "user", "content": [result]}, toolUseResult=twice)


def write(folder: Path, size: int, files: int) -> None:
    """Writes files of sessions, together about so many bytes."""
    texts = Texts(random.Random(20260105))
    before: list[bytes] = []
    for number in range(files):
        lines = session(texts)
        with Path(folder, f"{texts.uuid()}.jsonl").open("wb") as file:
            if number % 5 == 4:
                file.writelines(before)  # a session that was resumed
            before = []
            while file.tell() < size // files:
                if file.tell() > 5 << 20:
                    lines = session(texts) if texts.numbers.random() < 1 / 2000 else lines
                made = json.dumps(next(lines), ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
                if len(before) < 200:
                    before.append(made)
                file.write(made)


GIVEN = {"type": str, "sessionId": str, "timestamp": str, "cwd": str, "requestId": str}
COUNTED = "count(*), " + ", ".join(f"sum({name})::BIGINT" for name in TOKENS)
KEYS = {"model": "model", "session": "sessionId", "day": "timestamp[:10]"}
"""The key of turnwire -> that of DuckDB."""


class DuckDB:
    """The questions to DuckDB; ``max_by`` is as fast as a window."""

    def __init__(self, folder: Path) -> None:
        self.connection = duckdb.connect()
        self.connection.execute(f"SET threads = {THREADS}")
        counts = ", ".join(f"{name} BIGINT" for name in TOKENS)
        types = {
            **dict.fromkeys(GIVEN, "VARCHAR"),
            "message": f"STRUCT(model VARCHAR, id VARCHAR, usage STRUCT({counts}))",
        }
        columns = ", ".join(f"'{name}': '{kind}'" for name, kind in types.items())
        self.source = (
            f"read_json('{folder}/*.jsonl', format = 'newline_delimited', auto_detect = false, columns = {{{columns}}})"
        )
        self.counts = ", ".join(f"message.usage.{name} AS {name}" for name in TOKENS)

    def columns(self) -> int:
        names = f"{', '.join(GIVEN)}, message.model, message.id, {self.counts}"
        reader = self.connection.sql(f"SELECT {names} FROM {self.source}").to_arrow_reader()
        return sum(batch.num_rows for batch in reader)

    def usage(self, by: str = "model") -> dict[str, list[int]]:
        row = ", ".join(f"{name} := message.usage.{name}" for name in TOKENS)
        key = "message.model" if by == "model" else KEYS[by]
        best = f"max_by(struct_pack(key := {key}, {row}), {' + '.join(f'message.usage.{name}' for name in TOKENS)})"
        once = (
            f"SELECT unnest({best}) FROM {self.source} WHERE message.usage IS NOT NULL GROUP BY message.id, requestId"
        )
        rows = self.connection.sql(f"SELECT key, {COUNTED} FROM ({once}) GROUP BY 1").fetchall()
        return {row[0]: list(row[1:]) for row in rows}


class Polars:
    """The questions to Polars, by its streaming engine, the faster one."""

    def __init__(self, folder: Path) -> None:
        text = polars.String
        message = {"model": text, "id": text, "usage": polars.Struct(dict.fromkeys(TOKENS, polars.Int64))}
        schema = {**dict.fromkeys(GIVEN, text), "message": polars.Struct(message)}
        inner = polars.col("message").struct
        counts = [inner.field("usage").struct.field(name) for name in TOKENS]
        lines = polars.scan_ndjson(f"{folder}/*.jsonl", schema=schema)
        self.lines = lines.select(*GIVEN, inner.field("model"), inner.field("id"), *counts)

    def columns(self) -> int:
        return self.lines.collect(engine="streaming").to_arrow().num_rows

    def usage(self, by: str = "model") -> dict[str, list[int]]:
        key = {"session": polars.col("sessionId"), "day": polars.col("timestamp").str.head(10)}.get(
            by, polars.col("model")
        )
        spent = self.lines.filter(polars.col(TOKENS[0]).is_not_null())
        spent = spent.select("id", "requestId", *TOKENS, key.alias("key"), polars.sum_horizontal(*TOKENS).alias("all"))
        kept = polars.col("key", *TOKENS).sort_by("all", descending=True).first()
        sums = spent.group_by("id", "requestId").agg(kept).group_by("key").agg(polars.len(), polars.col(*TOKENS).sum())
        return {row[0]: list(row[1:]) for row in sums.collect(engine="streaming").rows()}


class Turnwire:
    """The questions to turnwire, of all formats at once."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.threads = str(folder), int(THREADS)

    def columns(self) -> int:
        found = turnwire.scan(self.folder, wire="formats", columns=COLUMNS, threads=self.threads)
        return sum(batch.num_rows for batch in pyarrow.RecordBatchReader.from_stream(found))

    def usage(self, by: str = "model") -> dict[str, list[int]]:
        found = usage(self.folder, by, threads=self.threads)
        return {row[by]: [row[name] for name in SUMS] for row in found.rows}


def main() -> None:
    """Generates, compares the answers, measures and prints."""
    parser = argparse.ArgumentParser(description=str(__doc__).partition("\n")[0])
    parser.add_argument("--size", type=int, default=200_000_000, help="bytes of all files")
    parser.add_argument("--files", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    clock = process_time if options.threads == 1 else perf_counter
    with TemporaryDirectory() as name:
        folder = Path(name)
        write(folder, options.size, options.files)
        size = sum(file.stat().st_size for file in folder.iterdir())
        readers = {kind.__name__: kind(folder) for kind in (Turnwire, DuckDB, Polars)}
        lines = readers["Turnwire"].columns()
        for by in KEYS:
            first, *others = (
                {key: told[key] for key in sorted(told)} for told in (one.usage(by) for one in readers.values())
            )
            assert all(first == other for other in others), f"the sums by {by} differ"
        told = readers["Turnwire"].usage()
        runs = {f"{who} columns": once(one.columns, lines, clock) for who, one in readers.items()}
        runs |= {f"{who} usage": once(one.usage, told, clock) for who, one in readers.items()}
        samples = by_turns(runs, options.rounds)
    print(f"{machine()}\n{options.files} files, {size / lines:,.0f} bytes a line, threads: {options.threads}\n")
    print("| sessions | MB/s | DuckDB ÷ turnwire | Polars ÷ turnwire |\n|---|--:|--:|--:|")
    for what in ("columns", "usage"):
        ratios = [ratio(samples, f"{who} {what}", f"Turnwire {what}").median for who in ("DuckDB", "Polars")]
        speed = size / median(samples[f"Turnwire {what}"]) / 1e6
        print(f"| {what} | {speed:,.0f} | {ratios[0]:.1f} × | {ratios[1]:.1f} × |", flush=True)


if __name__ == "__main__":
    main()
