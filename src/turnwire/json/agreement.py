"""Plans of several JSON wires that ask different things of one value, made ready to be read together.

A value is read once, by one form. Words of several wires become one list; of other forms one is taken, and a wire that
asked for another leaves objects with such a value to its ``decode``, which is right and slower.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from turnwire.json.plan import NO_NUMBER, Fill, Need, Value, Variant, WirePlan

__all__ = ["merge_plans"]

MOST_WORDS = 255
"""The words that one value may be, of all wires: the cores number them in a byte, of which one value is none."""


def merge_plans(plans: Sequence[WirePlan]) -> tuple[WirePlan, ...]:
    """The plans with one and the same :class:`Value` for each path. Raises ValueError if the wires have more than
    ``MOST_WORDS`` words for one."""
    asked: dict[str, list[Value]] = {}
    for plan in plans:
        for value in plan.values:
            asked.setdefault(value.path, []).append(value)
    merged = {path: _merged(values) for path, values in asked.items() if len(set(values)) > 1}
    return tuple(_adapted(plan, merged) if merged else plan for plan in plans)


def _merged(values: list[Value]) -> Value:
    """One value for what several plans ask of it."""
    forms = [value.form for value in values]
    words = tuple(dict.fromkeys(word for value in values for word in value.words))
    if len(words) > MOST_WORDS:
        raise ValueError(f"the wires have {len(words)} words for {values[0].path}; a plan allows at most {MOST_WORDS}")
    form = "word" if words else next(filter(None, forms), "")
    text, every = any(value.text for value in values), any(value.every for value in values)
    return Value(values[0].path, form, words, text, every)


def _adapted(plan: WirePlan, merged: Mapping[str, Value]) -> WirePlan:
    own = {value.path: value for value in plan.values}
    changed = {path: value for path, value in own.items() if path in merged and merged[path] != value}
    if not changed:
        return plan
    variants = tuple(
        variant._replace(
            needs=tuple(_need(need, changed, merged) for need in variant.needs),
            fills=tuple(_fill(fill, changed, merged) for fill in variant.fills),
        )
        for variant in plan.variants
    )
    plan = plan._replace(values=tuple(merged.get(value.path, value) for value in plan.values), variants=variants)
    if plan.choose == "word" and plan.word in changed:
        return _chosen(plan, changed[plan.word].words, merged[plan.word].words)
    return plan


def _need(need: Need, changed: Mapping[str, Value], merged: Mapping[str, Value]) -> Need:
    """A demand on a value of which others ask more: the plan's own words, or what only ``decode`` can tell."""
    value = changed.get(need.path)
    if value is None or "good" not in need.kinds:
        return need
    if value.form == "word":
        return need._replace(words=need.words or value.words)
    if value.form == merged[need.path].form:
        return need
    return need._replace(kinds=tuple(kind for kind in need.kinds if kind != "good"), wrong=None)


def _fill(fill: Fill, changed: Mapping[str, Value], merged: Mapping[str, Value]) -> Fill:
    """The fill of a column from words: numbers for the plan's own words, none for those of others."""
    if fill.how != "word" or not (fill.path in changed or fill.other in changed):
        return fill
    lists = {merged[path].words if path in changed else () for path in (fill.path, fill.other) if path}
    if len(lists) > 1:
        raise ValueError(f"{fill.path} and {fill.other} fill one column, and another wire has words for one of them")
    words = changed[fill.path].words
    own = fill.numbers or tuple(range(fill.constant, fill.constant + len(words)))
    numbers = (own[words.index(word)] if word in words else NO_NUMBER for word in merged[fill.path].words)
    return fill._replace(constant=0, numbers=tuple(numbers))


def _chosen(plan: WirePlan, words: tuple[str, ...], every: tuple[str, ...]) -> WirePlan:
    """The plan with a variant for each word of ``every``; that of a foreign word never holds."""
    never = Variant(plan.wire, (Need(plan.word, ("object",), True),), ())
    variants = tuple(plan.variants[words.index(word)] if word in words else never for word in every)
    return plan._replace(variants=variants)
