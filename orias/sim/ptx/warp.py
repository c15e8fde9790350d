"""Builders: warp operations and matrix instructions, through the builders of the SASS instructions that do them."""

from typing import Any, Final

import numpy as np
import numpy.typing as npt

from orias.isa.operand import K_NONE, PT, URZ, Opnd, imm, r
from orias.ptx.ast import O_PAIR, O_SINK, O_VEC, Operand
from orias.sim import exec_mma, exec_tensor, exec_warp
from orias.sim.ops_int import I32, U32
from orias.sim.ptx.integer import Builder, type_of
from orias.sim.ptx.memory import address
from orias.sim.ptx.site import PtxSite, bits_of
from orias.sim.site import Exec
from orias.sim.state import Active, Machine

Arr = npt.NDArray[Any]


def members(s: PtxSite) -> Operand | None:
    """The operand with the member mask; None for the forms without .sync."""
    if s.name == "bar.warp.sync":
        return s.ops[0]
    if s.name in ("shfl", "vote", "match", "redux", "elect") and s.has("sync"):
        return s.ops[-1]
    return None


def _in_row(s: PtxSite, o: Operand, type_: str) -> tuple[Opnd, Exec | None]:
    """An operand as a register of the machine; a constant or an address is put in a scratch row first."""
    if o.kind == 1 or o.kind == O_SINK:
        return s.opnd(o, type_), None
    row = s.program.scratch(bits_of(type_) // 32)
    g = s.src(o, type_)

    def fill(m: Machine, a: Active) -> None:
        v = g(m, a)
        m.R[row][a.sel] = v.astype(U32)
        if v.dtype.itemsize == 8:
            m.R[row + 1][a.sel] = v >> np.uint64(32)

    return r(row), fill


def _run_all(steps: list[Exec | None]) -> Exec:
    real = [x for x in steps if x is not None]
    if len(real) == 1:
        return real[0]

    def run(m: Machine, a: Active) -> None:
        for x in real:
            x(m, a)

    return run


def _pair(o: Operand) -> tuple[Operand, Operand | None]:
    return (o.elems[0], o.elems[1]) if o.kind == O_PAIR else (o, None)


def _shfl(s: PtxSite) -> Exec:
    d, p = _pair(s.ops[0])
    parts = [_in_row(s, o, "b32") for o in s.ops[1:4]]
    out = s.opnd(p, "pred") if p is not None else PT
    site = s.sass(f"SHFL.{s.mods['op'].upper()}", [s.opnd(d), out], [x for x, _ in parts])
    return _run_all([*[f for _, f in parts], exec_warp.shfl(site)])


def _vote(s: PtxSite) -> Exec:
    what = s.mods["op"]
    q = s.opnd(s.ops[1], "pred")
    if what == "ballot":
        return exec_warp.vote(s.sass("VOTE.ANY", [s.opnd(s.ops[0]), PT], [q]))
    name = {"all": "ALL", "any": "ANY", "uni": "EQ"}[what]
    return exec_warp.vote(s.sass(f"VOTE.{name}", [s.opnd(s.ops[0], "pred")], [q]))


def _activemask(s: PtxSite) -> Exec:
    return exec_warp.vote(s.sass("VOTE.ANY", [s.opnd(s.ops[0]), PT], [PT]))


def _match(s: PtxSite) -> Exec:
    d, p = _pair(s.ops[0])
    t = type_of(s)
    value, fill = _in_row(s, s.ops[1], t)
    wide = ".U64" if bits_of(t) == 64 else ""
    every = s.mods["op"] == "all"
    dst = [s.opnd(d)] + ([s.opnd(p, "pred") if p is not None else PT] if every else [])
    return _run_all([fill, exec_warp.match(s.sass(f"MATCH.{'ALL' if every else 'ANY'}{wide}", dst, [value]))])


def _redux(s: PtxSite) -> Exec:
    t, what = type_of(s), s.mods["op"]
    g, put = s.src(s.ops[1], t), s.dst(s.ops[0], t)
    if t == "f32":
        raise s.unknown()
    signed = t == "s32"
    ufuncs: dict[str, Any] = {
        "add": np.add, "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor, "min": np.minimum, "max": np.maximum,
    }  # fmt: skip
    f = ufuncs[what]

    def run(m: Machine, a: Active) -> None:
        v = np.ascontiguousarray(np.broadcast_to(g(m, a), (a.n,)))
        starts = np.flatnonzero(np.diff(a.warp_of, prepend=-1))
        x = f.reduceat(v.view(I32) if signed else v, starts, dtype=I32 if signed else U32)
        put(m, a, x.view(U32)[a.position >> 5])

    return run


def _elect(s: PtxSite) -> Exec:
    d, p = _pair(s.ops[0])
    dst = [s.opnd(d)] + ([s.opnd(p, "pred")] if p is not None else [])
    return exec_warp.elect(s.sass("ELECT", dst, [PT]))


# -- matrices


def _elements(o: Operand) -> list[Operand]:
    return o.elems if o.kind == O_VEC else [o]


def _fragment(s: PtxSite, o: Operand, type_: str) -> tuple[int, Exec]:
    """Scratch rows of a fragment, and what fills them."""
    elems = _elements(o)
    words = max(1, bits_of(type_) // 32)
    row = s.program.scratch(words * len(elems))
    gets = [s.src(e, type_) for e in elems]

    def fill(m: Machine, a: Active) -> None:
        for k, g in enumerate(gets):
            v = g(m, a)
            m.R[row + k * words][a.sel] = v.astype(U32)
            if words == 2:
                m.R[row + 2 * k + 1][a.sel] = v >> np.uint64(32)

    return row, fill


def _spread(s: PtxSite, o: Operand, type_: str) -> tuple[int, Exec]:
    """Scratch rows of a result fragment, and what empties them."""
    elems = _elements(o)
    words = max(1, bits_of(type_) // 32)
    row = s.program.scratch(words * len(elems))
    puts = [s.dst(e, type_) for e in elems]

    def empty(m: Machine, a: Active) -> None:
        for k, put in enumerate(puts):
            put(m, a, m.pair(row + 2 * k, a.sel) if words == 2 else m.R[row + k][a.sel])

    return row, empty


def _mma(s: PtxSite) -> Exec:
    t = s.types
    shape = s.mods["shape"]
    rows, rest = shape[1:].split("n")
    k = rest.split("k")[1]
    if s.has("sp") or s.has("kind"):
        raise s.unknown()
    multiplicand = t[1]
    wide = "b64" if multiplicand == "f64" else "b32"
    if multiplicand in ("f16", "bf16", "tf32"):
        extra = {"bf16": ".BF16", "tf32": ".TF32", "f16": ""}[multiplicand]
        name, build = f"HMMA.{rows}8{k}.{t[0].upper()}{extra}", exec_mma.hmma
    elif multiplicand in ("s8", "u8", "s4", "u4"):
        sat = ".SAT" if s.has("satfinite") else ""
        name, build = f"IMMA.{rows}8{k}.{t[1].upper()}.{t[2].upper()}{sat}", exec_mma.imma
    elif multiplicand == "b1":
        name, build = f"BMMA.{rows}8{k}.{s.mods['bool'].upper()}.POPC", exec_mma.bmma
    elif multiplicand == "f64":
        rnd = s.mods.get("rnd", "rn")
        name = f"DMMA.{rows}x8x{k}{'' if rnd == 'rn' else '.' + rnd.upper()}"
        build = exec_mma.dmma
    else:
        raise s.unknown()
    fragments = [_fragment(s, o, wide) for o in s.ops[1:4]]
    out, empty = _spread(s, s.ops[0], wide)
    site = s.sass(name, [r(out)], [r(row) for row, _ in fragments])
    return _run_all([*[f for _, f in fragments], build(site), empty])


def _matrix_name(s: PtxSite) -> str:
    if s.mods.get("shape") != "m8n8" or type_of(s) != "b16":
        raise s.unknown()
    count = {"x1": "", "x2": ".2", "x4": ".4"}[s.mods["num"]]
    return f".16.{'MT88' if s.has('trans') else 'M88'}{count}"


def _row_address(s: PtxSite, o: Operand) -> tuple[Opnd, Exec]:
    """The offset in shared memory of a matrix row, in a scratch row."""
    space = "shared" if s.has("space") or (o.var is not None and o.var.space == "shared") else ""
    g = address(s, o, space)
    row = s.program.scratch(1)

    def fill(m: Machine, a: Active) -> None:
        m.R[row][a.sel] = (g(m, a) & g(m, a).dtype.type(0xFFFFFFFF)).astype(U32)

    return r(row), fill


def _ldmatrix(s: PtxSite) -> Exec:
    at, fill = _row_address(s, s.ops[1])
    out, empty = _spread(s, s.ops[0], "b32")
    site = s.sass("LDSM" + _matrix_name(s), [r(out)], [K_NONE, at, URZ, imm(0)])
    return _run_all([fill, exec_tensor.ldsm(site), empty])


def _stmatrix(s: PtxSite) -> Exec:
    at, fill = _row_address(s, s.ops[0])
    row, gather = _fragment(s, s.ops[1], "b32")
    site = s.sass("STSM" + _matrix_name(s), [], [K_NONE, at, URZ, imm(0), r(row)])
    return _run_all([fill, gather, exec_tensor.stsm(site)])


def _movmatrix(s: PtxSite) -> Exec:
    return exec_warp.movm(s.sass("MOVM.16.MT88", [s.opnd(s.ops[0])], [s.opnd(s.ops[1])]))


WARP: Final[dict[str, Builder]] = {
    "shfl": _shfl, "vote": _vote, "activemask": _activemask, "match": _match, "redux": _redux, "elect": _elect, "mma": _mma,
    "ldmatrix": _ldmatrix, "stmatrix": _stmatrix, "movmatrix": _movmatrix,
}  # fmt: skip
