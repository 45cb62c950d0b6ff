/* Lists the features of this processor beyond the baseline that the compiler targets. For display only: each header asks
 * for itself before it uses a feature. */
#ifndef TURNWIRE_PROCESSOR_H
#define TURNWIRE_PROCESSOR_H

#include "portable.h"

static int tw_feature_count(void);

#ifdef TW_X86
static const char *const tw_feature_names[] = { "ssse3", "avx2", "bmi2", "pclmul", "avx512f", "avx512bw" };
static int tw_feature_count(void) { return 6; }

static int tw_has_feature(int which)
{
    switch (which) {
    case 0: return TW_PROCESSOR_HAS("ssse3");
    case 1: return TW_PROCESSOR_HAS("avx2");
    case 2: return TW_PROCESSOR_HAS("bmi2");
    case 3: return TW_PROCESSOR_HAS("pclmul");
    case 4: return TW_PROCESSOR_HAS("avx512f");
    case 5: return TW_PROCESSOR_HAS("avx512bw");
    default: return 0;
    }
}
#else
static const char *const tw_feature_names[] = { "" };
static int tw_feature_count(void) { return 0; }
static int tw_has_feature(int which) { (void)which; return 0; }
#endif

#endif
