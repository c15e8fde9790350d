"""PTX in, cubin out, and the cubin run on the CPU: the whole road on one small kernel.

python examples/saxpy.py [sm_75 ... sm_90a]
"""

import sys
from pathlib import Path

import numpy as np

import orias
import orias.sim

arch = sys.argv[1] if len(sys.argv) > 1 else "sm_90"
ptx = (Path(__file__).parent / "saxpy.ptx").read_text()

cubin = orias.compile(ptx, arch=arch)
kernel = cubin.kernels["saxpy"]
print(
    f"saxpy for {arch}: {len(cubin.data)} bytes of cubin, {kernel.instructions} instructions, {kernel.registers} registers\n"
)
print(cubin.disassemble())

n = 1000
x = np.arange(n, dtype=np.float32)
y = np.ones(n, dtype=np.float32)
orias.sim.load(cubin.data).launch("saxpy", grid=8, block=128, args=[x, y, np.float32(2), np.uint32(n)])
assert (y == 2 * x + 1).all()
print(f"run in the simulator: y[0], y[1], y[2], ..., y[{n - 1}] = {y[0]:g}, {y[1]:g}, {y[2]:g}, ..., {y[-1]:g}: right")
