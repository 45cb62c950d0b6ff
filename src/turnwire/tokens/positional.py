"""JSON arrays: the values alone, in the order of a legend that is written once for each shape of object.

``[3,0,"goal_1"]`` with the legend ``["act","frame","tag"]`` is ``{"act":3,"frame":0,"tag":"goal_1"}``. A member that
holds an object is in the legend as ``{"name":[...]}``, a list with objects in it as ``{"":[shape of each item]}``.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any


def minified(value: Any) -> str:
    """JSON without a space that could be left out, characters as they are."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def shape(value: Any) -> Any:
    """What a legend says of a value: 0 of scalars and of lists without objects, else names or the shapes of items."""
    if isinstance(value, dict):
        members = [(name, shape(each)) for name, each in value.items()]
        return [{name: form} if form else name for name, form in members]
    if isinstance(value, list):
        shapes = [shape(each) for each in value]
        return {"": shapes} if any(form != 0 for form in shapes) else 0
    return 0


def _members(form: list[Any]) -> list[tuple[str, Any]]:
    return [(each, 0) if isinstance(each, str) else next(iter(each.items())) for each in form]


def bare(value: Any, form: Any) -> Any:
    """A value without the names of its members."""
    if isinstance(form, list):
        return [bare(value[name], each) for name, each in _members(form)]
    if isinstance(form, dict):
        return [bare(one, each) for one, each in zip(value, form[""], strict=True)]
    return value


def dressed(value: Any, form: Any) -> Any:
    """The value that ``bare`` made bare."""
    if isinstance(form, list):
        return {name: dressed(one, each) for (name, each), one in zip(_members(form), value, strict=True)}
    if isinstance(form, dict):
        return [dressed(one, each) for one, each in zip(value, form[""], strict=True)]
    return value


def write(values: Sequence[Any]) -> tuple[str, list[str]]:
    """The legend (a line for each shape) and a line for each value; with several shapes its number comes first."""
    shapes: dict[str, int] = {}
    numbers = [shapes.setdefault(minified(shape(value)), len(shapes)) for value in values]
    forms = [json.loads(each) for each in shapes]
    lines = []
    for value, number in zip(values, numbers, strict=True):
        naked = bare(value, forms[number])
        numbered = [number, *naked] if isinstance(forms[number], list) else [number, naked]
        lines.append(minified(naked if len(forms) == 1 else numbered))
    return "\n".join(shapes), lines


def read(legend: str, lines: Sequence[str]) -> list[Any]:
    """The values again. Raises ValueError where lines and legend do not fit."""
    forms = [json.loads(line) for line in legend.split("\n")]
    values = []
    for line in lines:
        naked = json.loads(line)
        if len(forms) == 1:
            values.append(dressed(naked, forms[0]))
        else:
            number, *rest = naked
            values.append(dressed(rest if isinstance(forms[number], list) else rest[0], forms[number]))
    return values
