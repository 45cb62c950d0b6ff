/* Includes the compiler's headers for vectors of x86-64 beyond SSSE3. They take as long to compile as a small module, so
 * only headers that need them include this one. */
#ifndef TURNWIRE_WIDE_H
#define TURNWIRE_WIDE_H

#include "portable.h"

#ifdef TW_X86
#include <immintrin.h>
#if defined(_MSC_VER) /* where Clang's header leaves out what the whole file is not compiled for */
#include <popcntintrin.h>
#include <smmintrin.h>
#include <wmmintrin.h>
#include <avxintrin.h>
#include <avx2intrin.h>
#include <bmiintrin.h>
#include <bmi2intrin.h>
#include <lzcntintrin.h>
#define _blsr_u64(word) ((word) & ((word) - 1))
#endif
#endif

#endif
