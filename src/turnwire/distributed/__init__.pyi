from turnwire.distributed.driver import dask_scan as dask_scan
from turnwire.distributed.manifest import Manifest as Manifest, run_block as run_block
