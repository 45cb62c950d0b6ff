"""The twin fixture: every test that asks for ``backend`` or ``core`` runs on native and on pure.

TURNWIRE_PURE=0 is the native half of that and TURNWIRE_PURE=1 the pure one; `make test` runs both, side by side.
Without the variable one run has both. The pure half leaves out what is marked ``once``: what compares the cores, and
what stands above them in plain Python (files, pipes, servers, pages, commands), for which the twins are the same.

Property tests take their effort from a hypothesis profile: "dev", with half as many examples in the pure half, or the
one named by HYPOTHESIS_PROFILE ("soak": SOAK_EXAMPLES each; "few": for further interpreters and builds; "verdict":
nobody reads the example, which is not made smaller). A test that sets ``max_examples`` itself opts out of that. Under
CI every run tries the same examples, so that a verdict is about the change; looking for new ones is the work of "soak".
"""

from __future__ import annotations

import asyncio
import errno
import gc
import os
import re
import signal
from collections.abc import Callable, Generator, Iterator
from importlib import import_module
from inspect import iscoroutinefunction, signature
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

import pytest
from hypothesis import HealthCheck, Phase, settings

from turnwire._backend import core_module

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
"""No test needs the threads that numpy starts with each interpreter: they wait in a loop, 60 ms of CPU time for one."""

PURE_ONLY = os.environ.get("TURNWIRE_PURE", "") not in ("", "0")
PURE_HALF = "TURNWIRE_PURE_HALF" in os.environ  # beside which a native half runs
NATIVE_HALF = os.environ.get("TURNWIRE_PURE") == "0"
settings.register_profile(
    "dev", max_examples=12 if PURE_ONLY else 25, deadline=None, derandomize=bool(os.environ.get("CI"))
)
settings.register_profile("few", max_examples=8, deadline=None, derandomize=True)
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
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE") or "dev")
SHARED = settings(max_examples=max(settings().max_examples // 3, 1))
"""For a test with many parameters, of which each shares in the examples."""

THINNED = 5 if os.environ.get("HYPOTHESIS_PROFILE") == "few" else 1
"""Seeded loops and tables of inputs are shorter by this factor under the profile "few"."""
SOAK = os.environ.get("HYPOTHESIS_PROFILE") == "soak"


def rounds(default: int) -> int:
    """How often a seeded loop goes round: ten times as often under the profile "soak", a fifth under "few"; half
    as often in the pure half, which goes round with the first seeds of the native one and takes five times as long."""
    return default * 10 if SOAK else max(1, default // (2 * THINNED if PURE_HALF else THINNED))


ONCE = re.compile(r"^pytestmark = (?:\[[^]]*)?pytest\.mark\.once", re.MULTILINE)
BACKENDS = ["pure"] if PURE_ONLY else ["native", "pure"]


Raised = TypeVar("Raised", bound=BaseException)


def raised(kind: type[Raised], call: Callable[..., object], *arguments: Any, **named: Any) -> Raised:
    """The error of this kind that a call raises."""
    with pytest.raises(kind) as caught:
        call(*arguments, **named)
    return caught.value


def refusal(kind: type[Raised], call: Callable[..., object], *arguments: Any, **named: Any) -> Raised | None:
    """The error of this kind that a call raises; None where it raises none."""
    try:
        call(*arguments, **named)
    except kind as error:
        return error
    return None


def put(path: Path, data: bytes | str) -> Path:
    """A file that holds this."""
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    return path


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

    return lambda name: core_module(backend, name)


@pytest.fixture
def unflushed(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Makes flushes fail from then on, of all files or of one folder."""
    fsync = os.fsync

    def begin(number: int = errno.EIO, *, folder: Path | None = None) -> None:
        def failing(descriptor: int) -> None:
            if folder is None or os.path.samestat(os.fstat(descriptor), folder.stat()):
                raise OSError(number, os.strerror(number))
            fsync(descriptor)

        monkeypatch.setattr(os, "fsync", failing)

    return begin


@pytest.fixture
def registering(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Forgets what a test registers, also in the finders of scans: no name is registered twice."""
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
        turnwire.register(import_module(f"tests.toy_wires.{name}").DESCRIPTOR)
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


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """A coroutine is a test, too: it has a loop of its own and five minutes."""
    if not iscoroutinefunction(pyfuncitem.obj):
        return None

    async def bounded() -> None:
        async with asyncio.timeout(300):
            await pyfuncitem.obj(**{name: pyfuncitem.funcargs[name] for name in signature(pyfuncitem.obj).parameters})

    asyncio.run(bounded())
    return True


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """The native half leaves out what runs on the pure core alone: the pure half runs it, unless it is marked
    ``once``."""
    if not NATIVE_HALF:
        return
    left_out = {item for item in items if _on_pure(item) and item.get_closest_marker("once") is None}
    config.hook.pytest_deselected(items=list(left_out))
    items[:] = [item for item in items if item not in left_out]


def _on_pure(item: pytest.Item) -> bool:
    params = getattr(getattr(item, "callspec", None), "params", {})
    return "pure" in (params.get("backend"), params.get("core"))


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """The pure half does not import what is ``once`` as a whole: a third of the suite, and the largest libraries."""
    if "not once" not in config.option.markexpr or collection_path.suffix != ".py":
        return None
    return bool(ONCE.search(collection_path.read_text("utf-8"))) or None


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Imported and collected objects stay to the end: the garbage collector need not look through them at each turn,
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
