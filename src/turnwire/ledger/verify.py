"""Verification of a ledger file, row by row, in one read-only pass; nothing in the file is taken on trust."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

from turnwire import _backend
from turnwire.errors import Reason, RuleError, expect
from turnwire.ledger import merkle
from turnwire.ledger.connection import connect, in_memory, ledger_id
from turnwire.ledger.schema import APPLICATION_ID, SCHEMA, TILE, first_link

if TYPE_CHECKING:
    from turnwire._pure.common import ledger as _core
    from turnwire.ledger.checkpoint import Checkpoint
else:
    _core = _backend.load("common.ledger")

_ROWS = "SELECT rowid, at, kind, key, body, chain FROM entries ORDER BY rowid"
_TILE_SIZE = 1 << TILE
_WHERE = {"missing": "rows", "type": "rows", "chain": "chain"}
_TEXT = {
    "missing": "the entry is missing",
    "type": "a value has another type than was written",
    "chain": "the entry is not what the chain says",
}


class Fault(NamedTuple):
    """The first place that fails. ``seq``: the entry, or None where it is none; ``where``: what was looked at."""

    where: str
    seq: int | None
    text: str


class Verdict(NamedTuple):
    """What verification proved. True when nothing failed.

    size, root, chain: of the entries that were read before the fault, or of all. proved: sentences. fault: or None.
    """

    size: int
    root: str
    chain: str
    proved: tuple[str, ...]
    fault: Fault | None

    def __bool__(self) -> bool:
        return self.fault is None


class _Broken(Exception):
    def __init__(self, where: str, text: str, seq: int | None = None) -> None:
        self.fault = Fault(where, seq, text)


class _Pass:
    """One run over a file; its attributes are what is known so far."""

    def __init__(self, heads: tuple[Checkpoint, ...], trusted: tuple[Any, ...]) -> None:
        self.heads = heads
        self.trusted = trusted
        self.size = 0
        self.tiles = merkle.Frontier()  # its leaves are the roots of whole tiles
        self.tail: list[bytes] = []
        self.chain = b""
        self.proved: list[str] = []
        self.nodes: dict[tuple[int, int], bytes] = {}
        self.seen: dict[int, tuple[str, str]] = {}  # size of a head -> root and chain there

    def run(self, connection: sqlite3.Connection, path: object) -> None:
        self._schema(connection)
        identity = ledger_id(connection, path)
        self.chain = first_link(identity)
        self._rows(connection)
        self._nodes(connection)
        self._pages(connection)
        for head in self.heads:
            self._head(head, identity)

    def _schema(self, connection: sqlite3.Connection) -> None:
        (application,) = connection.execute("PRAGMA application_id").fetchone()
        if application != APPLICATION_ID:
            raise _Broken("schema", "the file does not say that it is a ledger")
        found = dict(
            connection.execute("SELECT name, sql FROM sqlite_schema WHERE name NOT LIKE 'sqlite!_%' ESCAPE '!'")
        )
        for name in SCHEMA.keys() | found.keys():
            if name not in found:
                raise _Broken("schema", f"{name} is missing")
            if name not in SCHEMA:
                raise _Broken("schema", f"{name} does not belong there")
            if found[name] != SCHEMA[name]:
                raise _Broken("schema", f"{name} was changed")
        self.proved.append("tables and append-only triggers are as they were made")

    def _rows(self, connection: sqlite3.Connection) -> None:
        wanted = sorted({head.size for head in self.heads})
        if 0 in wanted:
            self.seen[0] = (self.root(), self.chain.hex())
        rows = connection.execute(_ROWS)
        while page := rows.fetchmany(_TILE_SIZE):
            leaves, self.chain, wrong = _core.follow(page, self.size, self.chain)
            for size in wanted:
                if self.size < size <= self.size + len(leaves):
                    chain = page[size - self.size - 1][5].hex()
                    self.seen[size] = (self.root(leaves[: size - self.size]), chain)
            self.size += len(leaves)
            self.tail = leaves
            if wrong is not None:
                raise _Broken(_WHERE[wrong], _TEXT[wrong], self.size + 1)
            if len(leaves) == _TILE_SIZE:
                self._close_tile(leaves)
        self.proved.append(f"{self.size} entries are the ones that were appended, in order, by their hash chain")

    def _close_tile(self, leaves: list[bytes]) -> None:
        self.tail = []
        completed = self.tiles.push(_core.fold(leaves))
        for above in range(0, len(completed), TILE):
            level = TILE + above
            self.nodes[level, (self.size >> level) - 1] = completed[above]

    def root(self, leaves: list[bytes] | None = None) -> str:
        """The tree head over the closed tiles and the leaves behind them."""
        return self.tiles.root(self.tail if leaves is None else leaves).hex()

    def _nodes(self, connection: sqlite3.Connection) -> None:
        for level, position, stored in connection.execute("SELECT level, position, hash FROM nodes"):
            if self.nodes.pop((level, position), None) != stored:
                raise _Broken("tree", f"the node at level {level}, position {position} is wrong")
        if self.nodes:
            level, position = min(self.nodes)
            raise _Broken("tree", f"the node at level {level}, position {position} is missing")
        self.proved.append(f"the Merkle tree over them is whole; its root is {self.root()}")

    def _pages(self, connection: sqlite3.Connection) -> None:
        (found,) = connection.execute("PRAGMA integrity_check(1)").fetchone()
        if found != "ok":
            raise _Broken("pages", found)
        (extra,) = connection.execute("SELECT count(*) FROM about WHERE name NOT IN ('format', 'id')").fetchone()
        if extra:
            raise _Broken("schema", "about holds a name that does not belong there")
        self.proved.append("pages and indexes of the file are consistent")

    def _head(self, head: Checkpoint, identity: str) -> None:
        if head.ledger != identity:
            raise _Broken("head", f"the kept head is of ledger {head.ledger}, this is {identity}")
        if self.trusted and not any(head.signed_by(key) for key in self.trusted):
            raise _Broken("head", "the kept head is not signed by a trusted key")
        if head.size > self.size:
            raise _Broken("head", f"the kept head has {head.size} entries: the tail is cut off", self.size + 1)
        if head.size < 0 or self.seen[head.size] != (head.root, head.chain):
            raise _Broken("head", f"the first {head.size} entries are not those of the kept head")
        signed = "signed " if self.trusted else ""
        self.proved.append(f"it continues the {signed}head of {head.time} with {head.size} entries")


def verify_file(
    path: str | os.PathLike[str], *heads: Checkpoint, trusted: Iterable[Any] = (), timeout: float = 30.0
) -> Verdict:
    """Proves a ledger file; see :meth:`Ledger.verify`. Opens it read-only.

    Without a kept head nobody can see a tail that was cut off, or a file forged from the start. Raises
    FileNotFoundError, or OSError for a file that cannot be read.
    """
    if in_memory(path) or not os.path.isfile(path):
        raise FileNotFoundError(2, "no such file", os.fspath(path))
    connection = connect(path, timeout, mode="ro")
    try:
        return verify_connection(connection, path, *heads, trusted=trusted)
    finally:
        connection.close()


def verify_connection(
    connection: sqlite3.Connection, path: object, *heads: Checkpoint, trusted: Iterable[Any] = ()
) -> Verdict:
    """Proves the ledger of an open connection, in one transaction; ``path`` is what errors call it."""
    run = _Pass(heads, tuple(trusted))
    fault: Fault | None = None
    try:
        connection.execute("BEGIN")
        run.run(connection, path)
    except _Broken as broken:
        fault = broken.fault
    except sqlite3.DatabaseError as error:
        code = getattr(error, "sqlite_errorcode", None)  # what the module itself raises has none
        if code == sqlite3.SQLITE_NOTADB and not run.size:
            fault = Fault("file", None, "this is no ledger: it is no SQLite database")
        else:
            fault = Fault("file", run.size + 1, str(error))
    except RuleError as error:
        fault = Fault("file", None, error.text)
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")  # nothing was written
    return Verdict(run.size, run.root(), run.chain.hex(), tuple(run.proved), fault)


def require(verdict: Verdict) -> Verdict:
    """The verdict itself when nothing failed. Raises RuleError(ledger_broken) with the first fault."""
    expect(verdict, Verdict, "the Verdict of a ledger is required")
    if verdict.fault is not None:
        where = "" if verdict.fault.seq is None else f" at entry {verdict.fault.seq}"
        raise RuleError(Reason.LEDGER_BROKEN, f"{verdict.fault.where}{where}: {verdict.fault.text}", rule="ledger")
    return verdict
