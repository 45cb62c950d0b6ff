"""Wires that turnwire does not bring: as registered objects and entry points, with all that a wire may have or the
least that it must; their messages, columns, documents and commands.

That every door finds them at the same places is in ``test_doors_agree``; folders are in ``test_registry``, JSON wires
that share words with others in ``test_further_json``.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from datetime import UTC, datetime, timedelta, timezone
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import turnwire
from tests.cli.running import turnwire as run
from tests.conftest import put
from tests.log.conftest import scan_core  # noqa: F401  (a fixture)
from tests.toy_wires import NAMES, leaf
from tests.toy_wires.leaf import Leaf, Sheet
from turnwire import Context, ConvertError, DecodeError, Reason, UnknownName, registry
from turnwire.contract import LINES, Column, TextPlan, Wire, record_bytes
from turnwire.kick import Space
from turnwire.read.located import conform, located

NEEDED = ("detect", "decode", "encode", "message", "check", "prompt")
TEXTS = {
    "note": '{"note":"ask","id":"7","from":"ada","to":"bob","text":"how far?"}',
    "beep": "~ada>bob:hello~",
    "memo": "MEMO ada\nhello\nEND\n",
}
ANSWER = '{"note":"tell","id":"7","from":"bob","to":"ada","text":"done"}'
DAMAGED = {"note": '{"note":"ask","id":"7","from":3}', "beep": "~ada>bob:cut", "memo": "MEMO eve"}
REASONS = {"note": "missing_field", "beep": "bad_framing", "memo": "bad_framing"}
KINDS = {"note": "ask", "beep": "beep", "memo": "calm"}
NSLIP = "@a3|f0|c3|S0|d1|T1#"
REQUEST = '@a3|f0|c3|S0|d1|T1|gH|kg|q2|t"refactor_auth"#'
LOG = f"{TEXTS['note']}\n{NSLIP}\nprose\n{ANSWER}\n{DAMAGED['note']}\n".encode()


@pytest.mark.usefixtures("toys")
@pytest.mark.parametrize("name", TEXTS)
def test_one_door_for_them_too(name: str) -> None:
    text = TEXTS[name]
    assert turnwire.detect(text) == name
    message = turnwire.decode(text)
    assert registry.wire_of(message) == name
    assert turnwire.encode(message) == text
    assert turnwire.check(message) == []
    assert turnwire.prompt(name) == turnwire.wires()[name].prompt()
    assert (*["nslip", "csp", "sstp", "sap", "kick"], "note", "beep", "memo") == turnwire.WIRES
    found = turnwire.extract(f"I say:\n{text.strip()}\nand {NSLIP}")
    assert (found[0].wire, found[0].message) == (name, message)
    assert found[1].wire == "nslip"


@pytest.mark.usefixtures("toys")
def test_a_wire_without_a_plan_is_named() -> None:
    given = dict.fromkeys(NEEDED, lambda _: False)
    for name, style in (("bare", "token"), ("plain", "object")):
        turnwire.register(Wire(name, title="", package="x", style=style, **given))
    with pytest.warns(UserWarning, match="a scan of all wires treats (bare|plain) as text: it has no scanner") as told:
        found = turnwire.scan(LOG)
    assert len(told) == 2
    assert [one.wire for one in found.messages()] == ["note", "nslip", "note"]
    for name in ("bare", "plain"):
        with pytest.raises(UnknownName, match=f"{name} cannot be scanned") as caught:
            turnwire.scan(b"", wire=name)
        assert caught.value.reason is Reason.UNKNOWN_WIRE


@pytest.mark.usefixtures("toys")
def test_conversion_goes_by_the_shape() -> None:
    message = turnwire.decode(TEXTS["note"])
    made = turnwire.convert(message, "csp", context=Context(defaults={"csp": {"QUERY:block.id": "Q1"}}))
    assert made.message.sender == "ada"
    assert turnwire.convert(made.message, "note").message == message
    beep = turnwire.convert(turnwire.decode(TEXTS["beep"]), "memo").message
    assert turnwire.encode(beep) == "MEMO ada\nhelloEND\n"
    assert turnwire.convert(message, "beep").message.text == "how far?"


def test_a_name_is_taken_once() -> None:
    taken = Wire("csp", title="", package="x", style="lines", **dict.fromkeys(NEEDED))
    with pytest.raises(ValueError, match="there is already a wire 'csp'"):
        turnwire.register(taken)
    with pytest.raises(TypeError, match=r"register expects a turnwire.contract.Wire, not str"):
        turnwire.register("csp")  # type: ignore[arg-type]
    turnwire.register(turnwire.wires()["csp"])


def test_an_entry_point_names_a_wire(tmp_path: Path) -> None:
    installed = tmp_path / "toy-1.0.dist-info"
    installed.mkdir()
    (installed / "METADATA").write_text("Metadata-Version: 2.1\nName: toy\nVersion: 1.0\n")
    (installed / "entry_points.txt").write_text(
        "[turnwire.wires]\nmemo = tests.toy_wires.memo:DESCRIPTOR\nlost = tests.toy_wires.lost:DESCRIPTOR\n"
    )
    code = """if True:
        import warnings, turnwire
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            print(*turnwire.wires())
        print([str(each.message) for each in told])
    """
    path = os.pathsep.join([str(tmp_path), str(Path(__file__).parents[1]), *(entry for entry in sys.path if entry)])
    given = {**os.environ, "PYTHONPATH": path}
    done = subprocess.run([sys.executable, "-c", code], env=given, capture_output=True, text=True, check=True)
    names, told = done.stdout.splitlines()
    assert names == "nslip csp sstp sap kick memo"
    assert "the wire 'lost' (tests.toy_wires.lost:DESCRIPTOR) cannot be loaded" in told


def lines(name: str) -> bytes:
    """A log with the message behind a prefix (where it can be), alone, in a string, and a damaged one."""
    text = TEXTS[name].strip()
    prefixed = text if name == "memo" else f"2026-01-02T03:04:05Z INFO {text} sent"
    held = json.dumps({"log": f"so:\n{text}\n"})
    return f"prose ~ MEMO\n{prefixed}\n{NSLIP}\n{text}\n{held}\n{DAMAGED[name]}\n".encode()


@pytest.mark.usefixtures("scan_core", "toys")
@pytest.mark.parametrize("name", TEXTS)
def test_what_a_scan_says_of_them(name: str) -> None:
    message, slip, data = turnwire.decode(TEXTS[name]), turnwire.decode(NSLIP), lines(name)
    every, one = turnwire.scan(data), turnwire.scan(data, wire=name)
    assert [found.message for found in every.messages()] == [message, slip, message, message]
    assert [found.message for found in one.messages()] == [message] * 3
    assert [(bad["wire"], bad["reason"]) for bad in every.rejects.rows()] == [(name, REASONS[name])]
    assert one.rejects.rows() == every.rejects.rows()
    [batch] = turnwire.scan(data)
    assert [batch["kind"][row] for row in (0, 2, 3)] == [KINDS[name]] * 3
    assert [batch["sender"][row] for row in (0, 2, 3)] == ["ada"] * 3
    assert list(batch["receiver"]).count("bob") == 3 * (name != "memo")
    assert batch.valid("time").tolist() == [name != "memo", False, False, False]


@pytest.mark.usefixtures("scan_core", "toys")
@pytest.mark.parametrize("wire", [None, "beep", "memo"])
def test_what_only_begins_as_one_is_text(wire: str | None) -> None:
    for text in (b"~ ~~ ~x>y ~/home\n", b"MEMO To all\nEND\n", b"a ~b MEMO\n"):
        found = turnwire.scan(text, wire=wire)
        assert (sum(map(len, found)), found.rejects.rows()) == (0, [])


@pytest.mark.usefixtures("scan_core", "toys")
def test_own_columns() -> None:
    [batch] = turnwire.scan("\n".join(TEXTS.values()).encode(), wire="beep")
    assert [list(batch[name]) for name in ("speaker", "sender", "text", "subject")] == [["ada"]] * 2 + [["hello"]] * 2
    [batch] = turnwire.scan(b"MEMO ada\nEND\nMEMO bob\nA\nB\nEND\n", wire="memo", columns=["lines", "urgency", "first"])
    assert batch["lines"].tolist() == [0, 2] and batch.codes("urgency").tolist() == [0, 1]
    assert batch.valid("first").tolist() == [False, True] and batch["first"][1] == "A"
    pyarrow = pytest.importorskip("pyarrow")
    table = pyarrow.table(turnwire.scan(b"MEMO bob\nA\nB\nEND\n", wire="memo"))
    assert table.select(["urgency", "lines", "sender"]).to_pylist() == [
        {"urgency": "urgent", "lines": 2, "sender": "bob"}
    ]
    chosen = turnwire.scan(b"MEMO ada\nEND\nMEMO bob\nA\nEND\n", where={"sequence": 1})
    assert [one.message.sender for one in chosen.messages()] == ["bob"]


@pytest.mark.usefixtures("toys")
@pytest.mark.parametrize(("name", "target"), [("note", "beep"), ("beep", "memo"), ("memo", "memo")])
def test_what_the_commands_say_of_them(name: str, target: str, tmp_path: Path) -> None:
    good = f"{TEXTS[name].strip()}\n".encode()
    assert conform(name, good) and not conform(name, f"{DAMAGED[name]}\n".encode())
    assert turnwire.log.stats(good * 3).counts.wires[name] == 3
    log = put(tmp_path / "a.log", good)
    done = run("conform", name, log)
    assert done.code == 0 and "[x]" in done.out.decode()
    assert "ada" in run("convert", "--to", target, "--from", name, log).out.decode()
    assert name in run("report", log, "--output", "-").out.decode()
    for wire in ([], ["--wire", name]):
        rows = run("scan", *wire, "--format", "ndjson", "--output", "-", log).records
        assert [row["sender"] for row in rows] == ["ada"]
    done = run("validate", "--wire", name, log)
    assert done.code == 0 and f"1 good {name} record" in done.err + done.out.decode()


# --- what says only what it must: each door works, or says in words what the wire lacks ---


@pytest.fixture(params=NAMES)
def bare(request: pytest.FixtureRequest, registering: None) -> str:
    """A toy wire without all that a wire may do without."""
    name: str = request.param
    full = import_module(f"tests.toy_wires.{name}").DESCRIPTOR
    given = {key: full._references[key] for key in (*NEEDED, "scanner")}
    turnwire.register(Wire(name, title="", package=full.package, style=full.style, **given))
    return name


@pytest.fixture
def log(bare: str, tmp_path: Path) -> Path:
    """Two good records of the wire, one of nSLIP, a damaged one, and prose."""
    file = put(tmp_path / "a.log", f"prose\n{TEXTS[bare].strip()}\n{REQUEST}\n{TEXTS[bare].strip()}\n{DAMAGED[bare]}\n")
    return file


def test_a_mixed_log_is_converted_but_for_it(bare: str, log: Path) -> None:
    done = run("convert", "--to", "csp", "--json", log)
    rows = [json.loads(line) for line in done.out.splitlines()]
    assert done.code == 1
    refused = [row for row in rows if row.get("error") == "no_counterpart"]
    assert [row["line"] for row in rows] == sorted(row["line"] for row in rows) and len(rows) == 4
    assert len(refused) == 2 and all(
        f"{bare} does not define the meaning of its fields" in row["text"] for row in refused
    )
    assert [row["wire"] for row in rows if "message" in row] == ["csp"]
    said = run("convert", "--to", bare, log)
    assert (said.code, f"{bare} does not define the meaning of its fields" in said.err) == (2, True)
    with pytest.raises(ConvertError) as caught:
        turnwire.convert(turnwire.decode(TEXTS[bare]), "csp")
    assert caught.value.reason is Reason.NO_COUNTERPART
    with pytest.raises(UnknownName, match="does not define the meaning of its fields"):
        turnwire.Converter(bare)


COMMANDS = ("validate", "scan", "stats", "tokens", "tokens --compare", "tokens --advise", "report --output -", "replay")


@pytest.mark.parametrize("command", COMMANDS)
def test_commands_read_it(bare: str, log: Path, command: str) -> None:
    done = run(*command.split(), log)
    assert done.code == (4 if command == "replay" else 1), done.err
    assert bare in done.out.decode() or command in ("stats", "replay")
    assert " 1 rejects" not in done.err and " 1 damaged records" not in done.err


def test_a_message_without_fields_is_refused_in_words() -> None:
    odd = Wire("odd", title="", package=__name__, style=LINES, **dict.fromkeys(NEEDED, str))
    with pytest.raises(UnknownName, match="no method plain_values"):
        odd.plain_values(b"x")


# --- columns ---

DAY_TEXT = re.compile(rb"(?:DAY|T\xc4\xafG)/([0-9]{1,20}) (\w+)(?=\r?\n|\Z)")
DAY_OPENINGS = (b"DAY/", "T\u012fG/".encode())
COLUMN_KINDS = ("text", "u64", "i64", "u8", "f64", "bool", "timestamp", "enum")
FITTING = {
    "kind": {"enum"},
    "sequence": {"u64", "i64", "u8"},
    "time": {"timestamp"},
    "sender": {"text", "u64"},
    "receiver": {"text", "u64"},
    "conversation": {"text", "u64"},
    "subject": {"text"},
}
"""Whole numbers count, and name somebody; a text is a name and a subject; the rest is what it is."""


class Day(NamedTuple):
    """A message of the toy wire."""

    number: int
    text: str


def decode_day(data: Any) -> Day:
    """A day. Raises DecodeError."""
    raw = (record_bytes(data) or b"").strip()
    found = DAY_TEXT.fullmatch(raw)
    if found is None:
        raise DecodeError(Reason.BAD_FRAMING, "a day has a number", offset=min(4, len(raw)), line=1, wire="day")
    return Day(int(found[1]), found[2].decode())


def damaged_day(line: bytes) -> bool:
    """True if a line begins a day."""
    return re.fullmatch(rb"(?:DAY|T..G)/[0-9x]+ \w+", line) is not None


def days(
    columns: tuple[Column, ...] = (), common: Any = None, values: Any = None, whole: re.Pattern[bytes] = DAY_TEXT
) -> Wire:
    """The wire, with columns of its own."""
    return Wire(
        "day",
        title="Days",
        package=__name__,
        style=LINES,
        detect=lambda data: (record_bytes(data) or b"").startswith(DAY_OPENINGS),
        decode=decode_day,
        encode=lambda message, strict=True: f"DAY/{message.number} {message.text}\n",
        message=Day,
        check=lambda message: [],
        prompt=str,
        scanner=TextPlan(DAY_OPENINGS, whole, columns, common or {}, values, damaged_day),
    )


@pytest.mark.usefixtures("registering")
@pytest.mark.parametrize("kind", COLUMN_KINDS)
@pytest.mark.parametrize("name", FITTING)
def test_a_common_column_comes_from_what_fits_it(name: str, kind: str) -> None:
    own = Column("own", kind, names=("a", "b") if kind == "enum" else ())
    moment = datetime(2026, 1, 2, tzinfo=UTC)
    value = {"text": "seven", "enum": "b", "timestamp": moment}.get(kind, 7)
    turnwire.register(days((own,), {name: "own"}, values=lambda message: {"own": value}))
    if kind not in FITTING[name]:
        with pytest.raises(ValueError, match=f"the common column '{name}' of day cannot come from 'own'"):
            turnwire.scan(b"", wire="day")
        return
    for wire in ("day", None):
        [batch] = turnwire.scan(b"DAY/7 x\n", wire=wire)
        (found,) = batch[name]
        if kind == "enum":
            assert found == "b"
        else:
            wanted = int(moment.timestamp() * 1_000_000) if kind == "timestamp" else value
            assert found == (str(wanted) if (name, kind) not in (("sequence", "u64"),) and kind == "u64" else wanted)
        assert batch.valid(name).tolist() == [True]
    asked = {"enum": "b", "timestamp": moment}.get(kind, value)
    for wanted, rows in (({asked}, 1), (None, 0)):
        found = turnwire.scan(b"DAY/7 x\n", wire="day", where={"own": wanted})
        assert sum(map(len, found)) == rows


@pytest.mark.usefixtures("registering")
@pytest.mark.parametrize("zone", [None, UTC, timezone(timedelta(hours=5, minutes=30))])
def test_a_time_without_a_zone_is_utc(zone: timezone | None) -> None:
    moment = datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=zone)
    turnwire.register(days((Column("when", "timestamp"),), {"time": "when"}, values=lambda message: {"when": moment}))
    [batch] = turnwire.scan(b"DAY/7 x\n", wire="day")
    there = moment if zone else moment.replace(tzinfo=UTC)
    assert turnwire.Message.time.__get__(turnwire.decode("DAY/7 x"), turnwire.Message) == there
    assert batch["time"].tolist() == [(there - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)]


@pytest.mark.usefixtures("registering")
def test_a_time_of_its_own_goes_before_that_of_the_line() -> None:
    """And a record without one has that of its line."""
    moment, first = datetime(2026, 1, 2, tzinfo=UTC), datetime(2026, 1, 5, 9, tzinfo=UTC)
    when = Column("when", "timestamp", nullable=True)
    values: Any = lambda message: {"when": moment if message.number == 2 else None}  # noqa: E731
    turnwire.register(days((when,), {"time": "when"}, values=values))
    lines = [json.dumps({"time": "2026-01-05T09:00:00Z", "log": f"DAY/{number} x"}) for number in (1, 2, 3)]
    data = "".join(f"{line}\n" for line in [*lines, "DAY/4 x"]).encode()
    for some in (data, data.replace(b"DAY/2", b"DAY/5")):
        [batch] = turnwire.scan(some)
        wanted: list[datetime | None] = [first, moment if some is data else first, first, None]
        times = [datetime.fromtimestamp(time / 1e6, UTC) for time in batch["time"].tolist()]
        there = zip(times, batch.valid("time").tolist(), strict=True)
        assert [time if good else None for time, good in there] == wanted


@pytest.mark.usefixtures("registering")
def test_a_fault_is_in_its_range() -> None:
    """Whatever the wire's own reading says: at its end at the latest."""
    turnwire.register(days())
    data = b"prose\nDAY/x a\nprose\n"
    for place in (0, 3, 7, 8, 1000):
        error = DecodeError(Reason.BAD_FRAMING, "no", offset=place, line=1, wire="day")

        def refuse(_: Any, error: DecodeError = error) -> Day:
            raise error

        wire = registry.wire("day")
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(wire, "decode", refuse)
            found = turnwire.scan(data)
            list(found)
        assert [(row["offset"], row["length"], row["fault"]) for row in found.rejects.rows()] == [
            (6, 7, 6 + min(place, 7))
        ]


LINES_OF_DAYS = (("DAY/1 one", None), ("DAY/2x two", 4), ("prose", None), ("DAY/3 three", None), ("DAY/x4 four", 4))


@pytest.mark.usefixtures("registering")
@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("batch_bytes", [1, 16, 25, 1 << 20])
@pytest.mark.parametrize("wire", ["day", None])
def test_records_and_damage_are_where_they_are(end: str, batch_bytes: int, wire: str | None) -> None:
    """The byte of a fault counts from the start of the input, not of a block."""
    turnwire.register(days())
    text = "".join(f"{line}{end}" for line, _ in LINES_OF_DAYS)
    starts = [text.index(line) for line, _ in LINES_OF_DAYS]
    found = turnwire.scan(text.encode(), wire=wire, batch_bytes=batch_bytes)
    places = [(one.offset, one.length, one.line) for one in found.messages()]
    assert places == [(starts[row], len(LINES_OF_DAYS[row][0]), row + 1) for row in (0, 3)]
    assert [(one["offset"], one["length"], one["fault"], one["line"]) for one in found.rejects.rows()] == [
        (starts[row], len(LINES_OF_DAYS[row][0]), starts[row] + 4, row + 1) for row in (1, 4)
    ]


# --- documents: whole texts from a header line on, as KickLang has them ---

SHEET = "%% oak\nacorn %ada: inside% @a3|f0|c3|S0|d1|T1#\n"
SPACE = "⫻oak/tree:a/1\n%% content\nmore\n"
LEAF_TEXT = "%ada: hello%\n"


@pytest.fixture
def leaves(registering: None) -> None:
    turnwire.register(leaf.DESCRIPTOR)


def found(text: str, **options: object) -> list[tuple[str, int, int]]:
    """(wire, offset, length) of each record, wherever it is asked for."""
    data = text.encode()
    every = turnwire.scan(data, **options)  # type: ignore[arg-type]
    places = [(one.wire, one.offset, one.length) for one in every.messages()]
    assert [(one.wire, one.offset, one.length) for one in located(data, **options)] == places + [  # type: ignore[arg-type]
        (row["wire"], row["offset"], row["length"]) for row in every.rejects.rows()
    ]
    for wire in turnwire.WIRES:
        one = turnwire.scan(data, wire=wire, **options)  # type: ignore[arg-type]
        assert [(each.wire, each.offset, each.length) for each in one.messages()] == [
            place for place in places if place[0] == wire
        ], wire
        assert one.rejects.rows() == [row for row in every.rejects.rows() if row["wire"] == wire]
    for size, threads in ((1, 1), (40, 1), (40, 2)):
        small = turnwire.scan(data, batch_bytes=size, threads=threads, **options)  # type: ignore[arg-type]
        assert [(each.wire, each.offset, each.length) for each in small.messages()] == places
    return places


@pytest.mark.usefixtures("scan_core", "leaves")
def test_where_they_stand() -> None:
    assert found(SHEET) == [("leaf", 0, len(SHEET))]
    assert found(f"prose\n{SHEET}") == [("leaf", 6, len(SHEET))]
    assert found("prose\n" * 9 + f"%% oak\n{NSLIP}\n") == [("leaf", 54, 27)]
    assert [wire for wire, *_ in found(f"{NSLIP}\n{SHEET}")] == ["nslip", "leaf", "nslip"]
    fenced = f"```\n{SHEET}```\n{LEAF_TEXT}~~~\n{SHEET}~~~\n"
    assert [length for _, _, length in found(fenced)] == [len(SHEET), len(LEAF_TEXT) - 1, len(SHEET)]
    assert [wire for wire, *_ in found(fenced, fences=True)] == ["leaf", "nslip", "leaf", "leaf", "nslip"]
    assert found(SPACE) == [("kick", 0, len(SPACE.encode()))]
    assert found(f"{SHEET}{SPACE}") == [("leaf", 0, len(f"{SHEET}{SPACE}".encode()))]
    both = f"~~~\n{SPACE}~~~\n```\n{SHEET}```\n"
    assert [wire for wire, *_ in found(both)] == ["kick", "leaf"]
    assert [wire for wire, *_ in found(f"%% 7\n{LEAF_TEXT}")] == ["leaf"]


@pytest.mark.usefixtures("scan_core", "leaves")
def test_what_they_say() -> None:
    [message] = [one.message for one in turnwire.scan(SHEET.encode()).messages()]
    assert message == Sheet("oak", ("acorn %ada: inside% @a3|f0|c3|S0|d1|T1#",))
    mixed = f"~~~\n{SPACE}~~~\n```\n{SHEET}```\n{LEAF_TEXT}{NSLIP}\n".encode()
    [batch] = turnwire.scan(mixed)
    assert batch["kind"].tolist() == ["document", "sheet", "leaf", "REQUEST"]
    assert list(batch["subject"]) == ["⫻oak/tree:a/1", "oak", "hello", None]
    [own] = turnwire.scan(mixed, wire="leaf")
    assert (list(own["text"]), list(own["sender"])) == (["oak", "hello"], [None, "ada"])
    kinds = [type(one.message) for one in turnwire.scan(mixed).messages()]
    assert kinds[:3] == [Space, Sheet, Leaf]


@pytest.mark.usefixtures("scan_core", "leaves")
def test_damaged_ones_are_rejects() -> None:
    torn = turnwire.scan(f"{SHEET}torn\n".encode())
    assert not list(torn.messages())
    assert [(row["wire"], row["reason"], row["offset"]) for row in torn.rejects.rows()] == [("leaf", "bad_framing", 0)]
    small = turnwire.scan((SHEET * 9).encode(), limits=turnwire.LIMITS._replace(message=60))
    list(small)
    assert small.rejects.rows()[0]["reason"] == "message_too_large"


@pytest.mark.parametrize("rules", [(), [], (1,)])
def test_pairs_are_more_than_their_rules(rules: Any) -> None:
    with pytest.raises(TypeError, match="Pairs"):
        Wire("odd", title="", package=__name__, style=LINES, pairs=rules, **dict.fromkeys(NEEDED, str))
