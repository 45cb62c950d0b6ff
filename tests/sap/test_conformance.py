"""The checklist of section 12, and the JSON Schemas of section 9 before an independent validator."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from tests import vectors
from tests.conftest import refusal
from tests.sap.documents import RESULT, TASK, changed
from turnwire import sap
from turnwire.checklists import CONFORMS
from turnwire.errors import EncodeError
from turnwire.read.located import conform
from turnwire.sap.checklist import SapChecklist

NAMES = [
    "Valid ids and timestamps",
    "Required fields present",
    "Constitutional context provided",
    "Result includes constitutional evidence",
    "Cache policy honored",
    "Learning signals emitted",
    "Transport preserves correlation",
]


def judged(*documents: dict[str, Any]) -> sap.Checklist:
    return sap.conformance(*(json.dumps(document) for document in documents))


def failing(checklist: sap.Checklist) -> list[int]:
    return [index + 1 for index, line in enumerate(checklist.lines) if line.status == "fail"]


def test_the_examples_of_the_document_conform_with_a_pressure_level_and_as_printed() -> None:
    checklist = judged(TASK, RESULT)
    assert checklist
    assert [line.name for line in checklist.lines][: len(NAMES)] == NAMES
    assert {line.status for line in checklist.lines} == {"pass", "not applicable"}
    as_printed = changed(TASK, "/constitutionalContext/pressureLevel", ...)
    printed = judged(as_printed, RESULT)
    assert printed.verdict == CONFORMS
    assert [line.clause.id for line in printed if line.doubts] == ["required", "context"]
    neither = changed(as_printed, "/constitutionalContext/pressure", ...)
    assert failing(judged(neither, RESULT)) == [2, 3]


@vectors.cases("sap_forms", kind="clause")
def test_what_fails_where(case: dict[str, Any]) -> None:
    documents, fails = case["documents"], case["fails"]
    checklist = judged(*documents)
    assert failing(checklist) == fails
    assert bool(checklist) is not fails
    for index in fails:
        assert {fault.line for fault in checklist.lines[index - 1].faults} == {len(documents)}
        assert checklist.lines[index - 1].reason.startswith(f"line {len(documents)}: ")


def test_histories_and_forms() -> None:
    later = RESULT | {"status": "RUNNING", "reportedAt": "2025-09-28T10:29:13Z"}
    checklist = judged(TASK, RESULT, later)
    assert not checklist
    assert failing(checklist) == [8], "a line of its own, which section 12 has not"
    assert "line 3: " in str(checklist)
    assert "not followed by RUNNING" in str(checklist)
    assert conform("sap", ("\n".join(map(json.dumps, (TASK, later, RESULT))) + "\n\n").encode())
    single = conform("sap", json.dumps(TASK, indent=2).encode())
    assert [line.status for line in single.lines][:7] == ["pass"] * 3 + ["not applicable"] * 4
    assert json.loads(json.dumps(single.to_dict()))["conforms"] is False
    assert single.verdict == "is open" and single.line("processing").open[0].line == 1
    assert str(single).splitlines()[0] == "[x] Valid ids and timestamps (3)"
    assert judged().lines[0].status == "not applicable"


def test_places_are_lines_of_the_file() -> None:
    lines = ["", json.dumps(TASK), "", json.dumps(changed(TASK, "/taskId", "x")), "{", json.dumps(RESULT), "  "]
    lines += ["", json.dumps(RESULT | {"correlationId": RESULT["taskId"]}), json.dumps(RESULT | {"status": "RUNNING"})]
    data = "\r\n".join(lines).encode()
    checklist = conform("sap", data)
    found = {line.clause.id: [fault.line for fault in line.faults] for line in checklist if line.faults}
    assert found == {"forms": [4], "correlation": [9], "status": [10]}, "a brace alone is text"
    assert (checklist.records, checklist.rejects) == (4, 1)
    shown = checklist.to_dict()["clauses"][0]
    assert shown["places"] == [{"line": 4, "offset": shown["places"][0]["offset"], "text": shown["places"][0]["text"]}]
    assert data[shown["places"][0]["offset"] :].startswith(b'"x"')
    assert "line 4: /taskId: " in str(checklist)


def test_signals_are_looked_for_in_the_loop(tmp_path: Path) -> None:
    loop = sap.LearningLoop(tmp_path / "a")
    task, result = sap.Task.from_dict(TASK), sap.Result.from_dict(RESULT)
    assert failing(sap.conformance(task, result, learning=loop)) == [6]
    loop.observe(task, result)
    assert sap.conformance(task, result, learning=loop)


VALIDATOR = jsonschema.Draft202012Validator(sap.json_schema())


def test_the_schema_is_one_and_the_published_one() -> None:
    jsonschema.Draft202012Validator.check_schema(sap.json_schema())
    published = Path(__file__).parents[2] / "docs" / "schemas" / "sap.json"
    assert json.loads(published.read_text("utf-8")) == sap.json_schema()


@vectors.cases("sap")
def test_the_schema_takes_what_is_written(case: dict[str, Any]) -> None:
    if case["write"] is not None:
        assert VALIDATOR.is_valid(json.loads(case["text"])) is (case["write"] == "ok")


def mutations(value: Any) -> list[Any]:
    """Copies of a document with one value replaced or taken away."""
    made = []
    for pointer in pointers(value, ""):
        for other in (None, True, -1, 0.5, "PARTIAL", ["x"], {"x": 1}, ...):
            made.append(changed(value, pointer, other))
    return made


def pointers(value: Any, path: str) -> list[str]:
    if isinstance(value, dict):
        return [below for name in value for below in [f"{path}/{name}", *pointers(value[name], f"{path}/{name}")]]
    if isinstance(value, list):
        return [below for index, item in enumerate(value) for below in pointers(item, f"{path}/{index}")]
    return []


@pytest.mark.once
@pytest.mark.parametrize("document", [TASK, RESULT], ids=["task", "result"])
def test_the_schema_and_strict_writing_agree_on_every_change_of_one_value(document: dict[str, Any]) -> None:
    differ = []
    kind = type(sap.decode(json.dumps(document)))
    for changed_document in mutations(document):
        message = kind.of(copy.deepcopy(changed_document))
        if VALIDATOR.is_valid(changed_document) is not (refusal(EncodeError, sap.encode, message) is None):
            differ.append(changed_document)
    assert differ == []


def test_a_receipt_alone_answers_no_task_that_could_be_missed() -> None:
    receipt = sap.Ack(message_id="7fbb32b6-0d2c-4c1a-9b75-2a4b3b0b6c0a")
    other = sap.Task.from_dict({**TASK, "taskId": "7fbb32b6-0d2c-4c1a-9b75-2a4b3b0b6c0c"})
    assert not sap.conformance(receipt).line("correlation").faults
    assert sap.conformance(receipt, other).line("correlation").faults


@vectors.cases("sap_forms", kind="deadline")
def test_a_task_is_late_behind_its_deadline(case: dict[str, Any]) -> None:
    """By its Result; without one by the latest moment in the log: those of other messages, in any order."""
    faults = judged(*case["documents"]).line("deadline").faults
    assert any(case["documents"][0]["taskId"] in fault.text for fault in faults) is case["late"]


def test_answers_to_tasks_that_were_not_seen_crowd_out_no_task() -> None:
    checklist = SapChecklist()
    checklist.message(sap.decode(json.dumps(TASK)), 1)
    for line in range(2, 6):
        unseen = changed(RESULT, "/taskId", f"00000000-0000-4000-8000-{line:012}")
        checklist.message(sap.decode(json.dumps(unseen)), line)
        checklist.forget(2)
    checklist.end()
    assert [(one.clause, one.line) for one in checklist.open] == [("processing", 1)]
    assert [one.line for one in checklist.faults if one.clause == "correlation"] == [4, 5]
