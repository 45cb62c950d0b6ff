"""Envelopes made of their text without a dict: the twins read, judge and write the same."""

from __future__ import annotations

import json
import random
from importlib import import_module
from types import ModuleType
from typing import Any

from tests.conftest import needs_both
from tests.kick.test_envelope import ALERT, OTHER, REPORT, SEED
from turnwire._backend import core_module
from turnwire.contract import LIMITS
from turnwire.errors import WireError

_WORDS = r"""
x ⫻ ⫻a ⫻a/b ⫻a/ö ⫻a/b\ ⫻/b \u2afba/b \u2AFBa\/b ⫻command/dispatch ⫻task/x:a/1\nGo ⫻task/x:a/1\u000aGo ⫻task/x:a/1
⫻task/x\r\nGo ⫻:x\ny ⫻task/x:a/1\n\ufeff ⫻task/x:a/1\n\ud83d\ude00 ⫻task/x:a/1\n\ud83d ⫻task\/x:a/1\nb ⫻täsk/x\nb
\n é \u00e9 \u0041 a\/b \q ÿĀ 2026-02-28T10:00:00 2024-02-29T10:00:00Z 2023-02-29T10:00:00Z 2026-01-15T24:00:00Z
2026-01-15T10:00:60Z 2026-01-15T10:00:00.5Z 0000-01-15T10:00:00Z 2026-01-15t10:00:00z Info Command Alert Query info
Orchestrator WePlan Broadcast nobody
"""
TEXTS = [*_WORDS.split(), "", "⫻a b/c", '⫻a/"b"', "\\u2afbtask/x:a/1\\nレ é ö 😀", "⫻task/x:a/1\\nGo ⫻b"]
TEXTS += ["⫻task/x:a/1\\nGo \\u2afb", "⫻task/x:a/1\\n\ufeff", "\x7f", "\x01", OTHER, OTHER.upper(), OTHER[:-1] + "g"]
TEXTS += [OTHER.replace("-4", "-5"), OTHER[:-1], OTHER.replace("-9", "-\\u0039", 1), "ü" * 50, "レ" * 50]
TEXTS += [f"⫻task/x:a/1\\n{'レビュー für das Büro ' * 9}", f"⫻task/x:a/1\\n{'so 😀 it goes, and on ' * 9}"]
OTHERS = ["null", "1", "[]", "{}", '"x', "", '"a" ', ' "a"', '"x","y":1', '"x",', '"x"}', '"a":"b"']


def bent(numbers: random.Random) -> str:
    """The text of an envelope with a few things that are not usual."""
    fields = dict(numbers.choice([SEED, REPORT, ALERT, {**REPORT, "correlation_id": OTHER}]))
    written = {name: json.dumps(value, ensure_ascii=numbers.random() < 0.3) for name, value in fields.items()}
    for _ in range(numbers.randint(0, 2)):
        name = numbers.choice([*written, "correlation_id", "more"])
        written[name] = f'"{numbers.choice(TEXTS)}"' if numbers.random() < 0.85 else numbers.choice(OTHERS)
    if numbers.random() < 0.15:
        written.pop(numbers.choice(list(written)))
    names = list(written)
    if numbers.random() < 0.3:
        numbers.shuffle(names)
    comma, colon = numbers.choice([(",", ":"), (",", ":"), (", ", ": "), ("\n,\t", " :")])
    text = "{" + comma.join(f'"{name}"{colon}{written[name]}' for name in names) + "}"
    if numbers.random() < 0.1:
        at = numbers.randrange(len(text) + 1)
        text = text[:at] + numbers.choice(["", " ", '"', "\\", "x", ","]) + text[at + 1 :]
    return numbers.choice(["", "", "", " ", "\n"]) + text + numbers.choice(["", "", "", "\n", "x"])


def told(core: ModuleType, data: str | bytes) -> Any:
    """A core's view of a text: all that the envelope says, how it is written, what is to be said about it."""

    def outcome(call: Any) -> Any:
        try:
            return call()
        except WireError as error:
            return type(error).__name__, error.reason, error.offset, error.line, error.path

    def whole() -> Any:
        envelope = core.decode(data)
        return (
            list(envelope.to_dict().items()),
            core.check(envelope),
            [outcome(lambda strict=strict: core.encode(envelope, strict)) for strict in (True, False)],
        )

    return outcome(whole)


@needs_both
def test_the_twins_read_the_same() -> None:
    native, pure = (core_module(name, "kick.envelope") for name in ("native", "pure"))
    numbers, good = random.Random(7), 0
    for _ in range(2000):
        text = bent(numbers)
        data: Any = numbers.choice([text, text.encode("utf-8", "surrogatepass")])
        found = told(native, data)
        assert found == told(pure, data), text
        good += found[0] != "DecodeError"
    assert 500 < good < 1830


@needs_both
def test_sections_and_what_is_in_front_written_in_any_way() -> None:
    """Each sigil and each byte order mark as itself or as an escape, at the start, at a line's start and within."""
    native, pure = (core_module(name, "kick.envelope") for name in ("native", "pure"))
    sigils = ("⫻", "\\u2afb", "⫺", "\\u2afa", "\\n2afb")
    contents = [
        f"{front}{first}{header}{newline}{between}{second}{following}"
        for front in ("", "\ufeff", "\\ufeff", "A", "\\u0041")
        for first in sigils
        for header in ("task/x:a/1", "task x")
        for newline in ("\\n", "\\u000a")
        for between in ("", "x", "x\\n", "\ufeff", "\\ufeff")
        for second in ("", *sigils)
        for following in ("", "task/x:a/1", " a")
    ]
    usual = json.dumps({**SEED, "content": "HERE"}, ensure_ascii=False, separators=(",", ":"))
    judged = [0, 0]
    for content in contents[::7]:  # coprime with the sizes of all lists: each pair of choices is there
        text = usual.replace("HERE", content)
        found = native.check(native.decode(text))
        assert found == pure.check(pure.decode(text)), text
        judged[bool(found)] += 1
    assert min(judged) > 40


@needs_both
def test_what_is_set_is_judged() -> None:
    native = import_module("turnwire._native.kick.envelope")
    text = json.dumps(SEED, ensure_ascii=False, separators=(",", ":"))
    for name, value in (("id", "x"), ("timestamp", "x"), ("content", "x"), ("correlation_id", "x"), ("sender", 3)):
        envelope = native.decode(text)
        assert native.check(envelope) == [] and native.encode(envelope) == text
        setattr(envelope, name, value)
        assert native.check(envelope)
    envelope = native.decode(text)
    del envelope.content
    assert native.check(envelope)
    envelope = native.decode(text)
    envelope.extra["more"] = 1
    assert native.encode(envelope) == f'{text[:-1]},"more":1}}'
    assert native.decode(text, limits=LIMITS._replace(key=99)) == native.decode(text)


@needs_both
def test_unknown_keys_are_written_and_told_of() -> None:
    native, pure = (core_module(name, "kick.envelope") for name in ("native", "pure"))
    deep: Any = 1
    for _ in range(LIMITS.nesting):
        deep = [deep]
    extras: list[dict[Any, Any]] = [
        *({"more": value} for value in (None, 1, 1.5, True, [], {"a": ["é", "😀"]}, "\ud800", {1: 2}, float("nan"))),
        *({"more": value} for value in (deep, deep[0], (1, 2), object())),
        *({key: 1} for key in ("", "id", "correlation_id", "Id", "レ", "\ud800", "a/b~c", "x" * 2000)),
        {"one": 1, "two": 2},
        {"correlation_id": 1, "two": 2},
    ]
    for fields in (SEED, REPORT, ALERT, {**REPORT, "sender": "Nobody"}, {**REPORT, "id": "x"}):
        for extra in extras:
            found = []
            for core in (native, pure):
                envelope = core.Envelope.from_dict(fields)
                envelope.extra = dict(extra)
                issues = core.check(envelope)
                found.append([issues, *(_written(core, envelope, strict) for strict in (True, False))])
            assert found[0] == found[1], extra
            assert any(issue.reason == "unknown_key" for issue in found[0][0])


def _written(core: ModuleType, envelope: Any, strict: bool) -> Any:
    try:
        return core.encode(envelope, strict)
    except WireError as error:
        return error.reason, error.path
