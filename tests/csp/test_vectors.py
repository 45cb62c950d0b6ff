"""The conformance cases of CSP/1 and the examples of the specification."""

from __future__ import annotations

from tests import vectors
from tests.conftest import raised
from tests.csp.generate import kept, shape
from turnwire import csp
from turnwire.errors import DecodeError, RuleError


@vectors.cases("csp", kind="parse")
def test_parse(case):
    if "error" in case:
        caught = raised(DecodeError, csp.parse, case["text"], mode=case["mode"])
        assert (caught.reason, caught.line) == (case["error"], case["at"])
        assert caught.wire == "csp"
        lines = case["text"].encode()[: caught.offset].count(b"\n")
        assert lines + 1 == case["at"]
        return
    document = csp.parse(case["text"], mode=case["mode"])
    assert [shape(record) for record in document.records] == case["expect"]["records"]
    assert [[found.reason, found.where] for found in document.issues] == case["expect"]["issues"]


@vectors.cases("csp", kind="refs")
def test_refs(case):
    assert [list(ref) for ref in csp.refs(case["text"])] == case["expect"]


@vectors.cases("csp", kind="state")
def test_state(case):
    store = csp.Store(defs=case["init"])
    messages = csp.parse(case["text"]).messages
    if "error" not in case:
        for message in messages:
            store.apply(message)
        assert store.head == case["expect"]["head"]
        assert dict(store.at(store.head).defs) == case["expect"]["defs"]
        assert store.checkpoints == case["expect"]["checkpoints"]
        assert store.verify()
        return
    for message in messages[:-1]:
        store.apply(message)
    before = kept(store)
    caught = raised(RuleError, store.apply, messages[-1])
    assert (caught.reason, caught.path) == (case["error"], case["at"])
    assert kept(store) == before
