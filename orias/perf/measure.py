"""Cycles of a recorded run, and of the loops of a kernel, by the machine model."""

from typing import TYPE_CHECKING, Final, final

from orias.perf.kernel_steps import KernelCode
from orias.perf.loops import Loop
from orias.perf.resident_blocks import Occupancy
from orias.timing.machine_numbers import machine
from orias.timing.play import CAUSES, Played, Player, step_of, visit
from orias.timing.step import UNITS

if TYPE_CHECKING:
    from orias.perf.trace import Run

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


def costs(run: "Run", occ: Occupancy) -> list[Cost]:
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

    __slots__ = ("bound", "full", "instructions", "loop", "one", "one_far", "timeline", "waited")

    def __init__(self, loop: Loop, instructions: int, one: float, one_far: float, full: float, limit: str) -> None:
        self.timeline: list[tuple[int, int]] = []
        """(issue cycle, index) of the instructions of two turns of a warp alone with far memory."""
        self.waited: dict[int, dict[str, float]] = {}
        """Cycles that a warp alone with far memory waits before an instruction in a turn, by cause."""
        self.loop: Final[Loop] = loop
        self.instructions: Final[int] = instructions
        self.one: Final[float] = one
        self.one_far: Final[float] = one_far
        self.full: Final[float] = full
        self.bound: Final[str] = limit


def loop_cost(code: KernelCode, loop: Loop, warps: int) -> LoopCost:
    """The cycles of a turn through all instructions of a loop outside its inner loops, in the order of the code.

    Every access touches as much as one of a warp to adjacent addresses.  `warps`: of a full SM; 0: it is not played, `full` is then 0
    and `bound` that of a warp alone.
    """
    m = machine(code.profile.sm)
    own = loop.own
    turn = [visit(i, (k + 1 < len(own) and own[k + 1] != i + 1) or k + 1 == len(own), 1, 4) for k, i in enumerate(own)]
    near = Player(m, code.steps, False, 1).play([[turn * _TURNS]], 1)
    far = Player(m, code.steps, True, 1).play([[turn * _TURNS]], 1)
    full, limit = 0.0, bound(far)
    if warps:
        turns = max(2, min(_TURNS, _MOST_LOOP_VISITS // (len(own) * warps)))
        many = Player(m, code.steps, False).play([[turn * turns] * warps], 1)
        full, limit = many.cycles / turns / max(1, (warps + 3) // 4), bound(many)
    out = LoopCost(loop, len(own), _per_turn(near, len(own)), _per_turn(far, len(own)), full, limit)
    start = far.log[_SETTLED * len(own)][0]
    out.timeline = [(t - start, i) for t, _, i in far.log[_SETTLED * len(own) : (_SETTLED + 2) * len(own)]]
    out.waited = waited_before(far, own, _TURNS)
    return out


def straight_timeline(code: KernelCode, own: list[int]) -> tuple[list[tuple[int, int]], dict[int, dict[str, float]]]:
    """Instructions in the order of the code, each once, by a warp alone with far memory: as LoopCost's timeline and waited."""
    turn = [visit(i, k + 1 < len(own) and own[k + 1] != i + 1, 1, 4) for k, i in enumerate(own)]
    played = Player(machine(code.profile.sm), code.steps, True, 1).play([[turn]], 1)
    return [(t, i) for t, _, i in played.log], waited_before(played, own, 1)


def waited_before(played: Played, own: list[int], turns: int) -> dict[int, dict[str, float]]:
    """Cycles that warps waited before each of some instructions in a turn, by cause; nothing for those without a wait."""
    out: dict[int, dict[str, float]] = {}
    for i in own:
        lost = played.lost[i * len(CAUSES) : (i + 1) * len(CAUSES)]
        found = {name: round(cycles / turns, 1) for name, cycles in zip(CAUSES, lost, strict=True) if cycles}
        if found:
            out[i] = found
    return out


def _per_turn(played: Played, size: int) -> float:
    """Cycles of a turn once the loop runs evenly."""
    return (played.log[-1][0] - played.log[_SETTLED * size][0] + 1) / (_TURNS - _SETTLED)
