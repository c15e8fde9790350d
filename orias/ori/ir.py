"""Ori: instructions, blocks, functions.

All phases use one instruction class; see :mod:`orias.isa.op` for the operand order and
:mod:`orias.isa.operand` for the operands.  Invariants of every phase:

* ``Block.succs`` defines the control flow.  A block without terminator goes to ``succs[0]``.  A guarded
  ``BRA`` as last instruction goes to ``succs[1]`` if its guard holds and falls to ``succs[0]``.  ``BRX`` goes to one
  of ``succs``.  Unguarded ``EXIT`` and ``RET`` end a block without successors; guarded ones may be anywhere in a block.
  An unguarded ``BRA`` appears only when blocks are laid out.
* a guarded instruction that defines a register in SSA has the value for a false guard
  as ``old`` (NONE: undefined), and exactly one result other than PT and RZ.  Operations that write in some threads only
  (F_PARTIAL) have the value of the others there.
* ``phi`` is at the head of a block, with one source per predecessor, in the order of ``Block.preds``.
* 16- and 8-bit PTX values are in one-word registers whose upper bits are unspecified.
"""

from collections.abc import Iterator
from typing import Final, final

from orias.isa.op import F_CALL, F_JUMP, F_TABLE_JUMP, F_TERM, Op, op
from orias.isa.operand import FIRST_VIRTUAL, K_NONE, K_R, PT, Opnd, is_vreg, reg, vreg
from orias.knobs.knob_values import DEFAULTS, Knobs
from orias.ori.decisions import Decision
from orias.ori.reads_writes import Access
from orias.target.abi import LAST_SCRATCH_UR
from orias.target.profile import Target
from orias.target.register_steps import SUB_PARTITIONS

NO_CTL: Final = -1
"""``Inst.ctl`` before scheduling."""

CONST_BANK_BYTES: Final = 1 << 16
"""Size of a constant bank."""

OP_PHI: Final = op("phi")
OP_COPY: Final = op("copy")
OP_PACK: Final = op("pack")
OP_UNDEF: Final = op("undef")
OP_BRA: Final = op("BRA")
OP_NOP: Final = op("NOP")
OP_EXIT: Final = op("EXIT")
OP_ACQUIRE: Final = op("fence.ACQUIRE")
"""Keeps what follows an acquire after it, and waits for it: a NOP in the end; a plain `fence` ends before that."""
OP_IN_TURN: Final = op("fence.SHARED")
"""Keeps accesses to shared memory in order around a strong one, to the end of scheduling; before that a `fence` for all memory."""
OP_KEEP: Final = op("fence.KEEP")
"""Reads what is loaded although nobody reads it, as a volatile access asks; gone when control words are set."""
OP_AROUND: Final = op("fence.WARP")
"""Keeps weak loads on their side of the WARPSYNC of ``bar.warp.sync``, to the end of scheduling; they may cross another WARPSYNC."""
ORDERING: Final = (OP_ACQUIRE, OP_IN_TURN, OP_KEEP, OP_AROUND)
"""What keeps accesses in order in scheduling: it takes no pipe and no cycle there."""
ACQUIRES: Final = (OP_ACQUIRE, op("CCTL.IVALL"))
"""What waits for the access before it that acquires, at CTA scope and at wider ones."""


@final
class Inst:
    """One instruction.

    ``ctl`` is the 21-bit control word (bits 105..125 of the instruction): stall 0..3, yield 4, write barrier 5..7, read
    barrier 8..10, wait mask 11..16, reuse 17..20; NO_CTL before scheduling.  ``loc`` is the PTX line (0: none).
    """

    __slots__ = ("access", "ctl", "dst", "guard", "loc", "old", "op", "src", "uid")

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
        self.access: Access | None = None
        """What it reads and writes as it was when somebody asked last (:mod:`orias.analysis.access`), after allocation."""

    def uses(self) -> list[Opnd]:
        """Every operand the instruction reads: sources, guard, old value.  The list is for reading only."""
        # Most instructions have sources alone: no list is made for them.
        if self.guard == PT:
            return self.src if self.old == K_NONE else [*self.src, self.old]
        return [*self.src, self.guard] if self.old == K_NONE else [*self.src, self.guard, self.old]

    def is_terminator(self) -> bool:
        """True if control may leave the block here (a guarded EXIT or RET does not end a block)."""
        if not self.op.flags & F_TERM:
            return False
        return self.op.flags & (F_JUMP | F_TABLE_JUMP) != 0 or self.guard == PT

    def __repr__(self) -> str:
        return f"<{self.op.name} {self.uid}>"


@final
class Block:
    """A basic block.  ``cold`` marks a slow path, which is placed after the function's last exit.

    ``no_unroll``: the program forbids unrolling of the loop that begins with the block (``.pragma "nounroll"`` in it).
    """

    __slots__ = ("cold", "depth", "id", "insts", "no_unroll", "preds", "succs")

    def __init__(self, ident: int) -> None:
        self.id: int = ident
        self.insts: list[Inst] = []
        self.preds: list[Block] = []
        self.succs: list[Block] = []
        self.depth: int = 0
        self.cold: bool = False
        self.no_unroll: bool = False

    def drop_pred(self, k: int) -> None:
        """Remove the predecessor at place `k`, with what the phis take from it (its ``succs`` is not touched)."""
        self.preds.pop(k)
        for inst in self.insts:
            if inst.op is not OP_PHI:
                break
            inst.src.pop(k)

    def terminator(self) -> Inst | None:
        """The branch, exit or return that ends the block, if any."""
        if self.insts and self.insts[-1].is_terminator():
            return self.insts[-1]
        return None

    def __repr__(self) -> str:
        return f"b{self.id}"


@final
class SymRef:
    """The symbol reference of a K_SYM operand: ``name + addend``.

    ``kind``: ``func`` (code address), ``global`` (data), ``shared`` (offset in the shared window), ``const4`` (slot of
    the address table), ``text_lo``/``text_hi`` (halves of a code address).
    """

    __slots__ = ("addend", "kind", "name")

    def __init__(self, name: str, kind: str, addend: int = 0) -> None:
        self.name: Final[str] = name
        self.kind: Final[str] = kind
        self.addend: Final[int] = addend

    def key(self) -> tuple[str, str, int]:
        """The fields that identify the reference."""
        return self.name, self.kind, self.addend


@final
class CallInfo:
    """Facts of one ``call``/``CALL`` instruction, keyed by its uid in ``Func.calls``.

    ``target``: function name, or None for an indirect call (the address pair is then the last source).  The sources
    before it are the physical argument registers; the results are the physical result registers.  The clobber masks
    have bit n set if the call may change register n of that file (result registers included).  ``exact``: the masks are
    those of the allocated callee, which accesses no other registers.  ``outside``: the callee is unknown
    (:func:`orias.passes.wgmma_calls.note_blocking_calls`).  ``apart``: a helper with a section of its own, whose address
    and return address are those of functions.
    """

    __slots__ = (
        "apart",
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
        self.kind: str = kind  # "abi", "helper", "syscall", "extern"
        self.clobber_r: int = clobber_r
        self.clobber_p: int = clobber_p
        self.clobber_ur: int = clobber_ur
        self.clobber_up: int = clobber_up
        self.clobber_b: int = clobber_b
        self.exact: bool = False
        self.outside: bool = False
        self.apart: bool = False


@final
class Clobbers:
    """Masks of the registers of each file that a function may change (bit n: register n)."""

    __slots__ = ("b", "p", "r", "up", "ur")

    def __init__(self, r: int, ur: int, p: int, up: int, b: int) -> None:
        self.r: Final[int] = r
        self.ur: Final[int] = ur
        self.p: Final[int] = p
        self.up: Final[int] = up
        self.b: Final[int] = b


@final
class JumpTable:
    """The table of one ``BRX``: code offsets (4 bytes each) at byte ``offset`` of the kernel's constant bank 2.

    Entry i is the offset of block ``succs[picks[i]]`` of the block that ends with the ``BRX``.
    """

    __slots__ = ("offset", "picks")

    def __init__(self, offset: int, picks: list[int]) -> None:
        self.offset: int = offset
        self.picks: list[int] = picks


def bank_symbol(owner: str, at: int, size: int) -> str:
    """What ptxas 13.0.88 calls `size` bytes at byte `at` of a function's constant bank 2."""
    return f"{owner}.const_opt.{at}.{at + size}"


@final
class ConstantPool:
    """Constant bank 2: ``start`` bytes of tables, to which a phase may add, then 64-bit constants that operations read as operands.

    The functions of one section share a pool.  A value gets the next 8 bytes on its first use.  ``owner``: in
    relocatable modules, the function that owns the bank; the linker places the bank, and code names the constants by
    symbols.
    """

    __slots__ = ("_places", "owner", "start", "values")

    def __init__(self, start: int = 0, owner: str = "") -> None:
        self.start: int = start
        self.owner: str = owner
        self.values: list[int] = []
        """64-bit patterns in the order of their offsets."""
        self._places: dict[int, int] = {}

    def table(self, size: int) -> int:
        """Byte offset of `size` bytes for one more table, a multiple of 4; -1 if there is no space or constants stand there already.

        The linker places the bank of an ``owner``: its tables are those of the program.
        """
        if self.values or self.owner or self.start + size + 8 > CONST_BANK_BYTES:
            return -1
        at = self.start
        self.start += size + 7 & ~7
        return at

    def place(self, value: int) -> int:
        """Byte offset of `value` in bank 2; adds the value if it is new."""
        at = self._places.get(value, -1)
        if at < 0:
            at = self.start + 8 * len(self.values)
            self.values.append(value)
            self._places[value] = at
        return at

    def is_full(self) -> bool:
        """True if the bank may lack space for the operands of one more instruction."""
        return self.start + 8 * (len(self.values) + 3) > CONST_BANK_BYTES

    def symbol(self, at: int) -> str:
        """The symbol of the constant at byte `at` of the bank."""
        return bank_symbol(self.owner, at, 8)

    def data(self) -> bytes:
        """The constants from ``start`` on."""
        return b"".join(v.to_bytes(8, "little") for v in self.values)


ON_STACK: Final = -1
"""``Location.file`` of a word in the frame."""


@final
class Location:
    """A word of a PTX register's value in a physical register, from instruction `first` to `last` (uids, inclusive).

    ``file`` is K_R ..., or ON_STACK: then ``number`` is the distance from R1 in bytes, and the value is there once instruction
    `first`, which is also `last`, has run.  ``type`` is the PTX type; of an element of a vector register it has the number of
    elements before it (``v4.f32``), and the name ends with the element's number (``%v.2``).
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
class SharedSpills:
    """Shared memory for spilled words: `threads` of a block have a word each in a row, the rows begin at byte `start`.

    ``room``: bytes from there on.  ``shape``: the dimensions of a block, empty if they may vary.
    """

    __slots__ = ("room", "shape", "start", "threads")

    def __init__(self, start: int, room: int, threads: int, shape: tuple[int, ...]) -> None:
        self.start: Final[int] = start
        self.room: Final[int] = room
        self.threads: Final[int] = threads
        self.shape: Final[tuple[int, ...]] = shape


@final
class Func:
    """One function in some phase of compilation; ``blocks[0]`` is the entry and has no predecessors.

    ``kind``: ``entry`` (kernel), ``func`` (ABI function), ``helper`` (internal subroutine with its own convention).
    ``state``: ``ssa`` until phis are replaced by copies, then ``virtual``, after register allocation ``allocated``, at
    the end ``final``.
    """

    __slots__ = (
        "assigned",
        "beside_async_copies",
        "block_warps",
        "blocks",
        "callee_writes",
        "calls",
        "clobbers",
        "contract",
        "decisions",
        "entry_regs",
        "expanded",
        "frame_align",
        "frame_fixed",
        "frame_size",
        "frame_variables",
        "guard_traps",
        "guards_frame",
        "implied",
        "packed",
        "parted",
        "pool",
        "keep_warp_barriers",
        "kind",
        "knobs",
        "locations",
        "max_regs",
        "most_warps",
        "moves_stack",
        "name",
        "names",
        "next_block",
        "next_uid",
        "no_unroll",
        "private",
        "quad_registers",
        "reg_count",
        "remarks",
        "retries",
        "samples_quads",
        "shared_end",
        "shared_spills",
        "slots_at",
        "spill_base",
        "spill_code",
        "spill_loads",
        "spill_stores",
        "stack_check",
        "state",
        "syms",
        "spares_uniform",
        "tables",
        "target",
        "variables",
        "vkind",
        "vwidth",
        "wgmma_crossing",
        "wgmma_crossing_remark",
        "wgmma_serial",
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
        """Uids of FMUL, FADD, DMUL, DADD, HMUL2 and HADD2 that may be contracted into FFMA, DFMA and HFMA2 (PTX without ``.rn``)."""
        self.retries: set[int] = set()
        """Uids of accesses that are tried again, but never until another thread of the warp has written something.

        A compare-and-swap that emulates an atomic fails only if another thread's just succeeded; for units of tensor memory one thread
        of a warp waits, until other warps give some back.
        """
        self.guards_frame: bool = False
        """Register allocation adds a guard to the frame, which is checked before RET, if local variables need a frame."""
        self.guard_traps: set[int] = set()
        """Uids of the traps of those checks."""
        self.tables: dict[int, JumpTable] = {}
        """Jump tables by the uid of their BRX."""
        self.pool: ConstantPool | None = None
        """The pool for 64-bit constants that no immediate can hold; None on targets without constant operands."""
        self.slots_at: int = 0
        """Offset in constant bank 0 of the handles of textures, samplers and surfaces, which the loader places; 0: there are none."""
        self.parted: frozenset[int] = frozenset()
        """Ids of the blocks that part of a warp may be in: between a divergent branch and its reconvergence, and where no barrier makes
        a warp converge again.  Known after the insertion of convergence barriers."""
        self.keep_warp_barriers: bool = False
        """A WARPSYNC stays where the warp is together anyway."""
        self.spares_uniform: bool = False
        """No phase may take uniform registers where there is another way."""
        self.expanded: bool = False
        """The 64-bit pseudo operations are expanded; no phase may create new ones."""
        self.implied: dict[int, int] = {}
        """Uid of a WARPGROUP instruction -> mask of its implied R registers, read and written; after allocation."""
        self.names: dict[int, list[tuple[str, str]]] = {}
        """With -g: virtual register -> PTX registers (name, type) whose value it holds."""
        self.assigned: dict[int, list[str]] = {}
        """With -g: PTX line -> PTX registers that it assigns."""
        self.callee_writes: dict[str, int] | None = {}
        """With -g: compiled functions -> mask of the R registers that they write, themselves or in calls; None: a linker may replace any."""
        self.variables: dict[str, list[int]] = {}
        """With -g: PTX registers that hold variables of the program, by its debug sections, and the PTX lines at which they end."""
        self.locations: list[Location] = []
        """With -g, after allocation: the places of those values."""
        self.remarks: list[tuple[int, int]] = []
        """(message number in :mod:`orias.ori.remarks`, PTX line) of each remark of a phase."""
        self.decisions: list[Decision] | None = None
        """What passes decided, if ``Options.remarks`` asks; None: nobody asks.  Copies of a function have none."""
        self.frame_fixed: int = 0
        """Bytes of the stack frame that lowering lays out (outgoing arguments, local variables), from R1+0 up."""
        self.frame_align: int = 8
        """Alignment of the stack frame in bytes, a power of two of at least 8."""
        self.frame_variables: list[tuple[int, int]] = []
        """(offset in bytes, size in bytes) of each variable in the frame; empty if an address outside of its variable is taken."""
        self.frame_size: int = 0
        """Bytes by which the prologue lowers R1 (a multiple of ``frame_align``), after allocation."""
        self.knobs: Knobs = DEFAULTS
        """The numbers of the heuristics."""
        self.max_regs: int = 255
        """Limit on the reported register count, from options and directives."""
        self.most_warps: int = 0
        """Warps that an SM holds at most because of the size of blocks and their shared memory; 0: unknown."""
        self.block_warps: int = 1
        """Warps of a block, of which an SM holds whole ones only; 1 where the size is not known."""
        self.reg_count: int = 0
        self.packed: int = 0
        """About the register count that the tightest allocation would have, where more warps would not fit with it; 0 if that is not less."""
        self.spill_stores: int = 0
        self.spill_loads: int = 0
        self.spill_code: set[int] = set()
        """Uids of the stores and loads of spilled values, without those of registers that a caller keeps."""
        self.shared_spills: SharedSpills | None = None
        """Where spilled words may go in shared memory; None: local memory holds them all."""
        self.spill_base: int = -1
        """The R register from which spill code addresses words, in shared memory or where the stack pointer moves; -1: there is none."""
        self.shared_end: int = 0
        """Bytes of shared memory up to the end of the spilled words in it; 0: there are none."""
        self.next_block: int = 0
        self.next_uid: int = 1
        self.private: bool = False
        """A private function: every caller knows which R registers it changes, and it preserves none."""
        self.moves_stack: bool = False
        """The function has ``alloca``: R1 changes after the prologue."""
        self.no_unroll: bool = False
        """The program forbids unrolling of all loops of the function (``.pragma "nounroll"`` before its body)."""
        self.stack_check: bool = False
        """The prologue traps if the stack pointer is out of bounds."""
        self.beside_async_copies: bool = False
        """The function may run together with an LDGSTS (:mod:`orias.schedule.shared_gap`)."""
        self.samples_quads: bool = False
        """Code of the kernel samples gradients by quads (:mod:`orias.schedule.texture_quads`)."""
        self.quad_registers: int = 0
        """Mask of the R registers reserved for that sampling."""
        self.entry_regs: int = 0
        """Registers per thread at the entry of a kernel with setmaxnreg; 0: the kernel does not change its register count."""
        self.wgmma_crossing: bool = False
        """Warpgroup operations run one at a time because of a call (:mod:`orias.passes.wgmma_calls`)."""
        self.wgmma_crossing_remark: int = 0
        """Number of the message about it (:mod:`orias.ori.remarks`); 0 if another function has the message."""
        self.wgmma_serial: int = 0
        """Number of the message why too few registers force warpgroup operations to run one at a time; 0: registers suffice."""
        self.clobbers: Clobbers | None = None
        """Registers that a call of the function may change; known after allocation."""

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
        return reg(file_kind, ident)

    def new_inst(
        self, op_: Op, dst: list[Opnd], src: list[Opnd], guard: Opnd = PT, old: Opnd = K_NONE, loc: int = 0
    ) -> Inst:
        """A new instruction with a fresh uid, not yet placed."""
        inst = Inst(op_, dst, src, guard, old, loc, self.next_uid)
        self.next_uid += 1
        return inst

    def width(self, o: Opnd) -> int:
        """Width in words of the whole register of an operand (ignoring the lane); 1 for physical registers."""
        if is_vreg(o):
            return self.vwidth[vreg(o)]
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

    def hand_on(self, b: Block, new: Block) -> None:
        """Give the successors of `b` to `new`, in whose place their phis then know it; `b` has none left."""
        new.succs, b.succs = b.succs, []
        for s in new.succs:
            s.preds = [new if p is b else p for p in s.preds]

    def enter_like(self, b: Block, new: Block, old: Block) -> None:
        """Make `new` a predecessor of `b` whose phis take on its edge what they take from the predecessor `old` (``new.succs`` is not touched)."""
        k = b.preds.index(old)
        b.preds.append(new)
        for inst in b.insts:
            if inst.op is not OP_PHI:
                break
            inst.src.append(inst.src[k])

    def calls_outside(self, inst: Inst) -> bool:
        """True if an instruction calls an unknown function (``CallInfo.outside``)."""
        if not inst.op.flags & F_CALL:
            return False
        info = self.calls.get(inst.uid)
        return info is not None and info.outside

    def warps(self) -> int:
        """Warps of a sub-partition that an SM holds at most, whatever their registers."""
        most = self.target.number("threads_per_sm") // 32
        if self.most_warps:
            most = min(most, self.most_warps)
        return (most + SUB_PARTITIONS - 1) // SUB_PARTITIONS

    def changes_uniform(self, inst: Inst) -> bool:
        """True if an instruction calls what may change all uniform registers that this function may use."""
        if not inst.op.flags & F_CALL:
            return False
        info = self.calls.get(inst.uid)
        if info is None:
            return True
        if self.kind == "entry" and not info.clobber_ur >> LAST_SCRATCH_UR + 1:
            return False
        return not info.exact or info.clobber_ur != 0 or info.clobber_up != 0

    def has_flags(self, mask: int) -> bool:
        """True if the operation of some instruction has one of these ``Op.flags``."""
        for b in self.blocks:
            for inst in b.insts:
                if inst.op.flags & mask:
                    return True
        return False

    def insts(self) -> Iterator[Inst]:
        """All instructions in block order."""
        for b in self.blocks:
            yield from b.insts
