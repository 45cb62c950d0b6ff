"""The recipe of the conda package and the Containerfile say of turnwire what pyproject.toml says."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parent.parent.parent
RECIPE = ROOT / "packaging" / "conda" / "recipe.yaml"
OTHER_NAMES = {"duckdb": "python-duckdb", "Cython": "cython"}
"""Names of distributions on conda-forge."""
pytestmark = [pytest.mark.once, pytest.mark.skipif(not RECIPE.exists(), reason="needs the source tree")]


@pytest.fixture
def recipe() -> Any:
    return pytest.importorskip("yaml").safe_load(RECIPE.read_text("utf-8"))


@pytest.fixture
def project() -> Any:
    return tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]


def required(requirement: str) -> str:
    """A requirement as conda writes it: "numpy >=1.26"."""
    name, bound, version = requirement.partition(">=")
    return f"{OTHER_NAMES.get(name, name)} {bound}{version}"


def test_what_it_is(recipe: Any, project: Any) -> None:
    assert recipe["context"] == {"name": project["name"], "version": project["version"]}
    about = recipe["about"]
    assert (about["summary"], about["license"]) == (project["description"], project["license"])
    assert [about["license_file"]] == project["license-files"]
    programs = [f"{name} = {target}" for name, target in project["scripts"].items()]
    assert recipe["build"]["python"]["entry_points"] == programs


def test_what_it_needs(recipe: Any, project: Any) -> None:
    run = recipe["requirements"]["run"]
    needed = [*project["dependencies"], *project["optional-dependencies"]["scan"]]  # conda has no extras
    assert sorted(run) == sorted(["python", *map(required, needed)])
    oldest = project["requires-python"].removeprefix(">=")
    assert recipe["build"]["skip"] == f'match(python, "<{oldest}")'
    extras = [required(line) for lines in project["optional-dependencies"].values() for line in lines]
    assert set(recipe["requirements"]["run_constraints"]) <= set(extras)


@pytest.fixture
def lines() -> list[list[str]]:
    """The instructions of the Containerfile: what anybody would look for who may not run it here."""
    text = re.sub(r"^#.*\n", "", (ROOT / "packaging" / "Containerfile").read_text("utf-8"), flags=re.M)
    return [line.split(None, 1) for line in re.sub(r"\s*\\\n\s*", " ", text).splitlines() if line.strip()]


def said(stage: list[list[str]], word: str) -> list[str]:
    return [rest for name, rest in stage if name == word]


def test_what_is_copied_is_there_and_goes_to_the_builder(lines: list[list[str]]) -> None:
    begin, last_begin = (place for place, line in enumerate(lines) if line[0] == "FROM")
    build, last = lines[begin:last_begin], lines[last_begin:]
    assert said(last, "COPY") == [], "the image has the wheel alone"
    allowed = re.findall(r"^!(.+)$", (ROOT / "packaging" / "Containerfile.dockerignore").read_text("utf-8"), re.M)
    copied = [name for line in said(build, "COPY") for name in line.split()[:-1]]
    assert sorted(copied) == sorted(allowed)
    assert all((ROOT / name).exists() for name in copied)
    backend = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["build-system"]["backend-path"]
    assert set(backend) <= set(copied)


def test_its_extras_are_those_of_the_project_and_its_page_tells_of_it(lines: list[list[str]], project: Any) -> None:
    declared = project["optional-dependencies"]
    arguments = dict(line.split("=", 1) for word, line in lines if word == "ARG")
    assert set(arguments["EXTRAS"].split(",")) <= set(declared)
    page = (ROOT / "docs" / "reference" / "container.md").read_text("utf-8")
    for name, value in arguments.items():
        assert f"`{name}`" in page and f"`{value}`" in page, name


# --- packaging/release.py: a number, a day and a tag for what is under "Unreleased", or nothing at all ----------------


SCRIPT = Path(__file__).parent.parent.parent / "packaging" / "release.py"
CHANGES = "# Changelog\n\n## [Unreleased]\n\n### Fixed\n- A fault.\n\n## [0.1.0] - 2026-01-01\n\nThe first.\n"


def git(tree: Path, *arguments: str) -> str:
    settings = ("-c", "user.name=A", "-c", "user.email=a@example.com")
    return subprocess.run(["git", *settings, *arguments], cwd=tree, check=True, capture_output=True, text=True).stdout


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with version 0.1.0 and something to release."""
    for name in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{name}_NAME", "A")
        monkeypatch.setenv(f"GIT_{name}_EMAIL", "a@example.com")
    (tmp_path / "src" / "turnwire").mkdir(parents=True)
    (tmp_path / "pyproject.toml").write_text('[project]\nversion = "0.1.0"\n')
    (tmp_path / "src" / "turnwire" / "__init__.py").write_text('__version__ = "0.1.0"\n')
    (tmp_path / "packaging" / "conda").mkdir(parents=True)
    (tmp_path / "packaging" / "conda" / "recipe.yaml").write_text('context:\n  version: "0.1.0"\n')
    (tmp_path / "CHANGELOG.md").write_text(CHANGES)
    git(tmp_path, "init", "--quiet")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "--quiet", "--message", "A fault is mended")
    return tmp_path


def release(tree: Path, version: str) -> str:
    """The script's words when it refuses; nothing when it does what it is asked to."""
    done = subprocess.run([sys.executable, SCRIPT, version], cwd=tree, capture_output=True, text=True, timeout=600)
    assert (done.returncode == 0) == (done.stderr == "")
    return done.stderr.strip()


def test_a_release(tree: Path) -> None:
    assert release(tree, "0.2.0") == ""
    assert git(tree, "status", "--porcelain") == ""
    assert '"0.2.0"' in (tree / "pyproject.toml").read_text()
    assert '"0.2.0"' in (tree / "src" / "turnwire" / "__init__.py").read_text()
    assert '  version: "0.2.0"' in (tree / "packaging" / "conda" / "recipe.yaml").read_text()
    changes = (tree / "CHANGELOG.md").read_text()
    assert re.search(r"## \[Unreleased\]\n\n## \[0\.2\.0\] - \d{4}-\d\d-\d\d\n\n### Fixed\n- A fault\.\n", changes)
    assert git(tree, "rev-list", "-n", "1", "v0.2.0") == git(tree, "rev-parse", "HEAD")
    assert "### Fixed\n- A fault." in git(tree, "tag", "--list", "--format=%(contents)", "v0.2.0")
    assert release(tree, "0.3.0") == 'there is nothing under "Unreleased" in CHANGELOG.md'


@pytest.mark.parametrize(
    ("version", "why"),
    [
        ("0.0.9", "0.0.9 is not above 0.1.0"),
        ("0.1.0", "0.1.0 is not above 0.1.0"),
        ("2", "a version has three numbers, as 0.2.0 has, not '2'"),
    ],
)
def test_a_number_that_will_not_do(tree: Path, version: str, why: str) -> None:
    assert release(tree, version) == why
    assert (tree / "CHANGELOG.md").read_text() == CHANGES


def test_what_is_not_committed_is_not_released(tree: Path) -> None:
    (tree / "pyproject.toml").write_text('[project]\nversion = "0.1.0"\n# more\n')
    assert release(tree, "0.2.0") == "the tree has changes that are not committed"
    assert git(tree, "tag") == ""


def test_a_tag_is_set_once(tree: Path) -> None:
    git(tree, "tag", "v0.2.0")
    assert release(tree, "0.2.0") == "v0.2.0 is there already"


# --- the steps of action.yml in a checkout whose modules are named as those of the action import none of them ---------


ACTION = ROOT / "action.yml"
HOSTILE = "open({ran!r}, 'w').close()\nraise SystemExit(0)\n"
BACKEND = """\
def get_requires_for_build_wheel(settings=None): return []
def build_wheel(folder, settings=None, metadata=None):
    import zipfile, os
    name = "turnwire-0.1.0-py3-none-any.whl"
    with zipfile.ZipFile(os.path.join(folder, name), "w") as wheel:
        wheel.writestr("turnwire-0.1.0.dist-info/METADATA",
            "Metadata-Version: 2.1\\nName: turnwire\\nVersion: 0.1.0\\n"
            "Provides-Extra: tokens\\nProvides-Extra: schema\\n")
        wheel.writestr("turnwire-0.1.0.dist-info/WHEEL",
            "Wheel-Version: 1.0\\nGenerator: test\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
        wheel.writestr("turnwire-0.1.0.dist-info/RECORD", "")
    return name
"""


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A pull request whose modules would each turn the check green."""
    tree = tmp_path / "checkout"
    for name in ("turnwire", "pip", "numpy", "msgspec", "click", "json", "sitecustomize"):
        (tree / name).mkdir(parents=True)
        for file in ("__init__.py", "__main__.py"):
            (tree / name / file).write_text(HOSTILE.format(ran=str(tmp_path / "ran")))
    (tree / "bad.log").write_text("@a3|f0|c1|S0|d1|T$#\n")
    return tree


def shell(command: str, checkout: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Runs a step as the runner does, with the Python of the tests first on the path."""
    output = checkout.parent / "output"
    output.touch()
    settings = {
        **os.environ,
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]),
        "GITHUB_OUTPUT": str(output),
        "GITHUB_ACTION_PATH": str(ROOT),
        "PYTHONPATH": str(checkout),
        **environment,
    }
    done = subprocess.run(
        ["bash", "-c", command], cwd=checkout, env=settings, capture_output=True, text=True, timeout=600
    )
    assert not (checkout.parent / "ran").exists(), done.stdout + done.stderr
    return done


def runs() -> list[str]:
    """The commands of the steps, in order."""
    return re.findall(r"^      run: (.+)$", ACTION.read_text("utf-8"), re.MULTILINE)


def test_the_step_that_installs(checkout: Path, tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.mkdir()
    (source / "pyproject.toml").write_text(
        '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n'
        '[project]\nname = "turnwire"\nversion = "0.1.0"\n'
    )
    (source / "backend.py").write_text(BACKEND)
    target = tmp_path / "target"
    done = shell(runs()[0], checkout, SOURCE=str(source), PIP_TARGET=str(target), PIP_NO_INDEX="1")
    assert done.returncode == 0, done.stderr
    assert (target / "turnwire-0.1.0.dist-info").is_dir()


def test_the_step_that_checks(checkout: Path) -> None:
    inputs = {"COMMAND": "validate", "FILES": "bad.log", "WIRE": "", "MOST": "", "ARGUMENTS": ""}
    done = shell(runs()[1], checkout, **inputs)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "exit-code=1" in (checkout.parent / "output").read_text()
