/* Callbacks by which the search for JSON asks a wire of lines about short texts, without a call of Python: the wire fills
 * the struct (csp), the search has a pointer to it (json/line_wires.h). */
#ifndef TURNWIRE_CLAIMS_H
#define TURNWIRE_CLAIMS_H

#include <stddef.h>
#include <stdint.h>

/* What a line wire claims of a text: [start, stop) is a record or damaged; of the latter, fault and reason. */
enum { TW_CLAIM_RECORD = 1, TW_CLAIM_DAMAGED = 2 };
typedef struct { size_t start, stop, fault; int what, wire, reason; } tw_claim;

enum { TW_MOST_CLAIMS = 64 };

typedef struct tw_short_texts {
    size_t longest;                          /* bytes of a text that may be asked about */
    size_t found;                            /* how many claims there were until now */
    void *owner;                             /* what `ask` needs */
    /* How many claims it left in `claims`, in order; or -1: there are more, or it failed, and the slow way tells them. */
    int (*ask)(struct tw_short_texts *self, const uint8_t *text, size_t size);
    tw_claim claims[TW_MOST_CLAIMS];
} tw_short_texts;

#define TW_SHORT_TEXTS "turnwire.short_texts"        /* the name of a capsule that holds one */

#endif
