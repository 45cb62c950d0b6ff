from collections.abc import Callable

from typing_extensions import disjoint_base

from turnwire.csp._texts_py import MOST_KEPT as MOST_KEPT
from turnwire.csp.lints import Context

@disjoint_base
class Texts:
    def __init__(
        self,
        context: Context,
        waiting: dict[str, tuple[int, int | None, str]],
        spoken: Callable[[str], None],
        unrouted: Callable[[str], bool],
    ) -> None: ...
    def know(self, stateful: bool, routed: bool, names: dict[str, str], values: dict[str, int]) -> None: ...
    def go_on(self, head: str) -> None: ...
    def read(self, raw: bytes) -> tuple[str, str, str, str, str] | None: ...
    def settled(self, raw: bytes, line: int, offset: int | None) -> bool | None: ...
    def quiet(self, sender: str, receiver: str, values: tuple[str | None, ...]) -> bool: ...
