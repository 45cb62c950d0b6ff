from collections.abc import Callable, Mapping, Sequence
from typing import Any, Self

from typing_extensions import disjoint_base

from turnwire.contract import Column
from turnwire.errors import Reason
from turnwire.json.plan import WirePlan

TIME_COLUMN: int
LEVELS: tuple[str, ...]
SIMD: str

def choose_simd(most: str = "avx2") -> str: ...

@disjoint_base
class Call: ...

@disjoint_base
class Plan:
    plans: tuple[WirePlan, ...]
    columns: tuple[Column, ...]
    reasons: tuple[Reason | None, ...]
    valid: dict[str, int]
    escaped: dict[str, int]
    nslip: tuple[int, Sequence[int], Sequence[int]] | None
    lines: tuple[tuple[int, tuple[bytes, ...]], ...]
    def __new__(
        cls,
        plans: Sequence[WirePlan],
        columns: Sequence[Column],
        valid: Mapping[str, int],
        escaped: Mapping[str, int],
        reasons: Sequence[Reason | None],
        nslip: tuple[int, Sequence[int], Sequence[int]] | None = None,
        lines: Sequence[tuple[int, Sequence[bytes]]] = (),
    ) -> Self: ...

def scan_block(
    plan: Plan,
    data: Any,
    start: int,
    size: int,
    final: bool,
    columns: dict[str, Any],
    rows: int,
    room: int,
    rejects: dict[str, Any],
    reject_rows: int,
    reject_room: int,
    *,
    base: int = 0,
    line: int = 1,
    keep: bool = False,
    limit: int = ...,
    state: Any = None,
    parts: dict[str, Any] | None = None,
    claims: Callable[[bytes], Sequence[tuple[int, int, int, int, int, int]] | None] | None = None,
    signs: int | None = None,
) -> tuple[int, int, int, int]: ...
def plain(span: bytes) -> bytes: ...
