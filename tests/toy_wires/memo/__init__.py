"""A wire of style "lines": ``MEMO ada``, lines of text, and ``END``. It has no bulk scanner."""
