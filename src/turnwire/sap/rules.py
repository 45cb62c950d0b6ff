"""Rules for messages: their fields (section 4), the conditions between them (5, 8), lints, and secrets (11).

The core tells of an object only that nothing is to be said about its fields. All else is checked here, so that both
cores say the same words in the same order.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from turnwire.errors import Issue, Reason, expect
from turnwire.json.faults import pointer_step
from turnwire.json.fields import Field, Table, field_issues
from turnwire.sap.codec import conditions, findings, is_clean, is_quiet
from turnwire.sap.judgement import mismatches
from turnwire.sap.messages import Ack, JsonObject, Nack, Result, Task
from turnwire.sap.spec import MUST, WIRE, Kind

_CREDENTIALS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://[^/?#@]+@")
_ATTACHMENTS = "attachments/uri"
_URIS = {
    Task.TABLE.name: ("constitutionalContext/references", "replyTo/endpoint", _ATTACHMENTS),
    Result.TABLE.name: ("artifacts/uri", "constitutionalEvidence/citations"),
}
"""Message -> the paths of its URIs."""
_USUAL_SCHEMES = frozenset({"https", "file", "ubos"})


def check(message: Any, *, task: Task | None = None) -> list[Issue]:
    """Lists the issues of a Task, Result, Ack or Nack (sections 3 to 8 and 11).

    Args:
        message: the message, or any of their nested objects.
        task: for a Result, the Task it answers: ids are compared, and the output is validated against the task's
            outputContract.schema (extra ``schema``).

    Returns issues with JSON pointers: strict writing rejects a "warning"; an "info" may be fine.
    """
    if task is None and is_clean(message):
        return []
    expect(message, JsonObject, "expected a SAP message", WIRE)
    found = findings(message._fields, message.TABLE)
    issues = [finding._replace(severity="warning") for finding in found]
    if issues and any(finding.severity == "error" for finding in found):
        return issues  # the conditions presuppose the right types
    issues.extend(conditions(message))
    if task is not None and isinstance(message, (Result, Ack, Nack)):
        issues.extend(mismatches(task, message))
        if isinstance(message, Result) and "output" in message._fields:
            from turnwire.sap.schema import output_issues

            issues.extend(output_issues(message._fields["output"], task))
    issues.extend(lint(message))
    return issues


def lint(message: JsonObject) -> list[Issue]:
    """Lists questionable content: secrets in a payload, unusual URIs, URIs with credentials (section 11)."""
    expect(message, JsonObject, "expected a SAP message", WIRE)
    fields = message._fields
    issues: list[Issue] = []
    if isinstance(message, Task) and not is_quiet(fields["payload"]):
        for where, why in secrets(fields["payload"], "/payload"):
            text = f"a secret, by {why}; nothing was changed, use an attachment with a secure URI"
            issues.append(Issue(Reason.CREDENTIALS_IN_URI if why is URL else Reason.SECRET, where, "info", text))
    for path in _URIS.get(message.TABLE.name, ()):
        for where, uri in _texts(fields, path.split("/"), ""):
            if path == _ATTACHMENTS and uri.partition(":")[0].lower() not in _USUAL_SCHEMES:
                text = "attachments are https:, file: or ubos: references"
                issues.append(Issue(Reason.UNUSUAL_URI, where, "info", text))
            if "@" in uri and _CREDENTIALS.match(uri):
                text = "the URI contains credentials, which will appear in every log"
                issues.append(Issue(Reason.CREDENTIALS_IN_URI, where, "info", text))
    return issues


def _texts(value: Any, names: Sequence[str], where: str) -> Iterator[tuple[str, str]]:
    """(JSON pointer, text) of the texts at a path of names, in all items of the arrays on the way."""
    if isinstance(value, (list, tuple)):
        for index, item in enumerate(value):
            yield from _texts(item, names, f"{where}/{index}")
    elif names and isinstance(value, dict):
        if names[0] in value:
            yield from _texts(value[names[0]], names[1:], f"{where}/{names[0]}")
    elif isinstance(value, str):
        yield where, value


def table_issues(fields: Any, table: Table) -> Iterator[Issue]:
    """The issues of an object, in the order of its table: an "error" is what reading refuses."""
    return field_issues(fields, Field("", Kind.RECORD, MUST, table=table), "", {MUST: "error"})


# --- secrets (section 11) ---

SHORTEST = 15  # characters of a value that can be a secret by its form

# The compiled twin looks for the rare letters of these words first: change _native/json/secrets.h with them.
_NAME = re.compile(
    r"(?:^|[_\-.\s])(?:pass(?:word|wd|phrase)|pwd|secret|api[_\-]?key|access[_\-]?key|private[_\-]?key|token"
    r"|credentials?|authorization)(?:$|[_\-.\s])",
    re.IGNORECASE | re.ASCII,
)
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])", re.ASCII)
_VALUE = re.compile(
    r"-----BEGIN [A-Z ]*PRIVATE KEY-----"
    r"|\bAKIA[0-9A-Z]{16}\b"
    r"|\bgh[pousr]_[A-Za-z0-9]{36,}"
    r"|\bgithub_pat_[A-Za-z0-9_]{22,}"
    r"|\bsk-[A-Za-z0-9_-]{20,}"
    r"|\bxox[abprs]-[A-Za-z0-9-]{10,}"
    r"|\bAIza[A-Za-z0-9_-]{35}\b"
    r"|\beyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}"
    r"|\b(?:Bearer|Basic) [A-Za-z0-9+/_.=-]{20,}",
    re.ASCII,
)
_PASSWORD = re.compile(r"(?<=[A-Za-z0-9+.-])://[^\s\"/?#@:]*:([^\s\"/?#@]+)@", re.ASCII)
"""The user and the password of a URL, wherever it stands in a text."""

NAME, FORM, URL = "its name", "its form", "the password in a URL"
"""The marks of secrets, as they are told."""

MOST_TOLD = 1 << 20
"""Characters that the pointers of what is told may have together, but for the first ones: each has all names above."""


def secrets(value: Any, where: str) -> Iterator[tuple[str, str]]:
    """(JSON pointer, the clue) of every value below ``value`` that looks like a secret, or whose name holds
    one; of very many, the first."""
    told = 0
    for steps, why in _found(value, ()):
        names: list[Any] = []
        while steps:
            steps, name = steps
            names.append(name)
        pointer = "/".join((where, *(pointer_step(str(name)) for name in reversed(names))))
        yield pointer, why
        told += len(pointer)
        if told > MOST_TOLD:
            return


def _found(value: Any, above: tuple[Any, ...]) -> Iterator[tuple[tuple[Any, ...], str]]:
    """The same with steps in place of pointers, the last one first: (steps above, name)."""
    if isinstance(value, dict):
        for name, item in value.items():
            if isinstance(item, str) and item and _NAME.search(_CAMEL.sub("_", str(name))):
                yield (above, name), NAME
            elif (why := _form(str(name))) is not None:
                yield (above, name), why
            else:
                yield from _found(item, (above, name))
    elif isinstance(value, (list, tuple)):
        for index, item in enumerate(value):
            yield from _found(item, (above, index))
    elif isinstance(value, str) and (why := _form(value)) is not None:
        yield above, why


def _form(text: str) -> str | None:
    """The mark by which a text is a secret, or None."""
    if len(text) >= SHORTEST and _VALUE.search(text):
        return FORM
    return URL if "://" in text and _PASSWORD.search(text) else None


_CERTAIN_NAME = re.compile(
    r"(?:^|[_\-.\s])(?:pass(?:word|wd|phrase)|pwd|client[_\-]?secret|api[_\-]?key|access[_\-]?key|private[_\-]?key)$",
    re.IGNORECASE | re.ASCII,
)
_STANDS_FOR = re.compile(
    r"\$|[<{\[%]|[a-z][a-z0-9+.-]*:|(.)\1*\Z|(?:redacted|removed|hidden|none|null)\Z", re.IGNORECASE | re.ASCII
)
"""A value that is not a secret itself: a reference, a place to fill in, a mask."""


def is_certain(fields: dict[str, Any], where: str) -> bool:
    """True if what looks like a secret at a JSON pointer is one beyond doubt: by its form, as the password
    in a URL, or by a name that nothing else has and a value that stands for nothing else."""
    value: Any = fields
    name = ""  # of the value, "" in an array
    for step in where.split("/")[1:]:
        in_list = isinstance(value, (list, tuple))
        name = "" if in_list else step.replace("~1", "/").replace("~0", "~")
        value = value[int(step) if in_list else name]
    texts = [text for text in (value, name) if isinstance(text, str)]
    passwords = [found[1] for text in texts for found in _PASSWORD.finditer(text)]
    if passwords:
        return any(_STANDS_FOR.match(password) is None for password in passwords)
    if any(len(text) >= SHORTEST and _VALUE.search(text) for text in texts):
        return True
    named = _CERTAIN_NAME.search(_CAMEL.sub("_", name)) is not None
    return named and isinstance(value, str) and _STANDS_FOR.match(value) is None
