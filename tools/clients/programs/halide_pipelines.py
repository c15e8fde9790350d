"""Halide: a blur, a product in shared memory, bytes and atomics, beside numpy's results.

Run it with ``orias exec --device A100 -- python halide_pipelines.py``.
"""

import halide as hl
import numpy as np

x, y, xi, yi = (hl.Var(name) for name in ("x", "y", "xi", "yi"))
target = hl.get_host_target().with_feature(hl.TargetFeature.CUDA).with_feature(hl.TargetFeature.CUDACapability80)
random = np.random.default_rng(0)


def run(function, sizes):
    """The result on the host."""
    out = function.realize(sizes, target)
    out.copy_to_host()
    return np.array(out)


image = hl.ImageParam(hl.Float(32), 2)
edge = hl.BoundaryConditions.repeat_edge(image)
blur = hl.Func("blur")
blur[x, y] = (edge[x - 1, y] + edge[x, y] + edge[x + 1, y] + edge[x, y - 1] + edge[x, y + 1]) / hl.f32(5)
blur.gpu_tile(x, y, xi, yi, 16, 8)
a = random.random((64, 64)).astype(np.float32)
image.set(hl.Buffer(a))
p = np.pad(a, 1, mode="edge")
around = p[:-2, 1:-1] + p[2:, 1:-1] + p[1:-1, 1:-1] + p[1:-1, :-2] + p[1:-1, 2:]
assert np.allclose(run(blur, [64, 64]), around / 5, atol=1e-5)

left, right = hl.ImageParam(hl.Float(32), 2), hl.ImageParam(hl.Float(32), 2)
k = hl.RDom([(0, 64)])
product, result = hl.Func("product"), hl.Func("result")
product[x, y] = hl.f32(0)
product[x, y] += left[k.x, y] * right[x, k.x]
result[x, y] = hl.exp(product[x, y] * hl.f32(0.01)) + hl.sin(product[x, y])
result.gpu_tile(x, y, xi, yi, 16, 16)
product.compute_at(result, x).store_in(hl.MemoryType.GPUShared).gpu_threads(x, y)
product.update().gpu_threads(x, y)
b = random.random((64, 64)).astype(np.float32)
left.set(hl.Buffer(a))
right.set(hl.Buffer(b))
assert np.allclose(run(result, [64, 64]), np.exp(a @ b * 0.01) + np.sin(a @ b), atol=1e-4)

row = hl.ImageParam(hl.UInt(8), 1)
scaled = hl.Func("scaled")
wide = hl.cast(hl.UInt(16), row[x])
scaled[x] = hl.cast(hl.UInt(8), hl.min(wide * 3 // 2 + wide % 7, 255))
scaled.gpu_tile(x, xi, 32)
u = np.arange(256, dtype=np.uint8)
row.set(hl.Buffer(u))
assert (run(scaled, [256]) == np.minimum(u.astype(int) * 3 // 2 + u % 7, 255)).all()

histogram = hl.Func("histogram")
histogram[x] = 0
each = hl.RDom([(0, 256)])
histogram[hl.cast(hl.Int(32), row[each.x]) % 8] += 1
histogram.gpu_tile(x, xi, 8)
histogram.update().atomic()
histogram.update().gpu_tile(each.x, hl.RVar("ri"), 32)
assert run(histogram, [8]).tolist() == [32] * 8
print("right")
