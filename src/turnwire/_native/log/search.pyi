from collections.abc import Callable, Mapping, Sequence
from typing import Any, Self

from typing_extensions import disjoint_base

from turnwire.contract import Column
from turnwire.csp.spec import REASONS
from turnwire.errors import Reason
from turnwire.json.plan import WirePlan
from turnwire.log.search.carriers import Streams
from turnwire.log.search.rows import DTYPES as DTYPES, REJECT_DTYPES as REJECT_DTYPES
from turnwire.log.search.texts import MOST_OPENING as MOST_OPENING

CSP_REASONS = REASONS
LEVELS: tuple[str, ...]
SIMD: str

def choose_simd(most: str = "avx2") -> str: ...
def searched(
    finder: Any,
    block: Any,
    final: bool,
    line: int,
    state: Any,
    keep: bool,
    limit: int,
    dtypes: dict[str, Any],
    memory: Callable[[dict[str, Any], int], dict[str, Any]] | None = None,
) -> tuple[dict[str, Any], int, list[tuple[dict[str, Any], int]], int, int]: ...

@disjoint_base
class Plan:
    plans: tuple[WirePlan, ...]
    columns: tuple[Column, ...]
    reasons: tuple[Reason | None, ...]
    valid: dict[str, int]
    escaped: dict[str, int]
    nslip: tuple[int, Sequence[int], Sequence[int]] | None
    def __new__(
        cls,
        plans: Sequence[WirePlan],
        columns: Sequence[Column],
        valid: Mapping[str, int],
        escaped: Mapping[str, int],
        reasons: Sequence[Reason | None],
        nslip: tuple[int, Sequence[int], Sequence[int]] | None = None,
    ) -> Self: ...

@disjoint_base
class Core: ...

@disjoint_base
class SearchMemory: ...

@disjoint_base
class Beginning:
    held: bytes
    messages: list[Any]
    plain: bool
    mid: bool
    passed: bool
    touched: bool
    tail: bool
    offset: int
    line: int
    def __init__(
        self, finder: Any, load: Any, decode: Any, code: int | None, limit: int, room: int, lock: Any
    ) -> None: ...
    def leave(self) -> bytes: ...
    def feed(self, data: Any) -> list[Any] | bool: ...

@disjoint_base
class Block:
    def streams(self, walk: Any, at: int, carrier: str, foreign: tuple[int, int] | None) -> int: ...

@disjoint_base
class Part: ...

@disjoint_base
class SearchedText:
    def add(self, spans: list[tuple[int, int]]) -> None: ...
    def behind(self, at: int) -> int: ...
    def up_to(self, at: int, end: int) -> int: ...
    def last_end(self, at: int) -> int: ...

class NativeStreams(Streams):
    block: Block | None
