"""OriDoRemat: a value that nothing has defined begins at the end of the block from which a phi takes it, and holds no register earlier.

Lowering makes it at the start of the function.  Branches around the loads of a partial tile, for example, leave as many of them as there
are loads; the allocator drops them, but an order and a choice of registers that counted them would leave warps out.
"""

from orias.isa.operand import is_vreg, vreg, with_reg
from orias.ori.ir import OP_PHI, OP_UNDEF, Block, Func


def begin_late(fn: Func) -> None:
    """Let undefined sources of phis begin in the predecessors; not for tools that find errors, to which they are values as any other."""
    homes = {vreg(i.dst[0]): b for b in fn.blocks for i in b.insts if i.op is OP_UNDEF and i.dst and is_vreg(i.dst[0])}
    if not homes or fn.keep_warp_barriers:
        return
    made: dict[tuple[int, int], int] = {}
    for b in fn.blocks:
        for inst in b.insts:
            if inst.op is not OP_PHI:
                break
            for k, o in enumerate(inst.src):
                if is_vreg(o) and vreg(o) in homes and homes[vreg(o)] is not b.preds[k] and vreg(o) not in fn.names:
                    key = vreg(o), b.preds[k].id
                    if key not in made:
                        made[key] = _at_end(fn, b.preds[k], vreg(o))
                    inst.src[k] = with_reg(o, made[key])


def _at_end(fn: Func, b: Block, v: int) -> int:
    """An undefined value as `v` at the end of a block."""
    d = fn.new_vreg(fn.vkind[v], fn.vwidth[v])
    at = len(b.insts) - (b.terminator() is not None)
    b.insts.insert(at, fn.new_inst(OP_UNDEF, [d], []))
    return vreg(d)
