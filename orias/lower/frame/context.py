"""The lowering context of one function: sources, results, guards, control flow inside expansions, helper calls."""

import struct
from typing import TYPE_CHECKING, Final, final

from orias.diag import Unsupported
from orias.isa.operand import (
    INV,
    K_NONE,
    K_P,
    K_R,
    LANE_PAIR,
    LANE_QUAD,
    PT,
    RZ,
    Opnd,
    has_lane,
    imm,
    imm64,
    imm_value,
    in_file,
    is_const,
    is_imm,
    is_vreg,
    lane_of,
    lane_words,
    r,
    vreg,
    with_lane,
    with_word_lane,
)
from orias.lower.frame.addresses import element_address, function_address, variable_address
from orias.lower.frame.data_layout import align_up, var_align
from orias.lower.frame.ssa import CC_KEY, SsaBuilder
from orias.ori.builder import Builder
from orias.ori.ir import OP_BRA, OP_COPY, Block, CallInfo, Func, Inst
from orias.ptx.ast import (
    O_FUNC,
    O_IMM,
    O_REG,
    O_SINK,
    O_SREG,
    O_SYM,
    O_VEC,
    TYPE_BITS,
    Function,
    Operand,
    Var,
)
from orias.semantics import ieee
from orias.semantics.ieee import BF16, F16, F32, F64, Format
from orias.target import features
from orias.target.profile import Target

if TYPE_CHECKING:
    from orias.lower.frame.module import ModuleLower
    from orias.lower.frame.program import LowerOptions

_COMP: Final[dict[str, int]] = {"": 0, "x": 1, "y": 2, "z": 3, "w": 4, "r": 1, "g": 2, "b": 3, "a": 4}
_FLOAT_BITS: Final[dict[str, int]] = {
    "f16": 16, "bf16": 17, "f16x2": 18, "bf16x2": 19, "f32": 32, "tf32": 32, "f64": 64,
}  # fmt: skip
_WORDS: Final[dict[str, int]] = {t: max(1, bits // 32) for t, bits in TYPE_BITS.items()}
HELPER_FIRST_ARG: Final = 4
"""First argument and result register of functions and helper subroutines (``docs/facts/register-allocation.md``)."""


def type_words(type_: str) -> int:
    """32-bit words that a value of a PTX type occupies in registers (1 for predicates)."""
    return _WORDS[type_]


def _pattern64(value: float) -> int:
    return int.from_bytes(struct.pack("<d", value), "little")


def round_f64(pattern: int, to: Format) -> int:
    """The f64 pattern rounded to nearest even in another format; a NaN keeps the upper bits of its payload."""
    if ieee.is_nan(F64, pattern):
        fraction = pattern >> (F64.mbits - to.mbits) & (to.min_normal - 1)
        return (to.sign if pattern & F64.sign else 0) | to.inf | to.min_normal >> 1 | fraction
    return ieee.convert(F64, to, pattern)


@final
class Ctx:
    """State while one function is lowered.

    ``guard`` is the predicate of the current PTX instruction (PT without one).  A handler emits instructions that have
    side effects with ``guard=ctx.guard`` and passes results to :meth:`write`, which honours the guard.
    """

    __slots__ = ("_constants", "_guards", "b", "fn", "guard", "line", "module", "options", "ssa", "state", "target")

    def __init__(self, fn: Func, module: "ModuleLower", options: "LowerOptions", state: "FuncState") -> None:
        entry = fn.new_block()
        fn.blocks.append(entry)
        self.fn: Func = fn
        self.b: Builder = Builder(fn, entry)
        self.target: Target = fn.target
        self.module: ModuleLower = module
        self.options: LowerOptions = options
        self.guard: Opnd = PT
        self.line: int = 0
        self.ssa: SsaBuilder = SsaBuilder(fn)
        self.ssa.seal(entry)
        self.state: FuncState = state
        self._constants: dict[int, int] = {}
        """Registers known to hold an immediate: id -> pattern."""
        self._guards: list[tuple[Opnd, Block]] = []

    # --- words -------------------------------------------------------------------------------------------------

    def words(self, o: Opnd) -> int:
        """Width of a value in words: that of its register or lane, 1 for any other operand."""
        if is_vreg(o):
            return lane_words(o, self.fn.width(o))[1]
        return 1

    def lo(self, o: Opnd) -> Opnd:
        """Low word of a 64-bit value (register, immediate or constant)."""
        return with_word_lane(o, 0)

    def hi(self, o: Opnd) -> Opnd:
        """High word of a 64-bit value."""
        return with_word_lane(o, 1)

    def word(self, o: Opnd, k: int) -> Opnd:
        """Word `k` of a value."""
        return with_word_lane(o, k)

    def unsupported(self, what: str) -> Unsupported:
        """The error to raise for something that this compiler does not support; it has the current line."""
        return Unsupported(f"{what} is not supported yet", self.line)

    def ssa_declare(self, regs: list[Var]) -> None:
        """Declare the PTX registers of the function."""
        for v in regs:
            if v.type == "pred":
                self.ssa.declare(v.index * 8, K_P, 1)
                continue
            words = type_words(v.type)
            self.ssa.declare(v.index * 8, K_R, words)
            for k in range(v.vec if v.vec > 1 else 0):
                self.ssa.declare(v.index * 8 + 1 + k, K_R, words)

    def frame(self, offset: int) -> Opnd:
        """Address in the local window of byte `offset` (non-negative) of the frame."""
        if self.state.frame_base != K_NONE:
            return self.b.r("IADD3", self.state.frame_base, imm(offset), RZ)
        return self.b.r("frame", imm(offset))

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

    def immediate(self, o: Operand, type_: str) -> int:
        """Bit pattern of an O_IMM operand as a value of a PTX type (wrapped to its width)."""
        bits = TYPE_BITS[type_]
        kind = _FLOAT_BITS.get(type_, 0)
        value = o.value
        if o.imm_type == "int":
            if kind == 0:
                return value & ((1 << bits) - 1)
            value = _pattern64(float(value))
        elif o.imm_type == "f32":
            if kind in (0, 32):
                return value & 0xFFFFFFFF
            value = _pattern64(struct.unpack("<f", (value & 0xFFFFFFFF).to_bytes(4, "little"))[0])
        elif kind == 0:
            if bits == 32:
                kind = 32
            else:
                return value & ((1 << bits) - 1)
        if kind == 64:
            return value & 0xFFFFFFFFFFFFFFFF
        if kind == 32:
            return round_f64(value, F32)
        half = round_f64(value, F16 if kind in (16, 18) else BF16)
        return half | half << 16 if kind >= 18 else half

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
            pattern = self.immediate(o, type_)
            return imm64(pattern) if TYPE_BITS[type_] >= 64 else imm(pattern)
        if k == O_SYM:
            assert o.var is not None
            if o.elems:
                return element_address(self, o, type_words(type_))
            return variable_address(self, o.var, o.value, type_words(type_))
        if k == O_FUNC:
            assert o.func is not None
            return function_address(self, o.func)
        if k == O_SREG:
            return self.module.special(self, o.name, o.comp)
        if k == O_SINK:
            return imm64(0)
        if o.scalar() is not o:
            return self.src(o.scalar(), type_)
        raise self.unsupported("This kind of source operand")

    def constant(self, value: Opnd) -> int | None:
        """The pattern of an immediate, or of a register that was assigned an immediate; None for any other operand."""
        if is_imm(value):
            return imm_value(value)
        return None if has_lane(value) else self._constants.get(vreg(value))

    def widen(self, value: Opnd, have: int, want: int) -> Opnd:
        """A value of `have` words, extended with zero words to `want` words."""
        parts = [self.word(value, j) for j in range(have)] if have > 1 else [value]
        return self.b.pack(*parts, *[imm(0)] * (want - have), width=want)

    def low_words(self, value: Opnd, want: int) -> Opnd:
        """The low `want` words of a wider register."""
        if want == 1:
            return with_word_lane(value, 0)
        return with_lane(value, LANE_PAIR if want == 2 else LANE_QUAD)

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

    def write_key(self, key: int, value: Opnd, want: int) -> None:
        """Assign the variable `key` of `want` words under the current guard (see :meth:`write`)."""
        if is_vreg(value):
            have = lane_words(value, self.fn.width(value))[1]
            if have > want:
                value = self.low_words(value, want) if lane_of(value) == 0 else with_word_lane(value, 0)
            elif have < want:
                value = self.widen(value, have, want)
        if self.guard != PT:
            old = self.ssa.read(key, self.b.block)
            d = self.fn.new_vreg(K_R, want)
            self.b.emit_op(OP_COPY, [d], [value], self.guard, K_NONE if self.ssa.is_undef(old) else old)
            value = d
        elif not is_vreg(value) or has_lane(value) or not in_file(value, K_R):
            pattern = imm_value(value) if is_imm(value) else -1
            if self.ssa.names is not None and (is_imm(value) or self._is_operand(value)):
                value = self._moved(value, want)
            else:
                value = self.b.copy(value, want)
            if pattern >= 0:
                self._constants[vreg(value)] = pattern
        self._assign(key, value)

    def _assign(self, key: int, value: Opnd) -> None:
        """Make a virtual register the value of a PTX variable from here on; with -g it is one that has no other."""
        if self.ssa.names is not None:
            if key >= 0:
                self.state.assigned.setdefault(self.line, set()).add(key)
            value = self._own(value)
        self.ssa.write(key, self.b.block, value)

    def _own(self, value: Opnd) -> Opnd:
        """The value, moved to a register of its own if it is a constant or that of another variable.

        A copy would not do: allocation removes most of them, and reads constants again where registers are short.
        """
        names = self.ssa.names
        if names is None:
            return value
        insts = self.b.block.insts
        copied = bool(insts) and insts[-1].op is OP_COPY and insts[-1].guard == PT and insts[-1].dst[0] == value
        if not copied and vreg(value) >= self.state.first_new and vreg(value) not in names:
            return value
        if not in_file(value, K_P):
            moved = self._moved(value, self.fn.width(value))
        elif copied and insts[-1].src[0] & INV:
            return value
        else:
            moved = self.b.setp("PLOP3.LUT", value, PT, PT, imm(0x80), imm(0))
        state, old = self.state, vreg(value)
        if old in self._constants:
            self._constants[vreg(moved)] = self._constants[old]
        if old in state.param_values:
            state.param_values[vreg(moved)] = state.param_values[old]
        if old in state.reference_values:
            state.reference_values[vreg(moved)] = state.reference_values[old]
        return moved

    def _moved(self, value: Opnd, width: int) -> Opnd:
        """A value of `width` words, moved to a new register."""
        words = [self.b.r("MOV", self.word(value, k) if width > 1 else value) for k in range(width)]
        return words[0] if width == 1 else self.b.pack(*words)

    def _is_operand(self, value: Opnd) -> bool:
        """Whether a value is a constant of a bank that operations can name."""
        return is_const(value) and self.target.has(features.CONSTANT_OPERANDS)

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
        self._assign(key, value)

    def define(self, o: Operand, name: str, src: list[Opnd], width: int, pred_results: int = 0) -> Inst:
        """Emit a guarded operation whose register result (of `width` words) is the PTX register `o`.

        For operations that must not run when the guard is false (loads, warp operations, atomics).  After the register
        result come `pred_results` results that are PT.
        """
        d = self.fn.new_vreg(K_R, width)
        dst = [d] + [PT] * pred_results
        direct = o.kind == O_REG and type_words_of(o) == width
        old = self.current(o) if self.guard != PT and direct else K_NONE
        inst = self.b.emit(name, dst, src, self.guard, old)
        if direct:
            self._assign(self.key(o), d)
        elif o.kind != O_SINK:
            self.write(o, d)
        return inst

    def read_cc(self) -> Opnd:
        """The carry flag, a P operand."""
        return self.ssa.read(CC_KEY, self.b.block)

    def write_cc(self, value: Opnd) -> None:
        """Set the carry flag under the current guard."""
        if self.guard != PT or not is_vreg(value) or value & INV:
            old = self.ssa.read(CC_KEY, self.b.block) if self.guard != PT else K_NONE
            d = self.fn.new_vreg(K_P)
            self.b.emit_op(OP_COPY, [d], [value], self.guard, K_NONE if self.ssa.is_undef(old) else old)
            value = d
        self.ssa.write(CC_KEY, self.b.block, value)

    # --- temporaries that change across the blocks of an expansion ----------------------------------------------

    def temp(self, width: int = 1, file_kind: int = K_R) -> int:
        """A new variable for :meth:`get` and :meth:`set`; phis are placed where needed."""
        return self.ssa.new_temp(width, file_kind)

    def get(self, temp: int) -> Opnd:
        """Current value of a temporary."""
        return self.ssa.read(temp, self.b.block)

    def set(self, temp: int, value: Opnd, width: int = 1) -> None:
        """Assign a plain operand to a temporary; `width` in words counts where the value is not a whole register."""
        if not is_vreg(value) or has_lane(value) or value & INV:
            if in_file(value, K_P):
                d = self.fn.new_vreg(K_P)
                self.b.emit_op(OP_COPY, [d], [value])
                value = d
            else:
                value = self.b.copy(value, width)
        self.ssa.write(temp, self.b.block, value)

    # --- control flow ------------------------------------------------------------------------------------------

    def new_block(self) -> Block:
        """A new block; :meth:`start` places it."""
        return self.fn.new_block()

    def branch(self, pred: Opnd, taken: Block, fall: Block) -> None:
        """End the current block: to `taken` if `pred` holds, else to `fall`."""
        if taken is fall or pred == PT:
            self.fn.link(self.b.block, taken)
            return
        block = self.b.block
        self.b.emit_op(OP_BRA, [], [], pred)
        self.fn.link(block, fall)
        self.fn.link(block, taken)

    def jump(self, to: Block) -> None:
        """End the current block with a jump to `to`."""
        self.fn.link(self.b.block, to)

    def start(self, block: Block, sealed: bool = True) -> None:
        """Place `block` and emit into it.

        `sealed`: all its predecessors are linked.  For a loop head pass False, and call :meth:`seal` later.
        """
        self.fn.blocks.append(block)
        self.b.block = block
        if sealed:
            self.ssa.seal(block)

    def seal(self, block: Block) -> None:
        """Declare that all predecessors of a loop head are linked."""
        self.ssa.seal(block)

    def end_loop(self, head: Block, done: Block) -> None:
        """Close a loop of an expansion that writes no PTX register, and continue in the block after it."""
        self.seal(head)
        for b in (head, done):
            if len(b.preds) > 1:
                self.ssa.unchanged(b, head.preds[0])
        self.start(done)

    def begin_guarded(self) -> None:
        """For a guarded instruction: branch around the code up to :meth:`end_guarded`, where ``guard`` is PT."""
        body = self.b.block
        if self.guard != PT:
            body = self.new_block()
            join = self.new_block()
            self._guards.append((self.guard, join))
            self.branch(self.guard ^ INV, join, body)
            self.start(body)
            self.guard = PT
        else:
            self._guards.append((PT, body))

    def end_guarded(self) -> None:
        """Close :meth:`begin_guarded`."""
        guard, join = self._guards.pop()
        if guard != PT:
            self.jump(join)
            self.start(join)
            self.guard = guard

    def leave_guarded(self) -> bool:
        """Close :meth:`begin_guarded` when its body ended in a jump or exit; True if a guard lets code go on after it."""
        guard, join = self._guards.pop()
        if guard == PT:
            return False
        self.start(join)
        self.guard = guard
        return True

    # --- calls -------------------------------------------------------------------------------------------------

    def call_helper(self, name: str, args: list[Opnd], ret_words: int) -> Opnd:
        """Call an internal subroutine and return its result: arguments from R4 on (64-bit ones in even pairs), result in R4.

        The guard is not applied: use :meth:`begin_guarded` where the call must depend on it.  With `ret_words` 0 the
        result is NONE. An immediate or a constant among `args` is one word; copy a 64-bit one to a register first.
        """
        symbol = self.module.need_helper(name)
        n = HELPER_FIRST_ARG
        phys: list[Opnd] = []
        moves: list[Opnd] = []
        for a in args:
            width = self.words(a)
            if width > 1:
                n = (n + width - 1) & -width
            for j in range(width):
                phys.append(r(n))
                moves.append(self.word(a, j) if width > 1 else a)
                n += 1
        for d, s in zip(phys, moves, strict=True):
            self.b.emit_op(OP_COPY, [d], [s])
        results = [r(HELPER_FIRST_ARG + j) for j in range(ret_words)]
        inst = self.b.emit("call", list(results), phys)
        self.fn.calls[inst.uid] = CallInfo(symbol, "helper", 0)
        if ret_words == 0:
            return K_NONE
        if ret_words == 1:
            return self.b.copy(results[0])
        return self.b.pack(*results)


def type_words_of(o: Operand) -> int:
    """Width in words of the register an O_REG operand names."""
    assert o.var is not None
    return type_words(o.var.type)


@final
class FuncState:
    """Per-function state of the lowering beside the context: labels, frame layout, parameter words."""

    __slots__ = (
        "assigned", "blocks", "dead", "first_new", "frame_align", "frame_base", "frame_offset", "frame_top", "function", "incoming", "kind", "leaves_variables", "outgoing", "param_values", "param_words", "placed", "reference_values", "refs", "result_key",
        "return_key", "shared_base",
    )  # fmt: skip

    def __init__(self) -> None:
        self.assigned: dict[int, set[int]] = {}
        """With -g: keys of the PTX registers that each PTX line assigns."""
        self.blocks: list[Block | None] = []
        """Block of each label, by label index."""
        self.refs: list[int] = []
        """For each label, the number of branches to it that are not lowered yet."""
        self.placed: set[int] = set()
        """Indices of the labels whose blocks are placed."""
        self.dead: bool = False
        """The current position is unreachable: instructions are skipped up to the next label."""
        self.function: Function | None = None
        self.kind: str = "entry"
        self.first_new: int = 0
        """With -g: virtual registers from this number on are of the current PTX instruction."""
        self.frame_base: Opnd = K_NONE
        """Address of the frame, in functions whose stack pointer moves."""
        self.frame_offset: dict[Var, int] = {}
        """Byte offset of each variable in the frame."""
        self.incoming: dict[Var, int] = {}
        """Byte offset of a parameter of unknown size among the stack arguments that the caller gives."""
        self.frame_top: int = 0
        self.leaves_variables: bool = False
        """An address outside of its variable in the frame is taken."""
        self.frame_align: int = 8
        """Largest alignment of the variables in the frame."""
        self.outgoing: int = 0
        """Bytes of outgoing stack arguments, at the bottom of the frame."""
        self.param_words: dict[Var, dict[int, int]] = {}
        """Temporaries that hold the words of a parameter variable (see :mod:`orias.lower.frame.params`)."""
        self.param_values: dict[int, int] = {}
        """Registers that hold 8 unchanged bytes of a kernel parameter: id -> offset in constant bank 0."""
        self.reference_values: dict[int, Var] = {}
        """Registers that hold the handle of a texture or surface reference: id -> reference."""
        self.return_key: int = 0
        self.result_key: int = 0
        """Temporary with the address at which the caller wants a result in memory."""
        self.shared_base: Opnd = K_NONE
        """sm_90: address of the CTA's shared window, computed in the entry block."""

    def frame_room(self, size: int, align: int) -> int:
        """Allot `size` bytes of the frame; returns their byte offset."""
        offset = align_up(self.frame_top, align)
        self.frame_top = offset + size
        return offset

    def frame_slot(self, var: Var) -> int:
        """Byte offset of the variable in the frame; the first use allots it."""
        offset = self.frame_offset.get(var)
        if offset is None:
            # Parameters pass through the frame in words (:mod:`orias.lower.frame.params`).
            unit = 4 if var.space == "param" else 1
            offset = align_up(self.frame_top, max(var_align(var), unit))
            self.frame_align = max(self.frame_align, var_align(var))
            self.frame_offset[var] = offset
            self.frame_top = offset + align_up(var.size, unit)
        return offset
