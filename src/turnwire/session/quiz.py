"""A quiz for models that read sessions: questions made from a log, the same in each format, answers judged exactly."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Iterable, Sequence
from itertools import zip_longest
from math import sqrt
from typing import Any, NamedTuple

from turnwire.errors import MissingDependency, expect_number, expect_one_of
from turnwire.session.encoding import DEFAULT, encode, events_of, json_lines
from turnwire.session.metering import meter_of
from turnwire.session.shapes import Event
from turnwire.session.templates import one_more

KINDS = ("value", "repeated", "counted", "count", "filter", "last", "answer")
"""value: of a member at an event; repeated, counted: one that a session may leave out, since it is as before or one
more; count, filter: how many events, and which, have a value; last: the last value; answer: what answers an event."""
FORMATS = ("json", "session", "plain", "toon")
"""json: JSON lines. plain: a session without counters, omissions and aliases."""
LONGEST = 60
"""Characters of a value that is asked for."""
_PARTIES = (("src", "dst"), ("from", "to"), ("sender", "receiver"), ("source", "target"))
_PATH = re.compile(r"[A-Za-z_][A-Za-z0-9_.]*").fullmatch
_NUMBERS = re.compile(r"\[?\s*[0-9]+(?:\s*(?:,|and|,\s*and)\s*[0-9]+)*\s*\]?\.?").fullmatch
SYSTEM = (
    "You are given events in order; the first is number 1. Answer the question with the value alone: no words around "
    "it, no quotes. Several numbers have commas between them.\n\n"
)


class Question(NamedTuple):
    """A question with its one right answer. kind: one of ``KINDS``."""

    kind: str
    text: str
    answer: str


class Score(NamedTuple):
    """The result of a model with a format. tokens: of the events in it. low, high: the 95 % interval of the accuracy
    (Wilson). why: why the format was left out (then nothing was asked). kinds: kind -> (right, asked).
    """

    format: str
    events: int
    tokens: int
    asked: int
    right: int
    low: float
    high: float
    kinds: dict[str, tuple[int, int]]
    why: str = ""


def questions(events: Sequence[Any], count: int = 200, seed: int = 1) -> list[Question]:
    """Up to ``count`` different questions about events, of all kinds in turn; fewer where there is less to ask.

    events: as ``encode`` takes them. The same events, count and seed give the same questions.
    """
    expect_number(count, "count", 1)
    rnd = random.Random(seed)
    rows = [_row(event) for event in events_of(events)]
    pools: dict[str, list[Question]] = {kind: [] for kind in KINDS}
    for question in (*_single(rows), *_about_all(rows), *_answers(rows)):
        pools[question.kind].append(question)
    for pool in pools.values():
        rnd.shuffle(pool)
    in_turn = [each for round_ in zip_longest(*pools.values()) for each in round_ if each is not None]
    chosen = in_turn[:count]
    rnd.shuffle(chosen)
    return chosen


def _row(event: Event) -> dict[str, str]:
    """The members of an event that can be asked for: path -> value as text."""
    found = {}
    for path, leaf in zip(event.shape.paths, event.leaves, strict=True):
        text = leaf if isinstance(leaf, str) else leaf.decode()
        plain = isinstance(leaf, str) or text[0] not in "[{"
        if plain and _PATH(path) and text == text.strip() and 0 < len(text) <= LONGEST and text.isprintable():
            found[path] = text
    return found


def _single(rows: Sequence[dict[str, str]]) -> Iterable[Question]:
    """Values of members, one by one."""
    last: dict[str, str] = {}
    for number, row in enumerate(rows, 1):
        for path, value in row.items():
            before = last.get(path)
            kind = "repeated" if before == value else "counted" if before and one_more(before) == value else "value"
            yield Question(kind, f"What is {path} of event {number}?", value)
            last[path] = value
    for path, value in last.items():
        yield Question("last", f"What is the last value of {path}?", value)


def _about_all(rows: Sequence[dict[str, str]]) -> Iterable[Question]:
    """The events that have a value, and their number."""
    holders: dict[tuple[str, str], list[int]] = {}
    for number, row in enumerate(rows, 1):
        for member in row.items():
            holders.setdefault(member, []).append(number)
    for (path, value), numbers in holders.items():
        if len(numbers) > 1:
            yield Question("count", f'How many events have {path} "{value}"?', str(len(numbers)))
        if 1 < len(numbers) <= 6:
            which = ", ".join(map(str, numbers))
            yield Question("filter", f'Which events (their numbers) have {path} "{value}"?', which)


def _answers(rows: Sequence[dict[str, str]]) -> Iterable[Question]:
    """Who answered whom: the first event back from the receiver of another to its sender."""
    for one, other in _PARTIES:
        for number, row in enumerate(rows, 1):
            if one not in row or other not in row or row[one] == row[other]:
                continue
            back = (row[other], row[one])
            later = enumerate(rows[number:], number + 1)
            found = next((at for at, each in later if (each.get(one), each.get(other)) == back), 0)
            if found:
                text = f"Event {number} goes from its {one} to its {other}. Which is the next event that goes back?"
                yield Question("answer", f"{text} Its number:", str(found))


def right(question: Question, reply: str) -> bool:
    """Judges a reply: it is the answer exactly, but for white space, quotes or a full stop around it."""
    given = reply.strip()
    if question.kind == "filter":
        return _NUMBERS(given) is not None and re.findall("[0-9]+", given) == question.answer.split(", ")
    for quote in ('"', "'", "`"):
        if len(given) > 1 and given[0] == given[-1] == quote:
            given = given[1:-1]
    return question.answer in (given, given.removesuffix("."))


def texts(events: Sequence[Any], names: Sequence[str], tokenizer: Any = DEFAULT) -> dict[str, tuple[str, str]]:
    """The events in each format: name -> (text, why it is left out). Raises UnknownName."""
    written: dict[str, Callable[[], tuple[str, str]]] = {
        "json": lambda: (json_lines(events_of(events)), ""),
        "session": lambda: (encode(events, tokenizer), ""),
        "plain": lambda: (encode(events, tokenizer, counters=False, before=False, aliases=False), ""),
        "toon": lambda: _toon(events),
    }
    for name in names:
        expect_one_of(name, "a format", FORMATS)
    return {name: written[name]() for name in names}


def _toon(events: Sequence[Any]) -> tuple[str, str]:
    from turnwire.tokens.formats import FORMATS as KNOWN
    from turnwire.tokens.formats import lossless

    try:
        values = [json.loads(event.line) for event in events_of(events)]
        written, why = lossless(KNOWN["toon"], values, True)
    except MissingDependency as error:
        return "", str(error)
    if written is None or why:
        return "", why or "it cannot write these events"
    return "\n".join([*filter(None, [written.legend]), *written.texts]), ""


def interval(hits: int, asked: int) -> tuple[float, float]:
    """The 95 % confidence interval of a share (Wilson's score)."""
    if not asked:
        return 0.0, 1.0
    z, share = 1.96, hits / asked
    middle = share + z * z / (2 * asked)
    spread = z * sqrt(share * (1 - share) / asked + z * z / (4 * asked * asked))
    below = 1 + z * z / asked
    return max(0.0, (middle - spread) / below), min(1.0, (middle + spread) / below)


def quiz(
    events: Sequence[Any],
    ask: Callable[[str, str], str],
    count: int = 200,
    seed: int = 1,
    formats: Sequence[str] = FORMATS,
    tokenizer: Any = DEFAULT,
) -> list[Score]:
    """Asks the same questions about the events in each format.

    ask: (the instructions with the events, a question) -> the reply; what it raises ends the quiz. Raises UnknownName
    for a format, and what ``encode`` raises.
    """
    asked = questions(events, count, seed)
    measure = meter_of(tokenizer).count
    scores = []
    for name, (text, why) in texts(events, formats, tokenizer).items():
        kinds: dict[str, tuple[int, int]] = {}
        for question in () if why else asked:
            good = right(question, ask(SYSTEM + text, question.text))
            hits, tries = kinds.get(question.kind, (0, 0))
            kinds[question.kind] = (hits + good, tries + 1)
        hits, tries = (sum(each) for each in zip((0, 0), *kinds.values(), strict=True))
        low, high = interval(hits, tries)
        scores.append(Score(name, len(events), 0 if why else measure(text), tries, hits, low, high, kinds, why))
    return scores


def endpoint(url: str, model: str, key: str = "", timeout: float = 120.0) -> Callable[[str, str], str]:
    """An ``ask`` for a server with OpenAI's API. url: up to and without "/chat/completions"; key: its bearer token.

    Raises MissingDependency without the extra ``http``. What it returns raises ConnectionError for a server that cannot
    be reached or does not answer as that API says.
    """
    try:
        import httpx
    except ImportError as missing:
        raise MissingDependency("a quiz needs httpx: pip install 'turnwire[http]'") from missing
    client = httpx.Client(timeout=timeout, headers={"Authorization": f"Bearer {key}"} if key else {})

    def ask(system: str, question: str) -> str:
        messages = [{"role": "system", "content": system}, {"role": "user", "content": question}]
        body = {"model": model, "messages": messages, "temperature": 0, "max_tokens": 64}
        try:
            found = client.post(url.rstrip("/") + "/chat/completions", json=body)
            found.raise_for_status()
            reply = found.json()["choices"][0]["message"]["content"]
        except (httpx.HTTPError, ValueError, LookupError, TypeError) as error:
            raise ConnectionError(f"{url} gave no answer: {type(error).__name__}: {error}") from error
        return str(reply or "")

    return ask
