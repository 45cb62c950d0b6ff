"""Eight threads on one object: nothing crashes, and what each of them gets is what one thread alone would get.

The interpreter switches threads every few microseconds here, so that they meet in the middle of things. A ``Decoder``
has a lock, so that no message is lost or doubled; in which order they come is up to the threads. What is tried here
is an interpreter with its lock: nothing is said of one without.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from threading import Barrier
from typing import Any

import pytest

import turnwire
from tests.test_references import good
from turnwire import kick, nslip, session
from turnwire.ledger import Ledger

THREADS, ROUNDS = 8, 150
EVENTS = [{"at": f"2026-05-04T10:00:0{n}Z", "from": "ada", "n": n, "say": ["x", {"y": n * 2}]} for n in range(4)]
EVENTS += [{"at": f"2026-05-04T10:01:0{n}Z", "from": "bob", "n": n, "done": True} for n in range(3)]
RECORD = '@a3|f0|c{:x}|S0|d1|T1|gH|t"he\\"llo"#'
GOOD = {
    "nslip": RECORD.format(1),
    "csp": "CSP/1\nFROM A\nTO B\nCTX C0\nINTENT MEM\n\nMEM M1\nKEY x\n",
    "kick": '{"id":"6ba7b810-9dad-41d1-80b4-00c04fd430c8","timestamp":"2026-01-15T10:00:00Z","sender":"a",'
    '"receiver":"b","type":"Query","channel":"\u2afbquery/y","content":"\u2afbgoal\\nx"}',
    "sstp": good("sstp").decode(),
    "sap": good("sap").decode(),
}


@pytest.fixture(autouse=True)
def often() -> Iterator[None]:
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def together(work: Callable[[int], Any]) -> list[Any]:
    """The results of eight threads that begin at once; the first failure is raised."""
    barrier = Barrier(THREADS)

    def begin(number: int) -> Any:
        barrier.wait()
        return work(number)

    with ThreadPoolExecutor(THREADS) as pool:
        return list(pool.map(begin, range(THREADS)))


def read(wire: str, text: str) -> Any:
    """The message of a text, or how it is refused."""
    try:
        return repr(turnwire.decode(text, wire))
    except turnwire.WireError as error:
        return type(error), error.reason, error.offset, error.line


@pytest.mark.parametrize("wire", GOOD)
def test_all_decode_a_wire_at_once(wire: str, backend: str) -> None:
    """The decoder is one for the process: good texts and refused ones, each thread with its own first."""
    cuts = range(0, len(GOOD[wire]), 1 + len(GOOD[wire]) // 24)
    texts = [GOOD[wire], *(GOOD[wire][:at] + GOOD[wire][at + 1 :] for at in cuts), *(GOOD[wire][:at] for at in cuts)]
    alone = [read(wire, text) for text in texts]
    assert len({repr(one) for one in alone}) > 4

    def work(number: int) -> bool:
        turned = [(at + number * len(texts) // THREADS) % len(texts) for at in range(len(texts))]
        return all([read(wire, texts[at]) for at in turned] == [alone[at] for at in turned] for _ in range(8))

    assert together(work) == [True] * THREADS


def test_one_document_is_read_and_written_by_all(backend: str) -> None:
    text = "".join(f"\u2afbname{at}/type:place\nline {at}\n" for at in range(20))
    document = kick.parse_space(text)
    assert len(document.sections) == 20

    def said() -> Any:
        sections = [(one.to_dict(), one.replace(content="x"), repr(one), hash(one)) for one in document.sections]
        return sections, document.text(), document.subject, kick.parse_space(text) == document

    alone = said()
    assert together(lambda number: all(said() == alone for _ in range(ROUNDS // 10))) == [True] * THREADS


def test_one_writer_and_one_reader_are_misused_by_all() -> None:
    """Neither is for several threads: what comes is anything, but an error of Python, never a crash. What is begun
    afterwards is as always."""
    text = session.encode(EVENTS, tokenizer=None)

    def work(number: int) -> None:
        for at in range(ROUNDS // 3):
            for call in (partial(writer.add, EVENTS[at % len(EVENTS)]), partial(reader.feed, text)):
                try:
                    call()
                except (ValueError, LookupError, TypeError, AttributeError, RuntimeError):
                    broken.append(number)

    for _ in range(4):
        broken: list[int] = []
        writer, reader = session.Writer(tokenizer=None), session.Reader()
        together(work)
        assert session.encode(EVENTS, tokenizer=None) == text
        assert list(session.decode(text)) == list(session.decode(session.encode(EVENTS, tokenizer=None)))


@pytest.mark.parametrize("wire", GOOD)
def test_one_message_is_written_and_checked_by_all(wire: str, backend: str) -> None:
    message = turnwire.decode(GOOD[wire], wire)
    alone = turnwire.encode(turnwire.decode(GOOD[wire], wire)), turnwire.check(turnwire.decode(GOOD[wire], wire))

    def work(number: int) -> bool:
        return all((turnwire.encode(message), turnwire.check(message)) == alone for _ in range(ROUNDS))

    assert together(work) == [True] * THREADS


def test_one_nslip_message_is_changed_while_others_write_it() -> None:
    """Each text has the fields of some moment, whole: a field is replaced, never half of it."""
    message = nslip.decode(RECORD.format(1))
    tags = ["x" * size for size in (0, 5, 60, 300)]

    def work(number: int) -> set[str]:
        seen = set()
        for at in range(ROUNDS):
            if number % 2:
                message.turn = at
                message.slots[nslip.Slot.TAG] = tags[at % 4]
                message.slots = dict(message.slots)
            else:
                seen.add(nslip.decode(nslip.encode(message)).slots[nslip.Slot.TAG])
        return seen

    assert set().union(*together(work)) <= {*tags, 'he"llo'}


def test_one_envelope_is_read_by_all_for_the_first_time() -> None:
    for _ in range(20):
        envelope = kick.decode(GOOD["kick"])
        assert len({id(space) for space in together(lambda number, one=envelope: one.space)}) in range(1, THREADS + 1)
        assert all(space == envelope.space for space in together(lambda number, one=envelope: one.space))


@pytest.mark.parametrize("wire", ["nslip", None])
def test_one_decoder_is_fed_by_all(wire: str | None) -> None:
    """Whole lines: each message comes out once, of whoever's call."""
    decoder = turnwire.Decoder(wire)

    def work(number: int) -> list[int]:
        return [
            message.conv_id
            for at in range(ROUNDS)
            for message in decoder.feed((RECORD.format(1000 * number + at) + "\n").encode())
        ]

    found = [one for part in together(work) for one in part] + [one.conv_id for one in decoder.close()]
    wanted = [
        nslip.decode(RECORD.format(1000 * number + at)).conv_id for number in range(THREADS) for at in range(ROUNDS)
    ]
    assert sorted(found) == sorted(wanted)


def test_scans_and_templates_are_shared_by_all() -> None:
    data = "\n".join(text for text in (GOOD["kick"], RECORD.format(7), '{"a":1}') for _ in range(40)).encode()
    alone = [repr(one.message) for one in turnwire.scan(data).messages()]

    def work(number: int) -> bool:
        return all([repr(one.message) for one in turnwire.scan(data).messages()] == alone for _ in range(4))

    assert together(work) == [True] * THREADS


def test_one_ledger_is_written_by_all(tmp_path: Path) -> None:
    with Ledger(tmp_path / "a.ledger") as ledger:
        together(lambda number: [ledger.append("k", f"{number} {at}".encode()) for at in range(10)])
        assert len(ledger) == 10 * THREADS
        ledger.verify()
