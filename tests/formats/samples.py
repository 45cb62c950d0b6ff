"""Generated files in the shape of real ones, and what is counted of them without turnwire."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from random import Random
from typing import Any

FOLDER = Path(__file__).parents[2] / "src" / "turnwire" / "formats"

MODELS = ("claude-sonnet-4-5-20250929", "claude-opus-4-1-20250805")


def text(lines: Iterable[Any]) -> bytes:
    """Objects, or lines that are written already, one a line."""
    return b"".join(
        (line if isinstance(line, bytes) else json.dumps(line, separators=(",", ":")).encode()) + b"\n"
        for line in lines
    )


def vectors(name: str) -> list[dict[str, Any]]:
    """The vectors of a format."""
    return [json.loads(line) for line in (FOLDER / name / "vectors.jsonl").read_text("utf-8").splitlines()]


def lines(name: str) -> list[dict[str, Any]]:
    """The samples of a format."""
    return [json.loads(line) for line in (FOLDER / name / "samples.jsonl").read_text("utf-8").splitlines()]


def _stamp(second: int) -> str:
    return f"2025-09-{1 + second // 86400:02}T{second // 3600 % 24:02}:{second // 60 % 60:02}:{second % 60:02}.250Z"


def claude_code(turns: int = 30, seed: int = 1) -> list[dict[str, Any]]:
    """The lines of a session: prompts, responses written once for each of their blocks, results of tools."""
    made = Random(seed)
    lines: list[dict[str, Any]] = [{"type": "summary", "summary": "Mend the build", "leafUuid": f"u{seed}-0"}]
    for turn in range(turns):
        shared = {
            "parentUuid": f"u{seed}-{turn}" if turn else None,
            "isSidechain": turn % 7 == 6,
            "userType": "external",
            "cwd": f"/home/ada/p{turn // 10}",
            "sessionId": f"s{seed}",
            "version": "2.0.14",
            "gitBranch": "main",
        }
        call = f"toolu_{seed}_{turn}"
        usage = {
            "input_tokens": made.randrange(50),
            "cache_creation_input_tokens": made.randrange(9000),
            "cache_read_input_tokens": made.randrange(90000),
            "output_tokens": made.randrange(1, 900),
            "service_tier": "standard",
        }
        message = {"model": MODELS[turn % 2], "id": f"msg_{seed}_{turn}", "type": "message", "role": "assistant"}
        blocks = (
            {"type": "thinking", "thinking": "the é build\nfails", "signature": "x" * 40},
            {"type": "text", "text": 'I look at "setup.py" ' + "a b " * made.randrange(200)},
            {"type": "tool_use", "id": call, "name": ("Bash", "Read")[turn % 2], "input": {"command": "ls -la"}},
        )
        lines.append(
            {
                **shared,
                "type": "user",
                "message": {"role": "user", "content": "go on \u2603"},
                "uuid": f"u{seed}-{turn}-a",
                "timestamp": _stamp(3600 * turn),
            }
        )
        for number, block in enumerate(blocks):
            said = {**usage, "output_tokens": usage["output_tokens"] if number == 2 else 1}
            lines.append(
                {
                    **shared,
                    "message": {**message, "content": [block], "stop_reason": None, "usage": said},
                    "requestId": f"req_{seed}_{turn}",
                    "type": "assistant",
                    "uuid": f"u{seed}-{turn}-b{number}",
                    "timestamp": _stamp(3600 * turn + 1 + number),
                }
            )
        result = {"tool_use_id": call, "type": "tool_result", "content": "total 8\n", "is_error": turn % 5 == 4}
        lines.append(
            {
                **shared,
                "type": "user",
                "message": {"role": "user", "content": [result]},
                "uuid": f"u{seed}-{turn}-c",
                "timestamp": _stamp(3600 * turn + 9),
                "toolUseResult": {"stdout": "total 8\n", "stderr": "", "interrupted": False},
            }
        )
    return lines


def claude_totals(lines: Iterable[dict[str, Any]]) -> dict[str, list[int]]:
    """Model -> responses, input, output, cache written, cache read: of each response the copy with most tokens."""
    names = ("input_tokens", "output_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
    best: dict[tuple[str, str], tuple[str, list[int]]] = {}
    for line in lines:
        message = line.get("message", {})
        if "usage" in message:
            key, said = (message["id"], line["requestId"]), [message["usage"][name] for name in names]
            if key not in best or sum(said) > sum(best[key][1]):
                best[key] = message["model"], said
    found: dict[str, list[int]] = {}
    for model, said in best.values():
        before = found.setdefault(model, [0] * 5)
        found[model] = [before[0] + 1, *(one + more for one, more in zip(before[1:], said, strict=True))]
    return found


def codex(turns: int = 12, seed: int = 1) -> list[dict[str, Any]]:
    """The lines of a rollout: its head, turns with calls and results, and counts of tokens, some of them twice."""
    made = Random(seed)

    def line(second: int, kind: str, payload: dict[str, Any]) -> dict[str, Any]:
        return {"timestamp": _stamp(second), "type": kind, "payload": payload}

    head = {"id": f"0199-{seed}", "timestamp": _stamp(0), "cwd": f"/home/ada/q{seed}", "originator": "codex_cli_rs"}
    lines = [line(0, "session_meta", {**head, "cli_version": "0.42.0", "instructions": None})]
    total = dict.fromkeys(("input_tokens", "cached_input_tokens", "output_tokens", "reasoning_output_tokens"), 0)
    for turn in range(turns):
        at = 60 + 600 * turn
        lines.append(line(at, "turn_context", {"cwd": head["cwd"], "model": ("gpt-5-codex", "gpt-5")[turn % 2]}))
        lines.append(line(at, "event_msg", {"type": "user_message", "message": "go on", "kind": "plain"}))
        call = {"type": "function_call", "name": "shell", "arguments": '{"command":["ls"]}', "call_id": f"c{turn}"}
        lines.append(line(at + 2, "response_item", call))
        output = {"type": "function_call_output", "call_id": f"c{turn}", "output": '{"output":"a\\n"}'}
        lines.append(line(at + 4, "response_item", output))
        said = [{"type": "output_text", "text": "done"}]
        lines.append(line(at + 5, "response_item", {"type": "message", "role": "assistant", "content": said}))
        read, fresh = made.randrange(5000), made.randrange(1, 900)
        last = {
            "input_tokens": read + fresh,
            "cached_input_tokens": read,
            "output_tokens": made.randrange(1, 500),
            "reasoning_output_tokens": 3,
        }
        total = {name: total[name] + last[name] for name in last}
        info = {
            "total_token_usage": {**total, "total_tokens": total["input_tokens"] + total["output_tokens"]},
            "last_token_usage": {**last, "total_tokens": last["input_tokens"] + last["output_tokens"]},
        }
        counted = line(at + 6, "event_msg", {"type": "token_count", "info": info, "rate_limits": {}})
        lines += [counted] * (1 + turn % 3)
    return lines
