"""The recipe of the conda package and the Containerfile say of turnwire what pyproject.toml says."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

yaml = pytest.importorskip("yaml")
ROOT = Path(__file__).parent.parent.parent
RECIPE = ROOT / "packaging" / "conda" / "recipe.yaml"
OTHER_NAMES = {"duckdb": "python-duckdb", "Cython": "cython"}
"""Names of distributions on conda-forge."""
pytestmark = [pytest.mark.once, pytest.mark.skipif(not RECIPE.exists(), reason="needs the source tree")]


@pytest.fixture
def recipe() -> Any:
    return yaml.safe_load(RECIPE.read_text("utf-8"))


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
