"""Signals in, artifacts out: deterministic, append-only, and seen to influence later work only."""

from __future__ import annotations

import json
import random
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import raised
from tests.sap.documents import RESULT, TASK
from turnwire import sap
from turnwire.errors import RuleError
from turnwire.json.text import canonical
from turnwire.sap import learning as derivation
from turnwire.sap.cache import within
from turnwire.sap.learning import (
    HIGHEST,
    SIGNAL_KIND,
    Artifact,
    LearningLoop,
    Signal,
    contents,
    essence_of,
    thresholds_of,
)

pytestmark = pytest.mark.once


class Shelf:
    """A librarian in memory."""

    def __init__(self) -> None:
        self.artifacts: list[Artifact] = []

    def emit(self, artifact: Artifact, /) -> None:
        self.artifacts.append(artifact)


def pair(number: int, *, pressure: int = 50, good: bool = True, **payload: Any) -> tuple[sap.Task, sap.Result]:
    task = sap.Task.from_dict(json.loads(json.dumps(TASK)))
    task.task_id = f"00000000-0000-0000-0000-{number:012d}"
    task.payload = {"topic": "pauses", **payload}
    task.constitutional_context.pressure = {"pause": pressure}
    result = sap.Result.from_dict(json.loads(json.dumps(RESULT)))
    result.task_id = task.task_id
    result.output = f"about {task.payload['topic']}"
    evidence = result["constitutionalEvidence"]
    evidence["pressureReadings"] = {"pause": pressure}
    if not good:
        result.status = sap.Status.FAILED
        result.error = sap.AgentError(code="NON_CONSTITUTIONAL", message="no")
        evidence["alignment"] = "NON_CONSTITUTIONAL"
        evidence["violations"] = [{"principle": "pause", "severity": "high", "evidence": "rushed"}]
    return task, result


def by_kind(artifacts: list[Artifact]) -> dict[str, Artifact]:
    return {artifact.kind: artifact for artifact in artifacts}


def test_thresholds_checks_and_playbook(tmp_path: Path) -> None:
    loop = LearningLoop(tmp_path / "signals")
    for number, (pressure, good) in enumerate([(10, True), (60, True), (80, False), (90, True), (70, True)]):
        loop.observe(*pair(number, pressure=pressure, good=good))
    made = by_kind(loop.derive())
    assert thresholds_of(made["thresholds"]) == {"pause": 79}
    assert made["thresholds"].content["principles"]["pause"] == {"threshold": 79, "good": 4, "bad": 1}
    checks = made["checks"].content["principles"]
    assert checks["blueprint_thinking"]["status"] == {"PASS": 5}
    assert checks["pause"]["violations"] == {"high": 1}
    assert "5 tasks judged, 4 went well." in made["playbook"].text
    assert made["thresholds"].evidence == (1, 2, 3, 4, 5)
    assert {path.name.split("-")[0] for path in (tmp_path / "signals.library").iterdir()} == set(made)
    loop.judge(pair(1)[0], rating=1, note="too fast <b>`x`</b>\n# not a heading")
    again = by_kind(loop.derive())
    assert thresholds_of(again["thresholds"]) == {"pause": 59}
    assert (again["thresholds"].version, again["checks"].version, again["playbook"].version) == (2, 1, 2)
    assert "- too fast \\<b\\>\\`x\\`\\</b\\> \\# not a heading" in again["playbook"].text
    assert [artifact.version for artifact in loop.versions("thresholds", "consult.align", "EUFM")] == [2, 1]
    loop.judge(pair(1)[0], approval=True)
    assert thresholds_of(by_kind(loop.derive())["thresholds"]) == {"pause": 79}


def test_deriving_is_deterministic_and_repeatable(tmp_path: Path) -> None:
    made = []
    for name in ("a", "b"):
        shelf = Shelf()
        loop = LearningLoop(tmp_path / name, sink=shelf)
        for number in range(6):
            loop.observe(*pair(number, pressure=number * 10, good=number != 4, request=number))
        first = loop.derive()
        length = len(loop.ledger)
        assert loop.derive() == first == shelf.artifacts
        assert len(loop.ledger) == length
        assert loop.ledger.verify()
        made.append(first)
    assert made[0] == made[1]


def test_signals_are_found_by_their_key_and_checked(tmp_path: Path) -> None:
    loop = LearningLoop(tmp_path / "a")
    task, result = pair(1)
    loop.observe(task, result)
    loop.judge(task, rating=5)
    found = [signal for _, signal in loop.signals()]
    assert {entry.key for entry in loop.ledger.entries(kind=SIGNAL_KIND)} == {
        canonical(["consult.align", "EUFM", sap.fingerprint(task)]).decode()
    }
    assert [signal.source for signal in found] == ["producer", "operator"]
    assert found[1].rating == 5
    assert found[0].metrics == RESULT["metrics"]
    for wrong in ({"rating": 0}, {"rating": 6}, {"rating": True}, {"rating": 2.5}, {}, {"approval": 1}):
        raised(RuleError, loop.judge, task, **wrong)
    strange = task.replace(payload={"n": 2**60})
    loop.observe(strange, result)
    assert len(list(loop.signals())) == 3


def test_what_was_learned_influences_later_rows_and_no_earlier_one(tmp_path: Path) -> None:
    cache = sap.Cache(tmp_path / "cache")
    loop = LearningLoop(tmp_path / "signals")
    for number in range(4):
        task, result = pair(number, request=number, pressure=40)
        assert not cache.get(task)
        cache.put(task, result)
        loop.observe(task, result)
    loop.observe(*pair(9, request=9, pressure=70, good=False, topic="haste"))
    before = cache.ledger.head()
    rows = [entry.body for entry in cache.ledger]
    made = by_kind(loop.derive())
    assert made["essence"].content == {"leave_out": ["request"]}
    assert cache.ledger.head()._replace(time="") == before._replace(time="")

    learned = sap.Cache(
        cache.ledger, essence=essence_of(made["essence"]), align=within(thresholds_of(made["thresholds"]))
    )
    task, result = pair(5, request=5, pressure=40)
    assert not learned.get(task)  # the old rows lie under other keys
    learned.put(task, result)
    assert learned.get(pair(6, request=6, pressure=40)[0])  # the request number no longer matters
    assert not cache.get(pair(6, request=6, pressure=40)[0])
    task, result = pair(7, request=7, pressure=75)
    learned.put(task, result)
    refused = learned.get(pair(8, request=8, pressure=75)[0])
    assert refused.reason == "unaligned"
    assert [entry.body for entry in cache.ledger][: len(rows)] == rows
    assert cache.ledger.verify(before)


def test_names_from_outside_stay_inside_the_folder(tmp_path: Path) -> None:
    task, result = pair(1)
    task.target.capability = "../../etc/passwd\n"
    task.constitutional_context.territory = "/"
    loop = LearningLoop(tmp_path / "deep" / "er" if (tmp_path / "deep" / "er").parent.mkdir() is None else "")
    loop.observe(task, result)
    loop.derive()
    assert {path.parent for path in tmp_path.rglob("*-v1.*")} == {tmp_path / "deep" / "er.library"}


def signal(number: int, **fields: Any) -> tuple[int, Signal]:
    told = {"status": "SUCCEEDED", "alignment": "VALID"} | fields
    return number, Signal("producer", "c", None, "f", f"00000000-0000-4000-8000-{number:012}", **told)


def kinds(*signals: tuple[int, Signal]) -> dict[str, Any]:
    return {kind: content for kind, content, _ in contents("c", None, signals)}


@pytest.mark.parametrize(
    ("good", "threshold"),
    [
        ([50, 50], 49),
        ([50, 50, 50], HIGHEST),
        ([49, 49, 49], 49),
        ([51, 51, 51], HIGHEST),
        ([49, 50, 51], 49),
        ([50, 49, 51, 50], HIGHEST),
    ],
)
def test_a_bad_outcome_is_outweighed_by_three_good_ones_at_its_pressure_or_more(good, threshold):
    bad, late = (signal(number, alignment="NON_CONSTITUTIONAL", pressure={"p": 50}) for number in (0, 9))
    later = [signal(number, pressure={"p": pressure}) for number, pressure in enumerate(good, 1)]
    found = kinds(bad, *later)["thresholds"]["principles"]["p"]
    assert found == {"threshold": threshold, "good": len(good), "bad": 1}
    before = kinds(*[signal(number, pressure={"p": 50}) for number in range(1, 9)], late)
    assert before["thresholds"]["principles"]["p"]["threshold"] == 49  # what was good before outweighs nothing


def test_who_is_blamed_stays_so_while_an_operator_says_no() -> None:
    """With a yes nobody is, and a no on what was good is about all."""

    def signal(number: int, source: str, one: int, **fields: Any) -> tuple[int, Signal]:
        told = {"status": "SUCCEEDED", "alignment": "VALID"} if source == "producer" else {}
        ids = f"00000000-0000-4000-8000-{one:012}"
        return number, Signal(source, "c", None, "f", ids, **{**told, **fields})

    pressure = {"p": 50, "q": 60}
    bad = signal(1, "producer", 1, pressure=pressure, violations=({"principle": "p"},))
    good = signal(1, "producer", 1, pressure=pressure)

    def bads(*signals: tuple[int, Signal]) -> list[int]:
        found = {kind: content for kind, content, _ in contents("c", None, signals)}
        return [found["thresholds"]["principles"][name]["bad"] for name in "pq"]

    no, yes = signal(2, "operator", 1, approval=False), signal(3, "operator", 1, approval=True)
    assert bads(bad) == [1, 0] and bads(bad, no) == [1, 0] and bads(bad, yes) == [0, 0]
    assert bads(good) == [0, 0] and bads(good, no) == [1, 1] and bads(good, no, yes) == [0, 0]
    assert bads(bad, yes, signal(4, "operator", 1, rating=1)) == [1, 1]


def test_what_is_learnt_is_what_all_pairs_of_signals_say() -> None:
    chance = random.Random(5)
    told = set()
    for _ in range(300):
        found = [(number, _signal(chance, number)) for number in range(chance.randint(1, 14))]
        idle = derivation._idle_fields(found)
        assert idle == (_idle(found), [seq for seq, one in found if one.answer is not None])
        made, evidence = derivation._thresholds(derivation._cases(found))
        assert {name: one["threshold"] for name, one in made.items()} == _thresholds(found)
        assert evidence == sorted(evidence)
        told |= {*idle[0], *(one["threshold"] for one in made.values())}
    assert len(told) > 9 and told & {"x", "y", "z"}


def _signal(chance: random.Random, number: int) -> Signal:
    inputs = {name: chance.choice("12") for name in "xyz" if chance.random() < 0.7}
    answer = chance.choice((None, "same", "same", "same", "other"))
    judged = chance.choice(("VALID", "VALID", "NON_CONSTITUTIONAL"))
    blamed = ({"principle": "p"},) if judged != "VALID" and chance.random() < 0.5 else ()
    pressure = {name: float(chance.randint(0, 99)) for name in "pq" if chance.random() < 0.8}
    known: dict[str, Any] = {"source": "producer", "capability": "c", "territory": None, "fingerprint": "f"}
    known |= {"task_id": str(number), "alignment": judged, "pressure": pressure, "violations": blamed}
    return Signal(**known, inputs=inputs, answer=answer)


def _idle(found: Any) -> list[str]:
    """The fields on which nothing depends, all runs looked at for each."""
    runs = [one for _, one in found if one.answer is not None]
    idle = []
    for name in sorted({name for one in runs for name in one.inputs}):
        groups = defaultdict(list)
        for one in runs:
            groups[frozenset((key, value) for key, value in one.inputs.items() if key != name)].append(one)
        several = [group for group in groups.values() if len({one.inputs.get(name) for one in group}) > 1]
        alike = all(len({one.answer for one in group}) == 1 for group in several)
        if alike and sum(len({one.inputs.get(name) for one in group}) for group in several) >= derivation.ENOUGH:
            idle.append(name)
    return idle


def _thresholds(found: Any) -> dict[str, int]:
    """The highest pressure below every bad outcome that fewer later good ones than it takes outweigh."""
    pressures = defaultdict(list)
    for _, one in found:
        blamed = {each["principle"] for each in one.violations}
        for name, pressure in one.pressure.items():
            bad = one.alignment != "VALID" and (not blamed or name in blamed)
            pressures[name].append((pressure, bad))
    made = {}
    for name, line in pressures.items():
        later = [[good for good, bad in line[at:] if not bad and good >= line[at][0]] for at in range(len(line))]
        lowest = [line[at][0] for at, good in enumerate(later) if line[at][1] and len(good) < derivation.ENOUGH]
        made[name] = max(0, min(100, -int(-min(lowest, default=101) // 1) - 1))
    return made
