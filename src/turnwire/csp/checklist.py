"""The conformance checklist of CSP/1: the one of the specification [VALIDATION], the forms of the blocks, the state,
the token rules and the laws, judged over a whole document."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from turnwire.checklists import Checklist, Clause, Fault, judged
from turnwire.csp.codec import check, parse
from turnwire.csp.log_replay import replay
from turnwire.csp.messages import CspMessage, Document, FileOp, Junk, Patch, Preamble, Record, Result
from turnwire.csp.rules import lint
from turnwire.csp.spec import WIRE
from turnwire.errors import DecodeError, Reason, expect

__all__ = ["CLAUSES", "REASONS", "conform", "conform_files", "conformance"]

CLAUSES = (
    Clause("magic", "VALIDATION", "CSP/1 header, and no other text"),
    Clause("agents", "VALIDATION", "FROM/TO agents"),
    Clause("ctx", "VALIDATION", "CTX reference"),
    Clause("intent", "VALIDATION", "INTENT type"),
    Clause("body", "VALIDATION", "Matching body block"),
    Clause("header", "MESSAGE FORMAT", "Header lines in their order, each once"),
    Clause("blocks", "INTENT TYPES", "Blocks have the form of their intent"),
    Clause("answers", "INTENT TYPES", "A RESULT answers a TASK, once"),
    Clause("fileop", "FILEOP", "File operations have a known word, a path and a content in a heredoc"),
    Clause("state", "STATE MANAGEMENT", "Every patch applies to its base; the state can be rebuilt"),
    Clause("restate", "TOKEN RULES 1", "Reference by CTX, never repeat LAWS/DEFs"),
    Clause("rewrite", "TOKEN RULES 2", "PATCH only, never a full rewrite"),
    Clause("ids", "TOKEN RULES 3", "IDs over prose: after the first DEF, the id only"),
    Clause("filler", "TOKEN RULES 4", "No politeness, no explanations"),
    Clause("terms", "TOKEN RULES 5", "Same label always, no synonyms"),
)

_BROKEN_BY: dict[str, str] = {
    "magic": "junk bad_magic look_alike no_message empty_message bom bad_utf8 lone_surrogate message_too_large",
    "agents": "missing_from missing_to",
    "ctx": "missing_ctx ctx_stale",
    "intent": "missing_intent bad_intent intent_alias",
    "body": "mismatch no_body block_mismatch trailing_text unclosed_heredoc inside_unclosed_heredoc",
    "header": "header_order dup_header bad_header_value bad_header_line",
    "blocks": "bad_id missing_req missing_status missing_at missing_cause missing_base missing_apply bad_base bad_apply"
    " bad_op op_mismatch bad_enum dup_field unknown_key stray_line continued bad_range too_many_fields key_too_long"
    " newline_in_string missing_field wrong_type",
    "answers": "no_task dup_result",
    "fileop": "missing_op missing_path unknown_op heredoc_expected",
    "state": "def_exists duplicate",
    "restate": "restate",
    "rewrite": "full_rewrite",
    "ids": "expanded undef",
    "filler": "filler",
    "terms": "synonym",
}
REASONS: dict[Reason, str] = {Reason(name): clause for clause, names in _BROKEN_BY.items() for name in names.split()}
"""What reading, ``check`` and ``lint`` find -> the clause that it breaks. What a replay refuses breaks "state"."""

_SPOKEN = ("magic", "agents", "ctx", "intent", "body", "header", "blocks", "restate", "ids", "filler", "terms")


def conformance(*messages: Record | Document | str | bytes) -> Checklist:
    """Judges a conversation: records, documents or texts, in order. Faults are placed by the line of a record."""
    records: list[Record] = []
    faults: list[Fault] = []
    for message in messages:
        if isinstance(message, (str, bytes)):
            try:
                message = parse(message, mode="lenient")
            except DecodeError as error:
                faults.append(Fault(REASONS[error.reason], error.line or 1, f"{error.reason}: {error.text}"))
                continue
        expect(message, Record | Document, "a CSP/1 record, a Document or a text is judged")
        records += message.records if isinstance(message, Document) else [message]
    return _judged(Document(records), faults)


def conform(data: bytes) -> Checklist:
    """Judges the document in ``data``: what it cannot be read as, its state, its token rules."""
    return conformance(data)


def conform_files(paths: Iterable[str | os.PathLike[str]]) -> Iterator[tuple[str, Checklist]]:
    """(path, checklist) for each file, a document each."""
    for path in paths:
        yield os.fspath(path), conform(Path(path).read_bytes())


def _judged(document: Document, faults: list[Fault]) -> Checklist:
    applied: set[str] = set()
    for record in document.records:
        faults += _of_record(record)
        applied.update(_applies(record))
    faults += [
        Fault(REASONS[issue.reason], int(issue.where), issue.text)
        for issue in lint(document)
        if issue.severity == "warning"
    ]
    if applied & {"state"}:
        for refused, error in replay(document).refused:
            faults.append(Fault("state", refused.line, f"{error.reason}: {error.text}"))
    return judged(WIRE, len(document.messages), CLAUSES, faults, applied)


def _of_record(record: Record) -> Iterator[Fault]:
    if isinstance(record, Junk):
        if not record.text.startswith("```"):
            reason = Reason(record.reason or Reason.JUNK)
            yield Fault(REASONS[reason], record.line, f"{reason}: {record.text[:60]!r}")
        return
    for issue in check(record):
        if issue.severity == "warning":
            yield Fault(REASONS[issue.reason], record.line, f"{issue.reason}: {issue.text}")


def _applies(record: Record) -> Iterator[str]:
    if isinstance(record, Preamble):
        yield from ("state", "restate")
    if not isinstance(record, CspMessage):
        return
    yield from _SPOKEN
    if isinstance(record.block, Result):
        yield "answers"
    if isinstance(record.block, FileOp):
        yield from ("fileop", "rewrite")
    if isinstance(record.block, Patch):
        yield from ("state", "rewrite")
