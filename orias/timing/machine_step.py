"""Operations as steps of the machine model: units, and the cycles of late results, from ``data/machine.txt``."""

from typing import Final, final

from orias.diag import Unsupported
from orias.isa.op import F_CONSTMEM, F_MATRIX, F_TEXTURE, GLOBAL, LOCAL, SHARED, Op
from orias.isa.operations import data_words, facts
from orias.isa.widths import dst_width
from orias.timing import ctl, step
from orias.timing.latency import DUAL, Latency, class_name, latency
from orias.timing.machine_numbers import Machine, machine
from orias.timing.step import Step
from orias.timing.units import ALU, FMA, FP64, HALF, HALF_CMP, MEM, MMA, UNIFORM, XU, Units, units

_ONE_BYTE: Final = frozenset(("E4M3", "E5M2", "E2M3", "E3M2", "E2M1", "S8", "U8"))
_HALF_BYTE: Final = frozenset(("S4", "U4"))


@final
class _Shape:
    """What is the same for all instructions of an operation."""

    __slots__ = ("barrier", "hold", "loads", "memory", "raw", "unit", "war", "words")

    def __init__(self, unit: int, hold: int) -> None:
        self.unit: int = unit
        self.hold: int = hold
        self.memory: int = step.NEAR
        self.loads: bool = False
        self.raw: str = "raw.other"
        self.war: str = "war.other"
        self.words: int = 1
        self.barrier: bool = False


def _model(op: Op) -> str:
    """The operation's ``model`` in the table of operations; empty for none."""
    f = facts(op.base)
    return f.value("model", op.mods) if f is not None else ""


@final
class StepMaker:
    """Makes the steps of one SM.  ``machine_sm``: the SM whose numbers count; ``latency_class``: that of its pipes."""

    __slots__ = ("_latency", "_shapes", "_units", "machine")

    def __init__(self, machine_sm: int, latency_class: int) -> None:
        self.machine: Final[Machine] = machine(machine_sm)
        self._latency: Final[Latency] = latency(latency_class)
        self._units: Final[Units] = units(latency_class)
        self._shapes: Final[dict[int, _Shape]] = {}

    def make(
        self, index: int, op: Op, word: int, late_result: bool, uniform_address: bool, scoreboard: int, count: int
    ) -> Step:
        """The step of an instruction at position `index`, but for its registers.

        `word`: the control word.  `late_result`: of variable latency.  `uniform_address`: no address in a register of each
        thread.  `scoreboard`, `count`: what a DEPBAR.LE waits for (-1: the operation is none).
        """
        shape = self._shapes.get(op.ident)
        if shape is None:
            shape = self._shapes[op.ident] = self._shape(op)
        s = Step(index, shape.unit, shape.hold)
        s.stall = ctl.stall(word)
        s.yields = s.stall < 2 and not word & ctl.YIELD
        s.self_wait = s.stall == 0 and s.yields
        s.wait = ctl.wait_mask(word)
        s.write = ctl.write_barrier(word)
        s.read = ctl.read_barrier(word)
        s.reuse = ctl.reuse(word)
        s.fixed = not late_result and shape.memory == step.NEAR
        s.memory = shape.memory
        s.loads = shape.loads
        numbers = self.machine.numbers
        raw, war = shape.raw, shape.war
        if uniform_address:
            raw = f"{raw}.uniform" if f"{raw}.uniform" in numbers else raw
            war = f"{war}.uniform" if f"{war}.uniform" in numbers else war
        s.raw = self.machine.by_width(raw, shape.words)
        s.war = self.machine.by_width(war, shape.words)
        if scoreboard >= 0:
            s.depbar = scoreboard << 8 | min(count, 0xFF)
        s.barrier = shape.barrier and not op.has("ARV")
        return s

    def _shape(self, op: Op) -> _Shape:
        try:
            pipe = self._units.pipe(op)
        except Unsupported:
            return _Shape(step.NO_UNIT, 0)
        m = self.machine
        turn = self._latency.pipe_key(op)
        if turn == DUAL:
            return _Shape(step.NO_UNIT, 0)
        if turn == "ALU":
            pipe = ALU
        if pipe == MEM or op.flags & F_CONSTMEM:
            return self._memory(op)
        if pipe == FMA:
            return self._product(op)
        if pipe == MMA:
            out = _Shape(step.MMA, self._matrix_cycles(op))
            out.raw = "raw.other"
            return out
        if pipe == ALU:
            return _Shape(step.ALU, m.one("hold.iadd" if _model(op) == "adder" else "hold.alu"))
        if pipe == XU:
            wide = class_name(op, self._units) == "XU64"
            out = _Shape(step.XU, m.one("hold.xu64" if wide else "hold.xu"))
            out.raw, out.war = "raw.xu", "war.other"
            return out
        if pipe == FP64:
            out = _Shape(step.FP64, m.one("hold.fp64"))
            out.raw = "raw.fp64"
            return out
        if pipe == UNIFORM:
            return _Shape(step.UNIFORM, self._latency.interval(op))
        for known, unit, key in ((HALF, step.HALF, "hold.half"), (HALF_CMP, step.HALF_CMP, "hold.halfcmp")):
            if pipe == known:
                return _Shape(unit, m.one(key))
        return _Shape(step.NO_UNIT, 0)

    def _product(self, op: Op) -> _Shape:
        wide = class_name(op, self._units) == "WIDE"
        if not op.busy and not wide:
            pair = dst_width(op, 0) == 2
            return _Shape(step.FP32, 2 if pair else self.machine.one("hold.fp32"))
        return _Shape(step.IMAD, self.machine.one("hold.wide" if wide else "hold.imad"))

    def _memory(self, op: Op) -> _Shape:
        out = _Shape(step.NO_UNIT, 0)
        out.words = data_words(op.mods)
        if op.flags & F_CONSTMEM:
            out.raw, out.war = "raw.constant", "war.constant"
            return out
        model = _model(op)
        out.barrier = model == "barrier"
        if model == "shuffle":
            out.memory, out.raw, out.war = step.SHARED, "raw.shuffle", "war.shared"
            return out
        if model == "copy":
            out.memory, out.raw, out.war, out.loads = step.GLOBAL, "raw.copy", "war.copy", True
            return out
        if op.flags & F_TEXTURE:
            out.memory, out.raw, out.war, out.loads = step.GLOBAL, "raw.texture", "war.load", True
            return out
        f = facts(op.base)
        column = f.value("column", op.mods) if f is not None else ""
        if not column:
            return out
        loads = op.loads()
        if op.space == SHARED:
            out.memory = step.SHARED
            out.raw, out.war = "raw.shared", "war.shared" if loads else "war.shared_store"
        else:
            out.memory = step.GLOBAL
            out.loads = loads and op.space != LOCAL
            out.raw, out.war = "raw.global", "war.load" if loads else "war.store"
        if model in ("atomic", "reduction"):
            out.raw = "raw.atomic"
            out.loads = model == "atomic" and op.space & GLOBAL != 0
        return out

    def _matrix_cycles(self, op: Op) -> int:
        """Cycles of a product of matrices on the tensor core of a sub-core, from its shape; 8 where it is not known.

        At least the distance that ptxas leaves between two: on sm_90, whose tensor cores are as fast as published with operations
        of warpgroups only, that is 6 for 4.
        """
        if not op.flags & F_MATRIX:
            return 1
        for mod in op.mods:
            size = _SHAPES.get(mod)
            if size is not None:
                break
        else:
            return 8
        rate = self.machine.one("tensor.f64" if _model(op) == "f64" else "tensor.f16")
        if any(x in _ONE_BYTE for x in op.mods):
            rate *= 2
        if any(x in _HALF_BYTE for x in op.mods):
            rate *= 4
        if "TF32" in op.mods:
            rate //= 2
        return max(self._latency.interval(op), size // max(rate, 1))


_SHAPES: Final[dict[str, int]] = {
    "884": 8 * 8 * 4, "8816": 8 * 8 * 16, "8832": 8 * 8 * 32, "1684": 16 * 8 * 4, "1688": 16 * 8 * 8, "16816": 16 * 8 * 16,
    "16832": 16 * 8 * 32, "16864": 16 * 8 * 64, "168128": 16 * 8 * 128, "168256": 16 * 8 * 256, "88128": 8 * 8 * 128,
    "8x8x4": 8 * 8 * 4, "16x8x4": 16 * 8 * 4, "16x8x8": 16 * 8 * 8, "16x8x16": 16 * 8 * 16,
}  # fmt: skip
"""Multiply-adds of a shape modifier."""
