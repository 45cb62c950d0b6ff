"""Changes that make the messages of a log cheaper. Each is applied and counted: what is said is what it saved."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from turnwire import registry
from turnwire.contract import OBJECT, Wire
from turnwire.errors import WireError
from turnwire.tokens.parts import spans
from turnwire.tokens.tokenizer import Tokenizer

LONG = 24
"""Characters from which on a text that is repeated is worth an id."""
_SECONDS = re.compile(r"(:\d\d)\.\d+")
_ZERO = re.compile(r"[+-]00:?00$")

Apply = Callable[[Sequence[str]], list[str]]


class Rewrite(NamedTuple):
    """A change that was applied. part: its name. text: what to do. before, after: tokens of the same messages."""

    part: str
    text: str
    before: int
    after: int

    @property
    def share(self) -> float:
        """What it saved as a part of all (0 to 1)."""
        return (self.before - self.after) / self.before if self.before else 0.0


def rewrites(texts: Sequence[str], wire: str, counter: Tokenizer) -> list[Rewrite]:
    """Every change that is known for a wire, applied to its messages as they follow each other, and counted.

    A message that its wire would not read any longer is left as it was.
    """
    before = sum(counter.count_many(list(texts)))
    found = []
    for part, (text, apply) in changes_of(wire).items():
        changed = applied(texts, wire, apply)
        if changed != list(texts):
            found.append(Rewrite(part, text.format(wire=wire), before, sum(counter.count_many(changed))))
    return found


def changes_of(wire: str) -> Mapping[str, tuple[str, Apply]]:
    """The changes for a wire: those of ``Wire.advice``, and those that its parts or its being JSON allow."""
    found = registry.wire(wire)
    changes: dict[str, tuple[str, Apply]] = dict(found.advice)
    if found.has("parts"):
        changes["timestamps"] = (
            "times: whole seconds, and Z for UTC",
            lambda texts: [_edited(text, wire, "timestamps", _whole_seconds) for text in texts],
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


def _edited(text: str, wire: str, part: str, edit: Callable[[str], str]) -> str:
    """The text with each part of one name edited."""
    kept, last = [], 0
    for name, start, end in spans(text, wire):
        if name == part:
            kept += [text[last:start], edit(text[start:end])]
            last = end
    return "".join([*kept, text[last:]])


def _whole_seconds(time: str) -> str:
    return _ZERO.sub("Z", _SECONDS.sub(r"\1", time))


def _once(texts: Sequence[str], wire: str) -> list[str]:
    """Long texts that were sent before, as ids: s1, s2, ..."""
    numbers: dict[str, int] = {}

    def short(text: str) -> str:
        if len(text) < LONG:
            return text
        if text in numbers:
            return f"s{numbers[text]}"
        numbers[text] = len(numbers) + 1
        return text

    return [_edited(text, wire, "text", short) for text in texts]


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
