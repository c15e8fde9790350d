"""Dense numbers for virtual registers.

Construction of SSA makes many phis that it removes again: of a large function nine of ten numbers were free.  The sets
of registers in analyses are integers with a bit for each number, so their size is that of the highest number.
"""

from orias.isa.operand import FIRST_VIRTUAL, FIRST_VREG, K_B, KIND_MASK, PAYLOAD_SHIFT, Opnd
from orias.ori.ir import Func


def renumber(fn: Func) -> None:
    """Number the virtual registers of a function without gaps, in the order that they have."""
    seen = bytearray(len(fn.vkind))
    for v in fn.names:
        seen[v] = 1
    for inst in fn.insts():
        for o in (*inst.dst, *inst.src, inst.guard, inst.old):
            if o >= FIRST_VREG and o & KIND_MASK <= K_B:
                seen[o >> PAYLOAD_SHIFT] = 1
    new = [0] * len(seen)
    vkind, vwidth = fn.vkind[:FIRST_VIRTUAL], fn.vwidth[:FIRST_VIRTUAL]
    for v in range(FIRST_VIRTUAL, len(seen)):
        if seen[v]:
            new[v] = len(vkind)
            vkind.append(fn.vkind[v])
            vwidth.append(fn.vwidth[v])
    if len(vkind) == len(seen):
        return

    def moved(o: Opnd) -> Opnd:
        if o >= FIRST_VREG and o & KIND_MASK <= K_B:
            return o + (new[o >> PAYLOAD_SHIFT] - (o >> PAYLOAD_SHIFT) << PAYLOAD_SHIFT)
        return o

    for inst in fn.insts():
        inst.dst = [moved(o) for o in inst.dst]
        inst.src = [moved(o) for o in inst.src]
        inst.guard, inst.old = moved(inst.guard), moved(inst.old)
    fn.names = {new[v]: names for v, names in fn.names.items()}
    fn.vkind, fn.vwidth = vkind, vwidth
