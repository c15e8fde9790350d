"""Atomics of all threads of a block on one word: every operation, type and space, with and without the old value."""

import functools
from typing import Any

import numpy as np
import pytest

import orias
from orias import sim

THREADS = 77
LATER = [
    pytest.param(a, n, marks=pytest.mark.sweep)
    for a, n in (("sm_75", 0), ("sm_75", 3), ("sm_90", 0), ("sm_90", 3), ("sm_100a", 3), ("sm_110a", 3))
]
OPERATIONS = {
    "add": ("u32", "s32", "u64"),
    "min": ("u32", "s32", "u64", "s64"),
    "max": ("u32", "s32", "u64", "s64"),
    "and": ("b32", "b64"),
    "or": ("b32", "b64"),
    "xor": ("b32", "b64"),
}
KINDS = [
    (op, t, space, old)
    for op, types in OPERATIONS.items()
    for t in types
    for space in ("global", "shared")
    for old in (False, True)
]
VALUES = ("thread", "parameter", "constant")
"""What is added: a value of each thread, one that all share, a constant."""


def kernel(op: str, t: str, space: str, old: bool, name: str) -> str:
    """Threads run the operation on three words, one for each of VALUES; those of odd number run it in a branch of their own."""
    bits = t[1:]
    once = "atom" if old else "red"
    lines = []
    for k, value in enumerate(("%v", "%c", "0x7")):
        at = f"{space}.{op}.{t}"
        to = f"[{'%g' if space == 'global' else '%s'}+{8 * k}]"
        lines.append(f"{once}.{at} %o{k}, {to}, {value};" if old else f"{once}.{at} {to}, {value};")
    text = "\n".join(lines)
    keep = "\n".join(f"st.global.b{bits} [%q+{8 * k}], %o{k};" for k in range(3)) if old else ""
    copy = "\n".join(f"ld.shared.b{bits} %i, [%s+{8 * k}]; st.global.b{bits} [%g+{8 * k}], %i;" for k in range(3))
    return f""".visible .entry {name}(.param .u64 out, .param .u64 in, .param .b64 c)
{{
    .reg .b64 %g, %s, %q, %w; .reg .b{bits} %v, %c, %o<3>, %i; .reg .b32 %r; .reg .pred %p, %z; .shared .align 8 .b8 word[24];
    ld.param.u64 %g, [out]; ld.param.u64 %q, [in]; ld.param.b{bits} %c, [c];
    mov.u64 %s, word; mov.u32 %r, %tid.x; setp.eq.u32 %z, %r, 0; mul.wide.u32 %w, %r, 24; add.u64 %q, %q, %w; ld.global.b{bits} %v, [%q];
    @!%z bra READY;
    ld.global.b{bits} %i, [%g]; st.shared.b{bits} [%s], %i; st.shared.b{bits} [%s+8], %i; st.shared.b{bits} [%s+16], %i;
READY:
    bar.sync 0;
    and.b32 %r, %r, 1; setp.eq.u32 %p, %r, 1; @%p bra ODD;
    {text}
    bra END;
ODD:
    {text}
END:
    {keep}
    bar.sync 0;
    @!%z bra DONE;
    {copy if space == "shared" else ""}
DONE:
    ret;
}}
"""


def apply(op: str, a: Any, b: Any) -> Any:
    """One operation, wrapping around."""
    with np.errstate(over="ignore"):
        return {"add": a + b, "min": min(a, b), "max": max(a, b), "and": a & b, "or": a | b, "xor": a ^ b}[op]


@pytest.mark.in_turn(2)
@pytest.mark.parametrize(("arch", "level"), [("sm_80", 3), ("sm_120a", 3), *LATER])
def test_results(arch: str, level: int) -> None:
    text = f".version 9.0\n.target {arch}\n.address_size 64\n" + "".join(
        kernel(*k, f"k{n}") for n, k in enumerate(KINDS)
    )
    random = np.random.default_rng(5)
    image = sim.load(orias.compile(text, arch=arch, opt_level=level, self_check=True).data)
    for n, (op, t, space, old) in enumerate(KINDS):
        kind = np.dtype(f"{'i' if t[0] == 's' else 'u'}{int(t[1:]) // 8}")
        start, shared = random.integers(0, 2**64, 2, np.uint64)
        values = random.integers(0, 2**64, (THREADS, 3), np.uint64)
        words, olds = np.full(3, start), values.copy()
        image.launch(f"k{n}", 1, THREADS, [words, olds, shared])
        first = start.astype(kind)
        for k, each in enumerate((values[:, 0], [shared] * THREADS, [np.uint64(7)] * THREADS)):
            asked = [x.astype(kind) for x in each]
            want = functools.reduce(lambda a, b, op=op: apply(op, a, b), asked, first)
            where = (op, t, space, old, VALUES[k])
            assert words[k].astype(kind) == want, where
            if old:
                # Each thread sees what another one left: old values and results are the same but for the first and the last.
                seen = [x.astype(kind) for x in olds[:, k]]
                left = [apply(op, o, x) for o, x in zip(seen, asked, strict=True)]
                assert sorted([*left, first]) == sorted([*seen, want]), where
