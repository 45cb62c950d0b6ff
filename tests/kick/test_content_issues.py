"""What lenient reading forgives in the content of an envelope is shown by check, as "info"."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType

import pytest

from turnwire import kick
from turnwire.kick import channels

GOOD = channels.dispatch("T-7", "WePlan", "Write the plan.")


@pytest.mark.parametrize(
    ("content", "reasons"),
    [
        ("⫻task/dispatch:T-7/001\nWrite.", []),
        ("⫻task/dispatch:T-7/001", []),
        ("⫻a: inline text\nmore\n⫻b\r\nx\u3000y\n", []),
        ("text in front\n⫻a\nx", []),
        ("⫻ä/ö\nx", []),
        ("⫻a\n⫻ b\nx", ["leading_space"]),
        ("⫻a \nx", ["trailing_space"]),
        ("⫻a\nx\n⫻\n", ["empty_header"]),
        ("⫻a⫻b\nx", ["nested_sigil"]),
        ("\ufeff⫻a\nx", ["bom"]),
        ("⫻a:b c/1\nx", ["space_in_qualifier"]),
    ],
)
def test_contents(core: Callable[[str], ModuleType], content: str, reasons: list[str]) -> None:
    module = core("kick.envelope")
    envelope = module.Envelope(
        *(getattr(GOOD, name) for name in ("id", "timestamp", "sender", "receiver", "type", "channel")), content
    )
    found = module.check(envelope)
    assert [(str(one.reason), one.where, one.severity) for one in found] == [
        (reason, "/content", "info") for reason in reasons
    ]
    assert module.is_clean(envelope, kick.DEFAULT_POLICY.known) <= (reasons == [])


def test_conform_tells_them_as_doubtful() -> None:
    checklist = kick.conformance(GOOD.replace(content="⫻task/dispatch:T-7/001 \nx"))
    line = checklist.line("space")
    assert (line.status, [fault.text.split(":")[0] for fault in line.doubts]) == ("pass", ["trailing_space"])
    assert checklist.verdict == "is open", "what is doubtful changes no verdict"
