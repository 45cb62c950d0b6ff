"""Messages written otherwise: each value, key and line of them replaced, in turn, by what the quick ways must leave to
the long ones."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from tests.fuzz.edits import MESSAGES
from tests.sap.documents import RESULT, TASK

STRINGS = (
    *(
        '""',
        '"<x>"',
        '"\\u003cx>"',
        '"x\\/y"',
        '"\\/"',
        '"a@b"',
        '"https://u:p@h/x"',
        '"\\u0040"',
        '"\\u002d----BEGIN"',
        '"-"',
    ),
    *(
        '"\\u002d\\u002d\\u002d\\u002d\\u002dBEGIN PRIVATE KEY-----"',
        '"sk-a1a1a1a1a1a1a1a1a1a1a1a1"',
        '"\\u0073k-a1a1a1a1a1a1a1a1"',
    ),
    *(
        '"\\ud800"',
        '"\\ud83d\\ude00"',
        '"é"',
        '"\\u00e9"',
        '"x\\u0000y"',
        "5",
        "null",
        "true",
        "[]",
        "{}",
        '["x"]',
        '{"x":1}',
    ),
)
NUMBERS = (
    *(
        "0",
        "-0",
        "-0.0",
        "0.5E5",
        "0.5e5",
        "0.5E0",
        "1E0",
        "1.0",
        "9.123456789012345",
        "9.1234567890123456",
        "1e400",
        "1E-400",
    ),
    *(
        "0.1234567890123456",
        "0.12345678901234567",
        "100",
        "100.5",
        "101",
        "-1",
        "1e2",
        "99.99999999999999",
        "12345678901234567890",
    ),
)
HERE = "\0"
"""What stands nowhere in JSON."""
ITEMS = ('"x"', '"a@b"', '"https://u:p@h/x"', '"<x>"', '"\\u003cx>"', "5", "null", "{}", "[]", '"x\\/y"')


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """Each value in a document, with the keys and numbers that lead to it."""
    yield path, value
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in pairs:
        yield from places(inner, (*path, key))


def written(value: Any, there: tuple[Any, ...], text: str, path: tuple[Any, ...] = ()) -> str:
    """A document as JSON, with this text at one of its places."""
    if path == there:
        return text
    if isinstance(value, dict):
        return (
            "{"
            + ",".join(f"{json.dumps(key)}:{written(one, there, text, (*path, key))}" for key, one in value.items())
            + "}"
        )
    if isinstance(value, list):
        return "[" + ",".join(written(one, there, text, (*path, number)) for number, one in enumerate(value)) + "]"
    return json.dumps(value)


def documents(wire: str) -> list[dict[str, Any]]:
    """Good messages of a wire, with objects in any order of their two or three first keys."""
    found = [json.loads(text) for text in MESSAGES[wire]] + ([TASK, RESULT] if wire == "sap" else [])
    return [document for one in found for document in (one, dict(reversed(one.items())))]


def objects(wire: str) -> Iterator[str]:
    """Messages of a wire of JSON."""
    for document in documents(wire):
        for path, value in places(document):
            if isinstance(value, str):
                texts = STRINGS
            elif isinstance(value, list):
                texts = tuple(
                    f"[{','.join(json.dumps(one) for one in value)}{',' * bool(value)}{item}]" for item in ITEMS
                )
            elif isinstance(value, dict):
                inner = json.dumps(value)[1:-1]
                more = (
                    '"x":1',
                    '"x":1,"x":2',
                    '"x":{"a":1,"\\u0061":2}',
                    '"\\u0078":1',
                    *(f'"x":{number}' for number in NUMBERS),
                )
                texts = tuple("{" + f"{inner}{', ' * bool(inner)}{one}" + "}" for one in more)
            else:
                texts = (*NUMBERS, '"x"', "null", "[]")
            front, behind = written(document, path, HERE).split(HERE)
            for text in texts:
                yield f"{front}{text}{behind}"


def lines() -> Iterator[str]:
    """Messages of CSP/1 of which one line is cut between words, and goes on otherwise."""
    for text in MESSAGES["csp"]:
        own = text.split("\n")
        for number, line in enumerate(own):
            words = line.split(" ")
            for count in range(len(words) + 1):
                for end in (
                    "",
                    " ",
                    "  ",
                    "\t",
                    " x",
                    "\r",
                    " \r",
                    "\x1c",
                    "\u00a0",
                    " \u2028x",
                    ",",
                    ",,",
                    " A\x1c,B",
                    ";",
                ):
                    yield "\n".join([*own[:number], " ".join(words[:count]) + end, *own[number + 1 :]])


def conversations() -> Iterator[str]:
    """A task and its result, of which one value has a sign in it."""
    head = "CSP/1\nFROM A\nTO B\nCTX C0\nINTENT"
    for code in (*range(9, 14), *range(28, 33), 0, 127, 133, 160, 0x1680, 0x2003, 0x2028, 0x2029, 0x3000, 0xFEFF):
        sign = chr(code)
        for value in (f"A{sign},B", f"A,{sign}B", f"{sign}A", f"A{sign}", f"A{sign}B"):
            task = f"{head} TASK\n\nTASK T1\nREQ find {value}\nIN {value}\n\n"
            result = f"{head} RESULT\n\nRESULT T1\nSTATUS OK\nPRODUCED {value}\n\n"
            yield task.replace("FROM A\nTO B", "FROM B\nTO A") + result
