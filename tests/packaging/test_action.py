"""The steps of ``action.yml`` in a checkout whose modules are named as those of the action import none of them."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
ACTION = ROOT / "action.yml"
pytestmark = [pytest.mark.once, pytest.mark.skipif(not ACTION.exists(), reason="needs the source tree")]
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
