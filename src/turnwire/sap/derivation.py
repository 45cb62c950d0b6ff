"""What is learned from the signals of one capability and territory. Pure functions: same signals, same content."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

from turnwire.sap.signals import OPERATOR, PRODUCER, Signal

Numbered = Sequence[tuple[int, Signal]]

HIGHEST = 100
GOOD_RATING = 3  # of five
ENOUGH = 3  # observations of a payload field before it may be called idle
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


def _verdicts(found: Numbered) -> dict[str, bool]:
    """task id -> whether it went well. An operator's newest word beats the producer's."""
    verdicts: dict[str, bool] = {}
    spoken: set[str] = set()
    for _, signal in found:
        if signal.source == PRODUCER and signal.task_id not in spoken:
            verdicts[signal.task_id] = signal.alignment == "VALID" and signal.status in ("SUCCEEDED", "PARTIAL")
        elif signal.source == OPERATOR and (signal.approval is not None or signal.rating is not None):
            good = signal.approval if signal.approval is not None else (signal.rating or 0) >= GOOD_RATING
            verdicts[signal.task_id] = good
            spoken.add(signal.task_id)
    return verdicts


def _thresholds(found: Numbered) -> tuple[dict[str, Any], list[int]]:
    """For each principle, the highest pressure below every outcome that went wrong (100 when none did)."""
    verdicts = _verdicts(found)
    good: Counter[str] = Counter()
    bad: dict[str, list[float]] = defaultdict(list)
    evidence = []
    for seq, signal in found:
        if signal.source != PRODUCER or not signal.pressure:
            continue
        evidence.append(seq)
        blamed = {violation.get("principle") for violation in signal.violations}
        for principle, pressure in signal.pressure.items():
            if principle in blamed or (not blamed and not verdicts[signal.task_id]):
                bad[principle].append(pressure)
            else:
                good[principle] += 1
    made = {}
    for principle in sorted(good.keys() | bad.keys()):
        lowest = min(bad[principle]) if bad[principle] else HIGHEST + 1
        threshold = max(0, min(HIGHEST, -int(-lowest // 1) - 1))
        made[principle] = {"threshold": threshold, "good": good[principle], "bad": len(bad[principle])}
    return made, evidence


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
    idle = []
    for name in sorted({name for _, signal in runs for name in signal.inputs}):
        groups: dict[tuple[tuple[str, str], ...], list[Signal]] = defaultdict(list)
        for _, signal in runs:
            rest = tuple(sorted((key, value) for key, value in signal.inputs.items() if key != name))
            groups[rest].append(signal)
        seen = 0
        for group in groups.values():
            values = {signal.inputs.get(name) for signal in group}
            if len(values) > 1 and len({signal.answer for signal in group}) > 1:
                seen = 0
                break
            seen += len(values) if len(values) > 1 else 0
        if seen >= ENOUGH:
            idle.append(name)
    return idle, [seq for seq, _ in runs]


def _playbook(
    capability: str,
    territory: str | None,
    found: Numbered,
    thresholds: dict[str, Any],
    checks: dict[str, Any],
    idle: list[str],
) -> str:
    verdicts = _verdicts(found)
    wins = sum(verdicts.values())
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
