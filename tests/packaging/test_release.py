"""``packaging/release.py``: a number, a day and a tag for what is under "Unreleased", or nothing at all."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parent.parent.parent / "packaging" / "release.py"
pytestmark = [pytest.mark.once, pytest.mark.skipif(not SCRIPT.exists(), reason="needs the source tree")]
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
