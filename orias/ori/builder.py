"""A cursor that appends instructions to a block."""

from typing import final

from orias.isa.op import Op, op
from orias.isa.operand import K_NONE, K_P, K_R, PT, Opnd
from orias.ori.ir import OP_COPY, OP_PACK, Block, Func, Inst


@final
class Builder:
    """Appends instructions to ``block`` and gives each the PTX line ``loc``."""

    __slots__ = ("block", "fn", "loc")

    def __init__(self, fn: Func, block: Block) -> None:
        self.fn: Func = fn
        self.block: Block = block
        self.loc: int = 0

    def emit(self, name: str, dst: list[Opnd], src: list[Opnd], guard: Opnd = PT, old: Opnd = K_NONE) -> Inst:
        """Append an instruction by operation name."""
        return self.emit_op(op(name), dst, src, guard, old)

    def emit_op(self, op_: Op, dst: list[Opnd], src: list[Opnd], guard: Opnd = PT, old: Opnd = K_NONE) -> Inst:
        """Append an instruction."""
        inst = self.fn.new_inst(op_, dst, src, guard, old, self.loc)
        self.block.insts.append(inst)
        return inst

    def r(self, name: str, *src: Opnd, width: int = 1) -> Opnd:
        """Append an operation with one fresh R result of `width` words; returns the result."""
        d = self.fn.new_vreg(K_R, width)
        self.emit(name, [d], list(src))
        return d

    def setp(self, name: str, *src: Opnd) -> Opnd:
        """Append a two-predicate operation (ISETP, FSETP, PLOP3 ...) whose second result is PT; returns the first."""
        d = self.fn.new_vreg(K_P)
        self.emit(name, [d, PT], list(src))
        return d

    def pred(self, name: str, *src: Opnd) -> Opnd:
        """Append an operation with exactly one predicate result; returns it."""
        d = self.fn.new_vreg(K_P)
        self.emit(name, [d], list(src))
        return d

    def copy(self, src: Opnd, width: int = 1) -> Opnd:
        """A copy into a fresh R register."""
        d = self.fn.new_vreg(K_R, width)
        self.emit_op(OP_COPY, [d], [src])
        return d

    def pack(self, *parts: Opnd, width: int = 0) -> Opnd:
        """A wide register from its parts, lowest words first; `width` in words defaults to one per part."""
        d = self.fn.new_vreg(K_R, width or len(parts))
        self.emit_op(OP_PACK, [d], list(parts))
        return d
