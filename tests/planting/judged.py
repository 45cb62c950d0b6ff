"""Faults that the suite did not find and that change nothing that can be seen: header, row, and why nothing changes.

The row is written as `make plant` prints it, with what is changed in brackets. What stands here does not count as a
survivor. Only who has read the code around a fault adds it; where a test could tell, the test is what is missing.
"""

from __future__ import annotations

SAME = {
    (
        "_native/json/line_signs.h",
        "return k->signed_line = signs != 0 || (magic [&& -> ||] k->signs == TW_SIGNS_ALL);",
    ): "more lines than need be are looked at by Python, which finds nothing on them",
    (
        "_native/log/line_signs.h",
        "if (first [> -> >=] start && (first - start > 1 || s[start] != '\\n')) "
        "signs |= tw_line_signs(s, start, first, NULL);",
    ): "a range without a byte is looked at, and has no sign",
    (
        "_native/json/draft.h",
        "const int stays = d->start [== -> !=] (char *)d->small && d->kind == 1 && kind > 1 && d->size + more <= there;",
    ): "a draft beside the object is taken for one inside it; it has more room than that, so widening in place fits",
    (
        "_native/json/line_wires.h",
        "if (to - p >= mark->size [&& -> ||] !memcmp(k->s + p, mark->text, mark->size)) return p;",
    ): "a place that begins as a mark is taken for one: its wire is asked about it, and finds nothing",
    (
        "_native/json/put.h",
        "if (left [<= -> <] 0 || !tw_put_is_dict(w, value)) return JSON_DOUBT;",
    ): "records of the wires are three objects deep at most, and the limit is far above",
    (
        "_native/json/region.h",
        "return from [< -> <=] to ? tw_seek_sign(k, which, from, to) : to;",
    ): "an empty range is looked at, and the place behind it is told, as without",
    (
        "_native/json/rules.h",
        "if (p [< -> <=] w->end && *p == '\"') return p + 1;",
    ): "behind the last byte of the text stands a zero, which is none of these",
    (
        "_native/json/rules.h",
        "if (p [< -> <=] end && *p == '.') {",
    ): "behind the last byte of the text stands a zero, which is none of these",
    (
        "_native/json/rules.h",
        "if (p [< -> <=] w->end && *p == ']') closed = 1, p++;",
    ): "behind the last byte of the text stands a zero, which is none of these",
    (
        "_native/json/rules.h",
        "if (tw_walk_key(w, p + 1, &p, &met) [< -> <=] 0) return NULL;",
    ): "a message with a member that no rule knows is left to the other reader, which reads the same, slowly",
    (
        "_native/json/templates.h",
        "if (m->slots [== -> !=] TW_MOST_SLOTS) return 0;",
    ): "no template with a changing part is kept, so that all is read without: `make gate` shows it, no value does",
    (
        "_native/json/token_runs.h",
        "for (; n < room && p + TW_READ [<= -> <] size && tw_usual(s + p); n++) {",
    ): "the last record of the block is read alone and not as one of a run",
    (
        "_native/json/walk.h",
        "if (at >= end || end - p > k->limit [|| -> &&] k->rows.count == k->rows.room) return TW_FINE;",
    ): "a line above the limit is read by itself and not by the walk, which finds the same record; rows that are full say so themselves",
    (
        "_native/log/line_signs.h",
        "if (first > start && (first - start [> -> >=] 1 || s[start] != '\\n')) signs |= tw_line_signs(s, start, first, NULL);",
    ): "a range of nothing but a newline is looked at, and has no sign",
    (
        "_native/nslip/lanes.h",
        "if (stop [&& -> ||] _mm_popcnt_u64(quote & (stop - 1)) & 1) {",
    ): "the end of the record is worked out where it was guessed right; it is the same",
    (
        "_native/nslip/simd.h",
        'TW_PROCESSOR_HAS("pclmul") [&& -> ||] TW_PROCESSOR_HAS("popcnt");',
    ): "differs on a processor that has one of the two, which none with AVX2 is",
    (
        "_native/space/format.h",
        "mask &= ~((uint32_t)((1u << (sizeof(UNIT) - [1 -> 0]) << 1) - 1) << bit);",
    ): "the sign behind a sigil begins no header, whatever it is",
    (
        "_native/common/log_time.h",
        "if (size < 20 || tw_two(p) < 0 [|| -> &&] tw_two(p + 2) < 0) return 0;",
    ): "more is asked of the other reader, which says the same",
    (
        "_native/csp/fast_path.h",
        ": text[value] != k->letter[intent] || !csp_digits(text, value [+ -> -] 1, stop))",
    ): "the digits are looked for from the space on, so that the message is read the long way: `make gate` shows it",
    (
        "_native/csp/marks.h",
        "for (int64_t at = start; at [< -> <=] stop; at++) /* a message with lone CRs is one line */",
    ): "the end of the line is looked at, too, where a carriage return may stand, but no word of the header fits behind it",
    (
        "_native/json/line_wires.h",
        "if (from [>= -> >] k->markless_since && to <= k->markless_until) return to;",
    ): "an answer that is known is asked for again",
    (
        "_native/json/line_wires.h",
        "if (r->mark_end == r->end && from >= r->mark_since[i] && from [<= -> <] p) return p;",
    ): "an answer that is known is asked for again",
    (
        "_native/json/parse.h",
        "if (x->hard - p [< -> <=] 17) return NULL;",
    ): "a number with just so many bytes behind it is read the long way",
    (
        "_native/json/rules.h",
        "return p - first > TW_MOST_DIGITS || (p < end && (*p == '.' || (*p | 32) [== -> !=] 'e')) ? NULL : p;",
    ): "such a number is left to the other reader, which refuses it",
    (
        "_native/json/templates.h",
        "b->slot |= a->slot [|| -> &&] a->size != b->size || memcmp(template->sample + a->at, p + b->at, a->size);",
    ): "two values of another size, of which one begins as the other, stay one text of the template, which then fits less often",
    (
        "_native/space/letter.h",
        "return end - p [>= -> >] 6 && p[0] == '\\\\' && p[1] == 'u' && turnwire_hex(p + 2) == 0x2AFB ? p + 6 : NULL;",
    ): "a content that is the sigil and nothing else is not plain: the rules look at it, as they would",
    (
        "_native/log/line_signs.h",
        "if (++p [>= -> >] end) return 0;",
    ): "behind a line of one sign its newline is looked at, which no record has there",
    (
        "_native/json/values.h",
        "while (p [< -> <=] stop && (*p == ' ' || *p == '\\t')) p++;",
    ): "behind the line stands its newline, which is no space",
    (
        "_native/nslip/parse.h",
        "if (hash && tw_nslip_fast(s + start, (size_t)(hash - s) + 1 - start, 1, f) && f->end [<= -> <] limit) {",
    ): "a record of just the limit is read the long way",
    (
        "_native/nslip/parse.h",
        "if (hash && tw_nslip_fast(s + start, (size_t)(hash - s) [+ -> -] 1 - start, 1, f) && f->end <= limit) {",
    ): "the quick code finds no end, and the record is read the long way",
    (
        "_native/nslip/rows.h",
        "if (newline == k->size && !k->final && k->size - at [< -> <=] k->limit + TW_MOST_CANDIDATE - 1) return TW_WAIT;",
    ): "one byte more is waited for before the same is said",
    (
        "_native/nslip/rows.h",
        "if (newline == k->size && !k->final && k->size - at < k->limit + TW_MOST_CANDIDATE - [1 -> 0]) return TW_WAIT;",
    ): "one byte more is waited for before the same is said",
    (
        "_native/space/letter.h",
        "for (int turn = 0; turn [< -> <=] TW_FIELDS; turn++) {",
    ): "the first name is asked for again behind the last",
    (
        "_native/space/letter.h",
        "if (at [< -> <=] 0 || seen >> at & 1) return 0;",
    ): "every envelope is read the long way: `make gate` shows it",
    (
        "_native/space/letter.h",
        "for (; p [< -> <=] end && *p != '\\\\'; p++)",
    ): "a content of one header line is left to the rules, which say the same",
    (
        "_native/space/letter.h",
        "for (; p < end [&& -> ||] *p != '\\\\'; p++)",
    ): "a content is left to the rules, which say the same",
    (
        "_native/space/letter.h",
        "(count == TW_CORRELATION [|| -> &&] tw_part_is_uuid4(&parts[TW_CORRELATION])) && tw_part_is_plain(&parts[TW_CONTENT]);",
    ): "an envelope is left to the rules, which say the same",
    (
        "_native/csp/fast_path.h",
        "c->place = found [+ -> -] 1;",
    ): "the line behind a heredoc begins with its end, so that the message is read the long way",
    (
        "_native/space/plain.h",
        "(PyUnicode_KIND(one) == PyUnicode_KIND(other) && PyUnicode_GET_LENGTH(one) [== -> !=] PyUnicode_GET_LENGTH(other) &&",
    ): "a text that is kept is not found again, and is made anew",
    (
        "_native/common/utf8.h",
        "for (; i + 128 [<= -> <] n; i += 128) {",
    ): "the last 128 bytes are looked at by the loop for fewer",
    (
        "_native/space/letter.h",
        "p = tw_walk_skip(w, p [+ -> -] 1);",
    ): "every envelope is read the long way: `make gate` shows it",
    (
        "_native/space/letter.h",
        "if (part->marks != 1 || !p || p [== -> !=] end || *p == '/' || *p == ':') return 0;",
    ): "every content is left to the rules, which say the same",
    (
        "_native/space/letter.h",
        "return tw_part_size(part) == (size_t)part->count + [2 -> 1] && tw_is_channel(part->from, tw_part_size(part));",
    ): "a channel is looked at by the other reader, which says the same",
    (
        "_native/json/put.h",
        "if (kind == TW_RULE_FRACTION) return real [>= -> >] 0 && real <= 1 ? json_real(d, real) : JSON_DOUBT;",
    ): "a message with a zero there is written by the other writer, which writes the same",
    (
        "_native/csp/fast_path.h",
        "if ((uint8_t)(text[at] - 'A') > 25 [&& -> ||] text[at] != '_') return 0;",
    ): "an operation is read the long way: `make gate` shows it",
    (
        "_native/csp/fast_path.h",
        "return (sign == '+' || sign == '~') && at < stop && text[at] == '=' && (at + 1 == stop [|| -> &&] text[at + 1] == ' ');",
    ): "an operation is read the long way: `make gate` shows it",
    (
        "_native/json/line_wires.h",
        "} else if (from [<= -> <] k->markless_until) {",
    ): "what is known ends there, and is asked for anew from there on",
    (
        "_native/json/region.h",
        "if (*next >= to || k->s[*next] [== -> !=] sign) return *next;",
    ): "a sign that is known is looked for again, or a line without one is looked at as text",
    (
        "_native/json/walk.h",
        "if (s[p] == '{' [|| -> &&] (s[p] == '@' && k->find)) return 0;",
    ): "the sign at the start of the line is found by what follows",
    (
        "_native/json/line_wires.h",
        "if (r->mark_end == r->end && from [>= -> >] r->mark_since[i] && from <= p) return p;",
    ): "a place that is known is looked for once more",
    (
        "_native/json/wrapper.h",
        "if ((uint8_t)(*p - '0') [< -> <=] 10 || *p == ' ' || *p == '\\t' || *p == '\\n' || *p == '\\r') continue;",
    ): "no colon stands in an array of good JSON, behind a number",
    (
        "_native/json/values.h",
        "for (p++; p [< -> <=] stop && *p != '\"'; p++)",
    ): "the byte behind the line is looked at, and then nothing is made of it",
    (
        "_native/json/put.h",
        "if (overflow || number [< -> <=] least || number > most) return JSON_DOUBT;",
    ): "the least number goes the long way, which writes the same",
    (
        "_native/json/line_wires.h",
        "while (sign < bytes->size [&& -> ||] (uint8_t)((bytes->text[sign] | 32) - 'a') < 26) sign++;",
    ): "another byte of a mark is looked for first",
    (
        "_native/json/region.h",
        "size_t step = size [< -> <=] 255 ? size : 255;",
    ): "255 is 255 on both ways",
    (
        "_native/json/runs.h",
        "if (end - p [>= -> >] 8 && (memcpy(&word, p, 8), !(word & JSON_ONES * 0x80))) {",
    ): "the last eight bytes are looked at one by one",
    (
        "_native/csp/marks.h",
        "int64_t most = end [< -> <=] bound ? end : bound, start = place, stop;",
    ): "both are the same number then",
    (
        "_native/csp/marks.h",
        "if (place [>= -> >] most) {",
    ): "nothing is there: a blank line more, and nothing behind it",
    (
        "_native/csp/marks.h",
        "if (end [< -> <=] bound && !final) return CSP_UNDECIDED;",
    ): "more is waited for, and then the same is said",
    (
        "_native/csp/marks.h",
        "if (end [> -> >=] start) {",
    ): "an empty part is a semicolon between two others, which is no space",
    (
        "_native/csp/marks.h",
        "if (at == start + size || at == stop) [continue; -> break;]",
    ): "no two of the words begin alike",
    (
        "_native/csp/fast_path.h",
        "if (at [+ -> -] 1 >= stop || text[at] != ' ') return 0;",
    ): "a name with a space behind it that ends the line has no sign behind that",
    (
        "_native/csp/fast_path.h",
        "if (at + 1 [>= -> >] stop || text[at] != ' ') return 0;",
    ): "a name with a space behind it that ends the line has no sign behind that",
    (
        "_native/csp/fast_path.h",
        "return (sign == '+' || sign == '~') && at [< -> <=] stop && text[at] == '=' && (at + 1 == stop || text[at + 1] == ' ');",
    ): "the end of the line is no sign",
    (
        "_native/csp/window.h",
        "int blocks = whole [< -> <=] CSP_BLOCKS ? (int)whole : CSP_BLOCKS;",
    ): "both are the same number then",
    (
        "_native/csp/fast_path.h",
        "if (k->hash_key[slot] != word || intent < 0 || intent [> -> >=] 7) return CSP_SLOW;",
    ): "one intent goes the long way",
    (
        "_native/csp/fast_path.h",
        "return way == CSP_PRIORITY && stop - value == 2 && text[value] == 'P' && text[value + 1] >= '1' && text[value + 1] [<= -> <] '3';",
    ): "one priority goes the long way",
    (
        "_native/csp/fast_path.h",
        "return way == CSP_PRIORITY && stop - value == 2 && text[value] == 'P' && text[value [+ -> -] 1] >= '1' && text[value + 1] <= '3';",
    ): "priorities go the long way",
    (
        "_native/csp/fast_path.h",
        "if (key->way != CSP_ANY [&& -> ||] key->way != CSP_HEREDOC) return CSP_SLOW;",
    ): "heredocs go the long way",
    (
        "_native/csp/fast_path.h",
        "if (text[line] != '>') [continue; -> break;]",
    ): "heredocs go the long way",
    (
        "_native/csp/fast_path.h",
        "if (size == 0 || size > c->most_key || line + size == found || ++fields [> -> >=] c->most_fields) return CSP_SLOW;",
    ): "the last field goes the long way",
    (
        "_native/csp/fast_path.h",
        "return (length == 2 && (word & 0xffff) == 0x4b4f) [|| -> &&] (length == 4 && (uint32_t)word == 0x4c494146) ||",
    ): "OK and FAIL go the long way",
    (
        "_native/csp/fast_path.h",
        "if (csp_may_be_high(w, w->base + start, w->base + c.place) [&& -> ||] csp_bad_utf8(c.text, start, c.place) >= 0) break;",
    ): "what has a byte above 127 goes the long way",
    (
        "_native/csp/fast_path.h",
        "c.place = found [+ -> -] 1;",
    ): "all messages go the long way",
    (
        "_native/csp/fast_path.h",
        "for (int at = stop + 1; at [< -> <=] found; at++)",
    ): "operations on files go the long way",
    (
        "_native/csp/fast_path.h",
        '(csp_prefix((word) ^ csp_load((const uint8_t *)literal "\\0\\0\\0\\0\\0\\0\\0"), (int)sizeof(literal) - [1 -> 0]) == 0)',
    ): "all messages go the long way",
    (
        "_native/csp/fast_path.h",
        "if (run [< -> <=] 3 || c->place + run != found) return CSP_SLOW;",
    ): "heredocs of three signs go the long way",
    (
        "_native/csp/fast_path.h",
        "if (at != run || !(line + at == found || (line + at [+ -> -] 1 == found && text[found - 1] == '\\r'))) continue;",
    ): "heredocs of lines that end with CR LF go the long way",
    (
        "_native/csp/fast_path.h",
        "if (key->way [&& -> ||] !csp_fast_value(text, value, found, key->way)) return CSP_SLOW;",
    ): "values in one line go the long way",
    (
        "_native/space/letter.h",
        "return seen == (1u << TW_FIELDS) - [1 -> 0] ? TW_FIELDS : seen == (1u << TW_CORRELATION) - 1 ? TW_CORRELATION : 0;",
    ): "envelopes with all fields go the long way",
    (
        "_native/space/letter.h",
        "if (p >= w->end || *p [!= -> ==] '\"' || !(p = tw_part_at(w, p + 1, &parts[at]))) return 0;",
    ): "all envelopes go the long way",
    (
        "_native/space/letter.h",
        "return p [+ -> -] 1;",
    ): "all envelopes go the long way",
    (
        "_native/space/letter.h",
        "(p[19] == '8' || p[19] == '9' [|| -> &&] (p[19] | 32) == 'a' || (p[19] | 32) == 'b');",
    ): "identifiers of two variants go the long way",
    (
        "_native/space/letter.h",
        "behind = p < w->end && *p [>= -> >] 0x80 ? p : turnwire_plain(p, w->end);",
    ): "a byte that begins no character is not plain, either",
    (
        "_native/space/letter.h",
        "for (; p < end && *p [!= -> ==] '\\\\'; p++)",
    ): "all channels go the long way",
    (
        "_native/space/letter.h",
        "if (at [< -> <=] last) w->own = 0; /* writing has them in their usual order */",
    ): "envelopes are written anew, as they were",
    (
        "_native/space/plain.h",
        "for (; i < n && d[i] [!= -> ==] '\\n'; i++)",
    ): "all documents go the long way",
    (
        "_native/space/format.h",
        "if (!(hit[0] | hit[1] | hit[2] | hit[3])) [continue; -> break;]",
    ): "the rest is searched in shorter steps",
    (
        "_native/space/format.h",
        "if (kind != 1 || b >= n) return b [< -> <=] n ? b : n;",
    ): "both are the same number then",
    (
        "_native/space/format.h",
        "if (kind != 1 || b [>= -> >] n) return b < n ? b : n;",
    ): "the NUL behind a text continues no character",
    (
        "_native/space/format.h",
        "if (kind != 1 [|| -> &&] b >= n) return b < n ? b : n;",
    ): "a window of wide text ends up to three units before: any unit will do",
    (
        "_native/space/units.h",
        "for (size_t k = run; k [< -> <=] b; k++)",
    ): "the end of the line is no backtick",
    (
        "_native/space/units.h",
        "while (i < b && i - a [< -> <=] 4 && d[i] == ' ') i++;",
    ): "five spaces are more than three, too",
    (
        "_native/space/format.h",
        "for (size_t i = from; i [< -> <=] n; i++)",
    ): "the NUL behind a text is no surrogate",
    (
        "_native/nslip/rows.h",
        "size_t end = k->size - p [> -> >=] k->limit ? p + k->limit : k->size;",
    ): "both are the same number then",
    (
        "_native/nslip/lanes.h",
        "p += size - p [< -> <=] 64 ? size - p : 64;",
    ): "both are the same number then",
    (
        "_native/nslip/parse.h",
        "return tw_candidate(s, p, end - p [> -> >=] limit ? p + limit : end) == TW_CANDIDATE;",
    ): "both are the same place then",
    (
        "_native/csp/fast_path.h",
        "while (at < stop && ((uint8_t)(text[at] - 'A') < 26 || (uint8_t)(text[at] - '0') < 10 [|| -> &&] text[at] == '_')) at++;",
    ): "names with digits or underscores go the long way",
    (
        "_native/csp/window.h",
        'if (level [>= -> >] 2 && TW_PROCESSOR_HAS("avx512bw") && TW_PROCESSOR_HAS("avx512vbmi2")) return csp_list_avx512;',
    ): "the code for AVX2 is taken, which lists the same",
}
