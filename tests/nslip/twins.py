"""Shared by the tests of nSLIP: both cores by name, random messages, random damage, and outcomes that compare."""

from __future__ import annotations

import random
from types import ModuleType
from typing import Any

from hypothesis import strategies as st

import turnwire.nslip  # noqa: F401  (the core modules expect the package to be there)
from turnwire._backend import core_module
from turnwire.errors import WireError
from turnwire.nslip.spec import STRING_SLOTS, Act, FrameType, Slot

MAX = 2**64 - 1


def core_of(backend: str, stem: str = "nslip.codec") -> ModuleType:
    """A core module of one backend."""
    return core_module(backend, stem)


def outcome(function: Any, *arguments: Any, **named: Any) -> tuple[Any, ...]:
    """The result of a function, or its refusal, words included. Anything but a WireError is a failure of the test."""
    try:
        return ("value", function(*arguments, **named))
    except WireError as error:
        return (type(error).__name__, error.reason, error.offset, error.line, error.wire, error.path, error.text)


def plain(message: Any) -> tuple[Any, ...]:
    """The content of a message of either core, the order of its slots and the positions of its extra included."""
    fields = [getattr(message, name) for name in ("conv_id", "turn", "src", "dst", "act", "frame")]
    kept = [(prefix, value, message.extra.before.get(prefix)) for prefix, value in message.extra.items()]
    kept.sort(key=lambda field: field[0] != "f")  # the header has its own place, wherever the frame stood
    return (*fields, type(message.act), type(message.frame), list(message.slots.items()), kept)


def plain_outcome(function: Any, *arguments: Any, **named: Any) -> tuple[Any, ...]:
    """:func:`outcome` of something that gives a message."""
    return outcome(lambda: plain(function(*arguments, **named)))


# --- hypothesis -----------------------------------------------------------------------------------------------------

numbers = st.integers(0, MAX) | st.integers(0, 4000) | st.sampled_from([0, 61, 62, 62**10, MAX - 1, MAX])
anything = st.none() | st.booleans() | st.floats() | st.text(st.characters()) | st.integers() | st.binary()
texts = st.text(st.characters(exclude_categories=["Cs"])) | st.text('\\"|#@\n\r\x00\u2028aS9u0')
_free = list("ABCDEFGHIJKLMNOPQRUVWXYZbhijlmnovwxyz")


@st.composite
def slot_dicts(draw: st.DrawFn) -> dict[Slot, Any]:
    chosen = draw(st.lists(st.sampled_from(list(Slot)), unique=True))
    return {slot: draw(texts if slot in STRING_SLOTS else numbers) for slot in chosen}


fields = st.tuples(
    numbers, numbers, numbers, numbers, st.sampled_from(list(Act)), st.sampled_from(list(FrameType)), slot_dicts()
)
"""The seven arguments of a SlipMessage."""


@st.composite
def kept_wires(draw: st.DrawFn) -> str:
    """Wire text with unknown slots, an unknown frame now and then, and everything in any order."""
    digits = numbers.map(_base62) | numbers.map(lambda number: "00" + _base62(number))
    quoted = texts.map(lambda text: '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"')
    parts = ["a" + draw(st.sampled_from("0123456789A")), "f" + draw(st.sampled_from("01234") | digits)]
    parts += [prefix + draw(digits) for prefix in "cSdT"]
    parts += [prefix + draw(digits) for prefix in draw(st.sets(st.sampled_from("gkprqse")))]
    parts += [prefix + draw(quoted) for prefix in draw(st.sets(st.sampled_from("ut")))]
    parts += [prefix + draw(quoted | digits) for prefix in draw(st.sets(st.sampled_from(_free), max_size=4))]
    return "@" + "|".join(draw(st.permutations(parts))) + "#"


def _base62(number: int) -> str:
    digits: str = core_of("pure", "nslip.base62").encode(number)
    return digits


# --- seeded loops, quick enough for hundreds of thousands of cases ----------------------------------------------------

_PIECES = [*'"\\|#@\n\x00x', "S9", "|a5|u", "\u00e9", "\u2028", "\U0001f600", "\ud7ff", "\ue000"]


def random_text(chance: random.Random) -> str:
    """Nasty pieces, or code points of any kind but lone surrogates."""
    if chance.random() < 0.5:
        return "".join(chance.choices(_PIECES, k=chance.randrange(8)))
    points = (chance.randrange(1 << chance.randrange(1, 21)) for _ in range(chance.randrange(12)))
    return "".join(chr(point) for point in points if not 0xD800 <= point <= 0xDFFF)


def random_number(chance: random.Random) -> int:
    return chance.getrandbits(chance.randrange(65))


def random_fields(chance: random.Random) -> tuple[Any, ...]:
    """The seven arguments of a SlipMessage."""
    chosen = chance.sample(list(Slot), chance.randrange(len(Slot) + 1))
    slots = {slot: (random_text if slot in STRING_SLOTS else random_number)(chance) for slot in chosen}
    heads = (random_number(chance) for _ in range(4))
    return (*heads, Act(chance.randrange(11)), FrameType(chance.randrange(5)), slots)


_BYTES = [*(bytes([byte]) for byte in b'"\\|#@\n\x00\xff\xc3z0x '), b"\xed\xa0\x80", b"f5"]


def damaged(wire: bytes, chance: random.Random) -> bytes:
    """One to three small damages: a bit, a byte, a cut, a piece put in, taken out, doubled or moved."""
    data = bytearray(wire)
    for _ in range(chance.randrange(1, 4)):
        place = chance.randrange(len(data) + 1)
        other = min(len(data), place + chance.randrange(1, 8))
        kind = chance.randrange(6)
        if kind == 0 and place < len(data):
            data[place] ^= 1 << chance.randrange(8)
        elif kind == 1:
            data[place:place] = chance.choice(_BYTES)
        elif kind == 2:
            data[place : place + 1] = chance.choice(_BYTES)
        elif kind == 3:
            del data[place:other]
        elif kind == 4:
            data[place:place] = data[place:other]
        else:
            del data[place:]
    return bytes(data)


def kept_message(core: ModuleType) -> Any:
    """A message with unknown slots between known ones and an unknown frame, all with leading zeros."""
    return core.decode('@a3|f07|c3|S0|d1|T1|x05|gH|y"a\\"b"|t"ok"|z00#', unknown="keep")


BAD_MESSAGES: dict[str, tuple[int, Any]] = {
    "negative": (0, -1),
    "too_large": (1, 2**64),
    "wrong_type": (2, 1.5),
    "unknown_act": (4, 11),
    "unknown_frame": (5, 5),
    "unknown_slot": (6, {99: 1}),
    "lone_surrogate": (6, {20: "\ud800"}),
}


def bad_message(core: Any, reason: str) -> Any:
    """A message that encode refuses for this reason."""
    place, value = BAD_MESSAGES[reason]
    values: list[Any] = [3, 1, 0, 1, 3, 0, {}]
    values[place] = value
    return core.SlipMessage(*values)
