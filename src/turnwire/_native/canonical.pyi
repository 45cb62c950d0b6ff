from typing import Any

from typing_extensions import disjoint_base

@disjoint_base
class Refused(Exception): ...

def canonical(value: Any, /) -> bytes: ...
