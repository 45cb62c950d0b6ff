"""The nodes of a ledger's tree: stored inner nodes, leaves hashed again from their rows."""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING

from turnwire import _backend
from turnwire.ledger import merkle
from turnwire.ledger.schema import TILE

if TYPE_CHECKING:
    from turnwire._pure.common import ledger as _core
else:
    _core = _backend.load("common.ledger")

_TILE_SIZE = 1 << TILE


class Nodes:
    """The ledger's tree as :mod:`merkle` asks for it."""

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
