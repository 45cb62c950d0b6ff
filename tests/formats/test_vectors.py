"""The vectors in the folder of each format, and its objects in lists, exports, archives and compressed files."""

from __future__ import annotations

import gzip
import io
import json
import zipfile
from pathlib import Path
from random import Random
from typing import Any

import pytest

import turnwire
from tests.conftest import needs_both, raised, rounds
from tests.cores import use
from tests.formats import samples
from tests.formats.test_tables import rows
from turnwire import DecodeError, registry
from turnwire.contract import FORMATS, LIMITS
from turnwire.formats.table import Compiled
from turnwire.json.plan import MOST_VALUES, MOST_WORDS, Classifier, merge_plans
from turnwire.read.usage import usage

VECTORS = [(name, vector) for name in registry.formats() for vector in samples.vectors(name)]
"""Format and vector: ``input``, and ``columns`` that have a value, ``reject`` with its ``path``, or ``text``; or the
number of records and the tokens of the ``samples``."""
OBJECTS = [(name, vector["input"], vector["columns"]) for name, vector in VECTORS if "columns" in vector]
BESIDE = {"offset", "length", "line", "record", "wire", "inner", "severity"}


def first(name: str, *members: str) -> dict[str, Any]:
    """The first object of a format's vectors that has some members."""
    return next(made for wire, made, _ in OBJECTS if wire == name and set(members) <= set(made))


CHAT, MESSAGE, SPAN = first("openai", "choices"), first("anthropic", "usage"), first("otlp", "spanId")
EVAL, SAMPLE = first("inspect", "eval"), first("inspect", "epoch")


def titled(vectors: list[Any]) -> list[str]:
    """Names for tests."""
    return [f"{name}-{number}" for number, (name, *_) in enumerate(vectors)]


@pytest.mark.parametrize("name", registry.formats())
def test_a_format_is_a_folder(name: str) -> None:
    """Of a table, its page, vectors of what it takes and refuses, and a sample."""
    kinds = {kind for vector in samples.vectors(name) for kind in vector}
    assert {"columns", "reject", "text", "samples"} <= kinds
    assert (samples.FOLDER / name / "README.md").read_text("utf-8").startswith("# ")
    assert registry.wire(name).table.name == name


@pytest.mark.parametrize(("name", "made", "expected"), OBJECTS, ids=titled(OBJECTS))
def test_an_object_is_a_record_with_its_columns(
    name: str, made: dict[str, Any], expected: dict[str, Any], scan_core: str
) -> None:
    """Compact or over many lines, alone or in a list, by a scan of its format and by one of all: that takes those that
    programs of others write, too, only behind a record of the format."""
    follows = expected["kind"] in registry.formats()[name].table.follows
    behind = samples.text([first(name, {"codex": "item", "mcp": "method"}.get(name, "model"))]) if follows else b""
    compact = json.dumps(made, separators=(",", ":")).encode()
    over_lines, listed = json.dumps(made, indent=2).encode(), b"[" + compact + b", " + compact + b"]\n"
    for data, wire in ((compact + b"\n", name), (compact + b"\n", FORMATS), (over_lines, name), (listed, FORMATS)):
        found = rows(behind + data, wire)[bool(behind) :]
        assert len(found) == 1 + (data is listed)
        assert not behind or bool(rows(data, wire)) == (wire == name)
        for row in found:
            assert row["wire"] == name
            assert {column: value for column, value in row.items() if column not in BESIDE} == expected
    assert turnwire.detect(compact) not in registry.formats() and registry.wire(name).detect(compact)
    assert turnwire.decode(compact, name).to_dict() == made


@pytest.mark.parametrize(("name", "vector"), [one for one in VECTORS if "samples" in one[1]], ids=registry.formats())
def test_a_sample_is_read(name: str, vector: dict[str, Any], scan_core: str) -> None:
    """The counts were made without turnwire."""
    data = (samples.FOLDER / name / "samples.jsonl").read_bytes()
    scan = turnwire.scan(data, wire=FORMATS)
    scan.read()
    counts, expected = scan.counts, dict(vector["samples"])
    assert (counts.wires[name], counts.records, counts.rejects) == (counts.records, expected.pop("records"), 0)
    total = usage(data).total
    assert {column: total[column] for column in expected} == expected and (expected or not total["tokens"])


REFUSED = [(name, vector) for name, vector in VECTORS if {"reject", "text"} & {*vector}]


@pytest.mark.parametrize(("name", "vector"), REFUSED, ids=titled(REFUSED))
def test_an_object_is_a_reject_or_text(name: str, vector: dict[str, Any], scan_core: str) -> None:
    data = samples.text([vector["input"]])
    scan = turnwire.scan(data, wire=FORMATS)
    found = [(one.wire, one.reason) for one in scan.errors()]
    assert scan.counts.records == 0 and found == ([] if "text" in vector else [(name, vector["reject"])])
    if "reject" in vector:
        caught = raised(DecodeError, turnwire.decode, data, name)
        assert (str(caught.reason), caught.path) == (vector["reject"], vector["path"])


def test_no_two_formats_take_an_object() -> None:
    """So that it does not matter which one is asked first."""
    for name, made, _ in OBJECTS:
        data = samples.text([made])
        assert [one for one, found in registry.formats().items() if found.detect(data)] == [name], made


@pytest.mark.parametrize(
    ("name", "member"),
    [("mcp", "id"), ("otlp", "startTimeUnixNano"), ("openai", "created"), ("a2a", "id"), ("inspect", "id")],
)
def test_a_member_that_may_be_text_or_a_number_is_nothing_else(name: str, member: str, scan_core: str) -> None:
    made = first(name, member)
    scan = turnwire.scan(samples.text({**made, member: value} for value in ({}, [], True)), wire=name)
    assert [(one.reason, one.line) for one in scan.errors()] == [("wrong_type", line) for line in (1, 2, 3)]
    assert scan.counts.records == 0


@pytest.mark.once
@needs_both
def test_the_native_search_asks_python_about_no_good_object(monkeypatch: pytest.MonkeyPatch) -> None:
    def asked(self: Classifier, raw: bytes, fields: Any = None) -> tuple[int, int, int, int]:
        raise AssertionError(raw)

    monkeypatch.setattr(Classifier, "whole", asked)
    scan = turnwire.scan(samples.text(made for _, made, _ in OBJECTS), wire=FORMATS)
    assert sum(map(len, scan)) == len(OBJECTS)


def test_each_layout_of_a_table_has_an_object() -> None:
    for name, found in registry.formats().items():
        for layout in found.table.layouts:
            assert any(Compiled(name, layout).is_signed(made) for wire, made, _ in OBJECTS if wire == name), layout


def test_there_is_room_for_formats_of_others() -> None:
    """The search of all formats has a most of values, and of words of one value."""
    plans = merge_plans([plan for found in registry.formats().values() for plan in found.scanner.plans])
    words = {value.path: len(value.words) for plan in plans for value in plan.values}
    assert len(words) < MOST_VALUES * 3 / 4 and max(words.values()) < MOST_WORDS * 3 / 4


def test_a_log_of_an_evaluation_in_json_has_its_samples(scan_core: str) -> None:
    log = {**EVAL, "samples": [{**SAMPLE, "id": number} for number in range(9)], "stats": {}}
    for data in (samples.text([log]), json.dumps(log, indent=2).encode()):
        for limits in (turnwire.LIMITS, turnwire.LIMITS._replace(message=900)):
            scan = turnwire.scan(data, wire="inspect", columns=["kind", "id"], limits=limits)
            found = [(kind, one) for batch in scan for kind, one in zip(batch["kind"], batch["id"], strict=True)]
            assert found == [("evaluation", "e1"), *(("sample", str(number)) for number in range(9))]
            assert scan.counts.rejects == 0
    summary = {name: one for name, one in {**SAMPLE, "scores": {}, "model_usage": {}}.items() if name != "messages"}
    for data in ([summary, summary], [[summary, ["x"]]], summary):
        for indent in (None, 2):
            scan = turnwire.scan(json.dumps(data, indent=indent).encode(), wire="inspect", errors="collect")
            assert (sum(map(len, scan)), scan.counts.rejects) == (0, 0)


def test_all_of_them_in_one_log(scan_core: str) -> None:
    data = samples.text(made for _, made, _ in OBJECTS)
    scan = turnwire.scan(data, wire=FORMATS)
    assert [(one.wire, one.line) for one in scan.messages()] == [(name, n) for n, (name, *_) in enumerate(OBJECTS, 1)]
    assert (scan.counts.rejects, scan.counts.text_bytes) == (0, len(OBJECTS))
    extracted = turnwire.extract(data.decode(), [*turnwire.WIRES, *registry.formats()])
    assert [(one.wire, one.message.to_dict()) for one in extracted] == [(name, made) for name, made, _ in OBJECTS]


def test_spans_are_found_in_an_export(scan_core: str) -> None:
    export = {
        "resourceSpans": [{"resource": {}, "scopeSpans": [{"scope": {}, "spans": [SPAN, {**SPAN, "spanId": "b"}]}]}]
    }
    for data in (samples.text([export]), json.dumps(export, indent=1).encode()):
        assert [row["id"] for row in rows(data)] == [SPAN["spanId"], "b"]


def test_compressed_files_and_archives(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "log.eval", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("header.json", json.dumps(EVAL, indent=2))
        archive.writestr("samples/7_epoch_1.json", json.dumps(SAMPLE, indent=2))
    assert sorted(row["kind"] for row in rows(str(tmp_path / "log.eval"))) == ["evaluation", "sample"]  # type: ignore[arg-type]
    (tmp_path / "other.json").write_text(json.dumps({**SAMPLE, "uuid": "u9"}))
    assert {row["session"] for row in usage(tmp_path, "session").rows} == {EVAL["eval"]["run_id"], None}
    (tmp_path / "chat.jsonl.gz").write_bytes(gzip.compress(samples.text([CHAT])))
    assert usage(str(tmp_path / "chat.jsonl.gz")).total["output_tokens"] == 7


def test_what_was_cached_is_no_fresh_input() -> None:
    found = {row["wire"]: row for row in usage(samples.text([CHAT, MESSAGE]), "wire").rows}
    assert (found["openai"]["input_tokens"], found["openai"]["cache_read_tokens"]) == (8, 12)
    assert (found["anthropic"]["input_tokens"], found["anthropic"]["cache_read_tokens"]) == (5, 2)


def test_a_file_like_object_is_a_source() -> None:
    assert usage(io.BytesIO(samples.text([CHAT]))).total["responses"] == 1


def test_attributes_are_told_by_their_keys(scan_core: str) -> None:
    """In any order and number, of spans that are alike otherwise, too; a key behind its value tells nothing."""
    names = ("gen_ai.usage.input_tokens", "gen_ai.usage.output_tokens", "other", "gen_ai.usage.cache_read.input_tokens")
    spans = []
    for number in range(120):
        keys = names[number % 4 :] + names[: number % 4]
        attributes = [{"key": key, "value": {"intValue": str(100 * number + names.index(key))}} for key in keys]
        spans.append({**SPAN, "attributes": attributes[: 1 + number % 4]})
    turned = {**SPAN, "attributes": [{"value": {"intValue": "5"}, "key": names[0]}]}
    found = rows(samples.text([*spans, turned]), "otlp")
    columns = {names[0]: "input_tokens", names[1]: "output_tokens", names[3]: "cache_read_tokens"}
    for row, span in zip(found, spans, strict=False):
        said = {one["key"]: int(one["value"]["intValue"]) for one in span["attributes"]}
        assert {name: row.get(column) for name, column in columns.items()} == {name: said.get(name) for name in columns}
    assert len(found) == 121 and "input_tokens" not in found[-1]
    operation = {"key": "gen_ai.operation.name", "value": {"stringValue": "execute_tool"}}
    assert rows(samples.text([{**SPAN, "attributes": [operation]}]))[0]["kind"] == "tool_call"


def test_a_limit_holds_for_bytes_that_were_read_without_it() -> None:
    line = b'{"type":"thread.started","thread_id":"t1"}'
    plan = next(plan for plan in registry.wire("codex").scanner.plans if plan.detect(line))
    plan.decode(line)
    with pytest.raises(DecodeError) as caught:
        plan.decode(line, limits=LIMITS._replace(message=40))
    assert caught.value.reason == "message_too_large"


# --- damaged logs of many formats: the cores find the same records, values, rejects and places, and bytes add up ------


BASE = [
    json.dumps(made, separators=(",", ":")).encode()
    for made in (*(made for _, made, _ in OBJECTS), *samples.claude_code(3), *samples.codex(2))
]
WRONG: tuple[Any, ...] = (None, 1, -1.5, True, "x", [], {})


def damaged(line: bytes, made: Random) -> bytes:
    """A line with one kind of damage: cut, glued, overwritten, with NUL bytes, or a member of another type."""
    place = made.randrange(len(line))
    if made.random() < 0.3:
        fields = json.loads(line)
        fields[made.choice(list(fields))] = made.choice(WRONG)
        return json.dumps(fields, indent=made.choice([None, 1])).encode()
    return made.choice(
        [
            line[:place],
            line[place:],
            line[:place] + b"\0" * 3 + line[place:],
            line[:place] + bytes([made.randrange(256)]) + line[place + 1 :],
            line[:place] + made.choice(BASE),
            line + made.choice(BASE),
        ]
    )


def log(seed: int) -> bytes:
    made = Random(seed)
    lines = [made.choice(BASE) for _ in range(made.randrange(1, 7))]
    return b"\n".join(line if made.random() < 0.5 else damaged(line, made) for line in lines) + b"\n"


def found(data: bytes, wire: str, backend: str) -> tuple[Any, ...]:
    with pytest.MonkeyPatch.context() as patch:
        use(backend, patch)
        scan = turnwire.scan(data, wire=wire)
        scan.read()
        counts = scan.counts
        assert counts.record_bytes + counts.reject_bytes + counts.text_bytes == counts.bytes == len(data)
        return rows(data, wire), scan.rejects.rows(), counts


@needs_both
@pytest.mark.once
@pytest.mark.parametrize("wire", ["formats", "claude_code", "otlp"])
def test_the_cores_agree(wire: str) -> None:
    for seed in range(rounds(40)):
        data = log(seed)
        assert found(data, wire, "native") == found(data, wire, "pure"), seed
