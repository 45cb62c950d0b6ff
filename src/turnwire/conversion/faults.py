"""The errors of a conversion, each made in one place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from turnwire.checklists import Fault
from turnwire.errors import ConvertError, Reason
from turnwire.json import text as json_text

_SHOWN = 60
"""Characters of a value that an error shows."""


def bad_context(text: str, path: str) -> ConvertError:
    """The context is none: a mapping that is not one to one, a value of the wrong type."""
    return ConvertError(Reason.BAD_CONTEXT, text, path=path or None)


def missing(wire: str, paths: Sequence[str], known: Mapping[str, Any]) -> ConvertError:
    """The target needs fields (``paths``, all in their order) that neither the source nor the context has, or that
    cannot say what the source says: those are also in ``known``, with that fact."""
    absent = [path for path in paths if path not in known]
    told = [f"neither the message nor the context has {', '.join(absent)}"] if absent else []
    told += [f"{path} cannot say {_value(value)} unless the context maps it" for path, value in known.items()]
    return ConvertError(Reason.MISSING_FIELD, "; ".join(told), wire=wire, path=paths[0], missing=paths, known=known)


def _value(value: Any) -> str:
    text = repr(value if isinstance(value, (str, int)) else json_text.write(value))
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


def no_counterpart(
    wire: str, what: str, there: Sequence[str], nearest: str | None, path: str, closed: str | None = None
) -> ConvertError:
    """What a message does is nothing that the target has a kind for; closed: or the kind that is not for these two."""
    near = f"the nearest is {nearest}, which nearest=True takes" if nearest else "nothing comes near it"
    kinds = f"{wire} has {', '.join(there)}; " if there else ""
    if closed is not None:
        near = f"{closed} is not open to this sender and receiver (the roles of a context name theirs); {near}"
    text = f"{what} has no counterpart in {wire}: {kinds}{near}"
    return ConvertError(Reason.NO_COUNTERPART, text, wire=wire, path=path, missing=[path], there=there, nearest=nearest)


def no_shape(wire: str, source: str) -> ConvertError:
    """The wire of a message does not say what its fields mean, so that none of them is any of the target's."""
    text = f"{source} does not say what its fields mean (Wire.shape), so nothing is converted from it"
    return ConvertError(Reason.NO_COUNTERPART, text, wire=wire)


def no_extension(wire: str, paths: Sequence[str]) -> ConvertError:
    """carry=True was asked of a wire that has no place for what is left."""
    listed = ", ".join(paths)
    return ConvertError(Reason.NO_EXTENSION, f"{wire} has no place to carry {listed}", wire=wire, missing=paths)


def not_carried(wire: str, text: str) -> ConvertError:
    """What claims to have been carried is damaged, or says something else than the message around it."""
    return ConvertError(Reason.BAD_CARRY, text, wire=wire)


def not_conforming(wire: str, fault: Fault) -> ConvertError:
    """What was made is a message of the target, and has no place behind those before it."""
    text = f"this breaks what {wire} requires of a history: {fault.text}"
    return ConvertError(Reason.NOT_CONFORMING, text, wire=wire, path=fault.clause, missing=[fault.clause])


def given_up(wire: str, task: str | None) -> ConvertError:
    """A message belongs to a history that is not followed any more."""
    what = "of its conversation" if task is None else f"of {task}"
    text = f"the history {what} is no longer followed (remember is the limit), so nothing can be added to it"
    return ConvertError(Reason.NOT_CONFORMING, text, wire=wire, path="remember", missing=["remember"])
