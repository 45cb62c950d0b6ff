# Envelopes made of their text without a dict, and judged as it is read.

cdef extern from "_native/json/forms.h":
    ctypedef struct tw_choice:
        const unsigned char *text
        unsigned int size
        unsigned char padded[16]
    int tw_word_of(const tw_choice *words, int count, const unsigned char *p, size_t size, const unsigned char *hard)

cdef extern from "_native/kick/letter.h":
    ctypedef struct tw_part:
        const unsigned char *from_ "from"
        const unsigned char *to
    enum:
        TW_FIELDS
        TW_CORRELATION
    int tw_letter_parts(tw_walk *walk, const unsigned char *text, size_t size, const tw_choice *names, tw_part *parts)
    object tw_part_text(const tw_part *part)
    Py_ssize_t tw_letter_count(const tw_part *parts, int count, Py_ssize_t size, unsigned int *most)
    bint tw_part_is_channel(const tw_part *part)
    bint tw_letter_is_plain(const tw_part *parts, int count)

cdef enum:
    MOST_TYPES = 8

cdef Py_ssize_t MOST = LIMITS.message
cdef list QUOTED = [f'"{name}"'.encode() for name in FIELDS], WORDS = [word.encode() for word in TYPES]
cdef list MEMBERS_OF_TYPE = list(TYPES.values())
cdef tw_choice NAMES[TW_FIELDS]
cdef tw_choice KNOWN[MOST_TYPES]


cdef int fill(tw_choice *choices, list words, Py_ssize_t room) except -1:
    cdef bytes word
    cdef Py_ssize_t place, at
    if len(words) > room:
        raise ValueError("there are too many words")
    for place in range(len(words)):
        word = words[place]
        choices[place].text, choices[place].size = <const unsigned char *><const char *>word, <unsigned int>len(word)
        for at in range(16):
            choices[place].padded[at] = word[at] if at < len(word) else 0
    return 0


fill(NAMES, QUOTED, TW_FIELDS)
fill(KNOWN, WORDS, MOST_TYPES)


cdef Envelope quick(object data):
    """The envelope of a text (str or bytes) that has its fields and nothing else; None where it is not surely good."""
    cdef tw_walk walk
    cdef tw_part parts[TW_FIELDS]
    cdef const unsigned char *text
    cdef Py_ssize_t size
    cdef Envelope envelope
    cdef int count, word
    if type(data) is bytes:
        text, size = <const unsigned char *><const char *><bytes>data, len(<bytes>data)
    elif type(data) is str:
        try:
            text = <const unsigned char *>PyUnicode_AsUTF8AndSize(data, &size)
        except UnicodeEncodeError:  # a lone surrogate
            return None
    else:
        return None
    if size > MOST:
        return None
    count = tw_letter_parts(&walk, text, <size_t>size, NAMES, parts)
    if not count:
        return None
    word = tw_word_of(KNOWN, <int>len(WORDS), parts[4].from_, <size_t>(parts[4].to - parts[4].from_), text + size)
    channel = tw_part_text(&parts[5])
    if word < 0 or not (tw_part_is_channel(&parts[5]) or is_channel(channel)):
        return None
    envelope = Envelope.__new__(Envelope)
    envelope.id = tw_part_text(&parts[0])
    envelope.timestamp = tw_part_text(&parts[1])
    envelope.sender = tw_part_text(&parts[2])
    envelope.receiver = tw_part_text(&parts[3])
    envelope.type = MEMBERS_OF_TYPE[word]
    envelope.channel = channel
    envelope.content = tw_part_text(&parts[6])
    if count > TW_CORRELATION:
        envelope.correlation_id = tw_part_text(&parts[7])
    if walk.own:
        envelope._source = data
        envelope._count = tw_letter_count(parts, count, size, &envelope._most)
    envelope._plain = tw_letter_is_plain(parts, count)
    if envelope._plain:
        envelope._learned = learned(envelope, STANDARD, True)
    return envelope
