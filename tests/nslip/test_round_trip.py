"""Random messages come back whole; damaged wires have the same outcome on both cores; so do the upstream lines."""

from __future__ import annotations

import random
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st

from tests.conftest import BACKENDS, needs_both, raised, rounds
from tests.nslip import twins
from turnwire import DecodeError, Reason

UPSTREAM = Path(__file__).parents[2] / "examples" / "data" / "nslip_upstream.txt"


@pytest.mark.parametrize("backend", BACKENDS)
@given(fields=twins.fields)
def test_messages_come_back(backend: str, fields: tuple[Any, ...]) -> None:
    nslip = twins.core_of(backend)
    message = nslip.SlipMessage(*fields)
    wire = nslip.encode(message)
    back = nslip.decode(wire)
    assert back == message
    assert list(back.slots.items()) == list(fields[6].items())
    assert nslip.encode(back) == wire
    assert nslip.decode(b"  " + wire.encode() + b"\r\n") == message


@pytest.mark.parametrize("backend", BACKENDS)
def test_short_texts_are_never_taken_for_one_another(backend: str) -> None:
    """Short strings are remembered by their bytes: each comes back as itself, whichever came before."""
    nslip = twins.core_of(backend)
    chance = random.Random(62)
    texts = ["".join(letters) for size in range(9) for letters in product("ab", repeat=size)]
    texts += ["".join(chance.choices("abc", k=size)) for size in range(9, 20) for _ in range(40)]
    for _ in range(3):
        chance.shuffle(texts)
        for status, tag in zip(texts, reversed(texts), strict=True):
            message = nslip.decode(f'@a1|f2|c1|S2|d0|T3|u"{status}"|t"{tag}"#')
            assert list(message.slots.values()) == [status, tag]


@pytest.mark.parametrize("backend", BACKENDS)
@given(wire=twins.kept_wires())
def test_kept_fields_come_back(backend: str, wire: str) -> None:
    nslip = twins.core_of(backend)
    message = nslip.decode(wire, unknown="keep")
    again = nslip.encode(message)
    assert twins.plain(nslip.decode(again, unknown="keep")) == twins.plain(message)
    if not message.extra:
        assert nslip.encode(nslip.decode(wire)) == again


@needs_both
def test_damaged_wires_have_one_outcome() -> None:
    native, pure = (twins.core_of(backend) for backend in ("native", "pure"))
    chance = random.Random(4356)
    good = bad = 0
    for number in range(rounds(2000)):
        unknown = "keep" if number % 2 else "error"
        wire = twins.damaged(pure.encode(pure.SlipMessage(*twins.random_fields(chance))).encode(), chance)
        ours = twins.plain_outcome(native.decode, wire, unknown=unknown)
        assert ours == twins.plain_outcome(pure.decode, wire, unknown=unknown), (wire, unknown)
        good, bad = good + (ours[0] == "value"), bad + (ours[0] != "value")
    assert good > 100
    assert bad > 500


@needs_both
@given(
    twins.fields,
    st.integers(0, 6),
    twins.anything | st.dictionaries(st.sampled_from([0, 1, 12, 20, 99, -1, True, "TAG", None, 2**70]), twins.anything),
)
def test_wrong_values_are_refused_alike(fields: tuple[Any, ...], place: int, value: Any) -> None:
    values = [*fields]
    values[place] = value
    outcomes = []
    for backend in ("native", "pure"):
        nslip = twins.core_of(backend)
        outcomes.append(twins.outcome(lambda core=nslip: core.encode(core.SlipMessage(*values))))
    assert outcomes[0] == outcomes[1]


def test_every_cut_and_every_bit_flipped_has_one_outcome(core: Any) -> None:
    """A message has no check sum: a flipped bit may give another good one, but never a crash or the same message. What
    is cut off is never one."""
    nslip = core("nslip.codec")
    wire = '@a3|f0|c3|S0|d1|T1|gH|u"d\u00e9\\"j\\\\"|t"\U0001f600"#'.encode()
    original = twins.plain(nslip.decode(wire))
    for place in range(len(wire)):
        raised(DecodeError, nslip.decode, wire[:place])
        for bit in range(8):
            data = bytearray(wire)
            data[place] ^= 1 << bit
            assert twins.plain_outcome(nslip.decode, data) != ("value", original)


def test_no_string_forges_a_field(core: Any) -> None:
    nslip = core("nslip.codec")
    fields = (3, 1, 0, 1, nslip.SlipMessage(0, 0, 0, 0, 0, 0).act, 0)
    for tag in ("|S9|a5|u", 'done"|S9|q0|u', '"|S9|t"', '\\"|S9', "#@a5|f0|c9|S9|d9|T9#", "\\", '"', '\\"', '"#'):
        message = nslip.SlipMessage(*fields, {20: tag})
        back = nslip.decode(nslip.encode(message))
        assert (back.src, dict(back.slots)) == (0, {20: tag})


@pytest.mark.parametrize("junk", ["x", "#", "@", "|", '"', "\x00", "@a3|f0|c3|S0|d1|T1#"])
def test_nothing_may_follow(core: Any, junk: str) -> None:
    wire = "@a3|f0|c3|S0|d1|T1#"
    caught = raised(DecodeError, core("nslip.codec").decode, wire + junk)
    assert (caught.reason, caught.offset) == (Reason.TRAILING_JUNK, len(wire))


def test_the_upstream_lines(core: Any) -> None:
    """Real traffic: each line decodes, and encodes to the same bytes, one by one and all at once."""
    nslip = core("nslip.codec")
    data = UPSTREAM.read_bytes()
    lines = data.splitlines()
    assert len(lines) == 4356
    messages = [nslip.decode(line) for line in lines]
    assert [nslip.encode(message).encode() for message in messages] == lines
    assert nslip.decode_many(data) == nslip.decode_many(lines) == messages
    assert nslip.encode_many(messages) == b"".join(line + b"\n" for line in lines)


@needs_both
def test_many_damaged_lines_have_one_outcome() -> None:
    """decode_many of lines, of one buffer and of a list; encode_many of what was read."""
    native, pure = (twins.core_of(backend) for backend in ("native", "pure"))
    chance = random.Random(77)
    for number in range(rounds(300)):
        lines = [pure.encode(pure.SlipMessage(*twins.random_fields(chance))).encode() for _ in range(3)]
        lines += [b"", b" \t", b"\r"][: chance.randrange(4)]
        chance.shuffle(lines)
        if number % 3:
            lines[0] = twins.damaged(lines[0], chance)
        lines += [b"@a3|f0|c1|S0|d1|T1|gH|x5#"] * (number % 7 == 0)
        unknown = "keep" if number % 2 else "error"

        def read(core: Any, many: Any, unknown: str = unknown) -> tuple[Any, Any]:
            messages = core.decode_many(many, unknown=unknown)
            return [*map(twins.plain, messages)], core.encode_many(messages)

        for data in (b"\n".join(lines), b"\r\n".join(lines) + b"\n", lines):
            assert twins.outcome(read, native, data) == twins.outcome(read, pure, data), data
