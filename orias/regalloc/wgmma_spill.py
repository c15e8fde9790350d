"""Serialises warpgroup operations where registers do not suffice for pending accumulators.

Where allocation fails, the operations of the function run one at a time (``Func.wgmma_serial``, and
:mod:`orias.schedule.wgmma_serial` after allocation).  Each accumulator is copied to registers of its own before the
operation and back after it.  Between operations its words are then ordinary values, which can be spilled.
"""

from orias.analysis.inflight import InFlight, has_operations, union
from orias.isa.gmma_forms import FIRST_REGISTER, accumulator_words, c_count, c_start
from orias.isa.op import F_WGMMA, F_WGMMA_SYNC
from orias.isa.operand import K_R, is_vreg, is_zero_reg, lane_words, vreg
from orias.isa.roles import MOVE
from orias.ori.ir import Func, Inst
from orias.ori.remarks import FUNCTION_REGISTERS, PIPELINE_REGISTERS
from orias.regalloc.accumulator_registers import vectors
from orias.regalloc.coalesce import Classes, Cls
from orias.regalloc.files import usable


def gather_accumulators(fn: Func) -> None:
    """Copy accumulators around each operation of a function in SSA, and remove the operations that order them.

    ``wgmma_serial`` becomes the reason: whether pending accumulators alone exceed the limit (C7511).
    """
    fn.wgmma_serial = PIPELINE_REGISTERS if _under_way(fn) > fn.max_regs else FUNCTION_REGISTERS
    for b in fn.blocks:
        out: list[Inst] = []
        for inst in b.insts:
            operation = inst.op.flags & F_WGMMA
            if inst.op.flags & F_WGMMA_SYNC or (operation and is_zero_reg(inst.dst[0])):
                continue
            if not operation:
                out.append(inst)
                continue
            count = c_count(inst.dst, inst.src)
            if count > 1:
                at = c_start(inst.src)
                for k in range(at, at + count):
                    c = fn.new_vreg(K_R)
                    # Not a copy, because coalescing would remove it.
                    out.append(fn.new_inst(MOVE, [c], [inst.src[k]], loc=inst.loc))
                    inst.src[k] = c
            out.append(inst)
            for k, d in enumerate(inst.dst):
                inst.dst[k] = fn.new_vreg(K_R)
                out.append(fn.new_inst(MOVE, [d], [inst.dst[k]], loc=inst.loc))
        b.insts = out


def _under_way(fn: Func) -> int:
    """Maximum number of accumulator words that are pending at once."""
    parent: dict[int, int] = {}
    words: dict[int, int] = {}

    def root(o: int) -> int:
        while parent.setdefault(o, o) != o:
            o = parent[o]
        return o

    operations = [i for i in fn.insts() if i.op.flags & F_WGMMA and not is_zero_reg(i.dst[0])]
    for inst in operations:
        c = inst.src[c_start(inst.src)]
        if not is_zero_reg(c):
            parent[root(inst.dst[0])] = root(c)
    for inst in operations:
        words[root(inst.dst[0])] = accumulator_words(inst.op)
    bits = {o: 1 << k for k, o in enumerate(words)}
    flight = InFlight(fn, lambda inst: 0 if is_zero_reg(inst.dst[0]) else bits[root(inst.dst[0])])
    most = 0
    for b in fn.blocks:
        state = flight.before.get(b.id)
        if state is not None:
            for inst in b.insts:
                state = flight.step(inst, state)
                held = union(state)
                if inst.op.flags & F_WGMMA:
                    most = max(most, sum(n for o, n in words.items() if held & bits[o]))
    return most


def cannot_be_pending(classes: Classes) -> bool:
    """True if somewhere the pending operations hold more words than there are registers for them, whatever is spilled.

    What they hold are accumulators, A in registers and its metadata.  Each stays in its registers until the wait, and spilling A
    earlier changes nothing about that.  False where operations run one at a time.
    """
    fn = classes.rg.fn
    if fn.wgmma_serial or not has_operations(fn):
        return False
    numbers: dict[tuple[Cls, int], int] = {}

    def held(inst: Inst) -> int:
        mask = 0
        for o in [*inst.dst, *vectors(inst)]:
            c = classes.of[vreg(o)] if is_vreg(o) else None
            if c is None:
                continue
            first, count = lane_words(o, fn.vwidth[vreg(o)])
            at = classes.place[vreg(o)] + first
            for place in range(at, at + count):
                mask |= 1 << numbers.setdefault((c, place), len(numbers))
        return mask

    room = (usable(fn, K_R) >> FIRST_REGISTER).bit_count()
    flight = InFlight(fn, held)
    for b in fn.blocks:
        state = flight.before.get(b.id)
        if state is None:
            continue
        for inst in b.insts:
            state = flight.step(inst, state)
            if inst.op.flags & F_WGMMA and union(state).bit_count() > room:
                return True
    return False
