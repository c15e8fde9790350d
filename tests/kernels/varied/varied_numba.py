"""Numba kernels of the varied cases: ``python varied_numba.py DIR`` compiles them to PTX (numba-cuda 0.30 with NVVM 13.0, no GPU)."""

import re
import sys
from collections.abc import Callable
from typing import Any

from numba import cuda, float32, int32, uint8


def tiled_product(a: Any, b: Any, c: Any) -> None:
    """Product of matrices by tiles of 16 by 16, with sizes that need not fit."""
    left = cuda.shared.array((16, 16), float32)
    right = cuda.shared.array((16, 16), float32)
    x, y = cuda.grid(2)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    s = float32(0.0)
    for q in range((a.shape[1] + 15) // 16):
        left[ty, tx] = 0
        right[ty, tx] = 0
        if y < a.shape[0] and tx + q * 16 < a.shape[1]:
            left[ty, tx] = a[y, tx + q * 16]
        if x < b.shape[1] and ty + q * 16 < b.shape[0]:
            right[ty, tx] = b[ty + q * 16, x]
        cuda.syncthreads()
        for j in range(16):
            s += left[ty, j] * right[j, tx]
        cuda.syncthreads()
    if y < c.shape[0] and x < c.shape[1]:
        c[y, x] = s


def word_distance(word: Any, texts: Any, out: Any) -> None:
    """Edit distance of a word to each text, one row in local memory."""
    row = cuda.local.array(24, int32)
    at = cuda.grid(1)
    if at >= texts.shape[0]:
        return
    m = word.shape[0]
    for q in range(m + 1):
        row[q] = q
    for k in range(texts.shape[1]):
        before = row[0]
        row[0] = k + 1
        for q in range(m):
            here = row[q + 1]
            row[q + 1] = before if word[q] == texts[at, k] else min(before, row[q], here) + 1
            before = here
    out[at] = row[m]


def write(directory: str, fn: Callable[..., None], types: tuple[Any, ...]) -> None:
    """Compile a kernel and write its PTX, under its own name."""
    text, _ = cuda.compile(fn, types, device=False, abi="numba", output="ptx", cc=(7, 5))
    entry = re.search(r"\.entry (\w+)\(", text)
    assert entry
    text = re.sub(r"(?m)^\.common .*\n", "", text).replace(entry[1], fn.__name__)
    text = "\n".join(s for s in text.splitlines() if s.strip() and not s.startswith("//"))
    with open(f"{directory}/{fn.__name__}.ptx", "w", encoding="utf-8") as out:
        out.write(text + "\n")


if __name__ == "__main__":
    write(sys.argv[1], tiled_product, (float32[:, :], float32[:, :], float32[:, :]))
    write(sys.argv[1], word_distance, (uint8[::1], uint8[:, ::1], int32[::1]))
