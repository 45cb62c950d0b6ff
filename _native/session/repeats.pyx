"""What comes again in a block; see ``session/_repeats_py.py``."""

from cpython.mem cimport PyMem_Free, PyMem_Malloc, PyMem_Realloc
from cpython.unicode cimport PyUnicode_GET_LENGTH, PyUnicode_Substring
from libc.stdlib cimport qsort
from libc.string cimport memcmp, memset

from turnwire.session._repeats_py import BARE as _BARE
from turnwire.session._repeats_py import LONGEST as _LONGEST
from turnwire.session._repeats_py import MOST_PIECES as _MOST_PIECES
from turnwire.session._repeats_py import NAMING as _NAMING
from turnwire.session._repeats_py import alphabet_of as _alphabet_of

cdef extern from "Python.h":
    int PyUnicode_KIND(object text)
    void* PyUnicode_DATA(object text)
    Py_UCS4 PyUnicode_READ(int kind, void* data, Py_ssize_t at) noexcept
    object PyUnicode_FromKindAndData(int kind, const void* data, Py_ssize_t size)
    int PyUnicode_Compare(object one, object other) except? -1

cdef enum:
    BUCKETS = 4096
    TRIPLES = 16384
    HIDDEN = 0x110000

cdef int most_pieces = _MOST_PIECES
cdef double naming = _NAMING
cdef Py_ssize_t longest = _LONGEST


include "_native/session/uuids.pxi"


cdef class Expander:
    """Puts back what aliases are, and the hyphens of UUIDs, body by body; see the twin."""

    cdef readonly str first
    cdef bint bare
    cdef unsigned int low, high
    cdef list known

    def __init__(self, str first not None=""):
        letter = first.removesuffix(_BARE)
        alphabet = _alphabet_of(letter) if letter else None
        if letter and alphabet is None:
            raise ValueError(f"there is no alphabet of aliases that begins with {letter!r}")
        self.first, self.bare = first, letter != first
        if letter:
            self.low, self.high = ord(alphabet.first), ord(alphabet.last)
            self.known = [None] * (self.high - self.low + 1)

    cdef Py_ssize_t alias(self, int kind, void* data, Py_ssize_t at, Py_ssize_t size) noexcept:
        """Where the next alias is; ``size`` where there is none."""
        cdef unsigned int letter
        while at < size:
            letter = <unsigned int>PyUnicode_READ(kind, data, at)
            if self.low <= letter <= self.high:
                return at
            at += 1
        return size

    def expand(self, str body not None):
        """A body with the texts of its aliases and the hyphens of its UUIDs; see the twin."""
        return hyphened(self.filled(body)) if self.bare else self.filled(body)

    cdef str filled(self, str body):
        """A body with the texts of its aliases."""
        cdef Py_ssize_t size = PyUnicode_GET_LENGTH(body), whole = size, at, after, behind
        cdef int kind = PyUnicode_KIND(body)
        cdef void* data = PyUnicode_DATA(body)
        cdef unsigned int letter
        cdef list found
        cdef object text
        if self.known is None or kind == 1:
            return body
        at = self.alias(kind, data, 0, size)
        if at == size:
            return body
        found = [PyUnicode_Substring(body, 0, at)]
        while at < size:
            letter = <unsigned int>PyUnicode_READ(kind, data, at)
            after = self.alias(kind, data, at + 1, size)
            text = self.known[letter - self.low]
            if text is not None:
                found.append(text)
                found.append(PyUnicode_Substring(body, at + 1, after))
                whole += PyUnicode_GET_LENGTH(text)
                if whole > longest:
                    raise ValueError(f"a record has more than {longest} letters with its aliases filled in")
                at = after
                continue
            if after == at + 1 or (after < size and <unsigned int>PyUnicode_READ(kind, data, after) != letter):
                raise ValueError("an alias is given a text that is empty or holds another one")
            text = PyUnicode_Substring(body, at + 1, after)
            self.known[letter - self.low] = text
            found.append(text)
            at = after
            if after < size:
                at = self.alias(kind, data, after + 1, size)
                found.append(PyUnicode_Substring(body, after + 1, at))
        return "".join(found)


cdef inline unsigned int bucket(Py_UCS4 one, Py_UCS4 other) noexcept nogil:
    return (<unsigned int>one * 61 + <unsigned int>other) & (BUCKETS - 1)


cdef inline unsigned int triple(Py_UCS4 one, Py_UCS4 other, Py_UCS4 third) noexcept nogil:
    cdef unsigned int mixed = (<unsigned int>one * 61 + <unsigned int>other) * 101 + <unsigned int>third
    return (mixed ^ (mixed >> 14)) & (TRIPLES - 1)


cdef struct Saved:
    double each  # what an alias of a text saves each time
    Py_ssize_t rare  # where its rarest letters are
    int times  # how often it was there after so many replacements
    int changes
    bint exact


cdef struct Ranked:
    double gain
    int number


cdef inline double gained(double saving, int times) noexcept:
    return (times - 1) * saving - naming if times > 1 else 0.0


cdef inline bint precedes(Ranked one, Ranked other, list texts) except -1:
    """Whether one of two texts saves more, or as much and is the lesser one."""
    if one.gain != other.gain:
        return one.gain > other.gain
    return PyUnicode_Compare(texts[one.number], texts[other.number]) < 0


cdef int push(Ranked* heap, Py_ssize_t at, double gain, int number, list texts) except -1:
    """Adds a text to a heap of ``at`` texts."""
    cdef Ranked own
    cdef Py_ssize_t above
    own.gain, own.number = gain, number
    while at:
        above = (at - 1) >> 1
        if not precedes(own, heap[above], texts):
            break
        heap[at] = heap[above]
        at = above
    heap[at] = own
    return 0


cdef int sink(Ranked* heap, Py_ssize_t size, list texts) except -1:
    """Removes the first text of a heap that has ``size`` texts without it."""
    cdef Ranked own = heap[size]
    cdef Py_ssize_t at = 0, below = 1
    while below < size:
        if below + 1 < size and precedes(heap[below + 1], heap[below], texts):
            below += 1
        if not precedes(heap[below], own, texts):
            break
        heap[at] = heap[below]
        at = below
        below = 2 * at + 1
    heap[at] = own
    return 0


cdef class Index:
    """A text in which others are counted, and replaced by aliases one after the other; see the twin.

    now: its letters; an alias stands where what it replaces began, HIDDEN for each other letter of that. after: the
    places of each three letters, those of one hash in a chain; heads: where each chain begins, sizes: their lengths.
    pair_after, pair_heads: of each two letters, for texts of two; NULL until one is looked for. wanted: the text that is
    looked for, and room; long: its letters.
    """

    cdef str text
    cdef Py_ssize_t size, longer
    cdef int[TRIPLES] heads, sizes
    cdef int[BUCKETS] pair_heads
    cdef int* after
    cdef int* pair_after
    cdef Py_UCS4* now
    cdef Py_UCS4* wanted
    cdef Py_ssize_t room, long
    cdef dict replaced

    def __cinit__(self, str text not None):
        cdef Py_ssize_t at
        cdef unsigned int own
        cdef int kind = PyUnicode_KIND(text)
        cdef void* data = PyUnicode_DATA(text)
        self.text, self.size, self.longer, self.replaced = text, PyUnicode_GET_LENGTH(text), 0, {}
        if self.size > 1 << 30:
            raise OverflowError("the text is too long")
        self.after = <int*>PyMem_Malloc((self.size + 1) * sizeof(int))
        self.now = <Py_UCS4*>PyMem_Malloc((self.size + 1) * sizeof(Py_UCS4))
        if self.after is NULL or self.now is NULL:
            raise MemoryError
        memset(self.heads, 255, sizeof(self.heads))
        memset(self.sizes, 0, sizeof(self.sizes))
        for at in range(self.size):
            self.now[at] = PyUnicode_READ(kind, data, at)
        for at in range(self.size - 3, -1, -1):
            own = triple(self.now[at], self.now[at + 1], self.now[at + 2])
            self.after[at] = self.heads[own]
            self.heads[own] = <int>at
            self.sizes[own] += 1

    def __dealloc__(self):
        PyMem_Free(self.after)
        PyMem_Free(self.pair_after)
        PyMem_Free(self.now)
        PyMem_Free(self.wanted)

    cdef int look_at_pairs(self) except -1:
        """Makes the chains of pairs. Those of letters that are replaced by now do no harm: ``following`` compares."""
        cdef Py_ssize_t at
        cdef unsigned int own
        cdef int kind = PyUnicode_KIND(self.text)
        cdef void* data = PyUnicode_DATA(self.text)
        self.pair_after = <int*>PyMem_Malloc((self.size + 1) * sizeof(int))
        if self.pair_after is NULL:
            raise MemoryError
        memset(self.pair_heads, 255, sizeof(self.pair_heads))
        for at in range(self.size - 2, -1, -1):
            own = bucket(PyUnicode_READ(kind, data, at), PyUnicode_READ(kind, data, at + 1))
            self.pair_after[at] = self.pair_heads[own]
            self.pair_heads[own] = <int>at
        return 0

    cdef Py_ssize_t rarest(self, str part) except -1:
        """Where in a text of two letters or more the three letters are (the two, where it has no more) that are rarest
        here."""
        cdef Py_ssize_t at, rare = 0
        cdef unsigned int own, least = 0
        cdef int kind = PyUnicode_KIND(part)
        cdef void* data = PyUnicode_DATA(part)
        if PyUnicode_GET_LENGTH(part) < 2:
            raise ValueError("a text of two letters or more is looked for")
        if PyUnicode_GET_LENGTH(part) == 2 and self.pair_after is NULL:
            self.look_at_pairs()
        for at in range(PyUnicode_GET_LENGTH(part) - 2):
            own = self.hashed(kind, data, at)
            if at == 0 or self.sizes[own] < self.sizes[least]:
                rare, least = at, own
        return rare

    cdef inline unsigned int hashed(self, int kind, void* data, Py_ssize_t at) noexcept:
        return triple(
            PyUnicode_READ(kind, data, at), PyUnicode_READ(kind, data, at + 1), PyUnicode_READ(kind, data, at + 2)
        )

    cdef int want(self, str part) except -1:
        """Makes a text the one that ``following`` looks for."""
        cdef Py_ssize_t size = PyUnicode_GET_LENGTH(part), at
        cdef int kind = PyUnicode_KIND(part)
        cdef void* data = PyUnicode_DATA(part)
        cdef void* held
        if size > self.room:
            held = PyMem_Realloc(self.wanted, 2 * size * sizeof(Py_UCS4))
            if held is NULL:
                raise MemoryError
            self.wanted, self.room = <Py_UCS4*>held, 2 * size
        for at in range(size):
            self.wanted[at] = PyUnicode_READ(kind, data, at)
        self.long = size
        return 0

    cdef Py_ssize_t following(self, Py_ssize_t rare, int* chain, Py_ssize_t free) noexcept:
        """Where the wanted text comes next, from ``free`` on; -1 where it does not. rare: where in it the letters
        are of which the chain has the places that are left."""
        cdef Py_ssize_t place, last = self.size - self.long
        cdef const Py_UCS4* wanted = self.wanted
        cdef const Py_UCS4* now = self.now
        cdef const int* after = self.after if self.long > 2 else self.pair_after
        cdef Py_UCS4 first = wanted[0]
        cdef size_t rest = (self.long - 1) * sizeof(Py_UCS4)
        cdef int at = chain[0]
        while at >= 0:
            place = at - rare
            at = after[at]
            if free <= place <= last and now[place] == first and not memcmp(now + place + 1, wanted + 1, rest):
                chain[0] = at
                return place
        chain[0] = at
        return -1

    cdef int chain_of(self, str part, Py_ssize_t rare) noexcept:
        """The first place of the rarest letters of a text."""
        cdef int kind = PyUnicode_KIND(part)
        cdef void* data = PyUnicode_DATA(part)
        if PyUnicode_GET_LENGTH(part) > 2:
            return self.heads[self.hashed(kind, data, rare)]
        return self.pair_heads[bucket(PyUnicode_READ(kind, data, rare), PyUnicode_READ(kind, data, rare + 1))]

    def count(self, str part not None):
        """How often a text of two letters or more occurs in what is not replaced."""
        return self.counted(part, self.rarest(part))

    cdef int counted(self, str part, Py_ssize_t rare) except -1:
        """How often a text occurs of which the rarest letters are known."""
        cdef Py_ssize_t size = PyUnicode_GET_LENGTH(part), place
        cdef int found = 0, chain = self.chain_of(part, rare)
        self.want(part)
        place = self.following(rare, &chain, 0)
        while place >= 0:
            found += 1
            place = self.following(rare, &chain, place + size)
        return found

    def choose(self, dict savings not None, str used not None, dict letters not None, seen, saving, double worth):
        """Replaces texts by aliases: again and again the one that saves most of what is left; see the twin."""
        cdef list texts = list(savings)
        cdef Py_ssize_t many = len(texts), waiting = 0, number
        cdef int changes = 0
        cdef double gain, total = 0
        cdef dict found = {}
        cdef str text
        cdef Saved* known = <Saved*>PyMem_Malloc((many + 1) * sizeof(Saved))
        cdef Ranked* heap = <Ranked*>PyMem_Malloc((many + 1) * sizeof(Ranked))
        try:
            if known is NULL or heap is NULL:
                raise MemoryError
            for number in range(many):
                text = texts[number]
                known[number].each = savings[text]
                known[number].rare = self.rarest(text)
                known[number].times = self.counted(text, known[number].rare)
                known[number].changes = 0
                known[number].exact = text in seen
                gain = gained(known[number].each, known[number].times)
                if gain >= worth:
                    push(heap, waiting, gain, <int>number, texts)
                    waiting += 1
            while waiting and len(found) < PyUnicode_GET_LENGTH(used):
                number = heap[0].number
                waiting -= 1
                if waiting:
                    sink(heap, waiting, texts)
                text = texts[number]
                if known[number].changes != changes:
                    known[number].times = self.counted(text, known[number].rare)
                    known[number].changes = changes
                gain = gained(known[number].each, known[number].times)
                if gain >= worth and not known[number].exact:
                    known[number].exact = True
                    known[number].each = saving(text)
                    gain = gained(known[number].each, known[number].times)
                if gain < worth:
                    continue
                if waiting and gain < heap[0].gain:
                    push(heap, waiting, gain, <int>number, texts)
                    waiting += 1
                    continue
                self.replace(text, letters[text] if letters else used[len(found)])
                changes += 1
                found[text] = known[number].each
                total += gain
            return found, total
        finally:
            PyMem_Free(known)
            PyMem_Free(heap)

    def replace(self, str part not None, str alias not None):
        """Puts an alias, one letter, where a text of two letters or more is."""
        cdef Py_ssize_t size = PyUnicode_GET_LENGTH(part), rare = self.rarest(part), place, letter
        cdef int chain = self.chain_of(part, rare)
        cdef unsigned int own = ord(alias)
        self.replaced[own] = part
        self.longer += size + 2
        self.want(part)
        place = self.following(rare, &chain, 0)
        while place >= 0:
            self.now[place] = <Py_UCS4>own
            for letter in range(1, size):
                self.now[place + letter] = HIDDEN
            place = self.following(rare, &chain, place + size)

    def around(self, str part not None, Py_ssize_t places, Py_ssize_t letters):
        """What is before and behind a text where it comes first; see the twin."""
        cdef Py_ssize_t size = PyUnicode_GET_LENGTH(part), rare = self.rarest(part), place, at, begin, end
        cdef int chain = self.chain_of(part, rare)
        cdef Py_UCS4* shown
        cdef list found = []
        self.want(part)
        if letters < 0 or letters > self.size:
            letters = self.size
        shown = <Py_UCS4*>PyMem_Malloc((2 * letters + 1) * sizeof(Py_UCS4))
        if shown is NULL:
            raise MemoryError
        try:
            place = self.following(rare, &chain, 0)
            while place >= 0 and len(found) < places:
                begin = end = letters
                at = place - 1
                while at >= 0 and begin > 0 and self.now[at] != 0:
                    if self.now[at] != HIDDEN:
                        begin -= 1
                        shown[begin] = self.now[at]
                    at -= 1
                at = place + size
                while at < self.size and end < 2 * letters and self.now[at] != 0:
                    if self.now[at] != HIDDEN:
                        shown[end] = self.now[at]
                        end += 1
                    at += 1
                found.append((
                    PyUnicode_FromKindAndData(4, shown + begin, letters - begin),
                    PyUnicode_FromKindAndData(4, shown + letters, end - letters),
                ))
                place = self.following(rare, &chain, place + size)
            return found
        finally:
            PyMem_Free(shown)

    def named(self, dict letters not None):
        """The text with its aliases, each named where it comes first, as another letter where it has one."""
        cdef Py_ssize_t at, end = 0, next_at, size
        cdef Py_UCS4 letter
        cdef Py_UCS4* shown = <Py_UCS4*>PyMem_Malloc((self.size + self.longer + 1) * sizeof(Py_UCS4))
        cdef dict left = dict(self.replaced), others = {ord(alias): ord(other) for alias, other in letters.items()}
        cdef str part
        if shown is NULL:
            raise MemoryError
        try:
            for at in range(self.size):
                letter = self.now[at]
                if letter == HIDDEN:
                    continue
                if at + 1 == self.size or self.now[at + 1] != HIDDEN:
                    shown[end] = letter
                    end += 1
                    continue
                part = left.pop(<unsigned int>letter, None)
                letter = <Py_UCS4><unsigned int>others.get(<unsigned int>letter, <unsigned int>letter)
                shown[end] = letter
                end += 1
                if part is None:
                    continue
                size = PyUnicode_GET_LENGTH(part)
                for next_at in range(size):
                    shown[end] = PyUnicode_READ(PyUnicode_KIND(part), PyUnicode_DATA(part), next_at)
                    end += 1
                if at + size < self.size and self.now[at + size] != 0:
                    shown[end] = letter
                    end += 1
            return PyUnicode_FromKindAndData(4, shown, end)
        finally:
            PyMem_Free(shown)


def holds(str text not None, str first not None, str last not None):
    """Whether a letter of an alphabet is in a text; see the twin."""
    cdef Py_ssize_t at = 0, step, size = PyUnicode_GET_LENGTH(text)
    cdef int kind = PyUnicode_KIND(text)
    cdef void* data = PyUnicode_DATA(text)
    cdef unsigned int low = ord(first), high = ord(last), letter
    cdef bint found = False
    if kind == 1 and low > 255:
        return False
    while at + 64 <= size and not found:
        for step in range(64):
            letter = <unsigned int>PyUnicode_READ(kind, data, at + step)
            found |= letter - low <= high - low
        at += 64
    while at < size and not found:
        found = <unsigned int>PyUnicode_READ(kind, data, at) - low <= high - low
        at += 1
    return found


def neighbours(str text not None, str first not None, str last not None):
    """Two letters of an alphabet that stand side by side in a text, and how often; see the twin."""
    cdef Py_ssize_t at
    cdef int kind = PyUnicode_KIND(text)
    cdef void* data = PyUnicode_DATA(text)
    cdef unsigned int low = ord(first), high = ord(last), letter
    cdef bint before = False, now
    cdef dict found = {}
    for at in range(PyUnicode_GET_LENGTH(text) if kind > 1 else 0):
        letter = <unsigned int>PyUnicode_READ(kind, data, at)
        now = low <= letter <= high
        if before and now:
            pair = PyUnicode_Substring(text, at - 1, at + 1)
            found[pair] = found.get(pair, 0) + 1
        before = now
    return found


include "_native/session/pieces.pxi"
include "_native/session/runs.pxi"
