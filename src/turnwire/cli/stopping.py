"""Work without an end of its own: an interruption ends it, between two pieces and never within one."""

from __future__ import annotations

import signal
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TypeVar

Piece = TypeVar("Piece")


class _Asked:
    """Whether somebody asked to stop, and whether the work is waiting for its next piece."""

    def __init__(self) -> None:
        self.stop = self.waiting = False

    def __call__(self, number: int, frame: object) -> None:
        self.stop = True
        if self.waiting:
            raise KeyboardInterrupt


@contextmanager
def until_interrupted(pieces: Iterable[Piece]) -> Iterator[Iterator[Piece]]:
    """The pieces, until there are no more or SIGINT comes; what is done with one is never interrupted. A piece that was
    on its way just then is not given."""
    asked = _Asked()
    before = signal.signal(signal.SIGINT, asked)
    try:
        yield _pieces(iter(pieces), asked)
    finally:
        signal.signal(signal.SIGINT, before)


def _pieces(pieces: Iterator[Piece], asked: _Asked) -> Iterator[Piece]:
    while not asked.stop:
        try:
            asked.waiting = True
            piece = next(pieces)
            asked.waiting = False
        except (StopIteration, KeyboardInterrupt):
            return
        finally:
            asked.waiting = False
        yield piece
