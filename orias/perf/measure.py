"""Cycles of a recorded run, and of the loops of a kernel, by the machine model."""

from typing import Final, final

from orias.perf.kernel_steps import KernelCode
from orias.perf.loops import Loop
from orias.perf.resident_blocks import Occupancy
from orias.perf.trace import Run
from orias.timing.machine_numbers import machine
from orias.timing.play import CAUSES, Played, Player, step_of, visit
from orias.timing.step import UNITS

_TURNS: Final = 12
_SETTLED: Final = 4
"""Turns of a loop before the cycles of a turn are counted."""
_BOUND: Final = 0.8
"""Part of its time that a unit must be busy to be called what bounds the code."""
_MOST_VISITS: Final = 1_500_000
"""Instructions that are played for a full SM; runs with more are cut to as many blocks as fit."""

_MOST_LOOP_VISITS: Final = 30_000
"""The same for a loop; large bodies are played for fewer turns, at least two."""

ONE_WARP: Final = "one warp"
ONE_BLOCK: Final = "one block"
FULL_SM: Final = "full SM"


@final
class Cost:
    """A run through the model.

    ``what``: one warp, one block or full SM.  ``far``: data comes from beyond the first cache.  ``blocks`` played,
    ``cycles``, ``issued`` instructions, ``bound``: what limits it.  ``played``: the details.
    """

    __slots__ = ("blocks", "bound", "far", "played", "what")

    def __init__(self, what: str, far: bool, blocks: int, played: Played) -> None:
        self.what: Final[str] = what
        self.far: Final[bool] = far
        self.blocks: Final[int] = blocks
        self.played: Final[Played] = played
        self.bound: Final[str] = bound(played)

    @property
    def cycles(self) -> int:
        """Cycles until the last instruction has issued."""
        return self.played.cycles


def bound(played: Played) -> str:
    """What limits a run: a unit or the issue slots if busy nearly always, else what the warps wait for most."""
    slots = max(1, played.cycles * 4)
    busy = {"issue": played.issued / slots}
    for name, cycles in zip(UNITS, played.busy, strict=True):
        busy[name] = cycles / slots
    name, part = max(busy.items(), key=lambda x: x[1])
    if part >= _BOUND:
        return name
    lost = [played.by_cause(k) for k in range(len(CAUSES))]
    return CAUSES[max(range(len(CAUSES)), key=lambda k: lost[k])] if any(lost) else name


def costs(run: Run, occ: Occupancy) -> list[Cost]:
    """One warp alone, one block alone and a full SM, each with near and far memory."""
    m = machine(run.code.profile.sm)
    steps = run.code.steps
    blocks = [b for b in run.blocks if any(b)]
    if not blocks:
        return []
    longest = max((w for b in blocks for w in b), key=len)
    alone = [w for w in longest if not steps[step_of(w)].barrier]
    size = max(1, sum(len(w) for b in blocks for w in b) // len(blocks))
    count = max(1, min(max(len(blocks), occ.blocks), 2 * occ.blocks, _MOST_VISITS // size))
    many = [blocks[k % len(blocks)] for k in range(count)]
    out: list[Cost] = []
    for what, work, resident in ((ONE_WARP, [[alone]], 1), (ONE_BLOCK, blocks[:1], 1), (FULL_SM, many, occ.blocks)):
        for far in (False, True):
            out.append(Cost(what, far, len(work), Player(m, steps, far).play(work, resident)))
    return out


@final
class LoopCost:
    """Cycles of one turn of a loop.

    ``one``, ``one_far``: a warp alone.  ``full``: a turn of every warp of a full SM, over the number of warps of a
    sub-core: cycles that a sub-core spends on a turn of one warp.  ``bound``: what limits the full SM.
    """

    __slots__ = ("bound", "full", "instructions", "loop", "one", "one_far", "timeline")

    def __init__(self, loop: Loop, instructions: int, one: float, one_far: float, full: float, limit: str) -> None:
        self.timeline: list[tuple[int, int]] = []
        """(issue cycle, index) of the instructions of two turns of a warp alone with far memory."""
        self.loop: Final[Loop] = loop
        self.instructions: Final[int] = instructions
        self.one: Final[float] = one
        self.one_far: Final[float] = one_far
        self.full: Final[float] = full
        self.bound: Final[str] = limit


def loop_cost(code: KernelCode, loop: Loop, warps: int) -> LoopCost:
    """The cycles of a turn through all instructions of a loop outside its inner loops, in the order of the code.

    Every access touches as much as one of a warp to adjacent addresses.  `warps`: of a full SM.
    """
    m = machine(code.profile.sm)
    own = loop.own
    turn = [visit(i, (k + 1 < len(own) and own[k + 1] != i + 1) or k + 1 == len(own), 1, 4) for k, i in enumerate(own)]
    near = Player(m, code.steps, False, 1).play([[turn * _TURNS]], 1)
    far = Player(m, code.steps, True, 1).play([[turn * _TURNS]], 1)
    turns = max(2, min(_TURNS, _MOST_LOOP_VISITS // (len(own) * warps)))
    many = Player(m, code.steps, False).play([[turn * turns] * warps], 1)
    full = many.cycles / turns / max(1, (warps + 3) // 4)
    out = LoopCost(loop, len(own), _per_turn(near, len(own)), _per_turn(far, len(own)), full, bound(many))
    start = far.log[_SETTLED * len(own)][0]
    out.timeline = [(t - start, i) for t, _, i in far.log[_SETTLED * len(own) : (_SETTLED + 2) * len(own)]]
    return out


def _per_turn(played: Played, size: int) -> float:
    """Cycles of a turn once the loop runs evenly."""
    return (played.log[-1][0] - played.log[_SETTLED * size][0] + 1) / (_TURNS - _SETTLED)
