from turnwire.distributed.driver import Manifest as Manifest, dask_scan as dask_scan, run_block as run_block
