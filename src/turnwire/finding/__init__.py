"""The one finder: which bytes of an input may be records, wherever they stand."""
