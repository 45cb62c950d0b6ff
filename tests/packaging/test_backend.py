"""Questions before anything is downloaded or compiled: the Python, the compiler; and the bounds of requirements."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import tomllib
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parent.parent.parent
BACKEND = ROOT / "_build" / "turnwire_build.py"
pytestmark = [
    pytest.mark.once,
    pytest.mark.skipif(not BACKEND.exists(), reason="needs the source tree"),
    pytest.mark.skipif(os.name != "posix", reason="sh, make and the compilers of POSIX"),
]


@pytest.fixture
def backend(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    for name in ("CC", "TURNWIRE_SKIP_NATIVE", "TURNWIRE_REQUIRE_NATIVE", "TURNWIRE_PURE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.syspath_prepend(str(BACKEND.parent))
    spec = importlib.util.spec_from_file_location("turnwire_build", BACKEND)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_python_that_is_too_old_is_refused_at_once(tmp_path: Path) -> None:
    script = f"import sys; sys.version_info = (3, 10, 4); exec(open({str(BACKEND)!r}).read())"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=600)
    assert done.returncode == 1
    assert done.stderr == f"turnwire needs Python 3.11 or newer; this is 3.10.4 ({sys.executable})\n"


def test_cython_is_asked_for_where_it_can_be_used(backend: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backend, "lack", lambda: None)
    monkeypatch.setattr(backend.turnwire_c, "fits", lambda: False)
    assert backend.get_requires_for_build_wheel() == ["setuptools>=80", "Cython>=3.2"]
    assert backend.get_requires_for_build_sdist() == ["setuptools>=80", "Cython>=3.2"]
    monkeypatch.setattr(backend.turnwire_c, "fits", lambda: True)
    assert backend.get_requires_for_build_wheel() == backend.get_requires_for_build_sdist() == ["setuptools>=80"]
    monkeypatch.setattr(backend.turnwire_c, "fits", lambda: False)
    monkeypatch.setattr(backend, "lack", lambda: "no C compiler when installed")
    assert backend.get_requires_for_build_wheel() == backend.get_requires_for_build_editable() == ["setuptools>=80"]
    monkeypatch.setenv("TURNWIRE_REQUIRE_NATIVE", "1")
    assert "Cython>=3.2" in backend.get_requires_for_build_wheel()


def test_what_is_lacking_is_said(backend: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("CC", "no-such-compiler -m64")
    assert backend.lack() == "no C compiler when installed"
    monkeypatch.setenv("CC", "true")
    monkeypatch.setattr(backend.sysconfig, "get_path", lambda name: str(tmp_path))
    assert backend.lack().startswith("no headers of Python")
    (tmp_path / "Python.h").touch()
    assert backend.lack() is None
    monkeypatch.setenv("TURNWIRE_SKIP_NATIVE", "1")
    assert backend.lack() == "TURNWIRE_SKIP_NATIVE was set when built, as for the pure wheel"


def test_an_install_without_a_compiler_keeps_why(tmp_path: Path) -> None:
    ours = {**os.environ, "CC": "no-such-compiler", "TURNWIRE_REQUIRE_NATIVE": "0", "TURNWIRE_SKIP_NATIVE": "0"}
    command = [sys.executable, "setup.py", "build_ext", "--build-lib", tmp_path / "lib", "--build-temp", tmp_path]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, env=ours, timeout=600)
    assert done.returncode == 0, done.stderr
    assert "in pure Python, many times slower; not compiled: no C compiler when installed" in done.stderr
    (kept,) = [path for path in (tmp_path / "lib").rglob("*") if path.is_file()]
    assert kept.relative_to(tmp_path / "lib") == Path("turnwire/_native/NOT_COMPILED")
    assert kept.read_text("utf-8") == "no C compiler when installed\n"


def test_why_there_is_no_core_is_told(tmp_path: Path) -> None:
    """A package without compiled modules, as such an install leaves it."""
    package = tmp_path / "turnwire"
    (package / "_native").mkdir(parents=True)
    for name in ("__init__.py", "_native/__init__.py"):
        (package / name).touch()
    (package / "_backend.py").write_bytes((ROOT / "src" / "turnwire" / "_backend.py").read_bytes())
    script = "from turnwire import _backend as b; print(b.NAME, b.MISSING, b.WHY_PURE)"
    ours = {**os.environ, "PYTHONPATH": str(tmp_path), "TURNWIRE_PURE": "0"}

    def told(**more: str) -> str:
        command = [sys.executable, "-c", script]
        return subprocess.run(command, capture_output=True, text=True, env={**ours, **more}, timeout=300).stdout.strip()

    assert told() == "pure True not compiled: no modules came with this installation (turnwire/_native)"
    (package / "_native" / "NOT_COMPILED").write_text("no C compiler when installed\n")
    assert told() == "pure True not compiled: no C compiler when installed"
    assert told(TURNWIRE_PURE="1") == "pure False TURNWIRE_PURE is set"


def test_a_path_of_an_interpreter_is_that_file_and_no_other(tmp_path: Path) -> None:
    old = tmp_path / "python3.11"
    old.write_text("#!/bin/sh\ncase $2 in *print*) echo 3.10.4;; *) exit 1;; esac\n")
    old.chmod(0o755)
    versions = tmp_path / "versions" / "3.11.9" / "bin"
    versions.mkdir(parents=True)
    (versions / "python3.11").symlink_to(sys.executable)
    find = ["sh", ROOT / ".ci" / "find-python"]
    ours = {**os.environ, "PYENV_ROOT": str(tmp_path)}
    done = subprocess.run([*find, old], capture_output=True, text=True, env=ours, timeout=600)
    assert (done.returncode, done.stdout, done.stderr) == (1, "", f"{old} is Python 3.10.4\n")
    done = subprocess.run([*find, sys.executable], capture_output=True, text=True, env=ours, timeout=600)
    assert (done.returncode, done.stdout) == (0, f"{sys.executable}\n")


def test_every_requirement_of_users_has_a_lower_bound() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    done = subprocess.run([ROOT / ".ci" / "lowest", "all"], capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    lines = dict(line.split("==") for line in done.stdout.splitlines())
    assert lines["polars"] == "1.22", "before that a frame of a scan has the shape (1, 1)"
    assert {"numpy", "msgspec", "click", "rich", "pyarrow"} <= set(lines)
    assert extras["all"], "all of these"


# --- the C that an sdist carries is used for the sources that it was made of, and for no others -----------------------


BUILD = Path(__file__).parents[2] / "_build"
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
