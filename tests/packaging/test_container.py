"""The text of the Containerfile: what anybody would look for who may not run it here."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

pytestmark = pytest.mark.once

ROOT = Path(__file__).parents[2]
if not (ROOT / "packaging" / "Containerfile").exists():
    pytest.skip("needs the source tree", allow_module_level=True)
TEXT = re.sub(
    r"\s*\\\n\s*", " ", re.sub(r"^#.*\n", "", (ROOT / "packaging" / "Containerfile").read_text("utf-8"), flags=re.M)
)
LINES = [line.split(None, 1) for line in TEXT.splitlines() if line.strip()]
STAGES: list[list[list[str]]] = []
for word, *rest in LINES:
    if word == "FROM":
        STAGES.append([])
    if STAGES:
        STAGES[-1].append([word, *rest])


def said(stage: list[list[str]], word: str) -> list[str]:
    return [rest for name, rest in stage if name == word]


def test_what_is_copied_is_there_and_goes_to_the_builder() -> None:
    build, last = STAGES
    assert said(last, "COPY") == [], "the image has the wheel alone"
    allowed = re.findall(r"^!(.+)$", (ROOT / "packaging" / "Containerfile.dockerignore").read_text("utf-8"), re.M)
    copied = [name for line in said(build, "COPY") for name in line.split()[:-1]]
    assert sorted(copied) == sorted(allowed)
    assert all((ROOT / name).exists() for name in copied)
    backend = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["build-system"]["backend-path"]
    assert set(backend) <= set(copied)


def test_its_extras_are_those_of_the_project_and_its_page_tells_the_arguments() -> None:
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    arguments = dict(line.split("=", 1) for word, line in LINES if word == "ARG")
    assert set(arguments["EXTRAS"].split(",")) <= set(declared)
    page = (ROOT / "docs" / "reference" / "container.md").read_text("utf-8")
    for name, value in arguments.items():
        assert f"`{name}`" in page and f"`{value}`" in page, name
