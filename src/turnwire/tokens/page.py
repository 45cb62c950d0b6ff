"""One self-contained page: no script, nothing from outside, light and dark, every text escaped."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

from turnwire.phrases import counted
from turnwire.tokens.tables import safe

if TYPE_CHECKING:
    from turnwire.tokens.advice import Advice
    from turnwire.tokens.comparison import Comparison, Row

_HEAD = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>
:root {{ color-scheme: light dark; --ink: #1c1f24; --dim: #626a75; --paper: #fff; --line: #d9dde3;
  --all: #2f6fb4; --part: #b9c0c9; }}
@media (prefers-color-scheme: dark) {{
  :root {{ --ink: #e6e9ee; --dim: #9aa3af; --paper: #15181c; --line: #333a43; --all: #5a9ce0; --part: #4b535e; }}
}}
body {{ margin: 2rem auto; max-width: 70rem; padding: 0 1rem; background: var(--paper); color: var(--ink);
  font: 15px/1.5 system-ui, sans-serif; }}
h1 {{ font-size: 1.5rem; }} h2 {{ font-size: 1.15rem; margin-top: 2rem; }} p, .dim {{ color: var(--dim); }}
div.wide {{ overflow-x: auto; }}
table {{ border-collapse: collapse; width: 100%; }}
th, td {{ text-align: left; padding: .3rem .7rem .3rem 0; border-bottom: 1px solid var(--line); vertical-align: top; }}
td.number, th.number {{ text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }}
td.bar {{ min-width: 9rem; }} td.text {{ min-width: 18rem; }}
td.bar span {{ display: block; height: .9rem; margin-top: .3rem; background: var(--part); border-radius: 2px; }}
td.bar span.all {{ background: var(--all); }}
</style>
</head>
<body>
"""


def shown(text: str) -> str:
    """Text from strangers as HTML: markup escaped, invisible and control characters written out."""
    return escape(safe(text), quote=True)


def page(comparison: Comparison) -> str:
    """The page of a comparison."""
    facts = comparison.facts
    title = f"Tokens of {counted(facts['messages'], 'message')}"
    wires = ", ".join(f"{count:,} {wire}" for wire, count in facts["wires"].items())
    parts = [_HEAD.format(title=shown(title)), f"<h1>{shown(title)}</h1>\n"]
    parts.append(f"<p>{shown(wires)}; counted per {shown(facts['per'])}. Ranked are only formats that give every ")
    parts.append("message back (blue bars); the others leave out what is listed beside them.</p>\n")
    for tokenizer, provenance in facts["tokenizers"].items():
        parts.append(f'<h2>{shown(tokenizer)} <span class="dim">{shown(provenance)}</span></h2>\n')
        parts.append(_comparison_table(comparison.sorted(tokenizer)))
    parts.append(_absent("Not measured", comparison.absent))
    if facts["versions"]:
        versions = ", ".join(f"{name} {version}" for name, version in facts["versions"].items())
        parts.append(f"<p>Formats: {shown(versions)}.</p>\n")
    return "".join([*parts, "</body>\n</html>\n"])


def _comparison_table(rows: Sequence[Row]) -> str:
    most = max((row.total for row in rows), default=0) or 1
    lines = []
    for row in rows:
        kind = "all" if row.round_trip else ""
        bar = f'<span class="{kind}" style="width: {100 * row.total / most:.1f}%"></span>'
        why = ", ".join(filter(None, [", ".join(row.dropped), row.note]))
        lines.append(
            [
                "–" if row.rank is None else str(row.rank),
                shown(row.format),
                bar,
                f"{row.tokens:,}",
                f"{row.legend:,}" if row.legend else "",
                "" if row.ratio is None else f"{row.ratio:.2f}",
                f"{row.bytes:,}",
                "yes" if row.round_trip else "no",
                shown(why),
            ]
        )
    names = ("rank", "format", "", "tokens", "legend", "÷ JSON", "bytes", "comes back", "dropped, notes")
    kinds = ("number", "", "bar", "number", "number", "number", "number", "", "text")
    return _table(names, kinds, lines)


def _table(names: Sequence[str], kinds: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    """A table of cells that are HTML already."""
    head = "".join(f'<th class="{kind}">{name}</th>' for name, kind in zip(names, kinds, strict=True))
    body = "".join(
        "<tr>" + "".join(f'<td class="{kind}">{cell}</td>' for cell, kind in zip(line, kinds, strict=True)) + "</tr>\n"
        for line in lines
    )
    return f'<div class="wide"><table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{body}</tbody>\n</table></div>\n'


def _absent(title: str, absent: dict[str, str]) -> str:
    if not absent:
        return ""
    items = "".join(f"<li>{shown(name)}: {shown(why)}</li>\n" for name, why in absent.items())
    return f"<h2>{title}</h2>\n<ul>\n{items}</ul>\n"


def advice_page(advice: Advice) -> str:
    """The page of what was found about a log."""
    facts = advice.facts
    messages = sum(facts["messages"].values())
    title = f"What {counted(messages, 'message')} cost{'s' if messages == 1 else ''}"
    parts = [_HEAD.format(title=shown(title)), f"<h1>{shown(title)}</h1>\n"]
    counts = ", ".join(f"{count:,} {wire}" for wire, count in facts["messages"].items())
    parts.append(f"<p>{shown(counts)}; {counted(facts['damaged'], 'damaged record')} not counted.</p>\n")
    for tokenizer, provenance in facts["tokenizers"].items():
        parts.append(f'<h2>{shown(tokenizer)} <span class="dim">{shown(provenance)}</span></h2>\n')
        parts.append(_cost_table(advice, tokenizer))
        changes = [change for change in advice.changes if change.tokenizer == tokenizer]
        lines = [
            [
                f"{each.tokens:,}",
                f"{each.share:.0%}",
                "" if each.money is None else f"{each.money:,.4f}",
                shown(f"{each.log}: {each.text}"),
            ]
            for each in changes
        ]
        if lines:
            parts.append("<h2>To change first</h2>\n<p>Each by itself.</p>\n")
            parts.append(_table(("tokens", "share", "money", "what"), ("number", "number", "number", ""), lines))
    parts.append(_absent("Not tried", advice.absent))
    return "".join([*parts, "</body>\n</html>\n"])


def _cost_table(advice: Advice, tokenizer: str) -> str:
    costs = [cost for cost in advice.costs if cost.tokenizer == tokenizer]
    most = max((cost.tokens for cost in costs), default=0) or 1
    lines = []
    for cost in costs:
        kind = "all" if cost.round_trip else ""
        money = [
            "" if each is None else f"{each:,.4f} {shown(cost.currency)}"
            for each in (cost.once, cost.growing, cost.uncached)
        ]
        lines.append(
            [
                shown(cost.log),
                shown(cost.wire),
                f'<span class="{kind}" style="width: {100 * cost.tokens / most:.1f}%"></span>',
                f"{cost.messages:,}",
                ("≈ " if cost.estimated else "") + f"{cost.tokens:,}",
                f"{cost.cached:,}",
                *money,
                shown(", ".join(cost.dropped)),
            ]
        )
    names = ("log", "as", "", "messages", "tokens", "read again", "once", "every turn", "without a cache", "dropped")
    kinds = ("", "", "bar", *["number"] * 6, "text")
    priced = any(cost.once is not None for cost in costs)
    kept = [place for place in range(len(names)) if priced or not 6 <= place <= 8]  # the three prices
    return _table(
        [names[place] for place in kept],
        [kinds[place] for place in kept],
        [[line[place] for place in kept] for line in lines],
    )
