"""The objects of messages: parsed from their text on first use, and copied."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from turnwire import _backend
from turnwire.json.text import reader

if TYPE_CHECKING:
    from turnwire.json import _codec_py as _core
else:
    _core = _backend.load("json.codec")

copied = _core.copied


def maker(cls: type[Any], wire: str, keys: tuple[str, ...]) -> Callable[[Any], dict[str, Any]]:
    """Return a function that gives the object of a message, and makes it if the message holds its text only.

    Args:
        cls: the class of the message, or one above it, with the slots ``_fields`` (the object, not there as yet) and
            ``_text`` (the text, which was found good).
        wire, keys: how the text is read, as for :func:`turnwire.json.text.reader`.

    All who ask get the same object, on whatever thread. Raises AttributeError for a message that has neither.
    """
    return _core.Maker(cls.__dict__["_fields"], cls.__dict__["_text"], reader(wire, keys).read)
