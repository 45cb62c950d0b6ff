"""Reading and writing SAP: the vectors, every clause of the objects, positions, round trips."""

from __future__ import annotations

import copy
import dataclasses
import json
import pickle
import re
from pathlib import Path
from typing import Any

import pytest

import turnwire
from tests import vectors
from tests.conftest import put, raised
from tests.sap.documents import RESULT, TASK, changed
from turnwire import sap
from turnwire.cli import main
from turnwire.errors import DecodeError, EncodeError, Reason
from turnwire.read.located import conform

pytestmark = pytest.mark.usefixtures("twin")


def warnings(message: Any) -> list[tuple[Reason, int | str]]:
    return [(issue.reason, issue.where) for issue in sap.check(message) if issue.severity == "warning"]


def reading(text: str) -> tuple[str, Any]:
    try:
        message = sap.decode(text)
    except DecodeError:
        return "error", json.loads(text)
    return "issue" if warnings(message) else "ok", message


@vectors.cases("sap")
def test_vectors(case: dict[str, Any]) -> None:
    read, message = reading(case["text"])
    assert read == case["read"]
    if case["write"] == "ok":
        assert json.loads(sap.encode(message)) == json.loads(case["text"])
    elif case["write"] == "error":
        raised(EncodeError, sap.encode, message)
    if read != "error":
        assert sap.encode(message, strict=False) == json.dumps(json.loads(case["text"]), separators=(",", ":"))


def parts_of(case: dict[str, Any]) -> tuple[dict[str, Any], str, Any, str]:
    """The document of a case, the place in it, what stands there instead (... for nothing), and the reason."""
    document = TASK if case["of"] == "task" else RESULT
    return document, case["at"], case.get("value") if "absent" not in case else ..., case["reason"]


@vectors.cases("sap_forms", kind="refused")
def test_what_reading_and_writing_refuse(case: dict[str, Any]) -> None:
    document, pointer, value, reason = parts_of(case)
    broken = changed(document, pointer, value)
    text = json.dumps(broken, ensure_ascii=False)
    caught = raised(DecodeError, sap.decode, text)
    error, data = caught, text.encode()
    assert (error.reason, error.wire, error.line) == (reason, "sap", 1)
    assert error.path is not None and error.path.startswith(pointer.rpartition("/")[0])
    assert error.offset is not None
    if value is ...:
        assert data[error.offset : error.offset + 1] == b"{"
    elif isinstance(value, str):
        assert data[error.offset :].startswith(json.dumps(value, ensure_ascii=False).encode())
    written = raised(EncodeError, sap.encode, broken)
    assert (written.reason, written.path) == (reason, error.path)


@vectors.cases("sap_forms", kind="doubtful")
def test_what_is_read_with_an_issue_and_not_written(case: dict[str, Any]) -> None:
    document, pointer, value, reason = parts_of(case)
    text = json.dumps(changed(document, pointer, value))
    message = sap.decode(text)
    assert [found for found, _ in warnings(message)] == [reason]
    assert raised(EncodeError, sap.encode, message).reason == reason
    assert json.loads(sap.encode(message, strict=False)) == json.loads(text)


@vectors.cases("sap_forms", kind="fine")
def test_what_is_fine(case: dict[str, Any]) -> None:
    document = TASK if case["of"] == "task" else RESULT
    whole = changed(document, case["at"], case.get("value") if "absent" not in case else ...)
    message = sap.decode(json.dumps(whole))
    assert warnings(message) == []
    assert json.loads(sap.encode(message)) == whole
    assert sap.decode(sap.encode(message)) == message


@vectors.cases("sap_forms", kind="info")
def test_infos(case: dict[str, Any]) -> None:
    pairs = (part for pair in case["changes"].items() for part in pair)
    message = sap.decode(json.dumps(changed(TASK if case["of"] == "task" else RESULT, *pairs)))
    assert [[issue.reason, issue.where] for issue in sap.check(message)] == case["found"]


@vectors.cases("sap_forms", kind="no message")
def test_what_is_no_message(case: dict[str, Any]) -> None:
    text = bytes.fromhex(case["hex"]) if "hex" in case else case["text"]
    assert raised(DecodeError, sap.decode, text).reason == case["error"]


def test_whole_pressures_are_written_as_integers() -> None:
    task = sap.decode(json.dumps(changed(TASK, "/constitutionalContext/pressure", {"a": 41.0, "b": -0.0, "c": 7})))
    assert warnings(task) == []
    assert '"pressure":{"a":41,"b":0,"c":7}' in sap.encode(task)
    assert '"pressure":{"a":41.0,"b":-0.0,"c":7}' in sap.encode(task, strict=False)


def test_any_buffer_and_the_line_of_a_fault() -> None:
    text = json.dumps(changed(TASK, "/target/capability", ...), indent=1)
    for data in (text, text.encode(), bytearray(text.encode()), memoryview(text.encode())):
        caught = raised(DecodeError, sap.decode, data)
        assert (caught.path, caught.line) == ("/target/capability", text[: text.index('"target"')].count("\n") + 1)


def test_receipts() -> None:
    ack = sap.Ack(message_id=TASK["taskId"], correlation_id=TASK["correlationId"])
    nack = sap.Nack(message_id="anything", correlation_id=None, reason="queue full")
    for receipt in (ack, nack):
        assert sap.decode(sap.encode(receipt)) == receipt
        assert sap.check(receipt) == []
    assert sap.encode(nack) == '{"messageId":"anything","correlationId":null,"status":"NACK","reason":"queue full"}'
    assert [found for found, _ in warnings(sap.Ack(message_id="x", correlation_id="y"))] == [Reason.BAD_UUID]


def test_results_are_checked_against_their_task() -> None:
    task, result = sap.decode(json.dumps(TASK)), sap.decode(json.dumps(RESULT))
    assert isinstance(task, sap.Task)
    assert sap.check(result, task=task) == []
    other = "00000000-0000-0000-0000-000000000000"
    strange = result.replace(task_id=other, correlation_id=other, output=[1])
    assert [issue.reason for issue in sap.check(strange, task=task)] == [
        Reason.WRONG_TASK,
        Reason.WRONG_CORRELATION,
        Reason.OUTPUT_MISMATCH,
    ]
    task.output_contract.schema = {"type": "object", "properties": {"a/b": {"items": {"type": "integer"}}}}
    issues = sap.check(result.replace(output={"a/b": [1, "2"]}), task=task)
    assert [(issue.reason, issue.where) for issue in issues] == [(Reason.OUTPUT_MISMATCH, "/output/a~1b/1")]
    for schema in ({"type": "nonsense"}, {"$ref": "https://example.org/never-fetched.json"}):
        task.output_contract.schema = schema
        assert [issue.reason for issue in sap.check(result, task=task)] == [Reason.BAD_SCHEMA]
    task.output_contract.schema = {"sections": "a list of headings"}
    assert sap.check(result, task=task) == []


def test_messages_are_views() -> None:
    task = sap.decode(json.dumps(TASK))
    assert isinstance(task, sap.Task)
    assert task.constitutional_context.cache_policy.mode is sap.CacheMode.PREFER
    task.constitutional_context.cache_policy.mode = sap.CacheMode.ONLY
    assert task["constitutionalContext"]["cachePolicy"]["mode"] == "only"
    assert task.taskId == task.task_id == TASK["taskId"]
    task.tags = None
    assert "tags" not in task
    assert task.tags is None
    task.parent_task_id = None
    assert task["parentTaskId"] is None
    del task.parent_task_id
    assert "parentTaskId" not in task
    task.attachments = [sap.Attachment(uri="https://a/b")]
    assert task["attachments"] == [{"uri": "https://a/b"}]
    assert task.attachments == (sap.Attachment(uri="https://a/b"),)
    with pytest.raises(AttributeError):
        task.nothing  # noqa: B018
    raised(TypeError, sap.Issuer, agent="x")
    raised(TypeError, task.replace, nothing=1)


def test_messages_are_copied_pickled_and_dataclasses() -> None:
    task = sap.Task.from_dict(copy.deepcopy({**TASK, "unknown": 1}))
    assert task.extra == {"unknown": 1}
    for other in (copy.copy(task), copy.deepcopy(task), pickle.loads(pickle.dumps(task)), task.replace()):
        assert other == task
        assert other is not task
        assert other.fields is not task.fields
    assert task != sap.Result.of(task.fields)
    assert task.replace(tags=["x"]).extra == {"unknown": 1}
    assert dataclasses.is_dataclass(task)
    assert [field.name for field in dataclasses.fields(sap.Ack)] == ["message_id", "correlation_id", "status", "reason"]
    assert dataclasses.replace(sap.Task.from_dict(TASK), tags=["y"]).tags == ["y"]
    with pytest.raises(TypeError):  # instead of losing the unknown field
        dataclasses.replace(task, tags=["y"])


def test_detect() -> None:
    assert sap.detect(b" " + json.dumps(TASK).encode())
    assert sap.detect(json.dumps(RESULT).encode())
    assert sap.detect(sap.encode(sap.Ack(message_id="x", correlation_id=None)).encode())
    for data in (b"", b"@a1#", b"CSP/1", b'{"header":{"kind":"intent"}}', b'["protocolVersion","taskId"]'):
        assert not sap.detect(data)


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        *(("taskId", "task_id"), ("taskid", "task_id"), ("task_Id", "task_id"), ("correlationID", "correlation_id")),
        *(("isuer", "issuer"), ("constitutional_contxt", "constitutional_context")),
    ],
)
def test_an_unknown_attribute_is_refused_with_the_one_that_was_meant(given: str, meant: str) -> None:
    task = sap.Task.from_dict(dict(TASK))
    with pytest.raises(AttributeError, match=meant):
        setattr(task, given, "x")
    with pytest.raises(TypeError, match=meant):
        task.replace(**{given: "x"})
    if given != "taskId":  # which reading and making take, since it is the name on the wire
        with pytest.raises(AttributeError, match=meant):
            getattr(task, given)
        with pytest.raises(TypeError, match=meant):
            sap.Task(**{given: "x"})
    assert task.to_dict() == TASK
    task.task_id = TASK["correlationId"]
    assert (task.taskId, task.fields["taskId"]) == (TASK["correlationId"],) * 2


def test_a_digest_has_64_hexadecimal_digits() -> None:
    good = "sha256:" + "09af0f9a" * 8
    texts = [good, good + "0", good[:-1], good.replace("256", "255"), good.upper(), f" {good}"[:71]]
    texts += [
        good[:place] + letter + good[place + 1 :] for place in (7, 8, 38, 70) for letter in "0/9:a`fgAF@GZz-\u00e9"
    ]
    for text in texts:
        task = changed(TASK, "/attachments", [{"uri": "https://a.example/b", "kind": "k", "digest": text}])
        found = [issue.where for issue in sap.check(sap.decode(json.dumps(task))) if issue.reason is Reason.BAD_DIGEST]
        assert found == ([] if re.fullmatch(r"sha256:[0-9A-Fa-f]{64}", text) else ["/attachments/0/digest"]), text


SCHEMAS = [
    {"type": "object", "properties": {"protocolVersion": {"const": "2.0"}, "taskId": {"type": "string"}}},
    {"properties": {"protocolVersion": {"const": "2.0"}, "taskId": {"format": "uuid"}, "status": {"enum": ["QUEUED"]}}},
    {
        "$defs": {
            "Task": {"properties": {"protocolVersion": {"$ref": "#/v"}, "issuer": True, "taskId": {"type": "string"}}}
        }
    },
    sap.json_schema(),
]


@pytest.mark.parametrize("schema", SCHEMAS, ids=range(len(SCHEMAS)))
def test_a_json_schema_of_sap_looks_alike_and_is_no_fault(schema: dict[str, Any], tmp_path: Path) -> None:
    text = f"A task:\n\n{json.dumps(TASK)}\n\n```json\n{json.dumps(schema, indent=2)}\n```\n"
    scan = turnwire.scan(text.encode())
    assert [type(one.message) for one in scan.messages()] == [sap.Task]
    assert {(one.wire, one.reason) for one in scan.errors()} == {("sap", Reason.LOOK_ALIKE)}
    path = put(tmp_path / "document.md", text)
    assert main(["validate", str(path)]) == 0 and main(["validate", "--strict", str(path)]) == 1
    required = conform("sap", text.encode()).line("required")
    assert required.doubts and not required.faults


def test_what_has_a_value_of_sap_is_a_message_though_its_others_are_objects() -> None:
    broken = changed(TASK, "/protocolVersion", {"type": "string"})
    assert raised(DecodeError, sap.decode, json.dumps(broken)).reason is Reason.WRONG_TYPE
    assert raised(DecodeError, sap.decode, json.dumps({name: {"a": 1} for name in TASK})).reason is Reason.WRONG_TYPE
