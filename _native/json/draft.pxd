"""Writing JSON text into a str. Header-only, for the JSON modules."""

cdef extern from "_native/json/draft.h":
    object json_written(object value, Py_ssize_t nesting, object items, bint canonical)
    object json_text_of(object source)
    size_t json_characters(object bytes)
    object json_counted_text(object bytes, size_t counted)
    ctypedef struct json_draft:
        pass
    enum:
        JSON_WRITTEN
        JSON_DOUBT
    void json_begin(json_draft* draft, object items)
    void json_end(json_draft* draft)
    int json_ascii(json_draft* draft, const char* letters, Py_ssize_t count) except -1
    int json_text(json_draft* draft, object value) except -1
    int json_value(json_draft* draft, object value, Py_ssize_t left) except -1
    object json_result(const json_draft* draft)
