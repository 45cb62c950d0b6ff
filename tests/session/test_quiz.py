"""The quiz: questions that have one answer, judged exactly; a server that answers by a script."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.cli.running import REAL, turnwire
from turnwire import decode, session
from turnwire.session.quiz import FORMATS, KINDS, Question, endpoint, interval, questions, quiz, right, texts

pytestmark = pytest.mark.once
pytest.importorskip("splintr")
pytest.importorskip("httpx")

EVENTS: list[dict[str, Any]] = [
    {
        **{"from": ["ann", "bob"][number % 2], "to": ["bob", "ann"][number % 2], "turn": number + 1},
        **{"kind": "ask" if number % 3 else "tell", "text": f"about {number * 7 % 11}", "room": f"R{number // 10}"},
    }
    for number in range(60)
]
ASKED = questions(EVENTS, 300)


def test_questions_of_all_kinds_have_their_answers_in_the_log() -> None:
    assert len(ASKED) == 300 and len(set(ASKED)) == 300 and {each.kind for each in ASKED} == set(KINDS)
    assert questions(EVENTS, 300) == ASKED and questions(EVENTS, 300, seed=2) != ASKED
    for kind, text, answer in ASKED:
        if found := re.fullmatch(r"What is (\w+) of event (\d+)\?", text):
            assert str(EVENTS[int(found[2]) - 1][found[1]]) == answer, text
        elif found := re.fullmatch(r'How many events have (\w+) "(.*)"\?', text):
            assert sum(str(event[found[1]]) == found[2] for event in EVENTS) == int(answer), text
        elif found := re.fullmatch(r'Which events \(their numbers\) have (\w+) "(.*)"\?', text):
            holders = [number for number, event in enumerate(EVENTS, 1) if str(event[found[1]]) == found[2]]
            assert ", ".join(map(str, holders)) == answer, text
        elif found := re.fullmatch(r"What is the last value of (\w+)\?", text):
            assert str(EVENTS[-1][found[1]]) == answer, text
        else:
            number = int(re.findall(r"\d+", text)[0])
            assert kind == "answer" and int(answer) == number + 1, text


@pytest.mark.parametrize("names", [("src", "dst"), ("from", "to"), ("sender", "receiver"), ("source", "target")])
def test_who_speaks_to_himself_is_answered_by_nobody(names: tuple[str, str]) -> None:
    """Nor is he who gets nothing back, or whose event names one party alone."""
    ways = [("ann", "ann"), ("ann", "bob"), ("bob", "bob"), ("bob", "ann"), ("ann", "ann"), ("ann", "cy")]
    events: list[dict[str, Any]] = [dict(zip(names, way, strict=True)) for way in ways] + [{names[0]: "cy"}]
    found = [each for each in questions(events, 1000) if each.kind == "answer"]
    assert [(each.text.partition(" goes ")[0], each.answer) for each in found] == [("Event 2", "4")]


def test_what_a_session_leaves_out_is_asked_for() -> None:
    found = {each.text: each.kind for each in questions(EVENTS, 10_000)}
    assert found["What is turn of event 2?"] == "counted" and found["What is room of event 2?"] == "repeated"
    assert found["What is text of event 2?"] == "value"


def test_messages_are_written_in_each_format() -> None:
    pytest.importorskip("toon_format")
    lines = REAL.read_text("utf-8").split("\n")[:12]
    found = texts([decode(line) for line in lines], FORMATS)
    assert {name: why for name, (_, why) in found.items()} == dict.fromkeys(FORMATS, "")
    assert found["toon"][0].startswith("[12]")


@pytest.mark.parametrize(
    ("kind", "answer", "reply", "good"),
    [
        ("value", "7", " 7\n", True),
        ("value", "7", '"7"', True),
        ("value", "7", "7.", True),
        ("value", "7.", "7.", True),
        ("value", "7", "It is 7", False),
        ("value", "7", "77", False),
        ("value", "ann", "Ann", False),
        ("value", "7", "", False),
        ("filter", "1, 5, 9", "1,5, 9", True),
        ("filter", "1, 5, 9", "1, 5 and 9.", True),
        ("filter", "1, 5, 9", "1, 9, 5", False),
        ("filter", "1, 5, 9", "1, 5", False),
        ("filter", "1, 5", "events 1, 5", False),
    ],
)
def test_answers_are_judged_exactly(kind: str, answer: str, reply: str, good: bool) -> None:
    assert right(Question(kind, "?", answer), reply) is good


def test_intervals() -> None:
    """Wilson's, as tables have it."""
    assert [round(each, 3) for each in interval(8, 10)] == [0.490, 0.943]
    assert [round(each, 3) for each in interval(200, 200)] == [0.981, 1.0] and interval(0, 0) == (0.0, 1.0)


def test_all_formats_hold_the_events() -> None:
    found = texts(EVENTS, FORMATS)
    assert session.decode(found["session"][0]) == session.decode(found["plain"][0]) == EVENTS
    assert [json.loads(line) for line in found["json"][0].split("\n")] == EVENTS
    assert found["plain"][0] != found["session"][0] and (found["toon"][0] or found["toon"][1])
    with pytest.raises(ValueError, match="xml"):
        texts(EVENTS, ["xml"])


class Script(BaseHTTPRequestHandler):
    """A server that knows JSON lines only: it answers by them, and nothing else."""

    known: dict[str, str]

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        system, question = (message["content"] for message in body["messages"])
        reply = self.known.get(question["content"] if isinstance(question, dict) else question, "?")
        if "\n{" not in system:
            reply = "I cannot read this"
        data: Any = {"choices": [{"message": {"role": "assistant", "content": f" {reply}\n"}}]}
        if body["model"] == "broken":
            data = {"error": "no such model"}
        answer = json.dumps(data).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, format: str, *args: Any) -> None:
        """Says nothing."""


@pytest.fixture
def server() -> Iterator[str]:
    Script.known = {each.text: each.answer for each in questions(EVENTS, 10_000)}
    found = ThreadingHTTPServer(("127.0.0.1", 0), Script)
    thread = threading.Thread(target=found.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{found.server_port}/v1"
    found.shutdown()
    thread.join()
    found.server_close()


def test_a_model_that_reads_json_lines_only(server: str) -> None:
    scores = {each.format: each for each in quiz(EVENTS, endpoint(server, "script"), 40, formats=("json", "session"))}
    assert (scores["json"].right, scores["json"].asked) == (40, 40) and scores["json"].low > 0.9
    assert scores["session"].right == 0 and scores["session"].high < 0.1
    assert sum(asked for _, asked in scores["json"].kinds.values()) == 40
    assert 0 < scores["session"].tokens < scores["json"].tokens


def test_the_table(server: str, tmp_path: Path) -> None:
    log = tmp_path / "events.jsonl"
    log.write_text("\n".join(map(json.dumps, EVENTS)))
    given: tuple[Any, ...] = ("session", "quiz", "--events", log, "--url", server, "--questions", "12")
    done = turnwire(*given, "--size", "60", "--format", "json", "--format", "plain")
    assert done.code == 0, done
    head, *rows = done.out.decode().splitlines()
    assert head.split()[:3] == ["events", "format", "tokens"] and len(rows) == 2
    assert rows[0].split()[:2] == ["60", "json"] and "12 of    12" in rows[0] and " 0 of    12" in rows[1]
    done = turnwire(*given, "--size", "60", "--format", "json", "--json")
    assert json.loads(done.out)["right"] == 12
    assert turnwire(*given, "--model", "broken").code == 3
    assert turnwire(*given, "--format", "xml").code == 2


def test_a_server_that_is_not_there() -> None:
    ask: Callable[[str, str], str] = endpoint("http://127.0.0.1:9/v1", "none", timeout=2)
    with pytest.raises(ConnectionError):
        ask("events", "question")
