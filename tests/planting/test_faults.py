"""The faults that `make plant` plants: real ones, the same for a seed, in code and not in words."""

from __future__ import annotations

import pickle
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.fuzz.targets import TARGETS
from tests.planting import __main__ as planting
from tests.planting import hunting
from tests.planting.__main__ import FIRST, LAST, TESTS, WHOLE, nearest, touched
from tests.planting.by_hand import asked_first
from tests.planting.faults import NATIVE, ROOT, Fault, _named, by_hand, drawn, modules, possible
from tests.planting.judged import SAME
from tests.planting.switches import NOTES, TOLD, VARIABLE, WATCHED, located, numbered, written

pytestmark = [pytest.mark.once, pytest.mark.skipif(not NATIVE.is_dir(), reason="needs the source tree")]


def test_faults_are_the_same_for_a_seed_and_spread() -> None:
    faults = drawn(60, 1)
    assert faults == drawn(60, 1) != drawn(60, 2)
    assert len(set(faults)) == 60
    assert {fault.header.split("/")[1] for fault in drawn(6_000, 1)} == set(TESTS)


def test_what_is_drawn_hangs_on_no_other_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else each change would draw faults that nobody has judged."""
    for name, lines in {
        "a.h": ["if (a < b) return 1;"] * 3,
        "b.h": [f"if (b{i} < c) continue;" for i in range(40)],
    }.items():
        (tmp_path / name).write_text("\n".join(lines))
    monkeypatch.setattr("tests.planting.faults.ROOT", tmp_path)
    files = [tmp_path / "b.h", tmp_path / "a.h"]
    before = [str(fault) for fault in drawn(12, 1, files)]
    assert len(drawn(1000, 1, files)) == 83 and len(set(before)) == 12
    (tmp_path / "b.h").write_text((tmp_path / "b.h").read_text() + "\nif (new < newer) return 1;\n")
    possible.cache_clear()
    _named.cache_clear()
    after = [str(fault) for fault in drawn(13, 1, files)]
    assert [fault for fault in after if "new" not in fault][:12] == before


def test_a_fault_changes_one_place_of_the_code() -> None:
    for fault in drawn(60, 3):
        before, after = (ROOT / fault.header).read_text("utf-8"), fault.planted()
        changed = [one for one, other in zip(before.split("\n"), after.split("\n"), strict=True) if one != other]
        assert len(changed) == 1 and not changed[0].lstrip().startswith(("* ", "*/", "/*", "#"))
        assert touched(fault.header)


def test_a_fault_changes_one_place_of_what_cython_reads() -> None:
    for fault in drawn(60, 3, modules()):
        before, after = (ROOT / fault.header).read_text("utf-8"), fault.planted()
        changed = [one for one, other in zip(before.split("\n"), after.split("\n"), strict=True) if one != other]
        assert len(changed) == 1 and not changed[0].lstrip().startswith(("#", "cdef extern"))
        assert asked_first(fault)


def test_faults_by_hand_stand_in_the_code_as_it_is() -> None:
    """One whose lines were changed is to be planted in them anew."""
    faults = by_hand()
    assert len(set(faults)) == len(faults) > 300
    for fault in faults:
        source = (ROOT / fault.header).read_text("utf-8")
        assert fault.planted() not in (source, "") and "\n" not in str(fault), fault
        if not fault.header.endswith(".py"):
            assert touched(fault.header) and Path(fault.header).parts[1] in TESTS
        assert all((ROOT / name).exists() for name in asked_first(fault))


def test_faults_by_hand_in_python_compile() -> None:
    """Those of a file are planted together where they do not meet, since each look at a file takes its time."""
    left = sorted((fault for fault in by_hand() if fault.header.endswith(".py")), key=lambda one: one[:2])
    while left:
        together: dict[str, list[Fault]] = {}
        later = []
        for fault in left:
            before = together.setdefault(fault.header, [])
            (later if before and before[-1].stop >= fault.start else before).append(fault)
        for header, some in together.items():
            source = (ROOT / header).read_text("utf-8")
            for fault in reversed(some):
                source = source[: fault.start] + fault.text + source[fault.stop :]
            try:
                compile(source, header, "exec")
            except SyntaxError:  # such as a block that has lost each of its lines: one by one
                for fault in some:
                    compile(fault.planted(), header, "exec")
        left = later


def test_words_are_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.planting.faults.ROOT", tmp_path)
    header = tmp_path / "a.h"
    header.write_text("/* a < b\n * c == d */\n#if X >= 2\nif (a < b) f(\"x == y\", '<'); // n + 1\n#endif\n")
    assert [(fault.line, fault.text) for fault in possible(header)] == [(4, "<=")]


def test_what_is_asked_is_there() -> None:
    assert {path.name for path in NATIVE.iterdir() if any(path.glob("*.h"))} == set(TESTS)
    assert set(WHOLE) == set(FIRST) == set(TESTS)
    assert all(any(word in name for name in TARGETS) for words in FIRST.values() for word in words.split(","))
    assert [
        name for tests in (*TESTS.values(), *WHOLE.values(), LAST) for name in tests if not (ROOT / name).exists()
    ] == []


def test_what_is_judged_is_a_fault_of_the_code_as_it_is() -> None:
    """A row that was changed since is to be judged anew."""
    there = {(name, fault.row) for name in {name for name, _ in SAME} for fault in possible(ROOT / name)}
    assert sorted(set(SAME) - there) == []


def test_the_tests_of_all_modules_of_a_header_are_asked() -> None:
    asked = nearest("_native/common/utf8.h")
    of_modules = {test for folder in ("common", "json", "nslip", "space") for test in TESTS[folder]}
    assert of_modules == set(asked) and len(of_modules) == len(asked)


def test_an_input_tells_another_core_from_this_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = tmp_path / "inputs"
    asked = [("write", b'{"a":1}'), ("base62", b"Zz"), ("write", b"[1,2]")]
    found = {name: [(name, data, hunting.said(name, data)) for one, data in asked if one == name] for name, _ in asked}
    place.write_bytes(pickle.dumps(found))
    assert hunting.ask(place, ("base",), tmp_path / "now") is None
    assert [one[0] for one in hunting.ordered(found, ("base",))] == ["base62", "write", "write"]
    monkeypatch.setitem(hunting.TARGETS, "write", lambda package, data: data.replace(b"2", b"3"))
    assert hunting.ask(place, ("base",), tmp_path / "now") == ("write", b'{"a":1}')
    assert hunting.crashed(tmp_path / "now") == ("write", b'{"a":1}')


def test_an_input_of_any_length_is_asked(tmp_path: Path) -> None:
    data = b'"' + b"x" * (1 << 20) + b'"'
    place = tmp_path / "inputs"
    place.write_bytes(pickle.dumps({"write": [("write", data, hunting.said("write", data))]}))
    assert hunting.ask(place, (), tmp_path / "now") is None
    assert hunting.crashed(tmp_path / "now") == ("write", data)


def test_a_hunt_that_fails_finds_nothing_and_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(planting, "FOLDER", tmp_path)
    (tmp_path / "inputs").write_bytes(b"no pickle")
    with pytest.raises(RuntimeError, match="the hunt itself failed"):
        planting.hunted("nslip")


HEADER = """
static int asked(const unsigned char *p, const unsigned char *end, long size)
{
    int found = 0;
    for (const unsigned char *at = p; at < end; at++) {
        if (*at == ' ' && (at + 1 >= end || at[1] != ' ')) continue;
        found += (int)size > 3 ? *at <= 'b' : (*at & 0x20) != 0 || size - 1 == found;
        if (p != end && *at >= 'a' || found > 100) found += size < 9 ? 5 + 7 : 1;
    }
    return found + 2;
}
"""
ASKED = """
int main(int count, char **arguments)
{
    if (count > 1) turnwire_planted = atoi(arguments[1]);
    for (long size = -1; size < 12; size++)
        for (const char *text = "a b  c~"; *text; text++)
            printf("%d ", asked((const unsigned char *)text, (const unsigned char *)text + strlen(text), size));
    fwrite(turnwire_notes, 1, sizeof turnwire_notes, stderr);
    return 0;
}
"""


@pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")
def test_a_switch_is_the_fault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One program with all faults says, of each, what the program says in which only that is planted. One that watches
    says what a sound one says, and has noted all faults that tell."""
    for module in ("faults", "switches"):
        monkeypatch.setattr(f"tests.planting.{module}.ROOT", tmp_path)
    (tmp_path / "a.h").write_text(HEADER)
    faults = numbered([tmp_path / "a.h"])["a.h"]

    def compiled(name: str, text: str) -> Path:
        head = "".join(f"#include <{one}.h>\n" for one in ("stdio", "stdlib", "string"))
        head += f"static int {VARIABLE};\nstatic unsigned char {NOTES}[99];\n"
        (tmp_path / f"{name}.c").write_text(f"{head}{text}\n{ASKED}")
        subprocess.run(["cc", "-w", f"{name}.c", "-o", name], cwd=tmp_path, check=True)
        return tmp_path / name

    def ran(program: Path, *arguments: str) -> tuple[bytes, bytes]:
        done = subprocess.run([program, *arguments], check=True, capture_output=True)
        return done.stdout, done.stderr

    def said(program: Path, *arguments: str) -> bytes:
        return ran(program, *arguments)[0]

    sound, told = said(compiled("sound", HEADER)), 0
    switched = compiled("switched", written(HEADER, located("a.h", faults)))
    assert said(switched) == sound
    shown, notes = ran(compiled("watched", written(HEADER, located("a.h", faults), WATCHED)))
    assert shown == sound
    assert len(faults) == len(located("a.h", faults)) > 18
    for number, fault in faults:
        planted = said(compiled("planted", fault.planted()))
        assert said(switched, str(number)) == planted, fault
        assert planted == sound or notes[number], fault
        told += planted != sound
    assert sum(note & TOLD for note in notes) < len(faults)
    assert told > 15
