"""turnwire reads, writes and validates agents' messages in five wire formats, and searches logs for them."""

from turnwire._backend import NAME as backend
from turnwire import _lazy, registry as _registry

__version__ = "0.1.0"
__all__, _declared, __dir__ = _lazy.attach(__name__)


def __getattr__(name: str) -> object:
    if name == "WIRES":  # not kept: a wire may be registered later
        return _registry.names()
    if not name.startswith("_") and f"turnwire.{name}" in _registry.packages():
        return _lazy.import_module(f"turnwire.{name}")
    return _declared(name)
