"""Which functions of Python an entry of the native core calls on its way: those that do the work where the compiled
code leaves it to the pure rules."""

from __future__ import annotations

import base64
import gc
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import FrameType, ModuleType
from typing import Any

from tests.fuzz.edits import MESSAGES

ENTRIES = ("decode", "encode", "check", "scan")
TRIES = 4
"""So often an entry is called at most until it calls no more than it does for a usual message."""
QUICK = Path(__file__).parent / "quick"
Kept = tuple[bytes, tuple[str, ...]]


def called(call: Callable[[], Any], package: ModuleType) -> frozenset[str]:
    """The functions of the package that a call passes through, as folder, file and name: not those of objects that the
    garbage collector ends meanwhile."""
    found = set()
    root = str(Path(str(package.__file__)).parent)

    def seen(frame: FrameType, event: str, _argument: Any) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(root):
            found.add(f"{frame.f_code.co_filename[len(root) + 1 :]}:{frame.f_code.co_qualname}")

    before, collects = sys.getprofile(), gc.isenabled()
    gc.disable()
    sys.setprofile(seen)
    try:
        call()
    finally:
        sys.setprofile(before)
        if collects:
            gc.enable()
    return frozenset(found)


def way(entry: str, wire: str, text: bytes, package: ModuleType) -> frozenset[str]:
    """What an entry calls for a text, or for the message that it is; of a scan what is called of the wires alone."""
    if entry == "scan":

        def scanned() -> None:
            for _ in package.scan(text + b"\n", wire=wire, threads=1):
                pass

        return frozenset(one for one in called(scanned, package) if one.startswith((*package.wires(), "json")))
    if entry == "decode":
        return called(lambda: package.decode(text, wire), package)
    message = package.decode(text, wire)
    return called(lambda: getattr(package, entry)(message), package)


@cache
def usual(entry: str, wire: str, package: ModuleType) -> frozenset[str]:
    """What an entry calls for the first of the messages of the usual form, which the compiled code takes as a whole."""
    text = MESSAGES[wire][0].encode()
    way(entry, wire, text, package)  # modules are imported, and tables made
    return way(entry, wire, text, package)


def quick(wire: str, text: bytes, package: ModuleType) -> list[str]:
    """The entries that call nothing more for a text than for a message of the usual form, once it is not the first
    (modules may have to be imported, and tables to be made). None where it is no message."""
    for entry in ENTRIES:
        usual(entry, wire, package)
    try:
        package.decode(text, wire)
    except package.WireError:
        return []
    found = []
    for entry in ENTRIES:
        try:
            if any(way(entry, wire, text, package) <= usual(entry, wire, package) for _ in range(TRIES)):
                found.append(entry)
        except package.WireError:
            continue
    return found


def kept(wire: str) -> list[Kept]:
    """Texts of a wire with the entries that are quick for each: one a line, the text in base64."""
    rows = (line.split() for line in (QUICK / f"{wire}.txt").read_text("ascii").splitlines())
    return [(base64.b64decode(text), tuple(entries.split(","))) for entries, text in rows]
