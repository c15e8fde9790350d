"""Random warp operations and matrix products."""

from typing import Final

from orias.target import features
from orias.tools.fuzz.random_program import Program

ALL: Final = "0xffffffff"


def together(p: Program) -> None:
    """Emits an operation of whole warps."""
    r = p.rng
    kind = r.randrange(8)
    if kind <= 2:
        _shuffle(p)
    elif kind == 3:
        matrix(p)
    elif kind == 4:
        if r.random() < 0.5:
            p.plain(f"bar.red.popc.u32 {p.var('r')}, 0, {r.choice(('', '!'))}{p.var('p')};")
        else:
            p.plain(f"bar.red.{r.choice(('and', 'or'))}.pred {p.var('p')}, 0, {p.var('p')};")
    else:
        members(p, ALL)


def _shuffle(p: Program) -> None:
    r = p.rng
    mode = r.choice(("idx", "up", "down", "bfly"))
    clamp = 0 if mode == "up" else r.choice((31, 0x181F, 0x101F))
    lane = str(r.randrange(32) if mode == "idx" else r.choice((1, 2, 4, 8, 16, 3)))
    if r.random() < 0.25:
        lane = p.var("r")
    second = f"|{p.var('p')}" if r.random() < 0.5 else ""
    p.plain(f"shfl.sync.{mode}.b32 {p.var('r')}{second}, {p.src('r')}, {lane}, {clamp}, {ALL};")


def members(p: Program, mask: str) -> None:
    """Emits an operation of the members of a mask, which all execute it."""
    r = p.rng
    kind = r.randrange(5)
    if kind == 0:
        p.plain(f"vote.sync.ballot.b32 {p.var('r')}, {r.choice(('', '!'))}{p.var('p')}, {mask};")
    elif kind == 1:
        p.plain(f"vote.sync.{r.choice(('all', 'any', 'uni'))}.pred {p.var('p')}, {p.var('p')}, {mask};")
    elif kind <= 3 and p.has(features.WARP_REDUCTIONS):
        op, t = r.choice((
            ("add", "u32"), ("min", "s32"), ("max", "u32"), ("and", "b32"), ("or", "b32"), ("xor", "b32"), ("max", "s32"), ("add", "s32"),
        ))  # fmt: skip
        p.plain(f"redux.sync.{op}.{t} {p.var('r')}, {p.var('r')}, {mask};")
    else:
        file = r.choice("rd")
        low = p.new(file)
        bits = {"r": 32, "d": 64}[file]
        p.plain(f"and.b{bits} {low}, {p.var(file)}, 3;")
        if r.random() < 0.5:
            p.plain(f"match.any.sync.b{bits} {p.var('r')}, {low}, {mask};")
        else:
            p.plain(f"match.all.sync.b{bits} {p.var('r')}|{p.var('p')}, {low}, {mask};")


_PRODUCTS: Final = (
    (False, "m8n8k16.row.col", ("s32", "s8", "s8", "s32"), (2, 1, 1)),
    (False, "m8n8k16.row.col.satfinite", ("s32", "u8", "s8", "s32"), (2, 1, 1)),
    (False, "m8n8k32.row.col", ("s32", "s4", "u4", "s32"), (2, 1, 1)),
    (False, "m16n8k8.row.col", ("f32", "f16", "f16", "f32"), (4, 2, 1)),
    (False, "m16n8k8.row.col", ("f16", "f16", "f16", "f16"), (2, 2, 1)),
    (True, "m16n8k16.row.col", ("f16", "f16", "f16", "f16"), (2, 4, 2)),
    (True, "m16n8k16.row.col", ("f32", "f16", "f16", "f32"), (4, 4, 2)),
    (True, "m16n8k16.row.col", ("f32", "bf16", "bf16", "f32"), (4, 4, 2)),
    (True, "m16n8k8.row.col", ("f32", "tf32", "tf32", "f32"), (4, 4, 2)),
    (True, "m16n8k32.row.col", ("s32", "s8", "u8", "s32"), (4, 4, 2)),
    (True, "m16n8k16.row.col.satfinite", ("s32", "s8", "s8", "s32"), (4, 2, 1)),
    (True, "m8n8k4.row.col", ("f64", "f64", "f64", "f64"), (2, 1, 1)),
)
"""(whether it is one of the larger products, shape and layout, types of d, a, b and c, registers of c and d, of a, of b)."""


def matrix(p: Program) -> None:
    """Emits an mma.sync."""
    r = p.rng
    _, shape, types, counts = r.choice([x for x in _PRODUCTS if not x[0] or p.has(features.LARGER_PRODUCTS)])
    dc = "g" if types[0] == "f64" else "f" if types[0] == "f32" else "r"
    ab = "g" if types[0] == "f64" else "r"

    def vector(names: list[str]) -> str:
        return "{" + ", ".join(names) + "}"

    d, c = p.names(dc, counts[0]), [p.var(dc) for _ in range(counts[0])]
    a, b = [p.var(ab) for _ in range(counts[1])], [p.var(ab) for _ in range(counts[2])]
    p.plain(f"mma.sync.aligned.{shape}.{'.'.join(types)} {vector(d)}, {vector(a)}, {vector(b)}, {vector(c)};")
