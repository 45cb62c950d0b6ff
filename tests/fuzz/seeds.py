"""Starting points of fuzzing: texts of the vectors, inputs kept in ``corpus.jsonl``, words of the specifications."""

from __future__ import annotations

import base64
import json
import random
from collections.abc import Iterator
from enum import Enum
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

from tests import vectors
from tests.fuzz.targets import TARGETS, WIRES, choosing
from tests.golden.logs import log
from tests.log.json_engines import RECORDS
from tests.log.mixed_logs import NSLIP

CORPUS = Path(__file__).with_name("corpus.jsonl")
OPTIONS = ("scan", "stream", "session", "arrow", "messages", "sections")
"""Variants whose first four bytes choose among options."""
OF_LOGS = ("scan", "stream", "salvage", "arrow", "conform", "messages", "views")
SIGNS = rb"""
@a |f |c |S |d |T |g |t" "# # \ \" \\ \u00e9 \ud83d\ude00 \u2afb \u0043SP/1 CSP/1 csp MODE; <<< >>> ``` ~~~ > - : ; |
{ } [ ] , {" ":" "," null true false 1e400 -0 1.0 2026-01-15T10:00:00Z .5+02:00 INFO {"log":" \n","stream":"stdout"}
"MESSAGE":[ __REALTIME_TIMESTAMP 1767225600000000 "time":" stdout stderr 18446744073709551616 9223372036854775808
sk- ghp_ github_pat_ xoxb- eyJ AIza AKIA Bearer Basic -----BEGIN api_key token password secret https://u:p@h/
""".split()


def seeds(variant: str) -> list[bytes]:
    """Inputs of a variant to begin with: what is kept of it first."""
    texts = [
        text.encode("utf-8", "surrogatepass")
        for wire in (("session",) if variant == "session" else WIRES)
        for case in vectors.load(wire)
        for text in (case.get("wire"), case.get("text"))
        if isinstance(text, str) and len(text) < 4000
    ]
    if variant != "session":
        texts += [record for records in RECORDS.values() for record in records] + NSLIP[::20]
    if variant.startswith(OF_LOGS):
        texts += logs()
    if variant.startswith(OPTIONS):
        texts = [bytes((255, number % 3, number % 7, number % 5)) + text for number, text in enumerate(texts)]
    return kept(variant) + texts


@cache
def logs() -> list[bytes]:
    """Logs of all wires, with and without damage."""
    return [log(number).data for number in range(80)]


def corpus() -> dict[str, list[bytes]]:
    """Variant -> its kept inputs: each a line, as text or, where it is no UTF-8, in base64."""
    found: dict[str, list[bytes]] = {}
    for row in map(json.loads, CORPUS.read_text("utf-8").splitlines()):
        data = row["text"].encode() if "text" in row else base64.b64decode(row["base64"])
        found.setdefault(row["variant"], []).append(data)
    return found


def kept(variant: str) -> list[bytes]:
    """The inputs of a variant that are kept."""
    return corpus().get(variant, [])


def keep(variant: str, data: bytes) -> None:
    """Keeps one more input of a variant, in the order of their size."""
    every = corpus()
    every[variant] = sorted({*every.get(variant, ()), data}, key=lambda one: (len(one), one))
    CORPUS.write_text("".join(_row(name, one) for name in sorted(every) for one in every[name]), "utf-8")


def _row(variant: str, data: bytes) -> str:
    try:
        said = {"text": data.decode()}
    except UnicodeDecodeError:
        said = {"base64": base64.b64encode(data).decode()}
    return json.dumps({"variant": variant, **said}) + "\n"


def beginning(target: str, most: int) -> list[bytes]:
    """Seeds of all variants of a target, so many of them at most."""
    found = [choosing(name, data)[1] for name in TARGETS[target] for data in seeds(name)]
    return random.sample(found, min(len(found), most))


def dictionary() -> str:
    """The names of the specifications (keys, kinds, verbs), out of the tables in which they stand, as libFuzzer reads
    it."""
    named = {word.encode() for wire in WIRES for word in _texts(vars(import_module(f"turnwire.{wire}.spec")))}
    words = sorted({*SIGNS, *(word for word in named if 0 < len(word) <= 40)})
    return "".join('"{}"\n'.format("".join(f"\\x{byte:02x}" for byte in word)) for word in words)


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
