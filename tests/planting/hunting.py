"""Inputs by which a native core with a fault is told from the one without: what `make fuzz` would find in time.

    python -m tests.planting.hunting --make FILE [--seed 1] [--number 400]
    python -m tests.planting.hunting --ask FILE --first nslip

The first writes, for each target of fuzzing, so many inputs and digests of what the core says of them, which must be
sound; the second asks the core that it finds, and prints the target and the first input, in base64, of which that says
something else. Its exit code is 1 then; another one where it crashed.
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import mmap
import pickle
import sys
from collections.abc import Iterator
from itertools import zip_longest
from pathlib import Path
from typing import Any

import turnwire
from tests.fuzz.edits import MESSAGES, edits, log
from tests.fuzz.seeds import is_cheap, mutants, seeds
from tests.fuzz.targets import TARGETS

DEAR = ("stream", "conform", "arrow")
"""Targets of which an input costs more than others."""
Asked = tuple[str, bytes, bytes]
"""The name of a target, an input, the digest of what a sound core says."""


def said(name: str, data: bytes) -> bytes:
    """The digest of what the core says of an input, or how it raises."""
    try:
        found: Any = TARGETS[name](turnwire, data)
    except turnwire.WireError as error:
        found = type(error).__name__, str(error.reason), error.offset, error.line, error.wire, error.path
    except Exception as error:
        found = repr(error)
    return hashlib.blake2b(repr(found).encode("utf-8", "surrogatepass"), digest_size=8).digest()


def inputs(name: str, number: int, seed: int) -> Iterator[bytes]:
    """Of a target: what is kept, its seeds, and mutants of them."""
    yield from seeds(name)
    for text in MESSAGES.get(name.partition("-")[2], ()):
        yield from (
            edits(text.encode())
            if is_cheap(name)
            else (b"\xff%c\0\0" % level + log(edits(text.encode()), name[5:]) for level in range(3))
        )
    number = 10 * number if is_cheap(name) else number // 5 if name in DEAR else number
    yield from mutants(name, number, str(seed), 16_384)


def make(place: Path, seed: int, number: int) -> None:
    """Writes the inputs with what a sound core says."""
    found = {name: [(name, data, said(name, data)) for data in inputs(name, number, seed)] for name in TARGETS}
    place.write_bytes(pickle.dumps(found))


def ordered(found: dict[str, list[Asked]], first: tuple[str, ...]) -> Iterator[Asked]:
    """The inputs of all targets in turn, those of the targets that have one of these words in their name before."""
    near = [asked for name, asked in found.items() if any(word in name for word in first)]
    far = [asked for name, asked in found.items() if not any(word in name for word in first)]
    for group in (near, far):
        for row in zip_longest(*group):
            yield from (one for one in row if one is not None)


def ask(place: Path, first: tuple[str, ...], now: Path) -> tuple[str, bytes] | None:
    """The first input of which the core says something else; ``now`` has the one that is asked, for crashes."""
    found = pickle.loads(place.read_bytes())
    longest = max(len(data) for asked in found.values() for _, data, _ in asked)
    now.write_bytes(bytes(64 + longest))
    with now.open("r+b") as file, mmap.mmap(file.fileno(), 0) as memory:
        for name, data, digest in ordered(found, first):
            memory[: 64 + len(data)] = name.encode().ljust(56) + len(data).to_bytes(8, "big") + data
            if said(name, data) != digest:
                return name, data
    return None


def crashed(now: Path) -> tuple[str, bytes]:
    """What was asked when the process ended."""
    memory = now.read_bytes()
    size = int.from_bytes(memory[56:64], "big")
    return memory[:56].decode().strip(), memory[64 : 64 + size]


def main() -> int:
    """Makes or asks; the exit code."""
    parser = argparse.ArgumentParser(description=str(__doc__).partition("\n")[0])
    parser.add_argument("--make", type=Path)
    parser.add_argument("--ask", type=Path)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--number", type=int, default=400)
    parser.add_argument("--first", default="")
    options = parser.parse_args()
    if options.make:
        make(options.make, options.seed, options.number)
        return 0
    found = ask(options.ask, tuple(filter(None, options.first.split(","))), options.ask.with_suffix(".now"))
    if found is None:
        return 0
    print(found[0], base64.b64encode(found[1]).decode())
    return 1


if __name__ == "__main__":
    sys.exit(main())
