"""Rules for messages: their fields, the conditions between them (sections 4, 5, 8), and lints (11)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from turnwire.errors import Issue, Reason, expect
from turnwire.sap.codec import conditions, findings, is_clean, is_quiet
from turnwire.sap.messages import Ack, JsonObject, Nack, Result, Task
from turnwire.sap.secrets import URL, secrets
from turnwire.sap.times import same_id

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
    expect(message, JsonObject, "expected a SAP message")
    found = findings(message)
    issues = [finding._replace(severity="warning") for finding in found]
    if issues and any(finding.severity == "error" for finding in found):
        return issues  # the conditions presuppose the right types
    issues.extend(conditions(message))
    if task is not None and isinstance(message, (Result, Ack, Nack)):
        if isinstance(message, Result) and not same_id(message._fields["taskId"], task._fields.get("taskId")):
            text = "the result answers another task (section 5)"
            issues.append(Issue(Reason.WRONG_TASK, "/taskId", "warning", text))
        if not same_id(message._fields["correlationId"], task._fields.get("correlationId")):
            text = "the correlationId is not the task's (section 5)"
            issues.append(Issue(Reason.WRONG_CORRELATION, "/correlationId", "warning", text))
        if isinstance(message, Result) and "output" in message._fields:
            from turnwire.sap.schema import output_issues

            issues.extend(output_issues(message._fields["output"], task))
    issues.extend(lint(message))
    return issues


def lint(message: JsonObject) -> list[Issue]:
    """Lists questionable content: secrets in a payload, unusual URIs, URIs with credentials (section 11)."""
    expect(message, JsonObject, "expected a SAP message")
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
