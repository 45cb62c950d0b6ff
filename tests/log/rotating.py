"""A log that is written and rotated at the same time, by each of the ways in which tools rotate logs."""

from __future__ import annotations

import gzip
import os
import random
import shutil
from pathlib import Path
from typing import Any

from turnwire.nslip import base62

BANNER = b"# the same banner of every file\n" * 50


def record(number: int) -> bytes:
    return b"@a3|f0|c%s|S0|d1|T1#\n" % base62.encode(number).encode()


class Log:
    """``app.log`` and what is beside it. Every record has its own number; ``written`` says how many there are."""

    def __init__(self, folder: Path, chance: random.Random, banner: bool, keep: int) -> None:
        self.path = folder / "app.log"
        self.written = 0
        self._banner = BANNER if banner else b""
        self._chance = chance
        self._keep = keep
        self._packed = 0
        self._file: Any = None
        self.open()

    def __enter__(self) -> Log:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def open(self) -> None:
        """Makes the file anew."""
        if self._file is not None:
            self._file.close()
        self._file = open(self.path, "ab", buffering=0)  # noqa: SIM115
        self._file.write(self._banner)

    def write(self, count: int) -> None:
        """So many records, sometimes in two pieces."""
        for _ in range(count):
            data = record(self.written)
            cut = self._chance.choice((0, 0, 0, 5))
            if cut:
                self._file.write(data[:cut])
            self._file.write(data[cut:])
            self.written += 1

    def old(self, number: int) -> Path | None:
        """The file with a number, compressed or not."""
        for ending in ("", ".gz", ".zst"):
            path = self.path.with_name(f"app.log.{number}{ending}")
            if path.exists():
                return path
        return None

    def _shift(self) -> None:
        for number in range(self._keep, 0, -1):
            path = self.old(number)
            if path is None:
                continue
            if number == self._keep:
                path.unlink()
            else:
                path.rename(path.with_name(path.name.replace(f".log.{number}", f".log.{number + 1}")))

    def rename(self, late: int = 0) -> None:
        """As logrotate does by default; ``late``: records that are written before the writer opens the new file."""
        self._shift()
        self.path.rename(self.path.with_name("app.log.1"))
        if late:
            self.path.touch()
            self.write(late)
        self.open()

    def copytruncate(self) -> None:
        """As logrotate's copytruncate does, while nobody writes."""
        self._shift()
        shutil.copyfile(self.path, self.path.with_name("app.log.1"))
        os.truncate(self.path, 0)
        self._file.write(self._banner)

    def truncate(self) -> None:
        """Cuts the file and keeps nothing."""
        os.truncate(self.path, 0)
        self._file.write(self._banner)

    def compress(self, number: int = 1) -> None:
        """Compresses a file that was rotated, as ``gzip`` and ``zstd --rm`` do."""
        import zstandard

        path = self.path.with_name(f"app.log.{number}")
        if not path.exists():
            return
        self._packed += 1
        pack, ending = ((gzip.compress, ".gz"), (zstandard.ZstdCompressor().compress, ".zst"))[self._packed % 2]
        packed = path.with_name(path.name + ending)
        data = pack(path.read_bytes())
        with packed.open("wb") as file:
            file.write(data[: len(data) // 2])
            file.flush()
            file.write(data[len(data) // 2 :])
        shutil.copystat(path, packed)
        path.unlink()

    def step(self, kind: str) -> None:
        """One rotation of a kind."""
        if kind.startswith("mixed"):
            kinds = ("rename", "late", "compressed", "copytruncate", "copied and compressed")
            kind = self._chance.choice(kinds if kind == "mixed" else ("rename", "copytruncate", "truncate"))
        if kind in ("copytruncate", "copied and compressed"):
            self.copytruncate()
        elif kind == "truncate":
            self.truncate()
        else:
            self.rename(late=3 if kind == "late" else 0)
        if kind in ("compressed", "copied and compressed"):
            self.compress(self._chance.choice((1, 2)))


KINDS = (
    "rename",
    "late",
    "compressed",
    "copytruncate",
    "copied and compressed",
    "truncate",
    "mixed",
    "mixed with cuts",
)
