"""Messages as objects, made from spans: the readable twin of ``_native/csp/objects.pxi``.

Writing and checking are done in ``turnwire.csp.codec``.
"""

from __future__ import annotations

from turnwire.csp._lines_py import DEF_LINE, LAW_LINE
from turnwire.csp.faults import decode_fault, issue
from turnwire.csp.messages import AnyBlock, CspMessage, Junk, Op, Patch, Preamble, Record, Template, made_block
from turnwire.csp.spec import BLOCK_WORD, FENCE, FIELDS, INTENTS, PREAMBLE, TEMPLATE, Intent
from turnwire.errors import Issue, Reason

_INTENTS = tuple(Intent)
_WORDS = tuple(BLOCK_WORD[intent] for intent in INTENTS)


class Spans:
    """Makes records from rows; ``text`` gives a span as str."""

    def __init__(self, raw: bytes, extras: list[tuple[int, ...]]) -> None:
        self.raw: bytes | str = raw.decode() if raw.isascii() else raw
        self.extras = extras

    def text(self, start: int, length: int) -> str:
        """The text of a span."""
        part = self.raw[start : start + length]
        return part if isinstance(part, str) else part.decode()

    def record(self, row: tuple[int, ...], issues: list[Issue] | None = None) -> Record:
        """The record of a row; what is wrong in a preamble is added to the issues, or raised where none are taken."""
        code = row[3] & 0xFF
        line = row[2] + 1
        if code < TEMPLATE:
            return self.message(row)
        text = self.text(row[0], row[1])
        if code == PREAMBLE:
            return _preamble(text, line, row[0], issues)
        first, *lines = (one.removesuffix("\r") for one in text.split("\n"))
        if code == FENCE:
            return Junk(line, first)
        if lines and not lines[-1]:
            lines.pop()
        flags = self.text(row[12], row[13])
        return Template(flags.split(";") if flags else [], lines, mode=first.startswith("CSP/1 MODE;"), line=line)

    def message(self, row: tuple[int, ...]) -> CspMessage:
        """The message of a row."""
        text = self.text
        code = row[3] & 0xFF
        return CspMessage(
            text(row[4], row[5]),
            text(row[6], row[7]),
            text(row[8], row[9]),
            _INTENTS[code],
            self._block(code, row),
            line=row[2] + 1,
        )

    def _block(self, code: int, row: tuple[int, ...]) -> AnyBlock:
        text = self.text
        name = text(row[10], row[11])
        word = _WORDS[code]
        keys = FIELDS.get(word)
        if keys is not None:
            spans = [(row[12 + 2 * slot], row[13 + 2 * slot], key) for slot, key in enumerate(keys)]
            spans.sort()
            fields = [(key, text(start, length)) for start, length, key in spans if length >= 0]
            return made_block(word, name, fields, text(row[18], row[19]) if word == "FILEOP" else "")
        extras = self.extras[row[22] : row[22] + row[23]]
        if word == "PATCH":
            ops = [
                Op(chr(sign), text(key, size), text(start, length) if length >= 0 else None)
                for sign, key, size, start, length in extras
            ]
            return Patch(name, text(row[12], row[13]), ops, text(row[14], row[15]))
        fields = [(text(key, size), text(start, length)) for _, key, size, start, length in extras]
        return made_block(word, name, fields, "")


def _preamble(text: str, line: int, offset: int, issues: list[Issue] | None) -> Preamble:
    """A preamble from its text. A name or law that appears twice is an issue, or a DecodeError if none are taken."""
    record = Preamble(line=line)
    for number, row in enumerate(text.encode().split(b"\n"), line):
        row_text = row.removesuffix(b"\r")
        match = DEF_LINE.fullmatch(row_text)
        kind: dict[str, str] = record.laws if match is None else record.defs
        match = match or LAW_LINE.fullmatch(row_text)
        if match is not None:
            name = match[1].decode()
            if name not in kind:
                kind[name] = (match[2] or b"").decode()
            else:
                reason = Reason.DEF_EXISTS if kind is record.defs else Reason.DUPLICATE
                if issues is None:
                    raise decode_fault(reason, offset, number)
                issues.append(issue(reason, number))
        offset += len(row) + 1
    return record
