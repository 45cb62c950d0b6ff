"""CSP/1 in plain Python: the readable twin of ``_native/csp/codec.pyx``, most parts of which are modules."""

from __future__ import annotations

from turnwire.csp._lines_py import MAGIC, Cursor, ScanFault, Span, Table
from turnwire.csp._scanner_py import bad_utf8, usual_message
from turnwire.csp.codec import check_closely as check, decode_closely as decode, encode_closely as encode
from turnwire.csp.messages import AnyBlock, CspMessage, Op, Patch, made_block
from turnwire.csp.reader import MessageReader
from turnwire.csp.spec import BLOCK_WORD, FIELDS, Intent

__all__ = ["NO_LIMIT", "Messages", "check", "decode", "encode"]

NO_LIMIT = (1 << 62, 1 << 62, 1 << 62)
_INTENTS = tuple(Intent)


class Messages:
    """Reads the messages of a text, each by its place: see the native twin."""

    def __init__(self, data: bytes, limits: tuple[int, int, int] = NO_LIMIT) -> None:
        if len(data) >= 1 << 31:
            raise ValueError("a text of 2 GiB or more cannot be read at once: spans are 32 bits wide")
        self._cursor = Cursor(data, len(data))
        self._limits = limits

    def at(self, place: int, fence: bytes = b"") -> tuple[int, CspMessage] | None:
        """(end of its block, message) of the message at ``place``; None where strict reading takes none there."""
        cursor, limits = self._cursor, self._limits
        if not 0 <= place <= cursor.end:
            raise ValueError("the place is not in the text")
        cursor.fence = fence
        read = usual_message(cursor, place, limits)
        if read is None:
            first = cursor.line(place)
            if first is None or first.text != MAGIC:
                return None
            reader = MessageReader(cursor, first, limits)
            try:
                read = reader.read(), *reader.row()
            except ScanFault:
                return None
        stop, code, spans, extras = read
        if bad_utf8(cursor.data, place, stop) >= 0:
            return None
        return stop, _message(cursor.data, code, spans, extras)


def _message(data: bytes, code: int, spans: list[Span], extras: Table) -> CspMessage:
    def text(start: int, length: int) -> str:
        return data[start : start + length].decode()

    sender, receiver, ctx, name = (text(*span) for span in spans[:4])
    word, slots = BLOCK_WORD[_INTENTS[code]], spans[4:]
    block: AnyBlock
    if word == "PATCH":
        ops = [
            Op(chr(sign), text(key, size), text(start, length) if length >= 0 else None)
            for sign, key, size, start, length in extras
        ]
        block = Patch(name, text(*slots[0]), ops, text(*slots[1]))
    else:
        if word in FIELDS:
            places = sorted((*span, key) for span, key in zip(slots, FIELDS[word], strict=False))
            fields = [(key, text(start, length)) for start, length, key in places if length >= 0]
        else:
            fields = [(text(key, size), text(start, length)) for _, key, size, start, length in extras]
        block = made_block(word, name, fields, text(*slots[3]) if word == "FILEOP" else "")
    return CspMessage(sender, receiver, ctx, _INTENTS[code], block)
