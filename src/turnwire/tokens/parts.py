"""The parts of messages: what each costs, and changes that make them cheaper.

The parts of a wire are a regular expression with a named group for each part, tried at every place
(``<package>/parts.py``). The price of a part is the difference when the text without it is counted again; prices of
single parts do not add up to the whole, since tokens reach across the edges of parts. A change is applied and counted,
too: what is said is what it saved.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from turnwire import registry
from turnwire.contract import OBJECT, Wire
from turnwire.errors import UnknownName, WireError
from turnwire.registry import wire_of
from turnwire.tokens.formats import messages_of, text_of
from turnwire.tokens.loading import DEFAULT, load
from turnwire.tokens.tokenizer import Tokenizer

LONG = 24
"""Characters from which on a text that is repeated is worth an id."""
_SECONDS = re.compile(r"(:\d\d)\.\d+")
_ZERO = re.compile(r"[+-]00:?00$")
TOGETHER = (("uuids", "timestamps"),)
"""Parts that are also taken out at once, as one entry, where a message has both."""

Apply = Callable[[Sequence[str]], list[str]]


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


def edited(text: str, wire: str, edit: Callable[[str, str], str]) -> str:
    """The text with each of its parts as ``edit`` gives it: (name of the part, its text) -> text."""
    kept, last = [], 0
    for name, start, end in spans(text, wire):
        kept += [text[last:start], edit(name, text[start:end])]
        last = end
    return "".join([*kept, text[last:]])


def without(text: str, wire: str, *parts: str) -> str:
    """The text with all of some parts taken out."""
    return edited(text, wire, lambda name, part: "" if name in parts else part)


def ablate(messages: Any, tokenizer: str | Tokenizer = DEFAULT, *, threads: int = 1) -> list[Part]:
    """The cost of each part of the messages' own wires, the most expensive first.

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


def rewrites(texts: Sequence[str], wire: str, counter: Tokenizer) -> list[tuple[str, str, float]]:
    """Every change that is known for a wire, applied to its messages as they follow each other, and counted: the part,
    the change in words, and the tokens that it saved as a part of all (0 to 1).

    A message that its wire would not read any longer is left as it was.
    """
    before = sum(counter.count_many(list(texts)))
    found = []
    for part, (text, apply) in changes_of(wire).items():
        changed = applied(texts, wire, apply)
        if changed != list(texts):
            saved = before - sum(counter.count_many(changed))
            found.append((part, text.format(wire=wire), saved / before if before else 0.0))
    return found


def changes_of(wire: str) -> Mapping[str, tuple[str, Apply]]:
    """The changes for a wire: those of ``Wire.advice``, and those that its parts or its being JSON allow."""
    found = registry.wire(wire)
    changes: dict[str, tuple[str, Apply]] = dict(found.advice)
    if found.has("parts"):
        changes["timestamps"] = (
            "times: whole seconds, and Z for UTC",
            lambda texts: [edited(text, wire, _whole_seconds) for text in texts],
        )
        changes["text"] = (
            "texts: send a long one in full once, put it into a store, and send its id where it comes again",
            lambda texts: _once(texts, wire),
        )
    if found.style == OBJECT:
        changes["names"] = (
            "members: leave out those that {wire} does not need and that are null or empty",
            lambda texts: [_without_empty(text, found) for text in texts],
        )
    return changes


def applied(texts: Sequence[str], wire: str, apply: Apply) -> list[str]:
    """The texts after a change, but for those that their wire would not read any longer."""
    decode = registry.wire(wire).decode
    return [new if new == old or _reads(new, decode) else old for old, new in zip(texts, apply(texts), strict=True)]


def _reads(text: str, decode: Callable[[str], Any]) -> bool:
    try:
        decode(text)
    except WireError:
        return False
    return True


def _whole_seconds(part: str, time: str) -> str:
    return _ZERO.sub("Z", _SECONDS.sub(r"\1", time)) if part == "timestamps" else time


def _once(texts: Sequence[str], wire: str) -> list[str]:
    """Long texts that were sent before, as ids: s1, s2, ..."""
    numbers: dict[str, int] = {}

    def short(part: str, text: str) -> str:
        if part != "text" or len(text) < LONG:
            return text
        if text in numbers:
            return f"s{numbers[text]}"
        numbers[text] = len(numbers) + 1
        return text

    return [edited(text, wire, short) for text in texts]


def _without_empty(text: str, wire: Wire) -> str:
    """A JSON message without members that are null or empty; where its wire wants one of them, all stay. A document
    stays as it is."""
    if wire.writes_as_document(text):
        return text
    value = json.loads(text)
    lean = json.dumps(_lean(value), ensure_ascii=False, separators=(",", ":"))
    return lean if len(lean) < len(text) and _reads(lean, wire.decode) else text


def _lean(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _lean(each) for name, each in value.items() if each not in (None, "", [], {})}
    return [_lean(each) for each in value] if isinstance(value, list) else value
