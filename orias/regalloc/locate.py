"""With -g: the locations of PTX registers, for the debugger.

A value has a location from the instruction after its definition to its last use, or to the first of them if nothing uses
it, block by block; a spilled one has the word of the frame that a store fills.
"""

from bisect import bisect_right

from orias.ori.ir import ON_STACK, Block, Func, Location
from orias.regalloc.coalesce import Classes
from orias.regalloc.physical import Trace
from orias.regalloc.spill import SpillState


def locate(fn: Func, classes: Classes, trace: Trace, state: SpillState) -> None:
    """Fill ``Func.locations`` of a function that was just expanded; `trace` maps old instructions to new ones."""
    rg = classes.rg
    emitted: list[list[int]] = [[] for _ in range(rg.points)]
    for b in rg.order:
        for k, (_, uids) in enumerate(trace.items[b.id]):
            emitted[rg.block_start[b.id] + 1 + k].extend(uids)
    heads = [rg.block_start[b.id] for b in rg.order]
    for v, names in fn.names.items():
        c = classes.of[v] if v < len(classes.of) else None
        if c is None or c.slot < 0:
            continue
        for word in range(fn.vwidth[v]):
            flat = rg.segs[rg.wbase[v] + word]
            number = c.slot + classes.place[v] + word
            for start, end in zip(flat[::2], flat[1::2], strict=True):
                at = bisect_right(heads, start) - 1
                while at < len(heads) and heads[at] < end:
                    b = rg.order[at]
                    at += 1
                    _add(
                        fn,
                        names,
                        (word, c.file, number),
                        _instructions(rg.block_start, rg.block_end, b, emitted, start, end),
                    )
    left = {i.uid for i in fn.insts()}
    # Places in the frame are relative to R1, which must not move then.
    for uid, words in state.stored.items() if not fn.moves_stack else ():
        if uid in left:
            for v, word, offset in words:
                named = fn.names.get(v, [])
                fn.locations.extend(Location(n, t, word, ON_STACK, offset, uid, uid) for n, t in named)


def _instructions(
    starts: list[int], ends: list[int], b: Block, emitted: list[list[int]], start: int, end: int
) -> list[int]:
    """Uids of the instructions of a block at which a value live from point `start` to point `end` is available.

    Where the block ends with the value that nothing reads, that is the first instruction after it, if it comes from nowhere else.
    """
    first, last = max(start + 1, starts[b.id]), min(end + 1, ends[b.id])
    found = [uid for p in range(first, last) for uid in emitted[p]]
    seen = {b.id}
    while not found:
        if last < ends[b.id]:
            found = emitted[last][:1]
            last += 1
        elif len(b.succs) == 1 and len(b.succs[0].preds) == 1 and b.succs[0].id not in seen:
            b = b.succs[0]
            seen.add(b.id)
            last = starts[b.id]
        else:
            break
    return found


def _add(fn: Func, names: list[tuple[str, str]], place: tuple[int, int, int], uids: list[int]) -> None:
    if uids:
        word, file, number = place
        fn.locations.extend(Location(n, t, word, file, number, uids[0], uids[-1]) for n, t in names)
