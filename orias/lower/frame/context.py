"""The lowering context of one function: operands of PTX instructions as sources and results."""

from typing import Final, final

from orias.diag import Unsupported
from orias.isa.operand import INV, K_NONE, K_P, K_R, PT, Opnd, imm, imm64, in_file, is_vreg
from orias.lower.frame.addresses import at_offset, element_offset, function_address, variable_address
from orias.lower.frame.data_layout import type_words
from orias.lower.frame.emitter import Emitter
from orias.lower.frame.immediates import immediate
from orias.lower.frame.special_registers import read_special
from orias.ori.ir import OP_COPY, Inst
from orias.ptx.ast import O_FUNC, O_IMM, O_REG, O_SINK, O_SREG, O_SYM, O_VEC, TYPE_BITS, Operand

_COMP: Final[dict[str, int]] = {"": 0, "x": 1, "y": 2, "z": 3, "w": 4, "r": 1, "g": 2, "b": 3, "a": 4}


@final
class Ctx(Emitter):
    """State while one function is lowered, and what handlers ask of it.

    A handler reads operands with :meth:`src` and :meth:`pred_src`, emits instructions that have side effects with
    ``guard=ctx.guard`` and passes results to :meth:`write`, which honours the guard.
    """

    __slots__ = ()

    # --- sources -----------------------------------------------------------------------------------------------

    def key(self, o: Operand) -> int:
        """SSA key of a register operand (or one element of a vector register)."""
        assert o.var is not None
        part = _COMP[o.comp]
        if part > o.var.vec:
            raise self.unsupported(f"An element '.{o.comp}' beyond those of the vector '{o.var.name}'")
        return o.var.index * 8 + part

    def reg_words(self, o: Operand) -> int:
        """Width in words of the PTX register that an O_REG operand names."""
        assert o.var is not None
        return type_words(o.var.type)

    def reg_bits(self, o: Operand) -> int:
        """Width in bits of the PTX register that an O_REG operand names; 0 for other operands."""
        return TYPE_BITS[o.var.type] if o.kind == O_REG and o.var is not None else 0

    def src(self, o: Operand, type_: str) -> Opnd:
        """The value of a source operand of PTX type `type_`.

        The value is an R operand as wide as the type (16-bit types: one word, upper half unspecified) or an immediate.
        A register wider than the type gives its low words.  Predicates: use :meth:`pred_src`.
        """
        k = o.kind
        if k == O_REG:
            value = self.ssa.read(self.key(o), self.b.block)
            want = type_words(type_)
            have = self.fn.width(value)
            if have == want or type_ == "pred":
                return value
            if have > want:
                return self.low_words(value, want)
            # Only data movement allows a register narrower than the type; its upper bits are unspecified and become
            # zero here.
            return self.widen(value, have, want)
        if k == O_IMM:
            pattern = immediate(o, type_)
            return imm64(pattern) if TYPE_BITS[type_] >= 64 else imm(pattern)
        if k == O_SYM:
            assert o.var is not None
            if o.elems:
                words = type_words(type_)
                return at_offset(self, variable_address(self, o.var, 0, words), self.element_offset(o), words)
            return variable_address(self, o.var, o.value, type_words(type_))
        if k == O_FUNC:
            assert o.func is not None
            return function_address(self, o.func)
        if k == O_SREG:
            return read_special(self, o.name, o.comp)
        if k == O_SINK:
            return imm64(0)
        if o.scalar() is not o:
            return self.src(o.scalar(), type_)
        raise self.unsupported("This kind of source operand")

    def element_offset(self, o: Operand) -> Opnd:
        """The bytes before the element that an operand names by a register, as a word."""
        index = o.elems[0]
        bits = self.reg_bits(index) or 32
        return element_offset(self, o, self.src(index, f"b{min(bits, 32)}"), bits)

    def pred_src(self, o: Operand) -> Opnd:
        """A predicate operand as a P operand (with INV if negated); the immediates 0 and 1 become !PT and PT."""
        if o.kind == O_IMM:
            return PT if o.value else PT | INV
        if o.kind == O_SINK:
            return PT
        if o.kind == O_REG:
            value = self.ssa.read(self.key(o), self.b.block)
            if in_file(value, K_P):
                return value | INV if o.neg else value
        raise Unsupported("A predicate operand must be a predicate register", self.line)

    def current(self, o: Operand) -> Opnd:
        """The value of a destination register before this instruction; NONE if it is undefined."""
        value = self.ssa.read(self.key(o), self.b.block)
        return K_NONE if self.ssa.is_undef(value) else value

    # --- results -----------------------------------------------------------------------------------------------

    def write(self, o: Operand, value: Opnd) -> None:
        """Assign a PTX register under the current guard.

        The value is a plain operand (no NEG, ABS, INV) of any kind.  A value narrower than the register is extended
        with zero words; a wider one loses its high words.  All elements of a vector that stands for one value get it.
        """
        if o.kind == O_VEC:
            for element in o.elems:
                self.write(element, value)
            return
        if o.kind == O_SINK:
            return
        if o.var is None:
            raise Unsupported("The destination must be a register", self.line)
        self.write_key(self.key(o), value, type_words(o.var.type))

    def write_pred(self, o: Operand, value: Opnd) -> None:
        """Assign a PTX predicate register under the current guard; `value` may be inverted or PT."""
        if o.kind == O_SINK:
            return
        key = self.key(o)
        if self.guard != PT or value & INV or not is_vreg(value):
            old = K_NONE
            if self.guard != PT:
                old = self.ssa.read(key, self.b.block)
                if self.ssa.is_undef(old):
                    old = K_NONE
            d = self.fn.new_vreg(K_P)
            self.b.emit_op(OP_COPY, [d], [value], self.guard, old)
            value = d
        self.assign(key, value)

    def define(self, o: Operand, name: str, src: list[Opnd], width: int, pred_results: int = 0) -> Inst:
        """Emit a guarded operation whose register result (of `width` words) is the PTX register `o`.

        For operations that must not run when the guard is false (loads, warp operations, atomics).  After the register
        result come `pred_results` results that are PT.
        """
        d = self.fn.new_vreg(K_R, width)
        dst = [d] + [PT] * pred_results
        direct = o.kind == O_REG and self.reg_words(o) == width
        old = self.current(o) if self.guard != PT and direct else K_NONE
        inst = self.b.emit(name, dst, src, self.guard, old)
        if direct:
            self.assign(self.key(o), d)
        elif o.kind != O_SINK:
            self.write(o, d)
        return inst
