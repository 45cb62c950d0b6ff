# Lines that say CSP/1, or nearly: what begins with them. Included by csp.pyx; the rules are in csp/_marks_py.py.


cdef inline int survey(Scanner *s, Line *first, int kind) noexcept nogil:
    return csp_survey(s.data, first.start, s.end, s.final, kind)


cdef int no_message(Scanner *s, Line *first) noexcept nogil:
    """A line of a log that begins no message after all. It ends what was open, as any line of its looks does."""
    s.tail = False
    seek(s, first.next, number_behind(s, first))
    return OK


cdef int nearly(Scanner *s, Line *first) noexcept nogil:
    """What begins with a line that only nearly says CSP/1."""
    cdef int what = survey(s, first, CSP_NEAR)
    if what == CSP_UNDECIDED:
        return MORE
    if s.log and what == CSP_IS_TEXT:
        return no_message(s, first)
    if not s.log and csp_has_title(s.data, first.start, first.stop):
        what = CSP_IS_LOOK_ALIKE
    blame(s, R_LOOK_ALIKE if what == CSP_IS_LOOK_ALIKE else R_BAD_MAGIC, first, first)
    s.fault.resume.start = first.next
    s.fault.resume.number = number_behind(s, first)
    return recover(s, first)
