"""A PTX instruction as seen by its builder, which compiles it to a closure: typed sources and results.

PTX registers are rows of the machine like those of SASS: words in ``R`` (64-bit values in two), predicates in ``P``,
with numbers after the physical registers.  Builders of SASS instructions can therefore use them (:meth:`PtxSite.sass`).
"""

from collections.abc import Callable
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from orias.isa.op import op
from orias.isa.operand import INV, PT, RZ, Opnd, imm, imm64, p, r
from orias.ptx.ast import O_FUNC, O_IMM, O_REG, O_SINK, O_SREG, O_SYM, O_VEC, TYPE_BITS, Instr, Operand
from orias.ptx.declaration_words import element_bytes
from orias.sim.core.engine import Flow
from orias.sim.core.sim_errors import Fault, IllegalInstruction
from orias.sim.core.site import Exec, Getter, Setter, Site, constant, constant_bool
from orias.sim.core.state import Active, Machine
from orias.sim.math.ops_int import I8, I16, I32, I64, U8, U16, U32, U64
from orias.sim.ptx.immediate import pattern
from orias.sim.ptx.ptx_units import Program, Unit

Arr = npt.NDArray[Any]

Step = tuple[Exec | None, Flow | None]
"""A step of an instruction: one of the two."""

UNSIGNED: Final[dict[int, np.dtype[Any]]] = {8: U8, 16: U16, 32: U32, 64: U64}
SIGNED: Final[dict[int, np.dtype[Any]]] = {8: I8, 16: I16, 32: I32, 64: I64}
_COMP: Final[dict[str, int]] = {"": 0, "x": 0, "y": 1, "z": 2, "w": 3}
_SINK: Final = constant(0)


def bits_of(type_: str) -> int:
    """Width of a type in bits."""
    return TYPE_BITS[type_]


def is_signed(type_: str) -> bool:
    """True for the signed integer types."""
    return type_[0] == "s"


def signed_view(v: Arr) -> Arr:
    """The same patterns, viewed as signed numbers."""
    return v.view(SIGNED[v.dtype.itemsize * 8])


def _drop(m: Machine, a: Active, v: Arr) -> None:
    """The setter of a sink."""


def _to_all(setters: list[Setter]) -> Setter:
    """The setter of a vector whose elements all get the value."""

    def put(m: Machine, a: Active, v: Arr) -> None:
        for setter in setters:
            setter(m, a, v)

    return put


class PtxSite:
    """An instruction of a function in a program."""

    def __init__(self, program: Program, unit: Unit, instr: Instr) -> None:
        self.program = program
        self.unit = unit
        self.instr = instr
        self.sig = instr.sig
        self.mods = instr.sig.mods
        self.types = instr.sig.types
        self.ops = instr.ops
        self.name = instr.sig.name

    def unknown(self, what: str = "") -> Fault:
        """The fault for a form that the interpreter does not know."""
        return Fault(IllegalInstruction, f"{self.sig.text} is not interpreted{': ' + what if what else ''}")

    def has(self, slot: str) -> bool:
        """True if the instruction has a modifier in a slot."""
        return slot in self.mods

    # -- operands as rows

    def rows(self, o: Operand) -> tuple[int, int]:
        """(first row, bits) of a register operand."""
        assert o.var is not None
        first, bits, step = self.unit.rows[id(o.var)]
        return first + step * _COMP.get(o.comp, 0), bits

    def opnd(self, o: Operand, type_: str = "b32") -> Opnd:
        """The row of a word, a pair or a predicate as a SASS operand, for builders of SASS instructions."""
        if o.kind == O_SINK:
            return PT if type_ == "pred" else RZ
        if o.kind == O_IMM:
            if type_ == "pred":
                return PT if o.value else PT | INV
            return imm(pattern(o, type_)) if bits_of(type_) <= 32 else imm64(pattern(o, type_))
        if o.kind != O_REG:
            raise self.unknown("operand")
        row, bits = self.rows(o)
        if bits == 1:
            return p(row) | (INV if o.neg else 0)
        return r(row)

    def sass(self, name: str, dst: list[Opnd], src: list[Opnd]) -> Site:
        """A SASS instruction on these operands."""
        return Site(op(name), dst, src, 0, False)

    # -- sources

    def src(self, o: Operand, type_: str) -> Getter:
        """The value of an operand read as `type_`: an unsigned array of the type's width."""
        bits = bits_of(type_)
        if type_ == "pred":
            return self.pred(o)
        if o.kind == O_REG:
            return self.register(o, bits)
        if o.kind == O_IMM:
            value = np.full(1, pattern(o, type_), UNSIGNED[bits])
            return lambda m, a: value
        if o.kind == O_SINK:
            nothing = np.zeros(1, UNSIGNED[bits])
            return lambda m, a: nothing
        if o.scalar() is not o:
            return self.src(o.scalar(), type_)
        want = UNSIGNED[bits]
        if o.kind == O_SYM and o.var is not None:
            g = self.named(o)
        elif o.kind == O_FUNC and o.func is not None:
            g = self.program.function_address(o.func)
        elif o.kind == O_SREG:
            g = self.program.special(o.name, o.comp)
        else:
            raise self.unknown("operand")
        return lambda m, a: g(m, a).astype(want)

    def named(self, o: Operand) -> Getter:
        """The address of a variable or of an element of it, in its space."""
        assert o.var is not None
        if o.kind != O_SYM or not o.elems:
            return self.unit.address(o.var, o.value)
        by = o.elems[0]
        bits = min(bits_of(by.var.type), 32) if by.kind == O_REG and by.var is not None else 32
        base, index = self.unit.address(o.var, 0), self.src(by, f"b{bits}")
        size, first = np.uint32(element_bytes(o.var.type)), np.uint32(o.value & 0xFFFFFFFF)
        return lambda m, a: base(m, a) + ((index(m, a).astype(U32) + first) * size).astype(U64)

    def register(self, o: Operand, bits: int) -> Getter:
        """A register's value truncated or zero-extended to `bits`."""
        row, have = self.rows(o)
        if have == 1:
            raise self.unknown("predicate")
        if bits == 64:
            if have == 64:
                return lambda m, a: m.pair(row, a.sel)
            return lambda m, a: m.R[row][a.sel].astype(U64)
        if bits == 32:
            return lambda m, a: m.R[row][a.sel]
        want = UNSIGNED[bits]
        return lambda m, a: m.R[row][a.sel].astype(want)

    def signed(self, o: Operand, type_: str) -> Getter:
        """The operand as a signed or unsigned array, by its type."""
        g = self.src(o, type_)
        return (lambda m, a: signed_view(g(m, a))) if is_signed(type_) else g

    def pred(self, o: Operand) -> Getter:
        """A predicate operand."""
        if o.kind == O_IMM:
            return constant_bool(bool(o.value))
        if o.kind == O_SINK:
            return constant_bool(True)
        if o.kind == O_SREG:
            g = self.program.special(o.name, o.comp)
            return lambda m, a: g(m, a) != 0
        row, _ = self.rows(o)
        if o.neg:
            return lambda m, a: ~m.P[row][a.sel]
        return lambda m, a: m.P[row][a.sel]

    # -- results

    def dst(self, o: Operand, type_: str) -> Setter:
        """Stores an unsigned array of the type's width; a wider register gets it extended according to the type."""
        if o.kind == O_VEC:
            return _to_all([self.dst(element, type_) for element in o.elems])
        if o.kind == O_SINK:
            return _drop
        if type_ == "pred":
            return self.setp(o)
        if o.kind != O_REG:
            raise self.unknown("result")
        row, have = self.rows(o)
        bits = bits_of(type_)
        narrow = np.uint32((1 << min(have, 32)) - 1)
        sign = is_signed(type_)

        def widen(v: Arr) -> Arr:
            if sign and v.dtype.itemsize * 8 < have:
                return signed_view(v).astype(SIGNED[max(have, 32)]).view(UNSIGNED[max(have, 32)])
            return v

        if have == 64:

            def put64(m: Machine, a: Active, v: Arr) -> None:
                v = widen(v)
                m.R[row][a.sel] = v.astype(U32)
                m.R[row + 1][a.sel] = v.astype(U64) >> np.uint64(32)

            return put64
        if bits == have == 32:

            def put32(m: Machine, a: Active, v: Arr) -> None:
                m.R[row][a.sel] = v

            return put32

        def put(m: Machine, a: Active, v: Arr) -> None:
            m.R[row][a.sel] = widen(v).astype(U32) & narrow

        return put

    def setp(self, o: Operand) -> Setter:
        """Stores a predicate."""
        if o.kind == O_SINK:
            return _drop
        row, bits = self.rows(o)
        if bits != 1:
            raise self.unknown("result")

        def put(m: Machine, a: Active, v: Arr) -> None:
            m.P[row][a.sel] = v

        return put

    # -- elementwise instructions

    def each(self, f: Callable[..., Arr], types: list[str], result: str) -> Exec:
        """``ops[0] = f(ops[1], ...)`` with these source types and result type."""
        gets = [self.src(o, t) for o, t in zip(self.ops[1:], types, strict=False)]
        put = self.dst(self.ops[0], result)
        if len(gets) == 1:
            g = gets[0]
            return lambda m, a: put(m, a, f(g(m, a)))
        if len(gets) == 2:
            x, y = gets
            return lambda m, a: put(m, a, f(x(m, a), y(m, a)))
        return lambda m, a: put(m, a, f(*[g(m, a) for g in gets]))
