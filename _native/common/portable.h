/* All that depends on the compiler, the processor's family or the order of bytes, in one place: GCC and Clang (clang-cl,
 * too) have everything; what any other compiler gets is plain C11, without code for vectors. */
#ifndef TURNWIRE_PORTABLE_H
#define TURNWIRE_PORTABLE_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* TW_PLAIN_C: as a compiler sees it that is none of these. */
#if (defined(__GNUC__) || defined(__clang__)) && !defined(TW_PLAIN_C)
#define TW_GNU 1
#elif defined(_MSC_VER)
#include <intrin.h>
#endif

/* TW_SSE2: there are vectors of 16 bytes, by the names of x86-64, which neon.h has for ARM. TW_X86: vectors of x86-64: SSE2,
 * which all of them have, and with a compiler that makes functions for more than the baseline
 * (TW_TARGET), what tw_processor_has says: SSSE3 here, and what is wider by wide.h. */
#if (defined(__SSE2__) || defined(_M_X64)) && !defined(TW_PLAIN_C)
#define TW_SSE2 1
#include <emmintrin.h>
#endif
#if defined(TW_GNU) && (defined(__x86_64__) || defined(_M_X64))
#define TW_X86 1
#include <tmmintrin.h>
#endif

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
#define TW_BIG_ENDIAN 1
#endif

/* Attributes of functions and data besides their types. Only code for vectors has TW_ALIGNED and TW_TARGET. */
#ifdef TW_GNU
#define TW_ALWAYS static inline __attribute__((always_inline))
#define TW_APART __attribute__((noinline))
#define TW_UNUSED __attribute__((unused))
#define TW_ALIGNED(bytes) __attribute__((aligned(bytes)))
#define TW_TARGET(features) __attribute__((target(features)))
#define TW_SOON(place) __builtin_prefetch(place)
#elif defined(_MSC_VER)
#define TW_ALWAYS static __forceinline
#define TW_APART __declspec(noinline)
#define TW_UNUSED
#define TW_SOON(place) ((void)(place))
#else
#define TW_ALWAYS static inline
#define TW_APART
#define TW_UNUSED
#define TW_SOON(place) ((void)(place))
#endif
#if defined(__clang__)
#define TW_UNROLL_16 _Pragma("clang loop unroll(full)")
#elif defined(TW_GNU)
#define TW_UNROLL_16 _Pragma("GCC unroll 16")
#endif

/* ARM's vectors under the names of SSE2; TW_NO_NEON: without them, to compare. */
#if defined(__aarch64__) && defined(TW_GNU) && !defined(TW_BIG_ENDIAN) && !defined(TW_NO_NEON)
#define TW_SSE2 1
#include <arm_neon.h>
#include "neon.h"
#endif

/* Bits of a word: how many low ones are not set, how many high ones, how many are set. Of 0 only the last is defined. */
#ifdef TW_GNU
#define tw_low_zeros_32 __builtin_ctz
#define tw_low_zeros __builtin_ctzll
#define tw_high_zeros __builtin_clzll
#define tw_ones_64 __builtin_popcountll
#define tw_swapped __builtin_bswap64
#else
static inline int tw_ones_64(uint64_t word)
{
    word -= word >> 1 & 0x5555555555555555u;
    word = (word & 0x3333333333333333u) + (word >> 2 & 0x3333333333333333u);
    word = (word + (word >> 4)) & 0x0F0F0F0F0F0F0F0Fu;
    return (int)(word * 0x0101010101010101u >> 56);
}

static inline int tw_low_zeros(uint64_t word) { return tw_ones_64(~word & (word - 1)); }
static inline int tw_low_zeros_32(uint32_t word) { return tw_low_zeros(word); }

static inline int tw_high_zeros(uint64_t word)
{
    for (int step = 1; step < 64; step *= 2) word |= word >> step;
    return 64 - tw_ones_64(word);
}

static inline uint64_t tw_swapped(uint64_t word)
{
    word = (word & 0x00FF00FF00FF00FFu) << 8 | (word >> 8 & 0x00FF00FF00FF00FFu);
    word = (word & 0x0000FFFF0000FFFFu) << 16 | (word >> 16 & 0x0000FFFF0000FFFFu);
    return word << 32 | word >> 32;
}
#endif

/* *count += more, seen whole by every thread; the new value. */
static inline int64_t tw_add_counted(int64_t *count, int64_t more)
{
#if defined(TW_GNU)
    return __atomic_add_fetch(count, more, __ATOMIC_RELAXED);
#elif defined(_MSC_VER)
    return _InterlockedExchangeAdd64(count, more) + more;
#else
    return *(volatile int64_t *)count += more; /* an unknown compiler: the interpreter's lock is what there is */
#endif
}

#ifdef TW_X86
typedef unsigned __int128 tw_bits_128;

static inline void tw_cpuid(uint32_t leaf, uint32_t part, uint32_t found[4]) /* eax, ebx, ecx, edx */
{
    __asm__ volatile("cpuid" : "=a"(found[0]), "=b"(found[1]), "=c"(found[2]), "=d"(found[3]) : "a"(leaf), "c"(part));
}

/* True if the processor has what a string names, and the system keeps its registers. The compilers' own answer comes from
 * a library that is not linked with on Windows; asked by hand there. */
#if !defined(_MSC_VER) && !defined(TW_ASK_BY_HAND)
#define TW_PROCESSOR_HAS(feature) (__builtin_cpu_supports(feature) != 0)
#else
#define TW_PROCESSOR_HAS(feature) tw_processor_has(feature)

static inline int tw_processor_has(const char *feature)
{
    /* By name: the leaf of cpuid (1 or 7), its register (0 ebx, 1 ecx), the bit, what has to be kept (xgetbv). */
    static const struct { char name[13]; uint8_t leaf, in_ecx, bit, kept; } known[] = {
        { "ssse3", 1, 1, 9, 0 },     { "sse4.1", 1, 1, 19, 0 },   { "popcnt", 1, 1, 23, 0 },
        { "pclmul", 1, 1, 1, 0 },    { "avx2", 7, 0, 5, 0x06 },   { "bmi", 7, 0, 3, 0 },
        { "bmi2", 7, 0, 8, 0 },
    };
    static uint32_t asked, registers[8][2], kept; /* twice the same by two threads at once */
    if (!asked) {
        uint32_t found[4], most;
        tw_cpuid(0, 0, found);
        most = found[0];
        for (uint32_t leaf = 1; leaf <= 7 && leaf <= most; leaf += 6) {
            tw_cpuid(leaf, 0, found);
            registers[leaf][0] = found[1];
            registers[leaf][1] = found[2];
        }
        if (registers[1][1] >> 27 & 1) { /* xgetbv is there */
            uint32_t low, high;
            __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
            kept = low;
        }
        asked = 1;
    }
    for (size_t at = 0; at < sizeof known / sizeof *known; at++)
        if (!strcmp(known[at].name, feature))
            return (int)(registers[known[at].leaf][known[at].in_ecx] >> known[at].bit & 1) &&
                   (kept & known[at].kept) == known[at].kept;
    return 0;
}
#endif
#endif

/* Makes room at *memory for `more` items of `unit` bytes behind `count`. */
static TW_UNUSED int tw_more_room(void **memory, size_t *room, size_t count, size_t more, size_t unit)
{
    if (count + more <= *room) return 1;
    size_t wanted = *room ? *room : 32;
    while (wanted < count + more) wanted *= 2;
    void *grown = realloc(*memory, wanted * unit);
    if (!grown) return 0;
    *memory = grown;
    *room = wanted;
    return 1;
}

#endif
