"""Writing JSON text in pure Python: the readable twin of ``_native/json/write.pyx``."""

from __future__ import annotations

import json
import re
from math import isfinite
from typing import Any

from turnwire.contract import LIMITS, Limits
from turnwire.errors import EncodeError, Reason


def write(value: Any, wire: str | None = None, limits: Limits = LIMITS) -> str:
    """``value`` as JSON text; see ``turnwire.json.text.write``."""
    judge(value, wire, limits)
    try:
        return _ENCODE(value)
    except RecursionError:
        raise EncodeError(Reason.TOO_DEEP, "the value is nested too deep for the interpreter", wire=wire) from None


def text_of(source: str | bytes) -> str:
    """A text that was read and found good: a str, or its UTF-8."""
    if type(source) is not bytes and type(source) is not str:
        raise TypeError(f"a text or its bytes are given, not {type(source).__name__}")
    return source if isinstance(source, str) else source.decode()


def compacted(source: str | bytes) -> str:
    """A text that was read and found good, as it is written while nothing of it has changed: without white space, its
    strings with the escapes that writing gives them, its numbers as they were read."""
    return _SPACE_OR_STRING.sub(_compact, text_of(source))


_SPACE_OR_STRING = re.compile(r'[ \t\n\r]+|"[^"\\]*+(?:\\.[^"\\]*+)*+"')


def _compact(found: re.Match[str]) -> str:
    token = found.group()
    if token[0] != '"':
        return ""
    return _ENCODE(json.loads(token)) if "\\" in token else token


_ENCODE = json.JSONEncoder(ensure_ascii=False, check_circular=False, allow_nan=False, separators=(",", ":")).encode


def judge(value: Any, wire: str | None, limits: Limits) -> None:
    """Raises the EncodeError for the first thing in ``value``, in writing order, that JSON cannot carry."""
    waiting: list[tuple[Any, str, int]] = [(value, "", 0)]
    while waiting:
        item, path, depth = waiting.pop()
        if item is None or isinstance(item, bool):
            continue
        if isinstance(item, str):
            _judge_text(item, path, wire)
        elif isinstance(item, int):
            _judge_integer(item, path, wire)
        elif isinstance(item, float):
            if not isfinite(item):
                raise EncodeError(Reason.NOT_FINITE, f"JSON has no {item}", wire=wire, path=path)
        elif isinstance(item, (dict, list, tuple)):
            if depth >= limits.nesting:
                raise EncodeError(Reason.TOO_DEEP, f"nested deeper than {limits.nesting}", wire=wire, path=path[:200])
            waiting.extend(reversed(_inner(item, path, depth + 1, wire)))
        elif isinstance(item, _Fault):
            raise item.error
        else:
            kind = type(item).__name__
            raise EncodeError(Reason.WRONG_TYPE, f"JSON has no form for {kind}", wire=wire, path=path)


class _Fault:
    """A fault of a key, kept in line until the values before it have been judged."""

    def __init__(self, error: EncodeError) -> None:
        self.error = error


def _inner(item: Any, path: str, depth: int, wire: str | None) -> list[tuple[Any, str, int]]:
    if not isinstance(item, dict):
        return [(inner, f"{path}/{index}", depth) for index, inner in enumerate(item)]
    result: list[tuple[Any, str, int]] = []
    for key, inner in item.items():
        try:
            if not isinstance(key, str):
                text = f"a key is a string, not {type(key).__name__}"
                raise EncodeError(Reason.WRONG_TYPE, text, wire=wire, path=path)
            _judge_text(key, path, wire)
        except EncodeError as error:
            result.append((_Fault(error), path, depth))
            break
        result.append((inner, f"{path}/{key.replace('~', '~0').replace('/', '~1')}", depth))
    return result


def _judge_text(text: str, path: str, wire: str | None) -> None:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise EncodeError(Reason.LONE_SURROGATE, "a lone surrogate has no UTF-8 form", wire=wire, path=path) from None


def _judge_integer(number: int, path: str, wire: str | None) -> None:
    try:
        int.__repr__(number)
    except ValueError:
        text = "the integer has more digits than the interpreter writes"
        raise EncodeError(Reason.NUMBER_TOO_LONG, text, wire=wire, path=path) from None
