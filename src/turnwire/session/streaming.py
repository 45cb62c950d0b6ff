"""Sessions event by event: a writer that knows only what came before, and a reader that takes text in pieces."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from turnwire.errors import DecodeError, Reason
from turnwire.session._fields_py import folded
from turnwire.session._rows_py import record_end
from turnwire.session.checks import Chain
from turnwire.session.composing import Composer, names
from turnwire.session.encoding import DEFAULT, Item, checked, item_of, plain_line, text_record
from turnwire.session.howto import HEADER, header, howto
from turnwire.session.interpreting import value_of
from turnwire.session.metering import meter_of
from turnwire.session.planning import Event, Planner
from turnwire.session.reading import Session, plain_events
from turnwire.session.records import record_of
from turnwire.session.shapes import Shape

if TYPE_CHECKING:
    from turnwire.tokens.tokenizer import Tokenizer

WINDOW = 48
"""Events that a template is planned by."""
ALWAYS = frozenset(["#", "$", "b=a"])
"""What a writer may need explained whatever its options; it has neither aliases nor UUIDs without hyphens."""
MOST_TEMPLATES = 16
"""Templates of one structure that are tried."""


class _Form:
    """Makes bodies of records one by one: rows where a template fits, else a new template, else JSON."""

    def __init__(self, keys: tuple[str, ...], expectations: frozenset[str], before: bool) -> None:
        self.keys, self.expectations, self.before = keys, expectations, before
        self.anchor()

    def anchor(self) -> None:
        self.composer = Composer(self.keys, before=self.before)
        self.known: dict[Shape, list[str]] = {}
        self.window: deque[Event] = deque(maxlen=WINDOW)
        self.free = names()
        self.planned = self.events = 0

    def body(self, event: Item) -> str:
        if isinstance(event, str):
            return text_record(event)
        self.events += 1
        self.window.append(event)
        called = self.known.get(event.shape)
        if called is None:
            self.known[event.shape] = []
            return self.composer.bare(event.line, event.shape, event.leaves)
        fitting = [name for name in called if self._fits(name, event)]
        if fitting:
            name = fitting[0] if len(fitting) == 1 else min(fitting, key=lambda name: self._missed(name, event))
            return self.composer.row(name, event.leaves)
        return self._defined(called, event)

    def _fits(self, name: str, event: Event) -> bool:
        template = self.composer.templates[name]
        for mark, own, leaf in zip(template.marks, template.leaves, event.leaves, strict=True):
            if not mark and own.first != leaf:
                return False
        return True

    def _missed(self, name: str, event: Event) -> int:
        """How much a row would have to tell."""
        template, state = self.composer.templates[name], self.composer.state
        state.enter(None if template.key is None else event.leaves[template.key])
        missed = 0
        for place in template.open:
            own = template.leaves[place]
            if state.expect(own, place, template.number) != event.leaves[place]:
                missed += len(event.leaves[place]) + 1
        return missed

    def _defined(self, called: list[str], event: Event) -> str:
        if self.planned * 4 > self.events + 16 or len(called) >= MOST_TEMPLATES:
            called.clear()  # hardly anything comes back here: templates would not pay
            return self.composer.bare(event.line, event.shape, event.leaves)
        self.planned += 1
        planner = Planner(list(self.window), self.keys, self.expectations)
        cluster = planner.cluster_of(len(self.window) - 1)
        name = next(self.free)
        called.append(name)
        return self.composer.define(name, event.shape, cluster.marks, event.leaves)


class Writer:
    """Writes a session event by event: ``text = writer.add(event)`` is what comes next, ``close()`` ends it.

    Until a session has gained more than its explanation costs, events are JSON lines; then its header comes. tokenizer,
    key, options: as ``encode`` takes them (key None: no conversations are told apart; there are no aliases). Every
    ``every`` events, and whenever ``anchor()`` is called, an anchor makes what follows readable by itself: call it when
    the context of the model was compacted. Not for several threads at once.
    """

    def __init__(
        self,
        tokenizer: str | os.PathLike[str] | Tokenizer | None = DEFAULT,
        key: str | Sequence[str] | None = None,
        **options: Any,
    ) -> None:
        self._options = checked(options)
        self._measure = meter_of(tokenizer).count
        self._keys = (key,) if isinstance(key, str) else tuple(key or ())
        expectations = self._options.expectations()
        explained = howto(expectations | ALWAYS, self._options.checks) if self._options.prompt else ""
        self._header = header(self._keys, "", explained)
        self._form = _Form(self._keys, expectations, self._options.before)
        self._shapes: dict[tuple[Any, ...], Shape] = {}
        self._chain: Chain | None = None
        self._plain: list[str] = []
        self._gain = -self._measure(self._header)
        self._since = 0
        self.events = 0
        self.closed = False

    def add(self, event: Any) -> str:
        """The text of the next event, with its line feed. Raises EncodeError, and writes nothing then."""
        if self.closed:
            raise ValueError("the session is closed")
        item = item_of(event, self._shapes)
        lead = ""
        if self._chain is not None and self._since >= self._options.every:
            lead = self.anchor()
        body = folded(self._form.body(item))
        self.events += 1
        self._since += 1
        if self._chain is not None:
            return lead + self._record(body)
        line = plain_line(item) + "\n"
        self._gain += self._measure(line) - self._measure(body) - 1
        self._plain.append(line)
        if self._gain > 0:
            self._form.anchor()
            return line + self._begin()
        return line

    def _begin(self) -> str:
        self._chain = Chain("".join(self._plain))
        self._since = 0
        return self._record(self._header)

    def _record(self, body: str) -> str:
        assert self._chain is not None
        return self._chain.sealed(body) if self._options.checks else body + "\n"

    def anchor(self) -> str:
        """The text that makes all that follows readable without what came before: "" where there is no header yet."""
        if self._chain is None:
            return ""
        self._form.anchor()
        self._since = 0
        return self._record(" ".join([f"^{self.events}", *(f"@{key}" for key in self._keys)]))

    def close(self) -> str:
        """The end of the session: "" where all events are JSON lines."""
        self.closed = True
        return "" if self._chain is None else self._record(f".{self.events}")


class Reader:
    """Reads a session piece by piece: ``reader.feed(text)`` gives the events that are complete, ``close()`` the rest.

    An event is complete when the next record begins. sealed: whether the records have checks. Raises DecodeError as
    ``decode`` does, but with the line only; nothing is read after an error.
    """

    def __init__(self, sealed: bool = True) -> None:
        self._sealed = sealed
        self._session: Session | None = None
        self._pieces: list[str] = []
        self._feeds = False
        self._plain: list[str] = []
        self._line = 1
        self._events = 0

    def feed(self, text: str) -> list[Any]:
        """The events that are complete now."""
        if not text:
            return []
        self._pieces.append(text)
        if not self._completes(text):
            return []
        held, start = "".join(self._pieces), 0
        self._pieces = []  # nothing is read after an error
        found: list[Any] = []
        while True:
            end = held.find("\n", start) if self._is_plain(held[start : start + 1]) else record_end(held, start)
            if end < 0:
                break
            found += self._one(held[start:end])
            start = end + 1
        if start < len(held):
            self._pieces = [held[start:]]
        self._feeds = start < len(held) and held[-1] == "\n"
        return found

    def _is_plain(self, first: str) -> bool:
        """Whether what begins so is a JSON line, not a record."""
        return self._session is None and first != HEADER[:1]

    def _completes(self, text: str) -> bool:
        """Whether a line or record ends in the last piece; what came before is not looked at again."""
        feeds, self._feeds = self._feeds, text[-1] == "\n"
        if self._is_plain(self._pieces[0][:1]):
            return "\n" in text
        return record_end("\n" + text if feeds else text, 0) >= 0

    def _one(self, whole: str) -> list[Any]:
        line = self._line
        self._line += whole.count("\n") + 1
        if self._session is None:
            if whole[:1] != HEADER[:1]:
                self._plain.append(whole + "\n")
                try:
                    values = [value_of(each) for each in plain_events(whole)]
                except DecodeError as error:
                    raise DecodeError(error.reason, error.text, line=line, wire="session") from None
                self._events += len(values)
                return values
            self._session = Session(self._sealed, "".join(self._plain), True)
            self._session.events = self._events
        try:
            event = self._session.read(record_of(whole, self._sealed, line))
        except DecodeError as error:
            raise DecodeError(error.reason, error.text, line=line, wire="session") from None
        return [] if event is None else [event]

    def close(self, strict: bool = True) -> list[Any]:
        """The last events. strict: whether the end must be there."""
        held, self._pieces = "".join(self._pieces), []
        found = self._one(held.removesuffix("\n")) if held else []
        if strict and self._session is not None and not self._session.ended:
            raise DecodeError(Reason.CUT_OFF, "the session has no end", line=self._line, wire="session")
        return found
