"""What fuzzing starts from: texts of the vectors, kept inputs of ``corpus/``, and words of the specifications."""

from __future__ import annotations

import base64
import random
from collections.abc import Iterator
from enum import Enum
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

from tests import vectors
from tests.fuzz.mutation import alike, fields, mutated, other_value
from tests.fuzz.targets import TARGETS, WIRES
from tests.log.json_engines import RECORDS
from tests.log.mixed_logs import NSLIP, damaged_log, good_log

CORPUS = Path(__file__).parent / "corpus"
CHOOSING = ("scan", "stream", "cuts", "session", "arrow", "tables", "sections", "records")
"""Targets whose first four bytes choose among options."""
LONGEST = 4096
FEW = 25
"""Mutants that the suite tries of a target of which one costs much; of others it tries ten times as many."""
CHEAP = ("decode", "space", "csp-", "write", "lines", "many", "heads", "tables", "records", "sections")
"""What is in the names of targets of which an input costs a tenth of a millisecond; of others it costs one to ten."""
OF_LOGS = ("stream", "salvage", "lines", "arrow", "cuts", "conform", "heads", "ledger", "tables-csp", "views")
SIGNS = (
    *(b"@a", b"|f", b"|c", b"|S", b"|d", b"|T", b"|g", b'|t"', b'"#', b"#", b"\\", b'\\"', b"\\u00e9"),
    *(b"CSP/1\n", b"<<<\n", b">>>\n", b"\n\n", b"\r\n", b"```\n", b"```csp\n", b"\xe2\xab\xbb", b"\xef\xbb\xbf"),
    *(b"{", b"}", b"[", b"]", b",", b":", b'{"', b'":"', b'","', b"null", b"true", b"1e400", b"-0", b"\xe2", b"\0"),
    *(b"\\ud83d\\ude00", b"\xf0\x9f\x98\x80", b"\x80", b"\xed\xa0", b"2026-01-15T10:00:00Z", b".5+02:00", b"INFO "),
    *(b'{"log":"', b'\\n","stream":"stdout"}', b"CSP/1", b"csp ", b" MODE;", b"> ", b"- ", b"~~~\n", b"\r"),
    *(
        b"sk-",
        b"ghp_",
        b"gho_",
        b"_pat_",
        b"github_pat_",
        b"xoxb-",
        b"eyJ",
        b".eyJ",
        b"AIza",
        b"AKIA",
        b"Bearer ",
        b"Basic ",
    ),
    *(
        b"-----BEGIN PRIVATE KEY-----",
        b"api_key",
        b"apiKey",
        b"token",
        b"pwd",
        b"password",
        b"secret",
        b"credential",
        b"Auth",
    ),
    *(
        b"__REALTIME_TIMESTAMP",
        b"1767225600000000",
        b"MESSAGE",
        b'"MESSAGE":[123,34]',
        b'\\"MESSAGE\\":[',
        b'"time":"',
        b'"log"',
    ),
    *(b"\\u0043SP/1", b"\\u002f", b"\\u0031", b" stdout P ", b" stderr F ", b" stdout P:x "),
)


def seeds(target: str) -> list[bytes]:
    """Inputs of a target to begin with."""
    texts = [
        text.encode("utf-8", "surrogatepass")
        for wire in (("session",) if target == "session" else WIRES)
        for case in vectors.load(wire)
        for text in (case.get("wire"), case.get("text"))
        if isinstance(text, str) and len(text) < 4000
    ]
    if target != "session":
        texts += [record for records in RECORDS.values() for record in records] + NSLIP[::20]
    if target in OF_LOGS or target.startswith("scan"):
        texts += logs()
    if target.startswith(CHOOSING):
        texts = [bytes((255, number % 3, number % 7, number % 5)) + text for number, text in enumerate(texts)]
    return texts + kept(target)


@cache
def logs() -> list[bytes]:
    """Logs of all wires, with and without damage."""
    chance = random.Random("logs")
    found = [make(chance) for make in (lambda one: good_log(one)[0], damaged_log) for _ in range(40)]
    objects = [record for records in RECORDS.values() for record in records if b"\n" not in record]
    for record in (*objects, *NSLIP[::30]):  # one sender, whose messages are alike, good or refused for the same fault
        for change in (alike, _refused, _unusual):
            found.append(change(record, chance)[:LONGEST])
    return found


def _refused(record: bytes, chance: random.Random) -> bytes:
    lines = [other_value(record, [record], [b"type", b"id"], chance).replace(b"\n", b" ") for _ in range(4)]
    return b"\n".join(alike(line, chance) for line in lines)


def _unusual(record: bytes, chance: random.Random) -> bytes:
    return b"\n".join(fields(record, [record], [], chance) for _ in range(30))


def is_cheap(target: str) -> bool:
    """Whether many inputs of a target can be tried."""
    return any(part in target for part in CHEAP)


def pool(target: str) -> list[bytes]:
    """What mutants of a target are made of: its seeds, those that its own wire names more often than others."""
    found = seeds(target)
    own = [wire for wire in WIRES if wire in target or (wire == "kick" and ("space" in target or target == "sections"))]
    of_own = {
        case.get("wire") or case.get("text")
        for wire in own
        for case in vectors.load(wire)
        if case["id"] and "reason" not in case
    }
    skip = 4 if target.startswith(CHOOSING) else 0
    of_own |= {record.decode() for wire in own for record in (NSLIP if wire == "nslip" else RECORDS.get(wire, ()))}
    near = [one for one in found if one[skip:].decode("utf-8", "replace") in of_own]
    return found + 3 * near


def kept(target: str) -> list[bytes]:
    """The inputs of a target that are kept: one a line, in base64."""
    path = CORPUS / f"{target}.txt"
    return [base64.b64decode(line) for line in path.read_text("ascii").split()] if path.exists() else []


def tried(target: str) -> Iterator[bytes]:
    """What the suite tries of a target: what is kept, seeds (some, where one costs much), and a few mutants."""
    step, number = (1, 10 * FEW) if is_cheap(target) else (9, FEW)
    yield from kept(target)
    yield from seeds(target)[::step]
    yield from mutants(target, number)


def mutants(target: str, number: int, seed: str = "", longest: int = 2048) -> Iterator[bytes]:
    """So many mutants of a target, the same for a seed."""
    chance, texts, known = random.Random(f"{target} {seed}".strip()), pool(target), words()
    return (mutated(texts, known, chance)[:longest] for _ in range(number))


def keep(target: str, inputs: list[bytes]) -> None:
    """Keeps inputs of a target, in the order of their size."""
    CORPUS.mkdir(exist_ok=True)
    lines = [base64.b64encode(one).decode() for one in sorted(set(inputs), key=lambda one: (len(one), one))]
    (CORPUS / f"{target}.txt").write_text("".join(f"{line}\n" for line in lines), "ascii")


def words() -> list[bytes]:
    """What the specifications name: keys, kinds, verbs, out of the tables in which they stand."""
    found = {word.encode() for wire in WIRES for word in _texts(vars(import_module(f"turnwire.{wire}.spec")))}
    return sorted({*SIGNS, *(word for word in found if 0 < len(word) <= 40)})


def _texts(value: Any, depth: int = 0) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, type) and issubclass(value, Enum):
        for member in value:
            yield from _texts(member.value, depth + 1)
    elif depth < 4 and isinstance(value, dict):
        for key, inner in value.items():
            if not (depth == 0 and str(key).startswith("__")):
                yield from _texts(inner, depth + 1)
                if depth:
                    yield from _texts(key, depth + 1)
    elif depth < 4 and isinstance(value, tuple | list | set | frozenset):
        for inner in value:
            yield from _texts(inner, depth + 1)


def dictionary() -> str:
    """The words as a dictionary of libFuzzer."""
    return "".join('"{}"\n'.format("".join(f"\\x{byte:02x}" for byte in word)) for word in words())


__all__ = ["TARGETS", "dictionary", "is_cheap", "keep", "kept", "mutants", "pool", "seeds", "tried", "words"]
