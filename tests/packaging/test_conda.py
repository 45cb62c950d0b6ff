"""The recipe of the conda package says of turnwire what pyproject.toml says."""

from __future__ import annotations

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
