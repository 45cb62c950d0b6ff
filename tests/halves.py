"""What `make test` runs once, on the native core, beside what is marked ``once`` in its file; and in which process.

Four processes run beside each other: the pure half, and three parts of all that is run on the native core. That is one
or two more than there are cores: tests wait for processes and servers.

The pure half proves the pure twins. A test belongs to it where a twin of a compiled module does work that the test
looks at: codecs, JSON, the engines of the scan, columns, hashing, sessions. A test of what stands above them, in plain
Python, and takes their results as they come (files, pipes, servers, pages, the command line) would prove the same
again: the twins give equal values for any bytes, as the tests that compare them see, so nothing above tells them apart.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

TESTS = Path(__file__).parent
CODECS = ("nslip", "csp", "kick", "sstp", "json_text", "vectors", "sap/test_codec.py", "sap/test_conformance.py")
"""Folders and files whose tests run on both cores, always (but for those that compare the two in one process)."""
ABOVE = (
    "csp/test_fileop.py",
    "csp/test_fileop_races.py",
    "csp/test_law_texts.py",
    "csp/test_shared_journal.py",
    "csp/test_store.py",
)
"""Files of those folders all the same whose tests are of what stands above a codec, in plain Python."""
ONCE = {
    "cli": "what commands say and write, and how they end",
    "report": "the page, and the sums it is made of",
    "tokens": "counts of texts",
    "prompts": "texts",
    "packaging": "installations",
    "convert/test_conversations.py": "conversations of one wire in another",
    "convert/test_hostile_contexts.py": "what a context may say",
    "convert/test_judges.py": "judges that are asked before they take a message",
    "convert/test_meaning.py": "what each kind becomes",
    "convert/test_pairs.py": "what survives from each wire to each",
    "csp/test_fileop.py": "files that are written by diffs",
    "csp/test_fileop_races.py": "files that several write",
    "csp/test_law_texts.py": "texts of laws that are looked for",
    "csp/test_shared_journal.py": "stores and their journal",
    "csp/test_store.py": "a store of states",
    "distributed": "blocks on Dask and Spark",
    "finding/test_refusals.py": "words for rejects, out of columns",
    "ledger/test_command.py": "commands",
    "ledger/test_memory.py": "a store without a file",
    "ledger/test_merkle.py": "proofs, in plain Python",
    "ledger/test_pages.py": "the check of SQLite beside the rows",
    "ledger/test_read_only.py": "files that cannot be written",
    "ledger/test_three_files.py": "the files of SQLite",
    "ledger/test_trust.py": "files, copies and signatures",
    "log/test_all_wires.py": "statistics, blocks and files",
    "log/test_commands_agree.py": "commands",
    "log/test_directories.py": "folders",
    "log/test_endless_rotation.py": "files that are rotated",
    "log/test_every_wire.py": "blocks, files and statistics",
    "log/test_follow.py": "files that grow",
    "log/test_lazy.py": "frames of Polars",
    "log/test_options.py": "what is refused before anything is read",
    "log/test_outputs.py": "files that are written",
    "log/test_plan.py": "blocks of files",
    "log/test_planning.py": "places where files are cut",
    "log/test_resume.py": "files as they were",
    "log/test_rotated_copies.py": "files that are rotated",
    "log/test_rotation_storms.py": "files that are rotated",
    "log/test_runs.py": "starts and ends of scans",
    "log/test_scan_differential.py": "compares the engines in one process",
    "log/test_schema.py": "names of columns",
    "log/test_services.py": "what is around a scan",
    "log/test_sources.py": "where bytes come from",
    "log/test_tasks.py": "tasks of programs",
    "log/test_stats.py": "sums of columns",
    "log/test_threads.py": "threads, and how they end",
    "log/test_where.py": "rows that are chosen by columns",
    "sap/test_admission.py": "an agent at work",
    "sap/test_agent.py": "an agent at work",
    "sap/test_agent_machine.py": "an agent at work",
    "sap/test_cache.py": "a cache of results",
    "sap/test_large_results.py": "an agent at work",
    "sap/test_learning.py": "what is learnt from results",
    "sap/test_principals.py": "who calls",
    "sap/test_serving.py": "an agent behind transports",
    "sap/test_transport_machine.py": "an agent behind transports",
    "sap/test_transports.py": "servers and clients",
    "sap/test_vetting.py": "an agent at work",
    "test_add_a_wire.py": "the page for who contributes",
    "test_checklists.py": "lists of checks",
    "test_cost.py": "what the compiled core and the rules cost",
    "test_documents.py": "pages",
    "test_examples.py": "the demo",
    "test_limits.py": "arguments that are refused",
    "test_names.py": "arguments that are refused",
    "test_showing.py": "tables of notebooks",
    "test_stream_seams.py": "pieces of a stream",
}
"""Folders and files, and what their tests are about that is the same on each core."""
BOTH = ("cli/test_all_wires.py", "cli/test_validate.py")
"""Files of such folders that run in both halves all the same: that the command line works on the pure core."""

PARTS = (
    ("convert", "finding", "log"),
    (
        "cli",
        "distributed",
        "entries",
        "fuzz",
        "ledger",
        "packaging",
        "prompts",
        "report",
        "tokens",
    ),
)
"""Folders and files of the first two parts of what is run on the native core, which take about as long as all others,
the third; tests of commands wait for them, so that theirs take less of the processor. What needs the same large
packages (tokenizers, Arrow, Dask) is in one part, whose process imports them."""


def is_once(path: Path) -> bool:
    """Whether a file of tests runs in the native half alone."""
    name = path.relative_to(TESTS).as_posix() if path.is_relative_to(TESTS) else ""
    return name not in BOTH and (name in ONCE or name.partition("/")[0] in ONCE)


def is_in_part(path: Path, part: int) -> bool:
    """Whether a file is in one of the three parts (0, 1, 2) of what is run on the native core."""
    name = path.relative_to(TESTS).parts[0] if path.is_relative_to(TESTS) else ""
    return part == next((number for number, names in enumerate(PARTS) if name in names), len(PARTS))


@cache
def without_halves(path: Path) -> bool:
    """Whether the text of a file shows that all its tests are marked ``once``, so that no half need import it.
    False where it does not show."""
    text = path.read_text("utf-8")
    return bool(_MARKED.search(text)) or (is_once(path) and not _NAMES_A_CORE.search(text))


_MARKED = re.compile(r"^pytestmark = (?:\[[^\]]*)?\bpytest\.mark\.once\b", re.MULTILINE)
_NAMES_A_CORE = re.compile(r"\b(?:backend|core|twin|scan_core|native|pure)\b|_native\b|_pure\b")
