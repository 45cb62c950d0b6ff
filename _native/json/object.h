/* Strings, arrays and objects of JSON, once for each kind of processor: json/levels.h includes this file several times,
 * with TW_HERE (what its functions are compiled for), TW_AT (their names), TW_BLOCKS (whether there are blocks) and TW_CLEAN
 * (to be said before functions that are compiled for any processor and use SSE: behind AVX they would be slow). */

TW_HERE static const uint8_t *TW_AT(tw_members)(tw_json *x, const uint8_t *p, int table, size_t depth, tw_step *brace);

TW_HERE static const uint8_t *TW_AT(tw_array)(tw_json *x, const uint8_t *p, int items, size_t depth, uint32_t *count,
                                              tw_step *step);

#if TW_BLOCKS
/* The same as tw_json_string, for a string that does not end in its first 64 bytes or has more than plain ASCII there. */
TW_HERE static TW_APART const uint8_t *TW_AT(tw_long_string)(tw_json *x, const uint8_t *p, uint8_t *has_escapes)
{
    const uint8_t *start = p;
    size_t skipped = 0;                      /* bytes of this block that belong to an escape in the last one */
    uint64_t carried = 0, slashes = 0;
    int open = 0;                            /* the last block may have ended inside a character */
    TW_AT(tw_utf8) utf8;
    TW_AT(tw_utf8_begin)(&utf8);
    for (; p < x->end && x->hard - p >= 64; p += 64) {
        tw_structurals m;
        TW_AT(tw_structurals_of)(p, &m);
        uint64_t escaped = tw_escaped_bytes(m.slash, &carried), close = m.quote & ~escaped;
        uint64_t inside = close ? (close - 1) & ~close : ~(uint64_t)0;
        size_t size = close ? (size_t)tw_low_zeros(close) : 64;
        if (m.control & inside) break;
        slashes |= m.slash & inside;
        escaped &= inside & ~(uint64_t)0 << skipped;
        skipped = 0;
        if (escaped &= ~(m.quote | m.slash)) {
            escaped &= ~TW_AT(tw_simple)(p); /* what is left is \u, or bad */
            while (escaped) {
                int slash = tw_low_zeros(escaped) - 1, long_one = tw_escape_size(p + slash, x->end);
                if (!long_one) goto bad;
                size_t behind = (size_t)(slash + long_one);
                skipped = behind < 64 ? 0 : behind - 64;
                escaped = behind < 64 ? escaped & ~(uint64_t)0 << behind : 0;
            }
        }
        if (m.high & inside || open) TW_AT(tw_utf8_more)(&utf8, p, size);
        open = (m.high & inside) >> 61 != 0;
        if (close) {
            p += size;
            if (p >= x->end || !TW_AT(tw_utf8_good)(&utf8)) break;
            *has_escapes |= slashes != 0;
            return p + 1;
        }
    }
bad:                                         /* how bad it is, the other says */
    TW_CLEAN;
    return tw_json_string(x, start, has_escapes);
}
#endif

/* The string whose inside starts at p: behind its closing quote, or NULL. */
TW_HERE static inline const uint8_t *TW_AT(tw_string)(tw_json *x, const uint8_t *p, uint8_t *escaped)
{
#if TW_BLOCKS
    if (x->hard - p >= 64) {
        uint64_t others, carried = 0, quotes = TW_AT(tw_quotes)(p, &others), before = quotes ^ (quotes - 1);
        if (quotes && others & before) {     /* in front of the first quote */
            tw_structurals m;
            TW_AT(tw_structurals_of)(p, &m);
            uint64_t behind = tw_escaped_bytes(m.slash, &carried);
            quotes &= ~behind;
            before = quotes ^ (quotes - 1);
            others = m.control | m.high | (behind & ~TW_AT(tw_simple)(p));
            *escaped |= (m.slash & before) != 0;
        }
        if (quotes && !(others & before)) {
            p += tw_low_zeros(quotes);
            if (p < x->end) return p + 1;
            return tw_json_fault(x, p, 1);
        }
        return TW_AT(tw_long_string)(x, p, escaped);
    }
    TW_CLEAN;
#endif
    return tw_json_string(x, p, escaped);
}

/* The number, true, false or null at p. */
TW_HERE static inline const uint8_t *TW_AT(tw_plain_value)(tw_json *x, const uint8_t *p)
{
    if (*p == '-' || (uint8_t)(*p - '0') < 10) {
        const uint8_t *behind = tw_short_number(x, p);
        if (behind) return behind;
        TW_CLEAN;
        return tw_json_number(x, p);
    }
    if (*p == 't' || *p == 'f' || *p == 'n') return tw_json_word(x, p);
    return tw_json_fault(x, p, 0);
}

/* The value at p, of which only the kind is wanted; `depth` containers are open around it, `step` is its key. */
TW_HERE static inline const uint8_t *TW_AT(tw_value)(tw_json *x, const uint8_t *p, size_t depth, tw_step *step)
{
    uint8_t escaped = 0;
    uint32_t count;
    if (p >= x->end) return tw_json_fault(x, p, 1);
    if (*p == '"') {
        const uint8_t *first = p + 1;
        x->is = TW_IS_STRING;
        p = TW_AT(tw_string)(x, first, &escaped);
        if (p) tw_add_part(x, first, (size_t)(p - first - 1), TW_PART_TEXT, escaped, 0);
        return p;
    }
    if (*p == '{') return TW_AT(tw_members)(x, p, TW_NO_TABLE, depth + 1, step ? tw_brace(x, &step->object) : NULL);
    if (*p == '[') return TW_AT(tw_array)(x, p, TW_NO_TABLE, depth + 1, &count, step);
    return TW_AT(tw_plain_value)(x, p);
}

/* The array whose bracket stands at p; objects in it have the keys of table `items`, where there is one. `step` is the
 * key that it stands under, or NULL. */
TW_HERE static const uint8_t *TW_AT(tw_array)(tw_json *x, const uint8_t *p, int items, size_t depth, uint32_t *count,
                                              tw_step *step)
{
    uint32_t seen = 0;
    int closed = 0, bad = 0;
    const uint8_t keyword = x->keyword;
    const int ahead = x->ahead;
    *count = 0;
    tw_add_part(x, p, 0, TW_PART_ARRAY, 0, 0);
    if (depth > x->shape->nesting) return tw_json_fault(x, p, 0);
    p = tw_skip(p + 1, x->end);
    if (p < x->end && *p == ']') {
        x->is = TW_IS_ARRAY | TW_IS_TEXTS | TW_IS_RECORDS;
        return p + 1;
    }
    uint64_t starts, large;
    for (unsigned passed; x->hard - p >= 64 && (uint8_t)(*p - '0') < 10; p += passed) { /* a journal's bytes */
        if (!(passed = tw_small_numbers(p, &starts, &large)) || passed > x->end - p) break;
        seen |= TW_IS_COUNT;
        *count += (uint32_t)tw_ones_64(starts);
    }
    while (!closed) {
        if (items >= 0 && p < x->end && *p == '{') {
            x->bad_item = 0;
            x->keyword = TW_NO_WORD;
            x->ahead = -1;
            p = TW_AT(tw_members)(x, p, items, depth + 1, tw_brace(x, &x->braces[items]));
            bad |= x->bad_item;
        } else {
            p = TW_AT(tw_value)(x, p, depth, step);
        }
        if (!p) return NULL;
        seen |= x->is;
        ++*count;
        p = tw_json_behind(x, p, ']', &closed);
        if (!p) return NULL;
    }
    x->keyword = keyword;
    x->ahead = ahead;
    x->is = TW_IS_ARRAY;
    if (!(seen & ~(uint32_t)(TW_IS_STRING | TW_IS_GOOD))) x->is |= TW_IS_TEXTS;
    if (!(seen & ~(uint32_t)(TW_IS_OBJECT | TW_IS_NUMBERS | TW_IS_EMPTY)) && !bad) x->is |= TW_IS_RECORDS;
    return p;
}

/* The value at p, noted as that of a node. */
TW_HERE static inline const uint8_t *TW_AT(tw_noted_value)(tw_json *x, const uint8_t *p, int number, size_t depth,
                                                           tw_step *step)
{
    const tw_node *node = &x->shape->nodes[number];
    if (node->keyed) {
        x->keyed = 1;
        if (x->keyword != TW_NO_WORD) number = node->keyed + x->keyword;
        else x->ahead = number;
        node = &x->shape->nodes[number];
    }
    tw_value *v = &x->v[number];
    const uint8_t *start = p;
    tw_brief brief = { 0, TW_NO_WORD, 0, 0 };
    uint32_t count = 0;
    if (p >= x->end) return tw_json_fault(x, p, 1);
    if (*p == '"') {
        p = TW_AT(tw_string)(x, p + 1, &brief.escaped);
        if (!p) return NULL;
        x->is = brief.is = TW_IS_STRING;
        tw_add_part(x, start + 1, (size_t)(p - start - 2), TW_PART_TEXT, brief.escaped, 0);
        if (node->every && tw_note_again(x, v, start, 0, &brief.timed)) return p;
        v->p = start + 1;
        v->size = (uint32_t)(p - start - 2);
        v->stamp = x->stamp;
        v->b = brief;
        x->noted[number >> 6] |= (uint64_t)1 << (number & 63);
        if (node->form) { TW_CLEAN; tw_judge_form(x, node, v); }
        if (node->is_key) tw_note_keyword(x, v->b.word);
        return p;
    }
    if (*p == '{')
        p = node->table >= 0 ? TW_AT(tw_members)(x, p, node->table, depth + 1, tw_brace(x, &x->braces[node->table]))
                             : TW_AT(tw_members)(x, p, TW_NO_TABLE, depth + 1, step ? tw_brace(x, &step->object) : NULL);
    else if (*p == '[')
        p = TW_AT(tw_array)(x, p, node->items, depth + 1, &count, step);
    else
        p = TW_AT(tw_plain_value)(x, p);
    if (!p) return NULL;
    if (node->text) x->bad_item = 1;
    brief.is = x->is;
    if (!node->every) v->count = count;
    else if (tw_note_again(x, v, start, (size_t)(p - start), &brief.timed)) return p;
    v->p = start;
    v->size = (uint32_t)(p - start);
    v->stamp = x->stamp;
    v->b = brief;
    x->noted[number >> 6] |= (uint64_t)1 << (number & 63);
    return p;
}

/* The step behind `step` whose glue stands at p, or NULL. */
TW_HERE static inline tw_step *TW_AT(tw_next_step)(tw_json *x, const uint8_t *p, tw_step *step)
{
    if (x->hard - p < TW_GLUE) return NULL;
    for (tw_step *met = step->first; met; met = met->next) {
        if (!TW_AT(tw_is_glue)(p, met) || met->size >= x->end - p) continue;
        if (p[met->size] <= ' ') continue;   /* more white space */
        if (met != step->first) tw_to_front(step, met);
        return met;
    }
    return NULL;
}

/* The object whose brace stands at p; its known keys are those of a table, if there is one. `brace`: where its steps
 * begin, or NULL. */
TW_HERE static const uint8_t *TW_AT(tw_members)(tw_json *x, const uint8_t *p, int table, size_t depth, tw_step *brace)
{
    const uint8_t *start = p;
    size_t first = x->name_count;
    uint64_t found = 0;                      /* all this is in *k only while a key is read the long way */
    uint32_t object = 0, seen = 0;
    tw_step *way = brace;
    int node;
    if (depth > x->shape->nesting) return tw_json_fault(x, p, 0);
    if (depth > 1) tw_add_part(x, p, 0, TW_PART_OBJECT, 0, 0);
    p++;
    for (int more = 0;; more = 1) {
        tw_step *step = way ? TW_AT(tw_next_step)(x, p, way) : NULL;
        if (step) {
            tw_add_part(x, p + (step->name.p - step->glue), step->name.size, TW_PART_KEY, 0, depth);
            p += step->size;
            way = step;
            node = step->node;
            found |= step->bits;
        } else {
            tw_keys k = { table, TW_NO_TABLE, way, first, found, object };
            const uint8_t *glue = p;
            int closed = 0;
            if (more) {
                p = tw_json_behind(x, p, '}', &closed);
            } else {
                p = tw_skip(p, x->end);
                closed = p < x->end && *p == '}';
                p += closed;
            }
            if (closed) break;
            const uint8_t *key = p;
            if (p) p = tw_read_key(x, glue, p, &k);
            if (!p) return tw_json_left(x, start);
            size_t size = (size_t)(tw_closing_quote(key + 1, x->hard) - (key + 1));
            tw_add_part(x, key + 1, size, TW_PART_KEY, memchr(key + 1, '\\', size) != NULL, depth);
            way = k.step;
            node = k.node;
            found = k.found;
            object = k.object;
        }
        p = node >= 0 ? TW_AT(tw_noted_value)(x, p, node, depth, way) : TW_AT(tw_value)(x, p, depth, way);
        if (!p) return tw_json_left(x, start);
        seen |= x->is;
        if (p < x->end && *p == '}') { p++; break; }
    }
    x->name_count = first;
    x->is = TW_IS_OBJECT | (seen ? 0 : TW_IS_EMPTY);
    if (table == TW_NO_TABLE && !(seen & ~(uint32_t)(TW_IS_COUNT | TW_IS_NEGATIVE | TW_IS_MINUS_ZERO | TW_IS_FRACTION)))
        x->is |= TW_IS_NUMBERS;
    return p;
}

/* The string in a slot of a template, noted where somebody asks: behind it, or NULL. */
TW_HERE static inline const uint8_t *TW_AT(tw_in_slot)(tw_json *x, tw_slot *slot, const uint8_t *p)
{
    tw_brief brief = { TW_IS_STRING, TW_NO_WORD, 0, 0 };
    const uint8_t *behind = TW_AT(tw_string)(x, p, &brief.escaped);
    if (!behind) return NULL;
    if (slot->node < 0) return slot->guarded & brief.escaped ? NULL : behind;
    tw_value *v = &x->v[slot->node];
    v->p = p;
    v->size = (uint32_t)(behind - p - 1);
    v->count = 0;
    v->b = brief;
    if (slot->form) TW_CLEAN;
    if (slot->form == TW_FORM_TIME) tw_time_in_slot(x, slot, v);
    else if (slot->form) tw_judge_form(x, &x->shape->nodes[slot->node], v);
    return behind;
}

/* The same for a number or a boolean. */
TW_HERE static inline const uint8_t *TW_AT(tw_plain_in_slot)(tw_json *x, const tw_slot *slot, const uint8_t *p)
{
    const uint8_t *behind = p < x->end ? TW_AT(tw_plain_value)(x, p) : NULL;
    int number = (x->is & (TW_IS_COUNT | TW_IS_NEGATIVE | TW_IS_FRACTION)) != 0;
    if (!behind || (slot->kind == TW_IS_BOOLEAN ? x->is != TW_IS_BOOLEAN : !number)) return NULL;
    if (slot->node >= 0)
        x->v[slot->node] = (tw_value){ .p = p, .size = (uint32_t)(behind - p), .b = { x->is, TW_NO_WORD, 0, 0 } };
    return behind;
}

/* The object at p where the template fits it: behind it, or NULL. The slots before number `first` are filled, as are those
 * of the template that was tried before and shares them. */
TW_HERE static const uint8_t *TW_AT(tw_fit)(tw_json *x, tw_template *m, const uint8_t *p, int first)
{
    const uint8_t *q = x->behind[first], *text = m->text + ((size_t)(q - p) - x->shift[first]);
    for (int i = first; i < m->slots; i++) {
        tw_slot *slot = &m->slot[i];
        x->reached = i;
        if (slot->before > (size_t)(x->end - q) || !TW_AT(tw_is_text)(q, text, slot->before)) return NULL;
        q += slot->before;
        text += slot->before;
        const uint8_t *start = q;
        q = slot->kind == TW_IS_STRING ? TW_AT(tw_in_slot)(x, slot, q) : TW_AT(tw_plain_in_slot)(x, slot, q);
        if (!q) return NULL;
        x->behind[i + 1] = q;
        x->shift[i + 1] = x->shift[i] + (size_t)(q - start);
    }
    x->reached = m->slots;
    if (m->last > (size_t)(x->end - q) || !TW_AT(tw_is_text)(q, text, m->last)) return NULL;
    tw_note_fitting(x, m, p);
    return q + m->last;
}
