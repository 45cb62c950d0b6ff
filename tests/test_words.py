"""The words of refusals and findings change only on purpose: what decoding, checking, writing and judging say of
messages that are changed in one place, as a list of sentences and a digest of them all.

After a change that is meant, ``python -m tests.test_words`` writes tests/data/words anew; the list shows what changed.
"""

from __future__ import annotations

import copy
import hashlib
import json
import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import turnwire
from tests.vectors import load
from turnwire.finding.judging import conform

FOLDER = Path(__file__).parent / "data" / "words"
WIRES = ("nslip", "csp", "sstp", "sap", "kick")
ODD: tuple[Any, ...] = (
    None,
    True,
    "",
    "x",
    "⫻a/b",
    0,
    -1,
    1,
    1.5,
    2**64,
    [],
    ["a", 1],
    {},
    {"a": "b"},
    "2026-01-15T23:59:60Z",
)
LETTERS = '@|#"\\aA09 \n\r\t<>:/-é\u2028'
MOST = 1500
"""Changed messages of a wire; the same for every run."""
GIVEN = re.compile(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|\d+")
"""What a sentence has from the message: texts in quotes, and numbers."""


def messages(wire: str) -> Iterator[bytes]:
    """The vectors of a wire, and each of them changed somewhere."""
    chance = random.Random(wire)
    texts = [case.get("text", case.get("wire")) for case in load(wire)]
    texts = sorted({text for text in texts if isinstance(text, str)})
    for text in texts:
        yield text.encode("utf-8", "surrogatepass")
    documents = [document for text in texts if isinstance(document := _json(text), dict)]
    for _ in range(MOST):
        if documents:
            yield json.dumps(_bent(chance.choice(documents), chance), ensure_ascii=False).encode(
                "utf-8", "surrogatepass"
            )
        else:
            yield _damaged(chance.choice(texts), chance).encode("utf-8", "surrogatepass")


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return None


def _bent(document: dict[str, Any], chance: random.Random) -> dict[str, Any]:
    made = copy.deepcopy(document)
    holder: Any = made
    while True:
        keys = list(holder) if isinstance(holder, dict) else list(range(len(holder)))
        if not keys:
            return made
        key = chance.choice(keys)
        if not isinstance(holder[key], (dict, list)) or not holder[key] or chance.random() < 0.4:
            break
        holder = holder[key]
    if chance.random() < 0.2:
        del holder[key]
    else:
        holder[key] = chance.choice(ODD)
    return made


def _damaged(text: str, chance: random.Random) -> str:
    place, kind = chance.randrange(len(text) + 1), chance.random()
    if kind < 0.3:
        return text[:place] + text[place + 1 + chance.randrange(3) :]
    if kind < 0.7:
        return text[:place] + chance.choice(LETTERS) + text[place + chance.randrange(2) :]
    lines = text.split("\n")
    line = chance.randrange(len(lines))
    lines[line : line + 1] = chance.choice(([], [lines[line]] * 2, [lines[line], chance.choice(lines)]))
    return "\n".join(lines)


def said(wire: str) -> list[str]:
    """All that is said of the messages of a wire: reason, place and words."""
    found = []
    history: list[bytes] = []
    for data in messages(wire):
        try:
            message = turnwire.decode(data, wire)
        except turnwire.DecodeError as error:
            found.append(_line("decode", error.reason, (error.offset, error.line, error.path), error.text))
            continue
        found += [_line("check", one.reason, one.where, one.text) for one in turnwire.check(message)]
        try:
            turnwire.encode(message)
        except turnwire.EncodeError as error:
            found.append(_line("encode", error.reason, error.path, error.text))
        history.append(data)
    for size in (1, 3, 9):
        for start in range(0, len(history), 37):
            for line in conform(wire, b"\n".join(history[start : start + size]) + b"\n"):
                faults = (*line.faults, *line.open, *line.doubts)
                found += [
                    _line("conform", fault.clause, (fault.line, fault.offset, fault.since), fault.text)
                    for fault in faults
                ]
    return found


def _line(door: str, reason: Any, where: Any, text: str) -> str:
    return f"{door}\t{reason}\t{where}\t{text}"


def summed(found: list[str]) -> str:
    """The sentences, without what is a message's own, and a digest of all that was said."""
    sentences = sorted({GIVEN.sub("…", "\t".join(line.split("\t")[::3])) for line in (_flat(one) for one in found)})
    digest = hashlib.sha256("\n".join(found).encode("utf-8", "backslashreplace")).hexdigest()
    return "\n".join([f"sha256 {digest} of {len(found)}", *sentences]) + "\n"


def _flat(line: str) -> str:
    return line.replace("\n", " ")


@pytest.mark.parametrize("wire", WIRES)
def test_the_words_are_those_that_are_kept(wire: str) -> None:
    assert summed(said(wire)) == (FOLDER / f"{wire}.txt").read_text("utf-8")


if __name__ == "__main__":
    for name in WIRES:
        (FOLDER / f"{name}.txt").write_text(summed(said(name)), "utf-8")
