"""The features of the processor that the compiled modules can use."""

cdef extern from *:
    """
    #include "_native/common/portable.h"
    static const char *tw_feature(int which)  /* "" where the processor lacks it */
    {
    #ifdef TW_X86
    #define TW_NAMED(number, feature) if (which == number) return TW_PROCESSOR_HAS(feature) ? feature : ""
        TW_NAMED(0, "ssse3");
        TW_NAMED(1, "avx2");
        TW_NAMED(2, "bmi2");
        TW_NAMED(3, "pclmul");
    #endif
        return "";
    }
    """
    const char *tw_feature(int which)


def cpu_features() -> tuple:
    """The features beyond the compiler's baseline that the compiled modules can use on this machine."""
    return tuple([tw_feature(which).decode() for which in range(4) if tw_feature(which)[0]])
