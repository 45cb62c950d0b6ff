"""What runs the entries: workloads for those whose calls are recorded, and direct ones for what cannot be replaced."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import cache, partial
from importlib import import_module
from typing import Any

import turnwire
from tests.entries.found import LEFT_OUT, Call, Recorder, ended, entries, modules
from tests.fuzz.seeds import seeds
from tests.fuzz.targets import TARGETS
from turnwire import csp, kick, nslip, session
from turnwire.csp import spec
from turnwire.errors import WireError

NSLIP = '@a3|f0|c1|S0|d1|T1|gH|t"he\\"llo"#'
PART = b"2026-05-04T10:00:00Z stdout P a\n2026-05-04T10:00:00Z stdout F b\n"
PREFIXED = b"2026-05-04T10:00:00Z x: CSP/1\n2026-05-04T10:00:01Z x: FROM a\n"
EVENTS = [{"at": f"2026-05-04T10:00:0{n}Z", "from": "ada", "n": n, "say": ["x", {"y": n * 2}]} for n in range(4)]
EVENTS += [{"at": f"2026-05-04T10:01:0{n}Z", "from": "bob", "n": n, "done": True} for n in range(3)]
"""Events of two templates, the second told by the first."""


@cache
def good(wire: str) -> bytes:
    """A good message of a wire, of its vectors."""
    decode = import_module(f"turnwire.{wire}").decode
    return next(text for text in seeds(f"decode-{wire}") if refused(decode, text) is None)


def refused(call: Callable[..., Any], *arguments: Any) -> WireError | None:
    """How a call is refused; None where it is not."""
    try:
        call(*arguments)
    except WireError as error:
        return error
    return None


def _wire(wire: str, data: bytes) -> Call:
    def run() -> Any:
        message = turnwire.decode(data, wire)
        return turnwire.encode(message), turnwire.check(message)

    return run


def _slip() -> Any:
    message = nslip.decode(NSLIP)
    again = type(message).from_dict(message.to_dict())
    return (
        message.replace(turn=2),
        again.get(nslip.Slot.TAG),
        again.get(99, "none"),
        again._repr_html_(),
        again == message,
    )


def _section() -> Any:
    _, _, found, _ = import_module("turnwire._native.kick.format").parse("\u2afbgoal/a:now\nwin\n\u2afbdata/b\nx\n")
    return [(one.to_dict(), one.replace(content="x"), repr(one), hash(one), one == one.replace()) for one in found]


def _envelope(data: bytes) -> Any:
    envelope = kick.decode(data)
    again = type(envelope).from_dict(envelope.to_dict())
    return again.replace(channel="x"), envelope.family, envelope._repr_html_(), again == envelope, kick.encode(again)


def _session() -> Any:
    text = session.encode(EVENTS, tokenizer=None)  # no library of tokenizers, which ends the process without memory
    writer, reader = session.Writer(tokenizer=None), session.Reader()
    return session.decode(text), [writer.add(event) for event in EVENTS], reader.feed(text), reader.close()


def _told() -> Any:
    """Templates that are told by others, as they are where nothing has an alias."""
    return session.encode(EVENTS, tokenizer=None, aliases=False)


def _chain() -> Any:
    chain = _core("session.checks").Chain("%1\n")
    chain.anchor("*")
    return chain.pair("x"), chain.follows("x", "!!"), chain.sum(), chain.sealed("=1")


def _cut(key: str) -> tuple[str, str]:
    return (key[:-1], "?") if key[-1:] == "?" else (key, "")


def _repeats() -> Any:
    core = _core("session.repeats")
    index = core.Index("so and so")
    chosen = index.choose({"nd": 9.0, "an": 5.0}, "\u3044", {}, {"an"}, len, 1.0)
    found = (
        index.count("so"),
        index.around("so", 2, 4),
        index.replace("so", "\u3042"),
        index.named({"\u3042": "\u3044"}),
        chosen,
    )
    text, many = core.unhyphened("id 0f8fad5b-d9cb-469f-a165-70867728950e")
    expanded = core.Expander("\u3042-").expand(f"\u3042say\u3042 so, \u3042 {text}")
    return expanded, core.hyphened(text), many, found


def _conform() -> Any:
    return repr(csp.conformance(good("csp").replace(b"\r\n", b"\n")))


def _ledger() -> Any:
    core = import_module("turnwire._native.ledger.hashing")
    start = bytes(32)
    rows, leaves, chain = core.seal(0, 5, [("k", b"x", "key"), ("k", b"y", "key")], start)
    core.use_portable(False)
    return chain, core.follow(rows, 0, start), core.link(start, leaves[0]), core.leaf_of(1, 2, "k", "key", b"x")


def _arrow() -> Any:
    return [len(batch.__arrow_c_array__()) for batch in turnwire.scan(NSLIP.encode() * 2, wire="nslip")]


def several(each: int = 9, targets: tuple[str, ...] | None = None) -> Iterator[Call]:
    """What is run while calls are recorded: targets of fuzzing (all, or these) on each so many of their seeds, and what
    they do not reach."""
    for name in targets or TARGETS:
        for data in seeds(name)[::each]:
            yield partial(TARGETS[name], turnwire, data)
    for wire in ("nslip", "csp", "sstp", "sap", "kick"):
        yield _wire(wire, good(wire))
    yield from (_session, _ledger, _arrow, _escaped)


def _escaped() -> Any:
    data = b"\n".join(
        json.dumps({**json.loads(good("kick")), "content": text}).encode() for text in ('say "hi"\n' * 4, "é" * 20, "x")
    )
    return [len(batch.__arrow_c_array__()) for batch in turnwire.scan(data, wire="kick")]


def _packed() -> Any:
    return [len(batch.__arrow_c_array__()) for batch in turnwire.scan(good("csp"), wire="csp")]


LONG = 'say "hi" to \u00e9\n' * 300
"""A text for which no room on the stack is enough."""


def _tags() -> Any:
    """More texts than are kept, one message after the other: of those that are gone many are kept, too."""
    for number in range(300):
        nslip.decode(f'@a3|f0|c1|S0|d1|T1|t"tag{number}"#')
    return None


def _wide() -> Any:
    """Objects of more keys than there is room for at first, some with escapes, on every wire of JSON, and good ones
    inside."""
    keys = ",".join(f'"k{number}\\u00e9":{number},"l{number}":[{number}]' for number in range(200))
    found = []
    for wire in ("sstp", "sap", "kick"):
        text = good(wire).decode()
        lines = (text, text.replace("{", "{" + keys + ",", 1), "{" + keys + "}", json.dumps({"a": [text] * 30}))
        found.append(sum(map(len, turnwire.scan("\n".join(lines).encode(), wire=wire))))
    return found


def _long(wire: str) -> Any:
    """A message with a long text is written and judged, and refused for what is behind that."""
    for value in (LONG, [LONG, object()]):
        ended(partial(_core("json.canonical").canonical, {"a": value, "b": [value] * 2}))
        message: Any = turnwire.decode(good(wire), wire)
        if wire == "kick":
            message = message.replace(content=value)
        else:
            message.payload["long"] = value
        for work in (turnwire.check, turnwire.encode):
            ended(partial(work, message))
    return None


def _long_slip() -> Any:
    message = nslip.decode(NSLIP)
    for tag in (LONG, LONG + "\ud800"):
        message.slots[nslip.Slot.TAG] = tag
        ended(partial(nslip.encode, message))
    return nslip.decode(f'@a3|f0|c1|S0|d1|T1|t"{LONG.replace(chr(34), chr(92) + chr(34)).replace(chr(10), "")}"#')


def _fields() -> Any:
    """More fields, and more heredocs that close, than there is room for at first."""
    fields = "".join(f"K{number} v\n" for number in range(200))
    text = f"CSP/1\nFROM A\nTO B\nCTX C0\nINTENT PLAN\n\nPLAN P1\n{fields}\n"
    long = text.replace("K199 v", f"K199\n{'<' * 220}\n" + "".join(f"{'>' * run}\n" for run in range(3, 221)))
    return [sum(map(len, turnwire.scan((one * 3).encode(), wire="csp"))) for one in (text, long)], csp.decode(long)


def _core(name: str) -> Any:
    return import_module(f"turnwire._native.{name}")


def _direct() -> dict[str, tuple[Call, ...]]:
    """Calls of entries that the package keeps where no recorder finds them, and of methods."""
    codec, envelope, space = _core("nslip.codec"), _core("kick.envelope"), _core("kick.format")
    cuts, ledger, reader = (
        _core("csp.cuts"),
        _core("ledger.hashing"),
        _core("json.text").Reader("sap", ("task_id", "type")),
    )
    message, start, letter = nslip.decode(NSLIP), bytes(32), kick.decode(good("kick"))
    csps = _wire("csp", good("csp"))
    sap, sstp = _wire("sap", good("sap")), _wire("sstp", good("sstp"))
    bad = b'{"type":"x","a":[1,{"b":nul}]}'
    texts = dict.fromkeys(("know", "go_on", "read", "settled", "quiet"), (_conform,))
    judge = dict.fromkeys(
        ("is_plain", "is_plain_text", "is_known", "decode", "message", "text"),
        (sstp, partial(turnwire.decode, bad, "sstp")),
    )
    made = dict.fromkeys(("read", "is_calm", "made", "is_clean", "text"), (sap, partial(turnwire.decode, bad, "sap")))
    state = dict.fromkeys(("enter", "expect", "moved", "later", "distance", "put", "close"), (_session,))
    letters = dict.fromkeys(("replace", "to_dict", "from_dict"), (partial(_envelope, good("kick")),))
    chains = dict.fromkeys(("follows", "sealed", "pair", "sum", "anchor"), (_chain,))
    slips = dict.fromkeys(("get", "replace", "to_dict", "from_dict"), (_slip, partial(message.replace, turn=-1)))
    return {
        **{f"csp.texts.Texts.{name}": calls for name, calls in texts.items()},
        **{f"csp.codec.{name}": (csps,) for name in ("usual_text", "is_clean", "decode", "encode", "check")},
        "csp.codec.usual_message": (csps, partial(turnwire.decode, b"CSP/1 a->b", "csp")),
        **{f"session.checks.Chain.{name}": calls for name, calls in chains.items()},
        "session.repeats.Expander.expand": (
            _repeats,
            partial(_core("session.repeats").Expander("\u3042").expand, "\u3042"),
        ),
        "session.repeats.hyphened": (_repeats,),
        "session.repeats.runs": tuple(
            partial(_core("session.repeats").runs, *given)
            for given in (([0, 1, -1, 0, 1, -2], [3.0, 2.0], 5), ([0], [3.0], 5), ([0, -1], [], 5), ([0, -1], ["x"], 5))
        ),
        **{f"session.repeats.Index.{name}": (_repeats,) for name in ("count", "replace", "around", "choose", "named")},
        **{f"json.sstp.Judge.{name}": calls for name, calls in judge.items()},
        **{f"json.sap.Messages.{name}": calls for name, calls in made.items()},
        **{f"session.state.State.{name}": calls for name, calls in state.items()},
        **{f"session.judging.Judge.{name}": (_session,) for name in ("judged", "parted", "weigh")},
        "session.judging.Judge.derived": (_told,),
        **{f"space.envelope.Envelope.{name}": calls for name, calls in letters.items()},
        **{f"nslip.codec.SlipMessage.{name}": calls for name, calls in slips.items()},
        **{f"space.format.Section.{name}": (_section,) for name in ("replace", "to_dict")},
        **{
            f"json.text.Reader.{name}": (partial(call, good("sap")), partial(call, bad), partial(call, b"\xff"))
            for name, call in (("read", reader.read), ("read_source", reader.read_source), ("refusal", reader.refusal))
        },
        "json.text.Reader.find": (partial(reader.find, good("sap"), 0), partial(reader.find, bad, 0)),
        "json.text.item": tuple(partial(_core("json.text").item, b'[1,{"a":2}]', 0, index) for index in (0, 1, 2)),
        "json.write.text_of": (partial(_core("json.write").text_of, b'{"a":"\xc3\xa9"}'),),
        "json.sap.clean": (sap, partial(_core_clear, good("sap"))),
        "common.ledger.use_portable": (partial(ledger.use_portable, False),),
        "common.ledger.digest": (partial(ledger.digest, b"head", b"body"), partial(ledger.digest, "head", b"body")),
        "common.ledger.leaf_of": (
            partial(ledger.leaf_of, 1, 2, "k", "key", b"body"),
            partial(ledger.leaf_of, 1, 2, "\ud800", "key", b"body"),
            partial(ledger.leaf_of, 1, 2, "k", "key" * 5000, b"body"),
            partial(ledger.leaf_of, 1, 2, "k" * 70_000, "key", b"body"),
        ),
        "common.ledger.link": (partial(ledger.link, start, start), partial(ledger.link, start, None)),
        "common.ledger.seal": (
            _ledger,
            *(partial(ledger.seal, 0, 5, [item], start) for item in (("k", b"x", "\ud800"), ("k", None, "x"), ("k",))),
        ),
        "common.ledger.follow": (_ledger, partial(ledger.follow, [(1, 2)], 0, start)),
        "common.ledger.fold": tuple(partial(ledger.fold, one) for one in ([start] * 8, [start] * 3, [None])),
        "common.processor.cpu_features": (_core("common.processor").cpu_features,),
        "csp.codec.tables_at": (partial(_core("csp.codec").tables_at, 0, good("csp")),),
        "csp.codec.scan_into": (_scanned_into, _fields),
        "json.lines.scan_block": (_wide,),
        "json.sap.quiet": tuple(
            partial(_core("sap.codec").quiet, one) for one in ({"a": ["x", 1]}, {"a": "@b"}, [object()])
        ),
        "json.write.write": tuple(partial(_long, wire) for wire in ("sstp", "sap", "kick")),
        "log.prefixed.message": tuple(
            partial(_core("framing.prefixed").message, data, 0, len(data), True, limit)
            for data, limit in ((PREFIXED, 99), (PREFIXED, 9), (b"xCSP/1\n", 9), (b"", 9))
        ),
        "log.prefixed.parts": tuple(
            partial(_core("framing.prefixed").parts, data, 0, len(data), True, limit)
            for data, limit in ((PART, 99), (PART, 9), (b"xCSP/1\n", 9), (b"", 9))
        ),
        "log.arrays.bitmap": (_arrow,),
        "log.arrays.export": (_arrow,),
        "log.arrays.exported": (_core("log.arrays").exported,),
        "log.views.string_views": (_arrow,),
        "log.views.text_views": (_escaped,),
        "log.views.packed_views": (_packed,),
        "log.views.number_views": (_arrow,),
        "log.views.escaped_views": (_escaped,),
        "nslip.codec.decode": (
            partial(codec.decode, NSLIP),
            partial(codec.decode, NSLIP[:-1]),
            partial(codec.decode, 3),
            _tags,
        ),
        "nslip.codec.encode": (partial(codec.encode, message), partial(codec.encode, None), _long_slip),
        "nslip.codec.is_clean": (partial(codec.is_clean, message), partial(codec.is_clean, None)),
        "nslip.codec.check": (partial(codec.check, message), partial(codec.check, None)),
        "nslip.codec.decode_record": (
            partial(codec.decode_record, NSLIP.encode(), 0, True),
            partial(codec.decode_record, NSLIP.encode()[:-9], 0, False),
            partial(codec.decode_record, NSLIP.encode()[:-9], 0, True),
        ),
        **{f"session.{name}": (_session,) for name in ("state.expected", "state.written", "state.read")},
        "session.state.time_of": (partial(_core("session.state").time_of, "2026-05-04T10:00:00Z"),),
        "session.state.one_more": (partial(_core("session.state").one_more, "a9"),),
        **{f"session.values.{name}": (_session,) for name in ("flatten", "built", "text_of")},
        "session.values.string_of": (
            partial(_core("session.values").string_of, ('{"a":', 0, "}"), 1, ["x"], [None]),
            partial(_core("session.values").string_of, ('{"a":', 0, "}"), 1, [b"1.50"], [None]),
        ),
        "session.drafts.read": (
            partial(_core("session.drafts").read, '{a:1 b?:["x"] c:{d:"e\\n"} f:[{g} {h}]}', _cut),
            partial(_core("session.drafts").read, "{a:1e5}", _cut),
        ),
        "space.envelope.build": (
            partial(envelope.build, letter.to_dict()),
            partial(envelope.build, {"id": 1}),
        ),
        "space.envelope.decode": (partial(envelope.decode, good("kick")), partial(envelope.decode, b"{")),
        "space.envelope.is_uuid4": (partial(envelope.is_uuid4, letter.id), partial(envelope.is_uuid4, None)),
        "space.envelope.is_plain_time": (partial(envelope.is_plain_time, letter.timestamp),),
        "space.envelope.is_clean": (partial(envelope.is_clean, letter, {}),),
        "space.envelope.remarks": (partial(envelope.remarks, letter, {}),),
        "space.envelope.encode": (partial(envelope.encode, letter), partial(envelope.encode, 3)),
        "space.envelope.all_clear": (partial(envelope.all_clear, good("kick")), partial(envelope.all_clear, b"{")),
        "space.format.opening": (partial(space.opening, ":::Goal"), partial(space.opening, "x")),
        "space.format.choose_simd": (partial(space.choose_simd, space.SIMD), partial(space.choose_simd, None)),
        "csp.cuts.choose_simd": (partial(cuts.choose_simd, cuts.SIMD), partial(cuts.choose_simd, None)),
        "space.format.has_section": (partial(space.has_section, "## Goal\nwin"),),
    }


def _core_clear(data: bytes) -> bool:
    return bool(import_module("turnwire.sap.codec").all_clear(data))


def _scanned_into() -> Any:
    core, data = _core("csp.codec"), good("csp")
    widths = (spec.ROW_WIDTH, spec.EXTRA_WIDTH, spec.REJECT_WIDTH)
    tables = [memoryview(bytearray(4 * 64 * width)).cast("i", (64, width)) for width in widths]
    state = memoryview(bytearray(8 * spec.STATE_WIDTH)).cast("q")
    return core.scan_into(data, 0, len(data), True, core.NO_LIMIT, state, *tables)


@cache
def calls(targets: tuple[str, ...] | None = None) -> dict[str, list[Call]]:
    """Calls of each entry; where one has none, a test says so. targets: those that are run, instead of all."""
    recorder = Recorder()
    found = list(modules())
    for call in several(45, targets):  # what is made once is made
        ended(call)
    with recorder.installed():
        for call in several(targets=targets):
            ended(call)
    recorded = {name: [call for way in ways.values() for call in way] for name, ways in recorder.calls.items()}
    direct = _direct()
    assert len(found) > 20
    return {name: recorded.get(name, []) + list(direct.get(name, ())) for name in entries() if name not in LEFT_OUT}


WHOLE = (_slip, _section, _session, _conform, _ledger, _arrow, _escaped, _scanned_into)
"""What runs several entries, and is not to be refused."""
