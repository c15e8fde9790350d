"""Kernels of Numba: ``python numba_files.py FOLDER`` writes ``FOLDER/lineinfo`` and ``FOLDER/debug`` (needs numba-cuda, no GPU)."""

import math
import sys
from pathlib import Path

import numba.cuda.dispatcher as dispatcher
from numba import cuda, float32, float64, int32, int64, uint8

out = Path(sys.argv[1])


@cuda.jit(device=True)
def clamp(v, low, high):
    return min(max(v, low), high)


@cuda.jit(device=True)
def sample(a, x, y):
    return a[clamp(y, 0, a.shape[0] - 1), clamp(x, 0, a.shape[1] - 1)]


def blur(a, b):
    x, y = cuda.grid(2)
    if x < b.shape[1] and y < b.shape[0]:
        s = 0.0
        for i in range(-1, 2):
            for j in range(-1, 2):
                s += sample(a, x + i, y + j)
        b[y, x] = s / 9


@cuda.jit(device=True)
def mandel(c, limit):
    z = 0j
    for i in range(limit):
        z = z * z + c
        if z.real * z.real + z.imag * z.imag >= 4:
            return i
    return limit


def fractal(image, limit):
    x, y = cuda.grid(2)
    if x < image.shape[1] and y < image.shape[0]:
        image[y, x] = mandel(complex(x * 0.01 - 2, y * 0.01 - 1), limit)


def reduce_shared(a, r):
    s = cuda.shared.array(256, float32)
    i = cuda.threadIdx.x
    g = cuda.grid(1)
    s[i] = a[g] if g < a.size else 0
    cuda.syncthreads()
    n = 128
    while n:
        if i < n:
            s[i] += s[i + n]
        cuda.syncthreads()
        n //= 2
    if i == 0:
        cuda.atomic.add(r, 0, s[0])


@cuda.jit(device=True)
def gcd(a, b):
    while b:
        a, b = b, a % b
    return a


def numbers(a, b, c):
    i = cuda.grid(1)
    if i < a.size:
        c[i] = gcd(a[i], b[i]) + (a[i] // (b[i] | 1)) ** 2 - a[i] % 7


@cuda.jit(device=True)
def cnd(d):
    k = 1.0 / (1.0 + 0.2316419 * math.fabs(d))
    r = 0.39894228 * math.exp(-0.5 * d * d) * (k * (0.31938153 + k * (-0.356563782 + k * 1.781477937)))
    return 1 - r if d > 0 else r


def options(s, x, years, call, rate, vol):
    i = cuda.grid(1)
    if i < s.shape[0]:
        q = math.sqrt(years[i])
        d = (math.log(s[i] / x[i]) + (rate + 0.5 * vol * vol) * years[i]) / (vol * q)
        call[i] = s[i] * cnd(d) - x[i] * math.exp(-rate * years[i]) * cnd(d - vol * q)


def local_sort(a, n):
    v = cuda.local.array(16, int32)
    i = cuda.grid(1)
    for k in range(16):
        v[k] = a[i, k]
    for k in range(1, 16):
        x = v[k]
        j = k - 1
        while j >= 0 and v[j] > x:
            v[j + 1] = v[j]
            j -= 1
        v[j + 1] = x
    for k in range(16):
        a[i, k] = v[k]


def bytes_(a, b):
    i = cuda.grid(1)
    if i < b.size:
        b[i] = (a[i] ^ 0x5A) * 3 >> 1
        if b[i] == 7:
            b[i] = a[a[i] % a.size]


def warps(a, b):
    i = cuda.grid(1)
    v = a[i]
    n = 16
    while n:
        v += cuda.shfl_xor_sync(0xFFFFFFFF, v, n)
        n >>= 1
    b[i] = v + cuda.popc(cuda.ballot_sync(0xFFFFFFFF, a[i] > 3))


class Device:
    compute_capability = (8, 0)


dispatcher.get_current_device = lambda: Device
K = [
    ("blur", blur, (float32[:, :], float32[:, :]), (8, 0)),
    ("fractal", fractal, (uint8[:, :], int32), (8, 6)),
    ("reduce", reduce_shared, (float32[:], float32[:]), (7, 5)),
    ("numbers", numbers, (int64[:], int64[:], int64[:]), (9, 0)),
    ("options", options, (float64[:], float64[:], float64[:], float64[:], float64, float64), (8, 9)),
    ("local_sort", local_sort, (int32[:, :], int32), (8, 0)),
    ("bytes", bytes_, (uint8[:], uint8[:]), (10, 0)),
    ("warps", warps, (int32[:], int32[:]), (8, 6)),
]
for name, fn, sig, cc in K:
    Device.compute_capability = cc
    for kind, kw in (("lineinfo", {"lineinfo": True}), ("debug", {"debug": True, "opt": False})):
        try:
            text, _ = cuda.compile_ptx(fn, sig, cc=cc, **kw)
        except Exception as e:
            print(name, kind, type(e), str(e)[:300])
            continue
        (out / kind / f"numba_{name}.sm_{cc[0]}{cc[1]}.ptx").write_text(text)
