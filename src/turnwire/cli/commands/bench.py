"""``turnwire bench``: how fast this installation reads and writes nSLIP, beside msgspec on JSON of the same fields."""

from __future__ import annotations

from functools import partial
from timeit import repeat
from typing import Any

import click

from turnwire.cli.output import table, write_json, write_text

SAMPLE = b'@a3|f0|c1|S0|d1|T1|g1|k1|q3|t"goal_1"#\n'
ROUNDS, MESSAGES = 20, 1000


@click.command("bench", short_help="Compare the speed of this installation with msgspec.")
@click.option("--json", "as_json", is_flag=True, help="JSON lines instead of a table.")
def command(as_json: bool) -> None:
    """Measures how fast nSLIP is decoded, encoded and scanned, compared with msgspec on JSON with the same fields.

    Times are the best of twenty rounds, in nanoseconds per message. A ratio under 1 means that turnwire is faster;
    trust the ratios, not the times.
    """
    import msgspec

    import turnwire
    from turnwire import nslip

    lines = SAMPLE * MESSAGES
    messages = nslip.decode_many(lines)
    values = [_fields(message) for message in messages]
    record = msgspec.defstruct("Record", [(name, type(value)) for name, value in values[0].items()])
    records = [record(**each) for each in values]
    encoder, decoder = msgspec.json.Encoder(), msgspec.json.Decoder(record)
    read = partial(decoder.decode_lines, encoder.encode_lines(records))
    tasks: dict[str, tuple[Any, Any]] = {
        "decode": (partial(nslip.decode_many, lines), read),
        "encode": (partial(nslip.encode_many, messages), partial(encoder.encode_lines, records)),
        "scan": (lambda: sum(len(batch) for batch in turnwire.scan(lines, wire="nslip")), read),
    }
    rows = []
    for task, works in tasks.items():
        ours, theirs = (min(repeat(work, number=1, repeat=ROUNDS)) / len(messages) * 1e9 for work in works)
        rows.append(
            {"task": task, turnwire.backend: round(ours, 1), "msgspec": round(theirs, 1), "ratio": ours / theirs}
        )
    if as_json:
        write_json(rows)
    else:
        digits = {turnwire.backend: 1, "msgspec": 1, "ratio": 2}
        write_text(table(list(rows[0]), [list(row.values()) for row in rows], digits))


def _fields(message: Any) -> dict[str, Any]:
    header = ("act", "frame", "conv_id", "src", "dst", "turn")
    slots = {slot.name.lower(): value for slot, value in message.slots.items()}
    return {**{name: int(getattr(message, name)) for name in header}, **slots}
