/* The rules of Space Format for one kind of text: included by space/format.h with KIND and UNIT set. */

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
            if (F(tw_white_at)(d + i, d + b) || F(tw_sigil_at)(d + i, d + b)) return (ptrdiff_t)i;
        }
    }
    return part == b ? (ptrdiff_t)b : -1;
}

/* Lenient: the parts of the header [a, b) and its issues. */
static void F(tw_split)(const UNIT *d, size_t a, size_t b, tw_header *h) {
    size_t i;
    int width;
    h->type = h->qualifier = h->index = h->text = -1;
    h->type_end = h->qualifier_end = h->place_end = h->text_end = -1;
    h->issues = 0;
    for (i = a; i < b && (width = F(tw_white_at)(d + i, d + b)); i += (size_t)width) {}
    if (i == b) {
        h->name = h->name_end = (ptrdiff_t)b;
        h->issues = TW_EMPTY_HEADER;
        return;
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
        } else if (F(tw_sigil_at)(d + i, d + b)) {
            h->issues |= TW_NESTED_SIGIL;
        }
    }
    if (h->type < 0) h->name_end = (ptrdiff_t)i;
    else h->type_end = (ptrdiff_t)i;
    if (h->name == h->name_end) h->issues |= TW_EMPTY_HEADER;
    if (i == b) return;
    i++;
    h->qualifier = h->qualifier_end = h->place_end = (ptrdiff_t)i;
    if (i < b && F(tw_white_at)(d + i, d + b)) { /* inline text; b is behind a character that is not white space */
        while ((width = F(tw_white_at)(d + i, d + b))) i += (size_t)width;
        h->text = (ptrdiff_t)i;
        h->text_end = (ptrdiff_t)b;
        for (; i < b; i++)
            if (F(tw_sigil_at)(d + i, d + b)) h->issues |= TW_NESTED_SIGIL;
        return;
    }
    h->qualifier_end = h->place_end = (ptrdiff_t)b;
    for (; i < b; i++) {
        if (d[i] == '/') {
            h->place_end = (ptrdiff_t)i;
            h->index = (ptrdiff_t)i + 1;
        } else if (F(tw_sigil_at)(d + i, d + b)) {
            h->issues |= TW_NESTED_SIGIL;
        } else if (F(tw_white_at)(d + i, d + b)) {
            h->issues |= TW_SPACE_IN_QUALIFIER;
        }
    }
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
        if (!fence->count && F(tw_sigil_at)(d + from, d + n)) return from;
        size_t end = F(tw_line_end)(d, from, n);
        F(tw_fence_line)(d, from, end, fence);
        from = end + 1;
    }
    return n;
}
