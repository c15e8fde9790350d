"""Dr.Jit: functions, reductions, scatter, loops, calls, derivatives, textures and local arrays, beside numpy's results.

Run it with ``orias exec -- python drjit_arrays.py``.  Dr.Jit starts its CUDA part in a thread while the program holds Python's lock:
the driver, which is Python here, must have answered before the first array is made.
"""

import time

import drjit as dr
import drjit.cuda
import numpy as np
from drjit.cuda import Array2f, Array3f, Float, Float16, Float64, Int, TensorXf, Texture2f, UInt, UInt64
from drjit.cuda.ad import Float as Differentiable

time.sleep(8)
random = np.random.default_rng(1)
checked = 0


def check(name, got, wanted, tolerance=1e-4):
    """The same shape and nearly the same values."""
    global checked
    got, wanted = np.array(got).astype(float), np.array(wanted).astype(float)
    assert got.shape == wanted.shape and np.allclose(got, wanted, rtol=tolerance, atol=tolerance), name
    checked += 1


def at_random(count, low, high, kind):
    """Integers."""
    return random.integers(low, high, count, dtype=kind)


a = random.random(1000).astype(np.float32)
b = random.random(1000).astype(np.float32) + 0.5
x, y = Float(a), Float(b)
for name in [
    "sin",
    "cos",
    "exp",
    "exp2",
    "log",
    "log2",
    "sqrt",
    "tan",
    "sinh",
    "cosh",
    "tanh",
    "cbrt",
    "floor",
    "ceil",
    "round",
    "abs",
]:
    check(name, getattr(dr, name)(x), getattr(np, name)(a.astype(float)), 2e-3)
for name, other in {"asin": "arcsin", "acos": "arccos", "atan": "arctan"}.items():
    check(name, getattr(dr, name)(x), getattr(np, other)(a.astype(float)), 2e-3)
check("rsqrt", dr.rsqrt(y), 1 / np.sqrt(b), 1e-3)
check("power", dr.power(y, x), b**a, 1e-3)
check("atan2", dr.atan2(x, y), np.arctan2(a, b))
check("fma", dr.fma(x, y, x), a * b + a)
check("sum", dr.sum(x), [a.sum()], 1e-3)
check("max", dr.max(x), [a.max()])
check("cumsum", dr.cumsum(x), np.cumsum(a), 1e-3)
check("prefix sum", dr.prefix_sum(x), np.concatenate([[0], np.cumsum(a)[:-1]]), 1e-3)
places = at_random(1000, 0, 1000, np.uint32)
p = UInt(places)
check("gather", dr.gather(Float, x, p), a[places])
into, wanted = dr.zeros(Float, 1000), np.zeros(1000)
dr.scatter_add(into, x, p)
np.add.at(wanted, places, a)
check("scatter_add", into, wanted)
into, wanted = dr.zeros(UInt, 16), np.zeros(16, int)
dr.scatter_reduce(dr.ReduceOp.Max, into, p, p % 16)
np.maximum.at(wanted, places % 16, places)
check("scatter_reduce", into, wanted)
check("scatter_inc", np.sort(np.array(dr.scatter_inc(UInt(0), UInt(np.zeros(100, np.uint32))))), np.arange(100))
words = at_random(1000, 0, 2**32, np.uint32)
u = UInt(words)
check("popcnt", dr.popcnt(u), [int(w).bit_count() for w in words])
check("lzcnt", dr.lzcnt(u), [32 - int(w).bit_length() for w in words])
check("mul_hi", dr.mul_hi(u, u), [int(w) ** 2 >> 32 for w in words])
check("division", u // UInt(places + 1), words // (places + 1))
check("signed division", Int(words.astype(np.int32)) // Int(7), np.trunc(words.astype(np.int32) / 7))
long, divisor = at_random(500, 0, 2**63, np.uint64), at_random(500, 1, 2**40, np.uint64)
check("division of 64 bits", UInt64(long) // UInt64(divisor), long // divisor)
check("f64", dr.sin(Float64(a.astype(float))) * Float64(b.astype(float)), np.sin(a.astype(float)) * b, 1e-6)
check("f16", Float16(a.astype(np.float16)) * Float16(b.astype(np.float16)), a * b, 1e-2)
vector = Array3f(x, y, x + y)
check("norm", dr.norm(vector), np.sqrt(a * a + b * b + (a + b) ** 2))
check("cross", dr.cross(vector, Array3f(1, 2, 3)), np.cross(np.stack([a, b, a + b], 1), [1, 2, 3]).T, 1e-3)


@dr.syntax
def steps(number: UInt):
    """Steps of the Collatz sequence."""
    count, n = UInt(0), UInt(number)
    while n > 1:
        if n % 2 == 0:
            n //= 2
        else:
            n = 3 * n + 1
        count += 1
    return count


def steps_of(n):
    """The same on the host."""
    count = 0
    while n > 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        count += 1
    return count


check("loop", steps(dr.arange(UInt, 1, 200)), [steps_of(n) for n in range(1, 200)])
z = Differentiable(a)
dr.enable_grad(z)
dr.backward(dr.sum(dr.sin(z) * z))
check("derivative", dr.grad(z), np.cos(a) * a + np.sin(a))
called = dr.switch(UInt(places % 3), [lambda x: x + 1, lambda x: x * 2, lambda x: dr.sqrt(x)], x)
check("calls", called, np.where(places % 3 == 0, a + 1, np.where(places % 3 == 1, a * 2, np.sqrt(a))))
tensor = TensorXf(random.random((8, 9)).astype(np.float32))
check("tensor", dr.sum(tensor, axis=1), tensor.numpy().sum(1), 1e-3)
texture = Texture2f(TensorXf(random.random((16, 16, 1)).astype(np.float32)), use_accel=True)
computed = Texture2f(texture.tensor(), use_accel=False)
check("texture", texture.eval(Array2f(x, y * 0.5))[0], computed.eval(Array2f(x, y * 0.5))[0], 1e-2)
check("compress", dr.compress(x > 0.5), np.nonzero(a > 0.5)[0])
check("block sum", dr.block_sum(x, 10), a.reshape(-1, 10).sum(1), 1e-3)


@dr.syntax
def threes(bits: UInt):
    """How often three bits of ten are a three."""
    counts, k = dr.alloc_local(UInt, 8, value=UInt(0)), UInt(0)
    while k < 10:
        at = (bits >> k) % 8
        counts[at] = counts[at] + 1
        k += 1
    return counts[3]


check("local array", threes(p), [sum((int(w) >> k) % 8 == 3 for k in range(10)) for w in places])
print(f"right ({checked})")
