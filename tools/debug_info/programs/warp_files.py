"""Kernels of Warp: ``python warp_files.py FOLDER lineinfo|debug`` writes their PTX, of version 9.0 as ptxas 13.0 takes it (no GPU)."""

import re
import sys
from pathlib import Path

import warp as wp

out = Path(sys.argv[1])
kind = sys.argv[2]
wp.config.lineinfo = True
wp.config.line_directives = True
wp.config.kernel_cache_dir = str(out / "cache")
if kind == "debug":
    wp.config.mode = "debug"


@wp.func
def spring(a: wp.vec3, b: wp.vec3, rest: float):
    d = b - a
    length = wp.length(d)
    return d * ((length - rest) / length)


@wp.kernel
def particles(x: wp.array(dtype=wp.vec3), v: wp.array(dtype=wp.vec3), n: int, dt: float):
    i = wp.tid()
    f = wp.vec3(0.0, -9.8, 0.0)
    if i > 0:
        f += spring(x[i], x[i - 1], 1.0)
    if i < n - 1:
        f += spring(x[i], x[i + 1], 1.0)
    v[i] = v[i] + f * dt
    x[i] = x[i] + v[i] * dt


@wp.kernel
def rotate(q: wp.array(dtype=wp.quat), p: wp.array(dtype=wp.vec3), m: wp.array(dtype=wp.mat33)):
    i = wp.tid()
    r = wp.quat_to_matrix(wp.normalize(q[i]))
    m[i] = wp.inverse(r) * m[i]
    p[i] = wp.quat_rotate(q[i], p[i])


@wp.kernel
def noise(p: wp.array(dtype=wp.vec3), o: wp.array(dtype=float), seed: int):
    i = wp.tid()
    s = wp.rand_init(seed, i)
    o[i] = wp.noise(s, p[i]) + wp.randf(s)


@wp.kernel
def ray(v: wp.array(dtype=wp.vec3), f: wp.array(dtype=int), t: wp.array(dtype=float)):
    i = wp.tid()
    best = float(1.0e10)  # noqa: UP018 - a variable, not a constant
    for k in range(i, i + 8):
        a = v[f[k * 3]]
        b = v[f[k * 3 + 1]]
        c = v[f[k * 3 + 2]]
        n = wp.normalize(wp.cross(b - a, c - a))
        d = wp.dot(n, a)
        if d > 0.0:
            best = wp.min(best, d)
    wp.atomic_min(t, 0, best)


wp.set_module_options({"enable_backward": kind != "debug"})
for sm in (86,) if kind == "debug" else (75, 90):
    try:
        wp.compile_aot_module(
            sys.modules["__main__"], device=None, arch=sm, module_dir=str(out / "cache"), use_ptx=True, strip_hash=True
        )
    except Exception as e:
        print(type(e), e)
for f in (out / "cache").rglob("*.ptx"):
    # The text ends with a NUL, which ptxas does not take from a file.
    text = f.read_text().rstrip("\0")
    arch = f.name.split(".")[-2].replace("sm", "sm_")
    (out / f"warp_main.{arch}.ptx").write_text(re.sub(r"(?m)^\.version \S+", ".version 9.0", text))
