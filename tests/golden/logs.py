"""Logs of all kinds: messages of :mod:`tests.golden.messages`, damaged or not, in one of the carriers or several.

Log N follows from N alone. A carrier is a function of some texts that gives the lines of a log; carriers can be nested.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, NamedTuple

from tests.golden.messages import START, WIRES, Chance, space

COUNT = 50_000
LARGEST = 5000
PROSE = ("Starting up.", "GET /health 200", "Sure, here it is:", "", "---", "mail bob@a3.com", "| a | b |", "<pre>")
PROSE += (
    '{"level": "info", "msg": "up"}',
    "Traceback (most recent call last):",
    "[1, 2, 3]",
    "{'a': 1}",
    "x = {",
    "FROM x:1",
)
PREFIXES = (
    "{rfc} ",
    "{cri} ",
    "[{rfc}] ",
    "{zone} INFO agent: ",
    "{comma} [main] DEBUG app - ",
    "> ",
    "> > ",
    "data: ",
)
PREFIXES += (
    "{syslog} host app[12]: ",
    "agent-1  | ",
    "agent-{n}  | ",
    "\x1b[36magent-1  | \x1b[0m",
    "data:",
    "    ",
    "\t",
)
PREFIXES += ("\x1b[3{n}mweb |\x1b[0m {rfc} ", "# ", "{n}7: ", "[pod/a-{n}] ", "- ", "{seconds} ")
Carrier = Callable[[Chance, list[str]], str]


class Log(NamedTuple):
    """A log: its number, what it was made of, and its bytes."""

    number: int
    recipe: str
    data: bytes


def _times(chance: Chance) -> dict[str, str]:
    """The time of the next line, in the forms that logs have."""
    chance.seconds += chance.below(3)
    minute, second = divmod(chance.seconds, 60)
    clock, since = f"{minute % 60:02}:{second:02}", START + chance.seconds
    return {
        "rfc": f"2026-11-22T07:{clock}Z",
        "cri": f"2026-11-22T07:{clock}.123456789Z",
        "zone": f"2026-11-22T09:{clock}.5+02:00",
        "comma": f"2026-11-22 07:{clock},123",
        "syslog": f"Nov 22 07:{clock}",
        "seconds": str(since),
        "micros": str(since * 10**6),
        "nanos": str(since * 10**9),
    }


def _prefix(chance: Chance, form: str) -> str:
    return form.format(**_times(chance), n=chance.below(3))


def bare(chance: Chance, texts: list[str]) -> str:
    return chance.pick("\n", "\n", "\n\n", " ", "").join(texts) + "\n"


def prose(chance: Chance, texts: list[str]) -> str:
    """Messages with other text in front of them and behind them, on their lines or beside these."""
    between = chance.pick("\n", "\n", " ", ": ")
    return "\n".join(between.join((chance.pick(*PROSE), text, chance.pick(*PROSE))) for text in texts) + "\n"


def every_line(chance: Chance, texts: list[str]) -> str:
    """A prefix on each line; at times a line without it."""
    prefix, odd = chance.pick(*PREFIXES), 0.03 if chance.often(0.2) else 0.0
    lines = bare(chance, texts).removesuffix("\n").split("\n")
    return "\n".join(line if chance.often(odd) else _prefix(chance, prefix) + line for line in lines) + "\n"


def first_line(chance: Chance, texts: list[str]) -> str:
    prefix, indent = chance.pick(*PREFIXES), chance.pick("", "", "    ", "\t")
    return "\n".join(_prefix(chance, prefix) + text.replace("\n", "\n" + indent) for text in texts) + "\n"


def events(chance: Chance, texts: list[str]) -> str:
    """Server-sent events."""
    heads = chance.pick("", "event: message\n", "id: 7\nevent: x\n", ": ping\n\n")
    return "".join(heads + "".join(f"data: {line}\n" for line in text.split("\n")) + "\n" for text in texts)


def _merged(chance: Chance, groups: list[list[str]]) -> list[str]:
    """The lines of several writers, each in its own order."""
    groups, lines = [group[:] for group in groups if group], []
    while groups:
        group = chance.pick(*groups)
        lines.append(group.pop(0))
        groups = [one for one in groups if one]
    return lines


def _parts(chance: Chance, line: str) -> list[tuple[str, bool]]:
    """Parts of a line, and whether each is the last one."""
    width = chance.pick(40, 120, 300) if chance.often(0.5) else max(len(line), 1)
    places = range(0, max(len(line), 1), width)
    return [(line[place : place + width], place == places[-1]) for place in places]


def _by_stream(chance: Chance, texts: list[str], write: Callable[[str, str], list[str]]) -> str:
    """Texts that are written to two streams at once, or one after the other."""
    streams = [(text, chance.pick("stdout", "stdout", "stderr")) for text in texts]
    if chance.often(0.5):
        return "\n".join(line for text, stream in streams for line in write(text, stream)) + "\n"
    both = ("stdout", "stderr")
    groups = [[line for text, stream in streams if stream == name for line in write(text, stream)] for name in both]
    return "\n".join(_merged(chance, groups)) + "\n"


def cri(chance: Chance, texts: list[str]) -> str:
    """The log of a container as Kubernetes has it."""

    def write(text: str, stream: str) -> list[str]:
        parts = [part for line in text.split("\n") for part in _parts(chance, line)]
        form = "cri" if chance.often(0.8) else "zone"
        return [f"{_times(chance)[form]} {stream} {'F' if last else 'P'} {part}" for part, last in parts]

    return _by_stream(chance, texts, write)


def docker(chance: Chance, texts: list[str]) -> str:
    """The log of a container as Docker has it: one object a line, or a part of one."""
    whole, attrs = chance.often(0.3), {"attrs": {"tag": "a"}} if chance.often(0.2) else {}
    separators = (",", ":") if chance.often(0.6) else None

    def write(text: str, stream: str) -> list[str]:
        lines = [text + "\n"] if whole else [line + "\n" for line in text.split("\n")]
        values = [part for line in lines for part, _ in _parts(chance, line)]
        rows = [{"log": value, "stream": stream, **attrs, "time": _times(chance)["cri"]} for value in values]
        return [json.dumps(row, separators=separators) for row in rows]

    return _by_stream(chance, texts, write)


def journald(chance: Chance, texts: list[str]) -> str:
    """The export of a journal: one object a line, the text as a string or an array of bytes."""
    name = chance.pick("CONTAINER_ID", "CONTAINER_ID", "_SYSTEMD_UNIT")

    def write(text: str, stream: str) -> list[str]:
        rows = []
        for value, last in [part for line in text.split("\n") for part in _parts(chance, line)]:
            said: Any = list(value.encode("utf-8", "replace")) if chance.often(0.1) else value
            row = {"__REALTIME_TIMESTAMP": _times(chance)["micros"], name: stream, "MESSAGE": said, "PRIORITY": "6"}
            rows.append(row if last else row | {"CONTAINER_PARTIAL_MESSAGE": "true"})
        return [json.dumps(dict(chance.mixed(list(row.items())) if chance.often(0.2) else row)) for row in rows]

    return _by_stream(chance, texts, write)


def strings(chance: Chance, texts: list[str]) -> str:
    """Strings in objects: to some depth, beside a time, as lists of lines or bytes."""
    member = chance.pick("msg", "message", "content", "text", "log", "body", "payload")
    stamp = chance.pick("time", "timestamp", "ts", "@timestamp", "eventTime", "timeUnixNano", "_time", "")
    form = chance.pick("rfc", "zone", "seconds", "micros", "nanos")
    layout = chance.pick("string", "string", "string", "lines", "bytes", "deep", "array")
    indent, plain = chance.pick(None, None, None, 1, 2), chance.often(0.5)
    found = []
    for text in [chance.pick("\n", " ").join(texts)] if chance.often(0.2) else texts:
        depth = chance.pick(1, 1, 1, 2, 2, 3, 4, 8, 9)
        while depth and len(text) < LARGEST // 4:
            depth -= 1
            time: Any = _times(chance)[form]
            time = int(time) if time.isdigit() and chance.often(0.7) else time
            value: dict[str, Any] = {stamp: time} if stamp else {}
            value = {"meta": value} if chance.often(0.1) else value
            said: Any = text
            if layout == "lines":
                said = [line + "\n" for line in text.split("\n")]
            elif layout == "bytes" and depth == 0:
                said = list(text.encode("utf-8", "replace"))
            elif layout == "deep":
                said = {"stringValue": text, "role": "user"}
            elif layout == "array":
                said = [{"type": "text", "text": text}, chance.pick(*PROSE)]
            text = json.dumps(value | {member: said, "level": "info"}, indent=indent, ensure_ascii=plain)
        found.append(text)
    return "\n".join(found) + "\n"


def fence(chance: Chance, texts: list[str]) -> str:
    """Messages in fences of Markdown, some of which never close."""
    mark, indent = chance.pick("```", "```", "~~~", "````"), chance.pick("", "", "", "   ", "> ")
    found = []
    for text in texts:
        lines = [mark + chance.pick("", "json", "csp", " text"), *text.split("\n"), *[mark] * chance.often(0.9)]
        lines = [*chance.some(list(PROSE[:5]), 0.2), *(indent + line for line in lines)]
        found.append("\n".join(lines))
    return "\n".join(found) + "\n"


def interleaved(chance: Chance, texts: list[str]) -> str:
    """Two services that write to one log."""
    first, second = chance.pick("a-1  | ", "\x1b[32ma |\x1b[0m ", "[a] "), chance.pick("b-1  | ", "bb | ", "[b] ", "")
    half = chance.below(len(texts) + 1)
    noise = [[second + chance.pick(*PROSE)] for _ in range(chance.below(4))]
    lines = [[line for text in some for line in text.split("\n")] for some in (texts[:half], texts[half:])]
    groups = [[first + line for line in lines[0]], [second + line for line in lines[1]]]
    return "\n".join(_merged(chance, [*groups, *noise])) + "\n"


CARRIERS: tuple[Carrier, ...] = (bare, every_line, cri, docker, strings) * 2
CARRIERS += (prose, first_line, events, journald, fence, interleaved)
CHANGED = (('"header"', '"headr"'), ("2.0", "1.0"), ("INTENT ", "INTENT: "), ("|T", "|"), (",", ",,"))


def damaged(chance: Chance, text: str) -> str:
    """A text with something missing, added or changed."""
    place, end = sorted((chance.below(len(text) + 1), chance.below(len(text) + 1)))
    lines = text.split("\n")
    row = chance.below(len(lines))
    return chance.pick(
        text[:place],
        text[end:],
        text[:place] + text[place + 1 :],
        text[:place] + chance.pick(*'"\\{}[]|#@:,\n \0<>', "\r", "\u2028", "\ud800", "\x1b[0m", "```\n") + text[place:],
        text[:place] + text[end:],
        "\n".join(lines[:row] + lines[row + 1 :]),
        "\n".join([*lines[:row], chance.pick(*PROSE), *lines[row:]]),
        "\n".join([*lines, chance.pick(*PROSE)]),
        text.replace(*chance.pick(*CHANGED), 1),
        text + text[:place],
    )


def _items(chance: Chance) -> list[str]:
    """The messages of one log, mostly of one wire, with some that are damaged and some lines of prose."""
    wires = WIRES if chance.often(0.35) else (chance.pick(*WIRES),)
    items = [chance.pick(*wires)(chance) for _ in range(1 + chance.below(1 + chance.below(10)))]
    if chance.often(0.08):
        items[-1 if chance.often(0.7) else 0] = space(chance)
    share = chance.pick(0.0, 0.15, 0.5)
    items = [damaged(chance, item) if chance.often(share) else item for item in items]
    return [chance.pick(*PROSE) if chance.often(0.08) else item for item in items]


def log(number: int) -> Log:
    """Log ``number``."""
    chance = Chance(43_000_000 + number)
    items = _items(chance)
    while sum(map(len, items)) > LARGEST // 2:
        items = items[: len(items) // 2] or [items[0][: LARGEST // 2]]
    texts, recipe = [], []
    at = chance.below(len(items) + 1) if chance.often(0.25) else len(items)
    for some in filter(None, (items[:at], items[at:])):
        carrier = chance.pick(*CARRIERS)
        name, text = carrier.__name__, carrier(chance, some)
        if chance.often(0.2) and len(text) < LARGEST // 2:
            outer = chance.pick(*CARRIERS)
            name, text = f"{outer.__name__}({name})", outer(chance, [text.rstrip("\n")])
        texts.append(text)
        recipe.append(name)
    data = "".join(texts).encode("utf-8", "surrogatepass")
    for share, name, change in CHANGES:
        if chance.often(share):
            data = change(chance, data)
            recipe.append(name)
    return Log(number, " + ".join(recipe), data)


def _other_byte(chance: Chance, data: bytes) -> bytes:
    place = chance.below(len(data) + 1)
    return data[:place] + chance.pick(b"\xff", b"\0" * 20, b"\xc0\x80", b"\n", b"") + data[place + 1 :]


def _mark(chance: Chance, data: bytes) -> bytes:
    place = data.rfind(b"\n", 0, chance.below(len(data) + 1)) + 1 if chance.often(0.4) else 0
    return data[:place] + b"\xef\xbb\xbf" + data[place:]


CHANGES: tuple[tuple[float, str, Callable[[Chance, bytes], bytes]], ...] = (
    (0.08, "crlf", lambda chance, data: data.replace(b"\n", b"\r\n")),
    (0.06, "bom", _mark),
    (0.04, "other byte", _other_byte),
    (0.15, "cut", lambda chance, data: data[: chance.below(len(data) + 1)]),
    (0.08, "head cut off", lambda chance, data: data[chance.below(len(data) + 1) :]),
    (0.15, "no newline", lambda chance, data: data.rstrip(b"\r\n")),
)
