"""The twin fixture: every test that asks for ``backend`` or ``core`` runs on native and on pure.

TURNWIRE_PURE=0 is the native half of that and TURNWIRE_PURE=1 the pure one; `make test` runs both, side by side.
Without the variable one run has both. Tests marked ``once``, in their file or by ``tests/halves.py``, are left out of
the pure half where the native half runs.

Property tests take their effort from a hypothesis profile: "dev" by default, "ci" where CI is set, or the one named by
HYPOTHESIS_PROFILE ("soak": SOAK_EXAMPLES each; "few": for further interpreters and builds; "verdict": nobody reads the
example, which is not made smaller). A test that sets
``max_examples`` itself opts out of that. Under CI every run tries the same examples, so that a verdict is about the
change; looking for new ones is the work of "soak".
"""

from __future__ import annotations

import gc
import os
import signal
from collections.abc import Callable, Generator, Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest
from hypothesis import HealthCheck, Phase, settings

from tests.halves import is_in_part, is_once, without_halves

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
"""No test needs the threads that numpy starts with each interpreter: they wait in a loop, 60 ms of CPU time for one."""

SAME_EXAMPLES = bool(os.environ.get("CI"))
settings.register_profile("dev", max_examples=25, deadline=None, derandomize=SAME_EXAMPLES)
settings.register_profile("few", max_examples=8, deadline=None, derandomize=True)
settings.register_profile("ci", max_examples=25, deadline=None, derandomize=True)
settings.register_profile(
    "verdict", max_examples=25, deadline=None, derandomize=True, phases=(Phase.explicit, Phase.generate)
)
settings.register_profile(
    "soak",
    max_examples=int(os.environ.get("SOAK_EXAMPLES", "20000")),
    deadline=None,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE") or ("ci" if os.environ.get("CI") else "dev"))
SHARED = settings(max_examples=max(settings().max_examples // 3, 1))
"""For a test with many parameters, of which each shares in the examples."""

PURE_ONLY = os.environ.get("TURNWIRE_PURE", "") not in ("", "0")
NATIVE_HALF = os.environ.get("TURNWIRE_PURE") == "0"
BACKENDS = ["pure"] if PURE_ONLY else ["native", "pure"]
needs_both = pytest.mark.skipif(PURE_ONLY, reason="compares the cores")
"""For a test that gets both cores by itself: alone, the pure one would be compared with itself."""


@pytest.fixture(params=BACKENDS)
def backend(request: pytest.FixtureRequest) -> str:
    """ "native" and "pure" in turn. A missing native build is an error, never a skip."""
    name: str = request.param
    return name


@pytest.fixture
def core(backend: str) -> Callable[[str], ModuleType]:
    """``core("nslip.codec")`` is the core module of that name in the backend under test."""
    import turnwire.nslip  # noqa: F401  (the core modules expect the package to be there)

    return lambda name: import_module(f"turnwire._{backend}.{name}")


@pytest.fixture
def registering(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """What a test registers is forgotten afterwards, also by the finders of scans: no name is registered twice."""
    import turnwire
    from turnwire import registry
    from turnwire.log.engine import all_wires

    monkeypatch.setattr(registry, "_known", turnwire.wires())
    all_wires._finder.cache_clear()
    yield
    all_wires._finder.cache_clear()


@pytest.fixture
def toys(monkeypatch: pytest.MonkeyPatch) -> tuple[str, ...]:
    """The wires of ``tests/toy_wires`` are registered, and forgotten afterwards; their names."""
    import turnwire
    from tests.toy_wires import NAMES
    from turnwire import registry

    monkeypatch.setattr(registry, "_known", turnwire.wires())
    for name in NAMES:
        turnwire.register(import_module(f"tests.toy_wires.{name}.wire").DESCRIPTOR)
    return NAMES


def pytest_configure() -> None:
    """Commands are ended by signals here: one that whoever started the tests ignores (nohup, a shell's ``&``) would be
    ignored by them, too."""
    for name, handler in (
        ("SIGINT", signal.default_int_handler),
        ("SIGTERM", signal.SIG_DFL),
        ("SIGHUP", signal.SIG_DFL),
    ):
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) == signal.SIG_IGN:
            signal.signal(number, handler)


def pytest_addoption(parser: pytest.Parser) -> None:
    help = "run one of three parts of all files, see tests/halves.py"
    parser.addoption("--part", type=int, choices=(0, 1, 2), help=help)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Files of another part, and those that the expression of ``-m`` leaves out whole, are not imported: the pure half
    needs no server or cluster."""
    if collection_path.suffix != ".py" or not collection_path.name.startswith("test_"):
        return None
    if config.option.part is not None and not is_in_part(collection_path, config.option.part):
        return True
    pure_half = config.option.markexpr.rpartition(" and ")[2] == "not once"
    return True if pure_half and without_halves(collection_path) else None


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Marks what is run once, which no test is that gets each core in turn. The native half (``TURNWIRE_PURE=0``)
    leaves out what runs on the pure core alone: the pure half runs that, unless it is marked ``once``."""
    for item in items:
        if is_once(item.path) and not _cores(item):
            item.add_marker(pytest.mark.once)
    _see_that_no_half_lacks(items)
    if not NATIVE_HALF:
        return
    left_out = [item for item in items if "pure" in _cores(item) and item.get_closest_marker("once") is None]
    config.hook.pytest_deselected(items=left_out)
    gone = set(left_out)
    items[:] = [item for item in items if item not in gone]


def _see_that_no_half_lacks(items: list[pytest.Item]) -> None:
    """What `pytest_ignore_collect` reads from the text of a file is so for all its tests."""
    wrong = [item.nodeid for item in items if item.get_closest_marker("once") is None and without_halves(item.path)]
    if wrong:
        raise pytest.UsageError(f"the pure half of `make test` would not run these (tests/halves.py): {wrong}")


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """What is imported and collected stays to the end: the garbage collector need not look through it at each turn,
    nor be called as often as where memory is scarce (each time it calls hypothesis, too)."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.freeze()
        gc.set_threshold(20_000)


def pytest_unconfigure() -> None:
    gc.unfreeze()


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """A process of `make test` may be without a test where only a folder is tested."""
    option = session.config.option
    if exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED and ("once" in option.markexpr or option.part is not None):
        session.exitstatus = pytest.ExitCode.OK


def _cores(item: pytest.Item) -> set[str]:
    """The cores that parameters of the test choose, by their names or by those of modules of theirs."""
    chosen = getattr(getattr(item, "callspec", None), "params", {}).values()
    names = [getattr(value, "__name__", value) for value in chosen]
    return {
        core
        for core in ("native", "pure")
        if any(isinstance(name, str) and (name == core or name.startswith(f"turnwire._{core}.")) for name in names)
    }
