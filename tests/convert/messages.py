"""Messages of every wire, right ones and odd ones, and a context that has whatever any target may ask for."""

from __future__ import annotations

import json
import random
import uuid
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

import turnwire
from tests import vectors
from tests.csp import generate
from tests.kick import traffic
from tests.nslip import twins
from tests.sap.documents import RESULT, TASK
from tests.sstp.examples import example, real
from turnwire import Context, csp, kick, nslip, sap, sstp
from turnwire.conversion.context import as_key
from turnwire.kick.spec import DEFAULT_ROWS

UPSTREAM = Path(__file__).parents[2] / "examples" / "data" / "nslip_upstream.txt"
ID = "7fbb32b6-0d2c-4c1a-9b75-2a4b3b0b6c0b"
DEFAULTS: dict[str, dict[str, Any]] = vectors.load("convert")[0]["defaults"]
DEFAULTS["kick"]["id"] = lambda: str(uuid.uuid4())
FULL = Context(defaults=DEFAULTS)


def explicit(message: Any, target: str, context: Context, **options: Any) -> Context:
    """The context with an explicit value for whatever ``message`` says that the target cannot."""
    for _ in range(4):
        try:
            turnwire.convert(message, target, context=context, **options)
        except turnwire.ConvertError as error:
            if not error.known:
                break
            defaults = DEFAULTS[target]
            values = dict(context.values.get(target, {}))
            for path, fact in error.known.items():
                named = [name for name in defaults if name == path or name.endswith(f":{path}")]
                value = defaults[named[0]]
                values[path] = {**values.get(path, {}), as_key(fact): value() if callable(value) else value}
            context = context.replace(values={**context.values, target: values})
        else:
            break
    return context


_json = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"]), max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("ab.\\:é", max_size=4), inner, max_size=3),
    max_leaves=5,
)  # fmt: skip
_keys = st.sampled_from(["x", "a.b", "meta", "turnwire", "", "é\\", "carried"])
_words = st.sampled_from(
    ["", "x", "<your-agent-id>", "3", "T7", "⫻a/b\nc\n", "⫻", "{}", '{"a":1}', "done", "a\nb\n", ID]
)
texts = _words | st.text(st.characters(exclude_categories=["Cs"]), max_size=30)


@st.composite
def _nslip(draw: st.DrawFn) -> Any:
    if draw(st.booleans()):
        return nslip.SlipMessage(*draw(twins.fields))
    return nslip.decode(draw(twins.kept_wires()), unknown="keep")


@st.composite
def _csp(draw: st.DrawFn) -> Any:
    text = generate.document(draw(st.integers(0, 10**6))).decode("utf-8", "replace")
    mode = draw(st.sampled_from(["lenient", "strict"]))
    try:
        found = csp.parse(text, mode=mode).messages
    except turnwire.DecodeError:
        found = csp.parse(text, mode="lenient").messages
    found = [message for message in found if message.intent in csp.Intent.__members__]
    if not found:
        found = [csp.message("A", "B", "C1", csp.Task("T1", [("REQ", draw(texts)), ("PRIORITY", "P2")]))]
    return draw(st.sampled_from(found))


@st.composite
def _sstp(draw: st.DrawFn) -> Any:
    value = example(draw(st.sampled_from(list(sstp.Kind))))
    for part in draw(st.lists(st.sampled_from([value, value["header"], value["payload"]]), max_size=3)):
        part[draw(_keys.filter(lambda key: key != "turnwire"))] = draw(_json)
    for part in (value["header"], value["payload"]):
        for key in part:
            if isinstance(part[key], str) and key not in ("kind", "schema_id") and draw(st.booleans()):
                part[key] = draw(texts)
    if draw(st.booleans()) and value["header"]["kind"] in ("query", "knowledge"):
        value["header"]["directed_to"] = value["payload"].pop("directed_to", "other")
    if draw(st.booleans()):
        value = dict(reversed(value.items()))
    return sstp.decode(json.dumps(value))


@st.composite
def _sap(draw: st.DrawFn) -> Any:
    value = json.loads(json.dumps(draw(st.sampled_from([TASK, RESULT, *_RECEIPTS]))))
    for key in draw(st.lists(st.sampled_from(list(value)), max_size=4)):
        trial = {name: inner for name, inner in value.items() if name != key}
        value = trial if _reads(trial) else value
    if "payload" in value and draw(st.booleans()):
        value["payload"] = draw(st.dictionaries(st.text("text", max_size=4), _json, max_size=3))
    if "reportedAt" in value:
        value["status"] = draw(st.sampled_from(list(map(str, sap.spec.Status))))
        value["error"] = {"message": draw(texts), "code": "TIMEOUT"}
        if draw(st.booleans()):
            value["output"] = draw(_json)
    if draw(st.booleans()):
        value[draw(_keys)] = draw(_json)
        value = value if _reads(value) and "turnwire" not in str(value.get("meta")) else TASK
    return sap.decode(json.dumps(value))


_RECEIPTS = [
    {"messageId": ID, "correlationId": ID, "status": "ACK"},
    {"messageId": "m", "correlationId": None, "status": "NACK", "reason": "full"},
]


def _reads(value: dict[str, Any]) -> bool:
    try:
        sap.decode(json.dumps(value))
    except turnwire.DecodeError:
        return False
    return True


@st.composite
def _kick(draw: st.DrawFn) -> Any:
    names = st.sampled_from(["Orchestrator", "Broadcast", "WePlan", "nobody known"])
    family, kind = draw(st.sampled_from([(row[0].partition("/")[0], row[1]) for row in DEFAULT_ROWS]))
    channels = ["dispatch", "status", "artifact", "error", "context", "request", "inform", "other", "patch", "learn"]
    channel = f"{family}/{draw(st.sampled_from(channels))}"
    head = draw(st.sampled_from([f"⫻{channel}:T-7/001", f"⫻{channel}", "⫻task/dispatch:T-7/001", "⫻a/b: inline", ""]))
    content = f"{head}\n{draw(texts)}" + draw(st.sampled_from(["", "\n", "\n\n"]))
    words = draw(st.sampled_from(["", "Completed\n", "In Progress\nmore\n", "Failed"]))
    return kick.Envelope(
        draw(st.sampled_from([ID, "no uuid"])),
        draw(
            st.sampled_from(["2026-01-01T00:00:00Z", "2026-01-01T10:00:00.5+02:00", "2026-01-01", "2026-01-01T10:00"])
        ),
        draw(names),
        draw(names),
        kind,
        f"⫻{channel}",
        f"{head}\n{words}" if words else content,
        draw(st.sampled_from([None, ID, "C7"])),
        draw(st.dictionaries(_keys, _json, max_size=2)),
    )


ANY = {"nslip": _nslip(), "csp": _csp(), "sstp": _sstp(), "sap": _sap(), "kick": _kick()}
"""Wire -> a strategy for its messages, right ones and such that reading takes with an issue."""


def right() -> list[Any]:
    """Messages without an issue: the examples of the specifications, real ones, and one of every kind."""
    lines = UPSTREAM.read_text().splitlines()
    found: list[Any] = [nslip.decode(line) for line in (*lines[:4], lines[6])]
    found += [nslip.SlipMessage(3, 1, 0, 1, act, nslip.FrameType.TASK, {nslip.Slot.TAG: "x"}) for act in nslip.Act]
    for intent, lines in generate.GOOD_BLOCKS.items():
        head = ["CSP/1", "FROM MAIN", "TO CODE_EXP", "CTX C0", f"INTENT {intent}", ""]
        found.append(csp.decode("\n".join([*head, *lines]) + "\n"))
    found += [sstp.decode(json.dumps(example(kind))) for kind in sstp.Kind]
    found += [message for message in map(sstp.decode, map(json.dumps, real()[:6])) if not sstp.check(message)]
    found += [sap.decode(json.dumps(value)) for value in (TASK, RESULT, *_RECEIPTS)]
    flow = traffic.Flow(random.Random(1), 0.0, 1)
    flow.begin()
    flow.end()
    flow.alert()
    flow.send("WePlan", "Dima", "Query", "query/context", "⫻query/context:memory/001\nwhere?\n")
    return found + [envelope for _, envelope in flow.steps]
