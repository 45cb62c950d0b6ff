from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from typing_extensions import disjoint_base

FINAL: int
ASKS: int
ODD: int

def hash_of(text: Any) -> int: ...
def hashes(buffer: Any, arena: Any, side: Any, offsets: Any, lengths: Any, valid: Any, out: Any) -> None: ...
def mixed(numbers: Any, codes: Any, out: Any) -> None: ...
def codes(numbers: Any, out: Any) -> list[int]: ...
def works(wire: str, buffer: Any, arena: Any, offsets: Any, lengths: Any, tasks: Any, ids: Any, bits: Any) -> bool: ...

@disjoint_base
class Tally:
    def __len__(self) -> int: ...
    def add(
        self,
        keys: Any,
        buffer: Any,
        arena: Any,
        side: Any,
        offsets: Any,
        lengths: Any,
        wires: Any,
        sizes: Any,
        times: Any,
        timed: Any,
        tokens: Any,
    ) -> None: ...
    def rows(self, order: Any) -> list[tuple[Any, ...]]: ...
    def sums(self) -> NDArray[np.int64]: ...
    def keep(self, order: Any) -> None: ...

@disjoint_base
class Pairing:
    def __new__(cls, ways: tuple[Any, ...], all_at_once: bool, most: int) -> Self: ...
    def take(
        self, fields: Any, ways: Any, asks: Any, final: Any, times: Any, timed: Any, tags: Any
    ) -> NDArray[np.int64]: ...
    def counts(self) -> dict[str, int]: ...
