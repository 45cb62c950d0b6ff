"""The features of the processor that the compiled modules can use."""

cdef extern from "_native/common/processor.h":
    const char **tw_feature_names
    int tw_feature_count()
    int tw_has_feature(int which)


def cpu_features() -> tuple:
    """The features beyond the compiler's baseline that the compiled modules can use on this machine."""
    return tuple([tw_feature_names[which].decode() for which in range(tw_feature_count()) if tw_has_feature(which)])
