"""Tasks and results that are judged by their text: the compiled twin of ``csp/_texts_py.py``, which tells the rules.

What is not ASCII is left to the twin.
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.mem cimport PyMem_Calloc, PyMem_Free
from libc.stdint cimport int64_t, uint8_t
from libc.string cimport memchr, memcmp

from turnwire.csp._texts_py import MOST_KEPT, Texts as _Twin
from turnwire.csp.prose import LEAST_SMALL as _LEAST_SMALL, kind_of_word

cdef extern from "Python.h":
    const char *PyUnicode_AsUTF8AndSize(object, Py_ssize_t *) except NULL
    str PyUnicode_FromStringAndSize(const char *, Py_ssize_t)
    bint PyUnicode_IS_ASCII "PyUnicode_IS_COMPACT_ASCII" (object)

cdef extern from "_native/csp/words.h" nogil:
    ctypedef union csp_word:
        uint8_t letters[16]
    enum:
        CSP_WORD_MOST
        CSP_WORD_ROOM
    bint csp_is_letter(uint8_t sign)
    csp_word csp_word_at(const uint8_t *text, int64_t size, int64_t *length)
    csp_word *csp_word_place(csp_word *table, const csp_word *word)
    int csp_word_known(const csp_word *there, const csp_word *word)
    int64_t csp_find(const uint8_t *text, int64_t size, const uint8_t *what, int64_t length)

cdef enum:
    NO, YES, ASK  # "ask" the twin
    SMALL = 2
    TELLING = 3
    MOST_VALUES = 8

cdef int LEAST_SMALL = _LEAST_SMALL
cdef int KEPT = MOST_KEPT

cdef struct Piece:  # of a text; NULL: it is not there
    const uint8_t *at
    int64_t size


cdef inline str text_of(Piece piece):
    return PyUnicode_FromStringAndSize(<const char *>piece.at, piece.size)


cdef inline bint is_space(uint8_t sign) noexcept nogil:
    return sign == 32 or 9 <= sign <= 13 or 28 <= sign <= 31


cdef inline bint next_token(Piece *rest, Piece *token) noexcept nogil:
    """Takes what stands in front of the next comma, without white space around it."""
    cdef const uint8_t *comma
    if rest.at == NULL:
        return False
    token.at = rest.at
    comma = <const uint8_t *>memchr(rest.at, 44, <size_t>rest.size)
    if comma == NULL:
        token.size = rest.size
        rest.at = NULL
    else:
        token.size = comma - rest.at
        rest.size -= token.size + 1
        rest.at = comma + 1
    while token.size and is_space(token.at[0]):
        token.at += 1
        token.size -= 1
    while token.size and is_space(token.at[token.size - 1]):
        token.size -= 1
    return True


cdef inline bint is_defined_name(Piece token) noexcept nogil:
    """Whether it has the form of a defined name, and not that of an id that is given."""
    cdef int64_t at
    cdef bint given = True
    if token.size < 2 or not (65 <= token.at[0] <= 90 or token.at[0] == 95):
        return False
    for at in range(1, token.size):
        if not 48 <= token.at[at] <= 57:
            given = False
            if not (65 <= token.at[at] <= 90 or token.at[at] == 95):
                return False
    return not given or token.at[0] == 95


cdef inline bint take(Piece *rest, const char *key, int64_t size, Piece *value) noexcept nogil:
    """Takes a line that begins with a key, if it is the next one; the value is what follows."""
    cdef const uint8_t *stop
    value.at = NULL
    value.size = 0
    if rest.size < size or memcmp(rest.at, key, <size_t>size):
        return False
    value.at = rest.at + size
    stop = <const uint8_t *>memchr(value.at, 10, <size_t>(rest.size - size))
    value.size = (rest.at + rest.size if stop == NULL else stop) - value.at
    rest.at = value.at + value.size
    rest.size -= size + value.size
    return True


cdef inline bint is_task_id(Piece value) noexcept nogil:
    """Whether digits follow the T, which is not part of the value."""
    cdef int64_t at
    for at in range(value.size):
        if not 48 <= value.at[at] <= 57:
            return False
    return value.size > 0


cdef class Texts:
    """Judges tasks and results by their text."""

    cdef object twin, context, tell, ask
    cdef dict waiting, heads, unrouted, names, values
    cdef list laws  # their texts as bytes; None where they are many
    cdef bint stateful, routed, task_told, result_told
    cdef str head
    cdef csp_word *table

    def __cinit__(self):
        self.table = <csp_word *>PyMem_Calloc(CSP_WORD_ROOM, sizeof(csp_word))
        if self.table == NULL:
            raise MemoryError

    def __dealloc__(self):
        PyMem_Free(self.table)

    def __init__(self, context, dict waiting, spoken, unrouted):
        self.twin = _Twin(context, waiting, spoken, unrouted)
        self.context, self.waiting, self.tell, self.ask = context, waiting, spoken, unrouted
        self.heads, self.unrouted = {}, {}
        self.names, self.values, self.laws, self.head = {}, {}, [], ""

    def know(self, bint stateful, bint routed, dict names, dict values):
        """Takes what is known."""
        self.twin.know(stateful, routed, names, values)
        self.stateful, self.routed, self.names, self.values = stateful, routed, names, values
        few = self.context.law_texts.few
        self.laws = None if few is None else [text.encode("utf-8", "surrogatepass") for text in few]
        self.unrouted.clear()
        self.task_told = self.result_told = False

    def go_on(self, str head not None):
        """Takes the head."""
        self.twin.go_on(head)
        self.head = head

    def read(self, bytes raw not None):
        """Sender, receiver, CTX, intent and body of a message at the head; None where its header has another form."""
        return self.twin.read(raw)

    def settled(self, bytes raw not None, line, offset):
        """Whether the message was judged; otherwise nothing was. None: it has another intent."""
        cdef Piece rest, ctx
        cdef tuple way
        cdef int done
        cdef bint task
        rest.at, rest.size = <const uint8_t *>PyBytes_AS_STRING(raw), PyBytes_GET_SIZE(raw)
        while rest.size and rest.at[rest.size - 1] == 10:
            rest.size -= 1
        way = self.header(&rest, &ctx)
        task = take_word(&rest, b"\nINTENT TASK\n\nTASK T", 20)
        if way is None or not (task or take_word(&rest, b"\nINTENT RESULT\n\nRESULT T", 24)):
            return self.twin.settled(raw, line, offset)
        name = self.context_of(ctx)
        if name is None:
            return False
        if memchr(rest.at, 13, <size_t>rest.size) != NULL:
            return False
        if task:
            done = self.a_task(rest, way, name, line, offset)
        else:
            done = self.a_result(rest, way)
        if done == ASK:
            return self.twin.settled(raw, line, offset)
        if done == YES:
            agents = self.context.agents
            agents.add(way[0])
            agents.add(way[1])
            if not (self.task_told if task else self.result_told):
                self.tell("TASK" if task else "RESULT")
                if task:
                    self.task_told = True
                else:
                    self.result_told = True
        return done == YES

    def quiet(self, str sender not None, str receiver not None, tuple values not None):
        """Whether the rules about values surely say nothing."""
        cdef Piece pieces[MOST_VALUES]
        cdef int count = 0, done = ASK
        cdef Py_ssize_t size
        if len(values) <= MOST_VALUES and PyUnicode_IS_ASCII(sender) and PyUnicode_IS_ASCII(receiver):
            for value in values:
                pieces[count].at, pieces[count].size = NULL, 0
                if value:
                    pieces[count].at = <const uint8_t *>PyUnicode_AsUTF8AndSize(value, &size)
                    pieces[count].size = size
                    if memchr(pieces[count].at, 10, <size_t>size) != NULL:
                        break
                count += 1
            else:
                done = self.is_quiet(pieces, count, names_in(sender, receiver))
        return self.twin.quiet(sender, receiver, values) if done == ASK else done == YES

    cdef tuple header(self, Piece *rest, Piece *ctx):
        """Sender, receiver and the names in both, of a header in ASCII up to its CTX, which is taken; else None."""
        cdef Piece sender, receiver, whole
        cdef tuple found
        whole = rest[0]
        if not (take(rest, b"CSP/1\nFROM ", 11, &sender) and take(rest, b"\nTO ", 4, &receiver)):
            return None
        whole.size = rest.at - whole.at
        if not take(rest, b"\nCTX ", 5, ctx) or not is_word(ctx[0]):
            return None
        key = PyBytes_FromStringAndSize(<const char *>whole.at, whole.size)
        known = self.heads.get(key)
        if known is not None:
            return <tuple>known
        if not is_word(sender) or not is_word(receiver):
            return None
        if len(self.heads) >= KEPT:
            self.heads.clear()
        found = text_of(sender), text_of(receiver), names_in(text_of(sender), text_of(receiver))
        self.heads[key] = found
        return found

    cdef str context_of(self, Piece ctx):
        """The CTX of a message; None where it must not be judged here."""
        cdef Py_ssize_t size
        if PyUnicode_IS_ASCII(self.head):
            head = PyUnicode_AsUTF8AndSize(self.head, &size)
            if size == ctx.size and memcmp(head, ctx.at, <size_t>size) == 0:
                return self.head
        return None if self.stateful else text_of(ctx)

    cdef int is_quiet(self, Piece *values, int count, list names) except -1:
        """Whether the rules about values surely say nothing, or ASK. names: the sender's and the receiver's."""
        cdef int each, small = 0, done
        cdef bint any_text = False
        cdef Piece rest, token
        for each in range(count):
            if values[each].size:
                any_text = True
                done = self.are_quiet_words(values[each], &small)
                if done != YES:
                    return done
        if small >= LEAST_SMALL:
            return NO
        if self.laws is None:
            return ASK
        for law in self.laws:
            for each in range(count):
                if csp_find(values[each].at, values[each].size, <const uint8_t *>PyBytes_AS_STRING(law),
                            PyBytes_GET_SIZE(law)) >= 0:
                    return NO
        if not self.values:
            return YES
        for name in names:
            if name in self.values:
                return NO
        if not any_text:
            return NO if "" in self.values else YES
        for each in range(count):
            rest = values[each]
            while rest.size and next_token(&rest, &token):
                if text_of(token) in self.values:
                    return NO
                if rest.at != NULL and not rest.size:
                    if "" in self.values:
                        return NO
                    break
        return YES

    cdef int ask_quiet(self, Piece *values, int count, tuple way) except -1:
        """What the twin says of them."""
        cdef int each
        texts = tuple([text_of(values[each]) for each in range(count)])
        return YES if self.twin.quiet(way[0], way[1], texts) else NO

    cdef int are_quiet_words(self, Piece value, int *small) except -1:
        """Whether no word of a value may be filler, or ASK; counts the small words."""
        cdef int64_t at = 0, length
        cdef csp_word word
        cdef csp_word *place
        cdef int kind
        while at < value.size:
            if not csp_is_letter(value.at[at]):
                if value.at[at] >= 128:
                    return ASK
                if value.at[at] == 39:
                    return NO
                at += 1
                continue
            word = csp_word_at(value.at + at, value.size - at, &length)
            place = csp_word_place(self.table, &word)
            kind = csp_word_known(place, &word) if length <= CSP_WORD_MOST else 0
            if not kind:
                kind = kind_of_word((<bytes>value.at[at : at + length]).decode().lower())
                if length <= CSP_WORD_MOST:
                    word.letters[CSP_WORD_MOST] = <uint8_t>kind
                    place[0] = word
            if kind == TELLING or speaks(value, at, length):
                return NO
            small[0] += kind == SMALL
            at += length
        return YES

    cdef bint is_defined(self, Piece value, tuple way) except -1:
        """Whether all that a scope names is known."""
        cdef Piece rest = value, token
        if not value.size or not self.names:
            return True
        while next_token(&rest, &token):
            if is_defined_name(token):
                name = text_of(token)
                if not (name in self.names or name in self.context.agents or name in self.context.produced
                        or name == way[0] or name == way[1]):
                    return False
        return True

    cdef bint is_unrouted(self, Piece req) except -1:
        """Whether surely no law is about a task."""
        cdef const uint8_t *stop = <const uint8_t *>memchr(req.at, 32, <size_t>req.size)
        if stop != NULL:
            req.size = stop - req.at
        word = text_of(req)
        known = self.unrouted.get(word)
        if known is None:
            if len(self.unrouted) >= KEPT:
                self.unrouted.clear()
            known = self.unrouted[word] = self.ask(word)
        return known

    cdef int a_task(self, Piece rest, tuple way, str ctx, object line, object offset) except -1:
        cdef Piece name
        cdef Piece values[5]  # REQ, IN, OUT, OWNER, PRIORITY
        cdef int done
        take(&rest, b"", 0, &name)
        if not is_task_id(name) or not take(&rest, b"\nREQ ", 5, &values[0]):
            return NO
        take(&rest, b"\nIN ", 4, &values[1])
        take(&rest, b"\nOUT ", 5, &values[2])
        take(&rest, b"\nOWNER ", 7, &values[3])
        take(&rest, b"\nPRIORITY ", 10, &values[4])
        if rest.size:
            return NO
        done = self.is_quiet(values, 5, <list>way[2])
        if done == ASK and is_ascii(values[1]) and is_ascii(values[3]):
            done = self.ask_quiet(values, 5, way)
        if done != YES:
            return done
        if not (self.is_defined(values[1], way) and self.is_defined(values[3], way)):
            return NO
        if self.routed and not self.is_unrouted(values[0]):
            return NO
        task = numbered(name)
        self.context.tasks[task] = ctx
        final = <dict>self.context.final
        if final:
            final.pop(task, None)
        self.waiting[task] = line, offset, text_of(values[3]) if values[3].size else way[1]
        return YES

    cdef int a_result(self, Piece rest, tuple way) except -1:
        cdef Piece name, token
        cdef Piece values[3]  # STATUS, PRODUCED, DATA
        cdef int done
        take(&rest, b"", 0, &name)
        if not is_task_id(name) or not take(&rest, b"\nSTATUS ", 8, &values[0]):
            return NO
        take(&rest, b"\nPRODUCED ", 10, &values[1])
        take(&rest, b"\nDATA ", 6, &values[2])
        if rest.size:
            return NO
        task = numbered(name)
        if task not in self.context.tasks or task in self.context.final:
            return NO
        done = self.is_quiet(values, 3, <list>way[2])
        if done == ASK and is_ascii(values[1]):
            done = self.ask_quiet(values, 3, way)
        if done != YES:
            return done
        produced = self.context.produced
        if not values[1].size:
            produced.add("")
        else:
            while next_token(&values[1], &token):
                produced.add(text_of(token))
        status = text_of(values[0])
        if status != "PARTIAL":
            self.context.final[task] = status
            self.waiting.pop(task, None)
        return YES


cdef inline str numbered(Piece digits):
    """The id of a task: the T in front of its digits is there."""
    return PyUnicode_FromStringAndSize(<const char *>digits.at - 1, digits.size + 1)


cdef inline bint take_word(Piece *rest, const char *key, int64_t size) noexcept nogil:
    if rest.size < size or memcmp(rest.at, key, <size_t>size):
        return False
    rest.at += size
    rest.size -= size
    return True


cdef inline bint is_word(Piece value) noexcept nogil:
    """Whether it is one word of ASCII."""
    cdef int64_t at
    for at in range(value.size):
        if value.at[at] >= 128 or is_space(value.at[at]):
            return False
    return value.size > 0


cdef inline bint is_ascii(Piece value) noexcept nogil:
    cdef int64_t at
    for at in range(value.size):
        if value.at[at] >= 128:
            return False
    return True


cdef inline bint speaks(Piece value, int64_t at, int64_t size) noexcept nogil:
    """Whether there is LAWS in a word, or DEF at its end with a blank behind it."""
    cdef const uint8_t *word = value.at + at
    if size >= 4 and csp_find(word, size, <const uint8_t *>b"LAWS", 4) >= 0:
        return True
    return size >= 3 and memcmp(word + size - 3, b"DEF", 3) == 0 and at + size < value.size and word[size] == 32


cdef list names_in(str sender, str receiver):
    """What stands between commas in two names."""
    return [name.strip() for name in f"{sender},{receiver}".split(",")]
