"""Logs of any size: sources in, batches of columns out, nothing lost on the way."""

from turnwire._lazy import attach, explained

try:
    import numpy
except ModuleNotFoundError as missing:
    raise explained(missing, "turnwire.log (scans, decoders, extraction)") from missing

__all__, __getattr__, __dir__ = attach(__name__)
