"""The promises of docs/convert.md for every message and every target: nothing made up, nothing replaced, all named."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import cache
from itertools import product
from typing import Any

import pytest

import turnwire
from tests.convert.messages import DEFAULTS, FULL, explicit, right
from tests.convert.test_pairs import fields_of
from turnwire import WIRES, Context, ConvertError, Reason, nslip
from turnwire.conversion.context import as_key
from turnwire.conversion.shapes import shown
from turnwire.kick.spec import STATUS_WORDS
from turnwire.registry import wire_of

pytestmark = pytest.mark.once
MESSAGES = right()
KINDS = pytest.mark.parametrize("message", MESSAGES, ids=lambda message: f"{wire_of(message)}-{type(message).__name__}")


def leaves(value: Any) -> Iterator[str]:
    """Every text, number and truth in a value, as text."""
    if isinstance(value, dict):
        for inner in value.values():
            yield from leaves(inner)
    elif isinstance(value, (list, tuple)):
        for inner in value:
            yield from leaves(inner)
    elif value is not None:
        yield str(value)


def marked(number: int) -> Context:
    """The full context with other values in it wherever a target takes any text: whatever comes of it shows."""
    defaults = json.loads(json.dumps({**DEFAULTS, "kick": {k: v for k, v in DEFAULTS["kick"].items() if k != "id"}}))
    for wire in ("csp", "sstp", "sap"):
        for path, value in defaults[wire].items():
            if isinstance(value, str) and " " in value:
                defaults[wire][path] = f"{value} {number}"
    defaults["csp"] |= {"sender": f"SENDER{number}", "receiver": f"RECEIVER{number}"}
    defaults["sstp"] |= {"header.actor_id": f"actor{number}", "header.session_id": f"session{number}"}
    defaults["sap"] |= {"issuer.agentId": f"agent{number}", "producer.agentId": f"agent{number}"}
    defaults["nslip"] = {"turn": 10 + number, "src": 91 + number, "dst": 94 + number, "conv_id": 97 + number}
    defaults["kick"]["id"] = f"7fbb32b6-0d2c-4c1a-9b75-2a4b3b0b6c{number:02x}"
    return FULL.replace(defaults=defaults)


def tried(message: Any, target: str, context: Context | None, nearest: bool = True) -> Any:
    """The message that is made, or the error."""
    try:
        return turnwire.convert(message, target, context=context, nearest=nearest)
    except ConvertError as error:
        return error


def made(message: Any, target: str, context: Context) -> Any | None:
    """The message that is made, or None."""
    result = tried(message, target, context)
    return None if isinstance(result, ConvertError) else result


@KINDS
def test_every_value_is_of_the_message_the_context_or_the_tables(message: Any) -> None:
    """Each word and number of the result is in the source, in the context, or one that the target's own tables have."""
    source = wire_of(message)
    said = " ".join(leaves(list(fields_of(message).values()))) + " " + turnwire.encode(message, strict=False)
    for target in set(WIRES) - {source}:
        context = explicit(message, target, marked(1), nearest=True)
        result = made(message, target, context)
        if result is None:
            continue
        given = " ".join(leaves([context.defaults.get(target), context.values.get(target, {}), str(context.now)]))
        for path, value in fields_of(result.message).items():
            for leaf in leaves(value):
                words = re.findall(r"[^\W_]{2,}|\d+", leaf)
                words = [re.sub("^[TEPF](?=[0-9]+$)", "", word) for word in words]  # how CSP/1 writes numbers
                new = [word for word in words if word not in said and word not in given]
                assert set(new) <= known(target), (target, path, leaf, new)


@cache
def known(target: str) -> set[str]:
    """The words that messages of a wire have because it is that wire: of its enums, kinds, channels, versions."""
    from importlib import import_module

    from turnwire.conversion import tables

    spec = import_module(f"turnwire.{target}.spec")
    words = {"turnwire", "001", "text"}
    for value in [*vars(spec).values(), *vars(tables).values()]:
        words |= set(re.findall(r"[^\W_]{2,}|\d+", repr(value)))
    return words


@KINDS
def test_a_context_replaces_nothing_that_the_source_says(message: Any) -> None:
    """A field that is there without its default is the same with it; what cannot be said there stays an error."""
    said = unsaid = 0
    for target in set(WIRES) - {wire_of(message)}:
        full = marked(1)
        given = tried(message, target, full)
        for path, default in full.defaults[target].items():
            rest = {name: value for name, value in full.defaults[target].items() if name != path}
            name = path.rpartition(":")[2]
            alone = tried(message, target, full.replace(defaults={target: rest}))
            if isinstance(alone, ConvertError):
                if name in alone.known:
                    unsaid += 1
                    assert isinstance(given, ConvertError) and name in given.known, (target, path)
                continue
            before, after = (
                {shown(place): value for place, value in fields_of(one.message).items()} for one in (alone, given)
            )
            if name in before and name != "id":  # which is new each time
                said += 1
                assert after[name] == before[name], (target, path, default)
    assert said + unsaid > 5


@KINDS
def test_all_that_is_missing_is_named_at_once(message: Any) -> None:
    """With the fields that an error names, and nothing more, nothing is missing."""
    for target in set(WIRES) - {wire_of(message)}:
        for nearest in (False, True):
            error = tried(message, target, None, nearest)
            if not isinstance(error, ConvertError) or error.reason is not Reason.MISSING_FIELD:
                continue
            assert error.missing and len(set(error.missing)) == len(error.missing)
            assert all(name in str(error) for name in error.missing)
            named = {path: one for path, one in DEFAULTS[target].items() if path.rpartition(":")[2] in error.missing}
            places = {path.rpartition(":")[2]: one() if callable(one) else one for path, one in named.items()}
            values = {path: {as_key(fact): places[path]} for path, fact in error.known.items()}
            context = Context(defaults={target: named}, values={target: values})
            again = tried(message, target, context, nearest)
            if isinstance(again, ConvertError):
                assert again.reason is not Reason.MISSING_FIELD, (target, error.missing, again.missing)


@pytest.mark.parametrize(
    "word",
    [
        *["waiting", "in_progress", "done", "partial", "failed", "cancelled", "escalated", "blocked", "DONE"],
        "Accepted",
        "x y",
    ],
)
def test_only_words_of_its_loop_are_written_as_a_status_of_kicklang(word: str) -> None:
    context = FULL.replace(
        roles={"1": "Orchestrator", "0": "WePlan"}, uuids={"3": "7fbb32b6-0d2c-4c1a-9b75-2a4b3b0b6c0b"}
    )
    written = 0
    for act, nearest in product("13456789", (False, True)):
        message = nslip.decode(f'@a{act}|f0|c3|S0|d1|T2|k7|u"{word}"|t"x"#')
        result = made(message, "kick", context) if nearest else None
        if result is not None and result.message.channel == "⫻report/status":
            written += 1
            assert result.message.content.split("\n")[1] in STATUS_WORDS, result.message.content
    assert written or word not in ("done", "failed", "in_progress")
