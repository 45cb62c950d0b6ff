"""Scans on many machines: blocks run on Dask, each writes its own Parquet files, and a manifest records the outcomes.

Needs the extra ``dask``: pip install 'turnwire[dask]'.
"""

from turnwire._lazy import attach

__all__, __getattr__, __dir__ = attach(__name__)
