"""The doors beside reading and scanning: tokens, tools, sessions in mid-stream. Entries are as in ``entries.py``."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import turnwire
from tests.cost.entries import MIXED, SESSION_LINE, Entry, _refused, _text, scanned
from tests.cost.units import GOOD
from turnwire import csp, kick, nslip, session, tokens
from turnwire.cli.commands import mcp as model_tools
from turnwire.conversion import Context, Converter
from turnwire.json import canonical, faults, pointers
from turnwire.json import text as json_text
from turnwire.log import plan, read_block
from turnwire.tokens import advise

TOKENIZER = tokens.tokenizers()[0]
SESSION = session.encode([SESSION_LINE.decode()] * 3, None).rpartition("\n")[0].rpartition("\n")[0] + "\n"
"""A session that goes on."""
SOME_TEXT = b"some text, as people write it. "


def _in_a_file(call: Callable[[Path], Any]) -> Callable[[bytes], Any]:
    def run(data: bytes) -> Any:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "a.log")
            path.write_bytes(data)
            return call(path)

    return _refused(run)


def _blocks(path: Path) -> int:
    return sum(len(batch) for block in plan([str(path)]) for batch in read_block(block))


def _converted(data: bytes) -> int:
    converter = Converter("kick", context=Context(), carry=True, nearest=True)
    count = 0
    for one in turnwire.scan(data, wire="nslip").messages():
        try:
            converter.feed(one.message)
        except turnwire.ConvertError:
            continue
        count += 1
    return count


def _advised(data: bytes) -> Any:
    try:
        return advise(data, tokenizers=[TOKENIZER])
    except ValueError as error:  # there is no message
        return error


def _defined(text: str) -> str:
    return csp.expand("A1 B2 " * 9, {"A1": text, "B2": "A1 A1"})


def _compacted(data: bytes) -> list[Any]:
    records = csp.parse(data, mode="lenient").records
    return [one.compact() for one in records if isinstance(one, csp.Template)]


def _canonical(data: bytes) -> Any:
    return canonical.canonical(json_text.read_object(data, "sap"))


def _opened(data: bytes) -> Any:
    return faults.opening(data), faults.unexpected(data, len(data) - 1), faults.looks_wide(data)


def _pushed(text: str) -> str:
    writer = session.Writer(tokenizer=None)
    return "".join(writer.add(line) for line in text.split("\n")) + writer.close()


def _damaged(text: str) -> Any:
    """What is left of a session of these events that lost a line."""
    lines = session.encode(text.split("\n"), None).split("\n")
    return session.salvage("\n".join(lines[:3] + lines[4:]))


def _read_by_bytes(text: str) -> int:
    reader = session.Reader(sealed=False)
    whole = SESSION + text
    return sum(len(reader.feed(whole[at : at + 1])) for at in range(len(whole)))


def _written(data: bytes, form: str) -> int:
    with tempfile.TemporaryDirectory() as folder:
        turnwire.log.write(turnwire.scan(data), Path(folder, "out"), format=form)
        return Path(folder, "out").stat().st_size


def doors() -> Iterator[tuple[str, Entry]]:
    """Entries that take any text."""
    space = "⫻content/text:a\nsome text here\n".encode()
    yield "nslip.decode_many", Entry(_refused(nslip.decode_many), GOOD["nslip"])
    yield "nslip.from_cbor", Entry(_refused(nslip.from_cbor), nslip.to_cbor(nslip.decode(GOOD["nslip"])))
    yield "nslip.from_protobuf", Entry(_refused(nslip.from_protobuf), nslip.to_protobuf(nslip.decode(GOOD["nslip"])))
    yield "json.opening", Entry(_opened, b"x{}\n")
    yield "json.place_of", Entry(lambda data: pointers.place_of(b'{"x":' + data + b"}", "/x/a/0/b"), GOOD["sap"])
    yield "json.canonical", Entry(_refused(_canonical), GOOD["sap"])
    yield "csp.expand names", Entry(_text(_defined), SOME_TEXT)
    yield "csp.compact", Entry(_refused(_compacted), b"CSP/1;A>B;C0;T1\n")
    yield "csp.verify_dump", Entry(_refused(csp.verify_dump), b'{"a":1}\n')
    yield (
        "kick.parse_space fences",
        Entry(_refused(lambda data: kick.parse_space(data, fences=True, stuffing=True)), space),
    )
    yield "tokens.count_many", Entry(_text(lambda text: tokens.count_many(text.split("\n"), TOKENIZER)), b"a b\n")
    yield "tokens.advise", Entry(_advised, MIXED)
    yield "detect and decode", Entry(_refused(turnwire.decode), GOOD["kick"])
    yield "scan some columns", Entry(lambda data: scanned(data, columns=["subject"]), MIXED)
    yield "scan text of", Entry(lambda data: scanned(data, where={"text": b"hello"}), MIXED)
    yield "scan two threads", Entry(lambda data: scanned(data, threads=2), MIXED)
    yield "log.plan", Entry(_in_a_file(_blocks), MIXED)
    yield "log.write csv", Entry(lambda data: _written(data, "csv"), MIXED)
    yield "log.write ndjson", Entry(lambda data: _written(data, "ndjson"), MIXED)
    yield "Converter", Entry(_converted, GOOD["nslip"])
    for name in ("scan", "validate", "tokens", "extract"):
        yield f"tool {name}", Entry(_text(getattr(model_tools, f"_{name}")), MIXED)
    yield "session.salvage goes on", Entry(_text(lambda text: session.salvage(SESSION + text)), SESSION_LINE)
    yield "session.salvage damaged", Entry(_text(_damaged), SESSION_LINE)
    yield (
        "session.decode goes on",
        Entry(_text(lambda text: session.decode(SESSION + text, strict=False, sealed=False)), SESSION_LINE),
    )
    yield "session.Reader.feed 1", Entry(_text(_read_by_bytes), SESSION_LINE)
    yield "session.Writer", Entry(_text(_pushed), b'{"a":1}\n')
    yield "session.seal", Entry(_text(lambda text: session.seal(SESSION + text)), SESSION_LINE)
