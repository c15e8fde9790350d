"""clusterlaunchcontrol.try_cancel: a request for the work of a cluster that has not started yet.

Forms of ptxas 13.0.88: UGETNEXTWORKID with the address of the answer, and the mbarrier, in a pair of uniform registers;
``.BROADCAST`` answers each CTA of the cluster, at the same offset.
"""

from orias.isa.operand import with_word_lane
from orias.lower.frame.context import Ctx
from orias.lower.frame.registry import lowers
from orias.lower.memory.bulk import group, place
from orias.lower.memory.lane_loops import Pick, each_thread, pack_uniform
from orias.ptx.ast import Instr


@lowers("clusterlaunchcontrol.try_cancel", types="any")
def lower_try_cancel(ctx: Ctx, i: Instr) -> None:
    """One request per thread."""
    ctx.begin_guarded()
    to, barrier = (place(ctx, o, "shared") for o in i.ops[:2])
    name = f"UGETNEXTWORKID.{'BROADCAST' if 'multicast' in i.sig.mods else 'SELFCAST'}"

    def one(pick: Pick) -> None:
        pair = pack_uniform(ctx, pick(to), pick(barrier))
        ctx.b.emit(name, [], [*group(pair), *group(with_word_lane(pair, 1))])

    each_thread(ctx, one)
    ctx.end_guarded()
