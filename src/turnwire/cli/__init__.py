"""The command ``turnwire``: one module in :mod:`turnwire.cli.commands` for each subcommand.

Exit codes: see ``turnwire.cli.outcome``, and the table of docs/cli.md.
"""

from __future__ import annotations

import atexit
import os
import signal
import sys
from collections.abc import Sequence

from turnwire._lazy import SCANNING, explained

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs ``turnwire`` with these arguments (``sys.argv`` by default) and gives its exit code; nothing is raised."""
    if "numpy" not in sys.modules:  # whose library for matrices, unused here, starts a thread for each core at once
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    try:
        try:
            from turnwire.cli.outcome import run
        except ModuleNotFoundError as missing:
            if missing.name not in SCANNING:
                raise
            print(explained(missing, "the command turnwire"), file=sys.stderr)
            return 2

        code = run(sys.argv[1:] if arguments is None else list(arguments))
    except KeyboardInterrupt as ended:  # while another end was being told; SIGTERM and SIGHUP have codes of their own
        code = int(getattr(ended, "code", 128 + signal.SIGINT))
    if code == 128 + signal.SIGINT and hasattr(signal, "pthread_sigmask"):
        # Where SIGINT came in the middle of a text that is executed (of an import, say), Python sends it to itself at
        # its very end, whatever became of it. It has been heard.
        atexit.register(signal.pthread_sigmask, signal.SIG_BLOCK, [signal.SIGINT])
    return code
