"""The compiled codec takes no object of which the judge has something to say."""

from __future__ import annotations

import json
from functools import cache
from math import inf, nan
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from tests.conftest import PURE_ONLY, rounds
from tests.sap.documents import RESULT, TASK, changed
from tests.sap.test_conformance import pointers
from turnwire import sap
from turnwire.errors import DecodeError, EncodeError
from turnwire.json import _codec_py as pure
from turnwire.json.text import reader
from turnwire.sap import codec
from turnwire.sap.messages import KEYS, MESSAGES
from turnwire.sap.rules import judge, secrets
from turnwire.sap.spec import WIRE

needs_native = pytest.mark.skipif(PURE_ONLY, reason="there is no twin to compare with")
TIMES = st.from_regex(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt ][0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]+)?([Zz]|[+-][0-9]{2}:[0-9]{2})"
)
VALUES = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=6)
    | TIMES
    | st.datetimes().map(lambda moment: moment.strftime("%Y-%m-%dT%H:%M:%SZ"))
    | st.uuids().map(str)
    | st.sampled_from(
        ["2.0", "instant", "agent", "SUCCEEDED", "sha256:" + "0" * 64, "7fbb32b6-0d2c-4c1a-9b75-2a4b3b0b6c0é"]
    )
    | st.lists(st.text(max_size=3) | st.integers() | st.just({}), max_size=3)
    | st.dictionaries(st.text(max_size=3), st.integers(-1, 102) | st.floats() | st.none(), max_size=3)
)


@needs_native
@pytest.mark.parametrize("number", [0, 1.5, 100, 100.0, 100.5, -0.0, -1, 1e300, True, "1", inf, -inf, nan])
def test_sound_numbers(number: Any) -> None:
    """In each place that takes numbers."""
    from turnwire._native.json import codec as native

    for table, document, place, value in (
        (sap.Task.TABLE, TASK, "/telemetry/budget", {"tokens": number}),
        (sap.Task.TABLE, TASK, "/constitutionalContext/pressure", {"p": number}),
        (sap.Result.TABLE, RESULT, "/constitutionalEvidence/pressureReadings", {"p": number}),
    ):
        bent = changed(document, place, value)
        sound = next(judge(bent, table), None) is None
        assert sound or not codec._rules(table, native).follows(bent), place


@cache
def _native() -> Any:
    from turnwire._native.json import codec as native

    return codec.codec_of(native, reader(WIRE, KEYS).read_source)


@cache
def _pure() -> Any:
    return codec.codec_of(pure, None)


def _purely_written(message: Any, strict: bool) -> str | None:
    """The text that is written without the compiled twin, None where it is refused."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(codec, "_core", pure)
        patch.setattr(codec, "_codec", _pure())
        try:
            return sap.encode(message, strict)
        except EncodeError:
            return None


@needs_native
@pytest.mark.parametrize("strict", [True, False])
@pytest.mark.parametrize(("cls", "document"), [(sap.Task, TASK), (sap.Result, RESULT)])
def test_good_messages_are_written_by_the_writer(cls: Any, document: dict[str, Any], strict: bool) -> None:
    for message in (cls.from_dict(document), sap.decode(json.dumps(document, separators=(",", ":")))):
        assert json.loads(_native().text(message, strict)) == document
        assert json.loads(_purely_written(message, strict) or "") == document


WORDS = """sk- AKIA ghp_ github_pat_ xoxb- AIza eyJ .eyJ ----- . password apiKey Token _pwd client-secret AUTHORIZATION
    credential PassPhrase access_key é A1A1A1A1A1A1A1A1 a1a1a1a1a1a1a1a1a1a1a1a1"""
PIECES = st.sampled_from([*WORDS.split(), "Bearer ", "Basic ", "-----BEGIN ", "PRIVATE KEY", " ", "\u017f", "\u212a"])
TEXTS = st.lists(PIECES, max_size=6).map("".join)
PAYLOADS = st.recursive(
    TEXTS | st.integers(), lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3)
)


@needs_native
@settings(max_examples=rounds(60))
@given(PAYLOADS)
def test_a_compiled_quiet_means_that_there_is_no_secret(payload: Any) -> None:
    from turnwire._native.json import codec as native

    assert not native.quiet(payload) or list(secrets(payload, "")) == []


@needs_native
@settings(max_examples=rounds(150))
@given(
    document=st.sampled_from([TASK, RESULT]),
    value=VALUES | st.sampled_from(["https://u:p@h/", "a@b", "ubos:x"]),
    strict=st.booleans(),
    nested=st.booleans(),
    data=st.data(),
)
def test_the_twins_agree_about_a_document_with_one_other_value(
    document: dict[str, Any], value: Any, strict: bool, nested: bool, data: st.DataObject
) -> None:
    """A message that one of them takes as sound and clean and writes in one pass is so by the other's rules."""
    places = [*pointers(document, ""), "/attachments", "/artifacts", "/error"]
    bent = changed(document, data.draw(st.sampled_from(places)), {"a": value} if nested else value)
    from turnwire._native.json import codec as core

    for table in MESSAGES:
        assert not codec._rules(table, core).follows(bent) or next(judge(bent, table), None) is None
    native = _native()
    if isinstance(bent, dict) and (found := native.made(bent, None)) is not None:
        assert type(found) is sap.codec.kind_of(bent) and found._fields is bent
        assert next(judge(bent, found.TABLE), None) is None
        found.fields["taskId"] = "none"  # what was known of it is forgotten
        assert not native.is_clean(found) and native.text(found, True) is None
        del found.fields["taskId"]
    for cls in (sap.Task, sap.Result):
        message = cls.from_dict(bent if isinstance(bent, dict) else {})
        assert native.text(message, strict) in (
            None,
            _purely_written(message, strict),
        )  # one leaves integers beyond 64 bits
        if native.is_clean(message):
            assert next(judge(bent, cls.TABLE), None) is None
            assert sap.rules.lint(message) == sap.rules.conditions(message) == []


@needs_native
@pytest.mark.parametrize(("cls", "document"), [(sap.Task, TASK), (sap.Result, RESULT)])
def test_the_examples_of_the_document_are_made_and_clean(cls: Any, document: dict[str, Any]) -> None:
    native = _native()
    assert type(native.made(document, None)) is cls
    assert native.is_clean(cls.from_dict(document)) and native.is_clean(sap.decode(json.dumps(document)))
    assert not native.is_clean(cls.from_dict({}))


@needs_native
def test_a_quiet_payload_is_called_quiet() -> None:
    from turnwire._native.json import codec as native

    assert native.quiet(TASK["payload"])
    assert not native.quiet({"a": "\ud800" * 20})


@given(at=st.integers(0, 1100), bit=st.integers(0, 7))
@settings(max_examples=rounds(150))
def test_a_flipped_bit_never_crashes(at: int, bit: int) -> None:
    data = bytearray(json.dumps(TASK).encode())
    data[at % len(data)] ^= 1 << bit
    sap.detect(bytes(data))
    try:
        message = sap.decode(data)
    except DecodeError as error:
        place = error.offset
    else:
        place = 0
        sap.check(message)
        assert sap.decode(sap.encode(message, strict=False)) == message
    assert place is not None
    assert 0 <= place <= len(data)


def test_the_published_schema_is_the_current_one() -> None:
    published = Path(__file__).parents[2] / "docs" / "schemas" / "sap.json"
    assert json.loads(published.read_text("utf-8")) == sap.json_schema()
