"""Ori: instructions, blocks, functions.

One instruction class serves every stage; see :mod:`orias.isa.op` for the operand order and
:mod:`orias.isa.operand` for the operands.  Facts that hold throughout:

* ``Block.succs`` is the truth about control flow.  A block without terminator goes to ``succs[0]``.  A guarded
  ``BRA`` as last instruction goes to ``succs[1]`` if its guard holds and falls to ``succs[0]``.  ``BRX`` goes to any
  of ``succs``.  Unguarded ``EXIT`` and ``RET`` end a block without successors; guarded ones may stand anywhere.
  An unguarded ``BRA`` appears only when blocks are laid out.
* a guarded instruction that defines a register in SSA carries the value it has when the guard does not hold
  as ``old`` (NONE: undefined), and then has exactly one non-PT, non-RZ result.
* ``phi`` stands at the head of a block, with one source per predecessor, in the order of ``Block.preds``.
* 16- and 8-bit PTX values live in one-word registers whose upper bits are unspecified.
"""

from collections.abc import Iterator
from typing import Final, final

from orias.isa.op import F_CALL, F_TERM, Op, op
from orias.isa.operand import (
    FIRST_VIRTUAL,
    INV,
    K_NONE,
    K_P,
    K_R,
    KIND_MASK,
    PAYLOAD_SHIFT,
    PT,
    Opnd,
    is_virtual,
)
from orias.target.profile import Target

NO_CTL: Final = -1
"""``Inst.ctl`` before scheduling."""

PRIVATE: Final = "private"
"""``Func.notes`` key of a function whose callers know which R registers it changes: it keeps none for them."""
QUADS: Final = "quads"
"""Note of functions in which gradients are sampled by quads: the registers that belong to that (:mod:`orias.schedule.quads`)."""

CROSSING: Final = "wgmma_crossing"
"""``Func.notes`` key: warpgroup operations must run one at a time because of a call; value: the message about it, 0 if another function's."""

ONE_AT_A_TIME: Final = "wgmma_one_at_a_time"
"""The same because registers do not suffice for operations under way: nothing is under way in such a function's allocation."""

CONST_BANK_BYTES: Final = 1 << 16
"""Size of a constant bank."""

OP_PHI: Final = op("phi")
OP_COPY: Final = op("copy")
OP_PACK: Final = op("pack")
OP_BRA: Final = op("BRA")
OP_EXIT: Final = op("EXIT")


@final
class Inst:
    """One instruction.

    ``ctl`` is the 21-bit control word as it stands in bits 105..125: stall 0..3, yield 4, write barrier 5..7, read
    barrier 8..10, wait mask 11..16, reuse 17..20; NO_CTL before scheduling.  ``loc`` is the PTX line (0: none).
    """

    __slots__ = ("ctl", "dst", "guard", "loc", "old", "op", "src", "uid")

    def __init__(
        self,
        op_: Op,
        dst: list[Opnd],
        src: list[Opnd],
        guard: Opnd = PT,
        old: Opnd = K_NONE,
        loc: int = 0,
        uid: int = 0,
    ) -> None:
        self.op: Op = op_
        self.dst: list[Opnd] = dst
        self.src: list[Opnd] = src
        self.guard: Opnd = guard
        self.old: Opnd = old
        self.ctl: int = NO_CTL
        self.loc: int = loc
        self.uid: int = uid

    def uses(self) -> Iterator[Opnd]:
        """Every operand the instruction reads: sources, guard, old value."""
        yield from self.src
        if self.guard != PT:
            yield self.guard
        if self.old != K_NONE:
            yield self.old

    def is_terminator(self) -> bool:
        """True if control may leave the block here (a guarded EXIT or RET does not end a block)."""
        if not self.op.flags & F_TERM:
            return False
        return self.op.base in ("BRA", "BRX") or self.guard == PT

    def __repr__(self) -> str:
        return f"<{self.op.name} {self.uid}>"


@final
class Block:
    """A basic block.  ``cold`` marks slow paths that go behind the function's last exit."""

    __slots__ = ("cold", "depth", "id", "insts", "preds", "succs")

    def __init__(self, ident: int) -> None:
        self.id: int = ident
        self.insts: list[Inst] = []
        self.preds: list[Block] = []
        self.succs: list[Block] = []
        self.depth: int = 0
        self.cold: bool = False

    def terminator(self) -> Inst | None:
        """The branch, exit or return that ends the block, if any."""
        if self.insts and self.insts[-1].is_terminator():
            return self.insts[-1]
        return None

    def __repr__(self) -> str:
        return f"b{self.id}"


@final
class SymRef:
    """What a K_SYM operand means: ``name + addend``.

    ``kind``: ``func`` (code address), ``global`` (data), ``shared`` (offset in the shared window), ``const4`` (slot of the
    address table), ``text_lo``/``text_hi`` (halves of a code address).
    """

    __slots__ = ("addend", "kind", "name")

    def __init__(self, name: str, kind: str, addend: int = 0) -> None:
        self.name: Final[str] = name
        self.kind: Final[str] = kind
        self.addend: Final[int] = addend

    def key(self) -> tuple[str, str, int]:
        """Identity of the reference."""
        return self.name, self.kind, self.addend


@final
class CallInfo:
    """Facts of one ``call``/``CALL`` instruction, keyed by its uid in ``Func.calls``.

    ``target``: function name, or None for an indirect call (the address pair is then the last source).  The sources
    before it are the physical argument registers, the results the physical result registers.  The clobber masks
    have bit n set if register n of that file may change (result registers included).  ``exact``: they are those of the
    allocated callee, which does not even look at others.  ``outside``: nothing is known of the callee
    (:func:`orias.passes.crossing.note_crossings`).
    """

    __slots__ = (
        "clobber_b",
        "clobber_p",
        "clobber_r",
        "clobber_up",
        "clobber_ur",
        "exact",
        "kind",
        "outside",
        "target",
    )

    def __init__(
        self,
        target: str | None,
        kind: str,
        clobber_r: int,
        clobber_p: int = 0x7F,
        clobber_ur: int = 0,
        clobber_up: int = 0x7F,
        clobber_b: int = 0,
    ) -> None:
        self.target: str | None = target
        self.kind: str = kind  # "abi", "helper", "syscall"
        self.clobber_r: int = clobber_r
        self.clobber_p: int = clobber_p
        self.clobber_ur: int = clobber_ur
        self.clobber_up: int = clobber_up
        self.clobber_b: int = clobber_b
        self.exact: bool = False
        self.outside: bool = False


@final
class JumpTable:
    """The table of one ``BRX``: code offsets (4 bytes each) at byte ``offset`` of the kernel's constant bank 2.

    Entry i is the start of ``succs[picks[i]]`` of the block that ends with the ``BRX``.
    """

    __slots__ = ("offset", "picks")

    def __init__(self, offset: int, picks: list[int]) -> None:
        self.offset: int = offset
        self.picks: list[int] = picks


@final
class ConstantPool:
    """64-bit constants in constant bank 2 that operations read as operands, behind ``start`` bytes of tables.

    The functions of one section share a pool.  A value gets the next 8 bytes when it is asked for first.  ``owner``: in
    relocatable modules the function whose bank it is; the linker then places it, and code names the constants by symbols.
    """

    __slots__ = ("_places", "owner", "start", "values")

    def __init__(self, start: int = 0, owner: str = "") -> None:
        self.start: int = start
        self.owner: str = owner
        self.values: list[int] = []
        """Patterns of 64 bits, in the order of their places."""
        self._places: dict[int, int] = {}

    def place(self, value: int) -> int:
        """Byte offset of `value` in bank 2."""
        at = self._places.get(value, -1)
        if at < 0:
            at = self.start + 8 * len(self.values)
            self.values.append(value)
            self._places[value] = at
        return at

    def is_full(self) -> bool:
        """True if the bank may lack room for all operands of one more instruction."""
        return self.start + 8 * (len(self.values) + 3) > CONST_BANK_BYTES

    def symbol(self, at: int) -> str:
        """What ptxas 13.0.88 calls the constant at byte `at` of the bank."""
        return f"{self.owner}.const_opt.{at}.{at + 8}"

    def data(self) -> bytes:
        """The constants from ``start`` on."""
        return b"".join(v.to_bytes(8, "little") for v in self.values)


@final
class Location:
    """A word of a PTX register's value in a physical register: from instruction `first` to `last` (uids), both included.

    ``file`` is K_R ..., ``type`` the PTX type.
    """

    __slots__ = ("file", "first", "last", "name", "number", "type", "word")

    def __init__(self, name: str, type_: str, word: int, file: int, number: int, first: int, last: int) -> None:
        self.name: str = name
        self.type: str = type_
        self.word: int = word
        self.file: int = file
        self.number: int = number
        self.first: int = first
        self.last: int = last


@final
class Func:
    """One function in one stage of compilation; ``blocks[0]`` is the entry and has no predecessors.

    ``kind``: ``entry`` (kernel), ``func`` (ABI function), ``helper`` (internal subroutine with its own convention).
    ``state``: ``ssa`` until phis are gone, then ``virtual``, after allocation ``allocated``, at the end ``final``.
    """

    __slots__ = (
        "blocks",
        "calls",
        "contract",
        "expanded",
        "frame_fixed",
        "frame_size",
        "implied",
        "parted",
        "pool",
        "kind",
        "locations",
        "max_regs",
        "name",
        "names",
        "next_block",
        "next_uid",
        "notes",
        "reg_count",
        "remarks",
        "retries",
        "spill_loads",
        "spill_stores",
        "state",
        "syms",
        "tables",
        "target",
        "tied_groups",
        "vkind",
        "vwidth",
    )

    def __init__(self, name: str, target: Target, kind: str = "entry") -> None:
        self.name: str = name
        self.target: Target = target
        self.kind: str = kind
        self.state: str = "ssa"
        self.blocks: list[Block] = []
        self.vkind: bytearray = bytearray(FIRST_VIRTUAL)
        """File (K_R..K_B) of each virtual register, by id; entries below 256 are unused."""
        self.vwidth: bytearray = bytearray(FIRST_VIRTUAL)
        """Width in 32-bit words (1, 2, 3, 4, 8) of each virtual register; 1 for predicates and barriers."""
        self.syms: list[SymRef] = []
        self.calls: dict[int, CallInfo] = {}
        self.contract: set[int] = set()
        """Uids of FMUL, FADD, DMUL, DADD, HMUL2 and HADD2 that may fuse into FFMA, DFMA and HFMA2 (PTX without ``.rn``)."""
        self.retries: set[int] = set()
        """Uids of compare-and-swaps made for an atomic that the target lacks: one fails only where another thread's has just succeeded."""
        self.tables: dict[int, JumpTable] = {}
        """Jump tables by the uid of their BRX."""
        self.pool: ConstantPool | None = None
        """Where 64-bit constants may go that an operation cannot hold; None: nowhere (targets without constant operands)."""
        self.parted: frozenset[int] = frozenset()
        """Ids of the blocks that part of a warp may be in: between a divergent branch and its end and where nothing brings a warp together
        again; known once convergence barriers are there."""
        self.expanded: bool = False
        """The 64-bit pseudo operations have been expanded: no more of them may be made."""
        self.implied: dict[int, int] = {}
        """R registers (a mask) that a WARPGROUP instruction reads and writes without naming them, by uid; after allocation."""
        self.names: dict[int, list[tuple[str, str]]] = {}
        """With -g: PTX registers (name, type) that have held each virtual register's value."""
        self.locations: list[Location] = []
        """With -g, after allocation: where those values lie."""
        self.remarks: list[tuple[int, int]] = []
        """(number of a message in :mod:`orias.ori.remarks`, PTX line) for what a phase has to say about the code."""
        self.frame_fixed: int = 0
        """Bytes of the stack frame laid out by lowering (outgoing arguments, local variables), from R1+0 up."""
        self.frame_size: int = 0
        """Whole frame in bytes after allocation (multiple of 8)."""
        self.max_regs: int = 255
        """Limit on the reported register count, from options and directives."""
        self.reg_count: int = 0
        self.spill_stores: int = 0
        self.spill_loads: int = 0
        self.next_block: int = 0
        self.next_uid: int = 1
        self.tied_groups: list[tuple[int, ...]] = []
        self.notes: dict[str, int] = {}
        """Counters that later rooms read: ``barriers`` (named barriers used), ``uses_global`` ..."""

    def new_block(self) -> Block:
        """A new block, not yet placed in ``blocks``."""
        b = Block(self.next_block)
        self.next_block += 1
        return b

    def new_vreg(self, file_kind: int = K_R, width: int = 1) -> Opnd:
        """A fresh virtual register operand."""
        ident = len(self.vkind)
        self.vkind.append(file_kind)
        self.vwidth.append(width)
        return file_kind | ident << PAYLOAD_SHIFT

    def new_inst(
        self, op_: Op, dst: list[Opnd], src: list[Opnd], guard: Opnd = PT, old: Opnd = K_NONE, loc: int = 0
    ) -> Inst:
        """A new instruction with a fresh uid, not yet placed."""
        inst = Inst(op_, dst, src, guard, old, loc, self.next_uid)
        self.next_uid += 1
        return inst

    def width(self, o: Opnd) -> int:
        """Width in words of a register operand as a whole register (lane ignored); 1 for physical ones."""
        if is_virtual(o):
            return self.vwidth[o >> PAYLOAD_SHIFT]
        return 1

    def sym(self, name: str, kind: str, addend: int = 0) -> Opnd:
        """A K_SYM operand for a symbol reference."""
        from orias.isa.operand import sym as sym_opnd

        key = (name, kind, addend)
        for i, s in enumerate(self.syms):
            if s.key() == key:
                return sym_opnd(i)
        self.syms.append(SymRef(name, kind, addend))
        return sym_opnd(len(self.syms) - 1)

    def link(self, a: Block, b: Block) -> None:
        """Add the edge a -> b (no phi is touched)."""
        a.succs.append(b)
        b.preds.append(a)

    def calls_outside(self, inst: Inst) -> bool:
        """True if an instruction calls a function of which nothing is known (``CallInfo.outside``)."""
        if not inst.op.flags & F_CALL:
            return False
        info = self.calls.get(inst.uid)
        return info is not None and info.outside

    def insts(self) -> Iterator[Inst]:
        """All instructions in block order."""
        for b in self.blocks:
            yield from b.insts


def invert(pred: Opnd) -> Opnd:
    """The negated predicate operand."""
    return pred ^ INV


def is_pred_kind(o: Opnd) -> bool:
    """True for P and UP registers."""
    return (o & KIND_MASK) >= K_P and (o & KIND_MASK) <= K_P + 1


def is_r(o: Opnd) -> bool:
    """True for R registers, RZ included."""
    return (o & KIND_MASK) == K_R
