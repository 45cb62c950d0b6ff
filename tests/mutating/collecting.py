"""A plugin of pytest for ``make mutate``: names of tests stay what they are, and a name that no test has is no finding.

mutmut collects the tests once, and then again in each process that tries a change, by their names. pytest keeps
what ``ids=`` of ``parametrize`` gave, and escapes it anew each time: a name with a backslash is another one the second
time. The process ended with an error then, which mutmut takes for a change that was found.
"""

from __future__ import annotations

import os
from typing import Any

import pytest

SUSPICIOUS = 35
"""The exit code that mutmut calls so: neither found nor left."""


@pytest.hookimpl(tryfirst=True)
def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Forgets the names of an earlier collection, where they can be made again."""
    for mark in metafunc.definition.iter_markers("parametrize"):
        kept: Any = mark._param_ids_from
        if kept is not None and (callable(mark.kwargs.get("ids")) or isinstance(mark.kwargs.get("ids"), (list, tuple))):
            object.__setattr__(kept, "_param_ids_generated", None)


def pytest_sessionfinish(exitstatus: int) -> None:
    """Ends a process that tries a change and was given names that no test has."""
    if exitstatus == pytest.ExitCode.USAGE_ERROR and "__mutmut_" in os.environ.get("MUTANT_UNDER_TEST", ""):
        os._exit(SUSPICIOUS)
