"""Code fences of backticks and of tildes are the same to CSP/1, whoever reads: see ``turnwire/fences.py``."""

from __future__ import annotations

from typing import Any

import pytest

import turnwire
from tests.log.conftest import scan_core  # noqa: F401  (a fixture)
from turnwire import csp

MESSAGE = "CSP/1\nFROM A\nTO B\nCTX C1\nINTENT TASK\n\nTASK T1\nREQ go\n"
HELD = "CSP/1\nFROM A\nTO B\nCTX C1\nINTENT MEM\n\nMEM M1\nNOTE\n<<<\n```\n~~~\nCSP/1\n>>>\n"
NSLIP = "@a3|f0|c1|S0|d1|T1#"
SHAPES = (
    f"```\n{MESSAGE}```\n",
    f"```csp\n{MESSAGE}```\nprose\n```\n{MESSAGE}\n```\n",
    f"{MESSAGE}```\n{MESSAGE}```\nmore prose\n{MESSAGE}",
    f"{HELD}```\nprose\n{HELD}\n\n```\n{NSLIP}\n```\n{MESSAGE}",
    f"   ```\n{MESSAGE}   ```\n",
    f"{MESSAGE}````x\n{MESSAGE}`````\n",
    f"CSP/1;RULES\nX 1\n```\n{MESSAGE}```\n",
    f"CSP/1\nFROM A\n```\n{MESSAGE}```\n",
    f"CSP/1\nFROM A\nTO B\n```\n{NSLIP}\n{MESSAGE}",
    f"{MESSAGE}```\r\n{MESSAGE}```\r\n",
    f"\u2afbhead\n```\n{MESSAGE}```\n",
    f"```\n\u2afbhead\ntext\n```\n{MESSAGE}```\nand\n",
)
NO_FENCES = (f"{MESSAGE}``\n", f"{MESSAGE}`x```\n", f"{MESSAGE}    ```\n", f"{MESSAGE}\t```\n")


def tilded(text: str) -> str:
    """The same with tildes for backticks, and backticks for tildes."""
    return text.translate({ord("`"): "~", ord("~"): "`"})


def seen(text: str, **options: Any) -> tuple[Any, ...]:
    """The places of records and rejects of a scan."""
    found = turnwire.scan(text.encode(), **options)
    records = [(one.wire, one.offset, one.length, one.line, one.inner) for one in found.messages()]
    return records, [(row["wire"], row["offset"], row["length"], row["reason"]) for row in found.rejects.rows()]


@pytest.mark.usefixtures("scan_core")
@pytest.mark.parametrize("text", SHAPES[:2])
def test_a_fence_ends_a_message(text: str) -> None:
    for one in (text, tilded(text)):
        records, rejects = seen(one)
        assert len(records) == one.count("CSP/1") and not rejects
        feed = turnwire.Decoder()
        said = [found for byte in one.encode() for found in feed.feed(bytes([byte]))] + feed.close()
        assert len(said) == len(records)
        assert len(turnwire.extract(one)) == len(records)
        assert len(csp.parse(one, mode="lenient").messages) == len(records)


@pytest.mark.parametrize("text", [*SHAPES, *NO_FENCES])
def test_reading_says_the_same(text: str) -> None:
    lenient = [csp.parse(one, mode="lenient") for one in (text, tilded(text))]
    first, second = ([(type(row).__name__, row.line) for row in one.records] for one in lenient)
    assert first == second
    assert [one.reason for one in lenient[0].issues] == [one.reason for one in lenient[1].issues]
    assert csp.detect(text) == csp.detect(tilded(text))
