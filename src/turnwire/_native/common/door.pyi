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
def feeder(owner: type, front: Any) -> Any: ...
def may_be_piece(text: object, /) -> bool: ...

closely: tuple[Callable[..., Any], ...]
