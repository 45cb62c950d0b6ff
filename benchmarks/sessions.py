"""The cost of sessions for a model, beside minified JSON lines and other formats; and for a machine.

``python -m benchmarks.sessions`` prints a table in Markdown. Tokens are counted, the explanation in each session
included, and every format must give the events back. ``floor`` is each distinct leaf once, two tokens for each time.
``--speed`` measures instead: events a second, of one process, the best of several rounds.
"""

from __future__ import annotations

import sys
from time import process_time
from typing import Any

from benchmarks.session_traffic import SESSIONS, longer_sstp
from turnwire import session, tokens
from turnwire.session.templates import time_of
from turnwire.session.writing import read_events
from turnwire.tokens.comparison import FORMATS, lossless

NAMES = ("o200k_base", "cl100k_base", "llama3", "qwen3", "gemma3")
RIVALS = ("toon", "gcf", "soon")
SEEDS = (1, 2, 3)
EVENTS = 50


def floor(events: list[Any], counter: tokens.Tokenizer) -> int:
    """Tokens of each distinct leaf once, and two of each time."""
    leaves: set[Any] = set()
    times = 0
    for event in read_events(events):
        for leaf in event.leaves:
            if isinstance(leaf, str) and time_of(leaf) is not None:
                times += 1
            else:
                leaves.add(leaf)
    return sum(counter.count_many([leaf if isinstance(leaf, str) else leaf.decode() for leaf in leaves])) + 2 * times


def cost(name: str, events: list[Any], counter: tokens.Tokenizer) -> int | None:
    """The tokens of events in a format; None where they do not come back."""
    texts, why = lossless(FORMATS[name], events, True)
    return None if texts is None or why else counter.count("\n".join(texts))


def ratios(size: int) -> None:
    """Prints the table of ratios to minified JSON lines, means over the seeds."""
    counters = {name: tokens.load(name) for name in NAMES}
    first = counters[NAMES[0]]
    print(f"| session, {size} events | data | {' | '.join(NAMES)} | floor | {' | '.join(RIVALS)} |")
    print("| --- | --- |" + " ---: |" * (len(NAMES) + 1 + len(RIVALS)))
    for title, (origin, source) in SESSIONS.items():
        given = [source(seed, size) for seed in SEEDS]
        texts = [session.encode(events) for events in given]
        plain = ["\n".join([event.line for event in read_events(events)]) for events in given]
        for events, text in zip(given, texts, strict=True):
            assert session.decode(text) == events
        cells = [sum(map(counter.count, texts)) / sum(map(counter.count, plain)) for counter in counters.values()]
        base = sum(map(first.count, plain))
        cells.append(sum(floor(events, first) for events in given) / base)
        shown = [f"{cell:.3f}" for cell in cells]
        for rival in RIVALS:
            costs = [cost(rival, events, first) for events in given]
            shown.append("lossy" if None in costs else f"{sum(each or 0 for each in costs) / base:.2f}")
        print(f"| {title} | {origin} | {' | '.join(shown)} |", flush=True)


def best(run: Any, rounds: int = 5) -> float:
    """The least processor time of several runs."""
    found = []
    for _ in range(rounds):
        start = process_time()
        run()
        found.append(process_time() - start)
    return min(found)


def speed(size: int) -> None:
    """Prints events a second, written and read, in one block and event by event.

    What a call costs before its first event decides about the 16 messages of SSTP, so they come made longer, too.
    """
    sources = {title: source for title, (_, source) in SESSIONS.items()} | {"SSTP, made longer": longer_sstp}
    print("| session | events | encode/s | Writer/s | decode/s |")
    print("| --- | ---: | ---: | ---: | ---: |")
    for title, source in sources.items():
        events = source(1, size)
        text = session.encode(events)

        def stream(events: list[Any] = events) -> None:
            writer = session.Writer()
            for event in events:
                writer.add(event)
            writer.close()

        seconds = (
            best(lambda events=events: session.encode(events), 2),
            best(stream, 2),
            best(lambda text=text: session.decode(text), 3),
        )
        print(f"| {title} | {len(events)} | " + " | ".join(f"{len(events) / each:,.0f}" for each in seconds) + " |")


if __name__ == "__main__":
    numbers = [int(each) for each in sys.argv[1:] if each.isdigit()]
    if "--speed" in sys.argv:
        speed(numbers[0] if numbers else 1000)
    else:
        ratios(numbers[0] if numbers else EVENTS)
