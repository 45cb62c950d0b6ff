from collections.abc import Callable, Sequence
from typing import Self

from typing_extensions import disjoint_base

from turnwire.session.planning import Event

@disjoint_base
class Judge:
    def __new__(
        cls,
        events: Sequence[Event],
        orders: Sequence[tuple[int | None, list[int]]],
        allowed: frozenset[str],
        tellable: Callable[[str], bool],
    ) -> Self: ...
    def derived(
        self, total: float, one: int, other: int, costs: list[float], marks: list[str], base: list[str]
    ) -> float: ...
    def judged(self, members: list[int]) -> tuple[list[float], list[str]]: ...
    def parted(self, members: list[int], place: int, most: int) -> list[list[int]] | None: ...
