"""Run by ``tests/clients/test_in_process.py`` on the simulator: numba-cuda kernels through ``orias.clients.numba_cuda``; prints JSON."""

import json
import math
import warnings

import numpy as np
from numba import cuda

import orias.clients.numba_cuda as adapter

warnings.simplefilter("ignore")
adapter.install()
adapter.install()


@cuda.jit(device=True, inline="never")
def squared(x):  # type: ignore[no-untyped-def]
    return x * x + np.float32(1)


@cuda.jit
def lengths(a, out):  # type: ignore[no-untyped-def]
    i = cuda.grid(1)
    if i < out.size:
        out[i] = math.sqrt(squared(a[i]))


@cuda.jit(max_registers=32)
def reversed_block(a, out):  # type: ignore[no-untyped-def]
    tile = cuda.shared.array(64, np.float32)
    i = cuda.threadIdx.x
    tile[i] = a[i]
    cuda.syncthreads()
    out[i] = tile[63 - i]


a = np.arange(64, dtype=np.float32)
out = np.zeros(64, dtype=np.float32)
lengths[2, 32](a, out)
right = [bool(np.allclose(out, np.sqrt(a * a + 1)))]
reversed_block[1, 64](a, out)
right.append(bool(np.array_equal(out, a[::-1])))


def cubins(kernel):  # type: ignore[no-untyped-def]
    return [k._codelibrary.get_cubin().code for k in kernel.overloads.values()]


ours = [b"Orias" in bytes(c) for k in (lengths, reversed_block) for c in cubins(k)]
adapter.uninstall()


@cuda.jit
def after(out):  # type: ignore[no-untyped-def]
    out[cuda.grid(1)] = 3


after[1, 64](out)
theirs = [b"Orias" in bytes(c) for c in cubins(after)]
print(json.dumps({"right": right, "ours": ours, "after": theirs}))
