"""Row by row: fields that were kept and know no place, ids that are numbered anew, ids in stores, lines of near misses,
who reads which schema version."""

from __future__ import annotations

import copy
import pickle

import pytest

from turnwire import nslip
from turnwire.errors import DecodeError, RuleError
from turnwire.nslip import Act, FrameType, Slot, schema
from turnwire.nslip.artifacts import resolve
from turnwire.nslip.rules import announce, announced
from turnwire.nslip.spec import Extra
from turnwire.nslip.tokens import short_ids
from turnwire.read.judging import conform


def test_kept_fields_without_a_place_come_last(core):
    codec = core("nslip.codec")
    slots = {Slot.GOAL_ID: 1, Slot.TASK_ID: 2}
    message = codec.SlipMessage(1, 2, 3, 4, Act.ASK, FrameType.TASK, slots, extra={"z": "5", "y": '"x"'})
    assert codec.encode(message) == '@a2|f0|c1|S3|d4|T2|g1|k2|z5|y"x"#'
    known = Extra({"z": "5", "y": '"x"', "x": "1"})
    known.before = {"z": 0, "y": 1}
    message.extra = known
    assert codec.encode(message) == '@a2|f0|c1|S3|d4|T2|z5|g1|y"x"|k2|x1#'


def test_a_copy_of_kept_fields_has_their_places(core):
    codec = core("nslip.codec")
    text = '@a2|f0|c1|S3|d4|T2|z5|g1|y"x"|k2|x1#'
    message = codec.decode(text, unknown="keep")
    copies = [message.replace(), message.replace(turn=2), copy.deepcopy(message)]
    copies += [copy.copy(message), codec.SlipMessage.from_dict(message.to_dict())]
    for other in copies:
        assert codec.encode(other) == text
    for other in copies[:3]:
        other.extra.before["z"] = 2
        assert codec.encode(message) == text
    assert pickle.loads(pickle.dumps(message.extra)).before == message.extra.before


@pytest.mark.parametrize(("prefix", "numbered"), [*((one, True) for one in "gkpr"), *((one, False) for one in "qse")])
def test_ids_count_from_0_in_each_conversation_and_scalars_stay(prefix, numbered):
    texts = [f"@a1|f0|c{c}|S1|d2|T1|{prefix}{value}#" for c, value in (("zz", "abc"), ("zz", "abd"), ("y", "abd"))]
    values = ("0", "1", "0") if numbered else ("abc", "abd", "abd")
    assert short_ids(texts) == [
        f"@a1|f0|c{c}|S1|d2|T1|{prefix}{value}#" for c, value in zip("001", values, strict=True)
    ]


STORES = {Slot.GOAL_ID: "goals", Slot.TASK_ID: "tasks", Slot.PARENT_TASK_ID: "tasks", Slot.RESULT_ID: "results"}


@pytest.mark.parametrize("slot", Slot)
def test_an_id_is_looked_up_in_the_store_of_its_slot(slot):
    text = slot in (Slot.STATUS, Slot.TAG)
    message = nslip.SlipMessage(1, 2, 3, 4, Act.ASK, FrameType.TASK, {slot: "x" if text else 7})
    given = {name: {7: name} for name in ("goals", "tasks", "results")}
    wanted = {slot: STORES[slot]} if slot in STORES else {}
    assert resolve(message, **given) == resolve(message, {7: "any"}, **given) == wanted
    assert resolve(message, {7: "any"}) == dict.fromkeys(wanted, "any")
    assert resolve(message) == {}
    if slot in STORES:
        with pytest.raises(RuleError, match=f"unknown_id in /slots/{slot.name}"):
            resolve(message, {7: "any"}, **{STORES[slot]: {}})


def test_near_misses_are_told_at_their_lines():
    """Those beside messages and those in strings, whichever come first."""
    good, near, empty = "@a3|f0|c7|S0|d1|T1#", "@a3,f0,c7,S0", "@#"
    lines = ["{}", f'{{"a":"{near}"}}', good, near, "", empty, f'{{"a":"{near}"}}', good, f'{{"a":"{near}"}}', near]
    (framing,) = [line for line in conform("nslip", "\n".join(lines).encode()) if line.clause.id == "framing"]
    wanted = [number for number, line in enumerate(lines, 1) if near in line or line == empty]
    assert sorted(fault.line for fault in framing.faults) == wanted


def test_nearly_messages_behind_a_prefix_are_told_once():
    """Those that are seen beside messages, too."""
    good = "@a3|f0|c7|S0|d1|T1#"
    for one, empty in ((f'{{"m": "{good}"}}', '{"m": "@#"}'), (f'x "@#" {good}', 'x "@#" @#'), (f"@: {good}", "@: @#")):
        (framing,) = [line for line in conform("nslip", f"{one}\n{empty}\n".encode()) if line.clause.id == "framing"]
        assert [fault.line for fault in framing.faults].count(2) == 1, one


@pytest.mark.parametrize(("frame", "read"), [("CONTROL", FrameType.CONTROL), (0, 0), (9, 9), ("SIGNAL", None)])
def test_a_frame_that_was_kept_is_a_number_or_a_name(core, frame, read):
    cls = core("nslip.codec").SlipMessage
    fields = cls(1, 2, 3, 4, Act.ASK, FrameType.TASK, {}).to_dict()
    fields |= {"frame": frame, "extra": [{"prefix": "f", "value": "9"}]}
    if read is None:
        with pytest.raises(DecodeError, match="unknown_frame"):
            cls.from_dict(fields)
    else:
        assert cls.from_dict(fields).frame == read


@pytest.mark.parametrize("behind", ["x", "#", "xy", "|", "@"])
def test_a_line_is_one_message_to_its_last_byte(core, behind):
    one = "@a3|f0|c7|S0|d1|T1#"
    decode_many = core("nslip.codec").decode_many
    for end in ("", "\n", " \r\n"):
        with pytest.raises(DecodeError) as caught:
            decode_many(f"{one}\n{one}{behind}{end}".encode())
        found = caught.value
        assert (str(found.reason), found.offset, found.line) == ("trailing_junk", 2 * len(one) + 1, 2)
    assert len(decode_many(f"{one}\n\n {one} \n".encode())) == 2


@pytest.mark.parametrize("act", Act)
@pytest.mark.parametrize("frame", FrameType)
def test_only_a_meta_message_of_control_announces_a_version(act, frame):
    message = announce(1, 2, 3, 4).replace(act=act, frame=frame)
    assert announced(message) == (1 if (act, frame) == (Act.META, FrameType.CONTROL) else None)


@pytest.mark.parametrize("more", [-1, 0, 1])
def test_a_binary_form_has_as_many_bytes_as_the_limit(more, monkeypatch):
    pytest.importorskip("cbor2")
    message = nslip.SlipMessage(1, 2, 3, 4, Act.ASK, FrameType.TASK, {Slot.TAG: "x" * 50})
    data = nslip.to_cbor(message)
    monkeypatch.setattr(schema, "LIMITS", schema.LIMITS._replace(message=len(data) + more))
    if more < 0:
        with pytest.raises(DecodeError, match="message_too_large"):
            nslip.from_cbor(data)
    else:
        assert nslip.from_cbor(data) == message


@pytest.mark.parametrize(
    "damaged", ["", "x", "@", "@#", "@a1", "@a1|f0$", '@a1|f0|c1|S0|d1|T1|t"a\nb', "@a1|f0|c1|S0|d1|T1#\n@"]
)
@pytest.mark.parametrize("front", ["", "\n", "\n \n\n", "\r\n\r\n"])
def test_the_line_of_a_fault_is_that_of_its_byte(damaged, front, core):
    codec = core("nslip.codec")
    for behind in ("", "\n", "\n\n@a1|f0|c1|S0|d1|T1#\n"):
        raw = f"{front}{damaged}{behind}".encode()
        for decode in (codec.decode, codec.decode_many):
            for data in (raw, raw.decode()):
                error = refused(decode, data)
                assert error is None or error.line == 1 + raw.count(b"\n", 0, error.offset), (data, error)
                assert error is not None or decode is codec.decode_many or behind


def refused(decode, data):
    try:
        decode(data)
    except DecodeError as error:
        return error
    return None
