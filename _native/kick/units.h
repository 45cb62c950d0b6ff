/* The rules of Space Format for texts of one kind: included three times by kick/format.h, with KIND (bytes of a unit) and
 * UNIT set. */

/* How many units the white space at p takes (0: there is none), and the white space that ends at p. */
#if KIND == 1
static inline int F(tw_white_at)(const UNIT *p, const UNIT *end) {
    if (*p < 0x80) return tw_white(*p);
    if (*p == 0xC2) return end - p >= 2 && (p[1] == 0x85 || p[1] == 0xA0) ? 2 : 0;
    if (*p < 0xE1 || *p > 0xE3 || end - p < 3) return 0;
    return tw_white((uint32_t)(*p & 0x0F) << 12 | (uint32_t)(p[1] & 0x3F) << 6 | (p[2] & 0x3F)) ? 3 : 0;
}
static inline int F(tw_white_before)(const UNIT *start, const UNIT *p) {
    if (p[-1] < 0x80) return tw_white(p[-1]);
    if (p - start >= 2 && p[-2] == 0xC2) return F(tw_white_at)(p - 2, p);
    return p - start >= 3 && p[-3] >= 0xE1 && p[-3] <= 0xE3 ? F(tw_white_at)(p - 3, p) : 0;
}
static inline int F(tw_sigil_at)(const UNIT *d, size_t i, size_t n) {
    return i + 3 <= n && d[i] == 0xE2 && d[i + 1] == 0xAB && d[i + 2] == 0xBB;
}
#else
static inline int F(tw_white_at)(const UNIT *p, const UNIT *end) { (void)end; return tw_white(*p); }
static inline int F(tw_white_before)(const UNIT *start, const UNIT *p) { (void)start; return tw_white(p[-1]); }
static inline int F(tw_sigil_at)(const UNIT *d, size_t i, size_t n) { return i < n && d[i] == TW_SIGIL; }
#endif

static inline int F(tw_is_return)(const UNIT *d, size_t i) { return d[i] == '\r'; }

/* How many units a byte order mark at the start takes. */
static inline size_t F(tw_mark)(const UNIT *d, size_t n) {
#if KIND == 1
    return n >= 3 && memcmp(d, "\xEF\xBB\xBF", 3) == 0 ? 3 : 0;
#else
    return n && *d == 0xFEFF;
#endif
}

/* The first i in [from, n) with a sigil at i behind a newline, or n. from >= 1; nothing outside [from - 1, n) is read. */
static size_t F(tw_next_scalar)(const UNIT *d, size_t from, size_t n) {
    for (size_t i = from; i < n; i++)
        if (d[i - 1] == '\n' && F(tw_sigil_at)(d, i, n)) return i;
    return n;
}

#ifdef TW_X86
/* Where one may be among the units at p. The first byte of a sigil is one of others, too, so the newline in front of it is
 * searched with it; in wide text a sigil is rare, so it alone is searched. */
#if KIND == 1
#define TW_HIT(p)                                                                                                   \
    _mm256_and_si256(_mm256_cmpeq_epi8(TW_LOAD((p) - 1), _mm256_set1_epi8('\n')),                                   \
                     _mm256_cmpeq_epi8(TW_LOAD(p), _mm256_set1_epi8((char)0xE2)))
#elif KIND == 2
#define TW_HIT(p) _mm256_cmpeq_epi16(TW_LOAD(p), _mm256_set1_epi16(TW_SIGIL))
#else
#define TW_HIT(p) _mm256_cmpeq_epi32(TW_LOAD(p), _mm256_set1_epi32(TW_SIGIL))
#endif

TW_TARGET("avx2,bmi") static size_t F(tw_next_avx2)(const UNIT *d, size_t from, size_t n) {
    const size_t step = 32 / sizeof(UNIT);
    size_t i = from;
    for (; i + 4 * step <= n; i += 4 * step) {
        __m256i hit[4];
        for (size_t k = 0; k < 4; k++) hit[k] = TW_HIT(d + i + step * k);
        __m256i any = _mm256_or_si256(_mm256_or_si256(hit[0], hit[1]), _mm256_or_si256(hit[2], hit[3]));
        if (_mm256_testz_si256(any, any)) continue;
        for (size_t k = 0; k < 4; k++) {
            uint32_t mask = (uint32_t)_mm256_movemask_epi8(hit[k]);
            while (mask) {
                unsigned bit = (unsigned)tw_low_zeros_32(mask);
                size_t place = i + step * k + bit / sizeof(UNIT);
                if (d[place - 1] == '\n' && F(tw_sigil_at)(d, place, n)) return place;
                mask &= ~((uint32_t)((1u << sizeof(UNIT)) - 1) << bit);
            }
        }
    }
    return F(tw_next_scalar)(d, i, n);
}
#undef TW_HIT
#endif

static inline size_t F(tw_next)(const UNIT *d, size_t from, size_t n, int level) {
#ifdef TW_X86
    if (level) return F(tw_next_avx2)(d, from, n);
#endif
    (void)level;
    return F(tw_next_scalar)(d, from, n);
}

/* Whether the units [a, b) have no UTF-8 form (kinds 2, 4) or are none (kind 1, where both ends must be boundaries of
 * characters). Whole blocks are counted without a branch, so that compilers vectorise. */
#if KIND == 1
static int F(tw_damaged)(const UNIT *d, size_t a, size_t b, int level) { return !tw_utf8_valid(d + a, b - a, level); }
#else
TW_ALWAYS int F(tw_surrogates)(const UNIT *d, size_t a, size_t b) {
    UNIT found = 0;
    for (; a + 256 <= b && !found; a += 256)
        for (size_t k = 0; k < 256; k++) found |= (UNIT)((UNIT)(d[a + k] & (UNIT)~0x7FF) == 0xD800);
    for (; a < b && !found; a++) found = (UNIT)((d[a] & (UNIT)~0x7FF) == 0xD800);
    return found != 0;
}
#ifdef TW_X86
TW_TARGET("avx2") static int F(tw_surrogates_avx2)(const UNIT *d, size_t a, size_t b) {
    return F(tw_surrogates)(d, a, b);
}
#endif
static int F(tw_damaged)(const UNIT *d, size_t a, size_t b, int level) {
#ifdef TW_X86
    if (level) return F(tw_surrogates_avx2)(d, a, b);
#endif
    (void)level;
    return F(tw_surrogates)(d, a, b);
}
#endif

/* Where the line that holds `from` ends: its newline, or n. */
static size_t F(tw_line_end)(const UNIT *d, size_t from, size_t n) {
#if KIND == 1
    const UNIT *found = (const UNIT *)memchr(d + from, '\n', n - from);
    return found ? (size_t)(found - d) : n;
#else
    while (from < n && d[from] != '\n') from++;
    return from;
#endif
}

/* Strict: the place of the first fault of the header [a, b), left to right, or -1. A part that is missing is a fault
 * where the part should have begun. *empty says that there is nothing but white space (or nothing) in the header. */
static ptrdiff_t F(tw_judge)(const UNIT *d, size_t a, size_t b, int *empty) {
    size_t part = a;
    int in_qualifier = 0, slashes = 0;
    size_t i = a;
    *empty = 0;
    while (i < b && F(tw_white_at)(d + i, d + b)) i += (size_t)F(tw_white_at)(d + i, d + b);
    if (i == b) {
        *empty = 1;
        return (ptrdiff_t)a;
    }
    for (i = a; i < b; i++) {
        UNIT c = d[i];
        if (c == '/' || (c == ':' && !in_qualifier)) {
            if (part == i) return (ptrdiff_t)i;
            if (c == '/' && slashes++) return (ptrdiff_t)i;
            if (c == ':') {
                in_qualifier = 1;
                slashes = 0;
            }
            part = i + 1;
        } else if (c <= 0x20 || c >= 0x80) {
            if (F(tw_white_at)(d + i, d + b) || F(tw_sigil_at)(d, i, b)) return (ptrdiff_t)i;
        }
    }
    return part == b ? (ptrdiff_t)b : -1;
}

/* Lenient: the parts of the header [a, b), and its issues. */
static int F(tw_split)(const UNIT *d, size_t a, size_t b, tw_header *h) {
    size_t i;
    int width;
    h->type = h->qualifier = h->index = h->text = -1;
    h->type_end = h->qualifier_end = h->place_end = h->text_end = -1;
    h->issues = 0;
    for (i = a; i < b && (width = F(tw_white_at)(d + i, d + b)); i += (size_t)width) {}
    if (i == b) {
        h->name = h->name_end = (ptrdiff_t)b;
        return h->issues = TW_EMPTY_HEADER;
    }
    if (i > a) h->issues |= TW_LEADING_SPACE;
    a = i;
    for (i = b; (width = F(tw_white_before)(d + a, d + i)); i -= (size_t)width) {}
    if (i < b) h->issues |= TW_TRAILING_SPACE;
    b = i;
    h->name = (ptrdiff_t)a;
    h->name_end = -1;
    for (i = a; i < b && d[i] != ':'; i++) {
        if (d[i] == '/' && h->type < 0) {
            h->name_end = (ptrdiff_t)i;
            h->type = (ptrdiff_t)i + 1;
        } else if (F(tw_sigil_at)(d, i, b)) {
            h->issues |= TW_NESTED_SIGIL;
        }
    }
    if (h->type < 0) h->name_end = (ptrdiff_t)i;
    else h->type_end = (ptrdiff_t)i;
    if (h->name == h->name_end) h->issues |= TW_EMPTY_HEADER;
    if (i == b) return h->issues;
    i++;
    h->qualifier = h->qualifier_end = h->place_end = (ptrdiff_t)i;
    if (i < b && F(tw_white_at)(d + i, d + b)) { /* inline text; b is behind a character that is not white space */
        while ((width = F(tw_white_at)(d + i, d + b))) i += (size_t)width;
        h->text = (ptrdiff_t)i;
        h->text_end = (ptrdiff_t)b;
        for (; i < b; i++)
            if (F(tw_sigil_at)(d, i, b)) h->issues |= TW_NESTED_SIGIL;
        return h->issues;
    }
    h->qualifier_end = h->place_end = (ptrdiff_t)b;
    for (; i < b; i++) {
        if (d[i] == '/') {
            h->place_end = (ptrdiff_t)i;
            h->index = (ptrdiff_t)i + 1;
        } else if (F(tw_sigil_at)(d, i, b)) {
            h->issues |= TW_NESTED_SIGIL;
        } else if (F(tw_white_at)(d + i, d + b)) {
            h->issues |= TW_SPACE_IN_QUALIFIER;
        }
    }
    return h->issues;
}

/* Where the content of the body [a, b) ends: behind its last line that is not blank, without that line's ending. */
static size_t F(tw_content_end)(const UNIT *d, size_t a, size_t b) {
    size_t i = b;
    int width;
    while (i > a && (width = F(tw_white_before)(d + a, d + i))) i -= (size_t)width;
    if (i == a) return a;
    i = F(tw_line_end)(d, i, b);
    return i < b && d[i - 1] == '\r' ? i - 1 : i;
}

/* Opens or closes a Markdown code fence where the line [a, b) does (CommonMark 0.31, section 4.5). */
static void F(tw_fence_line)(const UNIT *d, size_t a, size_t b, tw_fence *fence) {
    size_t i = a, run;
    while (i < b && i - a < 4 && d[i] == ' ') i++;
    if (i - a > 3 || i == b || (d[i] != '`' && d[i] != '~')) return;
    for (run = i; run < b && d[run] == d[i]; run++) {}
    if (run - i < 3) return;
    if (!fence->count) {
        if (d[i] == '`')
            for (size_t k = run; k < b; k++)
                if (d[k] == '`') return;
        fence->count = run - i;
        fence->mark = d[i];
        return;
    }
    if (fence->mark != d[i] || run - i < fence->count) return;
    while (run < b && (d[run] == ' ' || d[run] == '\t')) run++;
    if (run == b || (run + 1 == b && d[run] == '\r')) fence->count = 0;
}

/* Like tw_next, but deaf inside fences: the first header in [from, n), from being the start of a line, or n. */
static size_t F(tw_next_outside)(const UNIT *d, size_t from, size_t n, tw_fence *fence) {
    while (from < n) {
        if (!fence->count && F(tw_sigil_at)(d, from, n)) return from;
        size_t end = F(tw_line_end)(d, from, n);
        F(tw_fence_line)(d, from, end, fence);
        from = end + 1;
    }
    return n;
}
