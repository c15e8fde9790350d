"""Spilled words in shared memory, for kernels with ``.pragma "enable_smem_spilling"``.

A kernel that spills is allocated once more with a register for the address (:mod:`orias.regalloc.spill_base`).
The words of all threads of a block are a row, so that the lanes of a warp access different banks; each further word is a row
further on.  Words for which there is no space in shared memory stay in local memory.  Measured with ptxas 13.0.88:
``docs/facts/register-allocation.md``, "Spilling to shared memory".
"""

from typing import Final

from orias.diag import CompileError, Diagnostic
from orias.isa.operand import K_NONE, K_R, RZ, URZ, Opnd, const, imm, imm_signed, r, reg_id, word
from orias.isa.roles import (
    LOAD_CONSTANT,
    LOAD_SHARED,
    LOCAL_STORES,
    MULTIPLY_ADD,
    READ_SPECIAL,
    SHIFT_ADD,
    SHIFT_LEFT,
    STORE_SHARED,
)
from orias.lower.frame.data_layout import align_up
from orias.lower.frame.program import Kernel
from orias.options import Options
from orias.ori.ir import OP_COPY, Func, Inst, SharedSpills
from orias.ptx.ast import Pragma
from orias.regalloc.register_budget import block_threads
from orias.regalloc.spill import SpillState
from orias.target import features
from orias.target.profile import Target
from orias.target.register_steps import warps_with

_PRAGMA: Final = "enable_smem_spilling"
_MOST_THREADS: Final = 1024
_WARP: Final = 32
_WORD: Final = 4
_ALIGN: Final = 16
"""Where the rows begin, as with ptxas."""


def shared_spills(kernel: Kernel, options: Options, target: Target, said: list[Diagnostic]) -> SharedSpills | None:
    """Where a kernel may spill to in shared memory; None if it does not ask for that, or at -O0.

    Raises CompileError, with what was `said` before, where ptxas does not allow the pragma.
    """
    if not any(isinstance(s, Pragma) and s.text.split(" ")[0] == _PRAGMA for s in kernel.ptx.body or ()):
        return None
    why = "dynamic SMEM" if kernel.dynamic_used else "per-function compilation modes" if options.own_sections else ""
    if why:
        raise CompileError([*said, Diagnostic("fatal", f"Pragma '{_PRAGMA}' is not allowed for {why}")])
    if not options.opt_level:
        return None
    threads = align_up(min(block_threads(kernel.ptx) or _MOST_THREADS, _MOST_THREADS), _WARP)
    start = align_up(kernel.shared_size, _ALIGN)
    # As many blocks fit as without it.
    warps = min(target.number("threads_per_sm") // _WARP, warps_with(kernel.entry.max_regs))
    blocks = max(1, min(target.number("ctas_per_sm"), warps * _WARP // threads))
    size = min(target.number("shared_limit"), target.number("shared_per_sm") // blocks)
    room = size - target.number("system_shared") - start
    return SharedSpills(start, max(room, 0), threads, kernel.ptx.directives.get("reqntid", ()))


def base_code(fn: Func, spills: SharedSpills, base: Opnd) -> list[Inst]:
    """Code for the entry of a function in state ``virtual``: in `base`, a thread's place in a row, in the shared memory of its block."""
    out: list[Inst] = []
    thread = _thread(fn, spills, out)
    if fn.target.has(features.CLUSTERS):
        row = fn.new_vreg(K_R)
        out.append(fn.new_inst(SHIFT_LEFT, [row], [thread, imm(2), RZ]))
        cta = _special(fn, "SR_CgaCtaId", out)
        out.append(fn.new_inst(SHIFT_ADD, [base], [cta, row, imm(24)]))
    else:
        out.append(fn.new_inst(SHIFT_LEFT, [base], [thread, imm(2), RZ]))
    return out


def _thread(fn: Func, spills: SharedSpills, out: list[Inst]) -> Opnd:
    """The number of a thread in its block."""
    x, y, z = (*spills.shape, 1, 1, 1)[:3] if spills.shape else (0, 0, 0)
    number = RZ
    for name, size, place in (("SR_TID.Z", z, 8), ("SR_TID.Y", y, 4), ("SR_TID.X", x, 0)):
        if size == 1:
            continue
        here = _special(fn, name, out)
        if number == RZ:
            number = here
            continue
        factor = imm(size) if size else _block_size(fn, place, out)
        total = fn.new_vreg(K_R)
        out.append(fn.new_inst(MULTIPLY_ADD, [total], [number, factor, here]))
        number = total
    return number


def _special(fn: Func, name: str, out: list[Inst]) -> Opnd:
    value = fn.new_vreg(K_R)
    out.append(fn.new_inst(READ_SPECIAL, [value], [word(name)]))
    return value


def _block_size(fn: Func, place: int, out: list[Inst]) -> Opnd:
    value = fn.new_vreg(K_R)
    source = const(0, fn.target.word("ntid") + place)
    if fn.target.has(features.CONSTANT_OPERANDS):
        out.append(fn.new_inst(OP_COPY, [value], [source]))
    else:
        out.append(fn.new_inst(LOAD_CONSTANT[1], [value], [source, RZ]))
    return value


def move_to_shared(fn: Func, state: SpillState) -> None:
    """Turn the spill code of an allocated function into accesses to shared memory, as far as there is space.

    The spill area of the frame shrinks by the words that move; the other words stay in their order.
    """
    spills = fn.shared_spills
    assert spills is not None
    words = state.size // _WORD
    row = spills.threads * _WORD
    moved = min(words, spills.room // row)
    if moved < words:
        # Pairs stay together, and those that stay are aligned as before.
        moved -= moved % 2
    if not moved:
        return
    area = fn.frame_fixed
    at = fn.target.number("system_shared") + spills.start
    for b in fn.blocks:
        out: list[Inst] = []
        for inst in b.insts:
            if inst.uid not in state.uids:
                out.append(inst)
                continue
            first = (imm_signed(inst.src[3]) - area) // _WORD
            if first >= moved:
                inst.src[3] = imm(area + (first - moved) * _WORD)
                out.append(inst)
                continue
            accesses = _accesses(fn, inst, at + first * row, row)
            state.uids.update([i.uid for i in accesses])
            out += accesses
        b.insts = out
    state.size -= moved * _WORD
    fn.shared_end = spills.start + moved * row


def _accesses(fn: Func, inst: Inst, at: int, row: int) -> list[Inst]:
    """The accesses to shared memory in place of a spill load or store; `at`: the address of its first word for thread 0."""
    stores = inst.op in LOCAL_STORES
    count = 2 if inst.op.mods else 1
    first = reg_id(inst.src[4] if stores else inst.dst[0])
    out: list[Inst] = []
    for k in range(count):
        where = [K_NONE, r(fn.spill_base), URZ, imm(at + k * row)]
        value = r(first + k)
        if stores:
            out.append(fn.new_inst(STORE_SHARED, [], [*where, value], inst.guard, loc=inst.loc))
        else:
            out.append(fn.new_inst(LOAD_SHARED, [value], where, inst.guard, loc=inst.loc))
    out[0].uid = inst.uid
    return out
