"""The conformance cases of CSP/1 and the examples of the specification."""

from __future__ import annotations

import pytest

from tests import vectors
from tests.csp.shapes import shape
from turnwire import csp
from turnwire.errors import DecodeError


@vectors.cases("csp", kind="parse")
def test_parse(case):
    if "error" in case:
        with pytest.raises(DecodeError) as caught:
            csp.parse(case["text"], mode=case["mode"])
        assert (caught.value.reason, caught.value.line) == (case["error"], case["at"])
        assert caught.value.wire == "csp"
        lines = case["text"].encode()[: caught.value.offset].count(b"\n")
        assert lines + 1 == case["at"]
        return
    document = csp.parse(case["text"], mode=case["mode"])
    assert [shape(record) for record in document.records] == case["expect"]["records"]
    assert [[found.reason, found.where] for found in document.issues] == case["expect"]["issues"]


@vectors.cases("csp", kind="refs")
def test_refs(case):
    assert [list(ref) for ref in csp.refs(case["text"])] == case["expect"]
