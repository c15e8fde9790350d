"""OriDoPredication, after it: threads that have nothing left to do exit where they are.

Paths that meet only to run EXIT get an EXIT each.  A branch to it is saved, and threads of a divided warp need not wait for
each other at the end (ptxas 13.0.88 has no convergence barrier there either).
"""

from orias.isa.operand import PT
from orias.ori.ir import OP_EXIT, Block, Func
from orias.passes.branches import label_targets


def exit_separately(fn: Func) -> bool:
    """Give each block that goes on to a lone EXIT, and nowhere else, an EXIT of its own; True if any changed."""
    changed = False
    keep = label_targets(fn)
    for end in list(fn.blocks[1:]):
        if not _is_exit(end):
            continue
        for b in list(end.preds):
            if len(b.succs) != 1 or b.terminator() is not None:
                continue
            b.insts.append(fn.new_inst(OP_EXIT, [], [], loc=end.insts[0].loc))
            b.succs.clear()
            end.preds.remove(b)
            changed = True
        if not end.preds and end.id not in keep:
            fn.blocks.remove(end)
    return changed


def _is_exit(b: Block) -> bool:
    """True for a block that holds an EXIT of all its threads and nothing else, and that several paths reach."""
    return len(b.insts) == 1 and b.insts[0].op is OP_EXIT and b.insts[0].guard == PT and len(b.preds) > 1
