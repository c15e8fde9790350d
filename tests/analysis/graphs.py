"""Random control-flow graphs for the tests of the analyses."""

import random

from orias.ori.ir import Func
from orias.target.profile import target


def random_graph(seed: int, blocks: int) -> Func:
    """A function of empty blocks with random edges; some blocks may be unreachable, some cycles irreducible."""
    rng = random.Random(seed)
    fn = Func(f"g{seed}", target("sm_80"))
    fn.blocks = [fn.new_block() for _ in range(blocks)]
    for i, b in enumerate(fn.blocks):
        for _ in range(rng.choice((0, 1, 1, 2, 2, 3))):
            if rng.random() < 0.6:
                to = min(blocks - 1, i + rng.randint(1, 3))
            else:
                to = rng.randrange(1, blocks) if blocks > 1 else 0
            if to != 0:
                fn.link(b, fn.blocks[to])
    return fn


def reach(fn: Func, start: int, without: int) -> set[int]:
    """Blocks reachable from `start` when block `without` is taken out."""
    by_id = {b.id: b for b in fn.blocks}
    if start == without:
        return set()
    seen = {start}
    work = [start]
    while work:
        for s in by_id[work.pop()].succs:
            if s.id != without and s.id not in seen:
                seen.add(s.id)
                work.append(s.id)
    return seen
