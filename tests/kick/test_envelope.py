"""Envelopes: the vectors, decode, encode and check, the schema, detection, both twins alike."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, strategies as st

from tests import vectors
from tests.conftest import BACKENDS, needs_both, raised
from tests.cores import Envelopes
from tests.nslip.twins import outcome
from turnwire import kick
from turnwire.contract import LIMITS
from turnwire.errors import DecodeError, EncodeError, RuleError
from turnwire.json.times import is_timestamp
from turnwire.kick import Envelope, channels, check, decode, detect, encode, json_schema, messages
from turnwire.kick.bulk import PLAN
from turnwire.kick.rules import DEFAULT_POLICY, Policy, Row, is_uuid4
from turnwire.kick.spec import FIELDS, ORCHESTRATOR, REQUIRED_FIELDS, ROLES

SEED = {
    "id": "3f2b8c1e-9d4a-4b6e-8f10-1a2b3c4d5e6f",
    "timestamp": "2026-01-15T10:00:00Z",
    "sender": "Orchestrator",
    "receiver": "WePlan",
    "type": "Command",
    "channel": "⫻command/dispatch",
    "content": "⫻task/dispatch:WePlan/001\nGo\n",
}
OTHER = "7c9e6679-7425-40de-944b-e07fc1f90ae7"
REPORT = {**SEED, "sender": "WePlan", "receiver": "Orchestrator", "type": "Info", "channel": "⫻report/status"}
ALERT = {**SEED, "receiver": "Broadcast", "type": "Alert", "channel": "⫻alert/error"}


def seed(**changes: Any) -> dict[str, Any]:
    return {key: value for key, value in {**SEED, **changes}.items() if value is not ...}


def reasons(envelope: Envelope, **context: Any) -> list[tuple[str, int | str, str]]:
    return [(str(issue.reason), issue.where, issue.severity) for issue in check(envelope, **context)]


@vectors.cases("kick", kind="envelope")
@pytest.mark.parametrize("form", [str, str.encode, lambda text: bytearray(text.encode())])
def test_vectors(twin: str, case: dict[str, Any], form: Callable[[str], Any]) -> None:
    source = form(case["text"])
    if "error" in case:
        caught = raised(DecodeError, decode, source)
        assert (caught.reason, caught.line, caught.wire) == (case["error"], case["at"], "kick")
        return
    envelope = decode(source)
    for _ in range(2):  # the second time the policy's verdict is remembered
        assert [issue.reason for issue in check(envelope)] == case["expect"]["issues"]
    assert json.loads(encode(envelope, strict=False)) == json.loads(case["text"])
    assert decode(encode(envelope, strict=False)) == envelope


@vectors.cases("kick_forms", kind="check")
def test_check(twin: str, case: dict[str, Any]) -> None:
    fields, issues = case["fields"], [tuple(issue) for issue in case["issues"]]
    envelope = decode(json.dumps(fields))
    assert reasons(envelope) == issues
    assert reasons(envelope) == issues
    warnings = [issue for issue in issues if issue[2] == "warning"]
    if not warnings:
        assert json.loads(encode(envelope)) == fields
        assert decode(json.dumps(fields), strict=True) == envelope
        return
    refused = raised(EncodeError, encode, envelope)
    assert (refused.reason, refused.path) == warnings[0][:2]
    for call in (lambda: check(envelope, strict=True), lambda: decode(json.dumps(fields), strict=True)):
        broken = raised(RuleError, call)
        assert (broken.reason, broken.path) == warnings[0][:2]
        assert broken.rule


def test_the_text_names_key_row_and_hint(twin: str) -> None:
    issues = check(decode(json.dumps(seed(sender="WePlan", correlationId=OTHER))))
    assert "command/*" in issues[0].text
    assert "correlationId" in issues[1].text
    assert "correlation_id" in issues[1].text


@vectors.cases("kick_forms", kind="error")
def test_errors(twin: str, case: dict[str, Any]) -> None:
    """At the value, or at the object that lacks it."""
    fields, reason, path = case["fields"], case["error"], case["path"]
    value = fields.get(path[1:], fields)
    there = json.dumps(value, ensure_ascii=False).encode()[: 1 if isinstance(value, dict | list) else None]
    for indent in (None, 1):
        text = "\n " + json.dumps(fields, ensure_ascii=False, indent=indent)
        error = raised(DecodeError, decode, text)
        raw = text.encode()
        assert (error.reason, error.path) == (reason, path)
        assert error.offset is not None
        assert raw[error.offset :].startswith(there)
        assert error.line == raw[: error.offset].count(b"\n") + 1
    caught = raised(DecodeError, Envelope.from_dict, fields)
    assert (caught.reason, caught.path) == (reason, path)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "empty_message"), ("7", "not_object"), ("{", "cut_off"), ('{"id":"x"} x', "trailing_junk"),
        ('{"id":NaN}', "not_finite"), ('{"\\u0069d":"x","id":"y"}', "dup_key"), ("\ufeff{}", "bom"),
    ],
)  # fmt: skip
def test_no_json_object(twin: str, text: str, reason: str) -> None:
    caught = raised(DecodeError, decode, text)
    assert (caught.reason, caught.wire) == (reason, "kick")


def test_content_is_read_lazily(twin: str) -> None:
    envelope = decode(json.dumps(SEED))
    assert envelope.space.sections[0].place == "WePlan"
    assert envelope.space is envelope.space
    envelope.content = "⫻a\n"
    assert envelope.space.sections[0].name == "a"


def test_encode_order_and_extras(twin: str) -> None:
    shuffled = {"zeta": {"a": [1, None]}, "content": SEED["content"], **SEED, "correlation_id": OTHER}
    envelope = decode(json.dumps(shuffled))
    assert envelope.extra == {"zeta": {"a": [1, None]}}
    assert list(json.loads(encode(envelope))) == [*SEED, "correlation_id", "zeta"]


def test_unknown_keys_that_another_thread_asks_for_meanwhile(twin: str, monkeypatch: pytest.MonkeyPatch) -> None:
    envelope, fields_of = decode(json.dumps({**SEED, "zeta": 1})), messages.fields_of

    def meanwhile(one: Envelope) -> dict[str, Any]:
        monkeypatch.setattr(messages, "fields_of", fields_of)
        assert one.extra == {"zeta": 1}
        return fields_of(one)

    monkeypatch.setattr(messages, "fields_of", meanwhile)
    assert messages.others(envelope) == {"zeta": 1}


@pytest.mark.parametrize(
    ("field", "value", "reason"),
    [("id", 7, "bad_type_id"), ("type", "Order", "bad_enum_type"), ("channel", "x", "bad_channel"),
     ("correlation_id", 7, "bad_type_correlation_id"), ("content", None, "bad_type_content")],
)  # fmt: skip
def test_what_cannot_be_written(twin: str, field: str, value: Any, reason: str) -> None:
    envelope = decode(json.dumps(SEED))
    setattr(envelope, field, value)
    assert reason in [issue.reason for issue in check(envelope)]
    for strict in (True, False):
        caught = raised(EncodeError, encode, envelope, strict=strict)
        assert (caught.reason, caught.path) == (reason, f"/{field}")


@pytest.mark.parametrize("key", [1, None, b"x"])
def test_a_key_that_is_no_text_is_not_written(twin: str, key: Any) -> None:
    envelope = decode(json.dumps(SEED))
    envelope.extra[key] = 1
    assert reasons(envelope) == [("wrong_type", "", "warning")]
    assert raised(RuleError, check, envelope, strict=True).reason == "wrong_type"
    for strict in (True, False):
        assert raised(EncodeError, encode, envelope, strict=strict).reason == "wrong_type"


def test_lone_surrogate_is_not_written(twin: str) -> None:
    envelope = decode(json.dumps(SEED)).replace(content="⫻a\n\ud800")
    assert [issue.reason for issue in check(envelope)] == ["content_not_space"]
    assert raised(EncodeError, encode, envelope, strict=False).reason == "lone_surrogate"


def test_a_field_that_is_deleted_is_none_and_is_refused(backend: str) -> None:
    module = Envelopes(backend)
    for name in FIELDS:
        envelope = module.decode(json.dumps(SEED))
        delattr(envelope, name)
        assert getattr(envelope, name) is None
        if name != "correlation_id":
            raised(EncodeError, module.encode, envelope)
    with pytest.raises(AttributeError):
        del module.decode(json.dumps(SEED)).nothing


def test_what_an_envelope_is_filled_with_anew_is_judged(backend: str) -> None:
    module = Envelopes(backend)
    envelope = module.decode(json.dumps(SEED))
    envelope.__init__(*[{**SEED, "id": "1"}.get(name) for name in FIELDS])
    assert [issue.where for issue in module.check(envelope)] == ["/id"]
    raised(EncodeError, module.encode, envelope)


def test_detect() -> None:
    for fields in (SEED, REPORT, seed(sender=...), seed(content=...), seed(channel="command/x")):
        for ascii_only in (True, False):
            assert detect(b"\n " + json.dumps(fields, ensure_ascii=ascii_only).encode())
    other_wires = (b"", b"@a0#", b"CSP/1\n", b"[]", b'{"header":{}}')
    assert detect("⫻a/b\n"), "a Space document is KickLang, too"
    for other in (*other_wires, b'{"t":"\\"sender\\""}', b"\xff{"):
        assert not detect(other)


def test_schema() -> None:
    validator = pytest.importorskip("jsonschema").Draft202012Validator
    schema = json_schema()
    validator.check_schema(schema)
    good = validator(schema)
    for case in vectors.load("kick"):
        if case["kind"] != "envelope" or case.get("error") == "dup_key":
            continue
        assert good.is_valid(json.loads(case["text"])) == ("error" not in case), case["id"]
    for case in vectors.load("kick_forms"):
        assert case["kind"] != "error" or not good.is_valid(case["fields"])


def told(core: Envelopes, data: str | bytes) -> Any:
    """A core's view of a text: all that the envelope says, how it is written, what is to be said about it."""

    def whole() -> Any:
        envelope = core.decode(data)
        return (
            list(envelope.to_dict().items()),
            core.check(envelope),
            [outcome(core.encode, envelope, strict) for strict in (True, False)],
        )

    return outcome(whole)


NATIVE, PURE = Envelopes(BACKENDS[0]), Envelopes("pure")


def judged_alike(**changes: str) -> list[Any]:
    """The issues that both cores find in an envelope that is read and in one that is made."""
    fields: dict[str, Any] = {**SEED, **changes}
    native, pure = (
        (core.check(core.Envelope(**fields)), told(core, json.dumps(fields).encode())) for core in (NATIVE, PURE)
    )
    assert native == pure
    return [str(issue.reason) for issue in native[0]]


@needs_both
@given(st.text("0123456789abcdefABCDEF-4g", min_size=34, max_size=38), st.text("0123456789-:TZ.+ é", max_size=22))
def test_ids_and_times_are_judged_alike(word: str, stamp: str) -> None:
    found = judged_alike(id=word, correlation_id=word, timestamp=stamp)
    assert ("id_not_uuid4" in found, "bad_timestamp" in found) == (not is_uuid4(word), not is_timestamp(stamp))


@needs_both
@pytest.mark.parametrize("stamp", ["2026-01-15T10:00:00Z", "9999-12-28T23:59:59", "0000-01-01T00:00:00Z"])
def test_times_with_another_letter_are_judged_alike(stamp: str) -> None:
    assert "bad_timestamp" not in judged_alike(timestamp=stamp)
    for place in range(len(stamp)):
        for letter in "x/:":
            judged_alike(timestamp=stamp[:place] + letter + stamp[place + 1 :])
    for wrong in ("2026-13-01T00:00:00Z", "2026-00-01T00:00:00Z", "2026-02-30T00:00:00Z", "2026-01-01T24:00:01Z",
                  "2026-01-01T00:60:00Z", "2026-01-01T00:00:60Z", "2026-01-00T00:00:00Z"):  # fmt: skip
        assert "bad_timestamp" in judged_alike(timestamp=wrong)


# --- contents, faults by their section, and what claims to be one ---------------------------------------------------

GOOD = channels.dispatch("T-7", "WePlan", "Write the plan.")


def test_conform_tells_them_as_doubtful() -> None:
    checklist = kick.conformance(GOOD.replace(content="⫻task/dispatch:T-7/001 \nx"))
    line = checklist.line("space")
    assert (line.status, [fault.text.split(":")[0] for fault in line.doubts]) == ("pass", ["trailing_space"])
    assert checklist.verdict == "is open", "what is doubtful changes no verdict"


STATUS = channels.status(GOOD, "Accepted", timestamp="2026-01-01T00:00:00Z")
FEW = Policy([Row("report/status", "Info", ("*",), ("*",)), Row("query/*", "Query", ("*",), ("*",))])
RULES = [
    # the fault, the section of the specification that it is about, and the reason
    ({"id": "x"}, "001", "id_not_uuid4"),
    ({"correlation_id": "x"}, "001", "correlation_id_not_uuid4"),
    ({"timestamp": "x"}, "001", "bad_timestamp"),
    ({"channel": "query"}, "001", "bad_channel"),
    ({"channel": "⫻other/x"}, "002", "unknown_channel_family"),
    ({"channel": "⫻report/other"}, "002", "channel_not_allowed"),
    ({"type": "Alert"}, "002", "type_channel_mismatch"),
    ({"receiver": "Dima"}, "002", "receiver_not_allowed"),
    ({"content": "x"}, "004.1", "content_not_space"),
    ({"sender": ORCHESTRATOR}, "004.2", "role_not_allowed"),
    ({"correlation_id": None}, "004.3", "missing_correlation_id"),
]


@pytest.mark.parametrize(("fields", "rule", "reason"), RULES)
def test_a_fault_is_of_a_section_of_the_specification(fields: dict[str, Any], rule: str, reason: str) -> None:
    assert kick.check(STATUS, strict=True) == []
    with pytest.raises(RuleError) as caught:
        kick.check(STATUS.replace(**fields), FEW if reason == "channel_not_allowed" else DEFAULT_POLICY, strict=True)
    assert (caught.value.rule, str(caught.value.reason)) == (rule, reason)


PARTS = {"id": "1", "timestamp": "t", "sender": "a", "receiver": "b", "type": "x", "channel": "c", "content": "d"}


@pytest.mark.parametrize(
    ("fields", "claimed"),
    [
        ({"channel": "\u2afba/b"}, False),
        ({"channel": "\u2afba/b", "id": 1}, True),
        ({"channel": "\u2afba/b", "other": 1}, False),
        *(({"content": "\u2afba", **dict.fromkeys(names, "x")}, True) for names in (("sender", "id", "type"),)),
        *(({"content": "\u2afba", **dict.fromkeys(names, "x")}, False) for names in (("sender", "id"), ("sender",))),
        ({"content": "\u2afba", "id": 1, "type": 1, "timestamp": 1}, False),
        (PARTS, False),
        (PARTS | {"type": "Command"}, True),
        (PARTS | {"sender": "Orchestrator"}, True),
        ({name: PARTS[name] for name in PARTS if name != "id"} | {"sender": "Orchestrator"}, True),
        ({name: PARTS[name] for name in PARTS if name not in ("id", "type")} | {"sender": "Orchestrator"}, False),
        ({name: PARTS[name] for name in PARTS if name != "id"} | {"type": "Command"}, False),
    ],
)
def test_what_claims_to_be_an_envelope(fields: dict[str, Any], claimed: bool) -> None:
    assert PLAN.is_claimed(fields) is claimed


@pytest.mark.parametrize("role", ROLES)
def test_some_names_of_roles_are_names_of_other_people_too(role: str) -> None:
    """An object that lacks one field is a damaged envelope by a role alone that nobody else has."""
    fields = dict.fromkeys(REQUIRED_FIELDS[:-1], "x") | {"sender": role}
    assert PLAN.is_claimed(fields) is (role not in ("Human", "Supervisor", "Dima"))


# --- envelopes made of their text without a dict: the twins read, judge and write the same ----------------------------


_WORDS = r"""
x ⫻ ⫻a ⫻a/b ⫻a/ö ⫻a/b\ ⫻/b \u2afba/b \u2AFBa\/b ⫻command/dispatch ⫻task/x:a/1\nGo ⫻task/x:a/1\u000aGo ⫻task/x:a/1
⫻task/x\r\nGo ⫻:x\ny ⫻task/x:a/1\n\ufeff ⫻task/x:a/1\n\ud83d\ude00 ⫻task/x:a/1\n\ud83d ⫻task\/x:a/1\nb ⫻täsk/x\nb
\n é \u00e9 \u0041 a\/b \q ÿĀ 2026-02-28T10:00:00 2024-02-29T10:00:00Z 2023-02-29T10:00:00Z 2026-01-15T24:00:00Z
2026-01-15T10:00:60Z 2026-01-15T10:00:00.5Z 0000-01-15T10:00:00Z 2026-01-15t10:00:00z Info Command Alert Query info
Orchestrator WePlan Broadcast nobody
"""
TEXTS = [*_WORDS.split(), "", "⫻a b/c", '⫻a/"b"', "\\u2afbtask/x:a/1\\nレ é ö 😀", "⫻task/x:a/1\\nGo ⫻b"]
TEXTS += ["⫻task/x:a/1\\nGo \\u2afb", "⫻task/x:a/1\\n\ufeff", "\x7f", "\x01", OTHER, OTHER.upper(), OTHER[:-1] + "g"]
TEXTS += [OTHER.replace("-4", "-5"), OTHER[:-1], OTHER.replace("-9", "-\\u0039", 1), "ü" * 50, "レ" * 50]
TEXTS += [f"⫻task/x:a/1\\n{'レビュー für das Büro ' * 9}", f"⫻task/x:a/1\\n{'so 😀 it goes, and on ' * 9}"]
OTHERS = ["null", "1", "[]", "{}", '"x', "", '"a" ', ' "a"', '"x","y":1', '"x",', '"x"}', '"a":"b"']


def bent(numbers: random.Random) -> str:
    """The text of an envelope with a few things that are not usual."""
    fields = dict(numbers.choice([SEED, REPORT, ALERT, {**REPORT, "correlation_id": OTHER}]))
    written = {name: json.dumps(value, ensure_ascii=numbers.random() < 0.3) for name, value in fields.items()}
    for _ in range(numbers.randint(0, 2)):
        name = numbers.choice([*written, "correlation_id", "more"])
        written[name] = f'"{numbers.choice(TEXTS)}"' if numbers.random() < 0.85 else numbers.choice(OTHERS)
    if numbers.random() < 0.15:
        written.pop(numbers.choice(list(written)))
    names = list(written)
    if numbers.random() < 0.3:
        numbers.shuffle(names)
    comma, colon = numbers.choice([(",", ":"), (",", ":"), (", ", ": "), ("\n,\t", " :")])
    text = "{" + comma.join(f'"{name}"{colon}{written[name]}' for name in names) + "}"
    if numbers.random() < 0.1:
        at = numbers.randrange(len(text) + 1)
        text = text[:at] + numbers.choice(["", " ", '"', "\\", "x", ","]) + text[at + 1 :]
    return numbers.choice(["", "", "", " ", "\n"]) + text + numbers.choice(["", "", "", "\n", "x"])


@needs_both
def test_the_twins_read_the_same() -> None:
    native, pure = NATIVE, PURE
    numbers, good = random.Random(7), 0
    for _ in range(2000):
        text = bent(numbers)
        data: Any = numbers.choice([text, text.encode("utf-8", "surrogatepass")])
        found = told(native, data)
        assert found == told(pure, data), text
        good += found[0] != "DecodeError"
    assert 500 < good < 1830


@needs_both
def test_sections_and_what_is_in_front_written_in_any_way() -> None:
    """Each sigil and each byte order mark as itself or as an escape, at the start, at a line's start and within."""
    native, pure = NATIVE, PURE
    sigils = ("⫻", "\\u2afb", "⫺", "\\u2afa", "\\n2afb")
    contents = [
        f"{front}{first}{header}{newline}{between}{second}{following}"
        for front in ("", "\ufeff", "\\ufeff", "A", "\\u0041")
        for first in sigils
        for header in ("task/x:a/1", "task x")
        for newline in ("\\n", "\\u000a")
        for between in ("", "x", "x\\n", "\ufeff", "\\ufeff")
        for second in ("", *sigils)
        for following in ("", "task/x:a/1", " a")
    ]
    usual = json.dumps({**SEED, "content": "HERE"}, ensure_ascii=False, separators=(",", ":"))
    judged = [0, 0]
    for content in contents[::7]:  # coprime with the sizes of all lists: each pair of choices is there
        text = usual.replace("HERE", content)
        found = native.check(native.decode(text))
        assert found == pure.check(pure.decode(text)), text
        judged[bool(found)] += 1
    assert min(judged) > 40


@needs_both
def test_what_is_set_is_judged() -> None:
    native = NATIVE
    text = json.dumps(SEED, ensure_ascii=False, separators=(",", ":"))
    for name, value in (("id", "x"), ("timestamp", "x"), ("content", "x"), ("correlation_id", "x"), ("sender", 3)):
        envelope = native.decode(text)
        assert native.check(envelope) == [] and native.encode(envelope) == text
        setattr(envelope, name, value)
        assert native.check(envelope)
    envelope = native.decode(text)
    del envelope.content
    assert native.check(envelope)
    envelope = native.decode(text)
    envelope.extra["more"] = 1
    assert native.encode(envelope) == f'{text[:-1]},"more":1}}'
    assert native.decode(text, limits=LIMITS._replace(key=99)) == native.decode(text)


@needs_both
def test_unknown_keys_are_written_and_told_of() -> None:
    native, pure = NATIVE, PURE
    deep: Any = 1
    for _ in range(LIMITS.nesting):
        deep = [deep]
    extras: list[dict[Any, Any]] = [
        *({"more": value} for value in (None, 1, 1.5, True, [], {"a": ["é", "😀"]}, "\ud800", {1: 2}, float("nan"))),
        *({"more": value} for value in (deep, deep[0], (1, 2), object())),
        *({key: 1} for key in ("", "id", "correlation_id", "Id", "レ", "\ud800", "a/b~c", "x" * 2000)),
        {"one": 1, "two": 2},
        {"correlation_id": 1, "two": 2},
    ]
    for fields in (SEED, REPORT, ALERT, {**REPORT, "sender": "Nobody"}, {**REPORT, "id": "x"}):
        for extra in extras:
            found = []
            for core in (native, pure):
                envelope = core.Envelope.from_dict(fields)
                envelope.extra = dict(extra)
                issues = core.check(envelope)
                found.append([issues, *(outcome(core.encode, envelope, strict) for strict in (True, False))])
            assert found[0] == found[1], extra
            assert any(issue.reason == "unknown_key" for issue in found[0][0])


@needs_both
def test_what_the_policy_says_is_said_again_whoever_speaks_and_however_that_is_written() -> None:
    names = [
        "WePlan",
        "We\\u0050lan",
        "Nobody",
        "No\\u0062ody",
        "n" * 600,
        "レ" * 99,
        "\\ud83d\\ude00",
        ORCHESTRATOR,
        "",
    ]
    for text in (json.dumps(one, ensure_ascii=False) for one in (SEED, REPORT, {**REPORT, "correlation_id": OTHER})):
        for field in ("sender", "receiver", "channel"):
            value = json.dumps(json.loads(text)[field], ensure_ascii=False)
            for name in [*names, ORCHESTRATOR, "⫻report/status", "\\u2afbreport/status", "⫻report/other"] * 2:
                changed = text.replace(f'"{field}": {value}', f'"{field}": "{name}"')
                assert told(NATIVE, changed) == told(PURE, changed), changed


def test_an_envelope_that_was_made_is_judged_again_when_it_is_changed(backend: str) -> None:
    wire = Envelopes(backend)
    envelope = kick.Envelope(**REPORT, correlation_id=OTHER)  # type: ignore[arg-type]
    for _ in range(2):
        assert wire.check(envelope) == [] and json.loads(wire.encode(envelope)) == {**REPORT, "correlation_id": OTHER}
    envelope.correlation_id = None
    assert [issue.reason for issue in wire.check(envelope)] == ["missing_correlation_id"]
    raised(EncodeError, wire.encode, envelope)
    envelope.correlation_id = OTHER
    envelope.extra["more"] = [1]
    assert wire.encode(envelope).endswith(f'"{OTHER}","more":[1]}}')
    assert [issue.reason for issue in wire.check(envelope)] == ["unknown_key"]
