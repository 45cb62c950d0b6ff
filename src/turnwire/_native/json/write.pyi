from typing import Any

from turnwire.contract import Limits

def write(value: Any, wire: str | None = None, limits: Limits = ...) -> str: ...
