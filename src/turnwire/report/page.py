"""The page itself: the sentences that open it, template, style and scripts put together, and the data as an island that
nothing can break out of.
"""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Iterator
from functools import cache
from hashlib import sha256
from html import escape
from importlib.resources import files
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlencode

from turnwire.characters import visible
from turnwire.phrases import counted

if TYPE_CHECKING:
    from turnwire.read.grouping import Group
    from turnwire.report.records import Key

_UNITS = ((86_400_000_000, "d"), (3_600_000_000, "h"), (60_000_000, "min"), (1_000_000, "s"), (1_000, "ms"), (1, "µs"))
MOST_NAME = 60
"""Characters of a name in a sentence."""


class Finding(NamedTuple):
    """A sentence, the part of the page that shows it, and the filter that part needs, as the page's address has it."""

    text: str
    part: str
    filters: str = ""


def findings(
    data: dict[str, Any],
    measure: str,
    slowest: tuple[Key, Group] | None = None,
    dearest: tuple[Key, Group] | None = None,
) -> Iterator[Finding]:
    """The sentences about the data of a page; one where all is well. measure: "tokens", or "bytes" where these were not
    counted. slowest, dearest: the conversation with the slowest answer and the one with the most of the measure."""
    if data["totals"]["stopped"]:
        yield Finding(f"Reading was stopped after {counted(data['totals']['records'], 'record')}.", "volume")
    yield _damage(data)
    answers = [dict(zip(data["answer_columns"], row, strict=True)) for row in data["answers"]]
    asked, open_ = sum(one["requests"] for one in answers), sum(one["waiting"] + one["given_up"] for one in answers)
    if open_:
        verb = "has" if open_ == 1 else "have"
        yield Finding(f"{open_:,} of {counted(asked, 'request')} {verb} no answer.", "answers")
    elif asked:
        yield Finding(
            f"All {asked:,} requests were answered." if asked > 1 else "The only request was answered.", "answers"
        )
    if failed := sum(row[-1] for row in data["tools"]):
        (_, tool, *_, most), calls = data["tools"][0], counted(sum(row[2] for row in data["tools"]), "tool call")
        yield Finding(f"{failed:,} of {calls} failed, most often {_name(tool or '(no name)')} ({most:,}).", "answers")
    slow = max((one for one in answers if one["max"] is not None), key=lambda one: one["max"], default=None)
    if slow is not None:
        place = None if slowest is None else slowest[0][1]
        where = "" if place is None else f", in conversation {_name(place)}"
        text = f"The slowest answer took {duration(slow['max'])}{where} (median {duration(slow['p50'])})."
        yield Finding(text, *(("answers",) if place is None else ("talks", _filter(place))))
    elif open_ < asked:
        yield Finding("Answer times are unknown: requests or answers have no times.", "answers")
    if dearest is not None and (name := dearest[0][1]) is not None:
        cost = counted(getattr(dearest[1], measure), measure.removesuffix("s"))
        word = "costliest" if measure == "tokens" else "largest"
        text = f"The {word} conversation is {_name(name)} ({dearest[0][0]}): {cost}."
        yield Finding(text, "talks", _filter(name))


def _damage(data: dict[str, Any]) -> Finding:
    counts = sorted(data["reject_counts"], key=lambda row: (-row[2], row[:2]))
    damaged = sum(count for *_, count in counts)
    if not damaged:
        return Finding("Nothing is damaged.", "rejects")
    wire, reason, count = counts[0]
    most, number = ("", "") if len(counts) == 1 else (", most often", f" ({count:,})")
    verb = "is" if damaged == 1 else "are"
    return Finding(f"{counted(damaged, 'record')} {verb} damaged{most}: {reason} in {wire}{number}.", "rejects")


def _filter(conversation: str) -> str:
    return urlencode({"conversation": conversation})


def _name(text: str) -> str:
    return text if len(text) <= MOST_NAME else f"{text[:MOST_NAME]}…"


def duration(microseconds: int) -> str:
    """A duration in words: two digits at least, one unit."""
    size, unit = next((one for one in _UNITS if microseconds >= one[0]), _UNITS[-1])
    amount = microseconds / size
    return f"{amount:,.1f} {unit}" if amount < 10 and size > 1 else f"{amount:,.0f} {unit}"


STYLES = ("base.css", "parts.css")
SCRIPTS = (
    "text.js",
    "dom.js",
    "model.js",
    "filters.js",
    "address.js",
    "charts.js",
    "matrix.js",
    "answers.js",
    "sequence.js",
    "rejects.js",
    "main.js",
)
"""In the order in which they need each other; together they are one function of their own."""
_ESCAPES = {ord(character): f"\\u{ord(character):04x}" for character in "<>&"}


def render(data: dict[str, Any]) -> str:
    """The document of a report's data.

    Nothing in it is fetched, and a policy with the hashes of its own style and script forbids everything else: no text
    of a log can become a script, even if the page had a fault.
    """
    style = "".join(_asset(name) for name in STYLES)
    script = '"use strict";\n(() => {\n' + "".join(_asset(name) for name in SCRIPTS) + "})();\n"
    parts = {
        "title": escape(data["title"]),
        "policy": _policy(style, script),
        "style": style,
        "script": script,
        "findings": _findings(data),
        "data": island(data),
    }
    page = _asset("page.html")
    first, *rest = page.split("{{")
    return first + "".join(parts[name] + text for name, text in (part.split("}}", 1) for part in rest))


def island(value: Any) -> str:
    """JSON that is safe in a script element: ASCII, without <, > and &, so without </script>, <!-- and U+2028."""
    return json.dumps(value, ensure_ascii=True, separators=(",", ":")).translate(_ESCAPES)


@cache
def _asset(name: str) -> str:
    return files("turnwire.report").joinpath("assets", name).read_text("utf-8")


def _policy(style: str, script: str) -> str:
    rules = {
        "default-src": "'none'",
        "script-src": _hash(script),
        "style-src": _hash(style),
        "img-src": "data:",
        "base-uri": "'none'",
        "form-action": "'none'",
        "require-trusted-types-for": "'script'",
        "trusted-types": "'none'",
    }
    return "; ".join(f"{name} {value}" for name, value in rules.items())


def _hash(text: str) -> str:
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"


def _findings(data: dict[str, Any]) -> str:
    """The sentences that open the page, each a link to what shows it."""
    links = (
        f'<li><a href="#{escape(filters or part)}" data-part="{part}">'
        f'<bdi dir="auto">{escape(visible(text))}</bdi></a></li>'
        for text, part, filters in data.get("findings", ())
    )
    return "".join(links)
