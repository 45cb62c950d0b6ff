"""The contents of sdist and wheel; an install without a compiler works. Slow: for `-m packaging`."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
BUILDING = ("setuptools>=80", "Cython>=3.2")
"""Asked for by the backend if it can compile; without build isolation it is asked for nothing."""
UV = Path(sys.executable).with_name("uv")
"""Installs requirements if it is there, for a twentieth of pip's CPU time. turnwire itself is pip's work."""
MOST_OF_SDIST = 12 << 20
"""Bytes that an sdist may have, with the C."""
pytestmark = [pytest.mark.packaging, pytest.mark.once]


def run(*command: str | Path, **environment: str) -> str:
    """Runs a command without the settings of this run and gives what it printed; its errors are shown when it fails."""
    ours = {
        "PYTHONPATH",
        "TURNWIRE_PURE",
        "TURNWIRE_REQUIRE_NATIVE",
        "TURNWIRE_SKIP_NATIVE",
        "TURNWIRE_SANITIZE",
        "TURNWIRE_QUICK",
    }
    kept = {name: value for name, value in os.environ.items() if name not in ours}
    finished = subprocess.run(
        [str(part) for part in command],
        env={**kept, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=900,
    )
    assert finished.returncode == 0, finished.stdout
    return finished.stdout


@pytest.fixture(scope="module")
def distributions(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with one sdist and the wheel built from it: the one named by TURNWIRE_DIST, or a new one."""
    if given := os.environ.get("TURNWIRE_DIST"):
        return ROOT / given
    folder = tmp_path_factory.mktemp("dist")
    run(sys.executable, "-m", "build", "--outdir", folder, ROOT, TURNWIRE_REQUIRE_NATIVE="1")
    return folder


@pytest.fixture(scope="module")
def sdist(distributions: Path) -> Path:
    (path,) = distributions.glob("turnwire-*.tar.gz")
    return path


@pytest.fixture(scope="module")
def wheel(distributions: Path) -> Path:
    (path,) = distributions.glob("turnwire-*.whl")
    return path


def sources(*suffixes: str) -> set[str]:
    """The files of the core, with their folder: ``json/text.pyx``."""
    native = ROOT / "_native"
    return {path.relative_to(native).as_posix() for path in native.rglob("*") if path.suffix in suffixes}


def test_the_sdist_holds_the_sources_of_the_core_with_their_c_and_nothing_built(sdist: Path) -> None:
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    wanted = {f"_native/{name}" for name in sources(".pyx", ".pxd", ".pxi", ".h")}
    assert wanted and wanted - names == set()
    written = {f"_native/{Path(name).with_suffix('.c').as_posix()}" for name in sources(".pyx")}
    assert {name for name in names if name.endswith((".so", ".pyd", ".pyc")) or name in written} == set()
    carried = {name for name in names if name.startswith("generated/") and name.endswith((".c", "DIGEST"))}
    assert carried == {f"generated/{name}" for name in (*written, "cython_shared.c", "DIGEST")}
    assert sdist.stat().st_size <= MOST_OF_SDIST


def test_an_sdist_is_built_without_cython_until_a_source_is_changed(sdist: Path, tmp_path: Path) -> None:
    """The compiler always fails here: it is asked later than Cython."""
    with tarfile.open(sdist) as archive:
        archive.extractall(tmp_path, filter="data")
    (tree,) = tmp_path.iterdir()
    (tmp_path / "barred" / "Cython").mkdir(parents=True)
    (tmp_path / "barred" / "Cython" / "__init__.py").write_text("raise ImportError('Cython is asked for')\n")

    def built(**environment: str) -> str:
        script = "import os, runpy, sys; os.chdir(sys.argv.pop(1)); runpy.run_path('setup.py')"
        return run(sys.executable, "-c", script, tree, "build_ext", CC="/bin/false", **environment)

    barred = {"PYTHONPATH": str(tmp_path / "barred")}
    assert "Cython is asked for" not in built(**barred)
    made = {path.relative_to(tree / "build") for path in (tree / "build").rglob("*.c")}
    assert made == {path.relative_to(tree / "generated") for path in (tree / "generated").rglob("*.c")}
    source = tree / "_native" / "log" / "arrow.pyx"
    source.write_text(source.read_text("utf-8") + "\nADDED_BY_A_TEST = 'a value of its own'\n", "utf-8")
    os.utime(source, (1, 1))  # older than the C, as what comes out of an archive may be
    with pytest.raises(AssertionError, match="Cython is asked for"):
        built(**barred)
    for other in (tree / "_native").rglob("*.pyx"):
        if other != source:
            other.unlink()  # all are written anew, which takes 12 CPU seconds: this one is looked at
    built()
    assert "a value of its own" in (tree / "build" / "_native" / "log" / "arrow.c").read_text("utf-8")


def test_the_wheel_holds_every_module_with_its_stub_and_no_source_of_the_core(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    folder, package = "turnwire/_native/", ROOT / "src" / "turnwire"
    stems = {Path(name).with_suffix("").as_posix() for name in sources(".pyx")}
    compiled = {name[len(folder) :].split(".")[0] for name in names if name.endswith((".so", ".pyd"))}
    assert compiled == stems | {"cython_shared"}  # what Cython's modules have in common
    ours = {f"{folder}{stem}.pyi" for stem in stems} | {"turnwire/py.typed", "turnwire/formats/prices.toml"}
    ours |= {f"turnwire/{path.relative_to(package).as_posix()}" for path in package.rglob("*.py")}
    ours |= {f"turnwire/report/assets/{path.name}" for path in (package / "report" / "assets").iterdir()}
    assert ours - names == set()
    assert {name for name in names if name.endswith((".pyx", ".pxd", ".pxi", ".h", ".c"))} == set()
    tops = {name.split("/")[0] for name in names}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"turnwire"}


def environment_with(distribution: Path, folder: Path, *extras: str, **variables: str) -> Path:
    """The interpreter of an environment into which an sdist or a wheel was installed, with what some extras bring.

    The environment is made where it is not there yet.

    pip would keep the wheel it builds and hand the one built without a compiler to the next install of the same file,
    so that its cache serves the requirements only.
    """
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    lines = project["project"]["optional-dependencies"]
    wanted = {"scan", *extras}  # which the command line stands on
    brought = [line for extra in wanted for line in lines[extra] if not line.startswith("turnwire[")]
    python = folder / "bin" / "python"
    # What is imported is compiled then: most of the modules never are.
    pip = (sys.executable, "-m", "pip", "--python", python, "install", "--disable-pip-version-check", "--no-compile")
    if not python.exists():
        run(sys.executable, "-m", "venv", "--without-pip", folder)
        quick = (UV, "pip", "install", "--quiet", "--python", python)
        run(*(quick if UV.exists() else pip), *BUILDING, *project["project"]["dependencies"], *brought)
    options = ("--no-cache-dir", "--no-deps", "--no-build-isolation", "--force-reinstall")
    run(*pip, *options, distribution, **variables)
    return python


@pytest.fixture(scope="module")
def without_extras(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """`environment_with` keeps here an environment without extras: the tests install over one another."""
    return tmp_path_factory.mktemp("environments") / "plain"


@pytest.fixture(scope="module")
def translated(sdist: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sdist unpacked, with the C that Cython makes of it where `make build` left that here, so that the compiler is
    asked at once. That Cython translates what the sdist holds is seen where the wheel is built from it."""
    folder = tmp_path_factory.mktemp("translated")
    with tarfile.open(sdist) as archive:
        archive.extractall(folder, filter="data")
    (unpacked,) = folder.iterdir()
    for path in (ROOT / "build").glob("**/*.c"):
        name = path.relative_to(ROOT)
        if name.parts[1] in ("_native", "cython_shared.c"):
            (unpacked / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, unpacked / name)  # which makes it newer than what it was made of
    return unpacked


DECODE = "import turnwire.nslip as s; print(s.encode(s.decode('@a3|f0|c3|S0|d1|T1|gH|kg|q2|t\"refactor_auth\"#')))"
WIRE = '@a3|f0|c3|S0|d1|T1|gH|kg|q2|t"refactor_auth"#'


def test_without_a_compiler_the_sdist_installs_pure(translated: Path, without_extras: Path) -> None:
    python = environment_with(translated, without_extras, CC="/bin/false", CXX="/bin/false")
    assert run(python, "-c", "import turnwire; print(turnwire.backend)").strip() == "pure"
    assert run(python, "-c", DECODE).strip() == WIRE
    told = json.loads(run(python, "-m", "turnwire", "info", "--json"))
    assert told["backend"] == "pure"
    assert told["why_pure"].startswith("not compiled: the C compiler failed when installed (turnwire._native.")
    assert list(without_extras.rglob("_native/**/*.so")) == []


def test_where_there_is_no_compiler_cython_is_not_asked_for(sdist: Path, tmp_path: Path) -> None:
    run(sys.executable, "-m", "venv", "--without-pip", tmp_path / "none")
    python = tmp_path / "none" / "bin" / "python"
    options = ("install", "--disable-pip-version-check", "--no-compile", "--no-deps", "--no-cache-dir", "-v")
    told = run(sys.executable, "-m", "pip", "--python", python, *options, sdist, CC="no-such-compiler")
    assert "in pure Python, many times slower; not compiled: no C compiler when installed" in told
    assert "Cython" not in told
    script = "from turnwire import _backend; print(_backend.WHY_PURE)"
    assert run(python, "-c", script).strip() == "not compiled: no C compiler when installed"


def test_with_a_compiler_the_sdist_installs_native(wheel: Path, tmp_path: Path) -> None:
    """The wheel is what pip makes of the sdist: it was built from that, and is not built once more here."""
    python = environment_with(wheel, tmp_path / "native", "sql")
    assert run(python, "-c", "import turnwire; print(turnwire.backend)").strip() == "native"
    assert run(python, "-c", DECODE).strip() == WIRE
    told = json.loads(run(python, "-m", "turnwire", "info", "--json"))
    assert (told["backend"], told["why_pure"]) == ("native", None)
    # Polars and DuckDB read a scan where there is no pyarrow to help them.
    assert run(python, "-c", "import importlib.util as u; print(u.find_spec('pyarrow'))").strip() == "None"
    assert "itself, says the same." in run(python, ROOT / "examples" / "demo.py")


def test_a_required_native_core_that_cannot_be_built_is_an_error(translated: Path, without_extras: Path) -> None:
    with pytest.raises(AssertionError, match="/bin/false"):
        environment_with(translated, without_extras, CC="/bin/false", TURNWIRE_REQUIRE_NATIVE="1")
