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
WORDS = {"ARG", "FROM", "RUN", "COPY", "WORKDIR", "ENV", "USER", "ENTRYPOINT", "CMD", "LABEL"}


def said(stage: list[list[str]], word: str) -> list[str]:
    return [rest for name, rest in stage if name == word]


def test_it_is_made_of_known_words_in_two_stages() -> None:
    assert {line[0] for line in LINES} <= WORDS
    assert len(STAGES) == 2
    assert all(re.fullmatch(r"\S+:\$\{PYTHON\}-slim( AS \w+)?", said(stage, "FROM")[0]) for stage in STAGES)


def test_what_is_copied_is_there_and_goes_to_the_builder() -> None:
    build, last = STAGES
    assert said(last, "COPY") == [], "the image has the wheel alone"
    allowed = re.findall(r"^!(.+)$", (ROOT / "packaging" / "Containerfile.dockerignore").read_text("utf-8"), re.M)
    copied = [name for line in said(build, "COPY") for name in line.split()[:-1]]
    assert sorted(copied) == sorted(allowed)
    assert all((ROOT / name).exists() for name in copied)
    backend = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["build-system"]["backend-path"]
    assert set(backend) <= set(copied)


def test_it_has_the_native_core_or_is_not_built() -> None:
    build, last = STAGES
    assert any("TURNWIRE_REQUIRE_NATIVE=1" in line and "pip wheel" in line for line in said(build, "RUN"))
    assert any("turnwire.backend == 'native'" in line for line in said(last, "RUN"))


def test_it_runs_as_nobody_in_particular() -> None:
    _, last = STAGES
    (user,) = said(last, "USER")
    assert user.isdigit() and int(user) > 1000
    words = [word for word, *_ in last]
    assert words.index("USER") > max(place for place, word in enumerate(words) if word == "RUN")
    assert said(last, "ENTRYPOINT") == ['["turnwire"]']


def test_nothing_is_left_that_installs_and_no_step_hides_a_failure() -> None:
    for stage in STAGES:
        for line in said(stage, "RUN"):
            assert ";" not in re.sub(r'"[^"]*"', "", line) and "|| true" not in line
            if "apt-get install" in line:
                assert "--no-install-recommends" in line and "rm -rf /var/lib/apt/lists" in line
            if "pip " in line:
                assert "--no-cache-dir" in line
    assert "gcc" not in " ".join(said(STAGES[1], "RUN"))


def test_its_extras_are_those_of_the_project_and_its_page_tells_the_arguments() -> None:
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    arguments = dict(line.split("=", 1) for word, line in LINES if word == "ARG")
    assert set(arguments["EXTRAS"].split(",")) <= set(declared)
    page = (ROOT / "docs" / "reference" / "container.md").read_text("utf-8")
    for name, value in arguments.items():
        assert re.search(rf"^\| `{name}` \| .*`{re.escape(value)}` \|$", page, re.M), name
