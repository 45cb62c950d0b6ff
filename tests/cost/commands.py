"""Commands over a file, and a ledger of its lines: what a text costs behind the doors that people use."""

from __future__ import annotations

import io
import tempfile
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

from tests.cost.entries import MIXED, SESSION_LINE, Entry
from turnwire import cli, ledger

COMMANDS = ("scan", "validate", "stats", "tokens", "tokens --advise", "replay", "session pack")
OF_SESSIONS = ("session unpack", "session check")


def _command(words: str) -> Callable[[bytes], Any]:
    """What a command does with a file of these bytes; what it prints goes nowhere."""

    def run(data: bytes) -> int:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "a.log")
            path.write_bytes(data)
            with redirect_stdout(_nowhere()), redirect_stderr(_nowhere()):
                return cli.main([*words.split(), str(path)])

    return run


def _nowhere() -> io.TextIOWrapper:
    return io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True)


def _kept(data: bytes) -> Any:
    """A ledger with an entry for each line, appended in one go, and verified."""
    with tempfile.TemporaryDirectory() as folder:
        with ledger.Ledger(Path(folder, "a.db")) as book:
            lines = [line for line in data.split(b"\n") if line]
            book.append_many([("line", line, line[:20].decode("utf-8", "replace")) for line in lines])
        with ledger.Ledger(Path(folder, "a.db")) as book:
            verdict = book.verify()
            assert verdict, verdict
            return verdict


def commands() -> Iterator[tuple[str, Entry]]:
    """Entries that take any text, in a file."""
    for words in COMMANDS:
        yield f"command {words}", Entry(_command(words), MIXED)
    for words in OF_SESSIONS:
        yield f"command {words}", Entry(_command(words), SESSION_LINE)
    yield "ledger", Entry(_kept, MIXED)
