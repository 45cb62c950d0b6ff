"""The page itself: template, style and scripts put together, the data as an island that nothing can break out of."""

from __future__ import annotations

import json
from base64 import b64encode
from functools import cache
from hashlib import sha256
from html import escape
from importlib.resources import files
from typing import Any

from turnwire.characters import visible

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
