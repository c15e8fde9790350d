"""A kernel in C++ through NVRTC and cuda.core, on pinned memory."""

import numpy as np
from cuda.core import Device, LaunchConfig, LegacyPinnedMemoryResource, Program, ProgramOptions, launch

CODE = """
template <typename T> __global__ void saxpy(T a, const T *x, const T *y, T *out, size_t n) {
    for (size_t i = threadIdx.x + blockIdx.x * blockDim.x; i < n; i += gridDim.x * blockDim.x) out[i] = a * x[i] + y[i];
}
"""
n = 1000
device = Device()
device.set_current()
stream = device.create_stream()
options = ProgramOptions(std="c++17", arch=f"sm_{device.arch}")
kernel = Program(CODE, code_type="c++", options=options).compile("cubin", name_expressions=("saxpy<float>",))
memory = LegacyPinnedMemoryResource()
buffers = [memory.allocate(4 * n) for _ in range(3)]
x, y, out = (np.from_dlpack(b).view(np.float32) for b in buffers)
x[:], y[:], out[:] = np.arange(n), 1, 0
saxpy = kernel.get_kernel("saxpy<float>")
launch(stream, LaunchConfig(grid=2, block=256), saxpy, np.float32(2), *buffers, np.uint64(n))
stream.sync()
assert np.array_equal(out, 2 * x + y)
print("right")
