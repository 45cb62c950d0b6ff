"""Messages after the prefixes of lines: CSP/1, and objects over several lines."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from turnwire.csp._lines_py import LETTERS, NeedMore
from turnwire.csp._scanner_py import TEMPLATE_HEAD
from turnwire.log.search import carriers
from turnwire.log.search.state import Match, More, SearchState, Walk
from turnwire.log.search.texts import BOM, Text

if TYPE_CHECKING:
    from turnwire.log.search.search import Search

IN_LINE = rb"(?P<magic>CSP/1(?=(?:[*_`:]{2,4}|[*_`])?\r?$|;| MODE;))"
_EXACT = re.compile(rb"CSP/1(?:\r?$|;| MODE;)", re.MULTILINE)
_SPACE = re.compile(rb"[ \t\r\n]*")
_FIRST_GATHERED = 1 << 8
"""Bytes of the lines behind a prefix that are joined first."""


class Prefixed:
    """Finds what begins after the prefix of its line and continues in lines that begin alike."""

    def __init__(self, search: Search) -> None:
        self._search = search

    def at_magic(self, walk: Walk, at: int, match: re.Match[bytes]) -> int:
        """``CSP/1`` at the end of a line, or the head of a template; or in emphasis, with only signs before it."""
        data = walk.text.data
        spoken = not _EXACT.match(data, at) and LETTERS.search(data, walk.text.line_start(at), at)
        return match.end() if spoken else self.at(walk, at) or match.end()

    def at(self, walk: Walk, at: int) -> int:
        """Matches what begins at a place, if anything; returns the place to go on at, else 0."""
        line = walk.text.line_start(at)
        prefix = walk.text.data[line:at]
        if (walk.state.mid and not line) or not carriers.is_prefix(prefix):
            return 0
        prefix = prefix.removeprefix(BOM)
        if walk.text.data.startswith(b"CSP/1", at):
            return self._csp(walk, line, at, prefix)
        return self._object(walk, line, at, prefix) if prefix.strip() else 0

    def _csp(self, walk: Walk, line: int, at: int, prefix: bytes) -> int:
        text = walk.text
        form = carriers.form_of(text, prefix, text.behind_line(at), walk.state.taken)
        if form is carriers.OPEN:
            raise More(line)
        template = TEMPLATE_HEAD.match(text.data, at) is not None
        if template and carriers.is_sentence(prefix):
            return 0
        if form is None:
            if not template:
                return 0
            form = carriers.EveryLinePrefix(prefix)
        if form.bare:
            return self._search.csp_lines.match(walk, at, form)
        matched = self._search.csp_lines.matched
        inner, lines, one = self._gathered(
            walk, line, at, form, _FIRST_GATHERED, lambda inner: matched(inner, 0, len(inner.data), form)
        )
        if one is None:
            return 0
        if one.stop:
            found = Match(at, at, inner, 0, one.stop, self._search.finder.csp, one.reason, one.fault, one.value)
            self._take(walk, at, line, inner, lines, one.stop, [found])
        return text.behind_line(at)

    @staticmethod
    def _gathered(
        walk: Walk, line: int, at: int, form: Any, size: int, read: Callable[[Text], Any]
    ) -> tuple[Text, carriers.Lines, Any]:
        """The text of as many lines as ``read`` needs, and what that says; ``size``: bytes of text that are joined
        first."""
        while True:
            inner, lines, whole = carriers.gathered(walk.text, line, at, form, size, walk.state.taken)
            try:
                return inner, lines, read(inner)
            except (NeedMore, More):
                if whole or len(inner.data) < size:
                    raise More(line) from None
            size *= 4

    def _object(self, walk: Walk, line: int, at: int, prefix: bytes) -> int:
        form = carriers.EveryLinePrefix(prefix, exact=True)
        size = walk.text.behind_line(at) - at + 1  # the next line alone: mostly it is no part of an object
        inner, lines, whole = carriers.gathered(walk.text, line, at, form, size, walk.state.taken)
        if len(lines) < 2 and not whole:
            raise More(line)
        if len(lines) < 2 or not self._goes_on(inner):
            return 0
        size = size if whole else max(4 * size, _FIRST_GATHERED)
        inner, lines, (behind, found) = self._gathered(
            walk, line, at, form, size, lambda inner: self._read(walk, Walk(inner, len(inner.data), [], SearchState()))
        )
        if not behind:
            return 0
        self._take(walk, at, line, inner, lines, behind, found)
        return min(walk.text.behind_line(at), inner.outside_end(0, behind))

    def _read(self, walk: Walk, within: Walk) -> tuple[int, list[Match]]:
        """Reads the object with which joined lines begin: where it ends, 0 for none, and what it holds. Raises More
        if it may go on in further lines."""
        inner, objects = within.text, self._search.objects
        tried = objects.tried(inner, 0, within.end, within.state)
        if tried.what is not None:
            objects.add(within, 0, tried)
            return tried.behind, within.found
        if tried.cut and not inner.final:
            raise More(0)
        walk.state.hopeless |= {inner.outside(place) for place in within.state.hopeless}
        if tried.fault <= inner.line_end(0):
            return 0, []
        end = len(inner.data.rstrip()) if tried.cut else inner.line_end(tried.fault)
        behind = objects.damaged(within, 0, end, False)
        return behind if within.found else 0, within.found

    @staticmethod
    def _goes_on(inner: Text) -> bool:
        """True if the second line of a text may go on with the object that the first one begins."""
        second = _SPACE.match(inner.data, inner.behind_line(0))
        assert second is not None, "it may be empty"
        last = inner.data[: inner.line_end(0)].rstrip()[-1:]
        follows = inner.data[second.end() : second.end() + 1]
        return not follows or follows in (b'"}' if last == b"{" else b'"{}[],:-0123456789tfn')

    @staticmethod
    def _take(
        walk: Walk, at: int, line: int, inner: Text, lines: carriers.Lines, stop: int, found: list[Match]
    ) -> None:
        """Takes the lines in which ``inner.data[:stop]`` stands, and adds what was found there."""
        mine = [span for span, first in lines if first < stop]
        mine[-1] = mine[-1][0], max(inner.outside_end(0, stop), at)  # something else may stand behind it on its line
        walk.state.taken.add([span for span in mine if span[0] > line])
        walk.state.reaches.append((at, mine[-1][1]))
        walk.found.extend(one._replace(here=at, behind=mine[-1][1]) for one in found)
