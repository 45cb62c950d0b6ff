"""The targets of fuzzing: entries of both cores, most of them public, with what comes out as plain values.

A variant takes the package of one core and any bytes. It returns values that compare; it may raise a ``WireError``,
which is compared by type, reason, place and wire. Anything else that is raised is a finding, and so is a difference.
A target is several variants, of which the first byte of an input chooses one.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Iterator
from enum import Enum
from importlib import import_module
from importlib.util import find_spec
from itertools import islice
from types import ModuleType
from typing import Any

import numpy as np

from tests.fuzz.inner import choose_simd, messages, sections, views
from tests.log.found import counted, rows_of

Variant = Callable[[ModuleType, bytes], Any]
WIRES = ("nslip", "csp", "sstp", "sap", "kick")
PLAIN = frozenset((type(None), bool, int, str, bytes))
"""Types of values that are shown as they are."""


def shown(value: Any) -> Any:
    """A value without the classes of its core, so that those of both cores compare."""
    kind = type(value)
    if kind in PLAIN:
        return kind.__name__, value
    if isinstance(value, dict):
        return kind.__name__, shown(list(value)), shown(list(value.values()))
    if isinstance(value, list | tuple):
        kinds = list(map(type, value))  # True is 1
        plain = PLAIN.issuperset(kinds)
        return (kind.__name__, kinds, list(value)) if plain else (kind.__name__, [shown(inner) for inner in value])
    if isinstance(value, Enum):
        return kind.__name__, value.name
    if isinstance(value, int | str | bytes):
        return kind.__name__, value
    if isinstance(value, float):
        return "float", "nan" if math.isnan(value) else repr(value)
    if isinstance(value, np.ndarray | np.generic):
        return shown(value.tolist())
    if hasattr(value, "to_dict"):
        return kind.__name__, shown(value.to_dict())
    return kind.__name__, repr(value)


def refusal(error: Any) -> tuple[str, str, tuple[Any, ...]]:
    """A refusal without its words."""
    return type(error).__name__, str(error.reason), (error.offset, error.line, error.wire, error.path)


def outcome(call: Callable[[], Any], package: ModuleType) -> Any:
    """The result of a call, or its refusal without the words."""
    try:
        return "value", shown(call())
    except package.WireError as error:
        return refusal(error)


def _options(data: bytes) -> tuple[list[int], bytes]:
    """The first four bytes choose among options, the rest is the input."""
    return list(data[:4].ljust(4, b"\0")), data[4:]


# --- messages ---------------------------------------------------------------------------------------------------------


def _decode(wire: str) -> Variant:
    """All that a message says, how it is written, and what is doubtful about it."""

    def run(package: ModuleType, data: bytes) -> Any:
        message = package.decode(data, wire=wire)
        try:
            written = outcome(lambda: package.encode(message), package)
            return (
                shown(message),
                written,
                [(str(one.reason), one.where, one.severity) for one in package.check(message)],
            )
        except package.WireError as error:
            raise AssertionError(f"what was read as a message cannot be looked at: {error}") from error

    return run


def _csp(mode: str) -> Variant:
    def run(package: ModuleType, data: bytes) -> Any:
        document = package.csp.parse(data, mode=mode)
        records = [shown(record) for record in document.records]
        lints = [(str(one.reason), one.where) for one in package.csp.lint(document)]
        return records, [(str(one.reason), one.where) for one in document.issues], lints

    return run


def _space(mode: str) -> Variant:
    def run(package: ModuleType, data: bytes) -> Any:
        choose_simd(package, len(data))
        space = package.kick.parse_space(data, mode=mode)
        sections = [(shown(one), one.raw) for one in space.sections]
        return space.preamble, sections, [(str(one.reason), one.where) for one in space.issues]

    return run


def _many(package: ModuleType, data: bytes) -> Any:
    """Lines of nSLIP as one text, and written again."""
    messages = package.nslip.decode_many(data, unknown="keep")
    return shown(messages), package.nslip.encode_many(messages)


def _conform(package: ModuleType, data: bytes) -> Any:
    """The verdicts of each wire's checklist on a log."""
    return [outcome(lambda wire=wire: repr(getattr(package, wire).conformance(data)), package) for wire in WIRES]


# --- logs -------------------------------------------------------------------------------------------------------------


def _scan(wire: str | None) -> Variant:
    def run(package: ModuleType, data: bytes) -> Any:
        (size, level, keep, fences), data = _options(data)
        choose_simd(package, level)
        found = package.scan(
            data,
            wire=wire,
            batch_bytes=(1 + size if size < 200 else 1 << 20),
            unknown="keep" if keep & 1 else "error",
            fences=bool(fences & 1),
            limits=package.LIMITS._replace(message=1 + keep) if keep > 200 else package.LIMITS,
        )
        rows = rows_of(iter(found))
        return rows, [{name: str(value) for name, value in one.items()} for one in found.rejects.rows()], counted(found)

    return run


def _arrow(package: ModuleType, data: bytes) -> Any:
    """The columns of a scan and of its rejects as others read them."""
    import pyarrow as pa

    (wire, keep, *_), data = _options(data)
    found = package.scan(data, wire=(*WIRES, None)[wire % 6], unknown="keep" if keep & 1 else "error")
    rows = [shown(pa.record_batch(batch).to_pylist()) for batch in found]
    return rows, shown(pa.table(found.rejects).drop_columns("file").to_pylist())


def _stream(package: ModuleType, data: bytes) -> Any:
    """A decoder that is fed in pieces; where it raises it is fed on."""
    (choice, *sizes), data = _options(data)
    decoder = package.Decoder((*WIRES, None)[choice % 6])
    found: list[Any] = []
    place = number = 0
    while place < len(data):
        size = 1 + sizes[number % 3]
        piece = data[place : place + size]
        found += _fed(lambda piece=piece: decoder.feed(piece), lambda: decoder.feed(b""), package)
        place, number = place + size, number + 1
    return found + _fed(decoder.close, decoder.close, package)


def _fed(first: Callable[[], Any], then: Callable[[], Any], package: ModuleType) -> list[Any]:
    found: list[Any] = []
    call = first
    for _ in range(1000):
        said = outcome(call, package)
        found.append(said)
        if said[0] == "value":
            return found
        call = then
    raise RuntimeError("a decoder raises for ever")


def _salvage(package: ModuleType, data: bytes) -> Any:
    text = data.decode("utf-8", "replace")
    choose_simd(package, len(data))
    return (
        outcome(lambda: package.sstp.salvage(text), package),
        [(one.wire, one.start, one.end, shown(one.message)) for one in package.extract(text)],
    )


# --- JSON, numbers, sessions ------------------------------------------------------------------------------------------


def _json(data: bytes) -> Any:
    """JSON as the standard library reads it; None where it does not."""
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return None


def _write(package: ModuleType, data: bytes) -> Any:
    """A value written in both forms."""
    value = _json(data)
    text = import_module("turnwire.json.text")
    canonical = import_module("turnwire.json.text").canonical
    return outcome(lambda: text.write(value), package), outcome(lambda: canonical(value), package)


def _pointers(value: Any, path: str = "", depth: int = 0) -> Iterator[str]:
    """JSON pointers to what is in a value, and to what is not."""
    yield path
    yield f"{path}/0"
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    if depth < 6:
        for name, one in inner:
            yield from _pointers(one, f"{path}/{str(name).replace('~', '~0').replace('/', '~1')}", depth + 1)


def _places(package: ModuleType, data: bytes) -> Any:
    """The places of values in JSON text."""
    value = _json(data)
    place_of = import_module("turnwire.json.faults").place_of
    return None if value is None else [(one, place_of(data, one)) for one in islice(_pointers(value), 60)]


def _base62(package: ModuleType, data: bytes) -> Any:
    base62 = package.nslip.base62
    text = data.decode("latin-1")
    width = max(1, min(data[0] % 16 if data else 1, len(data)))
    rows = np.frombuffer(data[: len(data) // width * width], f"S{width}")
    numbers = np.frombuffer(data[: len(data) // 8 * 8], "u8")
    return (
        outcome(lambda: base62.decode(text), package),
        outcome(lambda: base62.encode(int.from_bytes(data[:9], "little")), package),
        outcome(lambda: base62.decode_array(rows), package),
        outcome(lambda: base62.encode_array(numbers), package),
    )


def _session(package: ModuleType, data: bytes) -> Any:
    """Text of a session as events, whole and what can be saved of it; the events as text again."""
    (strict, sealed, *_), data = _options(data)
    session, text = import_module("turnwire.session"), data.decode("utf-8", "replace")
    lines = [line for line in text.split("\n") if line.startswith(("{", "["))][:20]

    def packed() -> str:
        events = session.decode("\n".join(lines)) if lines else session.salvage(text).events
        return str(session.encode(events, tokenizer=None))

    read = outcome(lambda: session.decode(text, strict=bool(strict & 1), sealed=bool(sealed & 1)), package)
    return read, outcome(lambda: session.salvage(text), package), outcome(packed, package)


def _written(package: ModuleType, data: bytes) -> Any:
    """Lines as events, written and read again; the session cut and damaged."""
    session, text = import_module("turnwire.session"), data.decode("utf-8", "replace")
    lines = text.split("\n")[:200]
    written = session.encode(lines, None)
    if len(session.decode(written)) != len(lines):
        raise RuntimeError("there are more events, or fewer")
    place = sum(data[:4]) % max(1, len(written))
    damaged = written[:place] + text[:8] + written[place + 5 :]
    return written, [
        outcome(lambda: session.decode(damaged), package),
        outcome(lambda: session.salvage(damaged), package),
        outcome(lambda: session.decode(written + text, strict=False, sealed=False), package),
    ]


TARGETS: dict[str, dict[str, Variant]] = {
    "decode": {f"decode-{wire}": _decode(wire) for wire in WIRES},
    "documents": {
        "csp-strict": _csp("strict"),
        "csp-lenient": _csp("lenient"),
        "space-strict": _space("strict"),
        "space-lenient": _space("lenient"),
        "nslip-many": _many,
        "conform": _conform,
    },
    "scan": {
        "scan-all": _scan(None),
        **{f"scan-{wire}": _scan(wire) for wire in WIRES},
        **({"arrow": _arrow} if find_spec("pyarrow") else {}),
    },
    "stream": {"stream": _stream},
    "salvage": {"salvage": _salvage},
    "json": {"write": _write, "places": _places},
    "core": {"messages-csp": messages, "views": views, "sections": sections, "base62": _base62},
    "session": {"session": _session, "session-written": _written},
}
VARIANTS: dict[str, Variant] = {name: variant for target in TARGETS.values() for name, variant in target.items()}


def chosen(target: str, data: bytes) -> tuple[str, bytes]:
    """The name of the variant that an input of a target chooses, and what it is given."""
    names = list(TARGETS[target])
    return names[(data[0] if data else 0) % len(names)], data[1:]


def choosing(name: str, data: bytes) -> tuple[str, bytes]:
    """The target that a variant is of, and an input of it that chooses the variant."""
    target = next(target for target, variants in TARGETS.items() if name in variants)
    return target, bytes([list(TARGETS[target]).index(name)]) + data


def results(name: str, inputs: Iterable[bytes], core: Any) -> list[Any]:
    """A variant's result for each input on a core (:class:`tests.fuzz.cores.Core`), or its refusal. The core is made
    active once for all of them, which takes as long as a small message does."""
    found: list[Any] = []
    with core.active() as package:
        for data in inputs:
            try:
                found.append(("value", VARIANTS[name](package, data)))
            except package.WireError as error:
                found.append(refusal(error))
    return found
