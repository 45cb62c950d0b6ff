"""``turnwire convert --to`` a form of another tool: sessions of real traffic, line by line, with what is lost."""

from __future__ import annotations

from collections.abc import Sequence

from turnwire.cli import inputs
from turnwire.cli.outcome import BAD_RECORDS, GOOD, NOTHING
from turnwire.cli.output import Notes, standard_output, tell_left_out, write_json


def write_export(names: Sequence[str], to: str, wire: str | None, *, as_json: bool, quiet: bool, notes: Notes) -> int:
    """Writes what :func:`turnwire.read.exporting.export` gives, and answers the exit code."""
    from turnwire.read.exporting import export

    found = export(list(names), to, wire=wire)
    output = standard_output(shown=True)
    for line in found:
        if as_json:
            place = {"file": inputs.shown(line.file), "line": line.line}
            write_json([{**place, "to": to, "text": line.text, "dropped": list(line.dropped)}])
            continue
        if line.text is not None:
            output.write(f"{line.text}\n".encode())
        if line.dropped and not quiet:
            word = "dropped" if line.text is not None else f"no form in {to}"
            notes.add(f"{inputs.shown(line.file)}:{line.line}: {word}: {', '.join(line.dropped)}")
    output.flush()
    notes.close()
    counts = found.counts
    tell_left_out(counts.rejects, f"scan --wire {wire or 'formats'}")
    if not counts.records:
        inputs.tell_nothing(names, wire, bool(counts.bytes))
    return BAD_RECORDS if counts.rejects else GOOD if counts.records else NOTHING
