"""The ConstitutionalCache: keys, modes, ages, alignment, immutability, tenants, versions."""

from __future__ import annotations

import json
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
import rfc8785

from tests import vectors
from tests.conftest import raised
from tests.sap.documents import RESULT, TASK, changed, result, task
from turnwire import LIMITS, sap
from turnwire.errors import EncodeError, RuleError
from turnwire.sap.cache import Essence, aligned, within, without

pytestmark = pytest.mark.once
T0 = "2025-09-28T10:00:00Z"
POLICY = "constitutionalContext__cachePolicy"


@pytest.fixture
def cache(tmp_path: Path) -> sap.Cache:
    return sap.Cache(tmp_path / "cache")


def test_the_key_is_the_one_of_the_readings() -> None:
    context = TASK["constitutionalContext"]
    hashed = {
        "capability": "consult.align",
        "essence": TASK["payload"],
        "territory": "EUFM",
        "principles": sorted(context["principles"]),
        "outputContract": TASK["outputContract"],
        "sapVersion": "2.0",
    }
    assert sap.cache_key(task()) == "sapck1:sha256:" + sha256(rfc8785.dumps(hashed)).hexdigest()
    bare = changed(TASK, "/outputContract", ..., "/constitutionalContext/territory", ..., "/tags", ...)
    del bare["constitutionalContext"]["principles"]
    hashed |= {"territory": None, "principles": [], "outputContract": None}
    assert sap.cache_key(sap.Task.from_dict(bare)) == "sapck1:sha256:" + sha256(rfc8785.dumps(hashed)).hexdigest()
    assert sap.fingerprint(task()) == "sha256:" + sha256(rfc8785.dumps(TASK["payload"])).hexdigest()


def test_what_changes_the_key_and_what_does_not() -> None:
    key = sap.cache_key(task())
    same = [
        {"constitutionalContext__principles": ["strategic_pause", "systems_over_willpower", "blueprint_thinking"] * 2},
        {"payload": {"depth": "detailed", "topic": "UBOS SAP V2"}},
        {"constitutionalContext__riskTolerance": "high"},
        {"target__agentId": "other"},
        {"taskId": "00000000-0000-0000-0000-000000000000"},
        {POLICY: ...},
    ]
    other = [
        {"constitutionalContext__principles": []},
        {"constitutionalContext__territory": "X"},
        {"payload__depth": "brief"},
        {"target__capability": "consult.other"},
        {"outputContract__format": "text"},
        {"outputContract": ...},
    ]
    assert {sap.cache_key(task(**changes)) for changes in same} == {key}
    assert key not in {sap.cache_key(task(**changes)) for changes in other}


def test_put_and_get(cache: sap.Cache) -> None:
    assert not cache.get(task())
    assert cache.put(task(), result(), now=T0) == 1
    hit = cache.get(task(), now="2025-09-28T10:30:00Z")
    assert (hit.age_sec, hit.output, hit.cache_key) == (1800, RESULT["output"], sap.cache_key(task()))
    record = hit.record
    assert (record["producer"], record["alignment"], record["storedAt"]) == ("A-ml-001", "VALID", T0)
    assert record["citations"] == RESULT["constitutionalEvidence"]["citations"]
    assert (record["fingerprint"], record["sapVersion"]) == (sap.fingerprint(task()), "2.0")
    answer = hit.result(task(), "B", now=T0)
    assert sap.check(answer, task=task()) == []
    assert answer.output == RESULT["output"]
    assert answer["constitutionalEvidence"]["policyChecks"] == RESULT["constitutionalEvidence"]["policyChecks"]
    assert answer["constitutionalEvidence"]["cache"] == {"hit": True, "cacheKey": hit.cache_key, "ageSec": 1800}
    assert cache.put(task(), answer) is None  # what came out of the cache does not make it younger


def test_only_on_a_miss(cache: sap.Cache) -> None:
    only = task(**{POLICY: {"mode": "only"}})
    miss = cache.get(only)
    assert isinstance(miss, sap.Miss)
    answer = miss.result(only, "B")
    assert (answer.status, answer.error.code if answer.error else None) == ("FAILED", "CACHE_MISS")
    assert answer.error.message
    assert answer["constitutionalEvidence"] == {
        "alignment": "ESCALATE",
        "policyChecks": [sap.NOT_VETTED],
        "cache": {"hit": False, "cacheKey": sap.cache_key(only)},
    }
    assert sap.check(answer, task=only) == []
    assert sap.encode(answer)


@pytest.mark.parametrize("policy", [..., {}, {"maxAgeSec": 5}, {"mode": "bypass"}])
def test_bypass_reads_nothing_and_writes_nothing(cache: sap.Cache, policy: Any) -> None:
    cache.put(task(), result())
    passing = task(**{POLICY: policy})
    miss = cache.get(passing)
    assert miss.reason == "bypass"
    assert cache.put(passing, result()) is None
    assert len(cache.ledger) == 1


CONTEXT = "constitutionalContext__"


@vectors.cases("sap_forms", kind="age")
def test_ages(cache: sap.Cache, case: dict[str, Any]) -> None:
    asked = task(**{POLICY: case["policy"]})
    cache.put(asked, result(), now=case["stored"])
    answer = cache.get(asked, now=case["now"])
    assert bool(answer) is case["found"]
    assert case["found"] or answer.reason == "stale"


@vectors.cases("sap_forms", kind="alignment")
def test_alignment_is_checked_again_unless_it_must_not(cache: sap.Cache, case: dict[str, Any]) -> None:
    cache.put(task(), result())
    changes = {CONTEXT + name: value for name, value in case["context"].items()}
    changes |= dict.fromkeys((CONTEXT + name for name in case.get("absent", ())), ...)
    for must, expected in (({}, case["found"]), ({"mustAlign": True}, case["found"]), ({"mustAlign": False}, True)):
        answer = cache.get(task(**changes, **{POLICY: {"mode": "prefer", **must}}))
        assert bool(answer) is expected
        assert expected or (answer.reason, bool(answer.text)) == ("unaligned", True)


def test_the_newest_eligible_row_wins(cache: sap.Cache) -> None:
    cache.put(task(), result(output="first"), now="2025-09-28T10:00:00Z")
    cache.put(task(), result(output="second"), now="2025-09-28T10:01:00Z")
    lax = task(**{CONTEXT + "constraints": []})
    cache.put(lax, result(output="third"), now="2025-09-28T10:02:00Z")
    hit = cache.get(task(), now="2025-09-28T10:03:00Z")
    assert (hit.output, hit.age_sec) == ("second", 120)
    newest = cache.get(lax, now="2025-09-28T10:03:00Z")
    assert newest.output == "third"
    assert len(cache.ledger) == 3


def test_results_of_other_tasks_are_refused(cache: sap.Cache) -> None:
    other = "00000000-0000-0000-0000-000000000000"
    for changes in ({"taskId": other}, {"correlationId": other}):
        raised(RuleError, cache.put, task(), result(**changes))


def test_outputs_come_back_exactly(cache: sap.Cache) -> None:
    for output in (None, 2**70, 1.0, "\u2028\x00", [], {"b": 1, "a": [True]}, 0.1):
        asked = task(payload={"output": repr(output)})
        cache.put(asked, result(output=output))
        hit = cache.get(asked)
        assert isinstance(hit, sap.Hit)
        assert json.dumps(hit.result(asked, "B").output) == json.dumps(output)
    bare = task(payload={"no": "output"})
    cache.put(bare, result(output=...))
    hit = cache.get(bare)
    assert isinstance(hit, sap.Hit)
    assert "output" not in hit.result(bare, "B")


def test_a_payload_without_canonical_form_has_no_key(cache: sap.Cache) -> None:
    strange = task(payload={"n": 2**60})
    raised(EncodeError, sap.cache_key, strange)
    miss = cache.get(strange)
    assert miss.reason == "no key"
    assert cache.put(strange, result()) is None


def test_another_essence_meets_more_and_never_the_rows_of_another_version(tmp_path: Path) -> None:
    plain = sap.Cache(tmp_path / "shared")
    plain.put(task(), result())
    first = sap.Cache(tmp_path / "shared", essence=without(["depth"], 1))
    assert not first.get(task())
    first.put(task(), result())
    assert first.get(task(payload__depth="brief"))
    assert not first.get(task(payload__topic="other"))
    assert not sap.Cache(tmp_path / "shared", essence=without(["depth"], 2)).get(task())
    topic = Essence("topic/1", lambda payload: payload["topic"])
    assert sap.Cache(tmp_path / "shared", essence=topic).key(task()) == sap.cache_key(
        task(payload__depth=1), essence=topic
    )


def test_the_bytes_of_a_row_of_the_cache_are_counted_not_its_letters(monkeypatch: pytest.MonkeyPatch) -> None:
    cache = sap.Cache(":memory:")
    asked = sap.Task.from_dict(changed(TASK, "/constitutionalContext/cachePolicy", {"mode": "prefer"}))
    for letter in ("x", "é", "\U0001f600"):
        answer = sap.Result.from_dict(changed(RESULT, "/output", letter * 100))
        row = cache.row(asked, answer)
        size = len(row[1].encode())
        for more in (-1, 0, 1):
            monkeypatch.setattr("turnwire.sap.cache.LIMITS", LIMITS._replace(message=size + more))
            assert (cache.row(asked, answer) is not None) is (more >= 0)
        monkeypatch.undo()


@pytest.mark.parametrize("threshold", [0, 49, 50, 100])
@pytest.mark.parametrize("more", [-1, -0.5, 0, 0.5, 1])
def test_a_pressure_at_its_threshold_is_within_it(threshold, more):
    asked = {"pressure": {"p": threshold + more}}
    told = within({"p": threshold})(asked, asked)
    assert (told is None) is (more <= 0)
    assert (within({})({"pressure": {"p": 100 + more}}, {"pressure": {"p": 200}}) is None) is (more <= 0)


@pytest.mark.parametrize("name", ["pressureLevel", "riskTolerance"])
def test_levels_in_their_order(name):
    from turnwire.sap import cache as alignment

    order = alignment._LEVELS if name == "pressureLevel" else alignment._RISKS
    for asked, wanted in enumerate(order):
        for stored, found in enumerate(order):
            good = stored >= asked if name == "pressureLevel" else stored <= asked
            assert (aligned({name: wanted}, {name: found}) is None) is good
    assert aligned({name: order[0]}, {name: "no such level"}) is not None
