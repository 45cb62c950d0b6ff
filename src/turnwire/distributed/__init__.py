"""One scan on many machines: blocks run on Dask, each writes its own Parquet file, a manifest says what became of them.

Needs the extra ``dask``: pip install 'turnwire[dask]'.
"""

from turnwire.distributed.driver import dask_scan
from turnwire.distributed.manifest import Manifest
from turnwire.distributed.work import run_block

__all__ = ["Manifest", "dask_scan", "run_block"]
