"""The header of the powers of ten that numbers are written with: 617 numbers of 128 bits, made by the build.

``_native/json/shortest.h`` says what they are for. The header is no part of the repository.
"""

import os

HEADER = "_native/json/powers_of_ten.h"
LEAST, MOST = -292, 324
"""The exponents: with these each double times a power of ten has at most 17 digits in front of its point."""


def power(exponent):
    """10 ** exponent, cut to its 128 highest bits and, where something was cut off, one more."""
    if exponent >= 0:
        value = 10**exponent
        cut = value.bit_length() - 128
        return value << -cut if cut <= 0 else (value >> cut) + 1
    divisor = 10**-exponent
    return (1 << divisor.bit_length() + 127) // divisor + 1


def text():
    """The header: the high and the low half of each power, the lowest exponent first."""
    pairs = [(value >> 64, value & (1 << 64) - 1) for value in map(power, range(LEAST, MOST + 1))]
    rows = "".join(f"    {{ 0x{high:016X}u, 0x{low:016X}u }},\n" for high, low in pairs)
    return (
        "/* Made by _build/turnwire_powers.py: the 128 highest bits of 10^k, rounded up. */\n"
        f"enum {{ TW_LEAST_POWER = {LEAST} }};\n"
        "static const struct { uint64_t high, low; } tw_powers_of_ten[] = {\n" + rows + "};\n"
    )


def write(root="."):
    """Write the header into a tree, unless it stands there."""
    place, wanted = os.path.join(root, HEADER), text()
    if os.path.exists(place):
        with open(place, encoding="ascii") as file:
            if file.read() == wanted:
                return
    with open(place, "w", encoding="ascii") as file:
        file.write(wanted)
