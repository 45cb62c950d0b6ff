"""The ConstitutionalLearningLoop (section 7): signals in, knowledge artifacts out, both append-only.

What is derived depends on the recorded signals alone. It never touches a cache row: an artifact works on later cache
writes and alignments, through :func:`thresholds_of` and :func:`essence_of`.
"""

from __future__ import annotations

import os
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from hashlib import sha256
from heapq import heappush, heappushpop
from math import ceil
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from turnwire.atomic import AtomicFile
from turnwire.errors import Reason, RuleError, expect
from turnwire.json.text import canonical, write
from turnwire.ledger import Ledger
from turnwire.sap.cache import WHOLE_PAYLOAD, Essence, Store, without
from turnwire.sap.judgement import Lesson, form_of, is_cached, judge, require_answer
from turnwire.sap.messages import Result, Task
from turnwire.sap.spec import TERMINAL, WIRE, Alignment, Status, uuid_key

PRODUCER, OPERATOR = "producer", "operator"
RATINGS = range(1, 6)


@dataclass(frozen=True)
class Signal:
    """One observation, keyed by capability, territory and fingerprint.

    source: "producer" or "operator". An operator gives a rating (1 to 5), a note or an approval; a producer, the
    contents of a Result. pressure: principle -> its value at decision time. inputs: payload field -> the digest of its
    value; answer: the digest of the output. They show which fields no output depends on. cached: the Result came from
    the cache. Raises RuleError(bad_signal).
    """

    source: str
    capability: str
    territory: str | None
    fingerprint: str
    task_id: str
    status: str | None = None
    alignment: str | None = None
    cached: bool | None = None
    pressure: Mapping[str, float] = field(default_factory=dict)
    policy_checks: Sequence[Mapping[str, Any]] = ()
    violations: Sequence[Mapping[str, Any]] = ()
    metrics: Mapping[str, Any] = field(default_factory=dict)
    next_actions: Sequence[Mapping[str, Any]] = ()
    inputs: Mapping[str, str] = field(default_factory=dict)
    answer: str | None = None
    rating: int | None = None
    note: str | None = None
    approval: bool | None = None

    def __post_init__(self) -> None:
        if self.source not in (PRODUCER, OPERATOR):
            raise _bad("source must be producer or operator")
        if self.source == OPERATOR and (self.rating, self.note, self.approval) == (None, None, None):
            raise _bad("an operator must give a rating, a note or an approval (section 7)")
        if self.rating is not None and (type(self.rating) is not int or self.rating not in RATINGS):
            raise _bad("a rating must be an integer from 1 to 5")
        if self.approval is not None and not isinstance(self.approval, bool):
            raise _bad("an approval must be true or false")

    def to_dict(self) -> dict[str, Any]:
        """The fields that have a value."""
        return {name: value for name, value in asdict(self).items() if value not in (None, {}, (), [])}


def _bad(text: str) -> RuleError:
    return RuleError(Reason.BAD_SIGNAL, text, rule="signal", wire=WIRE)


def _key(*parts: str | None) -> str:
    """One text for a capability, a territory and what is kept for them."""
    return canonical(parts).decode()


def from_result(task: Task, result: Result, *, essence: Essence = WHOLE_PAYLOAD) -> Signal:
    """The producer's signal in a Result. Raises RuleError(wrong_task, wrong_correlation) when it is not the task's."""
    expect(task, Task, "expected a Task")
    expect(result, Result, "expected a Result")
    require_answer(task, result)
    fields, evidence = result.fields, result.fields["constitutionalEvidence"]
    context = task.fields["constitutionalContext"]
    return Signal(
        source=PRODUCER,
        **_key_fields(task, essence),
        status=fields["status"],
        alignment=evidence["alignment"],
        cached=is_cached(result) or None,
        pressure=evidence.get("pressureReadings") or context.get("pressure", {}),
        policy_checks=evidence.get("policyChecks", ()),
        violations=evidence.get("violations", ()),
        metrics=fields.get("metrics", {}),
        next_actions=fields.get("nextActions", ()),
        inputs={name: _digest(value) for name, value in task.fields["payload"].items()},
        answer=_digest(fields["output"]) if "output" in fields else None,
    )


def _key_fields(task: Task, essence: Essence) -> dict[str, Any]:
    return {
        "capability": task.fields["target"]["capability"],
        "territory": task.fields["constitutionalContext"].get("territory"),
        "fingerprint": _digest(essence.of(task)),
        "task_id": task.fields["taskId"],
    }


def _digest(value: Any) -> str:
    return "sha256:" + sha256(form_of(value)).hexdigest()


Numbered = Sequence[tuple[int, Signal]]

HIGHEST = 100
GOOD_RATING = 3  # of five
ENOUGH = 3  # observations: of a payload field before it may be called idle, good ones before a bad one is outweighed
NOTES_KEPT = 5


def contents(capability: str, territory: str | None, found: Numbered) -> Iterator[tuple[str, Any, list[int]]]:
    """(kind, content, evidence) of every artifact that the signals justify."""
    # What proves something: of each task its last terminal Result, unless the cache gave it, and what operators said.
    last = {
        uuid_key(signal.task_id): seq
        for seq, signal in found
        if signal.source == PRODUCER and not signal.cached and (signal.status or Status.SUCCEEDED) in TERMINAL
    }
    kept = frozenset(last.values())
    found = [(seq, signal) for seq, signal in found if signal.source == OPERATOR or seq in kept]
    cases = _cases(found)
    derived: dict[str, Any] = {}
    for kind, name, (content, proof) in (
        ("thresholds", "principles", _thresholds(cases)),
        ("checks", "principles", _checks(found)),
        ("essence", "leave_out", _idle_fields(found)),
    ):
        derived[kind] = content
        if content:
            yield kind, {name: content}, proof
    yield "playbook", _playbook(capability, territory, found, cases, derived), [seq for seq, _ in found]


class Case(NamedTuple):
    """One task as evidence. seq: the signal that stands for it. good: the verdict on its outcome, None without one.
    blamed: for a bad one, by these principles, or by all if there are none."""

    seq: int
    pressure: Mapping[str, float]
    good: bool | None
    blamed: frozenset[str]


def _cases(found: Numbered) -> list[Case]:
    """The tasks of the evidence. The word of an operator, a rating or an approval, is the last about an outcome; what
    failed by an error, and what nobody vetted, says nothing."""
    results: dict[str, tuple[int, Signal]] = {}
    words: dict[str, tuple[int, Signal]] = {}
    said: dict[str, bool] = {}
    acquitted: set[str] = set()
    for one in found:
        task, signal = uuid_key(one[1].task_id), one[1]
        if signal.source == PRODUCER:
            results[task] = one
        elif signal.approval is not None or signal.rating is not None:
            words[task] = one
            said[task] = signal.approval if signal.approval is not None else (signal.rating or 0) >= GOOD_RATING
            if said[task]:
                acquitted.add(task)
    cases = []
    for task, (seq, signal) in sorted({**words, **results}.items(), key=lambda item: item[1][0]):
        good = said.get(task)
        if good is None:  # a signal without a word of its own is that of a success
            status, alignment = signal.status or Status.SUCCEEDED, signal.alignment or Alignment.ESCALATE
            lesson = judge(status, alignment, signal.policy_checks, signal.violations).lesson
            good = None if lesson is Lesson.SILENT else lesson is Lesson.GOOD
        blamed = () if task in acquitted else signal.violations
        principles = frozenset(str(violation.get("principle", "")) for violation in blamed)
        cases.append(Case(seq, signal.pressure, good, principles))
    return cases


def _thresholds(cases: Sequence[Case]) -> tuple[dict[str, Any], list[int]]:
    """For each principle, the highest pressure below every bad outcome that still counts (100 when none does).

    A bad outcome no longer counts when as many as ENOUGH later ones were good at its pressure or a higher one, so
    thresholds fall and rise.
    """
    good: Counter[str] = Counter()
    bad: Counter[str] = Counter()
    highest: dict[str, list[float]] = defaultdict(list)  # the ENOUGH highest of the later good ones, a heap
    lowest: dict[str, float] = {}  # of the bad ones that stand
    counted = [case for case in cases if case.pressure and case.good is not None]
    for case in reversed(counted):
        for principle, pressure in case.pressure.items():
            later = highest[principle]
            if case.good or (case.blamed and principle not in case.blamed):
                good[principle] += 1
                (heappush if len(later) < ENOUGH else heappushpop)(later, pressure)
                continue
            bad[principle] += 1
            if len(later) < ENOUGH or later[0] < pressure:
                lowest[principle] = min(pressure, lowest.get(principle, HIGHEST + 1))
    made = {}
    for principle in sorted(good.keys() | bad.keys()):
        threshold = max(0, min(HIGHEST, ceil(lowest.get(principle, HIGHEST + 1)) - 1))
        made[principle] = {"threshold": threshold, "good": good[principle], "bad": bad[principle]}
    return made, [case.seq for case in counted]


def _checks(found: Numbered) -> tuple[dict[str, Any], list[int]]:
    """For each principle, how its checks ended, their notes, and how severe its violations were."""
    counts: dict[str, dict[str, Counter[str]]] = defaultdict(lambda: defaultdict(Counter))
    for _, signal in found:
        for check in signal.policy_checks:
            counted = counts[check.get("principle", "")]
            counted["status"][check.get("status", "")] += 1
            if check.get("notes"):
                counted["notes"][check["notes"]] += 1
        for violation in signal.violations:
            counts[violation.get("principle", "")]["violations"][violation.get("severity", "")] += 1
    made: dict[str, Any] = {}
    for principle, counted in sorted(counts.items()):
        notes = counted["notes"]
        made[principle] = {name: dict(sorted(counted[name].items())) for name in ("status", "violations")}
        made[principle]["notes"] = sorted(notes, key=lambda note: (-notes[note], note))[:NOTES_KEPT]
    return made, [seq for seq, signal in found if signal.policy_checks or signal.violations]


def _idle_fields(found: Numbered) -> tuple[list[str], list[int]]:
    """Payload fields that took several values while everything else, and the output, stayed the same.

    All other inputs of a run are known by the sum of their marks, so that what it costs grows with the fields alone.
    """
    runs = [(seq, signal) for seq, signal in found if signal.source == PRODUCER and signal.answer is not None]
    whole: dict[int, set[Any]] = defaultdict(set)  # all inputs -> the answers to them
    groups: dict[str, dict[int, list[Signal]]] = defaultdict(lambda: defaultdict(list))  # a name -> all others -> who
    for _, signal in runs:
        named = {name: f"{name}\0{digest}".encode("utf-8", "surrogatepass") for name, digest in signal.inputs.items()}
        marks = {name: int.from_bytes(sha256(text).digest()) for name, text in named.items()}
        together = sum(marks.values())
        whole[together].add(signal.answer)
        for name, mark in marks.items():
            groups[name][together - mark].append(signal)
    idle = [name for name in sorted(groups) if _is_idle(name, groups[name], whole)]
    return idle, [seq for seq, _ in runs]


def _is_idle(name: str, groups: dict[int, list[Signal]], whole: dict[int, set[Any]]) -> bool:
    """True if outputs do not depend on a field. groups: who has it, by all other inputs; whole: the answers by all
    inputs, those of who does not have it among them."""
    seen = 0
    for others, group in groups.items():
        many = len({signal.inputs[name] for signal in group}) + (others in whole)
        if many > 1:
            if len({signal.answer for signal in group} | whole.get(others, set())) > 1:
                return False
            seen += many
    return seen >= ENOUGH


def _playbook(
    capability: str, territory: str | None, found: Numbered, cases: Sequence[Case], derived: Mapping[str, Any]
) -> str:
    thresholds, checks, essence = derived["thresholds"], derived["checks"], derived["essence"]
    judged = [case.good for case in cases if case.good is not None]
    lines = [f"# Playbook: {_cell(capability)}", ""]
    if territory is not None:
        lines += [f"Territory: {_cell(territory)}", ""]
    lines += [f"{len(judged)} tasks judged, {sum(judged)} went well.", ""]
    if thresholds:
        lines += ["## Pressure", "", "| principle | good up to | good | bad |", "|---|---|---|---|"]
        for principle, row in thresholds.items():
            lines.append(f"| {_cell(principle)} | {row['threshold']} | {row['good']} | {row['bad']} |")
        lines.append("")
    if checks:
        lines += ["## Checks", ""]
        for principle, row in checks.items():
            counts = ", ".join(f"{_cell(status)} {count}" for status, count in row["status"].items())
            lines.append(f"- **{_cell(principle)}**: {counts or 'not checked'}")
            lines += [f"  - {_cell(note)}" for note in row["notes"]]
        lines.append("")
    if essence:
        lines += ["## Essence", "", f"Outputs did not depend on: {', '.join(map(_cell, essence))}.", ""]
    if remarks := sorted({signal.note for _, signal in found if signal.source == OPERATOR and signal.note}):
        lines += ["## Notes of operators", "", *(f"- {_cell(note)}" for note in remarks), ""]
    return "\n".join(lines)


def _cell(text: str) -> str:
    """Text from outside on one line of Markdown, unable to start markup of its own."""
    flat = " ".join("".join(character if character.isprintable() else " " for character in text).split())
    return re.sub(r"([\\`*_|\[\]<>#])", r"\\\1", flat)


SIGNAL_KIND = "sap.signal"
ARTIFACT_KIND = "sap.artifact"


class Artifact(NamedTuple):
    """Knowledge derived from signals.

    kind: "thresholds", "checks", "essence" or "playbook". version: 1, 2, 3 ... of this kind for this capability and
    territory; a new one only when the content changes. content: JSON, for a playbook Markdown. evidence: the ledger
    numbers of the signals it was derived from. digest: of the content.
    """

    kind: str
    capability: str
    territory: str | None
    version: int
    content: Any
    evidence: tuple[int, ...]
    digest: str

    @property
    def text(self) -> str:
        """The content as text: Markdown, or JSON."""
        return self.content if isinstance(self.content, str) else write(self.content)


class Sink(Protocol):
    """The receiver of artifacts: the "Master Librarian" of section 7."""

    def emit(self, artifact: Artifact, /) -> None:
        """Takes a new artifact."""


class ArtifactFolder:
    """The default sink: one file for each version of each artifact. Files are never overwritten."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)

    def emit(self, artifact: Artifact, /) -> None:
        """Writes the artifact to a file of its own, whose name is readable, and unique by a digest, since capabilities
        are text from outside."""
        self.path.mkdir(parents=True, exist_ok=True)
        scope = f"{artifact.capability}@{artifact.territory or ''}"
        readable = re.sub(r"[^A-Za-z0-9.-]+", "_", scope).strip("._")[:60]
        unique = sha256(canonical([artifact.capability, artifact.territory])).hexdigest()[:10]
        suffix = "md" if isinstance(artifact.content, str) else "json"
        place = self.path / f"{artifact.kind}-{readable}-{unique}-v{artifact.version}.{suffix}"
        if not place.exists():
            with AtomicFile(place) as file:
                file.write(artifact.text.encode())


class LearningLoop(Store):
    """Records signals and derives artifacts from them.

    Args:
        path: the ledger file (or a Ledger, to share one with cache and transcript).
        sink: where new artifacts go (default: the folder ``<path>.library``; none for a ledger in memory).
        essence: as in the cache, for the fingerprints.
    """

    def __init__(
        self, path: str | os.PathLike[str] | Ledger, *, sink: Sink | None = None, essence: Essence = WHOLE_PAYLOAD
    ) -> None:
        super().__init__(path, essence)
        if sink is None and not self.ledger.in_memory:
            sink = ArtifactFolder(f"{os.fspath(self.ledger.path)}.library")
        self.sink = sink

    def record(self, signal: Signal) -> int:
        """Appends a signal and returns its number."""
        return self.ledger.append_many([self.row(signal)])[0]

    def row(self, signal: Signal) -> tuple[str, str, str]:
        """(kind, body, key) of the row that :meth:`record` appends."""
        expect(signal, Signal, "expected a Signal")
        return SIGNAL_KIND, write(signal.to_dict()), _key(signal.capability, signal.territory, signal.fingerprint)

    def observe(self, task: Task, result: Result) -> int:
        """Records the signal in a Result."""
        return self.record(from_result(task, result, essence=self.essence))

    def judge(
        self, task: Task, *, rating: int | None = None, note: str | None = None, approval: bool | None = None
    ) -> int:
        """Records an operator's judgement of an outcome: rating 1 to 5, corrective note, approval."""
        expect(task, Task, "expected a Task")
        said: dict[str, Any] = {"rating": rating, "note": note, "approval": approval}
        pressure = task.fields["constitutionalContext"].get("pressure", {})
        return self.record(Signal(source=OPERATOR, **_key_fields(task, self.essence), pressure=pressure, **said))

    def signals(self) -> Iterator[tuple[int, Signal]]:
        """All signals with their numbers, oldest first."""
        for entry in self.ledger.entries(kind=SIGNAL_KIND):
            yield entry.seq, Signal(**{"territory": None, **entry.json()})

    def derive(self) -> list[Artifact]:
        """Derives the artifacts of all signals so far, sorted; records new versions and passes them to the sink.

        The same signals always produce the same artifacts.
        """
        scopes: dict[tuple[str, str | None], list[tuple[int, Signal]]] = {}
        for seq, signal in self.signals():
            scopes.setdefault((signal.capability, signal.territory), []).append((seq, signal))
        artifacts = []
        for (capability, territory), found in sorted(scopes.items(), key=lambda item: (item[0][0], item[0][1] or "")):
            for kind, content, evidence in contents(capability, territory, found):
                digest = "sha256:" + sha256(canonical(content)).hexdigest()
                newest = next(self.versions(kind, capability, territory), None)
                if newest is None or newest.digest != digest:
                    version = 1 if newest is None else newest.version + 1
                    newest = Artifact(kind, capability, territory, version, content, tuple(evidence), digest)
                    self.ledger.append(ARTIFACT_KIND, write(newest._asdict()), key=_key(kind, capability, territory))
                    if self.sink is not None:
                        self.sink.emit(newest)
                artifacts.append(newest)
        return artifacts

    def versions(self, kind: str, capability: str, territory: str | None) -> Iterator[Artifact]:
        """All versions of an artifact, newest first."""
        for entry in self.ledger.find(ARTIFACT_KIND, _key(kind, capability, territory)):
            fields = entry.json()
            yield Artifact(**{**fields, "evidence": tuple(fields["evidence"])})


def thresholds_of(artifact: Artifact) -> Mapping[str, float]:
    """Returns principle -> the pressure up to which outcomes were good; for :func:`turnwire.sap.cache.within`."""
    expect(artifact, Artifact, "the thresholds are those of an Artifact of the learning loop")
    return {principle: found["threshold"] for principle, found in artifact.content["principles"].items()}


def essence_of(artifact: Artifact) -> Essence:
    """Returns the extractor that an essence artifact suggests; its name includes the version, so that old rows never
    match."""
    expect(artifact, Artifact, "the essence is that of an Artifact of the learning loop")
    names = artifact.content["leave_out"]
    return without(names, artifact.version) if names else WHOLE_PAYLOAD
