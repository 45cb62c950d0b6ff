"""``--where COLUMN=...``: which records are wanted, as :func:`turnwire.scan` takes it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from math import isnan, nan
from typing import Any

import click

from turnwire.contract import COMMON, Column

NUMBERS = ("u64", "i64", "u8")
ONLY = (
    "there is no 'not' and no comparison; COLUMN=A,B takes any of these values, COLUMN=FROM..TO numbers and times of a "
    "range, either end of which may be left out (..TO is below TO), text=... what contains this. "
    "Anything else is a question for SQL: 'turnwire scan ... -o FILE.parquet' writes what DuckDB and Polars read"
)
_SIGN = re.compile(r"[!<>~]")
TRUTHS = {"true": True, "false": False}


def parsed(conditions: Sequence[str], columns: Sequence[Column]) -> dict[str, Any] | None:
    """The conditions as ``where=``: "COLUMN=A,B" is any of the values, "COLUMN=FROM..TO" (numbers and times) a range
    without its end, either of which may be left out, "text=..." what a record contains. Several of one column are any
    of them, those of different columns all of them.

    columns: those of the wire. Raises UsageError.
    """
    kinds = {column.name: column.kind for column in (*COMMON, *columns)}
    kinds["offset"] = kinds["length"] = "i64"
    wanted: dict[str, Any] = {}
    for condition in conditions:
        name, equals, value = condition.partition("=")
        name = name.strip()
        if name[-1:] in ("!", "<", ">", "~") or (not equals and _SIGN.search(condition)):
            raise click.UsageError(f"--where {condition!r}: {ONLY}")
        if not equals or not name:
            raise click.UsageError(f"--where is COLUMN=VALUE, not {condition!r}")
        found = _condition(name, kinds.get(name, "text"), value)
        if name not in wanted:
            wanted[name] = found
        elif isinstance(found, tuple) or isinstance(wanted[name], tuple):
            raise click.UsageError(f"--where names {name!r} twice; a range cannot be combined with other values")
        else:
            wanted[name] |= found
    return wanted or None


def _condition(name: str, kind: str, value: str) -> Any:
    if name == "text":
        return {value}
    if ".." in value and kind in (*NUMBERS, "f64", "timestamp"):
        start, _, stop = value.partition("..")
        return tuple(_value(name, kind, end) if end else None for end in (start, stop))
    return {_value(name, kind, one) for one in value.split(",")}


def _value(name: str, kind: str, text: str) -> Any:
    if kind in NUMBERS:
        try:
            return int(text)
        except ValueError:
            raise click.UsageError(f"--where: {name} is a whole number, not {text!r}") from None
    if kind == "f64":
        try:
            number = float(text)
        except ValueError:
            number = nan
        if isnan(number):
            raise click.UsageError(f"--where: {name} is a number, not {text!r}")
        return number
    if kind == "bool":
        if text not in TRUTHS:
            raise click.UsageError(f"--where: {name} is true or false, not {text!r}")
        return TRUTHS[text]
    return text
