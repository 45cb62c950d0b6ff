"""KickLang, measured: Space Format against memchr and a plain ``re.finditer``, envelopes against msgspec, the monitor.

Run it as ``python -m benchmarks.kick``; all data is generated from a seed. Ratios are taken in one process, the best of
several rounds each; times are processor time where a single call is long enough to tell, else wall clock.
"""

from __future__ import annotations

import ctypes
import json
import random
import re
import time
from collections.abc import Callable
from typing import Any, Literal

import msgspec

import turnwire
from turnwire.kick import Monitor, channels, check, decode, parse_space

WORDS = "the agent dispatch of a report and task whose result is kept in memory for later use — naïve “quotes” code"
HEADER = re.compile(
    r"^⫻(?P<name>[^/:\n]*)(?:/(?P<type>[^:\n]*))?(?::(?P<place>[^/\n]*)(?:/(?P<index>[^\n]*))?)?$", re.MULTILINE
)


def best(call: Callable[[], Any], rounds: int = 30) -> float:
    """Seconds of the fastest of several rounds."""
    fastest = float("inf")
    for _ in range(rounds):
        start = time.perf_counter()
        call()
        fastest = min(fastest, time.perf_counter() - start)
    return fastest


def rivals(*calls: Callable[[], Any], rounds: int = 40, times: int = 1000) -> list[float]:
    """Seconds of one call of each, the best of rounds in turn, so that a busy machine hurts all alike."""
    fastest = [float("inf")] * len(calls)
    for _ in range(rounds):
        for place, call in enumerate(calls):
            start = time.process_time()
            for _ in range(times):
                call()
            fastest[place] = min(fastest[place], (time.process_time() - start) / times)
    return fastest


def document(section: int, total: int, words: list[str]) -> str:
    """A document of ``total`` bytes in sections of ``section`` bytes."""
    rnd = random.Random(1)
    pieces: list[str] = []
    size = 0
    most = min(total, 8 << 20)  # repeated beyond that: what matters then is that no cache holds it
    while size < most:
        body = ""
        while len(body.encode()) < section:
            body += " ".join(rnd.choices(words, k=10)) + "\n"
        pieces.append(f"⫻task/dispatch:T-{len(pieces)}/001\n{body}\n")
        size += len(pieces[-1].encode())
    return "".join(pieces) * (total // most)


def baseline(text: str) -> list[tuple[str, str | None, str | None, str | None, str]]:
    """What one writes without a library: finditer over the headers, the text between them as content."""
    found = list(HEADER.finditer(text))
    ends = [match.start() for match in found[1:]] + [len(text)]
    return [
        (*match.group("name", "type", "place", "index"), text[match.end() + 1 : end].rstrip())
        for match, end in zip(found, ends, strict=True)
    ]


def space() -> None:
    """Space Format: gigabytes per second, per cent of memchr, times the baseline."""
    libc = ctypes.CDLL(None)
    libc.memchr.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_size_t]
    libc.memchr.restype = ctypes.c_void_p
    plain = [word for word in WORDS.split() if word.isascii()]
    for name, section, total, words in (
        ("300-byte sections", 300, 1 << 20, WORDS.split()),
        ("16 kB bodies, ASCII", 16 << 10, 8 << 20, plain),
        ("16 kB bodies", 16 << 10, 8 << 20, WORDS.split()),
        ("200 kB bodies", 200_000, 8 << 20, WORDS.split()),
        ("16 kB, 96 MB, ASCII", 16 << 10, 96 << 20, plain),  # larger than any cache: what a log is
        ("16 kB, 96 MB", 16 << 10, 96 << 20, WORDS.split()),
    ):
        text = document(section, total, words)
        data = text.encode()
        held = ctypes.c_char_p(data)
        size = len(data)
        rounds = 30 if total <= 8 << 20 else 8
        scan = best(lambda held=held, size=size: libc.memchr(held, 1, size), rounds)
        parts = [f"{name:20} memchr {len(data) / scan / 1e9:5.1f} GB/s"]
        count = len(parse_space(data).sections)
        for kind, source in (("bytes", data), ("str", text)):
            took = best(lambda source=source: parse_space(source), rounds)
            parts.append(
                f"{kind} {len(data) / took / 1e9:4.1f} GB/s = {scan / took:4.0%}, {took / count * 1e9:.0f} ns/section"
            )
        if total <= 1 << 20:
            only = best(lambda text=text: list(HEADER.finditer(text)), 5)
            whole = best(lambda text=text: baseline(text), 5)
            fields = best(
                lambda text=text: [(s.name, s.type, s.place, s.index, s.content) for s in parse_space(text).sections], 5
            )
            parts.append(f"finditer alone / ours {only / took:.0f}x, with all fields {whole / fields:.1f}x")
        print("; ".join(parts))


class Typed(msgspec.Struct):
    """What msgspec decodes the same bytes into."""

    id: str
    timestamp: str
    sender: str
    receiver: str
    type: Literal["Command", "Query", "Info", "Alert"]
    channel: str
    content: str
    correlation_id: str | None = None


def envelopes() -> None:
    """Decode and check, divided by msgspec's typed decode of the same bytes."""
    order = channels.dispatch("T-7", "WePlan", "Write the plan.\n\n- short\n- clear")
    report = channels.status(order, "Accepted")
    typed = msgspec.json.Decoder(Typed).decode
    for name, envelope in (("command", order), ("report", report)):
        for style, options in (
            ("minified", {"ensure_ascii": False, "separators": (",", ":")}),
            ("json.dumps", {}),
        ):
            data = json.dumps(envelope.to_dict(), **options).encode()  # type: ignore[arg-type]
            ours, theirs = rivals(lambda data=data: check(decode(data)), lambda data=data: typed(data))
            print(f"{name}, {style}: {ours * 1e9:.0f} ns, msgspec {theirs * 1e9:.0f} ns, ratio {ours / theirs:.2f}")


def monitor() -> None:
    """Microseconds per envelope that the monitor takes on orderly work."""
    work = []
    for number in range(2000):
        order = channels.dispatch(f"T-{number}", "WePlan", "x")
        work += [
            order,
            channels.status(order, "Accepted"),
            channels.artifact(order, "x"),
            channels.status(order, "Completed"),
        ]
    start = time.process_time()
    watch = Monitor()
    for envelope in work:
        watch.feed(envelope, 0.0)
    print(f"monitor: {(time.process_time() - start) / len(work) * 1e6:.1f} us/envelope")


if __name__ == "__main__":
    print(f"backend: {turnwire.backend}")
    space()
    envelopes()
    monitor()
