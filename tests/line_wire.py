"""A wire of lines, as docs/development/wires.md describes it; tests/test_add_a_wire.py puts it into a folder."""

import re
from typing import NamedTuple

from turnwire.contract import LINES, Column, TextPlan, Wire, record_bytes
from turnwire.errors import DecodeError, Reason

ENTRY = re.compile(rb"DIARY of ([a-z]+), page ([0-9]{1,9})\r?\n((?:(?!DONE).*\n)*)DONE(?=\r?\n|\Z)")


class Entry(NamedTuple):
    writer: str
    page: int
    text: str


def detect(data):
    return (record_bytes(data) or b"").startswith(b"DIARY of ")


def decode(data):
    found = ENTRY.fullmatch((record_bytes(data) or b"").strip())
    if found is None:
        raise DecodeError(Reason.BAD_FRAMING, "an entry ends with DONE", offset=0, line=1, wire="diary")
    writer, page, text = (part.decode("utf-8", "replace") for part in found.groups())
    return Entry(writer, int(page), text)


def encode(message, strict=True):
    return f"DIARY of {message.writer}, page {message.page}\n{message.text}DONE\n"


DESCRIPTOR = Wire(
    "diary",
    title="Diaries",
    package=__package__,
    style=LINES,
    detect=detect,
    decode=decode,
    encode=encode,
    message=Entry,
    check=lambda message: [],
    prompt=lambda: "Write DIARY of name, page number; the lines; DONE.\n",
    plain=Entry._asdict,
    plan=TextPlan(
        opening=(b"DIARY of ",),
        whole=ENTRY,
        columns=(Column("writer", "text"), Column("page", "u64"), Column("text", "text")),
        common={"sender": "writer", "sequence": "page"},
        damaged=lambda line: re.fullmatch(rb"DIARY of [a-z]+, page [0-9]{1,9}", line) is not None,
    ),
)
