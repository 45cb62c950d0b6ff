"""The shape of beeps for conversions, and their checklist."""

from tests.toy_wires.shared import checklist, shape

from .codec import Beep

SHAPE = shape(Beep, {name: name for name in ("sender", "receiver", "text")})
CHECKLIST = checklist("Every message is a beep")
