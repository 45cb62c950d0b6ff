"""The wires, and one entry point for all of them: detect, decode, encode and check.

This is the only place that names the built-in packages. Further wires come from folders of this package that have a
``wire.py``, from the entry point group "turnwire.wires", and from :func:`register`. All of that is looked for once, and
only when the built-in wires cannot answer: whoever uses one codec loads no other. Each package in ``turnwire.formats``
is a format.
"""

from __future__ import annotations

import os
import sys
from _thread import RLock  # threading would cost the import of it
from functools import cache
from importlib import import_module

from turnwire import _backend
from turnwire.contract import FORMATS, FormatWire, Wire, record_bytes, type_fault
from turnwire.errors import DecodeError, EncodeError, Reason, UnknownName

TYPE_CHECKING: bool = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any, Literal, overload

    from typing_extensions import Buffer

    from turnwire import csp, kick, nslip, sap, sstp
    from turnwire.errors import Issue
    from turnwire.message import Message

    Kinds = tuple[dict[str, Wire], int, dict[str, Wire], dict[str, FormatWire], tuple[str, ...], tuple[str, ...]]

_BUILT_IN = {name: f"turnwire.{name}" for name in ("nslip", "csp", "sstp", "sap", "kick")}
"""Name -> package, in the order in which wires are tried; a wire's place is its code in columns (0 to 4)."""

SIZES = ("short", "full")
"""The sizes of a prompt."""

GROUP = "turnwire.wires"
"""The entry point group: each entry names a Wire, e.g. ``morse = "morse.wire:DESCRIPTOR"``."""

PATHS = "_frozen_importlib_external"
"""Whose finder looks along ``sys.path``."""

_known: dict[str, Wire] = {}
_complete = _searching = False
_lock = RLock()


def _described(module: str) -> Any:
    """The descriptor of a wire or a format, by the name of its module."""
    return import_module(module).DESCRIPTOR


def _built_in(name: str) -> Wire:
    found = _known.get(name)
    if found is None:
        found = _known[name] = _described(_BUILT_IN[name])
    return found


def packages() -> tuple[str, ...]:
    """The packages of the built-in wires and of those that were found or registered so far."""
    return (*_BUILT_IN.values(), *(found.package for found in _known.values()))


def _folders() -> list[str]:
    """The modules ``wire.py`` in folders of this package, by name."""
    return [f"turnwire.{name}.wire" for name in _with("wire.py")]


def _with(file: str, *below: str) -> list[str]:
    """The names of the folders with such a file, in this package or in one below it."""
    names: set[str] = set()
    for place in sys.modules["turnwire"].__path__:
        folder = os.path.join(place, *below)
        if os.path.isdir(folder):
            names |= {entry.name for entry in os.scandir(folder) if os.path.isfile(os.path.join(entry.path, file))}
    return sorted(names)


@cache
def _format_names() -> tuple[str, ...]:
    """The names of the formats that turnwire knows; looked for once, and none of them is imported."""
    return tuple(_with("__init__.py", "formats"))


def _may_have_entries() -> bool:
    """True if a distribution may name a wire. Where all of them are folders that can be looked into, none of which has
    the name of the group in its file, ``importlib.metadata`` need not be imported, which a quarter of a scan's start
    would go into."""
    if any(hasattr(finder, "find_distributions") and finder.__module__ != PATHS for finder in sys.meta_path):
        return True
    for place in sys.path:
        try:
            names = os.listdir(place or ".")
        except FileNotFoundError:
            continue
        except OSError:  # an archive, or a folder that may not be read
            return True
        if place.lower().endswith(".egg") or any(name.lower().endswith(".egg") for name in names):
            return True
        for name in names:
            if name.lower().endswith((".dist-info", ".egg-info")):
                try:
                    with open(os.path.join(place, name, "entry_points.txt"), "rb") as file:
                        if GROUP.encode() in file.read():
                            return True
                except (FileNotFoundError, NotADirectoryError):
                    continue
                except OSError:
                    return True
    return False


def _entries() -> Iterator[Wire]:
    """The wires that entry points name. One that cannot be loaded gives a warning; the others are used."""
    if not _may_have_entries():
        return
    import warnings
    from importlib.metadata import entry_points

    for entry in sorted(entry_points(group=GROUP), key=lambda entry: entry.name):
        try:
            found = entry.load()
        except Exception as error:
            warnings.warn(f"the wire {entry.name!r} ({entry.value}) cannot be loaded: {error}", stacklevel=2)
            continue
        if isinstance(found, Wire):
            yield found
        else:
            warnings.warn(f"the wire {entry.name!r} ({entry.value}) is not a turnwire.contract.Wire", stacklevel=2)


def _add(descriptor: Wire) -> None:
    if descriptor.name in (*_format_names(), FORMATS):
        raise ValueError(f"there is already a format {descriptor.name!r}")
    if _known.setdefault(descriptor.name, descriptor) is not descriptor:
        raise ValueError(f"there is already a wire {descriptor.name!r}: {_known[descriptor.name].package}")


def _all() -> dict[str, Wire]:
    """All wires by name, in order; looked for once."""
    global _complete, _known, _searching
    if not _complete:
        with _lock:
            if not _complete and not _searching:  # a descriptor that asks for the wires gets those before it
                _searching = True
                try:
                    _known = {name: _built_in(name) for name in _BUILT_IN}
                    for module in _folders():
                        _add(_described(module))
                    for descriptor in _entries():
                        _add(descriptor)
                    _complete = True
                finally:
                    _searching = False
    return _known


def wires() -> dict[str, Wire]:
    """All wires by name: the five built-in wires, then those of folders, entry points and ``register``."""
    return dict(_by_kind()[2])


def names() -> tuple[str, ...]:
    """The names of all wires; the place of each is its code in columns."""
    return _by_kind()[4]


def _by_kind() -> Kinds:
    """All descriptors and their number, the wires, the further formats, the names of the wires, and those of wires and
    formats: made anew where one was added, since each scan asks for them, and readers for each record."""
    global _kinds
    known = _all()
    if _kinds[0] is not known or _kinds[1] != len(known):
        further = {name: found for name, found in known.items() if isinstance(found, FormatWire)}
        wires = {name: found for name, found in known.items() if name not in further}
        _kinds = known, len(known), wires, further, tuple(wires), (*wires, *_format_names(), *further)
    return _kinds


_kinds: Kinds = {}, -1, {}, {}, (), ()


def formats() -> dict[str, FormatWire]:
    """All formats of real traffic by name: those of ``turnwire.formats``, entry points, registered ones."""
    global _made
    if _made[0] is not (kinds := _by_kind()):
        found = {name: _described(f"turnwire.formats.{name}") for name in _format_names()}
        _made = kinds, found | kinds[3]
    return dict(_made[1])


_made: tuple[Any, dict[str, FormatWire]] = None, {}


def codes() -> tuple[str, ...]:
    """The names of all wires and after them those of all formats; the place of each is its code in columns."""
    return _by_kind()[5]


def chosen(wires: Iterable[str] | None) -> tuple[str, ...]:
    """The names of these wires, of all for None; one name alone is a choice, too. Raises UnknownName."""
    if wires is None:
        return names()
    found = (wires,) if isinstance(wires, str) else tuple(wires)
    return tuple(wire(name).name for name in found)


def register(descriptor: Wire) -> None:
    """Adds a wire for this process; adding the same object again changes nothing. Raises TypeError for other
    objects, ValueError if the name is taken."""
    if not isinstance(descriptor, Wire):
        raise TypeError(f"register expects a turnwire.contract.Wire, not {type(descriptor).__name__}")
    _all()
    _add(descriptor)


def wire(name: str) -> Wire:
    """A wire by its name. Raises UnknownName for any other."""
    if isinstance(name, str):
        if name in _BUILT_IN:
            return _known.get(name) or _built_in(name)
        if name in _all():
            return _known[name]
        if name in _format_names():
            return _described(f"turnwire.formats.{name}")  # type: ignore[no-any-return]
    raise UnknownName("wire", name, names(), f"{name!r} is not a wire; the wires are {', '.join(names())}")


def scanned() -> tuple[str, ...]:
    """The names of the wires that a scan of all wires finds: those that have a bulk scanner or a text plan."""
    return tuple(name for name, found in wires().items() if found.has("scanner"))


def _in_order() -> Iterator[Wire]:
    """The wires in order; those beyond the built-in ones are looked for only when these have been passed."""
    for name in _BUILT_IN:
        yield _built_in(name)
    yield from list(wires().values())[len(_BUILT_IN) :]


def detect(data: str | Buffer) -> str | None:
    """The name of a record's wire, or None. Looks only at its beginning and shape; the record may still be damaged."""
    raw = record_bytes(data)
    if raw is None:
        raise type_fault(data, None)
    return next((each.name for each in _in_order() if each.detect(raw)), None)


if TYPE_CHECKING:

    @overload
    def decode(data: str | Buffer, wire: Literal["nslip"]) -> nslip.SlipMessage: ...
    @overload
    def decode(data: str | Buffer, wire: Literal["csp"]) -> csp.CspMessage: ...
    @overload
    def decode(data: str | Buffer, wire: Literal["sstp"]) -> sstp.Message: ...
    @overload
    def decode(data: str | Buffer, wire: Literal["sap"]) -> sap.Task | sap.Result | sap.Ack | sap.Nack: ...
    @overload
    def decode(data: str | Buffer, wire: Literal["kick"]) -> kick.Envelope | kick.Space: ...
    @overload
    def decode(data: str | Buffer, wire: str | None = None) -> Any: ...


def decode(data: str | Buffer, wire: str | None = None) -> Any:
    """Reads one message from text or contiguous bytes; detects the wire unless it is named.

    Raises DecodeError: unknown_wire if no wire fits, else what the wire's own decode raises. Raises UnknownName if
    ``wire`` is unknown.
    """
    name = detect(data) if wire is None else wire
    if name is None:
        raise DecodeError(Reason.UNKNOWN_WIRE, f"no wire fits: this is none of {', '.join(names())}", offset=0, line=1)
    return _named(name).decode(data)


_named = wire  # ``decode`` has an argument of that name


def wire_of(message: object) -> str | None:
    """The wire that a message object, or a document, belongs to, or None."""
    return wire_of_class(type(message))


def wire_of_class(cls: type) -> str | None:
    """The wire whose messages, or documents, are of a class, or None."""
    name = getattr(cls, "__wire__", None)
    if name is not None:
        return str(name)
    for base in cls.__mro__:
        for known, package in _BUILT_IN.items():
            if base.__module__ == package or base.__module__.startswith(f"{package}."):
                return known
    if cls.__module__ == "builtins":
        return None
    for each in (*list(_all().values())[len(_BUILT_IN) :], *formats().values()):
        documents = None if each.scanner is None else each.scanner.documents
        if issubclass(cls, each.message if documents is None else (each.message, documents.message)):
            return each.name
    return None


def _wire_of(message: object) -> Wire:
    name = wire_of(message)
    if name is None:
        raise EncodeError(Reason.WRONG_TYPE, f"{type(message).__name__} is not a message of {', '.join(names())}")
    return wire(name)


def encode(message: Message | csp.Document | csp.Preamble | csp.Junk, strict: bool = True) -> str:
    """Writes a message as the canonical text of its wire.

    ``strict=False`` writes back what was read, with its issues. Raises EncodeError: wrong_type for an object that
    is not a message, else what the wire's own encode raises.
    """
    found = _wire_of(message)
    return found.encode(message) if strict else found.text(message)


def check(message: Message | csp.Document | csp.Preamble | csp.Junk, **context: Any) -> list[Issue]:
    """Lists the issues of a message of any wire, as the wire's own ``check`` finds them.

    ``context``: further arguments of that ``check`` (see the wire's page). Raises EncodeError(wrong_type) for an object
    that is not a message.
    """
    return _wire_of(message).check(message, **context)


def prompt(wire: str, size: str = "full") -> str:
    """Returns a text for a system prompt that teaches ``wire``: the form of its messages, its words and its rules,
    and with the size "full" a valid example of each kind, act, intent or channel.

    Replace the placeholders in angle brackets. Some wires have only one size. Raises UnknownName for an unknown
    wire or size.
    """
    if size not in SIZES:
        raise UnknownName("size", size, SIZES, f"the sizes of a prompt are {' and '.join(SIZES)}, not {size!r}")
    from inspect import signature

    found = _named(wire).prompt
    return found(short=True) if size == "short" and "short" in signature(found).parameters else found()


def own_decode(name: str) -> tuple[Any, Any]:
    """The reader of one message, but of no document, of a built-in wire: (data) -> the message, or None for what decode
    is to read, if its core has one; and decode. Twice None for any other wire."""
    if name not in _BUILT_IN:
        return None, None
    codec = import_module(f"{_BUILT_IN[name]}.codec")
    return getattr(getattr(codec, "CORE", None), "read", None), codec.decode


def _own_class(cls: type) -> tuple[Any, Any, Any, Any] | None:
    """encode and check of the wire of a class of turnwire, and what its core has for most messages, None without it:
    (message, strict) -> the text, or None for what encode is to write; and (message) -> True if check certainly finds
    nothing, or the list of what it certainly finds. None for any other class: what is registered may be forgotten."""
    name = wire_of_class(cls) if cls.__module__.startswith("turnwire.") else None
    if name is None:
        return None
    found = wire(name)  # a wire in a folder of its own has the codec that its descriptor names
    codec = import_module(f"{_BUILT_IN[name]}.codec") if name in _BUILT_IN else None
    core = getattr(codec, "CORE", None)
    return found.encode, found.check, getattr(core, "text", None), getattr(core, "is_clean", None)


if not TYPE_CHECKING and _backend.NAME == "native":  # the same, straight into the wire where that is sure
    decode, encode, check = _backend.load("common.door").doors(
        tuple(_BUILT_IN), own_decode, _own_class, decode, encode, check
    )


def scanning() -> Any:
    """``turnwire.scan``, which is built on the protocols: what they are built on reaches it by its name only."""
    return import_module("turnwire.log.scanning").scan


def reading(name: str) -> Any:
    """A module of ``turnwire.read``, which is built on the protocols: they reach it by its name only."""
    return import_module(f"turnwire.read.{name}")
