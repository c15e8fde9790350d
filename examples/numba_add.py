"""Numba's first CUDA example, a sum of two vectors: ``orias exec -- python examples/numba_add.py``."""

import numpy as np
from numba import cuda


@cuda.jit
def add(a, b, c):
    """Adds an element for each thread."""
    i = cuda.grid(1)
    if i < len(c):
        c[i] = a[i] + b[i]


n = 100_000
rng = np.random.default_rng(1)
a, b = cuda.to_device(rng.random(n)), cuda.to_device(rng.random(n))
c = cuda.device_array_like(a)
add.forall(n)(a, b, c)
assert np.array_equal(c.copy_to_host(), a.copy_to_host() + b.copy_to_host())
print(f"{n} sums: right")
