"""Builders: mma, ldmatrix, stmatrix, movmatrix and wgmma, by the builders of the SASS instructions with their semantics."""

from typing import Any, Final

import numpy as np
import numpy.typing as npt

from orias.isa.gmma_forms import GROUP
from orias.isa.operand import K_NONE, NEG, NOT_UPT, RZ, URZ, Opnd, imm, r, up, ur
from orias.ptx.ast import O_IMM, O_REG, O_VEC, Operand
from orias.sim.core.site import Exec, Getter, run_all
from orias.sim.core.state import Active, Machine
from orias.sim.math.ops_int import U32
from orias.sim.matrix import exec_mma, exec_tensor, exec_warpgroup
from orias.sim.ptx.ptx_integer import Builder, type_of
from orias.sim.ptx.ptx_memory import address
from orias.sim.ptx.ptx_site import PtxSite, bits_of
from orias.sim.sass import exec_warp

Arr = npt.NDArray[Any]
_HALF: Final[dict[str, str]] = {"f16": "", "bf16": ".BF16", "tf32": ".TF32"}
_FP8: Final = ("e4m3", "e5m2", "e3m2", "e2m3", "e2m1")


def elements(o: Operand) -> list[Operand]:
    """The operands of a fragment."""
    return o.elems if o.kind == O_VEC else [o]


def _word(s: PtxSite, o: Operand, type_: str) -> Getter:
    """An element of a fragment; a predicate counts as all ones or zero."""
    if o.kind == O_REG and o.var is not None and o.var.type == "pred":
        p = s.pred(o)
        return lambda m, a: np.where(p(m, a), np.uint32(0xFFFFFFFF), np.uint32(0)).astype(U32)
    return s.src(o, type_)


def fragment(s: PtxSite, o: Operand, type_: str) -> tuple[int, Exec]:
    """(first scratch row of a fragment, step that fills the rows)."""
    elems = elements(o)
    words = max(1, bits_of(type_) // 32)
    row = s.program.scratch(words * len(elems))
    gets = [_word(s, e, type_) for e in elems]

    def fill(m: Machine, a: Active) -> None:
        for k, g in enumerate(gets):
            v = g(m, a)
            m.R[row + k * words][a.sel] = v.astype(U32)
            if words == 2:
                m.R[row + 2 * k + 1][a.sel] = v >> np.uint64(32)

    return row, fill


def spread(s: PtxSite, o: Operand, type_: str, row: int = -1) -> tuple[int, Exec]:
    """(first scratch row of a result fragment, step that writes its operands); the rows start at `row` if given."""
    elems = elements(o)
    words = max(1, bits_of(type_) // 32)
    first = row if row >= 0 else s.program.scratch(words * len(elems))
    puts = [s.dst(e, type_) for e in elems]

    def empty(m: Machine, a: Active) -> None:
        for k, put in enumerate(puts):
            put(m, a, m.pair(first + 2 * k, a.sel) if words == 2 else m.R[first + k][a.sel])

    return first, empty


def _mma(s: PtxSite) -> Exec:
    t = s.types
    shape = s.mods["shape"]
    if s.has("block_scale"):
        return _scaled(s)
    if shape == "m8n8k4" and t[1] == "f16":
        return _quads(s)
    rows, rest = shape[1:].split("n")
    size = f"{rows}8{rest.split('k')[1]}"
    if s.has("sp"):
        size = "SP." + size
    a, b = t[1], t[2]
    wide = "b64" if a == "f64" else "b32"
    if a in _HALF:
        name, build = f"HMMA.{size}.{t[0].upper()}{_HALF[a]}", exec_mma.hmma
    elif a in _FP8 and b in _FP8:
        name, build = f"QMMA.{size}.{t[0].upper()}.{a.upper()}.{b.upper()}", exec_mma.qmma
    elif a in ("s8", "u8", "s4", "u4"):
        sat = ".SAT" if s.has("satfinite") else ""
        name, build = f"IMMA.{size}.{a.upper()}.{b.upper()}{sat}", exec_mma.imma
    elif a == "b1":
        name, build = f"BMMA.{size}.{s.mods['bool'].upper()}.POPC", exec_mma.bmma
    elif a == "f64":
        rnd = s.mods.get("rnd", "rn")
        name = f"DMMA.{rows}x8x{rest.split('k')[1]}{'' if rnd == 'rn' else '.' + rnd.upper()}"
        build = exec_mma.dmma
    else:
        raise s.unknown()
    fragments = [fragment(s, o, wide) for o in s.ops[1:4]]
    src = [r(row) for row, _ in fragments]
    if s.has("sp"):
        meta, fill = fragment(s, s.ops[4], "b32")
        fragments.append((meta, fill))
        src += [r(meta), imm(s.ops[5].value)]
    out, empty = spread(s, s.ops[0], wide)
    return run_all([*[f for _, f in fragments], build(s.sass(name, [r(out)], src)), empty])


def _scaled(s: PtxSite) -> Exec:
    """mma with block_scale: QMMA.SF or OMMA.SF, whose last register says where the scales are."""
    t, sparse = s.types, s.has("sp")
    eights = s.mods["kind"] == "kind::mxf8f6f4"
    k = s.mods["shape"].split("k")[1]
    name = f"{'QMMA' if eights else 'OMMA'}.SF{'.SP' if sparse else ''}.168{k}.F32.{t[1].upper()}.{t[2].upper()}"
    name += ".UE4M3" if t[4] == "ue4m3" else ".E8"
    name += ".4X" if s.mods.get("scale_vec") == "scale_vec::4X" else ""
    fragments = [fragment(s, o, "b32") for o in s.ops[1:4]]
    heads = s.program.scratch(2)
    scale_a, at_a, scale_b, at_b = s.ops[6 if sparse else 4 :]
    gets = [s.src(elements(o)[0], "b32") for o in ([s.ops[4], scale_a] if sparse else [scale_a])]
    fields = [(s.src(e, "u16"), low) for e, low in zip([*at_a.elems, *at_b.elems], (0, 2, 3, 5), strict=True)]
    place = s.program.scratch(1)

    def fill(m: Machine, a: Active) -> None:
        for j, g in enumerate(gets):
            m.R[heads + j][a.sel] = g(m, a).astype(U32)
        total = np.zeros(a.n, U32)
        for g, low in fields:
            total |= np.asarray(g(m, a)).astype(U32) << np.uint32(low)
        m.R[place][a.sel] = total

    right, fill_right = fragment(s, elements(scale_b)[0], "b32")
    src = [*[r(row) for row, _ in fragments], r(heads), r(right), r(place)]
    if sparse:
        src.append(imm(s.ops[5].value))
    out, empty = spread(s, s.ops[0], "b32")
    build = exec_mma.qmma if eights else exec_mma.omma
    return run_all([*[f for _, f in fragments], fill, fill_right, build(s.sass(name, [r(out)], src)), empty])


def _quads(s: PtxSite) -> Exec:
    """m8n8k4 of f16: the steps of HMMA.884."""
    d_type, c_type = s.types[0], s.types[3]
    fragments = [fragment(s, o, "b32") for o in s.ops[1:4]]
    (a, _), (b, _), (c, _) = fragments
    out, empty = spread(s, s.ops[0], "b32")
    count, parts = len(elements(s.ops[0])) // 2, len(elements(s.ops[3])) // 2
    layouts = f"{s.mods['alayout']}.{s.mods['blayout']}".upper()
    steps = []
    for k in range(count):
        name = f"HMMA.884.{d_type.upper()}.{c_type.upper()}.STEP{k}.{layouts}"
        steps.append(exec_mma.hmma(s.sass(name, [r(out + 2 * k)], [r(a), r(b), r(c + 2 * (k * parts // count))])))
    return run_all([*[f for _, f in fragments], *steps, empty])


_LAYOUTS: Final[dict[tuple[str, bool], str]] = {
    ("m8n8", False): "M88", ("m8n8", True): "MT88", ("m16n16", True): "MT1616", ("m8n16", False): "M816", ("m16n8", True): "MT168",
}  # fmt: skip
_STORED: Final[dict[str, str]] = {"b16": "16", "b8": "8", "b6x16_p32": "U6x16P32TO8", "b4x16_p64": "U4x16P64TO8"}


def _matrix_name(s: PtxSite) -> str:
    layout, size = _LAYOUTS.get((s.mods.get("shape", ""), s.has("trans"))), _STORED.get(type_of(s))
    if layout is None or size is None:
        raise s.unknown()
    count = {"x1": "", "x2": ".2", "x4": ".4"}[s.mods["num"]]
    return f".{size}.{layout}{count}"


def shared_address(s: PtxSite, o: Operand) -> tuple[Opnd, Exec]:
    """(scratch row with the 32-bit address in shared memory that an operand names, step that fills it)."""
    space = "shared" if s.has("space") or (o.var is not None and o.var.space == "shared") else ""
    g = address(s, o, space)
    row = s.program.scratch(1)

    def fill(m: Machine, a: Active) -> None:
        v = g(m, a)
        m.R[row][a.sel] = (v & v.dtype.type(0xFFFFFFFF)).astype(U32)

    return r(row), fill


def _ldmatrix(s: PtxSite) -> Exec:
    at, fill = shared_address(s, s.ops[1])
    out, empty = spread(s, s.ops[0], "b32")
    site = s.sass("LDSM" + _matrix_name(s), [r(out)], [K_NONE, at, URZ, imm(0)])
    return run_all([fill, exec_tensor.ldsm(site), empty])


def _stmatrix(s: PtxSite) -> Exec:
    at, fill = shared_address(s, s.ops[0])
    row, gather = fragment(s, s.ops[1], "b32")
    site = s.sass("STSM" + _matrix_name(s), [], [K_NONE, at, URZ, imm(0), r(row)])
    return run_all([fill, gather, exec_tensor.stsm(site)])


def _movmatrix(s: PtxSite) -> Exec:
    return exec_warp.movm(s.sass("MOVM.16.MT88", [s.opnd(s.ops[0])], [s.opnd(s.ops[1])]))


# -- wgmma


def _wgmma_name(s: PtxSite, from_registers: bool, tail: list[int]) -> str:
    """The name of the SASS operation; `tail`: factors of A and B (1 or -1), then transposition of A and B."""
    d, a, b = s.types
    n, k = s.mods["shape"][4:].split("k")
    shape = f"{'SP.' if s.has('sp') else ''}64x{n}x{k}"
    if a in _HALF:
        name = f"HGMMA.{shape}.{d.upper()}{_HALF[a]}"
    elif a in _FP8:
        name = f"QGMMA.{shape}.{d.upper()}.{a.upper()}.{b.upper()}"
    elif a == "b1":
        name = f"BGMMA.{shape}.AND.POPC"
    else:
        name = f"IGMMA.{shape}.{a.upper()}.{b.upper()}{'.SAT' if s.has('satfinite') else ''}"
    if len(tail) >= 2:
        name += ("" if tail[0] > 0 or from_registers else ".negA") + ("" if tail[1] > 0 else ".negB")
    turned = tail[2:]
    if turned and turned[-1]:
        name += ".tnspB" if not (len(turned) == 2 and turned[0]) else ".tnspA.tnspB"
    elif len(turned) == 2 and turned[0]:
        name += ".tnspA"
    return name


def _wgmma(s: PtxSite) -> Exec:
    """wgmma.mma_async.  It is done at once, which a correct program cannot observe."""
    ops = s.ops
    sparse = s.has("sp")
    at = 5 if sparse else 3
    tail = [o.value for o in ops[at + 1 :]]
    from_registers = ops[1].kind == O_VEC
    total, fill = fragment(s, ops[0], "b32")
    steps = [fill]
    src: list[Opnd] = []
    descriptors = [ops[2]] if from_registers else [ops[1], ops[2]]
    if from_registers:
        row, load = fragment(s, ops[1], "b32")
        steps.append(load)
        src.append(r(row) | (NEG if len(tail) >= 2 and tail[0] < 0 else 0))
    gets = [s.src(o, "b64") for o in descriptors]
    scale = s.pred(ops[at])
    first = 4 - 2 * len(gets)

    def uniform(m: Machine, a: Active) -> None:
        leaders = np.flatnonzero(np.diff(a.warp_of, prepend=-1))
        for k, g in enumerate(gets):
            v = np.broadcast_to(g(m, a), (a.n,))[leaders]
            m.UR[first + 2 * k][a.warps] = v.astype(U32)
            m.UR[first + 2 * k + 1][a.warps] = v >> np.uint64(32)
        m.UP[0][a.warps] = np.broadcast_to(scale(m, a), (a.n,))[leaders]

    steps.append(uniform)
    off = ops[at].kind == O_IMM and not ops[at].value
    src += [ur(0), RZ, NOT_UPT] if off else [ur(0), r(total), up(0)]
    if sparse:
        meta, load = fragment(s, ops[3], "b32")
        steps.append(load)
        src.append(r(meta))
        if s.types[1] in _HALF:
            src.append(imm(ops[4].value))
    product = exec_warpgroup.gmma(s.sass(_wgmma_name(s, from_registers, tail), [r(total)], [*src, GROUP]))
    wait = exec_warpgroup.warpgroup(s.sass("WARPGROUP.DEPBAR.LE", [], [GROUP, imm(0)]))
    _, empty = spread(s, ops[0], "b32", total)
    return run_all([*steps, product, wait, empty])


MATRIX: Final[dict[str, Builder]] = {
    "mma": _mma, "ldmatrix": _ldmatrix, "stmatrix": _stmatrix, "movmatrix": _movmatrix, "wgmma.mma_async": _wgmma,
}  # fmt: skip
