"""Time of a finished function by the machine model, to choose between two ways to compile it."""

from typing import Final, final

from orias.analysis.cfg import dominators, find_loops
from orias.isa.op import F_PSEUDO
from orias.isa.operand import K_SB, imm_value, is_imm, is_zero_reg, kind_of, payload
from orias.ori.ir import Block, Func
from orias.pipeline.estimated_time import beside_others, both, loop_weight, warps_with
from orias.timing.machine_step import StepMaker
from orias.timing.play import Player, visit
from orias.timing.step import NO_UNIT, UNITS, Step
from orias.timing.units import NEEDS_WRITE, units


@final
class ModelledTime:
    """A measure of time; lower is better, and only ratios mean something.

    ``alone``: of a warp alone; ``measure``: of this and of an SM as full as the registers and the blocks allow, which counts
    more (:func:`orias.pipeline.estimated_time.both`).
    """

    __slots__ = ("alone", "measure")

    def __init__(self, alone: float, measure: float) -> None:
        self.alone: Final[float] = alone
        self.measure: Final[float] = measure


def modelled_time(fn: Func) -> ModelledTime:
    """The time that a function in state ``final`` takes, with memory beyond the first cache."""
    find_loops(fn, dominators(fn))
    warps = warps_with(fn, fn.reg_count)
    maker = StepMaker(fn.target.sm, fn.target.latency_class)
    alone = full = 0.0
    by_depth: dict[int, list[Block]] = {}
    for b in fn.blocks:
        by_depth.setdefault(b.depth, []).append(b)
    for depth, blocks in by_depth.items():
        steps = _steps(maker, fn, blocks)
        if not steps:
            continue
        one, busiest = _cycles(maker, steps, depth, fn.knobs.sched_model_turns)
        weight = loop_weight(fn, depth)
        alone += weight * one
        full += weight * beside_others(one, busiest, warps)
    return ModelledTime(alone, both(alone, full))


def _steps(maker: StepMaker, fn: Func, blocks: list[Block]) -> list[Step]:
    pipes = units(fn.target.latency_class)
    out: list[Step] = []
    for b in blocks:
        for inst in b.insts:
            op = inst.op
            if op.flags & F_PSEUDO:
                continue
            scoreboard, count = -1, 0
            if op.base == "DEPBAR" and op.has("LE"):
                found = [payload(o) for o in inst.src if kind_of(o) == K_SB]
                counts = [imm_value(o) for o in inst.src if is_imm(o)]
                if found:
                    scoreboard, count = found[0], counts[0] if counts else 0
            uniform = all(is_zero_reg(inst.src[at + 1]) for at in op.addr if at + 1 < len(inst.src))
            if not op.addr and len(inst.src) > 1:
                uniform = is_zero_reg(inst.src[1])
            late = pipes.barriers(op) & NEEDS_WRITE != 0
            out.append(maker.make(len(out), op, max(inst.ctl, 0), late, uniform, scoreboard, count))
    return out


def _cycles(maker: StepMaker, steps: list[Step], depth: int, most: int) -> tuple[float, float]:
    """Cycles of a warp alone for one turn, and those of the busiest of the units and the issue slots.

    Reads of registers that collide hold up the issue for all warps.
    """
    turn = [visit(s.index, False, 1, 4) for s in steps]
    turns = most if depth else 1
    turn[-1] = visit(len(steps) - 1, depth > 0, 1, 4)
    played = Player(maker.machine, steps, True).play([[turn * turns]], 1)
    busy = [0] * len(UNITS)
    for s in steps:
        if s.unit != NO_UNIT:
            busy[s.unit] += s.hold
    return played.cycles / turns, max(len(steps) + played.port_bubbles / turns, *busy)
