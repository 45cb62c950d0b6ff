"""Formats of real traffic: what agents and their tools write into files, each described by one table.

``turnwire.scan(source, wire="claude_code")`` gives the records of one format, ``wire="formats"`` those of all. The
formats have the same columns (:data:`turnwire.formats.table.COLUMNS`), so one question can be asked about all of them.
"""
