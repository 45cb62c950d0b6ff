"""The conformance checklist of CSP/1: the one of the specification [VALIDATION], the forms of the blocks, the state,
the token rules and the laws, judged over a whole document."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from functools import cache
from operator import itemgetter
from typing import Any

from turnwire import checklists
from turnwire.checklists import Checklist, Clause, Specification, Untested, by_reason, checklist_of
from turnwire.csp.codec import check, doubts, parse
from turnwire.csp.lints import Classifier, Linter, Routing
from turnwire.csp.logs import BOM, FilePreambles, SurroundingText
from turnwire.csp.messages import CspMessage, Document, FileOp, Junk, Patch, Preamble, Record, Result, Task
from turnwire.csp.spec import WIRE
from turnwire.errors import DecodeError, Reason, expect
from turnwire.fences import is_fence

__all__ = ["CHECKLIST", "CLAUSES", "REASONS", "UNTESTED", "conformance"]

CLAUSES = (
    Clause("magic", "VALIDATION", "CSP/1 header, and no other text"),
    Clause("agents", "VALIDATION", "FROM/TO agents"),
    Clause("ctx", "VALIDATION", "CTX reference"),
    Clause("intent", "VALIDATION", "INTENT type"),
    Clause("body", "VALIDATION", "Matching body block"),
    Clause("header", "MESSAGE FORMAT", "Header lines are in order, each once"),
    Clause("blocks", "INTENT TYPES", "Blocks match their intent"),
    Clause("answers", "INTENT TYPES", "A RESULT answers a TASK, once"),
    Clause("fileop", "FILEOP", "File operations have a known name, a path, and content in a heredoc"),
    Clause("state", "STATE MANAGEMENT", "Every patch applies to its base; the state can be rebuilt"),
    Clause("laws", "PROJECT LAWS", "Tasks go to the agents that the laws name"),
    Clause("restate", "TOKEN RULES 1", "Reference by CTX, never repeat LAWS/DEFs"),
    Clause("rewrite", "TOKEN RULES 2", "PATCH only, never a full rewrite"),
    Clause("ids", "TOKEN RULES 3", "IDs over prose: after the first DEF, the id only"),
    Clause("filler", "TOKEN RULES 4", "No politeness, no explanations"),
    Clause("terms", "TOKEN RULES 5", "Same label always, no synonyms"),
)

_BROKEN_BY = {
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
REASONS = by_reason(_BROKEN_BY)
"""Reasons that reading, ``check`` and ``lint`` find -> the clause of each. What a replay refuses breaks "state"."""

UNTESTED = (
    Untested("SCOPE", "Agents use only CSP/1, humans natural language", "a log does not show who is human"),
    Untested("SCOPE", "The memory graph is made of CSP nodes and patches", "the form of MEM messages is not defined"),
    Untested("GOALS", "Lossless, token-minimal", "a log does not show what an agent meant"),
    Untested(
        "INTENT TYPES", "DATA, PRODUCED and OUT refer to the right values", "results and files are not part of a log"
    ),
    Untested(
        "FILEOP",
        "BASE is the state of the file, and CONTENT matches it",
        "the files are not part of a log; turnwire apply checks them",
    ),
    Untested(
        "PROJECT LAWS",
        "Laws without a subject, and tasks that do not name it",
        "this depends on the meaning of a task; csp.conformance accepts a classifier",
    ),
    Untested("TASK_TPL", "Subagents are spawned with the template", "a log does not show how an agent was spawned"),
)
"""Sentences of the specification that no log can show. The token rules restate, expanded, filler, full_rewrite and
synonym are heuristics: what they find is doubtful, and fails nothing."""


class CspChecklist(checklists.RecordChecklist):
    """Checks the records of a document or a log in order.

    A task without an answer is open where the input ends. classify: which laws a task falls under
    (:class:`turnwire.csp.lints.Routing`).
    """

    def __init__(self, classify: Classifier | None = None) -> None:
        super().__init__()
        self._classify = classify
        self.linter = Linter()
        self.stateful = False
        self.routing: Routing | None = None
        self._waiting: list[SurroundingText] = []
        self._next = 0

    def look(self, found: Any) -> None:
        """Takes the preambles of a file, and where it is a document, all other text: that is a fault there.

        It is one where all of its CSP/1 is in lines of its own, with no message of another wire and no line that
        begins as those of logs do (with a time, an object or list of JSON).
        """
        around = FilePreambles(found)
        if not around.any:
            return
        found_preambles = around.preambles()
        for start, _, line, error in found_preambles:
            if isinstance(error, DecodeError):
                self.refused(error, line, start)
        self._waiting = [one for one in found_preambles if not isinstance(one.record, DecodeError)]
        if around.is_document():
            self._waiting += around.junk(self._waiting)
            if found.data.startswith(BOM):
                self.fault("magic", 1, f"{Reason.BOM}: a byte order mark comes first", 0)
        else:
            for offset, line, text in around.prose():
                self.fault("magic", line, f"{Reason.JUNK}: {text[:60]!r}", offset)
        self._waiting.sort(key=itemgetter(0))

    def message(self, message: Any, line: int, offset: int | None = None, raw: bytes | None = None) -> None:
        """Checks one record. Of a message that is read from a text its line there is its place."""
        if type(message) is not CspMessage:
            expect(message, Record, "expected a CSP/1 record, a Document or a text")
        if self._next < len(self._waiting):
            self._pass(offset)
        if offset is not None:
            message.line = line
        self._record(message, line, offset, strictly=offset is not None)

    def forget(self, room: int) -> None:
        """Forgets the oldest tasks, agents, results and files beyond ``room``, and the checkpoints at which no message
        can come any more. A task that is forgotten stays open."""
        for task in self.linter.forget(room):
            if not task.ended:
                self.give_up("answers", task.place[0])

    def _pass(self, offset: int | None) -> None:
        """Checks what is before a byte beside messages."""
        waiting = self._waiting
        first = self._next
        last = len(waiting) if offset is None else bisect_left(waiting, offset, first, key=itemgetter(0))
        self._next = last
        for place, _, line, beside in waiting[first:last]:
            if not isinstance(beside, DecodeError):
                self._record(beside, line, place)

    def _record(self, record: Record, line: int, offset: int | None, strictly: bool = False) -> None:
        """strictly: it was read strictly, and has nothing that ``check`` warns of."""
        for clause, text in () if strictly else _of_record(record):
            self.fault(clause, line, text, offset)
        block = record.block if isinstance(record, CspMessage) else None
        kinds: tuple[type, type] = type(record), type(block)
        state = self.linter.state
        first = isinstance(record, Preamble) and not state.begun
        self.applied |= _applied(*kinds)
        if isinstance(record, Preamble) and first:
            self.applied.update(("state", "laws") if record.laws else ("state",))
        for issue in self.linter.found(record, doubts=not self._tries):
            if issue.severity == "warning":
                self.fault(REASONS[issue.reason], line, issue.text, offset)
            else:
                self.doubt(REASONS[issue.reason], line, f"{issue.reason}: {issue.text}", offset)
        if isinstance(record, Preamble) and not first:
            for kept, said in ((state.checkpoints["C0"], record.defs), (state.laws, record.laws)):
                for name in (one for one, value in said.items() if kept.get(one, value) != value):
                    text = f"{Reason.CHECKPOINT_EXISTS}: C0 is frozen, and {name} is another there"
                    self.fault("state", line, text, offset)
        if isinstance(record, CspMessage):
            self._laws(record, line, offset)
            if isinstance(block, FileOp):
                self._operation(record, line, offset)
        # Without a preamble and a patch there is no state to speak of, and a CTX names what another log holds.
        stateful = self.stateful or first or isinstance(block, Patch)
        if isinstance(record, (CspMessage, Preamble)):
            error = state.feed(record)
            if error is not None and stateful and (first or isinstance(record, CspMessage)):
                self.fault("state", line, f"{error.reason}: {error.text}", offset)
        self.stateful = stateful
        self.linter.learn(record, (line, offset))

    def _operation(self, message: CspMessage, line: int, offset: int | None) -> None:
        """A word beyond the table is read, and breaks its clause all the same."""
        for issue in doubts(message):
            found = self.fault if issue.reason is Reason.UNKNOWN_OP else self.doubt
            found("fileop", line, f"{issue.reason}: {issue.text}", offset)

    def _laws(self, message: CspMessage, line: int, offset: int | None) -> None:
        if self.routing is None:
            self.routing = Routing(self.linter.state.laws, self._classify)
        if self.routing.laws and isinstance(message.block, Task):
            self.applied.add("laws")
        for text in self.routing.feed(message, self.linter.state.defs):
            self.fault("laws", line, text, offset)

    def refused(self, error: DecodeError, line: int, offset: int | None = None, raw: bytes | None = None) -> None:
        """Takes a damaged record: it breaks the clause that its reason goes with."""
        self._pass(offset)
        self.fault(REASONS.get(error.reason, "magic"), line, f"{error.reason}: {error.text}", offset)

    def end(self) -> None:
        """Checks what is behind the last message, and the tasks that have no answer."""
        self._pass(None)
        for name, task in self.linter.tasks.items():
            if not task.ended:
                line, offset = task.place
                self.left("answers", line, f"{task.owner} has not answered {name}", offset)
        super().end()


CHECKLIST = Specification(CLAUSES, UNTESTED, CspChecklist, around=True, options=("classify",))
"""The checklist of CSP/1."""


def conformance(*messages: Record | Document | str | bytes, classify: Classifier | None = None) -> Checklist:
    """Checks a conversation (records, documents or texts, in order) against the specification. Faults include the line
    of a record.

    classify: ``classify(message, laws)`` returns the ids of the laws that apply to a task; by default those whose
    subject begins its REQ [PROJECT LAWS].
    """
    checked = CspChecklist(classify)
    for message in messages:
        if isinstance(message, (str, bytes)):
            try:
                message = parse(message, mode="lenient")
            except DecodeError as error:
                checked.rejects += 1
                checked.refused(error, error.line or 1)
                continue
        expect(message, Record | Document, "expected a CSP/1 record, a Document or a text")
        for record in message.records if isinstance(message, Document) else [message]:
            checked.records += isinstance(record, CspMessage)
            checked.message(record, record.line)
    checked.end()
    return checklist_of(WIRE, CLAUSES, checked)


def _of_record(record: Record) -> Iterator[tuple[str, str]]:
    if isinstance(record, Junk):
        if not is_fence(record.text):
            reason = Reason(record.reason or Reason.JUNK)
            yield REASONS[reason], f"{reason}: {record.text[:60]!r}"
        return
    for issue in check(record):
        if issue.severity == "warning":
            yield REASONS[issue.reason], f"{issue.reason}: {issue.text}"


_APPLIES: tuple[tuple[tuple[type, ...], str], ...] = (
    ((Preamble,), "restate"),
    ((CspMessage,), "magic agents ctx intent body header blocks restate ids filler terms"),
    ((Task, Result), "answers"),
    ((FileOp,), "fileop rewrite"),
    ((Patch,), "state rewrite"),
)
"""Records and blocks, and the clauses that have something to say of each."""


@cache
def _applied(record: type, block: type) -> frozenset[str]:
    """The clauses that have something to say of such a record, with such a block."""
    rows = (names for kinds, names in _APPLIES if issubclass(record, kinds) or issubclass(block, kinds))
    return frozenset(name for names in rows for name in names.split())
