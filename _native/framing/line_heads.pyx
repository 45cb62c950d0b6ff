"""Signs in lines, and in gaps between records, of things to look for, in C: twin of ``framing/_line_heads_py.py``."""

from libc.stdint cimport int64_t, uint8_t
from libc.string cimport memchr, memcmp

cdef enum:
    MOST_SHORT = 512  # bytes of a short line

cdef extern from "_native/framing/line_signs.h" nogil:
    int tw_line_signs(const uint8_t *s, size_t start, size_t stop, size_t *magic)
    int tw_signs_between(const uint8_t *s, const int64_t *starts, const int64_t *stops, size_t count, size_t start,
                         size_t stop)
    bint tw_only_records(const uint8_t *s, const int64_t *offset, const int64_t *length, size_t rows, int64_t base,
                         size_t stop, size_t size)
    bint tw_plain_gaps(const uint8_t *s, const int64_t *offset, const int64_t *length, size_t rows, int64_t base,
                       size_t start, size_t stop, int kind, int escapes)


def signs(const uint8_t[::1] data, Py_ssize_t start, Py_ssize_t stop):
    """(where the first line of ``data[start:stop]`` begins that looks like the first of a CSP/1 message, or -1; the bits of
    what the lines in front of it show, of all where there is none: CRI, DOCKER, MAGIC_BEHIND, SIGIL, FENCE). A line
    begins at ``start``."""
    cdef size_t magic = 0
    cdef int found
    if not 0 <= start <= stop <= data.shape[0]:
        raise ValueError("start and stop must lie in the data")
    if start == stop:
        return -1, 0
    with nogil:
        found = tw_line_signs(&data[0], start, stop, &magic)
    return (-1 if magic == <size_t>stop else <Py_ssize_t>magic), found


def signs_between(const uint8_t[::1] data, const int64_t[::1] starts, const int64_t[::1] stops, Py_ssize_t start,
                  Py_ssize_t stop):
    """The bits of what the lines of ``data[start:stop]`` show outside of claims, which go from ``starts`` to ``stops``, in
    order. A line begins at ``start``."""
    cdef int found
    if not 0 <= start <= stop <= data.shape[0] or starts.shape[0] != stops.shape[0]:
        raise ValueError("start and stop must lie in the data, and each claim have both")
    if start == stop:
        return 0
    cdef size_t count = starts.shape[0]
    with nogil:
        found = tw_signs_between(&data[0], &starts[0] if count else NULL, &stops[0] if count else NULL, count, start, stop)
    return found


def only_records(const uint8_t[::1] data, const int64_t[::1] offsets, const int64_t[::1] lengths, Py_ssize_t rows,
                 int64_t base, Py_ssize_t stop):
    """Whether ``data`` shows no signs outside of the records, and ``data[:stop]`` has no brace, quote, at sign or backslash
    there: then it has no record of JSON or nSLIP, nothing that was meant as one, and no string, whole or cut.

    offsets, lengths: of ``rows`` records in ``data`` in order, from ``base`` on. Lines begin with ``data`` and behind
    the records.
    """
    cdef bint only
    cdef Py_ssize_t size = data.shape[0]
    if not 0 <= stop <= size or min(offsets.shape[0], lengths.shape[0]) < rows:
        raise ValueError("stop and rows must lie in the data")
    if size == 0:
        return True
    with nogil:
        only = tw_only_records(&data[0], &offsets[0] if rows else NULL, &lengths[0] if rows else NULL, rows, base, stop,
                               size)
    return only


def plain_gaps(const uint8_t[::1] data, const int64_t[::1] offsets, const int64_t[::1] lengths, Py_ssize_t rows,
               int64_t base, Py_ssize_t start, Py_ssize_t stop, bint lines, bint escapes):
    """Whether nothing in ``data[start:stop]`` outside of the records can be more than the scan of their wire alone finds.

    offsets, lengths: of ``rows`` records in order, from ``base`` on. lines: whether the wire's records are lines
    (CSP/1), else they are tokens (nSLIP). escapes: whether a backslash counts, since something was damaged.
    """
    cdef bint plain
    if not 0 <= start <= stop <= data.shape[0] or min(offsets.shape[0], lengths.shape[0]) < rows:
        raise ValueError("start, stop and rows must lie in the data")
    if start == stop:
        return True
    with nogil:
        plain = tw_plain_gaps(&data[0], &offsets[0] if rows else NULL, &lengths[0] if rows else NULL, rows, base, start,
                              stop, lines, escapes)
    return plain


cdef inline Py_ssize_t line_of(const uint8_t *s, Py_ssize_t place, Py_ssize_t start) noexcept nogil:
    """Where the line begins in which ``place`` stands."""
    while place > start and s[place - 1] != c"\n":
        place -= 1
    return place


cdef inline bint is_part(const uint8_t *s, Py_ssize_t place, Py_ssize_t start) noexcept nogil:
    """Whether the "P" there, with a space or a colon behind it, is the mark of a part in a line of CRI: " stdout P ",
    " stderr P:tag "."""
    if place - start < 8 or s[place - 1] != c" ":
        return False
    return memcmp(s + place - 8, b" stdout", 7) == 0 or memcmp(s + place - 8, b" stderr", 7) == 0


cdef inline bint is_magic(const uint8_t *s, Py_ssize_t place, Py_ssize_t start, Py_ssize_t stop) noexcept nogil:
    """Whether the "P" there belongs to a "CSP/1" that ends a line, or to a template, and does not begin the line."""
    cdef Py_ssize_t first = place - 2
    cdef Py_ssize_t behind = place + 3
    if first <= start or s[first - 1] == c"\n" or behind >= stop or memcmp(s + first, b"CSP/1", 5):
        return False
    if s[behind] == c"\r":
        return behind + 1 < stop and s[behind + 1] == c"\n"
    if s[behind] == c" ":
        return stop - behind >= 6 and memcmp(s + behind, b" MODE;", 6) == 0
    return s[behind] == c"\n" or s[behind] == c";"


cdef inline bint is_digit(uint8_t c) noexcept nogil:
    return c >= c"0" and c <= c"9"


cdef bint is_again(const uint8_t *s, Py_ssize_t line, Py_ssize_t magic, Py_ssize_t stop) noexcept nogil:
    """Whether the "CSP/1" at ``magic`` ends a line that begins no message, since the next line is one like it, alike but
    for the digits. Where it might be one of CRI, or an operation of CSP/1, that is not said."""
    cdef Py_ssize_t place = magic + 5
    cdef Py_ssize_t p = line
    if s[line] == c"+" or s[line] == c"~" or s[line] == c"-" or (magic - line > 10 and s[line + 10] == c"T"):
        return False
    place += s[place] == c"\r"
    if s[place] != c"\n":
        return False
    place += 1
    while p < magic:
        if place == stop or is_digit(s[p]) != is_digit(s[place]):
            return False
        if not is_digit(s[p]):
            if s[p] != s[place]:
                return False
            p += 1
            place += 1
            continue
        while p < magic and is_digit(s[p]):
            p += 1
        while place < stop and is_digit(s[place]):
            place += 1
    if stop - place < 6 or memcmp(s + place, b"CSP/1", 5):
        return False
    return s[place + 5] == c"\n" or (s[place + 5] == c"\r" and place + 6 < stop and s[place + 6] == c"\n")


cdef inline bint begins(const uint8_t *s, Py_ssize_t left, const char *word, Py_ssize_t size) noexcept nogil:
    return left >= size and memcmp(s, word, size) == 0


cdef inline bint is_key(const uint8_t *s, Py_ssize_t left) noexcept nogil:
    """Whether a line begins as one of the header does, or betrays the Compact Symbol Protocol."""
    if begins(s, left, "FROM ", 5) or begins(s, left, "TO ", 3):
        return True
    if begins(s, left, "CTX ", 4) or begins(s, left, "INTENT ", 7):
        return True
    if begins(s, left, "STATUS", 6) or begins(s, left, "SCOPE", 5) or begins(s, left, "READ_RECS", 9):
        return True
    return begins(s, left, "POSITION", 8) or begins(s, left, "RESOLUTION", 10) or begins(s, left, "DEBATE", 6)


cdef bint is_refused(const uint8_t *s, Py_ssize_t line, Py_ssize_t magic, Py_ssize_t stop) noexcept nogil:
    """Whether the "CSP/1" at ``magic`` ends a line that begins no message, since the next line, a short one, can be none
    of it: it begins neither as that one does, nor as any line of a message may that has no prefix. Where it might be
    one of CRI, that is not said."""
    cdef Py_ssize_t place = magic + 5
    cdef Py_ssize_t end
    place += s[place] == c"\r"
    if s[place] != c"\n" or (magic - line > 10 and s[line + 10] == c"T"):
        return False
    place += 1
    if place == stop or s[place] == c" " or s[place] == c"\t" or s[place] == c"\r" or s[place] == c"\n":
        return False
    if s[place] == s[line] or (is_digit(s[place]) and is_digit(s[line])) or is_key(s + place, stop - place):
        return False
    end = place
    while end < stop and end - place < MOST_SHORT and s[end] != c"\n":
        if s[end] == c"C" and begins(s + end, stop - end, "Compact Symbol Protocol", 23):
            return False
        end += 1
    return end < stop and s[end] == c"\n"


def first_hint(const uint8_t[::1] data, Py_ssize_t start, Py_ssize_t stop):
    """Where the first line of ``data[start:stop]`` begins that may begin lines that belong together (a part in a log of
    CRI, "CSP/1" or a template of it behind a prefix), or -1; a line begins at ``start``."""
    cdef const uint8_t *s
    cdef const uint8_t *letter
    cdef Py_ssize_t found = -1
    cdef Py_ssize_t place
    cdef bint hint
    if not 0 <= start <= stop <= data.shape[0]:
        raise ValueError("start and stop must lie in the data")
    if start == stop:
        return -1
    s = &data[0]
    place = start
    with nogil:
        while place < stop:
            letter = <const uint8_t *>memchr(s + place, c"P", stop - place)
            if letter == NULL:
                break
            place = letter - s + 1
            if place == stop:
                break
            # Few letters are worth more than a look at what follows them.
            if s[place] == c"/":
                hint = is_magic(s, place - 1, start, stop)
            else:
                hint = (s[place] == c" " or s[place] == c":") and is_part(s, place - 1, start)
            if hint:
                found = line_of(s, place - 1, start)
                if s[place] != c"/":
                    break
                if not (is_again(s, found, place - 3, stop) or is_refused(s, found, place - 3, stop)):
                    break
                found = -1
    return found


def first_long(const uint8_t[::1] data, Py_ssize_t start, Py_ssize_t stop, Py_ssize_t least):
    """Where the first line of ``data[start:stop]`` begins that has ``least`` bytes or more, its end not counted, or -1;
    a line begins at ``start``."""
    cdef const uint8_t *s
    cdef Py_ssize_t line = start
    cdef Py_ssize_t place
    cdef bint found = False
    if not 0 <= start <= stop <= data.shape[0] or least < 1:
        raise ValueError("start and stop must lie in the data, and a long line has a byte at least")
    if start == stop:
        return -1
    s = &data[0]
    with nogil:
        while stop - line >= least:
            place = line_of(s, line + least, line)
            if place == line:
                found = True
                break
            line = place
    return line if found else -1


def header_lines(const uint8_t[::1] data, Py_ssize_t start, Py_ssize_t stop):
    """Where the lines of ``data[start:stop]`` begin that begin with the sigil of Space (U+2AFB), as a list; a line
    begins at ``start``."""
    cdef const uint8_t *s
    cdef const uint8_t *found
    cdef Py_ssize_t place = start
    cdef list lines = []
    if not 0 <= start <= stop <= data.shape[0]:
        raise ValueError("start and stop must lie in the data")
    if start == stop:
        return lines
    s = &data[0]
    while place < stop:
        found = <const uint8_t *>memchr(s + place, 0xE2, stop - place)
        if found == NULL:
            break
        place = found - s
        if place + 3 <= stop and found[1] == 0xAB and found[2] == 0xBB and (place == start or s[place - 1] == c"\n"):
            lines.append(place)
        place += 1
    return lines


cdef inline Py_ssize_t fence_of(const uint8_t *s, Py_ssize_t place, Py_ssize_t start, Py_ssize_t stop) noexcept nogil:
    """Where the line begins whose fence has its first sign there, or -1."""
    cdef Py_ssize_t line = place
    if place + 3 > stop or s[place + 1] != s[place] or s[place + 2] != s[place]:
        return -1
    while line > start and place - line < 3 and s[line - 1] == c" ":
        line -= 1
    return line if line == start or s[line - 1] == c"\n" else -1


def fence_lines(const uint8_t[::1] data, Py_ssize_t start, Py_ssize_t stop):
    """Where the lines of ``data[start:stop]`` begin that begin like code fences of Markdown (up to three spaces, then
    three backticks or tildes), as a list in order; a line begins at ``start``."""
    cdef const uint8_t *s
    cdef const uint8_t *found
    cdef Py_ssize_t place
    cdef Py_ssize_t line
    cdef int sign
    cdef list lines = []
    if not 0 <= start <= stop <= data.shape[0]:
        raise ValueError("start and stop must lie in the data")
    if start == stop:
        return lines
    s = &data[0]
    for sign in (96, 126):
        place = start
        while place < stop:
            found = <const uint8_t *>memchr(s + place, sign, stop - place)
            if found == NULL:
                break
            line = fence_of(s, found - s, start, stop)
            if line >= 0:
                lines.append(line)
            place = found - s + 1
    lines.sort()
    return lines


def fence_behind(const uint8_t[::1] data, Py_ssize_t start, Py_ssize_t stop, bytes fence not None, list spans not None):
    """(the run of the code fence that is open behind ``data[start:stop]``, b"" for none; behind the line that opened or
    closed one last, 0 where none did). A line begins at ``start``; fence: the run that is open in front of it. spans:
    what begins in one of these (start, stop), in order, is content."""
    cdef const uint8_t *s
    cdef const uint8_t *found
    cdef Py_ssize_t place = start
    cdef Py_ssize_t behind, rest, at, line, run, end
    cdef Py_ssize_t since = 0
    cdef Py_ssize_t count = len(spans)
    cdef Py_ssize_t number = 0  # of the first span that begins behind the line
    cdef Py_ssize_t[2] next_at
    cdef int sign, which
    cdef int open_sign = fence[0] if fence else 0
    cdef Py_ssize_t open_run = len(fence)
    cdef bint bare, backtick
    if not 0 <= start <= stop <= data.shape[0]:
        raise ValueError("start and stop must lie in the data")
    if start == stop:
        return fence, 0
    s = &data[0]
    next_at[0] = next_at[1] = start - 1
    while True:
        for which in range(2):
            if next_at[which] < place:
                found = <const uint8_t *>memchr(s + place, 126 if which else 96, stop - place) if place < stop else NULL
                next_at[which] = stop if found == NULL else found - s
        at = min(next_at[0], next_at[1])
        if at >= stop:
            break
        line = fence_of(s, at, start, stop)
        if line < 0:
            place = at + 1
            continue
        sign = s[at]
        rest = at
        while rest < stop and s[rest] == sign:
            rest += 1
        run = rest - at
        found = <const uint8_t *>memchr(s + rest, c"\n", stop - rest) if rest < stop else NULL
        end = stop if found == NULL else found - s
        behind = stop if found == NULL else end + 1
        place = behind
        while number < count and <Py_ssize_t>spans[number][0] <= line:
            number += 1
        if number and line < <Py_ssize_t>spans[number - 1][1]:
            continue
        if open_run:
            bare = True
            for at in range(rest, end - (end > rest and s[end - 1] == c"\r")):
                if s[at] != c" " and s[at] != c"\t":
                    bare = False
                    break
            if bare and sign == open_sign and run >= open_run:
                open_run, since = 0, behind
        else:
            backtick = sign == 96 and rest < end and memchr(s + rest, 96, end - rest) != NULL
            if not backtick:
                open_sign, open_run, since = sign, run, behind
    return bytes([open_sign]) * open_run, since
