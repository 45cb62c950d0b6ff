"""A wire of style "lines": ``MEMO ada``, lines of text, and ``END``."""
