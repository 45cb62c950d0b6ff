"""Containers of a log."""

from __future__ import annotations

import json


def lines(*texts: str) -> str:
    """Each text on a line of its own."""
    return "".join(f"{text}\n" for text in texts)


def prefixed(*texts: str) -> str:
    """The same as a service logs them."""
    return "".join(f"2026-01-05 10:00:{number % 60:02} INFO bus: {text}\n" for number, text in enumerate(texts))


def in_json(*texts: str) -> str:
    """Each text in a string of an object."""
    return lines(*(json.dumps({"level": "info", "msg": text}, ensure_ascii=False) for text in texts))


def held(*texts: str) -> dict[str, str]:
    """The same texts, which are whole lines, in each container: its name and the log."""
    whole = lines(*texts)
    times = [f"2026-01-05 10:00:{number % 60:02} bus: " for number in range(len(whole))]
    return {
        "behind prefixes": lines(*(time + line for time, line in zip(times, whole.splitlines(), strict=False))),
        "behind a name": lines(*(f"agent> {line}".rstrip() for line in whole.splitlines())),
        "in a string": in_json(whole),
        "in a string of a string": in_json(in_json(whole)),
        "in strings": in_json(*texts),
        "in strings behind prefixes": prefixed(*(json.dumps({"msg": text}) for text in texts)),
    }


def fenced(*texts: str) -> str:
    """The texts in a code fence."""
    return f"```\n{lines(*texts)}```\n"
