"""Calls without memory: the n-th allocation fails, alone or with those that follow.

Not with all that follow: the interpreter itself goes round for ever where it cannot make any exception.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Any

from tests.entries.found import Call, ended, placeless

MOST = 1500
"""How far the allocations of a call are tried: the first EACH one by one, then further and further apart."""
EACH = 60
WAYS = (1, 12)
"""How many allocations in a row fail."""
OWN = ("without setting an exception", "without exception set", "can't allocate lock", "source array is read-only")
"""What the interpreter makes of it by itself, also where plain Python raises an error of its own class; and
NumPy, which takes a buffer as one to be read alone when it has no memory to ask whether it may write."""
QUIET = 8
"""After so many numbers in turn at which nothing changes all allocations of a call were met."""


def starved(call: Call, first: int, last: int) -> Any:
    """How a call ends whose allocations from ``first`` on fail; ``last``: the first that does not."""
    _testcapi: Any = import_module("_testcapi")

    result: Any = None
    name = ""
    _testcapi.set_nomemory(first, last)
    try:
        result = call()
    except MemoryError:
        name = "MemoryError"
    except BaseException as error:
        _testcapi.remove_mem_hooks()
        name = f"{type(error).__name__}: {error}"
    finally:
        _testcapi.remove_mem_hooks()
    return name or placeless(repr(result))


def wrong(call: Call, most: int = MOST) -> list[tuple[int, int, Any]]:
    """(allocation, how many fail, how it ended) where that is neither MemoryError nor what it always
    is. A crash ends the process: :func:`alone` runs it in one of its own."""
    usual = ended(call)
    moves = ended(call) != usual  # it has a state that goes on: then only a crash is told
    said = usual if isinstance(usual, str) else f"{usual[0]}: {usual[1]}"
    found = []
    for many in WAYS:
        quiet = number = 0
        while quiet < QUIET and number < most:
            end = starved(call, number, number + many)
            quiet = quiet + 1 if end == said else 0
            if not moves and end not in ("MemoryError", said) and not end.endswith(OWN):
                found.append((number, many, end))
            number += 1 + max(0, number - EACH) // 8
    again = ended(call)
    if again != usual and not moves:
        found.append((-1, 0, f"afterwards {again!r}, before {usual!r}"))
    return found


def main(names: Sequence[str], targets: tuple[str, ...] | None = None) -> int:
    """Starves the calls of the entries of these names; prints what is wrong. The exit code. targets: those of fuzzing
    alone are run to find calls."""
    from tests.entries.work import calls

    bad = 0
    tried: set[int] = set()
    for name, made in calls(targets).items():
        for number, call in enumerate(made):
            if id(call) in tried or (names and not name.startswith(tuple(names))):
                continue
            tried.add(id(call))  # what runs several entries runs once
            bad += alone(f"{name} {number}", call)
    print(f"{len(tried)} calls, {bad} of them end wrongly", file=sys.stderr)
    return int(bad > 0)


def alone(name: str, call: Call) -> bool:
    """Starves a call in a process of its own: where it crashes, the others are tried. Whether anything is wrong."""
    sys.stdout.flush()
    process = os.fork()
    if not process:
        code = 1
        try:
            found = wrong(call)
            for one in found:
                print(name, *one, flush=True)
            code = int(bool(found))
        finally:
            os._exit(code)
    ended = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
    if ended < 0:
        print(name, f"ends the process with signal {-ended}", flush=True)
    return ended != 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
