"""The entries of the native core give back what they take: objects, references, memory of C; in good calls and in those
that are refused."""

from __future__ import annotations

import ctypes
import gc
import json
import pkgutil
import sys
from array import array
from collections.abc import Callable, Iterator
from functools import cache, partial
from importlib import import_module
from inspect import isroutine
from typing import Any

import pytest

import turnwire
from tests.conftest import PURE_ONLY
from tests.fuzz.seeds import seeds
from tests.fuzz.targets import VARIANTS, WIRES
from turnwire import csp, kick, nslip

pytestmark = [pytest.mark.once, pytest.mark.skipif(PURE_ONLY, reason="the compiled core is left out")]

Call = Callable[[], object]
SHARED = (None, True, False, 0, 1, "", b"", (), int, str, bytes, dict, list, tuple)
"""Everybody has references to these: a lost one makes no new object."""
LEAST = 32
"""Bytes that malloc takes at least for what nobody gives back."""
ALLOWED = 0.5
"""A round: a leak is one or more, what fills a cache ends."""
ROUNDS = 8
EACH, MOST = 2, 600
"""Inputs that are tried of a variant of fuzzing, and bytes of each."""


class _Heap(ctypes.Structure):
    """``struct mallinfo2`` of glibc 2.33."""

    _fields_ = [
        (name, ctypes.c_size_t)
        for name in (
            *("arena", "ordblks", "smblks", "hblks", "hblkhd", "usmblks", "fsmblks"),
            *("uordblks", "fordblks", "keepcost"),
        )
    ]


MALLINFO: Any = getattr(ctypes.CDLL(None), "mallinfo2", None) if sys.platform == "linux" else None
if MALLINFO is not None:
    MALLINFO.restype = _Heap


def heap() -> int:
    """Bytes that malloc has given out, in its arenas and as mappings; 0 where nothing says so."""
    if MALLINFO is None:
        return 0
    found = MALLINFO()
    return int(found.uordblks + found.hblkhd)


def counts() -> array[int]:
    """The numbers that must not grow, in one object."""
    return array("q", [sys.getallocatedblocks(), *map(sys.getrefcount, SHARED), heap() // LEAST])


def quietly(call: Call) -> None:
    """Makes a call whose result and refusal are thrown away."""
    try:
        call()
    except Exception:
        return


def growth(call: Call, rounds: int) -> float:
    """The most that any of the numbers grew or fell in a round. Whole numbers are leaks, fractions are caches."""
    for _ in range(5):
        quietly(call)
    gc.collect()
    gc.freeze()  # what is there by now need not be looked through again: the next collection is about the rounds
    before = counts()
    for _ in range(rounds):
        quietly(call)
    gc.collect()
    return max(abs(one - other) for one, other in zip(counts(), before, strict=True)) / rounds


# --- calls ------------------------------------------------------------------------------------------------------------

NSLIP = '@a3|f0|c1|S0|d1|T1|gH|t"he\\"llo"#'
LONG = 'say "hi" to é\n' * 300
"""A text for which no room on the stack is enough."""


@cache
def good(wire: str) -> bytes:
    """A message of a wire that may be written, too, of its vectors."""
    for text in seeds(f"decode-{wire}"):
        try:
            turnwire.encode(turnwire.decode(text, wire))
        except turnwire.WireError:
            continue
        return text
    raise LookupError(wire)


def _slip() -> Any:
    message = nslip.decode(NSLIP)
    again = type(message).from_dict(message.to_dict())
    return message.replace(turn=2), again.get(nslip.Slot.TAG), again.get(99, "none"), again == message, repr(again)


def _tags() -> None:
    """Decodes more texts than are kept, one message after the other."""
    for number in range(300):
        nslip.decode(f'@a3|f0|c1|S0|d1|T1|t"tag{number}"#')


def _sections() -> Any:
    sections = kick.parse_space("⫻goal/a:now\nwin\n⫻data/b\nx\n").sections
    return [(one.to_dict(), one.replace(content="x"), repr(one), hash(one), one == one.replace()) for one in sections]


def _envelope() -> Any:
    envelope = kick.decode(good("kick"))
    again = type(envelope).from_dict(envelope.to_dict())
    return again.replace(channel="x"), envelope.family, again == envelope, kick.encode(again)


def _of_message(wire: str, value: Any) -> None:
    """Checks and writes a message with a value in one of its fields, which may be none that can be written."""
    message: Any = turnwire.decode(good(wire), wire)
    if wire == "kick":
        message = message.replace(content=value)
    elif wire == "nslip":
        message.slots[nslip.Slot.TAG] = value
    elif wire != "csp":
        message.payload["long"] = value
    for work in (turnwire.check, turnwire.encode):
        quietly(partial(work, message))


def _many_keys() -> Any:
    """Scans objects of more keys, and a message of more fields, than there is room for at first."""
    keys = ",".join(f'"k{number}\\u00e9":{number},"l{number}":[{number}]' for number in range(130))
    found = []
    for wire in ("sstp", "sap", "kick"):
        text = good(wire).decode()
        lines = (text, text.replace("{", "{" + keys + ",", 1), "{" + keys + "}", json.dumps({"a": [text] * 5}))
        found.append(sum(map(len, turnwire.scan("\n".join(lines).encode(), wire=wire))))
    fields = "".join(f"K{number} v\n" for number in range(130))
    data = f"CSP/1\nFROM A\nTO B\nCTX C0\nINTENT PLAN\n\nPLAN P1\n{fields}\n".encode()
    return found, csp.decode(data), sum(map(len, turnwire.scan(data * 3, wire="csp")))


def _arrow(wire: str) -> Any:
    data = good(wire) + b"\n" + good(wire) + b"\n"
    return [len(batch.__arrow_c_array__()) for batch in turnwire.scan(data, wire=wire)]


def workloads() -> Iterator[tuple[str, Call]]:
    """Calls with a name each: variants of fuzzing on some of their inputs, and what these do not reach."""
    for name, variant in VARIANTS.items():
        inputs = [one for one in seeds(name) if len(one) < MOST]
        for data in inputs[:: len(inputs) // EACH]:
            yield f"{name} {data!r:.60}", partial(variant, turnwire, data)
    for wire in WIRES:
        yield f"arrow {wire}", partial(_arrow, wire)
        yield from ((f"{wire} with {value!r:.20}", partial(_of_message, wire, value)) for value in (LONG, object(), 3))
    yield from {"slip": _slip, "tags": _tags, "section": _sections, "envelope": _envelope, "keys": _many_keys}.items()
    yield from ((f"decode {one!r}", partial(nslip.decode, one)) for one in (NSLIP[:-1], 3, None))  # type: ignore[arg-type]


# --- what is counted --------------------------------------------------------------------------------------------------

FOR_EVER = "log.arrow.foreign"
"""It keeps six functions, which is what it is for."""


def modules() -> Iterator[tuple[str, Any]]:
    """The compiled modules with their names within ``_native``."""
    package = import_module("turnwire._native")
    for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        if not found.ispkg and not found.name.endswith("cython_shared"):
            yield found.name.removeprefix(f"{package.__name__}."), import_module(found.name)


def functions() -> dict[str, Any]:
    """The public functions of the compiled modules, by name."""
    return {
        f"{place}.{name}": value
        for place, module in modules()
        for name, value in vars(module).items()
        if not name.startswith("_") and isroutine(value) and getattr(value, "__module__", None) == module.__name__
    }


def noting(name: str, function: Any, called: set[str]) -> Any:
    """The function, with its name noted where it is called."""

    def call(*arguments: Any, **named: Any) -> Any:
        called.add(name)
        return function(*arguments, **named)

    return call


def test_nothing_stays_behind() -> None:
    """A leak grows in every round, a cache does not: what grows is asked again, for twice as long, and must grow each
    time."""
    import_module("turnwire.session")
    grown = list(workloads())
    for doubled in range(7):
        grown = [(name, call) for name, call in grown if growth(call, ROUNDS << doubled) > ALLOWED]
    assert [name for name, _ in grown] == []


def test_every_entry_is_called(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wherever the package keeps a function of the core, its calls are noted."""
    known = {id(one): (name, one) for name, one in functions().items()}
    called = {FOR_EVER}
    for module in [one for name, one in sys.modules.items() if name.partition(".")[0] == "turnwire"]:
        for name, value in list(vars(module).items()):
            if id(value) in known:
                monkeypatch.setattr(module, name, noting(*known[id(value)], called))
    for _, call in workloads():
        quietly(call)
    assert sorted({*functions()} - called) == []


def test_a_leak_is_seen() -> None:
    kept: list[Any] = []
    assert growth(lambda: kept.append(object()), 100) >= 1
    assert growth(object, 100) < ALLOWED


@pytest.mark.skipif(MALLINFO is None, reason="nothing says what malloc has given out")
def test_a_leak_of_c_is_seen() -> None:
    library = ctypes.CDLL(None)
    library.malloc.restype, library.malloc.argtypes = ctypes.c_void_p, (ctypes.c_size_t,)
    library.free.argtypes = (ctypes.c_void_p,)
    taken: list[int] = []
    for size in (24, 5000, 1 << 20):
        assert growth(lambda size=size: taken.append(library.malloc(size)), 100) >= 1  # type: ignore[misc]
        assert growth(lambda size=size: library.free(library.malloc(size)), 100) < ALLOWED  # type: ignore[misc]
    for one in taken:
        library.free(one)
