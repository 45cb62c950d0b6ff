/* Reads one JSON object by the fastest code that the processor has: by a template where one fits, else in full. The scalar
 * code runs everywhere and is what the others are tested against. */
#ifndef TURNWIRE_JSON_LEVELS_H
#define TURNWIRE_JSON_LEVELS_H

#include "structural_index.h"
#include "wrapper.h"

static inline int tw_is_glue_scalar(const uint8_t *p, const tw_step *step) { return tw_same_bytes(p, step->glue, step->size); }
static inline int tw_is_text_scalar(const uint8_t *p, const uint8_t *text, size_t n) { return memcmp(p, text, n) == 0; }

#define TW_HERE
#define TW_AT(name) name##_scalar
#define TW_BLOCKS 0
#define TW_CLEAN (void)0
#include "object.h"
#undef TW_HERE
#undef TW_AT
#undef TW_BLOCKS
#undef TW_CLEAN

#ifdef TW_X86
#define TW_BLOCKS 1
#define TW_CLEAN _mm256_zeroupper()
#define TW_HERE TW_JSON_AVX2
#define TW_AT(name) name##_avx2
#include "object.h"
#undef TW_HERE
#undef TW_AT
#undef TW_BLOCKS
#undef TW_CLEAN
#endif

/* The code that tw_json_parse takes from now on: TW_SCALAR or TW_USE_AVX2. */
static int tw_json_level = TW_SCALAR;

static inline const uint8_t *tw_fit(tw_json *x, tw_template *m, const uint8_t *p, int first)
{
#ifdef TW_X86
    if (tw_json_level == TW_USE_AVX2) return tw_fit_avx2(x, m, p, first);
#endif
    return tw_fit_scalar(x, m, p, first);
}

/* As tw_unescape, where 128 more bytes may be written, and up to `hard` may be read. */
static size_t tw_said(const uint8_t *p, const uint8_t *end, const uint8_t *hard, uint8_t *out)
{
    uint8_t *first = out;
#ifdef TW_X86
    if (tw_json_level == TW_USE_AVX2 && end - p >= 64) tw_unescape_avx2(&p, end, hard, &out);
#endif
    return (size_t)(out - first) + (p < end ? tw_unescape_in(p, end, hard, out) : 0);
}

/* Steps over *left bytes of what [p, end) says with escapes: where that is, and in *left how many are missing. It stops at a character
 * that is not all among them. */
static const uint8_t *tw_walk(const uint8_t *p, const uint8_t *end, const uint8_t *hard, size_t *left)
{
    if (*left < 16)                          /* most steps are short */
        for (; *left && end - p > 1 && (*p != '\\' || tw_letters[p[1]]); --*left) p += *p == '\\' ? 2 : 1;
    while (*left && p < end) {
        uint8_t said[4];
        const uint8_t *behind;
#ifdef TW_X86
        if (tw_json_level == TW_USE_AVX2) p = tw_walk_avx2(p, end, hard, left);
        if (!*left || p == end) break;
#endif
        size_t size = (size_t)(end - p) < *left ? (size_t)(end - p) : *left;
        behind = tw_slash(p, p + size);
        if (behind > p) size = (size_t)(behind - p);
        else size = (size_t)tw_unescape_one(&behind, end, said);
        if (size > *left) break;
        *left -= size;
        p = behind;
    }
    return p;
}

/* The object at p where a template fits it: behind it, or NULL. */
static const uint8_t *tw_fitting(tw_json *x, const uint8_t *p, const uint8_t *end, const uint8_t *hard)
{
    x->end = end;
    x->hard = hard;
    x->odd = x->cut = 0;
    x->unfit = p;
    x->fitted = NULL;
    x->surely = 0;
    if (x->pause) {
        x->pause--;
        return NULL;
    }
    x->behind[0] = p;
    x->reached = 0;
    const tw_template *last = NULL;
    if (x->before && x->before->follows) tw_template_first(x, x->before->follows);
    for (int i = 0; i < x->template_count; i++) {
        tw_template *m = x->templates[i];
        if (last && m->apart[last->id] < x->reached) continue;
        int first = last && m->shared[last->id] < x->reached ? m->shared[last->id] : x->reached;
        last = m;
        const uint8_t *behind = tw_fit(x, m, p, first);
        if (behind) {
            x->unfit = NULL;
            x->fitted = m;
            if (x->before) x->before->follows = m;
            x->before = m;
            if (i) tw_template_first(x, m);
            x->fits++;
            x->misfits -= x->misfits < 2 ? x->misfits : 2;
            return behind;
        }
    }
    x->odd = x->cut = 0;
    return NULL;
}

/* The object at p: behind it, or NULL. Notes the values of table 0. */
static const uint8_t *tw_json_parse(tw_json *x, const uint8_t *p, const uint8_t *end, const uint8_t *hard)
{
    const uint8_t *fitting = x->unfit == p ? NULL : tw_fitting(x, p, end, hard);
    x->unfit = NULL;
    if (fitting) return fitting;
    x->end = end;
    x->hard = hard;
    x->start = p;
    x->part_count = x->part_base;
    x->stamp++;
    x->odd = x->cut = x->bad_item = x->keyed = 0;
    x->opened = 0;
    memset(x->noted, 0, sizeof x->noted);
    x->name_count = 0;
    tw_forget_known(x);
    while (x->owned_count) free(x->owned[--x->owned_count]);
    if (x->missed > TW_MISSES) {             /* too much did not fit: begins anew, not while an object is being read */
        x->step_count = x->missed = 0;
        memset(x->braces, 0, sizeof x->braces);
    }
    tw_step *brace = tw_brace(x, &x->braces[0]);
#ifdef TW_X86
    if (tw_json_level == TW_USE_AVX2) p = tw_members_avx2(x, p, 0, 1, brace);
    else
#endif
        p = tw_members_scalar(x, p, 0, 1, brace);
    return x->no_memory ? NULL : p;
}

/* Forgets the templates if other nodes fill columns now than when they were made, or if none fitted in the last block. A block
 * may have other objects than those before it: what was made and missed for those is no reason to make none for these. */
static void tw_check_templates(tw_json *x)
{
    if (!x->fits || memcmp(x->asked, x->made_for, sizeof x->asked))
        while (x->template_count) free(x->templates[--x->template_count]);
    memcpy(x->made_for, x->asked, sizeof x->asked);
    x->templates_made = x->fits = x->misfits = x->pause = 0;
    x->fitted = x->before = NULL;
    x->unfit = NULL;
}

static void tw_json_free(tw_json *x)
{
    while (x->owned_count) free(x->owned[--x->owned_count]);
    free(x->owned);
    free(x->names);
    free(x->parts);
    free(x->known);
    for (int i = 0; i < TW_STEP_CHUNKS; i++) free(x->steps[i]);
    for (int i = 0; i < x->template_count; i++) free(x->templates[i]);
}

#endif
