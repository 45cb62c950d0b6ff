"""The door of all wires takes texts, bytes and messages; both cores refuse anything else in the same words, and never
by an error from inside."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import pytest

import turnwire
from tests import wrong_types
from tests.conftest import PURE_ONLY, raised
from tests.cores import Envelopes
from tests.fuzz.messages import MESSAGES
from turnwire import WIRES, DecodeError, EncodeError, Reason, csp, kick, nslip, registry, sap, sstp
from turnwire.contract import record_bytes
from turnwire.errors import WireError, expect

INSIDE = ("AttributeError", "IndexError", "KeyError", "UnicodeDecodeError", "UnicodeEncodeError", "AssertionError")
INSIDE += ("NameError", "UnboundLocalError", "RecursionError", "SystemError", "NotImplementedError")
OF_FILES = {"ledger.verify_file", "tokens.advise", "report.report", "log.plan", "log.stats"}
"""These take the name of a file and raise what ``open`` does for a name that no file can have."""
ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[str, str]]:
    before = Path.cwd()
    os.chdir(tmp_path_factory.mktemp("wrong"))
    try:
        return wrong_types.outcomes()
    finally:
        os.chdir(before)


def test_no_error_comes_from_inside(outcomes: dict[str, tuple[str, str]]) -> None:
    assert len(outcomes) > 1000
    inside = {call: what for call, what in outcomes.items() if what[0] in INSIDE}
    named = {f"{name}(half a surrogate pair)" for name in OF_FILES}
    assert {call for call, what in inside.items() if what[0] == "UnicodeEncodeError"} == named
    assert inside.keys() == named, inside


@pytest.mark.skipif(PURE_ONLY, reason="the compiled core is left out")
def test_both_cores_say_the_same(outcomes: dict[str, tuple[str, str]], tmp_path: Path) -> None:
    here = os.pathsep.join([str(Path(turnwire.__file__).parent.parent), str(ROOT)])
    environment = os.environ | {"TURNWIRE_PURE": "1", "PYTHONPATH": here}
    command = [sys.executable, "-W", "ignore", "-m", "tests.wrong_types"]
    done = subprocess.run(command, cwd=tmp_path, env=environment, stdout=subprocess.PIPE, check=True)
    pure = {call: tuple(what) for call, what in json.loads(done.stdout).items()}
    assert pure.keys() == outcomes.keys()
    assert {call: (what, pure[call]) for call, what in outcomes.items() if what != pure[call]} == {}


class Heir(str):
    """A text, though not of the type str itself."""


def test_every_wire_detects_texts_and_bytes_alike() -> None:
    from tests.convert.messages import right

    for message in right():
        text = turnwire.encode(message)
        name = turnwire.registry.wire_of(message)
        raw = text.encode()
        held = bytearray(b"-".join(bytes([byte]) for byte in raw))
        for data in (text, Heir(text), raw, bytearray(raw), memoryview(raw), memoryview(held)[::2]):
            found = [wire for wire in WIRES if registry.wire(wire).detect(data)]
            assert found[0] == name == turnwire.detect(data), data


@pytest.mark.parametrize("wire", WIRES)
def test_detect_never_raises(wire: str) -> None:
    released = memoryview(b"@a3")
    released.release()
    detect = registry.wire(wire).detect
    for wrong in (*wrong_types.WRONG.values(), released, "\ud800", "{\ud800", object(), ["@a3"], {"header": {}}):
        assert detect(wrong) is False


@pytest.mark.parametrize("wire", WIRES)
def test_what_is_written_is_text_whatever_it_was_read_from(wire: str) -> None:
    written = 0
    for one in MESSAGES[wire]:
        data = one.encode() if isinstance(one, str) else one
        try:
            texts = [turnwire.encode(turnwire.decode(data.decode(), wire), strict=strict) for strict in (True, False)]
        except turnwire.WireError:
            continue
        for form, whole in product((bytes, bytearray, memoryview), (data, texts[0].encode())):
            for named in (wire, None):
                message = turnwire.decode(form(whole), named)
                assert [turnwire.encode(message, strict=strict) for strict in (True, False)] == texts
        written += 1
    assert written


@pytest.mark.parametrize("data", ["", " \n", "hello", "bob@example.com", b"\xff\xfe", "\ud800", b"\0" * 9, "@", "#"])
def test_what_is_no_message(data: Any) -> None:
    assert turnwire.detect(data) is None
    caught = raised(DecodeError, turnwire.decode, data)
    assert (caught.reason, caught.offset, caught.line) == (Reason.UNKNOWN_WIRE, 0, 1)
    assert all(name in str(caught) for name in WIRES)


@pytest.mark.parametrize("wrong", [5, None, 1.5, [], ["@a3"], object(), nslip, nslip.Act.ASK, nslip.SlipMessage])
def test_only_text_and_bytes_are_read_and_only_messages_written(wrong: Any) -> None:
    calls: list[tuple[Any, type[WireError]]] = [(turnwire.detect, DecodeError), (turnwire.decode, DecodeError)]
    writers = turnwire.encode, partial(turnwire.encode, strict=False), turnwire.check
    calls += [(write, EncodeError) for write in writers]
    for call, error in calls:
        caught = raised(error, call, wrong)
        assert caught.reason == Reason.WRONG_TYPE and type(wrong).__name__ in str(caught)
    for text in ("text", b"@a3"):
        raised(EncodeError, turnwire.encode, text)


def test_record_bytes() -> None:
    assert record_bytes("é\ud800") == b"\xc3\xa9\xed\xa0\x80"
    assert record_bytes(memoryview(b"abcd")[::2]) == b"ac"
    assert record_bytes([97]) is record_bytes(None) is None


@pytest.mark.parametrize("wrong", [None, 3, "@a3", b"", [], object()])
def test_check_wants_a_message_of_its_wire(wrong: Any) -> None:
    for package in (nslip, csp, sstp, sap, kick):
        for call in (package.check, package.encode):
            with pytest.raises(EncodeError, match=type(wrong).__name__) as caught:
                call(wrong)
            assert caught.value.reason in (Reason.WRONG_TYPE, Reason.UNKNOWN_KIND)


@pytest.mark.parametrize("wrong", [None, 3, "text", {}])
def test_envelopes_on_both_cores(backend: str, wrong: Any) -> None:
    envelopes = Envelopes(backend)
    said = type(wrong).__name__
    for call in (envelopes.check, envelopes.encode):
        with pytest.raises(EncodeError, match=f"an Envelope, not {said}"):
            call(wrong)
    monitor = kick.Monitor()
    with pytest.raises(TypeError, match=f"^a monitor accepts only envelopes, not {said}$"):
        monitor.feed(wrong, 1e9)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"deadlines": {"accept": 3}}, "deadlines must be kick.Deadlines, not dict"),
        ({"deadlines": 60.0}, "deadlines must be kick.Deadlines, not float"),
        ({"deadlines": kick.Deadlines(finish="1")}, "the deadline finish must be a number of seconds or None, not str"),  # type: ignore[arg-type]
        ({"policy": {"row": []}}, "policy must be a Policy, not dict"),
    ],
)
def test_a_monitor_refuses_its_settings_when_it_is_made(settings: dict[str, Any], said: str) -> None:
    with pytest.raises(TypeError, match=f"^{said}$"):
        kick.Monitor(**settings)
    assert kick.Monitor(deadlines=kick.Deadlines(1, None, 2.5))


def test_half_a_surrogate_pair_is_damage() -> None:
    """As it is where it comes as bytes; and never an error of Python's codecs."""
    from turnwire.errors import RuleError
    from turnwire.ledger import Checkpoint

    text = "CSP/1\nFROM A\nTO B\nCTX C0\nINTENT TASK\n\nTASK T1\nREQ x\ud800\n"
    for data in (text, text.encode("utf-8", "surrogatepass")):
        document, damaged = csp.read_log(data)
        assert (len(document), [error.reason for error in damaged]) == (0, [Reason.BAD_UTF8])
    with pytest.raises(RuleError, match="bad_checkpoint"):
        Checkpoint.from_json('{"ledger": "\ud800"}')


def test_what_was_read_elsewhere_is_refused_with_what_is_missing() -> None:
    from turnwire.ledger import InclusionProof

    with pytest.raises(ValueError, match="a proof has the fields seq, size"):
        InclusionProof.from_dict({"seq": 1})
    with pytest.raises(DecodeError, match="a policy must be a table, not int"):
        kick.Policy.from_dict(3)  # type: ignore[arg-type]


def test_expect() -> None:
    expect(3, int, "never said")
    expect("a", int | str, "never said")
    with pytest.raises(TypeError, match=r"^a number is needed, not str$"):
        expect("a", (int, float), "a number is needed")
