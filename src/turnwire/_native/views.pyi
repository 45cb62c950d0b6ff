from typing import Any

import numpy as np
from numpy.typing import NDArray

def string_views(
    buffer: NDArray[np.uint8], offsets: NDArray[np.int64], lengths: NDArray[np.int64], out: NDArray[Any]
) -> None: ...
