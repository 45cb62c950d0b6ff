"""JSON in a text: the matcher of the JSON wires by their plans, and what other JSON holds in its objects, its strings,
its lists of strings that are lines, and its arrays of bytes."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from turnwire.contract import LIMITS
from turnwire.errors import DecodeError, Reason
from turnwire.json._rows_py import EscapeMap
from turnwire.json._text_py import WHOLE, Reader, are_values, opened_at, parse, plain, quote_before
from turnwire.json._wrapper_py import Numbers, bytes_said, message_bytes, wrapper_time
from turnwire.json.plan import OTHER, RECORD, REJECT, Classifier
from turnwire.log.engine.columns import REASONS
from turnwire.log.search import carriers
from turnwire.log.search.texts import BOM, DEEPEST_STRING, Incomplete, Joiner, Match, SearchState, Text, Walk

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from turnwire.log.search.search import Search

IN_LINE = (
    rb'(?P<object>\{(?=[ \t\r\n]*+(?:["}]|\Z)|[ \t]*\r?$))'
    rb'|(?P<escaped>\{(?:[ \t\r\n]|\\+[nrt])*+\\+"|CSP/1(?=\\)|CSP\\+/1)'
)
"""Objects; and what was written in a string: an escaped object, the first line of CSP/1."""
AT_LINE = rb'(?P<values>(?:\xef\xbb\xbf)?[ \t]*["\[])'
_FIRST_LOOK = 4096
"""Bytes of an object that are looked at first, four times as many if that was not all of it."""
_DOUBTFUL = 16
"""A fault so near to the end of what was looked at may be none."""
_TOKEN = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"|[{}\[\]]', re.DOTALL)
_OPENS = re.compile(rb'\{[ \t\r\n]*+(?:["}]|\Z)')
MOST_REJECTS = 512
"""Rejects that are kept of one outermost string; the rest of it is text."""
_INSIDE = re.compile(rb'[^"\\]*+(?:\\.[^"\\]*+)*+', re.DOTALL)
_LIST = re.compile(rb'\[[ \t\r\n]*+(?:"[^"\\]*+(?:\\.[^"\\]*+)*+"[ \t\r\n]*+(?:,[ \t\r\n]*+|(?=\])))++\]', re.DOTALL)
_ONE_STRING = re.compile(rb'"([^"\\]*+(?:\\.[^"\\]*+)*+)"', re.DOTALL)
_WORTH = rb"[{@]|[Cc][Ss][Pp]|\\u00(?:40|7[bB]|[46]3)|\\+/"
"""Bytes, as written, without which a string holds no message."""


class ParsedObject(NamedTuple):
    """An object that was read. what: RECORD, REJECT or OTHER, None for no good JSON; behind: where it ends; wire: the
    number of its plan; reason: why it is refused; fault: where, or where reading failed; cut: it continues after what
    was there; value: what it says."""

    what: int | None
    behind: int = 0
    wire: int = 0
    reason: Reason | None = None
    fault: int = 0
    cut: bool = False
    value: Any = None


class Objects:
    """Finds messages of JSON wires, and what stands in other JSON. torn: the keys of these wires; openings: a pattern
    for these."""

    def __init__(self, search: Search, torn: list[bytes], openings: bytes) -> None:
        self._search = search
        self._plans = search.finder.plans
        self._limits = LIMITS._replace(message=search.limit)
        self._clues = {
            (frozenset(path.partition("/")[0] for path in clue), place)
            for place, plan in enumerate(self._plans)
            for clue in plan.clues
        }
        self._near = lru_cache(1024)(self._places)  # messages of a log have few sets of keys
        inside = dict.fromkeys(re.escape(f'"{key}"'.encode()) for plan in self._plans for key in plan.inside)
        self._inside = re.compile(b"|".join(inside) or rb"(?!)")
        self._torn = torn
        self._openings = re.compile(openings)
        self._classifier = Classifier(self._plans, REASONS, Reader("json"), search.limit)

    def _places(self, keys: Iterable[str]) -> list[int]:
        """The numbers of the wires of which an object with these keys may be."""
        return sorted({place for names, place in self._clues if names.issubset(keys)})

    def tried(self, text: Text, at: int, end: int, state: SearchState, whole: bool = True) -> ParsedObject:
        """The object at a place, up to ``end`` at most; whole: the text ends there, not the limit."""
        data = text.data
        if end - at > self._search.limit:
            end, whole = at + self._search.limit, False
        line = text.line_end(at) + 1
        stop = min(line if data.find(b"}", at, line) >= 0 else end, end, at + _FIRST_LOOK)  # one line, if it may be all
        while True:
            try:
                value, size = parse(data[at:stop], 0, self._limits)
                break
            except DecodeError as error:
                fault = error.offset or 0
                cut = error.reason in (Reason.CUT_OFF, Reason.UNTERMINATED_STRING)
                if stop < end and (cut or fault > stop - at - _DOUBTFUL):  # it may go on in further lines
                    stop = min(end, at + 4 * max(stop - at, _FIRST_LOOK))
                    continue
                if not cut or whole:  # one that the limit cuts off may hold whole ones
                    state.hopeless |= {at + place for place in opened_at(data[at:stop], 0, fault)}
                return ParsedObject(None, fault=at + fault, cut=cut)
        near = self._near(tuple(value)) if size <= _FIRST_LOOK else self._places(value)
        if not near:
            return ParsedObject(OTHER, at + size, value=value)
        reading = self._search.finder.reading
        message = reading.read(value, data[at : at + size])
        places = [place for place in near if self._plans[place].may_be(message.values)]
        what, wire, reason, fault = self._classifier.whole(
            message.raw, value, places, lambda place: reading.is_good(place, message)
        )
        return ParsedObject(
            what, at + size, wire, REASONS[reason], at + fault, value=message if what == RECORD else value
        )

    def add(self, walk: Walk, at: int, tried: ParsedObject, *, inside: bool = True) -> None:
        """Adds what a good object is, or what it holds."""
        code = self._plans[tried.wire].code
        if tried.what == RECORD:
            walk.add(at, tried.behind, code, value=(tried.wire, tried.value))
            return
        before = len(walk.found)
        (self.look_into if inside else self._look_into)(walk, at, tried.behind)
        if walk.text.outer is not None and len(walk.found) > before:
            walk.state.reaches.append((at, tried.behind))
        if tried.what == REJECT and len(walk.found) == before:
            walk.add(at, tried.behind, code, reason=tried.reason, fault=tried.fault)

    def at_object(self, walk: Walk, at: int, match: re.Match[bytes]) -> int:
        """Matches what begins with a brace."""
        text = walk.text
        if at in walk.state.hopeless:
            return at + 1
        edge = walk.state.taken.up_to(at, walk.end)
        reach = min(edge, at + self._search.limit)
        if not _OPENS.match(text.data, at, reach):  # of its line alone, and what follows is no member
            walk.state.hopeless.add(at)
            return carriers.at_prefixed(self._search, walk, at) or at + 1
        tried = self.tried(text, at, reach, walk.state, reach == edge)
        if tried.what is None:
            if tried.fault > text.line_end(at) and not _OPENS.match(text.data, at):  # another line, or its prefix
                return carriers.at_prefixed(self._search, walk, at) or at + 1
            return self._broken(walk, at, reach, edge, tried)
        carrier = None if tried.what == RECORD or text.in_string else carriers.of_object(tried.value)
        if carrier is not None and text.data[text.line_start(at) : at] in (b"", BOM):
            behind = self._search.streams.at(walk, text.line_start(at), carrier)
            if behind:
                return behind
        self.add(walk, at, tried)
        return self._following(walk, tried.wire, tried.behind) if tried.what == RECORD else tried.behind

    def _following(self, walk: Walk, wire: int, at: int) -> int:
        """Adds the messages of a wire that the next lines of the file are, as long as these surely are some. Where they
        end."""
        text, data, search = walk.text, walk.text.data, self._search
        end = walk.state.taken.up_to(at, walk.end)
        if text.outer is not None or b"{" not in search.runs:
            return at
        reading, plan = search.finder.reading, self._plans[wire]
        while data.startswith(b"\n{", at) and at < (stop := data.find(b"\n", at + 1, end)) <= at + _FIRST_LOOK:
            raw = data[at + 1 : stop]
            try:
                value, size = parse(raw, 0, self._limits)
            except DecodeError:
                break
            if size < len(raw) or size > search.limit or self._near(tuple(value))[:1] != [wire]:
                break
            message = reading.read(value, raw)
            if not (plan.may_be(message.values) and reading.is_good(wire, message)):
                break
            if at + 1 in walk.state.hopeless or (b"\\u" in raw and not plan.detect(raw)):
                break
            walk.add(at + 1, stop, plan.code, value=(wire, message))
            at = stop
        return at

    def look_into(self, walk: Walk, at: int, end: int) -> None:
        """Looks into a good object that is no message: its objects and its strings. Its time is that of all in it."""
        found, before = walk.found, len(walk.found)
        self._look_into(walk, at, end)
        if len(found) == before or (time := wrapper_time(walk.text.data, at)) is None:
            return
        for number in range(before, len(found)):
            one = found[number]
            if one.text is walk.text:
                found[number] = one._replace(time=time)
            else:
                one.text.around(walk.text, time)

    def _look_into(self, walk: Walk, at: int, end: int) -> None:
        objects = self._inside.search(walk.text.data, at, end) is not None

        def at_brace(first: int, token: re.Match[bytes]) -> int:
            tried = self.tried(walk.text, first, end, SearchState()) if objects else None
            if tried is None or tried.what not in (RECORD, REJECT):
                return token.end()
            self.add(walk, first, tried, inside=False)
            return tried.behind

        self._search_texts(walk, at + 1, end, at_brace)

    def _search_texts(self, walk: Walk, place: int, end: int, at_brace: Callable[[int, re.Match[bytes]], int]) -> int:
        """Searches the strings, lists of lines and arrays of bytes of JSON from a place up to ``end``; at_brace: where
        to go on after a brace. Returns where it ended, which may be behind that."""
        text, strings = walk.text, self._search.strings
        while place <= end and (token := _TOKEN.search(text.data, place, end)) is not None:
            first, place = token.span()
            if text.data[first] == 0x7B:
                place = at_brace(first, token)
            elif text.data[first] in b'"[':
                inner, place = strings.text_at(text, first, place, end)
                if inner is not None:
                    strings.search(inner, first, place, walk.found)
        return max(place, end)

    # --- damage ---

    def _broken(self, walk: Walk, at: int, reach: int, edge: int, tried: ParsedObject) -> int:
        """An object that is no good JSON: it continues after a prefix on each line, or is damaged up to the end of its
        line, or of the line that cannot go on. edge: where the text ends, or lines were taken."""
        text = walk.text
        line_end = min(text.line_end(at), walk.end)
        if reach == len(text.data):
            walk.needs_line(at)
        open_end = tried.cut and reach == edge
        if tried.fault > line_end or (open_end and line_end < reach):
            behind = carriers.at_prefixed(self._search, walk, at)
            if behind:
                return behind
        if open_end and edge == len(text.data) and not text.final:
            raise Incomplete(at)
        over_limit = tried.cut and reach < edge
        stop = line_end
        if over_limit:
            stop = reach
        elif tried.fault > line_end:
            stop = self._damage_end(text, at, tried.fault, reach)
            if stop == len(text.data) and not text.final:  # the line that cannot go on has no end yet
                raise Incomplete(at)
        return self.damaged(walk, at, stop, over_limit, one_line=line_end >= reach)

    @staticmethod
    def _damage_end(text: Text, at: int, fault: int, reach: int) -> int:
        """The end of the damage of an object over several lines: with the line of the fault, unless that begins with
        the fault or has a time at its head."""
        first = text.line_start(fault)
        if text.data[first:fault].strip(b" \t\r") and text.line_time(first) is None:
            return min(text.line_end(fault), reach)
        return text.line_end(at + len(text.data[at:first].rstrip(b" \t\r\n")))

    def damaged(self, walk: Walk, at: int, end: int, too_large: bool, *, one_line: bool = False) -> int:
        """Damaged bytes: the records in them, and between what holds these rejects where they carry the marks of a
        wire; else what is damaged in their strings. Where they end: an object that begins in them may go on after,
        a broken one only unless they are too large and of one line."""
        inner = Walk(walk.text, end, [], walk.state)
        piece, place = at, at + 1
        kept: list[Match] = []
        while place <= end and (match := self._search.in_line.search(walk.text.data, place, end)) is not None:
            start, kind, before = match.start(), match.lastgroup, len(inner.found)
            if kind == "object":
                place, end = self._object_in_damage(walk, inner, at, start, end, too_large and one_line)
            elif kind == "escaped":
                place = self._search.strings.around(inner, start)
            elif kind in ("slip", "token"):
                place = self._search.handlers[kind](inner, start, match)
            else:
                place = match.end()
            new = inner.found[before:]
            walk.state.found_behind = place if new else walk.state.found_behind
            if all(one.reason is not None for one in new):
                kept += new
                continue
            self._settle(walk, piece, new[0].here, too_large, kept)
            walk.found.extend(new)
            piece, kept = new[-1].behind, []
        self._settle(walk, piece, max(end, piece), too_large, kept)
        return max(end, place)

    def _object_in_damage(
        self, walk: Walk, inner: Walk, at: int, start: int, end: int, within: bool
    ) -> tuple[int, int]:
        """Adds the object at ``start`` of damage from ``at`` to ``end``: where to go on, and where the damage ends.
        within: no broken object continues after it."""
        state, text = walk.state, walk.text
        if start in state.hopeless:
            return start + 1, end
        edge = state.taken.up_to(start, walk.end)
        reach = min(edge, start + self._search.limit)
        tried = self.tried(text, start, reach, state, reach == edge)
        if tried.what is not None:
            before = len(inner.found)
            self.add(inner, start, tried)
            return tried.behind, start if tried.behind > end and len(inner.found) == before else end
        if tried.cut and reach == len(text.data) and not text.final:
            raise Incomplete(at)
        if tried.fault > end and not within:  # damage over several lines of its own
            state.hopeless.discard(start)
            return start, start
        return start + 1, end

    def _settle(self, walk: Walk, at: int, end: int, too_large: bool, inside: list[Match]) -> None:
        """A reject where the bytes carry the marks of a wire, else what is damaged inside."""
        raw = walk.text.data[at:end]
        if at < end and (not self._torn or any(token in raw for token in self._torn)):
            what, wire, reason, fault = self._classifier.torn(raw, too_large)
            if what == REJECT:
                code, why = self._plans[wire].code, REASONS[reason]
                walk.add(at, end, code, reason=why, fault=at + min(fault, len(raw)))
                return
        walk.found.extend(inside)

    def at_torn(self, walk: Walk, at: int, match: re.Match[bytes]) -> int:
        """The key of a wire where no object is open: the tail of a message whose head was cut off, in its line."""
        text, state = walk.text, walk.state
        if at < state.sound[0] and state.found_behind == state.sound[1]:
            return match.end()
        walk.needs_line(at, self._search.longest_line)
        stop = min(text.line_end(at), walk.end)
        begin = walk.floor(at)
        following = self._search.in_line.search(text.data, at, stop)
        while following is not None and following.lastgroup == "object":
            tried = self.tried(text, following.start(), stop, SearchState())
            if tried.what in (RECORD, REJECT):
                break
            behind = following.end() if tried.what is None else tried.behind
            following = self._search.in_line.search(text.data, behind, stop)
        last = stop if following is None else following.start()
        before = len(walk.found)
        self._settle(walk, begin, last, False, [])
        state.sound = (last, state.found_behind)
        return last if len(walk.found) > before else match.end()

    # --- strings outside of good JSON ---

    def at_values(self, walk: Walk, at: int, match: re.Match[bytes]) -> int:
        """A line of strings and arrays: each of its strings is a text, and each list of lines."""
        walk.needs_line(at, self._search.longest_line)
        text = walk.text
        stop = min(text.line_end(at), walk.end)
        values = are_values(text.data[at:stop])
        if not values:
            torn = self._openings.match(text.data, match.end() - 1)
            return match.end() if torn is None else self.at_torn(walk, torn.start(), torn)
        before = len(walk.found)
        behind = self._search_texts(walk, at, stop, lambda first, token: self.at_object(walk, first, token))
        if behind > stop:
            return behind
        if len(walk.found) == before and values != WHOLE:  # it may be the tail of a message
            self._settle(walk, at, stop, False, [])
        return stop


class StringSearch:
    """Finds and searches the texts in strings. marks: what further wires are written as in one."""

    def __init__(self, search: Search, marks: Sequence[bytes]) -> None:
        self._search = search
        self._worth = re.compile(b"|".join([_WORTH, *map(re.escape, marks)]))

    def text_at(self, text: Text, first: int, behind: int, end: int) -> tuple[Text | None, int]:
        """The text of the string, the list of strings or the array of bytes at a place of JSON that is good up to
        ``end`` (None if it holds nothing), and where that ends."""
        data = text.data
        if text.depth >= DEEPEST_STRING:
            return None, behind
        if data[first] != 0x22:
            return self._lines(text, first, behind, end)
        span = data[first + 1 : behind - 1]
        if span == b"MESSAGE" and (array := message_bytes(data, behind)) is not None:
            written = data[array[1] : array[2]]
            joiner = Joiner(text, "bytes")
            joiner.add(bytes_said(written), array[1], Numbers(written))
            return joiner.text(True, in_string=True), array[2] + 1
        if self._worth.search(span) is None:
            return None, behind
        return self._said(text, first + 1, span), behind

    def _lines(self, text: Text, first: int, behind: int, end: int) -> tuple[Text | None, int]:
        """The text of a list of strings that are lines, as notebooks keep them."""
        listed = _LIST.match(text.data, first, end)
        if listed is None or self._worth.search(listed[0]) is None:
            return None, behind
        strings = list(_ONE_STRING.finditer(text.data, first, listed.end()))
        if len(strings) < 2 or not all(one[1].endswith(b"\\n") for one in strings[:-1]):
            return None, behind
        joiner = Joiner(text, "list of lines")
        for one in strings:
            joiner.add(plain(one[1]), one.start(1), EscapeMap(one[1]) if b"\\" in one[1] else None)
        return joiner.text(True, in_string=True), listed.end()

    @staticmethod
    def _said(text: Text, start: int, span: bytes, quoted: bool = True) -> Text:
        joiner = Joiner(text, "string")
        joiner.add(plain(span), start, EscapeMap(span) if b"\\" in span else None)
        inner = joiner.text(True, in_string=True)
        inner.quoted = quoted
        return inner

    def search(self, inner: Text, here: int, behind: int, found: list[Match]) -> None:
        """Searches a text that stands from ``here`` to ``behind``."""
        rejects = 0
        for one in self._search.run(inner)[0]:
            rejects += one.reason is not None
            if one.reason is None or rejects <= MOST_REJECTS:
                found.append(one._replace(here=here, behind=behind))

    def around(self, walk: Walk, at: int) -> int:
        """Searches the string around a place, in bytes that are not good JSON: what lies between the nearest quotes of
        its line, after what was found last. Where to go on."""
        text, data = walk.text, walk.text.data
        walk.needs_line(at, self._search.longest_line)
        end = min(walk.end, text.line_end(at))
        quote = quote_before(data, at, walk.floor(at))
        first = at if quote < 0 else quote + 1
        match = _INSIDE.match(data, at, end)
        close = end if match is None else match.end()
        close = close if close < end and data[close] == 0x22 else end
        glued = close < end and close > at + 1 and data[close - 1] == 0x7B  # it was cut off; a record stands behind it
        close -= glued
        if text.depth < DEEPEST_STRING:
            self.search(self._said(text, first, data[first:close], quote >= 0), first, close, walk.found)
        return close if glued else max(min(close + 1, end), at + 1)
