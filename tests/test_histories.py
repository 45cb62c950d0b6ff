"""What monitors, sessions, lifecycles and stores say of histories: random ones out of few names, ids and times, so that
everything meets everything. Kept are a list of sentences and a digest of all that was said and of the states between.

After a change that is meant, ``python -m tests.test_histories`` writes tests/data/words/histories-*.txt anew.
"""

from __future__ import annotations

import json
import random
import uuid
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

import turnwire
from tests.csp.generate import document
from tests.sap.documents import RESULT, TASK
from tests.sstp.examples import example
from tests.test_words import FOLDER, summed
from turnwire import csp, kick, sap, sstp
from turnwire.csp.rules import by_subject
from turnwire.sstp.spec import MAIN_TEXT, Kind

Said = Iterator[str]
Chance = random.Random


def _told(issues: Any) -> Said:
    for one in issues:
        yield f"{one.severity}\t{one.reason}\t{one.where}\t{one.text}"


def _raised(error: turnwire.RuleError) -> str:
    return f"raises {error.rule}\t{error.reason}\t{error.path}\t{error}"


# --- SSTP -------------------------------------------------------------------------------------------------------------

ACTORS = ("alex", "Alex", "аlex", "b", "host", "b ")
ADDRESSEES = (None, None, "b", "alex", "B", "nobody", "аlex")
IDENTITIES = (None, None, None, "alex", "b", "id-1", "id-2")
SESSIONS = ("s-1", "s-1", "s-1", "s-2", None)
TEXTS: tuple[str, ...] = (
    "I agree.",
    "Got it, thanks",
    "ok",
    "the tests fail on two cores",
    "The tests fail on two cores!",
    "yes",
    "",
)
TEXTS += ("Have you received it?", "received", "no, one core", "okay but why", "Sounds good to me")
ROSTERS: tuple[Any, ...] = (None, None, ("alex", "b"), ("alex", "b", "host"), {"alex": "id-1", "b": ["id-1", "id-2"]})


def _sstp_message(chance: Chance, session: Any) -> Any:
    kind = chance.choice([*Kind, Kind.QUERY, Kind.KNOWLEDGE, Kind.DELEGATION, Kind.EVIDENCE_BUNDLE])
    made = example(kind)
    header, payload = made["header"], made["payload"]
    actor, where = chance.choice(ACTORS), chance.choice(SESSIONS)
    header["actor_id"] = actor
    following = session.next_clock(actor, where)
    steps = (0, 0, 0, 0, 0, 1, 2, -1, -2, -3, -following, 1 - following, 2 - following, 2**40)
    header["logical_clock"] = max(0, following + chance.choice(steps))
    if where is None:
        header.pop("session_id")
    else:
        header["session_id"] = where
    payload[MAIN_TEXT[kind]] = chance.choice(TEXTS)
    addressee = chance.choice(ADDRESSEES)
    for place in (header, payload):
        if "directed_to" in place or (place is header and chance.random() < 0.3):
            place["directed_to"] = addressee
            if addressee is None:
                del place["directed_to"]
    if "assigned_to" in payload and addressee is not None:
        payload["assigned_to"] = addressee
    try:
        return turnwire.decode(json.dumps(made), "sstp")
    except turnwire.DecodeError:
        return None


def _sstp(chance: Chance) -> Said:
    strict, wanted = chance.random() < 0.3, chance.choice((None, None, "s-1"))
    session = sstp.Session(chance.choice(ROSTERS), strict, session_id=wanted)
    for _ in range(chance.randrange(1, 14)):
        step = chance.random()
        if step < 0.06:
            session.grant(chance.choice(ACTORS))
        elif step < 0.12:
            session.time_out()
        message = _sstp_message(chance, session)
        if message is None:
            continue
        identity = chance.choice(IDENTITIES)
        if identity is None and not strict:
            issues, _ = session.judged(message)
            foreseen = list(_told(issues))
            assert foreseen == list(_told(session.judged(message)[0])), "judging changes nothing"
        try:
            found = list(_told(session.feed(message, identity)))
            if identity is None and not strict:
                assert found == foreseen
            yield from found
        except turnwire.RuleError as error:
            yield _raised(error)
        actor = message.actor_id
        clocks = [session.next_clock(actor, where) for where in (None, "s-1", "s-2")]
        floors = [session.floor.admits(one) for one in ACTORS]
        waiting = [len(session.open_queries), len(session.open_delegations)]
        yield f"state\t{session.floor} {session.session_id}\t{clocks} {floors} {waiting}\t{session.actors}"


# --- SAP --------------------------------------------------------------------------------------------------------------

IDS = tuple(str(uuid.UUID(int=number << 64, version=4)) for number in (1, 0xABCDEF))
STATUSES = ("ACCEPTED", "RUNNING", "SUCCEEDED", "FAILED", "CANCELLED", "DEFERRED", "REJECTED")
DEADLINE = datetime(2026, 1, 15, 12, 0, 0, 500_000, tzinfo=UTC)
EDGES = [*(DEADLINE + timedelta(microseconds=one) for one in (-1, 0, 1)), datetime(2030, 1, 1, tzinfo=UTC)]


def _sap_message(chance: Chance) -> Any:
    own, other = chance.choice(IDS), chance.choice(IDS)
    fields = {"taskId": chance.choice((own, own.upper())), "correlationId": chance.choice((own, own.upper(), other))}
    if chance.random() < 0.35:
        telemetry: dict[str, Any] = {**TASK["telemetry"], "deadline": "2026-01-15T12:00:00.500Z"}
        if chance.random() < 0.2:
            del telemetry["deadline"]
        made = {**TASK, **fields, "tags": [chance.choice("ab")], "telemetry": telemetry}
        if chance.random() < 0.2:
            del made["telemetry"]
    else:
        made = {**RESULT, **fields, "status": chance.choice(STATUSES), "output": {"n": chance.randrange(2)}}
    try:
        return turnwire.decode(json.dumps(made), "sap")
    except turnwire.DecodeError:
        return None


def _sap(chance: Chance) -> Said:
    life = sap.Lifecycle(strict=chance.random() < 0.4)
    for _ in range(chance.randrange(1, 14)):
        message = _sap_message(chance)
        if message is None:
            continue
        try:
            yield from _told(life.feed(message))
        except turnwire.RuleError as error:
            yield _raised(error)
        if chance.random() < 0.05:
            life.forget(chance.choice(IDS).upper())
        known = [(one, str(life[one].status), life[one].results, life[one].task is None) for one in life]
        late = [[one.task_id for one in life.overdue(edge)] for edge in EDGES]
        yield f"state\t{known}\t{late} {[one in life for one in IDS]}\t{[one.task_id for one in life.open()]}"


# --- KickLang ---------------------------------------------------------------------------------------------------------

ROLES = ("Orchestrator", "Dima", "WePlan", "SystemMonitor", "Supervisor", "Broadcast", "Human")
CHANNELS = (
    ("Command", "command/dispatch", "Orchestrator", "Dima"),
    ("Command", "command/dispatch", "Orchestrator", "WePlan"),
    ("Command", "command/stop", "Orchestrator", "Dima"),
    ("Command", "command/resume", "Orchestrator", "Dima"),
    ("Command", "command/run", "Orchestrator", "Dima"),
    ("Command", "command/escalate", "Orchestrator", "Supervisor"),
    ("Info", "report/status", "Dima", "Orchestrator"),
    ("Info", "report/status", "WePlan", "Orchestrator"),
    ("Info", "report/artifact", "Dima", "Orchestrator"),
    ("Info", "report/other", "Dima", "Orchestrator"),
    ("Alert", "alert/violation", "SystemMonitor", "Broadcast"),
    ("Alert", "alert/error", "Dima", "Broadcast"),
    ("Query", "query/ask", "Dima", "WePlan"),
    ("Query", "query/answer", "WePlan", "Dima"),
)
WORDS = ("Accepted", "Completed", "In Progress", "Failed", "Blocked", "completed", "Done", "a/b.py", "what")
UUIDS = tuple(str(uuid.UUID(int=number << 64, version=4)) for number in range(1, 9))


def _envelope(chance: Chance, now: float) -> Any:
    kind, channel, sender, receiver = chance.choice(CHANNELS)
    if chance.random() < 0.05:
        sender = chance.choice(ROLES)
    if chance.random() < 0.05:
        receiver = chance.choice(ROLES)
    task = f"T-{chance.randrange(3)}"
    topic = chance.choice(("task/status", "task/dispatch", channel))
    moment = datetime(2026, 1, 15, tzinfo=UTC) + timedelta(seconds=now)
    fresh = str(uuid.UUID(int=chance.getrandbits(128), version=4))
    return kick.Envelope(
        chance.choice((*UUIDS, fresh, fresh, fresh, fresh, fresh, fresh)),
        moment.strftime("%Y-%m-%dT%H:%M:%SZ"),
        sender,
        receiver,
        kind,
        f"⫻{channel}",
        f"⫻{topic}:{task}/001\n{chance.choice(WORDS)}\n",
        chance.choice((None, *UUIDS[:3])),
    )


def _kick(chance: Chance) -> Said:
    limits = kick.Deadlines(*(chance.choice((None, 10.0, 60.0)) for _ in range(4)))
    monitor = kick.Monitor(deadlines=limits, remember=chance.choice((1, 2, 100)))
    timed, now = chance.random() < 0.6, 0.0
    for _ in range(chance.randrange(1, 18)):
        now += chance.choice((0.0, 1.0, 9.0, 10.0, 11.0, 59.0, 60.0, 61.0))
        events = monitor.feed(_envelope(chance, now), now if timed else None)
        if chance.random() < 0.1:
            events += monitor.resume(f"T-{chance.randrange(3)}", now)
        if chance.random() < 0.1:
            events += monitor.overdue(now + chance.choice((-1.0, 0.0, 10.0, 60.0)))
        for one in events:
            yield f"{one.kind}\t{one.task}\t{one.envelope_id} {one.subject}\t{one.text}"
            yield from _told(one.issues)
        waiting = [(one.kind, one.id, one.task, one.text) for one in monitor.unfinished]
        tasks = [(one.name, one.id, str(one.state), one.paused) for one in monitor.tasks]
        known = [None if (task := monitor.task(f"T-{n}")) is None else (task.id, str(task.state)) for n in range(3)]
        yield f"state\t{tasks}\t{waiting} {known}\t"


# --- CSP/1 ------------------------------------------------------------------------------------------------------------

NAMES = ("AB", "CD", "T1X")
LAWS = ("always test", "code -> B only", "no files of others", "never say please")
VALUES = ("the parser of logs", "AB CD", "src/a.py:1-2", "two cores", "the parser")


def _operation(chance: Chance) -> str:
    name, value = chance.choice(NAMES), chance.choice(VALUES)
    return chance.choice(
        (
            f"+ DEF {name} = {value}",
            f"+ DEF {name} = {value}",
            f"~ DEF {name} := {value}",
            f"- DEF {name}",
        )
    )


def _body(chance: Chance, head: str) -> tuple[str, str]:
    number, base = chance.randrange(1, 4), chance.choice(("C0", "C1", head, head, head, head, head, head))
    match chance.randrange(6):
        case 0:
            owner = chance.choice(("", "\nOWNER B", "\nOWNER C\nPRIORITY HIGH"))
            return "TASK", f"TASK T{number}\nREQ {chance.choice(VALUES)} please check {chance.choice(NAMES)}{owner}"
        case 1:
            status = chance.choice(("OK", "FAIL", "PARTIAL"))
            return "RESULT", f"RESULT T{number}\nSTATUS {status}\nPRODUCED a{number}.py"
        case 2:
            return "ERROR", f"ERROR E{number}\nAT T{number}\nCAUSE {chance.choice(VALUES)}\nNEXT ask"
        case 3:
            return "FILE", f"FILEOP CREATE\nPATH a{number}.py\nCONTENT\n<<<\n{chance.choice(VALUES)}\n>>>"
    lines = "\n".join(_operation(chance) for _ in range(chance.randrange(1, 4)))
    following = f"C{int(base[1:]) + 1}" if chance.random() < 0.8 else f"C{number}"
    return "PATCH", f"PATCH P{number}\nBASE {base}\n{lines}\nAPPLY -> {following}"


def _csp_message(chance: Chance, head: str) -> str:
    intent, body = _body(chance, head)
    ctx, receiver = chance.choice(("C0", head, head, "C1", "C9")), chance.choice("BC")
    return f"CSP/1\nFROM A\nTO {receiver}\nCTX {ctx}\nINTENT {intent}\n\n{body}\n\n"


def _preamble(chance: Chance) -> str:
    defs = "".join(f"DEF {name} = {value}\n" for name, value in zip(NAMES, VALUES, strict=False))
    laws = "LAWS\n" + "".join(f"- L{number}: {law}\n" for number, law in enumerate(LAWS, 1))
    return chance.choice(("", "", defs + "\n", laws + "\n", defs + "\n" + laws + "\n"))


def _csp(chance: Chance) -> Said:
    text, tried = _preamble(chance), csp.Store()
    for _ in range(chance.randrange(1, 10)):
        piece = _csp_message(chance, tried.head)
        text += piece
        with suppress(turnwire.WireError):
            tried.apply(piece)
    if chance.random() < 0.2:
        text += document(chance.randrange(10_000)).decode("utf-8", "replace")
    parsed = csp.parse(text, mode="lenient")
    store = csp.Store()
    for message in parsed.messages:
        try:
            store.apply(message)
        except turnwire.RuleError as error:
            yield _raised(error)
        except turnwire.EncodeError as error:
            yield f"is not written\t{error.reason}\t{error.path}\t{error.text}"
        kept = [(one, dict(store.at(one).defs), dict(store.at(one).laws)) for one in store.checkpoints]
        yield f"state\t{store.head} {store.heads}\t{kept}\t"
    for name in store.checkpoints:
        yield f"state\t{store.head}\t{name} {store.diff('C0', name)}\t"
    for name in NAMES:
        yield f"state\t{name}\t{store.explain(name)}\t"
    yield f"state\t{store.verify()}\t{csp.verify_dump(store.dump())} {store.skipped}\t"
    yield from _told(csp.lint(parsed))
    yield from _told(csp.lint(parsed, store))
    yield f"state\t\t{csp.board(parsed)}\t"
    laws = {name: law for record in parsed.records for name, law in getattr(record, "laws", {}).items()}
    yield from _told(csp.judge_laws(parsed, laws, by_subject))


HISTORIES: dict[str, tuple[Callable[[Chance], Said], int]] = {
    "sstp": (_sstp, 900),
    "sap": (_sap, 500),
    "kick": (_kick, 800),
    "csp": (_csp, 250),
}


def said(wire: str) -> list[str]:
    """All that is said of the histories of a wire."""
    made, count = HISTORIES[wire]
    return [line for number in range(count) for line in made(random.Random(f"{wire} {number}"))]


def kept(wire: str) -> str:
    found = said(wire)
    sentences = summed([line for line in found if not line.startswith("state\t")]).partition("\n")[2]
    return summed(found).partition("\n")[0] + "\n" + sentences


@pytest.mark.parametrize("wire", HISTORIES)
def test_what_is_said_of_histories_is_what_is_kept(wire: str) -> None:
    assert kept(wire) == (FOLDER / f"histories-{wire}.txt").read_text("utf-8")


if __name__ == "__main__":
    for name in HISTORIES:
        (FOLDER / f"histories-{name}.txt").write_text(kept(name), "utf-8")
