"""Finds the lines of instructions that only bring a constant into a register: as with ptxas, that of the first use.

ptxas 13.0.88 reads parameters as operands where they are used; what needs them in a register brings them there at that line, not at the
line of ``ld.param``, which may be far away in inlined code.
"""

from orias.analysis.access import accesses
from orias.isa.operand import PT, SP, is_const
from orias.ori.ir import Block, Func, Inst


def constant_lines(fn: Func, b: Block) -> dict[int, int]:
    """Uid -> line, for the reads of constants in a block whose first use comes later in it, but that of the stack pointer."""
    found: dict[int, int] = {}
    uses: dict[int, int] = {}
    for inst in reversed(b.insts):
        access = accesses(inst, fn)
        writes = [w >> 8 for w in access.writes]
        line = inst.loc
        if line and _is_read(inst) and not access.reads and inst.dst[0] != SP:
            used = [uses[u] for u in writes if u in uses]
            if used and used[0]:
                line = found[inst.uid] = used[0]
        for u in writes:
            uses.pop(u, None)
        for r in access.reads:
            uses[r >> 8] = line
    return found


def _is_read(inst: Inst) -> bool:
    return inst.guard == PT and len(inst.dst) > 0 and any(is_const(o) for o in inst.src)
