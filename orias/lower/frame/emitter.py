"""Emits the code of one function: blocks, values, variables, guards, calls of helpers; nothing here knows operands of PTX."""

from typing import Final

from orias.cubin.callgraph import prototype_text
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
    const,
    has_lane,
    imm,
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
from orias.lower.frame.data_layout import type_words
from orias.lower.frame.function_state import FuncState
from orias.lower.frame.module_state import ModuleState
from orias.lower.frame.program import LowerOptions
from orias.lower.frame.ssa import CC_KEY, SsaBuilder
from orias.ori.builder import Builder
from orias.ori.ir import OP_BRA, OP_COPY, Block, CallInfo, Func
from orias.ptx.ast import Var
from orias.target import abi, features
from orias.target.profile import Target

HELPER_FIRST_ARG: Final = 4
"""First argument and result register of functions and helper subroutines (``docs/facts/register-allocation.md``)."""


class Emitter:
    """State while one function is lowered.

    ``guard`` is the predicate of the current PTX instruction (PT without one).  Operations that have side effects are
    emitted with ``guard=ctx.guard``; :meth:`write_key` honours the guard.
    """

    __slots__ = ("_constants", "_guards", "b", "fn", "guard", "line", "module", "options", "ssa", "state", "target")

    def __init__(self, fn: Func, module: ModuleState, options: LowerOptions, state: FuncState) -> None:
        entry = fn.new_block()
        fn.blocks.append(entry)
        self.fn: Func = fn
        self.b: Builder = Builder(fn, entry)
        self.target: Target = fn.target
        self.module: ModuleState = module
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

    def min_max(self, signed: bool) -> str:
        """Name of the operation that gives the minimum or maximum of two words."""
        return self.target.spelling("signed_min_max" if signed else "min_max") + ("" if signed else ".U32")

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

    def outgoing(self, offset: int) -> Opnd:
        """Address of byte `offset` of the arguments for a callee, which are at the stack pointer wherever that is."""
        if self.state.frame_base != K_NONE:
            return self.b.r("IADD3", r(abi.STACK), imm(offset), RZ)
        return self.b.r("frame", imm(offset))

    def incoming(self, offset: int) -> Opnd:
        """Address of byte `offset` of the function's own arguments on the stack."""
        base = [self.state.frame_base] if self.state.frame_base != K_NONE else []
        return self.b.r("frame.IN", imm(offset), *base)

    # --- values ---

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

    # --- variables ---

    def write_key(self, key: int, value: Opnd, want: int) -> None:
        """Assign the variable `key` of `want` words under the current guard ; one that is narrower is extended with zero words, a wider one loses its high words."""
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
        self.assign(key, value)

    def assign(self, key: int, value: Opnd) -> None:
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

    def call_helper(self, name: str, args: list[Opnd], ret_words: int, own_symbol: str = "") -> Opnd:
        """Call an internal subroutine and return its result: arguments from R4 on (64-bit ones in even pairs), result in R4.

        The guard is not applied: use :meth:`begin_guarded` where the call must depend on it.  With `ret_words` 0 the
        result is NONE. An immediate or a constant among `args` is one word; copy a 64-bit one to a register first.
        `own_symbol`: its name where such subroutines have sections of their own; without one, it is in that of its caller.
        """
        apart = own_symbol != "" and self.options.helpers_apart
        if apart:
            symbol = own_symbol
            self.module.need_helper_apart(name, symbol, self.fn.name)
        else:
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
        info = CallInfo(symbol, "helper", 0)
        info.apart = apart
        self.fn.calls[inst.uid] = info
        if ret_words == 0:
            return K_NONE
        if ret_words == 1:
            return self.b.copy(results[0])
        return self.b.pack(*results)

    def driver_function(self, name: str, result: str, params: list[str]) -> Opnd:
        """Address of a driver function that the PTX module does not declare; NONE where a call names the symbol.

        `result` and `params`: its types, as :func:`orias.cubin.callgraph.prototype_text` has them.
        """
        module = self.module
        module.name_driver_function(name, prototype_text(name, result, params))
        module.kernel.edges.append((self.fn.name, name))
        if self.options.names_externs:
            return K_NONE
        return self.b.copy(const(4, module.data.slot(name)), 2)
