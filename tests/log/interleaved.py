"""A log whose writer takes its elementary steps at the system calls of its reader: races that come out the same."""

from __future__ import annotations

import builtins
import gzip
import os
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.log.rotating import record
from turnwire.log.input import reading
from turnwire.log.input.reading import Stop

open_file = builtins.open


class Writer:
    """``app.log``, written and rotated in steps: each ``yield`` is a place where a reader may look."""

    def __init__(self, folder: Path, chance: random.Random, kinds: tuple[str, ...]) -> None:
        self.path, self.written = folder / "app.log", 0
        self._chance, self._kinds = chance, kinds
        self._file: Any = None
        self.open()

    def open(self) -> None:
        """Makes the file anew."""
        self.close()
        self._file = open_file(self.path, "ab", buffering=0)

    def close(self) -> None:
        """Closes the file."""
        if self._file is not None:
            self._file.close()

    def steps(self) -> Iterator[None]:
        """Eight rotations, and records before, between and behind them."""
        yield from self._write(2)
        for _ in range(8):
            yield from self._write(self._chance.choice((0, 1, 3, 8)))
            kind = self._chance.choice(self._kinds)
            yield from {"copy": self._copy, "pack": self._pack}.get(kind, lambda kind=kind: self._rename(kind))()
        yield from self._write(4)

    def _write(self, count: int) -> Iterator[None]:
        for _ in range(count):
            data, cut = record(self.written), self._chance.choice((0, 0, 0, 5))
            if cut:
                self._file.write(data[:cut])
                yield
            self._file.write(data[cut:])
            self.written += 1
            yield

    def _shift(self) -> Iterator[None]:
        for number in range(30, 0, -1):
            for ending in ("", ".gz"):
                path = self.path.with_name(f"app.log.{number}{ending}")
                if path.exists():
                    path.rename(path.with_name(f"app.log.{number + 1}{ending}"))
                    yield

    def _rename(self, kind: str) -> Iterator[None]:
        yield from self._shift()
        self.path.rename(self.path.with_name("app.log.1"))
        yield
        if kind == "late":
            self.path.touch()
            yield
            yield from self._write(2)
        self.open()
        yield

    def _in_halves(self, path: Path, data: bytes) -> Iterator[None]:
        with open_file(path, "wb", buffering=0) as file:
            for half in (data[: len(data) // 2], data[len(data) // 2 :]):
                yield
                file.write(half)
        yield

    def _copy(self) -> Iterator[None]:
        yield from self._shift()
        yield from self._in_halves(self.path.with_name("app.log.1"), self.path.read_bytes())
        os.truncate(self.path, 0)
        yield

    def _pack(self) -> Iterator[None]:
        path = self.path.with_name(f"app.log.{self._chance.choice((1, 1, 2, 3))}")
        if path.exists():
            yield from self._in_halves(path.with_name(path.name + ".gz"), gzip.compress(path.read_bytes()))
            path.unlink()
            yield


class Steps:
    """Takes the steps of a writer: some of them, by chance, whenever a reader that is watched asks the system."""

    def __init__(self, steps: Iterator[None], chance: random.Random, rate: float) -> None:
        self.over = self.watched = False
        self._steps, self._chance, self._rate = steps, chance, rate

    def take(self, *most: int) -> None:
        """So many steps, one of these numbers."""
        watched, self.watched = self.watched, False
        for _ in range(self._chance.choice(most)):
            if next(self._steps, self) is self:
                self.over = True
        self.watched = watched

    def asked(self) -> None:
        """The reader looks."""
        if self.watched and self._chance.random() < self._rate:
            self.take(1, 1, 2, 5, 20)


def interleave(patch: pytest.MonkeyPatch, steps: Steps, asleep: Callable[[Stop], None]) -> None:
    """Lets the steps happen in front of what a reader asks of the system; ``asleep`` instead of sleeping."""

    def before(call: Callable[..., Any]) -> Callable[..., Any]:
        def asks(*arguments: Any, **named: Any) -> Any:
            steps.asked()
            return call(*arguments, **named)

        return asks

    for name in ("stat", "fstat", "scandir", "pread", "listdir"):
        patch.setattr(os, name, before(getattr(os, name)))
    patch.setattr(builtins, "open", before(open_file))
    patch.setattr(reading.Input, "into", before(reading.Input.into))
    patch.setattr(Stop, "sleep", lambda stop, seconds: asleep(stop))
