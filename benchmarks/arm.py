"""Instructions of the code for ARM's vectors, and of the plain C that stands in for it, on an emulated processor.

    python benchmarks/arm.py

Compiles one small program twice for aarch64 (TW_NO_NEON leaves the vectors out) and lets qemu tell each instruction
that it runs: the slope of 64 repetitions less 32 of each piece of work. Needs what `.ci/aarch64` installs.
"""

from __future__ import annotations

import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).parent.parent
SYSTEM = ROOT / "build" / "aarch64" / "system"
TEXT = "a sentence of a message, as agents write them to one another in logs; "
PROGRAM = """
#include <stdio.h>
#include <stdlib.h>
#include "_native/json/strings.h"
#include "_native/json/forms.h"
#include "_native/json/secrets.h"
#include "_native/log/arrow_layout.h"

static const uint8_t text[] = "%s%s%s\\"................";
static const uint8_t uuid[] = "3f2b8c1e-9d4a-4b6e-8f10-1a2b3c4d5e6f";

int main(int count, char **words)
{
    enum { ROWS = 64 };
    static uint64_t masks[ROWS];
    static int64_t offsets[ROWS], lengths[ROWS];
    static uint8_t views[16 * ROWS], bitmap[8];
    uint64_t found = 0;
    int work = atoi(words[1]), times = atoi(words[2]);
    for (int i = 0; i < ROWS; i++) {
        masks[i] = i %% 3 ? 4 : 0;
        offsets[i] = i, lengths[i] = i %% 3 ? i %% 20 : 0;
    }
    tw_texts texts = { text, NULL, sizeof text, 0, offsets, lengths, masks, 8, 2, -1, NULL, 0, 0, NULL };
    for (int i = 0; i < times; i++) {
        __asm__ volatile("" ::: "memory");
        if (work == 0) found += (uint64_t)(tw_plain(text, text + sizeof text) - text);
        if (work == 1) found += (uint64_t)tw_is_uuid(uuid, 36);
        if (work == 2) found += (uint64_t)tw_telling_text(text, sizeof text - 20);
        if (work == 3) found += tw_bitmap(masks, 8, ROWS, 2, bitmap);
        if (work == 4) found += (uint64_t)tw_text_column(&texts, ROWS, views, bitmap).texts;
    }
    for (int i = 0; i < 16 * ROWS; i++) found = found * 31 + views[i];
    for (int i = 0; i < 8; i++) found = found * 31 + bitmap[i];
    printf("%%llx\\n", (unsigned long long)found);
    return count == 0;
}
"""
WORK = (
    "the end of a JSON string of 210 bytes",
    "a UUID",
    "whether 210 bytes may be a secret",
    "a validity bitmap of 64 rows",
    "64 string views, a third of them null",
)


def compiled(folder: Path, *options: str) -> Path:
    program = folder / f"arm{len(options)}"
    places = f"-I{ROOT}", f"{folder}/arm.c", "-idirafter", str(SYSTEM / "usr" / "include")
    command = ["aarch64-linux-gnu-gcc", "-O2", "-w", "-static", *options, *places, "-o", str(program)]
    subprocess.run(command, check=True)
    return program


def instructions(program: Path, work: int, times: int) -> tuple[int, str]:
    """How many it runs, and what it prints."""
    log = program.with_suffix(".log")
    command = ["qemu-aarch64", "-singlestep", "-d", "exec,nochain", "-D", str(log), str(program), str(work), str(times)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    with log.open("rb") as lines:
        return sum(line.startswith(b"Trace") for line in lines), done.stdout


def main() -> None:
    """Prints a table: each piece of work, in instructions, plain and with vectors."""
    print("| work | plain C | NEON | plain ÷ NEON |\n|---|---:|---:|---:|")
    with TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "arm.c").write_text(PROGRAM % (TEXT, TEXT, TEXT), "utf-8")
        programs = compiled(folder, "-DTW_NO_NEON"), compiled(folder)
        for work, what in enumerate(WORK):
            counts = []
            said = set()
            for program in programs:
                few, many = (instructions(program, work, times) for times in (32, 64))
                counts.append((many[0] - few[0]) / 32)
                said.add(many[1])
            if len(said) > 1:
                raise AssertionError(f"with vectors {what} is something else")
            print(f"| {what} | {counts[0]:.0f} | {counts[1]:.0f} | {counts[0] / counts[1]:.1f} |")


if __name__ == "__main__":
    main()
