from collections.abc import Callable, Sequence
from typing import Any

def doors(
    names: Sequence[str],
    loader: Callable[[str], Callable[[Any], Any]],
    classes: Callable[[type], tuple[Any, Any, bool, Any, Any] | None],
    decoder: Callable[..., Any],
    encoder: Callable[..., str],
    checker: Callable[..., Any],
) -> tuple[Callable[..., Any], Callable[..., str], Callable[..., Any]]: ...
def decode(data: Any, wire: str | None = None) -> Any: ...
def encode(message: Any, strict: bool = True) -> str: ...

closely: tuple[Callable[..., Any], ...]
