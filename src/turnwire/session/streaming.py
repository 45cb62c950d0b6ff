"""Sessions event by event: a writer that knows only what came before."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from turnwire.session.checks import Chain
from turnwire.session.composing import Composer
from turnwire.session.encoding import DEFAULT, checked, paths_of
from turnwire.session.fields import folded
from turnwire.session.header import Settings, explanation, header
from turnwire.session.metering import meter_of
from turnwire.session.planning import Planner
from turnwire.session.shapes import Event, Shape, Shapes

if TYPE_CHECKING:
    from turnwire.tokens.tokenizer import Tokenizer

WINDOW = 48
"""Events that a template is planned by."""
MOST_TEMPLATES = 16
"""Templates of one structure that are tried."""
_ALWAYS = frozenset(["#", "$", "b=a"])
"""Parts that a writer may use whatever its options are; it has neither aliases nor UUIDs without hyphens."""


class _Bodies:
    """Makes bodies of records one by one: rows where a template fits, else a new template, else JSON."""

    def __init__(self, keys: tuple[str, ...], marks: frozenset[str], before: bool) -> None:
        self._keys, self._marks = keys, marks
        self._composer = Composer(keys, before=before)
        self._called: dict[Shape, list[str]] = {}
        self._window: deque[Event] = deque(maxlen=WINDOW)
        self._planned = self._events = 0

    def body(self, event: Event) -> str:
        """The body of the record of the next event."""
        if not event.leaves:
            return self._composer.bare(event)
        self._events += 1
        self._window.append(event)
        called = self._called.get(event.shape)
        templates = self._composer.templates
        fitting = [name for name in called or () if templates[name].fits(event.leaves)]
        if fitting:
            name = fitting[0] if len(fitting) == 1 else min(fitting, key=lambda name: self._missed(name, event))
            return self._composer.row(name, event)
        if called is None or self._planned * 4 > self._events + 16 or len(called) >= MOST_TEMPLATES:
            self._called[event.shape] = []  # nothing came back yet, or hardly anything does: templates would not pay
            return self._composer.bare(event)
        self._planned += 1
        name = next(self._composer.names)
        called.append(name)
        marks = Planner(self._window, self._keys, self._marks, event.shape).marks_of_last()
        return self._composer.define(name, event, marks)

    def _missed(self, name: str, event: Event) -> int:
        """About the letters of the fields of a row."""
        template, state = self._composer.templates[name], self._composer.state
        key, _ = event.shape.order(self._keys)
        state.enter(None if key is None else event.leaves[key])
        missed = 0
        for place in template.fields:
            if state.expect(template.leaves[place], place, template.number) != event.leaves[place]:
                missed += len(event.leaves[place]) + 1
        return missed


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
        self._count = meter_of(tokenizer).count
        self._settings = Settings(paths_of(key or ()))
        marks = self._options.marks()
        explained = explanation(marks | _ALWAYS, self._options.checks) if self._options.prompt else ""
        self._header = header(self._settings, explained)
        self._shapes = Shapes()
        self._chain = Chain()
        self._begun = False
        self._gain = -self._count(self._header)
        self._begin()
        self.events = 0
        self.closed = False

    def _begin(self) -> None:
        """Forgets what came before, so that what follows needs nothing of it."""
        self._bodies = _Bodies(self._settings.keys, self._options.marks(), self._options.before)
        self._since = 0

    def add(self, event: Any) -> str:
        """The text of the next event, with its line feed. Raises EncodeError, and writes nothing then."""
        if self.closed:
            raise ValueError("the session is closed")
        made = self._shapes.event(event)
        anchor = self.anchor() if self._since >= self._options.every else ""
        body = folded(self._bodies.body(made))
        self.events += 1
        if self._begun:
            self._since += 1
            return anchor + self._record(body)
        line = made.line + "\n"
        self._chain.cover(line)
        self._gain += self._count(line) - self._count(body) - 1
        if self._gain <= 0:
            return line
        self._begin()
        self._begun = True
        return line + self._record(self._header)

    def anchor(self) -> str:
        """The text that makes all that follows readable without what came before: "" where there is no header yet."""
        if not self._begun:
            return ""
        self._begin()
        return self._record(" ".join([f"^{self.events}", *self._settings.words()]))

    def close(self) -> str:
        """The end of the session: "" where all events are JSON lines."""
        self.closed = True
        return self._record(f".{self.events}") if self._begun else ""

    def _record(self, body: str) -> str:
        return self._chain.sealed(body) if self._options.checks else body + "\n"
