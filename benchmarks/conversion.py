"""Converting: what a message costs as ``turnwire convert`` converts it, by pairs of wires.

    python benchmarks/conversion.py [PAIR ...]     # such as "csp>sap"; all by default

Each pair converts a history of the source with texts that fill its messages to 400 to 760 bytes (nSLIP, whose texts are
short: 40), from the bytes of a log to text. The bytecodes that Python runs for a message are the slope between two
histories: they repeat, however busy the machine is. MB/s are of this process's own time, the median of ``ROUNDS``.
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


def log(wire: str, tasks: int) -> bytes:
    """A history of so many tasks, each of several messages."""
    texts = []
    for message in DIALOGUES[wire](tasks):
        text = turnwire.encode(message).rstrip("\n")
        for word in ("do ", "did ", "cannot ", "why ", "because of ", "a/"):
            text = text.replace(word, word + TEXT * FILL[wire], 1)
        texts.append(f"{text}\n")
    return ("\n" if wire == "csp" else "").join(texts).encode()


def convert(data: bytes, source: str, target: str) -> int:
    """Converts a log as the command does, without losses one by one; the number of its messages."""
    converter, number = Converter(target, context=given(source), nearest=True), 0
    converter.be_terse()
    for number, found in enumerate(located(data), 1):  # noqa: B007
        try:
            turnwire.encode(converter.feed(found.message).message)
        except ConvertError:
            continue
    return number


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
    print(f"{'pair':12}{'bytes':>8}{'bytecodes':>11}{'us':>8}{'MB/s':>8}")
    for pair in pairs or [f"{one}>{other}" for one in WIRES for other in WIRES if one != other]:
        source, target = pair.split(">")
        small, large = log(source, SMALL), log(source, LARGE)
        messages, more = convert(small, source, target), convert(large, source, target)
        seconds = []
        for _ in range(ROUNDS):
            begun = time.process_time()
            convert(large, source, target)
            seconds.append(time.process_time() - begun)
        took = statistics.median(seconds)
        each = (bytecodes(large, source, target) - bytecodes(small, source, target)) / (more - messages)
        print(f"{pair:12}{len(large) / more:8.0f}{each:11,.0f}{took / more * 1e6:8.1f}{len(large) / took / 1e6:8.1f}")


if __name__ == "__main__":
    main(sys.argv[1:])
