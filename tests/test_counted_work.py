"""What is hostile to an entry, by what is copied, called and given for it: never by the clock."""

from __future__ import annotations

import json
import random
import re
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

import turnwire
from tests.cost.histories import KICKS, csp
from tests.counting import called
from tests.sap.documents import RESULT, TASK, changed
from tests.sstp.examples import example
from turnwire import kick, registry, sap, session, sstp
from turnwire.csp import codec, fileop
from turnwire.csp.laws import LawTexts
from turnwire.csp.paths import matches
from turnwire.errors import RuleError
from turnwire.framing.prefixes import Repeated
from turnwire.log.engine import claimed_rows
from turnwire.log.engine.block_pass import Pass
from turnwire.log.engine.shortcut import Shortcut
from turnwire.pairs import Message, Work
from turnwire.read import extraction, located, pairing
from turnwire.read.judging import conform
from turnwire.read.wrapping import Text
from turnwire.sap import cache as cache_of_sap
from turnwire.sap import learning as derivation
from turnwire.sap import secrets
from turnwire.sap.learning import Signal
from turnwire.session.shapes import MOST_PATH, Shape, flatten
from turnwire.session.values import parsed
from turnwire.sstp.spec import Kind

QUOTED = b'{"m":"@a3|f0|c1|S0|d1|T1#"}\n'


class Sliced(bytes):
    """Bytes that count what is cut out of them."""

    copied = 0

    def __getitem__(self, place: Any) -> Any:
        found = super().__getitem__(place)
        if isinstance(found, bytes):
            self.copied += len(found)
        return found


def test_strings_are_found_without_a_copy_of_what_is_in_front_of_them() -> None:
    raw = Sliced(QUOTED * 400)
    text = Text(raw)
    inside = [text.literal(number * len(QUOTED) + 8) for number in range(400)]
    assert inside == [(number * len(QUOTED) + 6, (number + 1) * len(QUOTED) - 3) for number in range(400)]
    assert raw.copied < 10 * len(raw)


@pytest.mark.parametrize("space", [b"", b" \n", b" " * 700])
def test_what_is_in_front_of_a_quote_is_seen_behind_any_white_space(space: bytes) -> None:
    for front, is_string in ((b'{"m":', True), (b"{", True), (b"", True), (b"x", False)):
        raw = front + space + b'"ab"' + b"}"
        found = Text(raw).literal(len(front + space) + 2)
        assert (found is not None) is is_string, raw


def test_each_string_is_looked_at_once_for_the_places_in_it(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = called(monkeypatch, extraction, "written", lambda inside, _: len(inside))
    text = (QUOTED * 200).decode()
    spans = [(one.start, one.end) for one in turnwire.extract(text)]
    assert spans == [(number * len(QUOTED) + 6, (number + 1) * len(QUOTED) - 3) for number in range(200)]
    assert sum(sizes) <= len(text)


def test_space_behind_a_record_in_a_string_is_taken_away_once() -> None:
    inside = Sliced(b"x" + b"\\n\t" * 500)
    assert extraction._without(inside, b"\n\t" * 500, 1) == 1
    assert extraction._without(b"x\\\\n \\\\t", b"\n \t", 2) == 1
    assert extraction._without(b"xn", b"\n", 1) == 2


def test_what_is_between_records_is_copied_once() -> None:
    bare = QUOTED.decode()[6:-3]
    said = json.dumps({"m": "".join(f"{bare} {number}\n" for number in range(300))})
    whole = json.dumps({"log": said}).encode()
    records = [(8, said.index(bare), bare.encode())] * 300
    parts = located._between(whole, whole.index(b'"', 7), records)
    assert [part.strip() for part in parts] == [b"", *(b"%d" % number for number in range(300))]


def test_prefixes_are_alike_but_for_their_digits() -> None:
    form = Repeated(b"w1 22 | ")
    lines = (b"w1 22 | x", b"w333 4 | ", b"w1 22 |", b"w9 8 |\t ", b"w1 x | y", b"", b"w1", b"v1 22 | x", b"w1 22 | ")
    assert [form.taken(line) for line in lines] == [8, 9, 7, 6, -1, -1, -1, -1, 8]


# --- CSP/1 ------------------------------------------------------------------------------------------------------------


def test_preambles_are_not_written_and_read_to_be_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    read = called(monkeypatch, codec, "parse_leniently")
    lines = (f"app | DEF A{number % 40} = v{number % 7}\napp | text\n" for number in range(60))
    found = conform(
        "csp", "".join(lines).encode() + b"app | " + csp("TASK", "TASK T1\nREQ x").replace(b"\n", b"\napp | ")
    )
    assert found.records == 1 and len(found.line("state").faults) == 20
    assert len(found.line("terms").doubts) == 46
    assert not read


def test_of_laws_with_one_text_some_are_named() -> None:
    texts = LawTexts(3)
    texts.update({f"L{number}": "abc" for number in range(100)})
    assert texts.within("xabcx", 5) == ["L0", "L1", "L2", "L3", "L4"]
    assert texts.within("xabcx") == [f"L{number}" for number in range(100)]
    texts.update({f"M{number}": f"abc{number}" for number in range(100)})
    assert texts.within("abc7", 1) == ["L0"] and texts.within("abc7")[100:] == ["M7"]


def test_patterns_of_paths_match_as_they_did() -> None:
    chance = random.Random(3)
    met = 0
    for _ in range(1500):
        parts = ["".join(chance.choices("ab.", k=chance.randint(1, 4))) for _ in range(chance.randint(1, 4))]
        several = ["".join(chance.choices("ab*?.", k=chance.randint(1, 4))) for _ in range(chance.randint(1, 3))]
        several = [chance.choice(("**", one)) for one in several]
        pattern = chance.choice(("", "/")) + "/".join(several) + chance.choice(("", "/"))
        expected = _plainly(pattern).fullmatch("/".join(parts)) is not None
        assert matches(pattern, parts) is expected, (pattern, parts)
        met += expected
    assert met > 500


def _plainly(pattern: str) -> re.Pattern[str]:
    """A pattern as an expression that goes back as often as it can."""
    text = "" if "/" in pattern.rstrip("/") else "(?:.*/)?"
    *front, last = pattern.strip("/").split("/")
    signs = {"*": "[^/]*", "?": "[^/]"}
    for part in front:
        text += "(?:.*/)?" if part == "**" else "".join(signs.get(sign, re.escape(sign)) for sign in part) + "/"
    text += ".+" if last == "**" else "".join(signs.get(sign, re.escape(sign)) for sign in last)
    return re.compile(f"{text}(?:/.*)?", re.DOTALL)


def test_patterns_do_not_go_back_for_each_star() -> None:
    assert not matches("*a*a*a*a*a*a*b", ["a" * 4000])
    assert not matches("**/a/**/a/**/a/**/b", ["a"] * 2000)
    assert matches("**/a/**/a/**/*a*a", [*"a" * 2000, "xaxa"])


def test_a_path_that_no_system_takes_is_not_followed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    followed = called(monkeypatch, fileop.Path, "resolve")
    for path in ("a/" * 9000 + "b", "a" * 20_000):
        with pytest.raises(RuleError, match="too long") as caught:
            fileop.FileOp("F1", "CREATE", [("PATH", path), ("CONTENT", "x")]).apply(tmp_path)
        assert caught.value.reason == "unsafe_path"
    assert len(followed) == 2, "the root"


# --- KickLang, SSTP, SAP ----------------------------------------------------------------------------------------------


def test_a_stop_that_comes_too_late_is_told_of_some_tasks() -> None:
    monitor = kick.Monitor()
    lines = KICKS["kick tasks, then stops"](120_000).splitlines()
    told = [monitor.feed(kick.decode(line)) for line in lines]
    tasks = sum(b"command/dispatch" in line for line in lines)
    assert [len(events) for events in told] == [1] * tasks + [tasks] + [64] * (len(lines) - tasks - 1) and tasks > 150
    assert {event.kind for event in told[-1]} == {kick.EventKind.LATE}
    assert [event.subject for event in told[-1]] == [event.envelope_id for events in told[:64] for event in events]


def test_identities_are_those_of_the_first_actor_of_a_name(monkeypatch: pytest.MonkeyPatch) -> None:
    roster: dict[str, str | list[str]] = {f"agent {number}": f"id {number}" for number in range(50)}
    watched = sstp.Session({**roster, "Alex": ["a", "b"], "ALEX": "c"})
    compared = called(monkeypatch, sstp.session, "same")
    document = example(Kind.INTENT)
    document["header"]["actor_id"] = "alex"
    message = sstp.decode(json.dumps(document))
    found = ["identity_mismatch" in {one.reason for one in watched.feed(message, identity=one)} for one in "abcd"]
    assert found == [False, False, True, True]
    assert len(compared) < 20


def test_what_is_learnt_is_what_all_pairs_of_signals_say() -> None:
    chance = random.Random(5)
    told = set()
    for _ in range(300):
        found = [(number, _signal(chance, number)) for number in range(chance.randint(1, 14))]
        idle = derivation._idle_fields(found)
        assert idle == (_idle(found), [seq for seq, one in found if one.answer is not None])
        made, evidence = derivation._thresholds(found)
        assert {name: one["threshold"] for name, one in made.items()} == _thresholds(found)
        assert evidence == sorted(evidence)
        told |= {*idle[0], *(one["threshold"] for one in made.values())}
    assert len(told) > 9 and told & {"x", "y", "z"}


def _signal(chance: random.Random, number: int) -> Signal:
    inputs = {name: chance.choice("12") for name in "xyz" if chance.random() < 0.7}
    answer = chance.choice((None, "same", "same", "same", "other"))
    judged = chance.choice(("VALID", "VALID", "NON_CONSTITUTIONAL"))
    blamed = ({"principle": "p"},) if judged != "VALID" and chance.random() < 0.5 else ()
    pressure = {name: float(chance.randint(0, 99)) for name in "pq" if chance.random() < 0.8}
    known: dict[str, Any] = {"source": "producer", "capability": "c", "territory": None, "fingerprint": "f"}
    known |= {"task_id": str(number), "alignment": judged, "pressure": pressure, "violations": blamed}
    return Signal(**known, inputs=inputs, answer=answer)


def _idle(found: Any) -> list[str]:
    """The fields on which nothing depends, all runs looked at for each."""
    runs = [one for _, one in found if one.answer is not None]
    idle = []
    for name in sorted({name for one in runs for name in one.inputs}):
        groups = defaultdict(list)
        for one in runs:
            groups[frozenset((key, value) for key, value in one.inputs.items() if key != name)].append(one)
        several = [group for group in groups.values() if len({one.inputs.get(name) for one in group}) > 1]
        alike = all(len({one.answer for one in group}) == 1 for group in several)
        if alike and sum(len({one.inputs.get(name) for one in group}) for group in several) >= derivation.ENOUGH:
            idle.append(name)
    return idle


def _thresholds(found: Any) -> dict[str, int]:
    """The highest pressure below every bad outcome that fewer later good ones than it takes outweigh."""
    pressures = defaultdict(list)
    for _, one in found:
        blamed = {each["principle"] for each in one.violations}
        for name, pressure in one.pressure.items():
            bad = one.alignment != "VALID" and (not blamed or name in blamed)
            pressures[name].append((pressure, bad))
    made = {}
    for name, line in pressures.items():
        later = [[good for good, bad in line[at:] if not bad and good >= line[at][0]] for at in range(len(line))]
        lowest = [line[at][0] for at, good in enumerate(later) if line[at][1] and len(good) < derivation.ENOUGH]
        made[name] = max(0, min(100, -int(-min(lowest, default=101) // 1) - 1))
    return made


def test_behind_many_records_that_do_not_answer_none_is_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    policy = {"mode": "prefer", "maxAgeSec": 60}
    task = sap.Task.from_dict(changed(TASK, "/constitutionalContext/cachePolicy", policy))
    ids = {"taskId": task.task_id, "correlationId": task.correlation_id, "status": "SUCCEEDED"}
    result = sap.Result.from_dict({**RESULT, **ids})
    most = cache_of_sap.MOST_PASSED
    with sap.Cache(":memory:") as cache:
        for number in range(100):
            assert cache.put(task, result, now=1000.0 * number) == number + 1
        find, looked = cache.ledger.find, []
        monkeypatch.setattr(cache.ledger, "find", lambda *key: (looked.append(one) or one for one in find(*key)))
        assert cache.get(task, now=99_010.0).seq == 100
        old = f"{1000 * most} s old, 60 s allowed"
        assert cache.get(task, now=100_000.0) == ("stale", cache.key(task), old)
        assert [entry.seq for entry in looked] == [100, *range(100, 100 - most, -1)]
        other = sap.Task.from_dict(changed(dict(task.fields), "/constitutionalContext/objectives", ["another"]))
        limit = changed(dict(other.fields), "/constitutionalContext/cachePolicy", {"mode": "prefer"})
        for asked, why in ((other, "stale"), (sap.Task.from_dict(limit), "unaligned")):
            looked.clear()
            found = cache.get(asked, now=99_010.0)
            assert (found.reason, len(looked)) == (why, most)
        answer = {**result.fields, "taskId": other.task_id, "correlationId": other.correlation_id}
        seq = cache.put(sap.Task.from_dict(limit), sap.Result.from_dict(answer), now=99_020.0)
        assert cache.get(sap.Task.from_dict(limit), now=1e6).seq == seq == 101
        for number in range(most):
            assert cache.get(sap.Task.from_dict(limit), now=1e6).seq == seq
            cache.put(task, result, now=99_030.0 + number)
        assert cache.get(sap.Task.from_dict(limit), now=1e6).reason == "unaligned"


def test_secrets_are_told_up_to_some_length_of_their_places() -> None:
    value = {"a/b~": [0, {"password": "x"}, "AKIA0123456789ABCDEF"], "y": ("AKIA0123456789ABCDEF",)}
    where = [place for place, _ in secrets.secrets(value, "/payload")]
    assert where == ["/payload/a~1b~0/1/password", "/payload/a~1b~0/2", "/payload/y/0"]
    long = {"k" * 9990: ["AKIA0123456789ABCDEF"] * 900}
    told = [len(place) for place, _ in secrets.secrets(long, "/payload")]
    assert sum(told[:-1]) <= secrets.MOST_TOLD < sum(told)


# --- sessions and scans -----------------------------------------------------------------------------------------------


def test_long_names_are_not_in_the_path_of_all_that_is_below_them() -> None:
    event = {"k" * 3000: {"l" * 600: {f"m{number}": [{"a": 1}, {"b": number}] for number in range(40)}, "n": "x"}}
    other = {"k" * 3000: {"l" * 600: {f"m{number}": [{"a": 2}, {"b": number}] for number in range(40)}, "n": "y"}}
    shape = Shape(flatten(parsed(json.dumps(event)), []))
    assert len(set(shape.paths)) == len(shape.paths) == 81
    assert max(map(len, shape.paths)) < MOST_PATH + 700
    given = [event, other] * 4
    text = session.encode(given, None)
    assert session.decode(text) == given and len(text) < 3 * len(json.dumps(event))


def test_many_that_wait_are_answered_as_few_are(monkeypatch: pytest.MonkeyPatch) -> None:
    rules = [rule for wire in registry.wires().values() for rule in wire.pairs]
    kinds = sorted({kind for rule in rules for kind in (*rule.requests, *(rule.kinds or ()))})
    met = 0
    for seed in range(32):
        told = []
        for few in (0, 2, 1 << 30):
            monkeypatch.setattr(pairing, "_FEW", few)
            chance = random.Random(seed)
            several = [pairing.Pairing(rule, room=chance.choice((5, 1000))) for rule in rules]
            for time in range(120):
                sender, receiver, conversation = (chance.choice(names) for names in ("ab", "ab", "123"))
                task = Work(chance.choice("tu"), chance.random() < 0.7, chance.choice("mn"))
                work = chance.choice((None, task))
                message = Message(chance.choice(kinds), sender, receiver, conversation, None, time, work)
                for one in several:
                    one.take(message)
            told.append([one.to_dict() for one in several])
        assert told[0] == told[1] == told[2]
        met += sum(one["answered"] for one in told[0])
    assert met > 800


def test_the_first_that_waits_for_another_is_found_without_the_others() -> None:
    requests = [pairing._Open(Message("Query", "ab"[number > 700], "c", "1", None, number)) for number in range(800)]
    many = pairing._Many(dict(enumerate(requests)))
    assert many.first(False, "a") is requests[0] and many.first(True, "a") is requests[701]
    for number in range(701):
        many.pop(number, None)
        assert many.first(False, None) is requests[number + 1]
    assert len(many) == 99 and many.first(True, "b") is None and many.first(False, "b") is requests[701]


def test_many_values_are_asked_for_as_few_are() -> None:
    data = b"".join(b'@a3|f0|c%d|S0|d1|T1|t"n%d\\"x"#\n' % (number, number % 7) for number in range(90))
    data += b"".join(b'@a3|f0|c%d|S0|d1|T1|t"n%d"#\n' % (number, number % 7) for number in range(60))
    wanted = ['n3"x', "n4"]
    few = sum(len(batch) for batch in turnwire.scan(data, where={"subject": set(wanted)}))
    many = {*wanted, *(f"other {number}" for number in range(200))}
    assert sum(len(batch) for batch in turnwire.scan(data, where={"subject": many})) == few > 10
    line = data[: data.index(b"\n")]
    for text, count in ((line, 1), (line + b"\n@a3", 0), (data, 0), (b"n3", 22)):
        assert sum(len(batch) for batch in turnwire.scan(data, where={"text": text})) == count


CSP = "CSP/1\nFROM A\nTO B\nCTX C0\nINTENT RESULT\n\nRESULT T1\nSTATUS OK\nDATA x\n"


@pytest.mark.usefixtures("registering")
def test_behind_one_block_of_json_the_scan_of_a_wire_alone_is_tried_for_each(monkeypatch: pytest.MonkeyPatch) -> None:
    tried = called(monkeypatch, Shortcut, "holds")
    data = b'{"a":1}{"b":2}\n' * 8 + b"@a3|f0|c1|S0|d1|T1#\n" * 60
    assert sum(map(len, turnwire.scan(data, wire="nslip", batch_bytes=120, threads=1))) == 60
    assert len(tried) == 10


def test_few_lines_are_claimed_again_behind_those_that_reach_over_claims(monkeypatch: pytest.MonkeyPatch) -> None:
    claimed = called(monkeypatch, Pass, "claims", lambda _search, start, stop, _final, **_options: stop - start)
    heredoc = CSP.replace("DATA x", f"DATA\n<<<\n{CSP * 3}>>>")
    data = f"INFO x: {heredoc}".encode() * 40
    assert sum(map(len, turnwire.scan(data, threads=1))) == 40
    assert sum(claimed) < 5 * len(data)


def test_only_messages_in_strings_are_read_again_for_their_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    again = called(monkeypatch, claimed_rows, "read_again", lambda _scanner, _view, _arena, places, *_rest: len(places))
    data = f"{CSP * 20}```\n{json.dumps({'log': CSP})}\n".encode()
    [batch] = turnwire.scan(data)
    assert list(batch["subject"]) == ["T1"] * 21
    assert again == [1]
