"""Triton's vector addition on numpy arrays: ``orias exec -- python examples/triton_add.py``."""

import numpy as np
import triton
import triton.language as tl


class Tensor:
    """What Triton asks of an argument: a pointer and a type.  Device pointers are host pointers in the simulator."""

    def __init__(self, array):
        self.array = array
        self.dtype = array.dtype

    def data_ptr(self):
        """The address of the first element."""
        return self.array.ctypes.data


@triton.jit
def add(x, y, out, n, BLOCK: tl.constexpr):
    """Adds BLOCK elements for each program."""
    i = tl.program_id(axis=0) * BLOCK + tl.arange(0, BLOCK)
    mask = i < n
    tl.store(out + i, tl.load(x + i, mask=mask) + tl.load(y + i, mask=mask), mask=mask)


n = 98432
rng = np.random.default_rng(0)
x, y = rng.random(n, np.float32), rng.random(n, np.float32)
out = np.empty_like(x)
add[(triton.cdiv(n, 1024),)](Tensor(x), Tensor(y), Tensor(out), n, BLOCK=1024)
assert np.array_equal(out, x + y)
print(f"{n} sums: right")
