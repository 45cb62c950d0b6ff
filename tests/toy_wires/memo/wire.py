"""The descriptor of memos."""

from turnwire.contract import LINES, Wire

DESCRIPTOR = Wire(
    "memo",
    title="Memos",
    package=__package__,
    style=LINES,
    detect=".codec:detect",
    decode=".codec:decode",
    encode=".codec:encode",
    message=".codec:Memo",
    check=".codec:check",
    prompt=".codec:prompt",
    plan=".bulk:PLAN",
    plain=".codec:plain",
    shape=".more:SHAPE",
    checklist=".more:CHECKLIST",
)
