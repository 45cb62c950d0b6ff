"""The descriptor of beeps."""

from turnwire.contract import TOKEN, Wire

DESCRIPTOR = Wire(
    "beep",
    title="Beeps",
    package=__package__,
    style=TOKEN,
    detect=".codec:detect",
    decode=".codec:decode",
    encode=".codec:encode",
    message=".codec:Beep",
    check=".codec:check",
    prompt=".codec:prompt",
    plan=".bulk:PLAN",
    plain=".codec:plain",
    shape=".more:SHAPE",
    checklist=".more:CHECKLIST",
)
