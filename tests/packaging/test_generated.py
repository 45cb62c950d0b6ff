"""The C that an sdist carries is used for the sources that it was made of, and for no others."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType

import pytest

BUILD = Path(__file__).parents[2] / "_build"
pytestmark = [pytest.mark.once, pytest.mark.skipif(not BUILD.exists(), reason="needs the source tree")]
NAMES = ["_native/one/first.c", "_native/two/second.c", "cython_shared.c"]


@pytest.fixture
def carried(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(BUILD))
    monkeypatch.delitem(sys.modules, "turnwire_c", raising=False)
    import turnwire_c

    return turnwire_c


@pytest.fixture
def tree(tmp_path: Path, carried: ModuleType) -> Path:
    """A tree of two modules that carries their C."""
    for name in ("_native/one/first.pyx", "_native/two/second.pyx", "_native/two/part.pxi", "_native/two/head.pxd"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(f"# {name}\n")
    (tmp_path / "_native" / "two" / "header.h").write_text("int header;\n")
    (tmp_path / "setup.py").write_text("DIRECTIVES = {}\n")
    for name in NAMES:
        (tmp_path / "written" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "written" / name).write_text(f"/* {name} */\n")
    assert not carried.fits(tmp_path)
    carried.carry(tmp_path / "written", tmp_path)
    return tmp_path


def texts(folder: Path) -> dict[str, str]:
    return {str(path.relative_to(folder)): path.read_text() for path in folder.rglob("*.c")}


def test_what_fits_is_taken(tree: Path, carried: ModuleType) -> None:
    assert carried.names(tree) == NAMES
    assert carried.fits(tree)
    assert carried.take(tree / "build", tree)
    assert texts(tree / "build") == texts(tree / "written")


@pytest.mark.parametrize(
    "name",
    [
        "_native/one/first.pyx",
        "_native/two/part.pxi",
        "_native/two/head.pxd",
        "setup.py",
        "generated/cython_shared.c",
        "generated/DIGEST",
    ],
)
def test_a_change_makes_all_of_it_unfit(name: str, tree: Path, carried: ModuleType) -> None:
    carried.take(tree / "build", tree)
    (tree / "build" / NAMES[1]).write_text("/* that Cython wrote since */\n")
    (tree / name).write_text("another\n")
    assert not carried.fits(tree)
    assert not carried.take(tree / "build", tree)
    left = {NAMES[1]} | ({NAMES[2]} if name == "generated/cython_shared.c" else set())
    assert set(texts(tree / "build")) == left, "what Cython did not write here is gone"


def test_another_module_or_one_less_makes_it_unfit(tree: Path, carried: ModuleType) -> None:
    (tree / "_native" / "one" / "third.pyx").write_text("# third\n")
    assert not carried.fits(tree)
    (tree / "_native" / "one" / "third.pyx").unlink()
    assert carried.fits(tree)
    (tree / "_native" / "one" / "first.pyx").unlink()
    assert not carried.fits(tree)


def test_the_append_of_a_list_is_mended(tree: Path, carried: ModuleType) -> None:
    """The reference is given back where the append was done; else its caller does that."""
    broken = tree / "written" / NAMES[0]
    broken.write_text("{\n" + carried.FAULT + "}\n")
    others = {name: (tree / "written" / name).stat().st_mtime_ns for name in NAMES[1:]}
    for _ in range(2):
        carried.mend(tree / "written", tree)
        assert "    if (result == 0) Py_DECREF(x);\n" in broken.read_text() and carried.FAULT not in broken.read_text()
    assert {name: (tree / "written" / name).stat().st_mtime_ns for name in others} == others


def test_cython_writes_no_other_append() -> None:
    """If its words are others, :func:`mend` must look for those, or go."""
    written = list((BUILD.parent / "build" / "_native").glob("*/*.c"))
    if not written:
        pytest.skip("the core was not built here")
    head = "static CYTHON_INLINE int __Pyx_ListComp_AppendAndDecref(PyObject* list, PyObject* x) {"
    bodies = [part.partition("\n}")[0] for path in written for part in path.read_text().split(head)[1:]]
    assert bodies and all("if (result == 0) Py_DECREF(x);" in body for body in bodies)
