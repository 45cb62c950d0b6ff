"""Reads one file with one reader and prints the peak of this process's anonymous memory; run by processes.py.

python benchmarks/peak_memory.py "streamed" | "one table" READER FILE
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from threading import Event, Thread

from file_readers import STREAMING, WHOLE, count

PAUSE = 0.002


def anonymous() -> int:
    """Bytes of resident memory that no file backs."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("RssAnon:"):
            return int(line.split()[1]) << 10
    raise OSError("this system does not tell RssAnon")


class Watch(Thread):
    """Looks at the memory every two milliseconds."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.before = self.most = anonymous()
        self.done = Event()

    def run(self) -> None:
        while not self.done.wait(PAUSE):
            self.most = max(self.most, anonymous())


def main() -> None:
    how, name, path = sys.argv[1], sys.argv[2], Path(sys.argv[3])
    _, reader = (STREAMING if how == "streamed" else WHOLE)[name]
    watch = Watch()
    watch.start()
    found = reader(path, 1)
    rows = count(found) if how == "streamed" else len(found)
    watch.most = max(watch.most, anonymous())
    watch.done.set()
    watch.join()
    print(json.dumps({"rows": rows, "before": watch.before, "added": watch.most - watch.before}))


if __name__ == "__main__":
    main()
