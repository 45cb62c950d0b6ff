"""Counting tokens, measured beside tiktoken on the same texts, in one process, by turns, with the same threads.

Run it as ``python -m benchmarks.tokens``. tiktoken gets the very vocabulary (o200k_base) that splintr-rs packs, so
nothing is fetched; all counts are compared before anything is timed. ``forgetful`` empties the cache of pieces before
each round: the price of texts unlike any before. Wall clock, since threads are what is asked about; medians of rounds.
"""

from __future__ import annotations

import sys
import sysconfig
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

from benchmarks.measure import by_turns, once, ratio
from turnwire import tokens

ROOT = Path(__file__).parent.parent
NAME = "o200k_base"
ROUNDS = 7


def texts() -> dict[str, list[str]]:
    """The texts counted: real nSLIP messages, lines and whole files of Python's own library, pages of this project."""
    library = sorted(Path(sysconfig.get_paths()["stdlib"]).glob("*.py"))[:80]
    files = [path.read_text("utf-8", "replace") for path in library]
    pages = [path.read_text("utf-8") for path in sorted((ROOT / "docs").glob("*.md"))]
    return {
        "nSLIP messages": (ROOT / "examples/data/nslip_upstream.txt").read_text("utf-8").split("\n"),
        "lines of Python": list(islice((line for text in files for line in text.split("\n") if line), 40_000)),
        "files of Python": files,
        "paragraphs of prose": [part for page in pages for part in page.split("\n\n")],
    }


def reference() -> Any:
    """tiktoken with the packed vocabulary."""
    import splintr
    import tiktoken

    native = splintr.Tokenizer.from_pretrained(NAME)
    ranks = {bytes(native.decode_token_bytes(number)): number for number in range(199998)}
    specials = {"<|endoftext|>": 199999, "<|endofprompt|>": 200018}
    return tiktoken.Encoding(NAME, pat_str=splintr.O200K_BASE_PATTERN, mergeable_ranks=ranks, special_tokens=specials)


def runs(encoding: Any, given: list[str], threads: int) -> dict[str, Callable[[], float]]:
    """The counters compared, each checked to count the same."""
    mine = tokens.load(NAME)
    expected = [len(encoding.encode_ordinary(text)) for text in given]

    def forgetful() -> float:
        mine._native.clear_cache()
        return once(lambda: mine.count_many(given, threads), expected, perf_counter)()

    def batch() -> list[int]:
        return [len(ids) for ids in encoding.encode_ordinary_batch(given, num_threads=threads)]

    timed: dict[str, Callable[[], float]] = {
        "turnwire": once(lambda: mine.count_many(given, threads), expected, perf_counter),
        "turnwire, forgetful": forgetful,
        "tiktoken encode_ordinary_batch": once(batch, expected, perf_counter),
    }
    if threads == 1:
        timed["tiktoken encode_ordinary, a loop"] = once(
            lambda: [len(encoding.encode_ordinary(text)) for text in given], expected, perf_counter
        )
    return timed


def main() -> None:
    """Prints a table: milliseconds, and how many times as long as turnwire's."""
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else ROUNDS
    encoding = reference()
    print("| texts | threads | who | ms | MB/s | × turnwire (least–most) | × forgetful |")
    print("| --- | ---: | --- | ---: | ---: | ---: | ---: |")
    for label, given in texts().items():
        size = sum(len(text.encode()) for text in given)
        for threads in (1, 2):
            samples = by_turns(runs(encoding, given, threads), rounds)
            for name, seconds in samples.items():
                base = ratio(samples, name, "turnwire")
                cold = ratio(samples, name, "turnwire, forgetful").median
                taken = median(seconds)
                times = f"{base.median:.1f} ({base.least:.1f}–{base.most:.1f}) | {cold:.1f}"
                print(f"| {label} | {threads} | {name} | {taken * 1e3:.1f} | {size / taken / 1e6:.0f} | {times} |")


if __name__ == "__main__":
    main()
