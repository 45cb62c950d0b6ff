"""What is learned from the signals of one capability and territory. Pure functions: same signals, same content."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from heapq import heappush, heappushpop
from typing import Any, NamedTuple

from turnwire.sap.identity import uuid_key
from turnwire.sap.signals import OPERATOR, PRODUCER, Signal

Numbered = Sequence[tuple[int, Signal]]

HIGHEST = 100
GOOD_RATING = 3  # of five
ENOUGH = 3  # observations: of a payload field before it may be called idle, good ones before a bad one is outweighed
NOTES_KEPT = 5


def contents(capability: str, territory: str | None, found: Numbered) -> Iterator[tuple[str, Any, list[int]]]:
    """(kind, content, evidence) of every artifact that the signals give ground for."""
    thresholds, proof = _thresholds(found)
    if thresholds:
        yield "thresholds", {"principles": thresholds}, proof
    checks, proof = _checks(found)
    if checks:
        yield "checks", {"principles": checks}, proof
    idle, proof = _idle_fields(found)
    if idle:
        yield "essence", {"leave_out": idle}, proof
    playbook = _playbook(capability, territory, found, thresholds, checks, idle)
    yield "playbook", playbook, [seq for seq, _ in found]


class Verdict(NamedTuple):
    """Whether the outcome of a task was good, who said so last, and which principles are blamed (none: all)."""

    good: bool
    blamed: frozenset[str]


def _verdicts(found: Numbered) -> dict[str, Verdict]:
    """Task id -> the verdict on its outcome, for those that somebody judged. An operator's newest word is the last.

    A producer's Result is bad when it is NON_CONSTITUTIONAL or shows violations, good when it is VALID. What failed
    otherwise (a miss, a deadline, an error), and what nobody vetted, says nothing about pressure.
    """
    verdicts: dict[str, Verdict] = {}
    spoken: set[str] = set()
    for _, signal in found:
        task = uuid_key(signal.task_id)
        if signal.source == PRODUCER and task not in spoken:
            blamed = frozenset(str(violation.get("principle", "")) for violation in signal.violations)
            if blamed or signal.alignment == "NON_CONSTITUTIONAL":
                verdicts[task] = Verdict(False, blamed)
            elif signal.alignment == "VALID":
                verdicts[task] = Verdict(True, frozenset())
        elif signal.source == OPERATOR and (signal.approval is not None or signal.rating is not None):
            good = signal.approval if signal.approval is not None else (signal.rating or 0) >= GOOD_RATING
            before = verdicts.get(task)
            verdicts[task] = Verdict(good, before.blamed if before is not None and not good else frozenset())
            spoken.add(task)
    return verdicts


def _thresholds(found: Numbered) -> tuple[dict[str, Any], list[int]]:
    """For each principle, the highest pressure below every bad outcome that still counts (100 when none does).

    A bad outcome no longer counts when as many as ENOUGH later ones were good at its pressure or a higher one, so
    thresholds fall and rise.
    """
    verdicts = _verdicts(found)
    good: Counter[str] = Counter()
    bad: Counter[str] = Counter()
    highest: dict[str, list[float]] = defaultdict(list)  # the ENOUGH highest of the later good ones, a heap
    lowest: dict[str, float] = {}  # of the bad ones that stand
    evidence = []
    for seq, signal in reversed(found):
        verdict = verdicts.get(uuid_key(signal.task_id))
        if signal.source != PRODUCER or not signal.pressure or verdict is None:
            continue
        evidence.append(seq)
        for principle, pressure in signal.pressure.items():
            later = highest[principle]
            if verdict.good or (verdict.blamed and principle not in verdict.blamed):
                good[principle] += 1
                (heappush if len(later) < ENOUGH else heappushpop)(later, pressure)
                continue
            bad[principle] += 1
            if len(later) < ENOUGH or later[0] < pressure:
                lowest[principle] = min(pressure, lowest.get(principle, HIGHEST + 1))
    made = {}
    for principle in sorted(good.keys() | bad.keys()):
        threshold = max(0, min(HIGHEST, -int(-lowest.get(principle, HIGHEST + 1) // 1) - 1))
        made[principle] = {"threshold": threshold, "good": good[principle], "bad": bad[principle]}
    return made, evidence[::-1]


def _checks(found: Numbered) -> tuple[dict[str, Any], list[int]]:
    """For each principle, how its checks ended, what was noted, and how severe its violations were."""
    statuses: dict[str, Counter[str]] = defaultdict(Counter)
    notes: dict[str, Counter[str]] = defaultdict(Counter)
    severities: dict[str, Counter[str]] = defaultdict(Counter)
    evidence = []
    for seq, signal in found:
        if signal.policy_checks or signal.violations:
            evidence.append(seq)
        for check in signal.policy_checks:
            principle = check.get("principle", "")
            statuses[principle][check.get("status", "")] += 1
            if check.get("notes"):
                notes[principle][check["notes"]] += 1
        for violation in signal.violations:
            severities[violation.get("principle", "")][violation.get("severity", "")] += 1
    made = {}
    for principle in sorted(statuses.keys() | severities.keys()):
        made[principle] = {
            "status": dict(sorted(statuses[principle].items())),
            "violations": dict(sorted(severities[principle].items())),
            "notes": [note for note, _ in _most(notes[principle])],
        }
    return made, evidence


def _most(counts: Counter[str]) -> list[tuple[str, int]]:
    return sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:NOTES_KEPT]


def _idle_fields(found: Numbered) -> tuple[list[str], list[int]]:
    """Payload fields that took several values while everything else, and the output, stayed the same."""
    runs = [(seq, signal) for seq, signal in found if signal.source == PRODUCER and signal.answer is not None]
    whole: dict[int, dict[_Inputs, set[Any]]] = defaultdict(lambda: defaultdict(set))  # all inputs -> some answers
    groups: dict[str, dict[int, list[Signal]]] = defaultdict(lambda: defaultdict(list))  # a name -> all others -> who
    for _, signal in runs:
        marks = {name: hash((name, value)) for name, value in signal.inputs.items()}
        together = sum(marks.values())
        answers = whole[together][tuple(sorted(signal.inputs.items()))]
        if len(answers) < _SEVERAL:
            answers.add(signal.answer)
        for name, mark in marks.items():
            groups[name][together - mark].append(signal)
    idle = [name for name in sorted(groups) if _is_idle(name, groups[name], whole)]
    return idle, [seq for seq, _ in runs]


_Inputs = tuple[tuple[str, str], ...]
_SEVERAL = 2


def _is_idle(name: str, groups: dict[int, list[Signal]], whole: dict[int, dict[_Inputs, set[Any]]]) -> bool:
    """Whether outputs do not depend on a field. groups: who has it, by a number that stands for all other inputs;
    whole: by that of all inputs, what was answered to them. Few who have a field differ in nothing else, so that the
    other inputs of these can be looked at."""
    seen = 0
    for rest, group in groups.items():
        alone = whole.get(rest, {})
        if not alone and len({signal.inputs[name] for signal in group}) < _SEVERAL:
            continue
        found: dict[_Inputs, tuple[set[Any], set[Any]]] = {}
        for signal in group:
            others = tuple(sorted((key, value) for key, value in signal.inputs.items() if key != name))
            if others not in found:
                found[others] = ({None} if others in alone else set(), set(alone.get(others, ())))
            values, answers = found[others]
            values.add(signal.inputs[name])
            answers.add(signal.answer)
        for values, answers in found.values():
            if len(values) >= _SEVERAL and len(answers) >= _SEVERAL:
                return False
            seen += len(values) if len(values) >= _SEVERAL else 0
    return seen >= ENOUGH


def _playbook(
    capability: str,
    territory: str | None,
    found: Numbered,
    thresholds: dict[str, Any],
    checks: dict[str, Any],
    idle: list[str],
) -> str:
    verdicts = _verdicts(found)
    wins = sum(verdict.good for verdict in verdicts.values())
    lines = [f"# Playbook: {_cell(capability)}", ""]
    if territory is not None:
        lines += [f"Territory: {_cell(territory)}", ""]
    lines += [f"{len(verdicts)} tasks judged, {wins} went well.", ""]
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
    if idle:
        lines += ["## Essence", "", f"Outputs did not depend on: {', '.join(map(_cell, idle))}.", ""]
    remarks = [signal.note for _, signal in found if signal.source == OPERATOR and signal.note]
    if remarks:
        lines += ["## Notes of operators", "", *(f"- {_cell(note)}" for note in sorted(set(remarks))), ""]
    return "\n".join(lines)


def _cell(text: str) -> str:
    """Text from outside on one line of Markdown, unable to start markup of its own."""
    flat = " ".join("".join(character if character.isprintable() else " " for character in text).split())
    for mark in "\\`*_|[]<>#":
        flat = flat.replace(mark, "\\" + mark)
    return flat
