"""How long answers took, for each kind of question of each wire: ``turnwire.read.pairing`` fed with chunks."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from turnwire.read.pairing import Pairing, Pairs

if TYPE_CHECKING:
    from collections.abc import Iterator

    from turnwire.report.columns import Coded
    from turnwire.report.records import Chunk


class Answers(NamedTuple):
    """What became of the questions of one rule. timed: answers that tell a latency; min to max: microseconds,
    None where there is none.

    steps: the histogram, as (microseconds at most, answers).
    """

    wire: str
    rule: str
    asks: list[str]
    requests: int
    answered: int
    waiting: int
    given_up: int
    backwards: int
    progress: int
    orphans: int
    ahead: int
    further: int
    timed: int
    min: int | None
    p50: int | None
    p90: int | None
    p99: int | None
    max: int | None
    steps: list[tuple[int, int]]


class Waiting:
    """Takes chunks of records in order, remembers the questions that are open."""

    def __init__(self) -> None:
        self._pairs = Pairs()

    def add(self, chunk: Chunk) -> None:
        """Looks at the records of a chunk."""
        wires = list(_values(chunk.coded("wire")))
        names = ("kind", "sender", "receiver", "conversation", "subject")
        columns = [_values(chunk.coded(name)) for name in names]
        times = [
            time if timed else None for time, timed in zip(chunk.times.tolist(), chunk.timed.tolist(), strict=True)
        ]
        for wire, raw, message in zip(wires, chunk.raws(), zip(*columns, times, strict=True), strict=True):
            self._pairs.take(wire or "", raw, message)

    def found(self) -> list[Answers]:
        """What became of the questions that were asked."""
        return [_told(wire, pairing) for (wire, _), pairing in self._pairs.found.items() if pairing.seen]


def _told(wire: str, pairing: Pairing) -> Answers:
    latencies = pairing.latencies
    return Answers(
        wire=wire,
        rule=pairing.rule.name,
        asks=sorted(pairing.rule.requests),
        requests=pairing.requests,
        answered=pairing.answered,
        waiting=pairing.waiting,
        given_up=pairing.given_up,
        backwards=pairing.backwards,
        progress=pairing.progress,
        orphans=pairing.orphans,
        ahead=pairing.ahead,
        further=pairing.further,
        timed=latencies.count,
        min=latencies.least,
        p50=latencies.quantile(0.5),
        p90=latencies.quantile(0.9),
        p99=latencies.quantile(0.99),
        max=latencies.most,
        steps=latencies.steps(),
    )


def _values(column: Coded) -> Iterator[str | None]:
    names = [*column.names, None]  # code -1 picks the last
    return map(names.__getitem__, column.codes.tolist())
