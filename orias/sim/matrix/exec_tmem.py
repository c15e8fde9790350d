"""Builders for instructions on tensor memory (sm_100 to sm_110), with the model of :mod:`orias.sim.matrix.tensor_memory`.

ptxas compiles ``tcgen05.alloc`` to UTCATOMSWS, which finds and sets bits of a mask of units, and to code that keeps
masks in the system's part of shared memory.  Collector modifiers (A_KEEP, B_REUSE, BUFFER1, ...) have no effect here:
matrices are always read from memory.
"""

import re
from collections.abc import Callable
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from orias.isa.operand import K_UP, K_UR, Opnd, imm_value, in_file, is_imm, is_zero_reg, payload, reg_id
from orias.sim.core.site import Exec, Site
from orias.sim.core.state import Active, Machine
from orias.sim.math.ops_int import I64
from orias.sim.matrix.tensor_memory import (
    Access,
    Form,
    Product,
    allocate,
    blocks_of,
    commit,
    copy,
    least,
    memory_of,
    multiply,
    shift_down,
)
from orias.sim.sass.exec_copy import first_threads, own, peers
from orias.sim.sass.memory_places import shared_offsets

Arr = npt.NDArray[Any]
Builder = Callable[[Site], Exec]


def atomsws(s: Site) -> Exec:
    """UTCATOMSWS: finds and allocates free units (FIND_AND_SET), or changes the mask of allocated units (AND)."""
    pair = s.has("2CTA")
    source = payload(s.src[0])
    if s.has("FIND_AND_SET"):
        if not s.has("ALIGN"):
            raise s.unknown("without ALIGN")
        result, found = payload(s.regs[0]), payload(s.preds[0])

        def find(m: Machine, a: Active) -> None:
            for warp in a.warps.tolist():
                first = allocate(m, blocks_of(m, m.block_of_warp(warp), pair), m.uniform(source, warp))
                if result != 255:
                    m.UR[result][warp] = first & 0xFFFFFFFF
                if found != 7:
                    m.UP[found][warp] = first >= 0

        return find
    if not s.has("AND") or pair or not is_zero_reg(s.regs[0]):
        raise s.unknown()

    def clear(m: Machine, a: Active) -> None:
        for warp in a.warps.tolist():
            memory_of(m, m.block_of_warp(warp)).allocated &= m.uniform(source, warp)

    return clear


def _access(s: Site) -> Access:
    shape = next((x for x in s.op.mods if "dp" in x), "32dp32bit")
    found = re.fullmatch(r"(16|32)dp(\d+)bit(_t0_t15|_t16_t31)?", shape)
    assert found
    repeats = next((int(x[1:]) for x in s.op.mods if re.fullmatch(r"x\d+", x)), 1)
    packed = s.has("PACK16BIT") or s.has("EXPAND16BIT")
    return Access(f"{found[1]}x{found[2]}b", repeats, packed, found[3] == "_t16_t31")


def _address(place: list[Opnd]) -> Callable[[Machine, int], int]:
    """The address of `tmem[URb+I]`; the register, the immediate or both may be absent."""
    register = next((reg_id(o) for o in place if in_file(o, K_UR)), None)
    offset = next((imm_value(o) for o in place if is_imm(o)), 0)
    if register is None:
        return lambda m, warp: offset
    return lambda m, warp: (m.uniform(register, warp) + offset) & 0xFFFFFFFF


def ldtm(s: Site) -> Exec:
    """LDTM: tensor memory to registers.

    With STAT the first result is the minimum or maximum of the loaded registers.
    """
    access = _access(s)
    stat = payload(s.regs[0]) if s.has("STAT") else 255
    first = payload(s.regs[-1])
    address = _address(s.src)
    minimum, magnitude = s.has("MIN") or s.has("MINABS"), s.has("MINABS") or s.has("MAXABS")
    type_ = "f32" if s.has("F32") else "s32" if s.has("S32") else "u32"

    def run(m: Machine, a: Active) -> None:
        a.need_whole_warps("an access to tensor memory")
        for warp in a.warps.tolist():
            words = access.load(memory_of(m, m.block_of_warp(warp)), address(m, warp), m.warp_in_block(warp))
            start, stop = 32 * warp + access.threads.start, 32 * warp + access.threads.stop
            for r in range(access.registers if first != 255 else 0):
                m.R[first + r][start:stop] = words[:, r]
            if stat != 255:
                m.R[stat][start:stop] = least(words, type_, minimum, magnitude, s.has("NAN"))

    return run


def sttm(s: Site) -> Exec:
    """STTM: registers to tensor memory."""
    access = _access(s)
    address = _address(s.src[:-1])
    first = payload(s.src[-1])

    def run(m: Machine, a: Active) -> None:
        a.need_whole_warps("an access to tensor memory")
        for warp in a.warps.tolist():
            start, stop = 32 * warp + access.threads.start, 32 * warp + access.threads.stop
            rows = [m.R[255 if first == 255 else first + r][start:stop] for r in range(access.registers)]
            words = np.stack(rows, axis=1)
            access.store(memory_of(m, m.block_of_warp(warp)), address(m, warp), m.warp_in_block(warp), words)

    return run


_KINDS: Final[dict[str, str]] = {"UTCHMMA": "f16 or tf32", "UTCQMMA": "f8f6f4", "UTCIMMA": "i8", "UTCOMMA": "mxf4"}


def mma(s: Site) -> Exec:
    """UTCHMMA, UTCQMMA, UTCIMMA, UTCOMMA: descriptors or addresses of A, B, D and metadata, the instruction descriptor, scales."""
    pair = s.has("2CTA")
    in_tensor = s.has("tgtti") or s.has("tgttit")
    scaled = s.has("ggttit") or s.has("tgttit")
    which = _KINDS[s.op.base]
    vector = 0
    if scaled:
        which = "mxf4" if s.op.base == "UTCOMMA" else "mxf8f6f4"
        vector = 16 if s.has("4X") or s.has("BLOCK16") else 32
    a_place, b_place, d_place, metadata, description = (payload(o) for o in s.src[:5])
    rest = s.src[5:]
    more = payload(rest.pop(0)) if in_file(rest[0], K_UR) else -1
    stationary = s.has("WS")
    lanes = -1 if scaled or stationary else more
    if not in_file(rest[0], K_UP):
        raise s.unknown("operands")
    keep = s.pred(rest[0])
    scale = payload(rest[1]) if len(rest) > 1 else 0

    def run(m: Machine, a: Active) -> None:
        kept = np.broadcast_to(keep(m, a), (a.n,))[first_threads(a)]
        for warp, flag in zip(a.warps.tolist(), kept.tolist(), strict=True):
            words = [m.uniform(lanes + i, warp) for i in range(8 if pair else 4)] if lanes >= 0 else []
            multiply(
                m,
                Product(
                    Form(which, m.uniform(description, warp), pair, vector, stationary),
                    blocks_of(m, m.block_of_warp(warp), pair),
                    m.uniform(d_place, warp),
                    m.uniform(a_place, warp) if in_tensor else m.uniform_pair(a_place, warp),
                    in_tensor,
                    m.uniform_pair(b_place, warp),
                    flag,
                    scale,
                    sum(w << 32 * i for i, w in enumerate(words)),
                    (m.uniform(more, warp), m.uniform(more + 1, warp)) if scaled else (0, 0),
                    m.uniform(metadata, warp),
                    m.uniform_pair(more, warp) if stationary and more >= 0 else 0,
                    s.has("ASHIFT"),
                ),
                warp,
            )

    return run


def bar(s: Site) -> Exec:
    """UTCBAR: after all operations issued before, an arrival at a barrier object, or at one in each block of a mask."""
    if not is_zero_reg(s.src[4]):
        raise s.unknown("operands")
    place, offset = payload(s.src[2]), payload(s.src[3])
    mask = payload(s.src[5]) if s.has("MULTICAST") else None

    def run(m: Machine, a: Active) -> None:
        for i, warp in zip(first_threads(a).tolist(), a.warps.tolist(), strict=True):
            address = m.uniform(place, warp) + offset
            ranks = peers(m, i, m.uniform(mask, warp) & 0xFFFF) if mask is not None else []
            if mask is not None and not ranks:
                continue
            where = [np.array([x], I64) for x in own(address, ranks)]
            objects = [int(shared_offsets(m, a, x, np.array([i]), 8, 8)[0]) for x in where]
            if m.copy_watch is not None:
                m.copy_watch.signal(int(a.index[i]), objects)
            commit(m, m.block_of_warp(warp), objects)

    return run


_COPIES: Final[dict[str, str]] = {
    "": "128x256b", "128dp128bit": "128x128b", "2x64dp128bit_lw02_lw13": "64x128b.02_13", "2x64dp128bit_lw01_lw23": "64x128b.01_23",
    "4x32dp128bit": "32x128b", "4dp256bit": "4x256b",
}  # fmt: skip
_FORMATS: Final[dict[str, str]] = {"U6x16P32": "b6x16_p32", "U4x16P64": "b4x16_p64"}


def cp(s: Site) -> Exec:
    """UTCCP: a copy from shared to tensor memory, in both blocks of a pair."""
    shape = _COPIES[next((x for x in s.op.mods if "dp" in x), "")]
    source = next((_FORMATS[x] for x in s.op.mods if x in _FORMATS), "")
    pair = s.has("2CTA")
    if not s.has("tg") and not s.has("g"):
        raise s.unknown("operands")
    address, descriptor = _address(s.src[:-1]), payload(s.src[-1])

    def run(m: Machine, a: Active) -> None:
        for warp in a.warps.tolist():
            for block in blocks_of(m, m.block_of_warp(warp), pair):
                copy(m, warp, block, address(m, warp), m.uniform_pair(descriptor, warp), shape, source)

    return run


def shift(s: Site) -> Exec:
    """UTCSHIFT: moves 32 bytes of 32 lanes by one lane, in both blocks of a pair."""
    pair = s.has("2CTA")
    address = _address(s.src)

    def run(m: Machine, a: Active) -> None:
        for warp in a.warps.tolist():
            for block in blocks_of(m, m.block_of_warp(warp), pair):
                shift_down(m, block, address(m, warp))

    return run


def _nothing(s: Site) -> Exec:
    """UVIRTCOUNT: tells the block scheduler that the allocation permit is relinquished; no effect here."""
    return lambda m, a: None


BUILDERS: Final[dict[str, Builder]] = {
    "UTCATOMSWS": atomsws, "LDTM": ldtm, "STTM": sttm, "UTCHMMA": mma, "UTCQMMA": mma, "UTCIMMA": mma, "UTCOMMA": mma, "UTCBAR": bar, "UTCCP": cp, "UTCSHIFT": shift,
    "UVIRTCOUNT": _nothing,
}  # fmt: skip
