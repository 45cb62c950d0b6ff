"""Rules between the fields of a message: what strict writing looks at beside each field (sections 5 and 8)."""

from __future__ import annotations

from turnwire.errors import Issue, Reason
from turnwire.sap.messages import Record, Result
from turnwire.sap.spec import ERROR_CODES


def conditions(message: Record) -> list[Issue]:
    """Rules between the fields of a Result whose fields are right by themselves (sections 5 and 8)."""
    if not isinstance(message, Result):
        return []
    fields = message._fields
    status = fields["status"]
    error = fields.get("error")
    issues: list[Issue] = []
    if status == "FAILED" and (error is None or "message" not in error):
        issues.append(Issue(Reason.MISSING_MESSAGE, "/error/message", "warning", "FAILED must say why (section 8)"))
    if status == "SUCCEEDED" and fields["constitutionalEvidence"]["alignment"] == "NON_CONSTITUTIONAL":
        text = "a result that is NON_CONSTITUTIONAL has not SUCCEEDED"
        issues.append(Issue(Reason.STATUS_CONFLICT, "/status", "warning", text))
    if status in ("PARTIAL", "ESCALATED") and not fields.get("nextActions"):
        text = f"{status} should come with nextActions (sections 5 and 8)"
        issues.append(Issue(Reason.NO_NEXT_ACTIONS, "/nextActions", "info", text))
    if error is not None and "code" in error and error["code"] not in ERROR_CODES:
        issues.append(Issue(Reason.UNKNOWN_CODE, "/error/code", "info", "section 8 recommends other codes"))
    return issues
