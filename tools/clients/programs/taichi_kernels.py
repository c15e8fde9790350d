"""Taichi or its fork Quadrants (the argument names the module): fields, a reduction, atomics and a loop, beside numpy's results.

Run it with ``orias exec -- python taichi_kernels.py taichi``.
"""

import importlib
import sys

import numpy as np

ti = importlib.import_module(sys.argv[1])
ti.init(arch=ti.cuda)
SIZE = 64
table = ti.field(ti.f32, shape=(SIZE, SIZE))
counts = ti.field(ti.i32, shape=16)
steps = ti.field(ti.i32, shape=SIZE)


@ti.kernel
def fill():
    """A function of both places."""
    for i, j in table:
        table[i, j] = ti.sin(i * 0.1) + ti.sqrt(j * 1.0)


@ti.kernel
def total() -> ti.f32:
    """Their sum."""
    result = 0.0
    for i, j in table:
        result += table[i, j]
    return result


@ti.kernel
def count():
    """A histogram."""
    for i in range(1000):
        counts[(i * 7919) % 16] += 1


@ti.kernel
def collatz():
    """Steps of the Collatz sequence."""
    for i in steps:
        n = i + 1
        taken = 0
        while n > 1:
            if n % 2 == 0:
                n //= 2
            else:
                n = 3 * n + 1
            taken += 1
        steps[i] = taken


def steps_of(n):
    """The same on the host."""
    taken = 0
    while n > 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        taken += 1
    return taken


fill()
i, j = np.mgrid[:SIZE, :SIZE]
assert np.allclose(table.to_numpy(), np.sin(i * 0.1) + np.sqrt(j), atol=1e-4)
assert abs(total() - table.to_numpy().sum()) < 1
count()
assert counts.to_numpy().tolist() == np.bincount(np.arange(1000) * 7919 % 16, minlength=16).tolist()
collatz()
assert steps.to_numpy().tolist() == [steps_of(n + 1) for n in range(SIZE)]
print("right")
