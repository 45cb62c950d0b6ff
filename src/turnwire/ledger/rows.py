"""The rows of a ledger hashed again, from the first on: what a proof of the file rests on."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection
from typing import TYPE_CHECKING, NamedTuple

from turnwire import _backend
from turnwire.ledger import merkle
from turnwire.ledger.schema import TILE, first_link

if TYPE_CHECKING:
    from turnwire.ledger import _hashing_py as _core
else:
    _core = _backend.load("ledger.hashing")

_ROWS = "SELECT rowid, at, kind, key, body, chain FROM entries{} ORDER BY rowid"
_TILE_SIZE = 1 << TILE
_WHERE = {"missing": "rows", "type": "rows", "chain": "chain"}
_TEXT = {
    "missing": "the entry is missing",
    "type": "a value has another type than was written",
    "chain": "the entry is not what the chain says",
}


class Fault(NamedTuple):
    """The first place that fails. ``seq``: the entry, None where it is in no entry; ``where``: what was looked at."""

    where: str
    seq: int | None
    text: str


class Broken(Exception):
    """The proof fails; ``fault`` says where."""

    def __init__(self, where: str, text: str, seq: int | None = None) -> None:
        self.fault = Fault(where, seq, text)


class Hashed:
    """The chain and the tree over the rows that were read, of ``size`` entries; :meth:`go_on` reads what came since.

    seen: size -> (root, chain) there, both hex, for the sizes that were wanted.
    """

    def __init__(self, identity: str) -> None:
        self.size = 0
        self.chain = first_link(identity)
        self.nodes: dict[tuple[int, int], bytes] = {}
        self.seen: dict[int, tuple[str, str]] = {}
        self._tiles = merkle.Frontier()  # its leaves are the roots of whole tiles
        self._tail: list[bytes] = []

    def go_on(self, connection: sqlite3.Connection, wanted: Collection[int] = ()) -> None:
        """Reads the rows behind those that were read. Raises Broken at the first that is not what the chain says."""
        if 0 in wanted:
            self.seen[0] = (self.root(), self.chain.hex())
        rows = connection.execute(_ROWS.format(f" WHERE rowid > {self.size}" if self.size else ""))
        while page := rows.fetchmany(_TILE_SIZE - len(self._tail)):
            leaves, self.chain, wrong = _core.follow(page, self.size, self.chain)
            for size in wanted:
                if self.size < size <= self.size + len(leaves):
                    leaf = size - self.size
                    self.seen[size] = (self.root(leaves[:leaf]), page[leaf - 1][5].hex())
            self.size += len(leaves)
            self._tail = leaves if not self._tail else self._tail + leaves
            if wrong is not None:
                raise Broken(_WHERE[wrong], _TEXT[wrong], self.size + 1)
            if len(self._tail) == _TILE_SIZE:
                self._close_tile()

    def _close_tile(self) -> None:
        completed = self._tiles.push(_core.fold(self._tail))
        self._tail = []
        for above in range(0, len(completed), TILE):
            level = TILE + above
            self.nodes[level, (self.size >> level) - 1] = completed[above]

    def root(self, more: list[bytes] | None = None) -> str:
        """The tree head (hex) over what was read, and over some leaves more of the tile that is open."""
        return self._tiles.root(self._tail + (more or [])).hex()
