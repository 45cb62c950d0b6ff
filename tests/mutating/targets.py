"""Which files `make mutate` changes, and the tests that are asked: twins of the native core, and rules of each wire.

A pattern is a path below src/turnwire, as fnmatch reads it. The tests are those that compare the cores, and the
vectors; mutmut asks, of these, only tests that run the function which was changed.
"""

from __future__ import annotations

TARGETS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "nslip": (
        ("_pure/nslip/*", "nslip/rules.py", "nslip/encoding.py"),
        (
            "tests/nslip",
            "tests/log/test_scan_differential.py",
            "tests/log/test_record_shapes.py",
            "tests/test_words.py",
            "tests/test_words_of_types.py",
        ),
    ),
    "csp": (
        ("_pure/csp/*",),
        (
            "tests/csp/test_vectors.py",
            "tests/csp/test_objects.py",
            "tests/csp/test_marks.py",
            "tests/csp/test_bulk.py",
            "tests/csp/test_scanner.py",
            "tests/csp/test_cuts.py",
            "tests/csp/test_codec.py",
            "tests/csp/test_heredoc.py",
            "tests/finding/test_settled_on_both_cores.py",
            "tests/test_words.py",
            "tests/test_words_of_types.py",
        ),
    ),
    "csp-rules": (
        (
            "csp/rules.py",
            "csp/lints.py",
            "csp/laws.py",
            "csp/template.py",
            "csp/diff.py",
            "csp/paths.py",
            "csp/store.py",
        ),
        (
            "tests/csp/test_rules.py",
            "tests/csp/test_vectors.py",
            "tests/csp/test_store.py",
            "tests/csp/test_fileop.py",
            "tests/csp/test_law_texts.py",
            "tests/csp/test_shared_journal.py",
            "tests/csp/test_words_of_rules.py",
            "tests/csp/test_words_of_lints.py",
            "tests/test_words.py",
            "tests/test_words_of_types.py",
            "tests/test_histories.py",
        ),
    ),
    "sstp": (
        ("_pure/json/sstp.py", "sstp/rules.py", "sstp/session.py", "sstp/builder.py"),
        ("tests/sstp", "tests/test_words.py", "tests/test_words_of_types.py", "tests/test_histories.py"),
    ),
    "sap": (
        ("_pure/json/sap.py", "sap/rules.py", "sap/lifecycle.py", "sap/conditions.py", "sap/times.py"),
        (
            "tests/sap/test_codec.py",
            "tests/sap/test_twins.py",
            "tests/sap/test_lifecycle.py",
            "tests/sap/test_conformance.py",
            "tests/sap/test_words_of_rules.py",
            "tests/test_words.py",
            "tests/test_words_of_types.py",
            "tests/test_histories.py",
        ),
    ),
    "kick": (
        ("_pure/space/*", "kick/rules.py", "kick/policy.py", "kick/monitor.py", "kick/times.py"),
        ("tests/kick", "tests/test_words.py", "tests/test_words_of_types.py", "tests/test_histories.py"),
    ),
    "json": (
        ("_pure/json/text.py", "_pure/json/canonical.py", "_pure/json/write.py", "_pure/json/held.py"),
        ("tests/json_text", "tests/ledger/test_canonical.py"),
    ),
    "lines": (
        (
            "_pure/json/lines.py",
            "_pure/json/lines_plan.py",
            "_pure/json/line_wires.py",
            "_pure/json/region.py",
            "_pure/json/rows.py",
            "_pure/json/inside.py",
            "_pure/json/parts.py",
            "_pure/json/wrapper.py",
            "_pure/json/over_lines.py",
            "_pure/json/values.py",
            "_pure/json/unescape.py",
            "_pure/json/others.py",
            "_pure/log/*",
        ),
        (
            "tests/log/test_json_differential.py",
            "tests/log/test_json_steps.py",
            "tests/log/test_line_wires.py",
            "tests/log/test_line_heads.py",
            "tests/log/test_wrappers.py",
            "tests/log/test_arrays.py",
            "tests/log/test_inside_strings.py",
            "tests/log/test_values.py",
            "tests/log/test_further_wires.py",
            "tests/log/test_left_to_right.py",
            "tests/log/test_mixed.py",
            "tests/log/test_mixed_cuts.py",
            "tests/log/test_times.py",
            "tests/log/test_over_lines.py",
        ),
    ),
    "session": (
        ("_pure/session/*",),
        (
            "tests/session/test_choosing.py",
            "tests/session/test_cores.py",
            "tests/session/test_drafts.py",
            "tests/session/test_fields.py",
            "tests/session/test_kept.py",
            "tests/session/test_leaves.py",
            "tests/session/test_pieces.py",
            "tests/session/test_repeats.py",
            "tests/session/test_round_trip.py",
            "tests/session/test_states.py",
            "tests/session/test_vectors.py",
        ),
    ),
    "ledger": (
        ("_pure/common/*", "ledger/merkle.py", "ledger/nodes.py", "ledger/checkpoint.py"),
        (
            "tests/ledger/test_canonical.py",
            "tests/ledger/test_hashing.py",
            "tests/ledger/test_ledger.py",
            "tests/ledger/test_memory.py",
            "tests/ledger/test_merkle.py",
            "tests/ledger/test_trust.py",
            "tests/ledger/test_words_of_proofs.py",
            "tests/test_words_of_types.py",
        ),
    ),
}
