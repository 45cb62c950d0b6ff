"""The errors of a conversion, each made in one place."""

from __future__ import annotations

from collections.abc import Sequence

from turnwire.errors import ConvertError, Reason


def bad_context(text: str, path: str) -> ConvertError:
    """The context is none: a mapping that is not one to one, a value of the wrong type."""
    return ConvertError(Reason.BAD_CONTEXT, text, path=path or None)


def missing(wire: str, paths: Sequence[str]) -> ConvertError:
    """The target needs fields that neither the source nor the context has."""
    listed = ", ".join(paths)
    text = f"neither the message nor the context has {listed}"
    return ConvertError(Reason.MISSING_FIELD, text, wire=wire, path=paths[0], missing=paths)


def no_extension(wire: str, paths: Sequence[str]) -> ConvertError:
    """carry=True was asked of a wire that has no place for what is left."""
    listed = ", ".join(paths)
    return ConvertError(Reason.NO_EXTENSION, f"{wire} has no place to carry {listed}", wire=wire, missing=paths)


def not_carried(wire: str, text: str) -> ConvertError:
    """What claims to have been carried is damaged."""
    return ConvertError(Reason.BAD_CARRY, text, wire=wire)
