"""The ConstitutionalCache (section 6): keys, the check behind mustAlign, and vetted outcomes in a ledger."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from hashlib import sha256
from itertools import islice
from time import time
from typing import TYPE_CHECKING, Any, NamedTuple

from turnwire.contract import LIMITS
from turnwire.errors import EncodeError, expect
from turnwire.json import text as json_text
from turnwire.json.text import canonical
from turnwire.ledger import Ledger
from turnwire.sap import spec
from turnwire.sap.builders import Outcome, mode_of, result_for
from turnwire.sap.judgement import Judgement, judge, judged, require_answer
from turnwire.sap.messages import CacheEvidence, Producer, Result, Task, fields_of

if TYPE_CHECKING:
    from typing import Self


class Essence(NamedTuple):
    """A named function that extracts the essence of a payload.

    name: with its version, e.g. "topic-only/2"; it is part of every key, so that another version never matches rows of
        an older one. extract: payload -> JSON value.
    """

    name: str
    extract: Callable[[Mapping[str, Any]], Any]

    def of(self, task: Task) -> Any:
        """Returns the essence of a task's payload with the name of this extractor, or the whole payload without a
        name."""
        if self is WHOLE_PAYLOAD:
            return fields_of(task)["payload"]
        return {"essence": self.extract(task.fields["payload"]), "extractor": self.name}


WHOLE_PAYLOAD = Essence("payload/1", lambda payload: payload)
"""The default."""


def without(names: Iterable[str], version: int) -> Essence:
    """The payload without some of its fields, such as a request number that no output depends on."""
    dropped = frozenset(names)
    label = ",".join(sorted(dropped))

    def extract(payload: Mapping[str, Any]) -> Any:
        return {name: value for name, value in payload.items() if name not in dropped}

    return Essence(f"payload-without:{label}/{version}", extract)


def cache_key(task: Task, *, essence: Essence = WHOLE_PAYLOAD) -> str:
    """The deterministic key of a task's work (section 6): ``sapck1:sha256:`` and 64 hex digits.

    It is the SHA-256 of the canonical JSON of capability, essence, outputContract, principles (sorted, unique),
    sapVersion and territory. Raises EncodeError for a payload without canonical form.
    """
    expect(task, Task, "expected a Task")
    fields = fields_of(task)
    context = fields["constitutionalContext"]
    text = canonical(
        {
            "capability": fields["target"]["capability"],
            "essence": essence.of(task),
            "outputContract": fields.get("outputContract"),
            "principles": sorted(set(context.get("principles", ()))),
            "sapVersion": fields["protocolVersion"],
            "territory": context.get("territory"),
        }
    )
    return "sapck1:sha256:" + sha256(text).hexdigest()


def fingerprint(task: Task, *, essence: Essence = WHOLE_PAYLOAD) -> str:
    """``sha256:`` and the SHA-256 of the canonical JSON of the essence."""
    expect(task, Task, "expected a Task")
    return "sha256:" + sha256(canonical(essence.of(task))).hexdigest()


SNAPSHOT = ("constraints", "objectives", "pressure", "pressureLevel", "riskTolerance")
"""The fields of the context that a cache record keeps for this."""

_LEVELS = [level.value for level in spec.PressureLevel]
_RISKS = [risk.value for risk in spec.RiskTolerance]

Align = Callable[[Mapping[str, Any], Mapping[str, Any]], "str | None"]
"""(context asked for, context at storing) -> why not, or None for aligned."""


def aligned(asked: Mapping[str, Any], stored: Mapping[str, Any]) -> str | None:
    """The reason why an outcome vetted under ``stored`` may not answer ``asked``, or None.

    It may when it was vetted at least as strictly: every constraint and objective asked for was in force, the decision
    level was no lower, the risk tolerance no higher, and every pressure named now was known and no lower.
    """
    for name in ("constraints", "objectives"):
        if name in asked and (missing := set(asked[name]).difference(stored.get(name, ()))):
            return f"{name} not in force when it was stored: {', '.join(sorted(missing))}"
    if not _at_least(asked.get("pressureLevel"), stored.get("pressureLevel"), _LEVELS):
        return "it was decided at a lower pressure level"
    if not _at_least(stored.get("riskTolerance"), asked.get("riskTolerance"), _RISKS, unknown=_RISKS[-1]):
        return "it was decided at a higher risk tolerance"
    then = stored.get("pressure", {})
    for principle, pressure in asked.get("pressure", {}).items():
        if then.get(principle, -1) < pressure:
            return f"the pressure of {principle} was lower or unknown then"
    return None


def _at_least(wanted: Any, found: Any, order: list[str], unknown: str | None = None) -> bool:
    """True if ``found`` is no lower than ``wanted``; nothing wanted is always met, an unknown value never is."""
    wanted = unknown if wanted is None else wanted
    found = unknown if found is None else found
    if wanted is None or wanted == found:
        return True
    return wanted in order and found in order and order.index(found) >= order.index(wanted)


def within(thresholds: Mapping[str, float]) -> Align:
    """Like :func:`aligned`, but also requires that no requested pressure exceeds its learned threshold."""

    def align(asked: Mapping[str, Any], stored: Mapping[str, Any]) -> str | None:
        for principle, pressure in asked.get("pressure", {}).items():
            if pressure > thresholds.get(principle, 100):
                return f"the pressure of {principle} is beyond its learned threshold"
        return aligned(asked, stored)

    return align


KIND = "sap.cache"
MOST_PASSED = 85
"""Records of a key that are looked at, the newest first: as many as the ledger gives in four pages. A key has a row
more each time that its records were too old or not aligned, so there may be any number of them. Which of many is
aligned no index tells at once: what was in force has to hold all that is asked for, in three sets and two orders, and
:class:`Cache` takes any other check."""

CLOCK_SKEW = 5.0
"""Seconds for which a record may seem to be from the future: clocks of several machines differ."""

Moment = datetime | str
"""An aware datetime, or its ISO 8601 text."""


class Hit(NamedTuple):
    """A cached record for a task. record: the stored object (section 6); age_sec: whole seconds; seq: its row."""

    cache_key: str
    age_sec: int
    record: dict[str, Any]
    seq: int

    @property
    def output(self) -> Any:
        """The cached output, or None."""
        return self.record.get("output")

    def result(self, task: Task, producer: str | Producer, *, now: Moment | None = None) -> Result:
        """The Result of ``task`` with the cached output and its evidence (section 6)."""
        evidence = CacheEvidence.of({"hit": True, "cacheKey": self.cache_key, "ageSec": self.age_sec})
        vetted = self.record["alignment"] == spec.Alignment.VALID
        then = {"principle": "constitution", "status": "PASS", "notes": "vetted when it was stored"}
        outcome = Outcome(
            status=spec.Status.SUCCEEDED,
            alignment=spec.Alignment.VALID if vetted else None,
            policy_checks=self.record.get("policyChecks") or ([then] if vetted else None),
            citations=self.record.get("citations"),
            cache=evidence,
        )
        result = result_for(task, outcome, producer, now=None if now is None else _moment(now))
        if "output" in self.record:
            result.output = self.record["output"]
        return result


class Miss(NamedTuple):
    """The cache has no suitable record. reason: "bypass", "absent", "stale", "unaligned", "unvetted" or "no key"; text:
    an explanation."""

    reason: str
    cache_key: str | None = None
    text: str = ""

    def result(self, task: Task, producer: str | Producer, *, now: Moment | None = None) -> Result:
        """The Result of a task whose cache mode is "only": FAILED, CACHE_MISS (section 6)."""
        text = f"the cache has no answer ({self.reason}{': ' if self.text else ''}{self.text})"
        evidence = CacheEvidence(hit=False, cache_key=self.cache_key)
        outcome = Outcome(error=(spec.ErrorCode.CACHE_MISS, text), cache=evidence)
        return result_for(task, outcome, producer, now=_moment(now))

    def __bool__(self) -> bool:
        return False


class Store:
    """A store of SAP in a ledger, which it opens by its path or shares with others. essence: how the essence is drawn
    from a payload."""

    def __init__(self, path: str | os.PathLike[str] | Ledger, essence: Essence) -> None:
        self.ledger = path if isinstance(path, Ledger) else Ledger(path)
        self.essence = essence

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Closes the ledger."""
        self.ledger.close()


class Cache(Store):
    """A cache in a ledger: rows never change, and each new outcome is a new row.

    Args:
        path: the ledger file; several processes may share it. ``":memory:"`` keeps the cache in memory.
        essence: extracts the essence of a payload (default: the whole payload).
        align: the check for mustAlign (default :func:`turnwire.sap.cache.aligned`).
        unvetted: also store unvetted successes (alignment ESCALATE), which hits repeat.
    """

    def __init__(
        self,
        path: str | os.PathLike[str] | Ledger,
        *,
        essence: Essence = WHOLE_PAYLOAD,
        align: Align = aligned,
        unvetted: bool = False,
    ) -> None:
        super().__init__(path, essence)
        self.align = align
        self._unvetted = unvetted

    def key(self, task: Task) -> str:
        """Returns the key of a task in this cache. Raises EncodeError for a payload without canonical form."""
        return cache_key(task, essence=self.essence)

    def get(self, task: Task, now: Moment | None = None) -> Hit | Miss:
        """Returns the newest record that the task's cachePolicy allows, or a Miss with the reason.

        ``now``: for ageSec (default: the clock). A record must be younger than maxAgeSec, at most 5 seconds in the
        future, and with mustAlign (the default) aligned with the task's context. Only the last 85 records of a key are
        considered. Without a policy or a mode the cache is bypassed. Raises RuleError(ledger_broken) for a record that
        was changed.
        """
        expect(task, Task, "get expects a Task")
        if mode_of(task) is spec.CacheMode.BYPASS:
            return Miss("bypass")
        try:
            key = self.key(task)
        except EncodeError as error:
            return Miss("no key", text=str(error))
        moment = time() if now is None else _moment(now).timestamp()
        context = fields_of(task)["constitutionalContext"]
        miss = Miss("absent", key)
        for entry in islice(self.ledger.find(KIND, key), MOST_PASSED):
            record = json_text.read_object(entry.body, spec.WIRE)
            age = moment - datetime.fromisoformat(record["storedAt"]).timestamp()
            unfit = self._unfit(record, age, context)
            if unfit is None:
                return Hit(key, int(max(age, 0)), record, entry.seq)
            miss = Miss(unfit[0], key, unfit[1])
        return miss

    def _unfit(self, record: dict[str, Any], age: float, context: Mapping[str, Any]) -> tuple[str, str] | None:
        """Why a record of this age does not answer a task with this context, None if it does."""
        policy = context["cachePolicy"]
        limit = policy.get("maxAgeSec")
        if age < -CLOCK_SKEW:
            return "stale", f"stored {int(-age)} s from now: a clock was or is wrong"
        if limit is not None and max(age, 0) >= limit:
            return "stale", f"{int(age)} s old, {limit} s allowed"
        if not self._admits(judge(spec.Status.SUCCEEDED, record["alignment"], record.get("policyChecks", ()))):
            return "unvetted", f"stored as {record['alignment']}, which this cache does not return"
        why = self.align(context, record["context"]) if policy.get("mustAlign", True) else None
        return None if why is None else ("unaligned", why)

    def put(self, task: Task, result: Result, now: Moment | None = None) -> int | None:
        """Stores an outcome and returns its row, or None if it is not stored.

        Stores SUCCEEDED and VALID results of tasks that do not bypass the cache (with ``unvetted``, also SUCCEEDED
        and ESCALATE), but none with violations or failed checks, from the cache itself, or larger than a message.
        Raises RuleError(wrong_task, wrong_correlation) if the result is not the task's.
        """
        row = self.row(task, result, now)
        return None if row is None else self.ledger.append_many([row])[0]

    def row(
        self, task: Task, result: Result, now: Moment | None = None, *, key: str | None = None
    ) -> tuple[str, str, str] | None:
        """(kind, body, key) of the row that :meth:`put` would append, or None. Raises the same errors.

        key: the task's key, if known.
        """
        expect(task, Task, "put expects a Task")
        expect(result, Result, "put expects a Result")
        require_answer(task, result)
        if mode_of(task) is spec.CacheMode.BYPASS or not self._admits(judged(result)):
            return None
        try:
            key = self.key(task) if key is None else key
            print_ = fingerprint(task, essence=self.essence)
        except EncodeError:
            return None  # as get says: such a payload has no key
        fields, context = fields_of(result), fields_of(task)["constitutionalContext"]
        evidence = fields["constitutionalEvidence"]
        record: dict[str, Any] = {
            "cacheKey": key,
            "storedAt": spec.write_time(_moment(now)),
            "producer": fields["producer"]["agentId"],
            "alignment": evidence["alignment"],
            "citations": evidence.get("citations", []),
            "fingerprint": print_,
            "sapVersion": fields["protocolVersion"],
            "essence": self.essence.name,
            "context": {name: context[name] for name in SNAPSHOT if name in context},
        }
        if evidence.get("policyChecks"):
            record["policyChecks"] = evidence["policyChecks"]
        if "output" in fields:
            record["output"] = fields["output"]
        body = json_text.write(record, spec.WIRE)
        return None if len(body.encode()) > LIMITS.message else (KIND, body, key)

    def _admits(self, judgement: Judgement) -> bool:
        """True for what this cache keeps, and answers with."""
        return judgement.stored and (judgement.valid or self._unvetted)


def _moment(now: Moment | None) -> datetime:
    return spec.moment_of(now) if isinstance(now, str) else spec.in_utc(now or datetime.now(UTC))
