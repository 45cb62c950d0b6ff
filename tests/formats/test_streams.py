"""Streams of the APIs: their tokens count once, and the turns are those that the pieces were made of."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from itertools import zip_longest
from pathlib import Path
from random import Random
from typing import Any

import pytest

import turnwire
from tests.conftest import put, rounds
from tests.formats import samples
from tests.formats.test_exports import lines
from turnwire.log import stats
from turnwire.log.cluster_plan import plan, read_block
from turnwire.read.usage import usage

pytestmark = pytest.mark.once
Response = dict[str, Any]
NAMES = {"input_tokens": "prompt_tokens", "output_tokens": "completion_tokens"}


def responses(made: Random) -> list[Response]:
    """Answers of models: blocks of text and calls in any order, and their tokens."""
    found = []
    for number in range(made.randrange(1, 5)):
        blocks: list[Any] = [made.choice(('é "so" \n', "I look", "☃" * 9)) for _ in range(made.randrange(3))]
        blocks += [
            {"q": made.choice(["a b", 12, None])} if made.random() < 0.8 else {} for _ in range(made.randrange(3))
        ]
        tokens = {"input_tokens": made.randrange(1, 99), "output_tokens": made.randrange(2, 99)}
        found.append({"id": f"r{number}", "blocks": blocks, "tokens": tokens})
    return found


def pieces(text: str, made: Random) -> Iterator[str]:
    """A text in parts of any size, some of them empty."""
    while text:
        size = made.randrange(4)
        yield text[:size]
        text = text[size:]


def anthropic(said: Response, made: Random) -> Iterator[dict[str, Any]]:
    message = {"type": "message", "role": "assistant", "content": [], "stop_reason": None, "id": said["id"]}
    tokens, again = {**said["tokens"], "cache_read_input_tokens": 3, "output_tokens": 1}, made.random() < 0.5
    yield {"type": "message_start", "message": {**message, "model": "claude-opus-4-1", "usage": tokens}}
    for number, block in enumerate(said["blocks"]):
        call = {"type": "tool_use", "id": f"{said['id']}-{number}", "name": "look", "input": {}}
        begun = {"type": "text", "text": ""} if isinstance(block, str) else call
        yield {"type": "content_block_start", "index": number, "content_block": begun}
        yield {"type": "ping"}
        for piece in pieces(block if isinstance(block, str) else json.dumps(block), made):
            how = ("text_delta", "text") if isinstance(block, str) else ("input_json_delta", "partial_json")
            yield {"type": "content_block_delta", "index": number, "delta": {"type": how[0], how[1]: piece}}
        yield {"type": "content_block_stop", "index": number}
    final = {**(tokens if again else {}), "output_tokens": said["tokens"]["output_tokens"]}
    yield {"type": "message_delta", "delta": {"stop_reason": "end_turn", "stop_sequence": None}, "usage": final}
    yield {"type": "message_stop"}


def openai(said: Response, made: Random) -> Iterator[dict[str, Any]]:
    shared = {"id": said["id"], "object": "chat.completion.chunk", "created": 1772000000, "model": "gpt-4o"}

    def chunk(delta: dict[str, Any], reason: str | None = None) -> dict[str, Any]:
        return {**shared, "choices": [{"index": 0, "delta": delta, "finish_reason": reason}], "usage": None}

    yield chunk({"role": "assistant", "content": ""})
    yield from (chunk({"content": one}) for one in pieces("".join(filter(is_text, said["blocks"])), made))
    for number, block in enumerate(one for one in said["blocks"] if not is_text(one)):
        place = next(at for at, one in enumerate(said["blocks"]) if one is block)
        call = {"index": number, "id": f"{said['id']}-{place}", "type": "function"}
        yield chunk({"tool_calls": [{**call, "function": {"name": "look", "arguments": ""}}]})
        for piece in pieces(json.dumps(block), made):
            yield chunk({"tool_calls": [{"index": number, "function": {"arguments": piece}}]})
    yield chunk({}, "stop")
    counted = {NAMES[name]: count for name, count in said["tokens"].items()}
    yield {**shared, "choices": [], "usage": {**counted, "prompt_tokens_details": {"cached_tokens": 0}}}


def is_text(block: Any) -> bool:
    return isinstance(block, str)


def written(events: list[dict[str, Any]], sse: bool) -> bytes:
    """As lines of JSON, or as server-sent events."""
    if not sse:
        return samples.text(events)
    return "".join(f"event: {one.get('type')}\ndata: {json.dumps(one)}\n\n" for one in events).encode()


@pytest.mark.parametrize(("stream", "mixed"), [(anthropic, False), (openai, False), (openai, True)])
@pytest.mark.parametrize("sse", [False, True])
def test_a_stream_is_what_its_pieces_were_made_of(stream: Any, mixed: bool, sse: bool) -> None:
    """Also of streams at one time with requests between them, where each piece has the id of its response."""
    request = {"model": "gpt-4o", "messages": [{"role": "user", "content": "q"}]}
    for seed in range(rounds(8)):
        made = Random(seed)
        said = responses(made)
        events = [[*stream(response, made)] for response in said]
        each = zip_longest(*events, [request] * made.randrange(1, 9)) if mixed else events
        data = written([one for several in each for one in several if one], sse)
        cached = 3 if stream is anthropic else 0
        found = usage(data, "model")
        for name in NAMES:
            assert found.total[name] == sum(one["tokens"][name] for one in said), seed
        assert (found.total["responses"], found.total["cache_read_tokens"]) == (len(said), cached * len(said))
        assert len(found.rows) == 1 and not found.counts.rejects
        spoken = [one for one in said if one["blocks"]]
        answers = [one for one in lines(data, "anthropic")[0] if one["role"] == "assistant"]
        for got, one in zip(answers, spoken, strict=True):
            assert (got["id"], got["role"], bool(got["stop_reason"])) == (one["id"], "assistant", True)
            assert {name: got["usage"][name] for name in NAMES} == one["tokens"]
            calls = [(place, block) for place, block in enumerate(one["blocks"]) if not is_text(block)]
            assert [(f"{one['id']}-{place}", block) for place, block in calls] == [
                (block["id"], block["input"]) for block in got["content"] if block["type"] == "tool_use"
            ]
            texts = [block["text"] for block in got["content"] if block["type"] == "text"]
            expected = list(filter(is_text, one["blocks"]))
            assert texts == expected if stream is anthropic else "".join(texts) == "".join(expected)
        made_calls = sum(not is_text(block) for one in said for block in one["blocks"])
        tools = {row["tool"]: row["responses"] for row in usage(data, "tool").rows}
        several = Counter("look" if any(not is_text(block) for block in one["blocks"]) else None for one in said)
        assert (tools, found.copies) == (several, len(said) if stream is anthropic else 0), seed
        counted = {row["tool"]: row["calls"] for row in stats(data, wire="formats").rows() if row["stat"] == "tool"}
        assert counted == ({"look": made_calls} if made_calls else {}), seed


def test_the_last_counts_of_a_stream_have_those_of_its_start(tmp_path: Path) -> None:
    """However the stream is cut into blocks; and not those of another stream, whose end is missing."""
    made = Random(1)
    said = [one for _ in range(9) for one in responses(made)]
    said = [{**one, "id": f"m{number}"} for number, one in enumerate(said)]
    events = [[*anthropic(one, made)] for one in said]
    lost = [number for number in range(len(said)) if number % 5 == 4]  # streams that were cut off
    data = samples.text(one for number, all_of in enumerate(events) for one in all_of[: 2 if number in lost else None])
    expected = [
        (one["id"], "claude-opus-4-1", one["tokens"]["input_tokens"], 3, one["tokens"]["output_tokens"])
        for number, one in enumerate(said)
        if number not in lost
    ]
    columns = ["id", "model", "input_tokens", "cache_read_tokens", "output_tokens"]
    options: dict[str, Any] = {"wire": "formats", "columns": columns, "where": {"kind": "usage"}}
    path = put(tmp_path / "a.jsonl", data)

    def resumed() -> Iterator[Any]:
        position: Any = {}
        for end in range(700, len(data) + 700, 700):
            path.write_bytes(data[:end])
            found = turnwire.scan(path, **options, resume=position)
            yield from found
            position = json.loads(json.dumps(found.position))

    cuts: tuple[dict[str, Any], ...] = ({}, {"batch_bytes": 600}, {"batch_bytes": 600, "threads": 3})
    ways = [turnwire.scan(data, **{**options, **more}) for more in cuts]
    blocks = plan(path, wire="formats", columns=columns, block_bytes=3000, where={"kind": "usage"})
    planned = (batch for block in blocks for batch in read_block(block))
    every: list[Any] = [*ways, planned, resumed()]
    for way in every:
        found = [row for batch in way for row in zip(*(list(batch[name]) for name in columns), strict=True)]
        assert found == expected


def test_the_chunks_of_langchain_are_one_message() -> None:
    said = [{"type": "AIMessageChunk", "id": "a", "content": one} for one in ("Hel", "lo\n", "", "you")]
    found, _ = lines(samples.text({"lc": 1, "type": "constructor", "id": [], "kwargs": one} for one in said), "openai")
    assert found == [{"role": "assistant", "content": "Hello\nyou"}]


@pytest.mark.parametrize("stream", [anthropic, openai])
def test_a_stream_that_is_written_again_is_told_once(stream: Any) -> None:
    """Directly behind itself and behind another one, also where its pieces have no id; its calls and tokens, too."""
    for seed in range(rounds(4)):
        said, made = responses(Random(seed)), Random(seed)
        streams = [[*stream(one, made)] for one in said]
        order = [*range(len(said)), *(made.randrange(len(said)) for _ in range(3))]
        once, again = (samples.text(one for at in of for one in streams[at]) for of in (range(len(said)), order))
        for to in ("jsonl", "anthropic", "openai"):
            assert lines(again, to)[0] == lines(once, to)[0], (seed, to)
        names = ("responses", "input_tokens", "output_tokens")
        assert [usage(again).total[name] for name in names] == [usage(once).total[name] for name in names]


def test_turns_stand_in_the_order_of_their_first_records() -> None:
    """Also beside streams that go on; an id that comes again behind the end of its stream is that of another one."""
    said = responses(Random(3))[0]
    [first, *others] = openai({**said, "blocks": ["a"]}, Random(3))
    request = {"model": "gpt-4o", "messages": [{"role": "user", "content": "q"}]}
    new = [{**one, "created": 1772000009} for one in (first, *others)]
    for data in ([request, first, request, *others], [request, first, *others, request, *new]):
        found, _ = lines(samples.text(data), "openai")
        expected = ["user", "assistant", "user", "assistant"][: 3 if data[2] == request else 4]
        assert [one["role"] for one in found] == expected
        assert {one["content"] for one in found} == {"q", "a"}
