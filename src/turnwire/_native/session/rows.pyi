from collections.abc import Callable
from typing import Any

from turnwire.session._checks_py import Chain
from turnwire.session._state_py import Expected, State
from turnwire.session.shapes import Shape
from turnwire.session.state import Template

def rows(
    text: str,
    at: list[int],
    chain: Chain | None,
    templates: dict[str, Template],
    state: State,
    expand: Callable[[str], str] | None,
    rare: Callable[[str, Expected], str | bytes],
    given_back: Callable[[Shape, list[str | bytes]], Any],
    other: Callable[[str], Any],
    found: list[Any],
) -> None: ...
