"""Warpgroup operations that registers do not suffice for.

Where allocation fails, the operations of the function run one at a time (``Func.notes[ONE_AT_A_TIME]``, and
:mod:`orias.schedule.serialise` behind allocation): the accumulator of each is gathered in front of it into registers of its own and
scattered behind it, so that between operations its words are values like any others, which can be spilled.
"""

from typing import Final

from orias.analysis.inflight import InFlight, union
from orias.diag import CompileError, Diagnostic
from orias.isa.op import Op, op
from orias.isa.operand import K_R, is_zero_reg
from orias.isa.warpgroup import A_WORDS, FIRST_REGISTER, GMMA, a_in_registers, accumulator_words, c_count, c_start
from orias.ori.ir import ONE_AT_A_TIME, Func, Inst
from orias.ori.remarks import FUNCTION_REGISTERS, PIPELINE_REGISTERS
from orias.regalloc.files import RESERVE

_MOV: Final[Op] = op("MOV")
"""Not a copy, which would be coalesced."""


def check_operations(fn: Func) -> None:
    """Raise CompileError if some operation alone needs more registers than there may be, as ptxas says it."""
    for inst in fn.insts():
        if inst.op.base in GMMA and not is_zero_reg(inst.dst[0]):
            need = FIRST_REGISTER + accumulator_words(inst.op) + RESERVE + (A_WORDS if a_in_registers(inst.src) else 0)
            if need > fn.max_regs:
                text = f"(C7602) Insufficient registers ({fn.max_regs}) to compile instruction at line {inst.loc} in function {fn.name}."
                raise CompileError(
                    [Diagnostic("fatal", f"{text} Try to compile with register target of {need} or higher.")]
                )


def gather_accumulators(fn: Func) -> None:
    """Bring a function in SSA into the form above; the note says whether accumulators under way alone were too many (C7511)."""
    fn.notes[ONE_AT_A_TIME] = PIPELINE_REGISTERS if _under_way(fn) > fn.max_regs else FUNCTION_REGISTERS
    for b in fn.blocks:
        out: list[Inst] = []
        for inst in b.insts:
            operation = inst.op.base in GMMA
            if inst.op.base == "WARPGROUP" or (operation and is_zero_reg(inst.dst[0])):
                continue
            if not operation:
                out.append(inst)
                continue
            count = c_count(inst.dst, inst.src)
            if count > 1:
                at = c_start(inst.src)
                for k in range(at, at + count):
                    c = fn.new_vreg(K_R)
                    out.append(fn.new_inst(_MOV, [c], [inst.src[k]], loc=inst.loc))
                    inst.src[k] = c
            out.append(inst)
            for k, d in enumerate(inst.dst):
                inst.dst[k] = fn.new_vreg(K_R)
                out.append(fn.new_inst(_MOV, [d], [inst.dst[k]], loc=inst.loc))
        b.insts = out


def _under_way(fn: Func) -> int:
    """The most words of accumulators that are under way at once."""
    parent: dict[int, int] = {}
    words: dict[int, int] = {}

    def root(o: int) -> int:
        while parent.setdefault(o, o) != o:
            o = parent[o]
        return o

    operations = [i for i in fn.insts() if i.op.base in GMMA and not is_zero_reg(i.dst[0])]
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
                if inst.op.base in GMMA:
                    most = max(most, sum(n for o, n in words.items() if held & bits[o]))
    return most
