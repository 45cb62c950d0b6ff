"""The words of benchmarks/README.md; its figures come from the results."""

BEFORE = """# Benchmarks

<!-- Written by `python benchmarks/tables.py --write` from results/*.json and readme_text.py: change those. -->

    python benchmarks/tables.py            # every table below, measured here and now: some minutes
    python benchmarks/tables.py --quick    # under two minutes, for a look; too few rounds to quote
    make bench                 # pytest-benchmark: decode, encode, base62, bulk

How to read them: **ratios travel, absolute times do not.** All that stands in one table was measured in one
process in the same rounds. `1.23 (1.20–1.31)` is the median of the ratios of the rounds, then the least and the
greatest of them.
"""

PICTURE = """<picture>
  <source media="(prefers-color-scheme: dark)" srcset="plots/wires-dark.svg">
  <img src="plots/wires-light.svg"
       alt="Bars of the first table below: one message beside msgspec, files beside DuckDB and Polars, scans">
</picture>
"""
"""Drawn by plots.py of the same figures."""

NOTES = {
    "The five wires side by side": (
        "400 messages of each wire, then a log of them; nSLIP and SSTP are real lines, the others generated, since no\n"
        "public corpus of them exists. msgspec, DuckDB and Polars read the same information as JSON, to and from\n"
        "dicts and all fields with the types told; turnwire judges each message by its wire's rules on the way, the\n"
        "others do not. `check` is that of a message just decoded; made by hand: through its class, of values that\n"
        "were never read. Processor time, medians of rounds; ns behind MB/s are a record. Peak memory: of a stream."
    ),
    "How reading grows": (
        "A file of each size to batches, all columns of its wire, by the clock; two threads need two free cores. A\n"
        "refused message is whole and lacks a field that it must have: it becomes a reject, in its words and place."
    ),
    "Decode one message": (
        "Bytes in, an object out. msgspec decodes into a Struct with all options at their defaults and exactly the\n"
        "ten fields of the message, with a Decoder made once; orjson, msgpack and json give a dict. Where nothing\n"
        "else is said, what was decoded is dropped at once; `decode_many` and `decode_lines` read 1,000 messages a\n"
        "call and give a list."
    ),
    "Encode one message": (
        "Untouched: the message was decoded and nobody asked for `.slots`, which are then still in native form.\n"
        "Touched: its `.slots` were read once, so that the dict is the truth. turnwire, and json, give str; the\n"
        "others give bytes."
    ),
    "base62 columns": (
        "100,000 integers a call for the arrays; one by one: the scalar function in a list comprehension."
    ),
    "Bytes in memory to batches of columns": (
        "One pass over bytes in memory, each batch dropped before the next but one is made. memchr is `bytes.find` of\n"
        "a byte that is not there: it looks at every byte once and does nothing else. Four columns: act, conv_id,\n"
        "src, tag. Offset and length alone still checks every message completely."
    ),
    "The size of a batch": ("All columns, with `batch_bytes` of `turnwire.scan` set."),
    "Other ways to read the same bytes in Python": (
        "Less data than above, so it fits into the cache. `re.findall` only splits messages: it reads no number and\n"
        "tells no slot from another."
    ),
    "File to batches, one thread each": (
        "The same rows as fifteen typed columns, nulls included: nSLIP, CSV with a header, JSON lines. Schemas are\n"
        "told to all readers. Batches are counted and dropped. The files are in the page cache."
    ),
    "File to one table in memory, one thread each": (
        'turnwire: `polars.DataFrame(turnwire.scan(path, wire="nslip", columns=...))`. DuckDB: an Arrow table, or a\n'
        "table of its own. Freeing the table belongs to the time, for all of them."
    ),
    "File to batches, the others with all threads": (
        "As above with no bound on the threads of the others, in a process of its own. turnwire has one on each core."
    ),
    "Start": (
        "Whole processes from start to end, less those of a bare interpreter; and the import statement alone, as a\n"
        "fresh interpreter times it. Bytecode is cached."
    ),
    "Memory": (
        "Resident memory that no file backs, looked at every 2 ms, beyond what was there before the reading. One\n"
        "run for each figure, narrow ids, one thread."
    ),
}
"""What is said above a table, by its title."""

AFTER = """
## A task over HTTP

`python benchmarks/sap_http.py --json FILE`, with the extra `bench-agents`; raw rounds in `results/sap_http.json`.
A handler that does nothing, one request after the other on one connection, server (uvicorn) and client (plain
sockets) in one process; medians of 7 rounds of 300 tasks, on a quiet machine of two cores. Bare Starlette
parses the body and writes it again, and judges nothing. a2a-sdk 1.3.0 answers `SendMessage` over JSON-RPC with its
store in memory. No transcript, no cache.

| server | CPU µs a task | latency µs | throughput of bare starlette |
|---|---|---|---|
| bare starlette | 321 | 309 | 100% |
| turnwire | 487 | 478 | 66% |
| a2a-sdk | 2511 | 2384 | 13% |

## Method

- **Rounds.** Everything in a table runs once a round, by turns (A B C, B C A, …), after a round that only warms
  up. A ratio is taken within its round, where a slow moment of the machine hits both sides; then the median of
  the rounds is reported.
- **Clocks.** One message and bytes in memory: CPU time of the process, so that a busy machine disturbs little.
  Files: the clock on the wall, because some readers have threads of their own; a busy machine disturbs these
  most.
- **One message.** `timeit` loops; the loop itself (about 5 ns) is part of every figure. The garbage collector is
  on. Decoders and encoders are made once. All decoders are checked to give the same values before any is timed.
- **Objects of all wires.** `python benchmarks/objects.py` takes 400 messages of each wire through decode, check and
  encode, against msgspec to and from dicts on the same information, in one process; `encode untouched` is of messages
  that were read and not looked at, `encode made` of such as a program makes.
- **Instructions.** `python benchmarks/instructions.py` counts them with valgrind (callgrind): the slope of a scan
  of 2N bytes less one of N, for each wire by name and among all wires, for mixed, prefixed and wrapped lines and
  for text. The figures repeat, however busy the machine is; `--against SRC` adds those of another built tree.
  `make gate` holds them, and those of decode, encode and check of each wire, against a kept baseline
  (`results/gate.json`): 3 % above it fails, where compiler, Cython, Python and libraries are those of the baseline.
- **Files.** Before anything is timed, every reader must give exactly the 1,000 rows that were written, compared
  value by value as Python objects; every timed run must give the right number of rows.
- **memchr** moves with the machine more than anything else here (caches, neighbours): judge by ns/record beside
  it. It is the mean of five passes a round.
- **The comparator** of single messages is msgspec's JSON, the fastest typed decoder in Python; the goals take the
  worst of three messages (short, wide ids, two strings), and the worst of upstream lines, narrow and wide ids in
  bulk.
- Goals of wires that are not measured here, and of two threads, have no row in the table above.

## What is real, what is generated

- **Real**: `upstream`, the 4,356 lines of [examples/data/nslip_upstream.txt](../examples/data/nslip_upstream.txt)
  from the training set of the original SLIP project ([attribution](../examples/data/ATTRIBUTION.md)), 2,000 of
  them distinct, repeated to the size that is measured. The `short` message is the first of them, `two strings`
  one without its result.
- **Generated**, by [traffic.py](traffic.py) from a fixed seed, never by turnwire itself: up to 100,000 distinct
  messages, repeated. `narrow ids` copies the conversations upstream with ids of one to three base62 digits; `wide
  ids` has ids and agents of four to ten; `varied` has any slots in any order and strings with escapes and other
  scripts; `in a log` puts a time, a level and a name before each message, two messages on some lines, none on
  others; `1 % damaged` damages every hundredth message in five ways. Repetition is kind to branch prediction:
  2,000 lines can be learned in part, 100,000 cannot.
- The raw samples of every round are in [results](results), one file a section, with the facts of the machine.
"""
