"""The ledger: append, read, find, heads and proofs."""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from turnwire import _backend
from turnwire.json.canonical import canonical
from turnwire.ledger import merkle
from turnwire.ledger.checkpoint import Checkpoint, ConsistencyProof, InclusionProof, private_key
from turnwire.ledger.connection import in_memory, open_reader, open_writer
from turnwire.ledger.schema import TILE, Entry, first_link

if TYPE_CHECKING:
    from typing import Self

    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    from turnwire._pure.common import ledger as _core
    from turnwire.ledger.verify import Verdict
else:
    _core = _backend.load("common.ledger")

_INSERT = "INSERT INTO entries (rowid, at, kind, key, body, chain) VALUES (?, ?, ?, ?, ?, ?)"
_INSERT_NODE = "INSERT INTO nodes (level, position, hash) VALUES (?, ?, ?)"
_SELECT = "SELECT rowid, at, kind, key, body, chain FROM entries"
_FIND = f"{_SELECT} WHERE kind = ? AND key = ? AND key <> '' AND rowid < ? ORDER BY rowid DESC LIMIT ?"
_LAST = "SELECT rowid, chain FROM entries ORDER BY rowid DESC LIMIT 1"
_PAGE = 512  # entries fetched at a time when many are read
_TILE_SIZE = 1 << TILE
_NAME_LIMIT = 0xFFFF  # bytes
_SURELY_SHORT = _NAME_LIMIT // 4  # characters

Item = tuple[str, bytes, str]  # kind, body, key


class Batch:
    """Entries that are appended together or not at all; made by :meth:`Ledger.batch`.

    Attributes:
        seqs: the numbers the entries got, once the batch is written.
    """

    def __init__(self) -> None:
        self._items: list[Item] = []
        self.seqs = range(0)

    def append(self, kind: str, body: Any, *, key: str = "") -> None:
        """Adds an entry; see :meth:`Ledger.append`."""
        self._items.append(_item(kind, body, key))


class _Ticket:
    """What one caller wants written, and what became of it."""

    __slots__ = ("error", "first", "items")

    def __init__(self, items: list[Item]) -> None:
        self.items = items
        self.first = 0
        self.error: BaseException | None = None


def _item(kind: str, body: Any, key: str) -> Item:
    for name, text in (("kind", kind), ("key", key)):
        if not isinstance(text, str) or (len(text) > _SURELY_SHORT and len(text.encode()) > _NAME_LIMIT):
            raise ValueError(f"{name} is a string of at most {_NAME_LIMIT} bytes")
    if isinstance(body, bytes):
        return kind, body, key
    if isinstance(body, (bytearray, memoryview)):
        return kind, bytes(body), key
    return kind, body.encode() if isinstance(body, str) else canonical(body), key


class Ledger:
    """An append-only, tamper-evident store in one SQLite file (section 11 of SAP V2.0).

    Every entry carries a link of a SHA-256 chain and is a leaf of an RFC 9162 Merkle tree. An ``append`` that has
    returned is on the disk; concurrent appends of several threads share a commit. Several processes may write.

    Args:
        path: the file; made when it is not there. The text ``":memory:"`` is a ledger in memory: this object's alone,
            for its threads only, gone when it is closed.
        signer: an Ed25519 private key, or its 32 raw bytes, that signs heads (extra ``sign``).
        synchronous: SQLite's "FULL" (default), "EXTRA" or "NORMAL" (a crash of the machine may lose the last commits).
        timeout: seconds to wait for another process's lock.

    Attributes:
        path: as it was given. in_memory: whether there is no file. id: 32 hex digits that no other ledger has.

    Raises RuleError(bad_ledger) for a file that is something else, sqlite3.OperationalError for a full disk or a lock
    that is never released. Do not share one object across a fork.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        signer: Ed25519PrivateKey | bytes | None = None,
        synchronous: str = "FULL",
        timeout: float = 30.0,
    ) -> None:
        self.path = path
        self._timeout = timeout
        self._signer = None if signer is None else private_key(signer)
        self._writer, self.id = open_writer(path, timeout, synchronous)
        # What is in memory has one connection, whoever uses it: then both locks are one, which nests (see close).
        self.in_memory = in_memory(path)
        self._reader = self._writer if self.in_memory else open_reader(path, timeout)
        self._write_lock: Any = threading.RLock() if self.in_memory else threading.Lock()
        self._read_lock: Any = self._write_lock if self.in_memory else threading.Lock()
        self._waiting: deque[_Ticket] = deque()
        self._known_version = -1  # of the file, as SQLite counts other connections' commits
        self._last = 0
        self._chain = first_link(self.id)
        self._tile: list[bytes] | None = []  # leaves since the last complete tile; None: to be read again

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Closes the file. What was appended stays."""
        with self._write_lock, self._read_lock:
            self._writer.close()
            self._reader.close()

    # ---------------------------------------------------------------- writing

    def append(self, kind: str, body: Any, *, key: str = "") -> int:
        """Appends one entry and answers its number (1, 2, 3 ...) when it is safe on the disk.

        Args:
            kind: what the entry is, e.g. "task".
            body: bytes or a str are kept as they are (a str as UTF-8); any other JSON value as canonical JSON.
            key: a name by which :meth:`find` finds it, e.g. a task id.
        """
        return self._write([_item(kind, body, key)])

    def append_many(self, entries: Iterable[tuple[str, Any] | tuple[str, Any, str]]) -> range:
        """Appends (kind, body) or (kind, body, key) tuples in one commit, all or none; answers their numbers."""
        items = [_item(entry[0], entry[1], entry[2] if len(entry) > 2 else "") for entry in entries]
        first = self._write(items) if items else 0
        return range(first, first + len(items))

    @contextmanager
    def batch(self) -> Iterator[Batch]:
        """``with ledger.batch() as batch: batch.append(...)``: one commit at the end, none after an exception."""
        batch = Batch()
        yield batch
        first = self._write(batch._items) if batch._items else 0
        batch.seqs = range(first, first + len(batch._items))

    def _write(self, items: list[Item]) -> int:
        """Group commit: whoever gets the lock first writes for all who wait."""
        ticket = _Ticket(items)
        self._waiting.append(ticket)
        with self._write_lock:
            if not ticket.first and ticket.error is None:
                waiting = []
                while self._waiting:
                    waiting.append(self._waiting.popleft())
                self._commit(waiting)
        if ticket.error is not None:
            raise ticket.error
        return ticket.first

    def _commit(self, tickets: list[_Ticket]) -> None:
        execute = self._writer.execute
        firsts: list[int] = []
        try:
            execute("BEGIN IMMEDIATE")
            self._catch_up()
            now = time.time_ns() // 1000
            for ticket in tickets:
                firsts.append(self._last + 1)
                self._insert(ticket.items, now)
            execute("COMMIT")
        except BaseException as error:
            self._known_version = -1  # what we believe about the end of the file may never have been written
            for ticket in tickets:
                ticket.error = error
            if self._writer.in_transaction:
                execute("ROLLBACK")
            return
        for ticket, first in zip(tickets, firsts, strict=True):
            ticket.first = first

    def _catch_up(self) -> None:
        (version,) = self._writer.execute("PRAGMA data_version").fetchone()
        if version != self._known_version:
            self._last, self._chain = self._writer.execute(_LAST).fetchone() or (0, first_link(self.id))
            self._tile = None if self._last % _TILE_SIZE else []
            self._known_version = version

    def _insert(self, items: list[Item], now: int) -> None:
        start = 0
        while start < len(items):  # up to the end of a tile at a time
            piece = items[start : start + _TILE_SIZE - self._last % _TILE_SIZE]
            rows, leaves, self._chain = _core.seal(self._last, now, piece, self._chain)
            self._writer.executemany(_INSERT, rows)
            self._last += len(piece)
            start += len(piece)
            if self._tile is not None:
                self._tile += leaves
            if not self._last % _TILE_SIZE:
                self._close_tile(self._last, self._tile)
                self._tile = []

    def _close_tile(self, seq: int, leaves: list[bytes] | None) -> None:
        """Stores the inner nodes that the entry ``seq`` completes."""
        source = _Nodes(self._writer)
        if leaves is not None:
            source.tiles[seq // _TILE_SIZE - 1] = leaves
        level = TILE
        while not seq % (1 << level):
            position = (seq >> level) - 1
            hash_ = source.computed(level, position)
            self._writer.execute(_INSERT_NODE, (level, position, hash_))
            level += TILE

    # ---------------------------------------------------------------- reading

    def __len__(self) -> int:
        with self._read_lock:
            (last,) = self._reader.execute("SELECT coalesce(max(rowid), 0) FROM entries").fetchone()
        size: int = last
        return size

    def __getitem__(self, seq: int) -> Entry:
        """The entry with that number. Raises IndexError."""
        with self._read_lock:
            row = self._reader.execute(f"{_SELECT} WHERE rowid = ?", (seq,)).fetchone()
        if row is None:
            raise IndexError(f"the ledger has no entry {seq}")
        return Entry(*row)

    def __iter__(self) -> Iterator[Entry]:
        return self.entries()

    def entries(self, start: int = 1, stop: int | None = None, *, kind: str | None = None) -> Iterator[Entry]:
        """Entries ``start`` up to, not including, ``stop``, in order; of one kind when ``kind`` is given."""
        where = "rowid >= ? AND rowid < ?" if kind is None else "rowid >= ? AND rowid < ? AND kind = ?"
        query = f"{_SELECT} WHERE {where} ORDER BY rowid LIMIT {_PAGE}"
        stop = 2**63 - 1 if stop is None else stop
        while True:
            with self._read_lock:
                rows = self._reader.execute(query, (start, stop) if kind is None else (start, stop, kind)).fetchall()
            yield from map(Entry._make, rows)
            if len(rows) < _PAGE:
                return
            start = rows[-1][0] + 1

    def find(self, kind: str, key: str) -> Iterator[Entry]:
        """Entries of that kind with that key, newest first, through an index."""
        before = 2**63 - 1
        limit = 1  # the newest is mostly the one that is wanted
        while True:
            with self._read_lock:
                rows = self._reader.execute(_FIND, (kind, key, before, limit)).fetchall()
            for row in rows:
                yield Entry(*row)
            if len(rows) < limit:
                return
            before, limit = rows[-1][0], _PAGE

    # ---------------------------------------------------------------- proofs

    def head(self) -> Checkpoint:
        """The checkpoint of now: signed when the ledger has a signer. Keep it where this machine cannot change it."""
        with self._snapshot() as nodes:
            last, chain = nodes.connection.execute(_LAST).fetchone() or (0, first_link(self.id))
            top = merkle.root(last, nodes)
        now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        checkpoint = Checkpoint(self.id, last, top.hex(), chain.hex(), now)
        return checkpoint if self._signer is None else checkpoint.signed(self._signer)

    def prove(self, seq: int, size: int | None = None) -> InclusionProof:
        """That entry ``seq`` is among the first ``size`` (default: all) entries. Raises IndexError."""
        with self._snapshot() as nodes:
            size = self._size(nodes, size)
            path = tuple(merkle.inclusion(seq - 1, size, nodes))
            return InclusionProof(seq, size, nodes(0, seq - 1), path, merkle.root(size, nodes))

    def consistency(self, a: int, b: int | None = None) -> ConsistencyProof:
        """That the ledger of ``b`` (default: all) entries continues the ledger of ``a`` entries. Raises IndexError."""
        with self._snapshot() as nodes:
            b = self._size(nodes, b)
            path = tuple(merkle.consistency(a, b, nodes))
            return ConsistencyProof(a, b, path, merkle.root(a, nodes), merkle.root(b, nodes))

    def verify(self, *heads: Checkpoint, trusted: Iterable[Any] = ()) -> Verdict:
        """Proves the whole file: schema, every row, chain, tree, and that it continues the given checkpoints.

        ``trusted``: public keys (Ed25519, raw bytes or hex); with any, every head must be signed by one of them.
        """
        from turnwire.ledger.verify import verify_connection, verify_file

        if self.in_memory:
            with self._read_lock:
                return verify_connection(self._reader, self.path, *heads, trusted=trusted)
        return verify_file(self.path, *heads, trusted=trusted, timeout=self._timeout)

    @contextmanager
    def _snapshot(self) -> Iterator[_Nodes]:
        with self._read_lock:
            self._reader.execute("BEGIN")
            try:
                yield _Nodes(self._reader)
            finally:
                self._reader.execute("COMMIT")

    @staticmethod
    def _size(nodes: _Nodes, wanted: int | None) -> int:
        (last,) = nodes.connection.execute("SELECT coalesce(max(rowid), 0) FROM entries").fetchone()
        if wanted is None:
            size: int = last
            return size
        if wanted > last:
            raise IndexError(f"the ledger has {last} entries, not {wanted}")
        return wanted


class _Nodes:
    """The ledger's tree as :mod:`merkle` asks for it: stored inner nodes, leaves hashed again from their rows."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.connection = connection
        self.tiles: dict[int, list[bytes]] = {}

    def __call__(self, level: int, position: int) -> bytes:
        if level < TILE:
            return self._in_tile(level, position)
        if not level % TILE:
            query = "SELECT hash FROM nodes WHERE level = ? AND position = ?"
            row = self.connection.execute(query, (level, position)).fetchone()
            if row is not None:
                stored: bytes = row[0]
                return stored
        return self.computed(level, position)

    def computed(self, level: int, position: int) -> bytes:
        """The node from the two below it."""
        return merkle.node_hash(self(level - 1, position * 2), self(level - 1, position * 2 + 1))

    def _in_tile(self, level: int, position: int) -> bytes:
        tile, inside = divmod(position << level, _TILE_SIZE)
        if tile not in self.tiles:
            first = tile * _TILE_SIZE + 1
            query = "SELECT rowid, at, kind, key, body FROM entries WHERE rowid BETWEEN ? AND ? ORDER BY rowid"
            rows = self.connection.execute(query, (first, first + _TILE_SIZE - 1))
            self.tiles[tile] = [_core.leaf_of(*row) for row in rows]
        hashes = self.tiles[tile][inside : inside + (1 << level)]
        return _core.fold(hashes)
