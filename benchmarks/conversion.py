"""Converting: what a message costs as ``turnwire convert`` converts it, by pairs of wires.

    python benchmarks/conversion.py [PAIR ...]     # such as "csp>sap"; all by default

Each pair converts a history of the source with texts that fill its messages to 400 to 760 bytes (nSLIP, whose texts are
short: 40), from the bytes of a log to text. Messages that the target refuses are taken out of the history first, so
that what is measured are conversions; their share is printed. The bytecodes that Python runs for a message are the
slope between two histories: they repeat, however busy the machine is. MB/s are of this process's own time, the median
of ``ROUNDS``.
"""

from __future__ import annotations

import statistics
import sys
import time
from pathlib import Path
from types import FrameType
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

import turnwire
from tests.convert.dialogues import DIALOGUES, given
from turnwire import WIRES, Converter, ConvertError
from turnwire.read.located import located

TEXT = "the parser reads each record once and keeps what the log said about it; "
FILL = {"nslip": 0, "csp": 5, "sstp": 3, "sap": 1, "kick": 5}
"""Wire -> how often TEXT is in the texts of its messages."""
ROUNDS, SMALL, LARGE = 5, 20, 120


def history(wire: str, tasks: int) -> list[bytes]:
    """The messages of so many tasks, each of several."""
    texts = []
    for message in DIALOGUES[wire](tasks):
        text = turnwire.encode(message).rstrip("\n")
        for word in ("do ", "did ", "cannot ", "why ", "because of ", "a/"):
            text = text.replace(word, word + TEXT * FILL[wire], 1)
        texts.append(f"{text}\n".encode())
    return texts


def log(wire: str, texts: list[bytes]) -> bytes:
    """The bytes of a log of these messages."""
    return (b"\n" if wire == "csp" else b"").join(texts)


def convert(data: bytes, source: str, target: str) -> list[bool]:
    """Converts a log as the command does, without losses one by one: of each message whether the target takes it."""
    converter, taken = Converter(target, context=given(source), nearest=True), []
    converter.be_terse()
    for found in located(data):
        try:
            turnwire.encode(converter.feed(found.message).message)
        except ConvertError:
            taken.append(False)
        else:
            taken.append(True)
    return taken


def converted(source: str, target: str, tasks: int) -> tuple[bytes, int, int]:
    """The log of a history without what the target refuses, the number of its messages, and of those refused."""
    texts = history(source, tasks)
    there = len(texts)
    while not all(taken := convert(log(source, texts), source, target)):
        texts = [text for text, good in zip(texts, taken, strict=True) if good]
    return log(source, texts), len(texts), there - len(texts)


def bytecodes(data: bytes, source: str, target: str) -> int:
    """How many bytecodes of Python the conversion of a log runs."""
    count = 0

    def trace(frame: FrameType, event: str, argument: Any) -> Any:
        nonlocal count
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        count += event == "opcode"
        return trace

    sys.settrace(trace)
    try:
        convert(data, source, target)
    finally:
        sys.settrace(None)
    return count


def main(pairs: list[str]) -> None:
    """Prints a line for each pair."""
    print(f"{'pair':12}{'refused':>8}{'bytes':>8}{'bytecodes':>11}{'us':>8}{'MB/s':>8}")
    for pair in pairs or [f"{one}>{other}" for one in WIRES for other in WIRES if one != other]:
        source, target = pair.split(">")
        (small, messages, _), (large, more, refused) = (converted(source, target, tasks) for tasks in (SMALL, LARGE))
        seconds = []
        for _ in range(ROUNDS):
            begun = time.process_time()
            convert(large, source, target)
            seconds.append(time.process_time() - begun)
        took = statistics.median(seconds)
        each = (bytecodes(large, source, target) - bytecodes(small, source, target)) / (more - messages)
        shares = f"{refused / (more + refused):8.0%}{len(large) / more:8.0f}{each:11,.0f}"
        print(f"{pair:12}{shares}{took / more * 1e6:8.1f}{len(large) / took / 1e6:8.1f}")


if __name__ == "__main__":
    main(sys.argv[1:])
