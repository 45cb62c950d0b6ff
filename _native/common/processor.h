/* What this processor can do beyond the baseline that the compiler targets. Each header asks for itself before it uses
 * something; this is only for saying it. */
#ifndef TURNWIRE_PROCESSOR_H
#define TURNWIRE_PROCESSOR_H

static int tw_feature_count(void);

#if (defined(__x86_64__) || defined(_M_X64)) && (defined(__GNUC__) || defined(__clang__))
static const char *const tw_feature_names[] = { "ssse3", "avx2", "bmi2", "pclmul", "avx512f", "avx512bw" };
static int tw_feature_count(void) { return 6; }

static int tw_has_feature(int which)
{
    __builtin_cpu_init();
    switch (which) {
    case 0: return __builtin_cpu_supports("ssse3") != 0;
    case 1: return __builtin_cpu_supports("avx2") != 0;
    case 2: return __builtin_cpu_supports("bmi2") != 0;
    case 3: return __builtin_cpu_supports("pclmul") != 0;
    case 4: return __builtin_cpu_supports("avx512f") != 0;
    case 5: return __builtin_cpu_supports("avx512bw") != 0;
    default: return 0;
    }
}
#else
static const char *const tw_feature_names[] = { "" };
static int tw_feature_count(void) { return 0; }
static int tw_has_feature(int which) { (void)which; return 0; }
#endif

#endif
