"""The type of the arrays of floats on the host."""

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
