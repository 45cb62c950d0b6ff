"""The documents the tests start from: the examples of the specification and small ones made from them."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

from turnwire import sap

_EXAMPLES = json.loads((Path(__file__).parents[1] / "data" / "sap_examples.json").read_text("utf-8"))
TASK: dict[str, Any] = _EXAMPLES["task"]
RESULT: dict[str, Any] = _EXAMPLES["result"]


def changed(document: dict[str, Any], *changes: Any) -> dict[str, Any]:
    """A copy of ``document`` with values set, given as pointer, value, pointer, value; ``...`` takes one away."""
    made = copy.deepcopy(document)
    for pointer, value in zip(changes[::2], changes[1::2], strict=True):
        *steps, last = pointer.split("/")[1:]
        inner: Any = made
        for step in steps:
            inner = inner[int(step)] if isinstance(inner, list) else inner[step]
        place = int(last) if isinstance(inner, list) else last
        if value is ...:
            del inner[place]
        else:
            inner[place] = copy.deepcopy(value)
    return made


def _made(document: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    return changed(
        document, *(part for name, value in changes.items() for part in ("/" + name.replace("__", "/"), value))
    )


def task(**changes: Any) -> sap.Task:
    """The document's Task with changes: pointers with ``__`` for ``/``."""
    return sap.Task.from_dict(_made(TASK, changes))


def result(**changes: Any) -> sap.Result:
    """The document's Result with changes."""
    return sap.Result.from_dict(_made(RESULT, changes))
