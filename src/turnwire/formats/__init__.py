"""Agent sessions and API formats, each described by one table.

``turnwire.scan(source, wire="claude_code")`` returns the records of one format, ``wire="formats"`` those of all. The
formats have the same columns (:data:`turnwire.formats.table.COLUMNS`), so the same query works for all of them.
"""
