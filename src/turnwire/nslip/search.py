"""nSLIP messages in plain text."""

from __future__ import annotations

import re
from collections.abc import Iterator

from turnwire.errors import DecodeError
from turnwire.nslip.codec import decode
from turnwire.nslip.messages import SlipMessage

_LOOKS_LIKE = re.compile(r'@[afcSdT][0-9A-Za-z](?:[^"#\r\n@]|"[^"\\]*(?:\\.[^"\\]*)*")*+#', re.DOTALL)


def search(text: str) -> Iterator[tuple[SlipMessage, int, int]]:
    """Each message in ``text`` with its start and end, in order."""
    place = 0
    while (match := _LOOKS_LIKE.search(text, place)) is not None:
        place = match.start() + 1
        try:
            message = decode(match.group())
        except DecodeError:
            continue
        place = match.end()
        yield message, match.start(), place
