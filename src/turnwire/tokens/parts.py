"""What each part of a wire costs: the text with a part taken out is counted again, and the difference is its price.

The parts of a wire are a regular expression with a named group for each part, tried at every place
(``<package>/parts.py``).
Prices of single parts do not add up to the whole, since tokens reach across the edges of parts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from turnwire import registry
from turnwire.errors import UnknownName
from turnwire.registry import wire_of
from turnwire.tokens.counting import DEFAULT
from turnwire.tokens.fields import messages_of, text_of
from turnwire.tokens.loading import load
from turnwire.tokens.tokenizer import Tokenizer

TOGETHER = (("uuids", "timestamps"),)
"""Parts that are also taken out at once, as one entry, where a message has both."""


class Part(NamedTuple):
    """A part of a wire: how often it is there, its bytes, and the tokens that the messages would be shorter by."""

    wire: str
    part: str
    tokenizer: str
    times: int
    bytes: int
    tokens: int
    of: int

    @property
    def share(self) -> float:
        """The tokens as a part of all (0 to 1)."""
        return self.tokens / self.of if self.of else 0.0


def spans(text: str, wire: str) -> Iterator[tuple[str, int, int]]:
    """The parts of one message's text: (part, start, end), in order, none over another; a document has none."""
    known = registry.wire(wire)
    pattern = known.parts
    if pattern is None:
        raise UnknownName("wire", wire, text=f"{wire} does not say what the parts of its messages are")
    if known.writes_as_document(text):
        return
    for found in pattern.finditer(text):
        for group in found.groupdict():
            start, end = found.span(group)
            if end > start:
                yield group.rstrip("_"), start, end


def without(text: str, wire: str, *parts: str) -> str:
    """The text with all of some parts taken out."""
    kept, last = [], 0
    for name, start, end in spans(text, wire):
        if name in parts:
            kept.append(text[last:start])
            last = end
    return "".join([*kept, text[last:]])


def ablate(messages: Any, tokenizer: str | Tokenizer = DEFAULT, *, threads: int = 1) -> list[Part]:
    """What each part of the messages' own wires costs, the dearest first.

    messages: as ``compare`` takes them. "names" are the names of JSON members, "words" the keywords of CSP/1, "codes"
    act and frame of nSLIP; "uuids and timestamps" is both taken out at once. Raises as ``compare`` does.
    """
    counter = load(tokenizer)
    texts: dict[str, list[str]] = {}
    for message in messages_of(messages):
        texts.setdefault(str(wire_of(message)), []).append(text_of(message))
    found = [part for wire, own in texts.items() for part in _of_wire(own, wire, counter, threads)]
    return sorted(found, key=lambda part: -part.tokens)


def _of_wire(texts: list[str], wire: str, counter: Tokenizer, threads: int) -> Iterable[Part]:
    times: Counter[str] = Counter()
    sizes: Counter[str] = Counter()
    for text in texts:
        for part, start, end in spans(text, wire):
            times[part] += 1
            sizes[part] += len(text[start:end].encode())
    whole = sum(counter.count_many(texts, threads))
    groups = [(part,) for part in times] + [group for group in TOGETHER if all(part in times for part in group)]
    for group in groups:
        left = sum(counter.count_many([without(text, wire, *group) for text in texts], threads))
        numbers = (sum(times[part] for part in group), sum(sizes[part] for part in group))
        yield Part(wire, " and ".join(group), counter.name, *numbers, whole - left, whole)
