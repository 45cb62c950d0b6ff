"""A pytest plugin: the CPU time of each test with that of the processes it waited for, whatever else the machine does.

``pytest -p tests.cpu_time --cpu 60`` lists the sixty dearest tests, ``--cpu-file PATH`` writes all of them, dearest
first, as lines of seconds and name. Times are of setup, call and teardown together.
"""

from __future__ import annotations

import resource
from collections.abc import Generator
from pathlib import Path

import pytest

SPENT: dict[str, float] = {}


def _seconds() -> float:
    """User and system time of this process and of the children it waited for, in seconds."""
    return sum(
        usage.ru_utime + usage.ru_stime
        for usage in map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    )


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--cpu", type=int, default=0, help="list this many tests by the CPU time they took")
    parser.addoption("--cpu-file", type=Path, help="write the CPU time of all tests to this file")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, bool, bool]:
    before = _seconds()
    done = yield
    SPENT[item.nodeid] = SPENT.get(item.nodeid, 0.0) + _seconds() - before
    return done


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    dearest = sorted(SPENT.items(), key=lambda one: -one[1])
    lines = [f"{seconds:8.2f}s {name}" for name, seconds in dearest]
    if config.option.cpu_file:
        config.option.cpu_file.write_text("".join(f"{line}\n" for line in lines))
    if config.option.cpu:
        terminalreporter.section(f"CPU time: {_seconds():.0f} s, of them {sum(SPENT.values()):.0f} s in tests")
        for line in lines[: config.option.cpu]:
            terminalreporter.write_line(line)
