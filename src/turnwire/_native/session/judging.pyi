from collections.abc import Callable, Sequence

from typing_extensions import disjoint_base

from turnwire.session.planning import Event

@disjoint_base
class Judge:
    def __init__(
        self,
        events: Sequence[Event],
        orders: Sequence[tuple[int | None, list[int]]],
        allowed: frozenset[str],
        tellable: Callable[[str], bool],
    ) -> None: ...
    def weigh(self, leaf: str | bytes) -> float: ...
    def judged(self, members: list[int]) -> tuple[list[float], list[str]]: ...
