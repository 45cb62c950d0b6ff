"""The subcommands. A module ``X.py`` here with a click command named ``command`` is ``turnwire X``: nothing else to do.

Modules import what is heavy inside their functions, since ``turnwire --help`` imports all of them.
"""
