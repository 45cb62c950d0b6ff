"""Calls every public function with what it does not take, and writes down what comes of it.

``python -m tests.wrong_types`` prints that as JSON, so that a test can compare one core with the other.
"""

from __future__ import annotations

import enum
import inspect
import json
import sys
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import turnwire
from turnwire import csp, kick, ledger, log, nslip, report, sap, sstp, tokens
from turnwire.errors import WireError


class Odd:
    """An object of no type that anything takes; its repr is the same in every run."""

    def __repr__(self) -> str:
        return "<odd>"


WRONG: dict[str, Any] = {
    "None": None,
    "3": 3,
    "1.5": 1.5,
    "b''": b"",
    "''": "",
    "half a surrogate pair": "\ud800",
    "no UTF-8": b"\xff",
    "[]": [],
    "{}": {},
    "[3]": [3],
    "odd": Odd(),
}
MODULES: dict[str, ModuleType] = {
    "turnwire": turnwire,
    "slip": nslip,
    "base62": nslip.base62,
    "protocol": nslip.protocol,
    "csp": csp,
    "sstp": sstp,
    "sap": sap,
    "kick": kick,
    "tokens": tokens,
    "report": report,
    "ledger": ledger,
    "log": log,
}
OWNERS: dict[str, Callable[[], Any]] = {
    "Decoder()": lambda: turnwire.Decoder(),
    "Decoder(nslip)": lambda: turnwire.Decoder("nslip"),
    "csp.Store()": lambda: csp.Store(),
    "sstp.Session()": lambda: sstp.Session(),
    "kick.Monitor()": lambda: kick.Monitor(),
    "sap.Lifecycle()": lambda: sap.Lifecycle(),
    "sap.Cache()": lambda: sap.Cache(":memory:"),
    "sap.LearningLoop()": lambda: sap.LearningLoop("signals.ledger"),
}
METHODS = ("feed", "apply", "at", "diff", "inverse", "explain", "get", "put", "key", "record", "observe")
LATE = ("http", "mcp", "nats")
"""Modules of transports, none of whose functions are called here: their packages take seconds to import."""
FROM_DATA = ("from_dict", "from_toml", "from_json", "load", "reopen")
"""Class methods that make something of what was read elsewhere."""


def functions() -> Iterator[tuple[str, Callable[..., Any]]]:
    """(name, function) of what is public and takes something."""
    for place, module in MODULES.items():
        for name in getattr(module, "__all__", None) or dir(module):
            if name in LATE:
                continue
            value = getattr(module, name)
            if name.startswith("_") or not str(getattr(value, "__module__", "")).startswith("turnwire"):
                continue
            if inspect.isclass(value):
                if not issubclass(value, (BaseException, enum.Enum)):
                    makers = [maker for maker in FROM_DATA if hasattr(value, maker)]
                    yield from ((f"{place}.{name}.{maker}", getattr(value, maker)) for maker in makers)
            elif callable(value):
                yield f"{place}.{name}", value
    for owner, make in OWNERS.items():
        made = make()
        yield from ((f"{owner}.{name}", getattr(made, name)) for name in METHODS if hasattr(made, name))


def needed(function: Callable[..., Any]) -> int:
    """How many arguments a function wants; one where all may be left out, or where nobody can tell."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (ValueError, TypeError):
        return 1
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    if not any(one.kind in (*positional, inspect.Parameter.VAR_POSITIONAL) for one in parameters):
        return 0
    return max(1, sum(one.kind in positional and one.default is one.empty for one in parameters))


def outcome(function: Callable[..., Any], value: Any, count: int) -> tuple[str, str]:
    """(name of the exception or "", what it says) of one call."""
    try:
        given = function(*[value] * count)
        if inspect.isgenerator(given):
            list(given)
    except WireError as error:
        return type(error).__name__, str(error)
    except Exception as error:
        return type(error).__name__, str(error)
    return "", type(given).__name__


def outcomes() -> dict[str, tuple[str, str]]:
    """Each call -> what came of it."""
    return {
        f"{name}({shown})": outcome(function, value, count)
        for name, function in functions()
        if (count := needed(function))
        for shown, value in WRONG.items()
    }


if __name__ == "__main__":
    json.dump(outcomes(), sys.stdout)
