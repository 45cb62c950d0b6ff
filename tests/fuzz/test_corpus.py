"""Both cores say the same of what is kept of fuzzing, of vectors, and of single edits of messages."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest

from tests.conftest import PURE_ONLY, THINNED
from tests.fuzz.cores import Core
from tests.fuzz.inner import LEVELLED
from tests.fuzz.messages import MESSAGES
from tests.fuzz.seeds import OPTIONS, dictionary, kept, seeds
from tests.fuzz.targets import TARGETS, VARIANTS, WIRES, choosing, chosen, results

pytestmark = [pytest.mark.once, pytest.mark.skipif(PURE_ONLY, reason="compares the cores")]
CHEAP = ("decode", "space", "csp-", "write", "nslip-many", "messages", "sections", "base62")
"""Variants of which an input costs a tenth of a millisecond; of others it costs one to ten."""
SIGNS = b'"\\\n \r0@A_`z{[,#\x80'
"""Written in each place of a message, beside the neighbours of what stands there."""


@pytest.fixture(scope="module")
def cores() -> Iterator[tuple[Core, Core]]:
    """The native core and the pure one. Variants choose among the SIMD code of the first: at the end it is the best one
    again."""
    native = Core("native")
    yield native, Core("pure")
    for name in LEVELLED:
        core = native.modules[f"turnwire._native.{name}"]
        core.choose_simd(core.SIMD)  # type: ignore[attr-defined]


def differences(name: str, inputs: Sequence[bytes], cores: tuple[Core, Core]) -> list[tuple[bytes, object, object]]:
    """Inputs of a variant of which the cores do not say the same, with what they say."""
    native, pure = (results(name, inputs, core) for core in cores)
    return [one for one in zip(inputs, native, pure, strict=True) if one[1] != one[2]]


@pytest.mark.parametrize("name", VARIANTS)
def test_cores_agree(name: str, cores: tuple[Core, Core]) -> None:
    """Of variants with an input that costs much, one in thirty vectors is tried."""
    known, step = kept(name), THINNED * (1 if name.startswith(CHEAP) else 30)
    assert differences(name, known + seeds(name)[len(known) :: step], cores) == []


@pytest.mark.parametrize("name", [name for name in VARIANTS if name.startswith("scan")])
def test_cores_agree_wherever_in_a_block_a_log_begins(name: str, cores: tuple[Core, Core]) -> None:
    """Lines in front of a log move all of it against the blocks of 16 to 64 bytes that SIMD code looks at."""
    front = (b"ok\n", b"\n", b"x y\xc3\xa9 z\n")
    moved = [
        data[:4] + (front[number % 3] * 64)[-(1 + 7 * number % 130) :] + data[4:]
        for number, data in enumerate(seeds(name)[:: 11 * THINNED])
    ]
    assert differences(name, moved, cores) == []


def edits(text: bytes, step: int) -> Iterator[bytes]:
    """Each place made another byte (one in so many of those that are tried there), left out, or written
    twice; and every beginning."""
    for place, byte in enumerate(text):
        written = tuple(dict.fromkeys((*SIGNS, (byte + 1) & 255, (byte - 1) & 255, byte ^ 32)))
        yield from (text[:place] + bytes([new]) + text[place + 1 :] for new in written[place % step :: step])
        yield text[:place] + text[place + 1 :]
        yield text[:place] + text[place : place + 1] * 2 + text[place + 1 :]
        yield text[:place]


@pytest.mark.parametrize("step", [37, pytest.param(1, marks=pytest.mark.soak)])
@pytest.mark.parametrize("wire", WIRES)
def test_cores_agree_on_each_edit_of_a_message(wire: str, step: int, cores: tuple[Core, Core]) -> None:
    for message in MESSAGES[wire]:
        assert results(f"decode-{wire}", [message.encode()], cores[0])[0][0] == "value"
        changed = list(edits(message.encode(), step))[::THINNED]
        assert differences(f"decode-{wire}", changed, cores) == []
        log = (b"\n```\n" if wire == "csp" else b"\n").join(changed[::3]) + b"\n"
        assert differences(f"scan-{wire}", [b"\xff\x02\0\0" + log], cores) == []


def test_a_difference_is_seen(cores: tuple[Core, Core], monkeypatch: pytest.MonkeyPatch) -> None:
    """Values and refusals alike."""
    monkeypatch.setitem(VARIANTS, "odd", lambda package, data: package.backend)
    assert differences("odd", [b""], cores) == [(b"", ("value", "native"), ("value", "pure"))]
    monkeypatch.setitem(VARIANTS, "odd", lambda package, data: package.decode(data[package.backend == "pure" :]))
    assert len(differences("odd", [b"?@a3#"], cores)) == 1


def test_an_input_chooses_its_variant() -> None:
    for name in VARIANTS:
        target, data = choosing(name, b"input")
        assert name in TARGETS[target] and chosen(target, data) == (name, b"input")
    assert all(name.startswith(OPTIONS) for name in TARGETS["scan"])
    assert r'"\x43\x53\x50\x2f\x31"' in dictionary().splitlines()
