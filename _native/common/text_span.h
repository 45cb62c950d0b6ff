/* A text in a column: the offset in the lower half of a number, the length in the upper one. One store a text, half the memory. */
#ifndef TURNWIRE_COMMON_TEXT_SPAN_H
#define TURNWIRE_COMMON_TEXT_SPAN_H

#include <stddef.h>
#include <stdint.h>

static inline int64_t tw_text_span(size_t offset, size_t length) { return (int64_t)((uint64_t)length << 32 | (uint32_t)offset); }
static inline int64_t tw_offset_of(int64_t span) { return (int64_t)(uint32_t)span; }
static inline int64_t tw_length_of(int64_t span) { return (int64_t)((uint64_t)span >> 32); }

#endif
