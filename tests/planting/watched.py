"""Lists the planted faults that no test can find, since none reaches their place with values of which the fault would
make something else: `make plant-watched`.

    python -m tests.planting.watched [ARGUMENTS OF PYTEST]

Builds ``build/watched``, a core without faults in which each place of one notes that (``switches.py``), and runs the
native half of the suite on it once, whatever number of faults there is. A fault that is not listed may still survive:
what it makes of a value may be as good. One that is listed needs a test first, or is to be judged (``judged.txt``).
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator

from tests.planting.core import NOTED, WATCHED_FOLDER, faults, made
from tests.planting.faults import ROOT, Fault
from tests.planting.judged import SAME
from tests.planting.switches import TOLD, UNTOLD, WATCHED

TESTS = ("tests", "-q", "-m", "not packaging and not soak", "-p", "no:cacheprovider")


def unseen(notes: bytes, built: set[int]) -> Iterator[tuple[Fault, bool]]:
    """The faults that were not judged and that nothing could tell, and whether that is for sure."""
    for known in faults().values():
        for number, fault in known:
            if number in built and (fault.header, fault.row) not in SAME and not notes[number] & TOLD:
                yield fault, not notes[number] & UNTOLD


def main() -> int:
    """Builds, runs and lists; the exit code of the tests."""
    built = made(WATCHED_FOLDER, WATCHED)
    place = WATCHED_FOLDER / "notes"
    place.write_bytes(bytes(NOTED))
    path = os.pathsep.join([str(WATCHED_FOLDER / "site"), str(ROOT)])
    environment = {**os.environ, "PYTHONPATH": path, "TURNWIRE_PURE": "0", "TURNWIRE_NOTES": str(place)}
    command = [sys.executable, "-m", "pytest", *(sys.argv[1:] or TESTS)]
    code = subprocess.run(command, cwd=ROOT, env=environment, check=False).returncode
    listed = list(unseen(place.read_bytes(), built))
    for fault, sure in listed:
        print(f"{'unseen' if sure else 'perhaps':8} {fault}")
    print(f"{len(listed)} of {len(built)} faults make no difference in any test")
    return code


if __name__ == "__main__":
    sys.exit(main())
