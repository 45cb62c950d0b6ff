"""The descriptor of notes."""

from turnwire.contract import OBJECT, Wire

DESCRIPTOR = Wire(
    "note",
    title="Notes",
    package=__package__,
    style=OBJECT,
    detect=".codec:detect",
    decode=".codec:decode",
    encode=".codec:encode",
    message=".codec:Note",
    check=".codec:check",
    prompt=".more:prompt",
    bulk=".bulk:SCANNER",
    plan=".bulk:PLAN",
    pairs=".more:PAIRS",
    shape=".more:SHAPE",
    checklist=".more:CHECKLIST",
)
