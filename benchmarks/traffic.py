"""The traffic that is measured: the real upstream lines, and generated lines that are the same on every machine.

Nothing here uses turnwire: what is measured does not write its own input. Every generator takes a seed.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from pathlib import Path

UPSTREAM = Path(__file__).parent.parent / "examples" / "data" / "nslip_upstream.txt"
SEED = 20260105
ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
HEADER = {"act": "@a", "frame": "|f", "conv_id": "|c", "src": "|S", "dst": "|d", "turn": "|T"}
SLOTS = {
    "goal_id": "|g",
    "task_id": "|k",
    "parent_task_id": "|p",
    "result_id": "|r",
    "priority": "|q",
    "score": "|s",
    "status": "|u",
    "error_code": "|e",
    "tag": "|t",
}
TEXTS = ("status", "tag")
COLUMNS = (*HEADER, *SLOTS)
FOUR_COLUMNS = ("act", "conv_id", "src", "tag")

STATUSES = ("in_progress", "waiting", "done", "ok", "blocked", "partial")
PLANS = ("plan_v1", "plan_minimal", "plan_fast", "plan_robust", "plan_safe")
WORDS = ("retry", "merge", "überprüft", "cache", "レビュー", "tests", "budget", 'say "go"', "C:\\tmp", "a|b#c@d")

Row = dict[str, int | str]
"""One message: the header and the slots that it has, in the order in which they are written."""


def base62(number: int) -> str:
    """A non-negative integer as nSLIP writes it."""
    digits = ALPHABET[number % 62]
    while number := number // 62:
        digits = ALPHABET[number % 62] + digits
    return digits


def wire(row: Row) -> bytes:
    """A message as nSLIP."""
    parts = []
    for name, value in row.items():
        prefix = HEADER.get(name) or SLOTS[name]
        if isinstance(value, str):
            parts.append('{}"{}"'.format(prefix, value.replace("\\", "\\\\").replace('"', '\\"')))
        else:
            parts.append(prefix + base62(value))
    return ("".join(parts) + "#").encode()


def csv_line(row: Row) -> bytes:
    """A message as a line of CSV: every column, an absent slot as an empty field."""
    fields = []
    for name in COLUMNS:
        value = row.get(name, "")
        text = str(value)
        if isinstance(value, str) and any(mark in text for mark in '",\n'):
            text = '"{}"'.format(text.replace('"', '""'))
        fields.append(text)
    return (",".join(fields) + "\n").encode()


def json_line(row: Row) -> bytes:
    """A message as a line of JSON without spaces; absent slots are left out."""
    return json.dumps(row, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def conversations(numbers: random.Random, identifier: Callable[[], int], agent: Callable[[], int]) -> Iterator[Row]:
    """Messages like those upstream, four to a conversation, with ids and agents from the two functions."""
    for conversation in range(1, 1 << 60):
        conv, goal, task, caller, worker = identifier(), identifier(), identifier(), agent(), agent()
        turn = numbers.randrange(1, 59)
        there: Row = {"conv_id": conv, "src": caller, "dst": worker}
        back: Row = {"conv_id": conv, "src": worker, "dst": caller}
        ids: Row = {"goal_id": goal, "task_id": task}
        priority, score = numbers.randrange(1, 5), numbers.randrange(1, 10)
        tag = f"goal_{conversation}"
        yield {"act": 3, "frame": 0, **there, "turn": turn, **ids, "priority": priority, "tag": tag}
        plan: Row = {"priority": priority, "tag": numbers.choice(PLANS)}
        yield {"act": 4, "frame": 1, **back, "turn": turn + 1, **ids, **plan}
        result: Row = {"result_id": identifier(), "status": numbers.choice(STATUSES), "tag": "exec_status"}
        yield {"act": 1, "frame": 2, **back, "turn": turn + 2, **ids, **result}
        verdict: Row = {"score": score, "tag": numbers.choice(STATUSES)}
        yield {"act": 8, "frame": 3, **there, "turn": turn + 3, **ids, **verdict}


def of_digits(numbers: random.Random, least: int, most: int) -> int:
    """An integer of ``least`` to ``most`` base62 digits, every length as likely as another."""
    count = numbers.randint(least, most)
    return numbers.randrange(62 ** (count - 1), 62**count)


def narrow(seed: int = SEED) -> Iterator[Row]:
    """Ids of one to three digits and agents of one, as in the upstream lines."""
    numbers = random.Random(seed)
    return conversations(numbers, lambda: of_digits(numbers, 1, 3), lambda: numbers.randrange(10))


def wide(seed: int = SEED) -> Iterator[Row]:
    """Ids and agents of four to ten digits: what snowflakes, hashes and database keys give."""
    numbers = random.Random(seed)
    return conversations(numbers, lambda: of_digits(numbers, 4, 10), lambda: of_digits(numbers, 4, 10))


def varied(seed: int = SEED) -> Iterator[Row]:
    """Any slots in any order, integers of any width, strings of none to eight words, some escaped or not ASCII."""
    numbers = random.Random(seed)
    while True:
        row: Row = {"act": numbers.randrange(11), "frame": numbers.randrange(5)}
        for name in ("conv_id", "src", "dst", "turn"):
            row[name] = of_digits(numbers, 1, 10)
        for name in numbers.sample(list(SLOTS), numbers.randint(0, len(SLOTS))):
            words = numbers.choices(WORDS, k=numbers.randint(0, 8))
            row[name] = " ".join(words) if name in TEXTS else of_digits(numbers, 1, 10)
        yield row


GENERATED = {"narrow ids": narrow, "wide ids": wide, "varied": varied}


def rows(kind: str, count: int) -> list[Row]:
    """The first ``count`` messages of a kind."""
    return list(islice(GENERATED[kind](), count))


def upstream() -> list[bytes]:
    """The 4,356 real lines, without their newlines."""
    return UPSTREAM.read_bytes().splitlines()


def in_a_log(lines: Iterable[bytes], seed: int = SEED) -> Iterator[bytes]:
    """Lines of a log with the messages in them: time, level and name before each; some hold two, some none."""
    numbers = random.Random(seed)
    for number, line in enumerate(lines):
        clock = (number // 3600 % 24, number // 60 % 60, number % 60, number % 997)
        stamp = b"2026-01-05T%02d:%02d:%02d.%03dZ " % clock
        choice = numbers.random()
        if choice < 0.05:
            yield stamp + b"DEBUG scheduler: queue length %d, mail to ops@example.com" % number
        if choice > 0.95:
            line = line + b" answered by " + line
        yield stamp + b"INFO planner: " + line


WOUNDS: tuple[Callable[[bytes], bytes], ...] = (
    lambda line: line[: len(line) // 2],  # cut off in the middle
    lambda line: line.replace(b"|c", b"|c$", 1),  # a digit that is none
    lambda line: line.replace(b"@a", b"@az", 1),  # an act that does not exist
    lambda line: line.replace(b"|d", b"|S", 1),  # one field twice, another missing
    lambda line: line.replace(b'"', b"", 1),  # a quote lost
)


def damaged(lines: Iterable[bytes], every: int = 100) -> Iterator[bytes]:
    """The same lines with every hundredth damaged, in five ways by turns."""
    for number, line in enumerate(lines):
        yield WOUNDS[number // every % len(WOUNDS)](line) if number % every == every // 2 else line


def repeated(lines: Iterable[bytes], size: int) -> bytes:
    """The lines over and over, at least ``size`` bytes."""
    block = b"".join(line + b"\n" for line in lines)
    return block * -(-size // len(block))
