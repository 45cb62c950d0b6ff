"""Commands over a file, and a ledger of its lines: what a text costs behind the doors that people use."""

from __future__ import annotations

import io
import tempfile
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

from tests.cost.entries import MIXED, SESSION_LINE, Entry, _refused
from tests.cost.units import GOOD
from turnwire import cli, csp, ledger

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


def _exported(data: bytes) -> int:
    """What ``ledger export`` prints of a ledger with an entry for each 32 bytes."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "a.db")
        with ledger.Ledger(path) as book:
            book.append_many([("piece", data[at : at + 32]) for at in range(0, len(data), 32)])
        with redirect_stdout(_nowhere()), redirect_stderr(_nowhere()):
            return cli.main(["ledger", "export", str(path)])


def _stored(data: bytes) -> Any:
    """A store of CSP/1 whose journal is a ledger, and one that is made of that again."""
    with tempfile.TemporaryDirectory() as folder, ledger.Ledger(Path(folder, "a.db")) as book:
        store = csp.Store(journal=book)
        for message in csp.parse(data, mode="lenient").messages:
            _refused(store.apply)(message)
        return csp.Store(journal=book).head, store.head


def commands() -> Iterator[tuple[str, Entry]]:
    """Entries that take any text, in a file."""
    for words in COMMANDS:
        yield f"command {words}", Entry(_command(words), MIXED)
    for words in OF_SESSIONS:
        yield f"command {words}", Entry(_command(words), SESSION_LINE)
    yield "ledger", Entry(_kept, MIXED)
    yield "ledger export", Entry(_exported, MIXED)
    yield "ledger of csp.Store", Entry(_refused(_stored), GOOD["csp"])
