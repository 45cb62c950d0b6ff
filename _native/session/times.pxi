# Times as whole numbers, and back. The rules are those of ``session/_times_py.py``.

cdef dict forms = {}
cdef int[13] DAYS_BEFORE = [0, 0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334]


cdef inline int two(const char* at) noexcept nogil:
    """Two digits as a number, or -1."""
    if is_digit(at[0]) and is_digit(at[1]):
        return (at[0] - 48) * 10 + at[1] - 48
    return -1


cdef inline bint is_leap(int year) noexcept nogil:
    return year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)


def time_of(text):
    """The form of a time, and the time in units of its last digit; None for any other text."""
    return read_time(text)


cdef object read_time(object text):
    cdef Py_ssize_t size, at, digits
    cdef const char* letters
    cdef int year, month, day, hour, minute, second
    cdef long long days, seconds, fraction = 0, scale = 1
    if not PyUnicode_IS_ASCII(text):
        return None
    size = PyUnicode_GET_LENGTH(text)
    if size < 19 or size > 35:
        return None
    letters = <const char*>PyUnicode_1BYTE_DATA(text)
    if letters[4] != 45 or letters[7] != 45 or letters[13] != 58 or letters[16] != 58:
        return None
    if letters[10] != 84 and letters[10] != 32:
        return None
    year, month, day = two(letters), two(letters + 5), two(letters + 8)
    if year < 0 or two(letters + 2) < 0 or month < 1 or month > 12 or day < 1:
        return None
    year = year * 100 + two(letters + 2)
    hour, minute, second = two(letters + 11), two(letters + 14), two(letters + 17)
    if year < 1 or hour < 0 or minute < 0 or second < 0 or hour > 23 or minute > 59 or second > 59:
        return None
    if day > days_of(year, month):
        return None
    at = 19
    digits = 0
    if at < size and letters[at] == 46:
        at += 1
        while at < size and is_digit(letters[at]):
            fraction = fraction * 10 + letters[at] - 48
            scale *= 10
            digits += 1
            at += 1
            if digits > 9:
                return None
        if not digits:
            return None
    if at < size and not (letters[at] == 90 and at + 1 == size):
        if at + 6 != size or (letters[at] != 43 and letters[at] != 45) or letters[at + 3] != 58:
            return None
        if two(letters + at + 1) < 0 or two(letters + at + 4) < 0:
            return None
    days = days_until(year) + DAYS_BEFORE[month] + (1 if month > 2 and is_leap(year) else 0) + day
    seconds = days * DAY + hour * 3600 + minute * 60 + second
    units = <object>seconds * scale + fraction if digits > 6 else seconds * scale + fraction
    return form_of(chr(letters[10]), digits, text[at:]), units


cdef object form_of(str between, Py_ssize_t digits, str zone):
    key = (between, digits, zone)
    found = held_at(forms, key)
    if found is None:
        found = Form(between, digits, zone)
        if len(forms) < 1024:
            forms[key] = found
    return found


cdef inline int days_of(int year, int month) noexcept nogil:
    if month == 2:
        return 29 if is_leap(year) else 28
    return 30 if month == 4 or month == 6 or month == 9 or month == 11 else 31


cdef inline long long days_until(int year) noexcept nogil:
    """The days before a year, from year 1 on."""
    cdef long long before = year - 1
    return before * 365 + before // 4 - before // 100 + before // 400


cdef inline void put_two(char* at, int number) noexcept nogil:
    at[0] = <char>(48 + number // 10)
    at[1] = <char>(48 + number % 10)


cdef object time_text(object form, object units):
    """The text of a time. Raises ValueError for one before year 1 or after 9999."""
    cdef long long whole, seconds, days, left, fraction, scale = 1
    cdef int year, month, digits = form[1], at
    cdef char[40] out
    if digits > 6 or not 86400 <= units < 1 << 62:
        return pure_time_text(form, units)
    for at in range(digits):
        scale *= 10
    whole = units
    seconds = whole // scale
    fraction = whole - seconds * scale
    days = seconds // DAY
    left = seconds - days * DAY
    if days < 1 or days > 3652059:  # the last day of year 9999
        return pure_time_text(form, units)
    year = <int>((days * 400) // 146097)  # at most one year off
    while days_until(year + 1) >= days:
        year -= 1
    while days_until(year + 2) < days:
        year += 1
    year += 1
    days -= days_until(year)
    month = 1
    while days > days_of(year, month):
        days -= days_of(year, month)
        month += 1
    put_two(out, year // 100)
    put_two(out + 2, year % 100)
    out[4] = out[7] = 45
    put_two(out + 5, month)
    put_two(out + 8, <int>days)
    out[10] = <char>ord(form[0])
    put_two(out + 11, <int>(left // 3600))
    put_two(out + 14, <int>(left % 3600 // 60))
    put_two(out + 17, <int>(left % 60))
    out[13] = out[16] = 58
    if not digits:
        return PyUnicode_DecodeASCII(out, 19, NULL) + form[2]
    out[19] = 46
    for at in range(digits):
        out[19 + digits - at] = <char>(48 + fraction % 10)
        fraction //= 10
    return PyUnicode_DecodeASCII(out, 20 + digits, NULL) + form[2]
