"""The ledger: append, read, find, heads and proofs."""

from __future__ import annotations

import io
import os
import sqlite3
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager, suppress
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from turnwire.atomic import create, done_before, named, scratch, sync_directory
from turnwire.errors import Reason, RuleError, expect
from turnwire.json.text import canonical
from turnwire.ledger.checkpoint import Checkpoint, ConsistencyProof, InclusionProof, private_key
from turnwire.ledger.connection import (
    Check,
    TrustedKeys,
    Verdict,
    connect,
    damage,
    in_memory,
    input_output,
    open_ledger,
    require,
    require_schema,
    transaction,
    verify_connection,
    verify_file,
)
from turnwire.ledger.rows import (
    SELECT,
    Entry,
    ProvedRows,
    Row,
    broken,
    consistency,
    first_link,
    inclusion,
    last_link,
    proved,
    require_continued,
    root,
    seal,
)

if TYPE_CHECKING:
    from contextlib import AbstractContextManager
    from typing import Self

    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey


_FIND = f"{SELECT} WHERE kind = ? AND key = ? AND key <> '' AND rowid < ? ORDER BY rowid DESC LIMIT ?"
_FARTHEST = 2**63 - 1  # of the numbers that SQLite takes
_PAGE = 512  # entries fetched at a time when many are read, at most

_GROUP = 64  # rows of one statement, where there are many
_VALUES = "(?, ?, ?, ?, ?, ?)"
_INSERT = "INSERT INTO entries (rowid, at, kind, key, body, chain) VALUES {}"
_INSERT_ONE = _INSERT.format(_VALUES)
_INSERT_GROUP = _INSERT.format(", ".join([_VALUES] * _GROUP))
_COUNT = "SELECT count(*) FROM entries WHERE rowid BETWEEN ? AND ?"
_NAME_LIMIT = 0xFFFF  # bytes
_SURELY_SHORT = _NAME_LIMIT // 4  # characters
Item = tuple[str, bytes, str]  # kind, body, key


def _number(seq: int) -> int:
    """A number that SQLite takes, in the place of one that no entry has."""
    return max(0, min(seq, _FARTHEST))


class _Reading:
    """Holds the lock of who reads; a class, since each look into the ledger takes it. Raises RuleError(ledger_broken)
    if SQLite finds the file damaged meanwhile, OSError if it was opened as one that nobody writes and has
    changed."""

    __slots__ = ("check", "lock")

    def __init__(self, lock: AbstractContextManager[Any], check: Check) -> None:
        self.lock = lock
        self.check = check

    def __enter__(self) -> None:
        self.lock.__enter__()

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        try:
            self.check()
            if error is not None and (found := damage(error)) is not None:
                raise found from error
        finally:
            self.lock.__exit__(kind, error, trace)


class Ledger:
    """An append-only, tamper-evident store in one SQLite file (section 11 of SAP V2.0).

    Every entry has a link of a SHA-256 chain and is a leaf of an RFC 9162 Merkle tree. When ``append`` returns, the
    entry is on disk. Several threads and processes may write; many entries at once (``append_many``) share a commit.

    Args:
        path: the file, which is created if necessary; ``":memory:"`` keeps the ledger in memory for this object until
            it is closed.
        signer: an Ed25519 private key, or its 32 raw bytes, that signs heads (extra ``sign``).
        synchronous: SQLite's "FULL" (default), "EXTRA" or "NORMAL" (a crash of the machine may lose the last
            commits).
        timeout: seconds to wait for another process's lock.
        after: a head kept elsewhere that the file must continue; this reads all rows.
        read_only: open an existing file for reading, even if it cannot be written.

    Attributes:
        path, read_only: as given. in_memory: whether there is no file. id: 32 hex digits that no other ledger has.

    Raises RuleError(bad_ledger) for a file that is not a ledger, RuleError(ledger_broken) for a ledger that is damaged,
    has changed tables or triggers, or does not continue ``after`` (both are ValueErrors), and sqlite3.OperationalError
    for a full disk or a lock that is never released. With ``read_only``: OSError for a missing or unreadable file,
    io.UnsupportedOperation for writing. Do not share one object across a fork.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        signer: Ed25519PrivateKey | bytes | None = None,
        synchronous: str = "FULL",
        timeout: float = 30.0,
        after: Checkpoint | None = None,
        read_only: bool = False,
    ) -> None:
        self.path = path
        self.read_only = read_only
        self.in_memory = in_memory(path)
        self._timeout = timeout
        self._signer = None if signer is None else private_key(signer)
        # What is in memory has one connection, whoever uses it: then both locks are one, which nests (see close).
        self._lock = threading.RLock() if self.in_memory else threading.Lock()
        self._writer, self._reader, check, self.id = open_ledger(path, timeout, None if read_only else synchronous)
        self._reading = _Reading(self._lock, check)
        self._writing = self._lock if self.in_memory else threading.Lock()
        self._first_link = first_link(self.id)
        self._tree = ProvedRows(self.id)
        self._known_version = -1  # of the file, as SQLite counts other connections' commits
        self._schema_version = -1  # that was looked at
        self._last, self._chain = 0, self._first_link  # as this object last saw the end of the file
        self._file = None if read_only else self._file_now()
        if after is not None:
            try:
                expect(after, Checkpoint, "after must be a Checkpoint")
                with self._proved_rows() as (rows, connection):
                    rows.require_continues(connection, after)
            except BaseException:
                self.close()
                raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Closes the file."""
        with suppress(OSError), self._writing:  # each reader was told of those
            if self._writer is not None:
                self._writer.close()
            with self._reading:
                self._reader.close()

    # ---------------------------------------------------------------- writing

    def append(self, kind: str, body: Any, *, key: str = "", expect: int | None = None) -> int:
        """Appends one entry and returns its number (1, 2, 3 ...) once it is on disk.

        Args:
            kind: the kind of entry, e.g. "task".
            body: bytes or a str are stored unchanged (a str as UTF-8), any other JSON value as canonical JSON.
            key: a name for :meth:`find`, e.g. a task id.
            expect: the number of the last entry that the caller has seen (0: none). If the ledger ends with a different
                one, nothing is written and RuleError(append_conflict) is raised.

        After any other error the entry may have been written; with ``expect`` the same call can be repeated.
        """
        return self._write([item(kind, body, key)], expect)

    def append_many(
        self, entries: Iterable[tuple[str, Any] | tuple[str, Any, str]], *, expect: int | None = None
    ) -> range:
        """Appends (kind, body) or (kind, body, key) tuples in one commit, all or none; returns their numbers.

        ``expect``: see :meth:`append`.
        """
        items = [item(entry[0], entry[1], entry[2] if len(entry) > 2 else "") for entry in entries]
        first = self._write(items, expect) if items else 0
        return range(first, first + len(items))

    def _file_now(self) -> tuple[int, int] | None:
        """Device and inode of the file that has the ledger's name; None in memory, and where files have no inodes."""
        if self.in_memory or os.name != "posix":
            return None
        found = os.stat(self.path)
        return found.st_dev, found.st_ino

    def _write(self, items: list[Item], expected: int | None) -> int:
        """Appends all or none and answers the number of the first (section 11 of SAP V2.0). ``expected``: the number
        that the ledger must end with, or RuleError(append_conflict). RuleError(ledger_broken) if the last entry is not
        what was appended: nothing is sealed after it."""
        if (writer := self._writer) is None:
            raise io.UnsupportedOperation(f"{os.fspath(self.path)} was opened for reading only")
        with self._writing:
            try:
                if writer.in_transaction:  # an interruption came between an error and its end
                    writer.execute("ROLLBACK")
                with transaction(writer, "IMMEDIATE"):
                    self._catch_up(writer)
                    last = self._last
                    if expected is None or expected == last:
                        rows, self._chain = seal(last, time.time_ns() // 1000, items, self._chain)
                        _insert(writer, rows)
                        self._last += len(rows)
                        return last + 1
            except BaseException as error:
                self._known_version = -1  # what we believe about the end of the file may never have been written
                if (found := damage(error)) is not None:
                    raise found from error
                raise
        text = f"the last entry is {last}, not {expected}: another writer has appended"
        raise RuleError(Reason.APPEND_CONFLICT, text, rule="expect")

    def _catch_up(self, writer: sqlite3.Connection) -> None:
        if self._file_now() != self._file:
            raise broken("another file now has the ledger's name: this one can no longer be written")
        (version,) = writer.execute("PRAGMA data_version").fetchone()
        if version != self._known_version:
            (schema,) = writer.execute("PRAGMA schema_version").fetchone()
            if schema != self._schema_version:
                require_schema(writer)
                self._schema_version = schema
            if self._known_version != -1:
                require_continued(writer, self._last, self._chain)
            self._last, self._chain = last_link(writer, self._first_link)
            self._known_version = version

    # ---------------------------------------------------------------- reading

    def __len__(self) -> int:
        with self._reading:
            (last,) = self._reader.execute("SELECT coalesce(max(rowid), 0) FROM entries").fetchone()
        return int(last)

    def __getitem__(self, seq: int) -> Entry:
        """The entry with that number. Raises IndexError, RuleError(ledger_broken)."""
        with self._reading:
            row = self._reader.execute(f"{SELECT} WHERE rowid = ?", (_number(seq),)).fetchone()
        if row is None:
            raise IndexError(f"the ledger has no entry {seq}")
        return self._proved(row)

    def __iter__(self) -> Iterator[Entry]:
        """The entries as they are in the file, unproved, for whoever looks into one that is broken."""
        return self._rows(1, _FARTHEST, None, lambda row: Entry(*row[1:]))

    def entries(self, start: int = 1, stop: int | None = None, *, kind: str | None = None) -> Iterator[Entry]:
        """Yields the entries from ``start`` up to but excluding ``stop``, in order; only those of ``kind`` if given.
        Raises RuleError(ledger_broken)."""
        return self._rows(start, _FARTHEST if stop is None else stop, kind, self._proved)

    def _rows(self, start: int, stop: int, kind: str | None, made: Callable[[Any], Entry]) -> Iterator[Entry]:
        query = f"{SELECT} WHERE rowid >= ? AND rowid < ? AND kind = coalesce(?, kind) ORDER BY rowid LIMIT {_PAGE}"
        start, stop = _number(start), _number(stop)
        while True:
            with self._reading:
                rows = self._reader.execute(query, (start, stop, kind)).fetchall()
            yield from map(made, rows)
            if len(rows) < _PAGE:
                return
            start = rows[-1][1] + 1

    def find(self, kind: str, key: str) -> Iterator[Entry]:
        """Yields the entries of this kind with this key, newest first, using an index. Raises
        RuleError(ledger_broken)."""
        before = _FARTHEST
        limit = 1  # the newest is mostly the one that is wanted
        while True:
            with self._reading:
                rows = self._reader.execute(_FIND, (kind, key, before, limit)).fetchall()
            yield from map(self._proved, rows)
            if len(rows) < limit:
                return
            before, limit = rows[-1][1], min(4 * limit, _PAGE)  # few more mostly are, where any

    def _proved(self, row: tuple[Any, ...]) -> Entry:
        return proved(row, self._first_link)

    # ---------------------------------------------------------------- proofs

    def head(self) -> Checkpoint:
        """Returns the current checkpoint, signed if the ledger has a signer. Keep it where this machine cannot change
        it.

        Checks the rows since the last head or proof (the first time, all rows), so each head of an object continues the
        earlier ones. If a row does not match the chain, raises RuleError(ledger_broken) and signs nothing.
        """
        with self._proved_rows() as (rows, connection):
            if self._signer is not None:
                require_schema(connection)
            size, top, link = rows.size, rows.root(connection), rows.chain
        checkpoint = Checkpoint(self.id, size, top.hex(), link.hex(), _now())
        return checkpoint if self._signer is None else checkpoint.signed(self._signer)

    @contextmanager
    def _proved_rows(self) -> Iterator[tuple[ProvedRows, sqlite3.Connection]]:
        """All rows, proved: those that came since the last time are read. Raises RuleError(ledger_broken)."""
        with self._reading:
            self._reader.execute("BEGIN")
            try:
                require_continued(self._reader, self._tree.size, self._tree.chain)
                self._tree.go_on(self._reader)
                yield self._tree, self._reader
            finally:
                self._reader.execute("COMMIT")

    def prove(self, seq: int, size: int | None = None) -> InclusionProof:
        """Returns a proof that entry ``seq`` is among the first ``size`` (default: all) entries, checked like
        :meth:`head`. Raises IndexError, RuleError(ledger_broken)."""
        with self._proved_rows() as (rows, connection):
            size, nodes = rows.sized(size), rows.nodes(connection)
            path = tuple(inclusion(seq - 1, size, nodes))
            return InclusionProof(seq, size, nodes(0, seq - 1), path, root(size, nodes))

    def consistency(self, a: int, b: int | None = None) -> ConsistencyProof:
        """Returns a proof that the ledger of ``b`` (default: all) entries continues that of ``a`` entries. Raises the
        errors of :meth:`prove`."""
        with self._proved_rows() as (rows, connection):
            b, nodes = rows.sized(b), rows.nodes(connection)
            path = tuple(consistency(a, b, nodes))
            return ConsistencyProof(a, b, path, root(a, nodes), root(b, nodes))

    def verify(
        self,
        *heads: Checkpoint,
        trusted: Iterable[Any] = (),
        witnesses: Iterable[Any] = (),
        threshold: int | None = None,
    ) -> Verdict:
        """Verifies the whole file: schema, every row, chain and tree, and that it continues the given checkpoints.

        ``trusted``, ``witnesses``, ``threshold``: see :func:`turnwire.ledger.verify_file`.
        """
        if self.in_memory:
            with self._reading:
                asked = TrustedKeys(trusted, witnesses, threshold)
                return verify_connection(self._reader, self.path, *heads, trusted=asked)
        return verify_file(
            self.path, *heads, trusted=trusted, witnesses=witnesses, threshold=threshold, timeout=self._timeout
        )

    def backup(self, path: str | os.PathLike[str]) -> Checkpoint:
        """Copies the ledger to a new file, even while it is written, verifies the copy, and returns its head
        (unsigned).

        The copy is one file, written completely or not at all. Raises FileExistsError, OSError (NotFlushed if it was
        written), RuleError(ledger_broken).
        """
        place = Path(os.path.abspath(path))
        if os.path.lexists(place):
            raise FileExistsError(17, "exists already", os.fspath(path))
        with named(os.fspath(path)), self._reading:  # and not by that of what is written beside it
            verdict = _copied(self._reader, place)
        return Checkpoint(self.id, verdict.size, verdict.root, verdict.chain, _now())


def item(kind: str, body: Any, key: str) -> Item:
    """An entry as it is written; see :meth:`Ledger.append`. Raises ValueError for a name that is too long."""
    for name, text in (("kind", kind), ("key", key)):
        if not isinstance(text, str) or (len(text) > _SURELY_SHORT and len(text.encode()) > _NAME_LIMIT):
            raise ValueError(f"{name} must be a string of at most {_NAME_LIMIT} bytes")
    if isinstance(body, bytes):
        return kind, body, key
    if isinstance(body, (bytearray, memoryview)):
        return kind, bytes(body), key
    return kind, body.encode() if isinstance(body, str) else canonical(body), key


def _insert(writer: sqlite3.Connection, rows: list[Row]) -> None:
    """Inserts rows and sees that each is there: a trigger that is none of ours could leave one out."""
    whole = len(rows) - len(rows) % _GROUP
    for start in range(0, whole, _GROUP):
        writer.execute(_INSERT_GROUP, list(chain.from_iterable(rows[start : start + _GROUP])))
    writer.executemany(_INSERT_ONE, rows[whole:])
    (stored,) = writer.execute(_COUNT, (rows[0][0], rows[-1][0])).fetchone()
    if stored != len(rows):
        raise broken(f"only {stored} of {len(rows)} entries were stored, so all were rolled back")


def _copied(source: sqlite3.Connection, place: Path) -> Verdict:
    """Has SQLite copy the ledger, and proves the copy before it has its name."""
    with scratch(place.parent) as folder:
        beside = folder / "copy"
        descriptor = create(str(beside), 0o600)
        try:
            with closing(connect(beside, 30.0, mode="rw")) as target:
                try:
                    source.backup(target)
                    target.execute("PRAGMA journal_mode = DELETE")  # one file, that read-only media can hold too
                except sqlite3.Error as error:
                    raise input_output(error, beside) or error from None
            os.fsync(descriptor)
            verdict = require(verify_file(beside))
            os.link(beside, place)  # refuses what has come to that name meanwhile
            with done_before(place):
                sync_directory(place.parent)
            return verdict
        finally:
            os.close(descriptor)


def _now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
