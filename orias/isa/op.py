"""The operations of the IR: interned :class:`Op` objects with the properties that follow from the name.

An operation is a SASS mnemonic with its modifiers, written as ``nvdisasm`` prints it (``ISETP.GE.U32.AND``),
or a *pseudo* operation in lower case (``phi``, ``iadd64``) that the phases before encoding expand.
Operations are interned: compare them by identity.

The IR keeps the printed operand order of a SASS operation, with two exceptions:

* ``dst`` lists the register results first, then the predicate results, each group in printed order, always
  as many as the printed form has: ``ISETP`` has two predicates, ``SHFL`` and ``ATOMG`` a register and a
  predicate (PT when unused), ``IADD3`` a register and zero, one or two carry predicates, ``LOP3`` a register and
  zero or one predicate.
* an address is four consecutive sources ``desc, base, ubase, offset``: the descriptor UR pair or NONE, the
  R base (RZ if absent; a pair for 64-bit addresses), the UR base (URZ if absent), an immediate byte offset.
  ``LDC``/``ULDC`` take a constant operand and an index register (RZ/URZ): ``LDC.64 c[0x0][0x210], RZ``.

Terminators carry no label: the target of a branch is in ``Block.succs``.
"""

from typing import Final, TypeAlias, final

from orias.isa.operations import TABLES, Facts, facts
from orias.kept import remembered

# What an operation does, as a bit set: the words of ``does`` in ``data/operations.isa``.
F_PSEUDO: Final = 1 << 0
F_READ: Final = 1 << 1
"""Reads memory that stores can change."""
F_WRITE: Final = 1 << 2
"""Writes memory."""
F_SIDE: Final = 1 << 3
"""Must be kept even if no result is used."""
F_TERM: Final = 1 << 4
"""May end a block."""
F_CONVERGENT: Final = 1 << 5
"""The result depends on which threads run it together: never move it across control flow."""
F_COMMUTES: Final = 1 << 6
"""The first two sources may be swapped."""
F_FENCE: Final = 1 << 7
"""Orders memory: no memory operation moves across it."""
F_CALL: Final = 1 << 8
F_CONSTMEM: Final = 1 << 9
"""Reads constant or parameter memory only."""
F_LEAVES: Final = 1 << 10
"""Leaves the function: ends the thread or returns to the caller."""
F_BRANCH: Final = 1 << 11
"""Takes its label at emission and carries implicit operands."""
F_ATOMIC: Final = 1 << 12
"""Reads, modifies and writes memory; the result is RZ if the old value is not used."""
F_ADJACENT: Final = 1 << 13
"""The last two sources are one vector of registers."""
F_MATRIX: Final = 1 << 14
"""A matrix operation of one warp."""
F_WGMMA: Final = 1 << 15
"""A matrix operation of a warpgroup (:mod:`orias.isa.gmma_forms`)."""
F_TEXTURE: Final = 1 << 16
"""A texture fetch, whose sources :mod:`orias.isa.fetch` lays out."""
F_ALIGNED: Final = 1 << 17
"""Implements a ``.sync.aligned`` instruction of PTX: all threads of the warp execute it together."""
F_WHOLE_WARP: Final = 1 << 18
"""Runs only where the whole warp is converged."""
F_COOPERATIVE: Final = 1 << 19
"""Implements a ``.sync`` warp instruction of PTX."""
F_WARP_WIDE: Final = 1 << 20
"""A cooperative operation that the compiler also emits without a ``.sync`` instruction in the program."""
F_SPECIAL: Final = 1 << 21
"""Reads a special register."""
F_SAME: Final = 1 << 22
"""The result is the same in all threads that run it together, whatever the sources."""
F_VARYING: Final = 1 << 23
"""The result may differ between threads, whatever the sources."""
F_DOUBLE: Final = 1 << 24
"""Arithmetic or comparison of doubles."""
F_ABSOLUTE: Final = 1 << 25
"""Sources may be absolute values."""
F_EXTENDS: Final = 1 << 26
"""A load that fills the upper bits of narrow values (``U8``, ``U16``: with zeros)."""
F_SIZED: Final = 1 << 27
"""Touches as many bytes as the size modifier says, 4 without one."""
F_OPTIONAL_PREDICATES: Final = 1 << 28
"""Predicate results are printed only when they are used."""
F_PINNED: Final = 1 << 29
"""The scheduler moves nothing across it."""
F_DISTANT: Final = 1 << 30
"""The result takes long: the scoreboard assigner gives it a scoreboard from 2 up."""
F_CLOSES_GROUP: Final = 1 << 31
"""Closes a group of asynchronous copies, counted on scoreboard 0."""
F_ORDERS: Final = 1 << 32
"""Operations with F_ORDERED wait for its completion, although no register connects them."""
F_ORDERED: Final = 1 << 33
"""Waits for the earlier operations with F_ORDERS."""
F_TOUCHES_SHARED: Final = 1 << 34
"""Accesses shared memory or waits for threads that do (:mod:`orias.schedule.shared_gap`)."""
F_BARE: Final = 1 << 35
"""Needs no scoreboard if it has no sources."""
F_TENSOR_MAP: Final = 1 << 36
"""Reads a tensor map."""
F_FREE: Final = 1 << 37
"""Pseudo operation that usually becomes no instruction."""
F_WIDE: Final = 1 << 38
"""Pseudo operation on 64-bit integers, expanded to operations on words."""
F_FOLDS: Final = 1 << 44
"""Address computations fold into the byte offsets of its addresses."""
F_RETURNS: Final = 1 << 45
"""Returns to the caller."""
F_YIELDS: Final = 1 << 46
"""Other threads of the warp may run before the next instruction."""
F_TIED: Final = 1 << 47
"""Changes its convergence-barrier source in place."""
F_WGMMA_SYNC: Final = 1 << 48
"""Orders the matrix operations of a warpgroup and register accesses around them."""
F_COMPARES: Final = 1 << 49
"""Compares its first two sources; the last is combined with the outcome."""
F_ADDS: Final = 1 << 50
"""The first result is the sum of the sources."""
F_JUMP: Final = 1 << 51
"""Jumps to its label."""
F_TABLE_JUMP: Final = 1 << 52
"""Jumps to an address in a register."""
F_AWAITS_ITSELF: Final = 1 << 53
"""A stall count of 0 makes it wait for its completion."""
F_AWAITED: Final = 1 << 54
"""Operations with F_ORDERED wait for its completion; it waits for none itself."""
F_PARTIAL: Final = 1 << 55
"""Writes its result in some threads only; in the others it stays the old value."""
F_INVALIDATES_CONSTANTS: Final = 1 << 56
"""Operations on the cache of tensor maps wait for its completion."""
F_TENSOR: Final = 1 << 57
"""Writes tensor memory or orders operations on it; the cubin states that the kernel does (VRC_CTA_INIT_COUNT)."""
F_PACED: Final = 1 << 58
"""Runs on a pipe whose use ``.nv.compat`` states."""
F_BARRIER: Final = 1 << 59
"""A barrier of the block: the hardware counts a warp whichever of its threads arrive."""
F_KEEPS_TURN: Final = 1 << 60
"""ptxas never sets its yield bit."""
F_AGREES: Final = 1 << 61
"""Threads that run it together with the same sources get the same result, although it counts as a write."""
F_READS_PR: Final = 1 << 39
"""Reads the predicates of an immediate mask (``P2R R4, PR, RZ, 0x7f``), all seven without a mask."""
F_WRITES_PR: Final = 1 << 40
"""Writes the predicates of an immediate mask (``R2P PR, R4, 0x7f``), all seven without a mask."""
F_WRITES_B: Final = 1 << 41
"""Also writes its convergence-barrier source."""
F_COMPONENTS: Final = 1 << 42
"""The last immediate is a mask of components: the second result holds the first two of them, the first result the others."""
F_LATE_UNIFORM: Final = 1 << 43
"""Reads uniform registers late too.  Other operations read them at issue: ptxas overwrites them immediately."""

_WORDS: Final[dict[str, int]] = {
    "read": F_READ, "write": F_WRITE, "effect": F_SIDE, "terminator": F_TERM, "convergent": F_CONVERGENT, "commutes": F_COMMUTES,
    "fence": F_FENCE, "call": F_CALL, "constant": F_CONSTMEM, "leaves": F_LEAVES, "branch": F_BRANCH, "atomic": F_ATOMIC,
    "adjacent": F_ADJACENT, "matrix": F_MATRIX, "warpgroup": F_WGMMA, "texture": F_TEXTURE, "aligned": F_ALIGNED,
    "whole-warp": F_WHOLE_WARP, "cooperative": F_COOPERATIVE, "warp-wide": F_WARP_WIDE, "special": F_SPECIAL, "same": F_SAME,
    "varying": F_VARYING, "double": F_DOUBLE, "absolute": F_ABSOLUTE, "extends": F_EXTENDS, "sized": F_SIZED,
    "optional-predicates": F_OPTIONAL_PREDICATES, "pinned": F_PINNED, "distant": F_DISTANT, "closes-group": F_CLOSES_GROUP,
    "orders": F_ORDERS, "ordered": F_ORDERED, "touches-shared": F_TOUCHES_SHARED, "bare": F_BARE, "tensor-map": F_TENSOR_MAP,
    "free": F_FREE, "folds": F_FOLDS, "wide": F_WIDE, "reads-PR": F_READS_PR, "writes-PR": F_WRITES_PR, "writes-B": F_WRITES_B,
    "returns": F_RETURNS, "yields": F_YIELDS, "tied": F_TIED, "warpgroup-sync": F_WGMMA_SYNC, "compares": F_COMPARES, "adds": F_ADDS, "jump": F_JUMP, "table-jump": F_TABLE_JUMP,
    "awaits-itself": F_AWAITS_ITSELF, "awaited": F_AWAITED, "partial": F_PARTIAL, "tensor": F_TENSOR, "paced": F_PACED, "components": F_COMPONENTS, "late-uniform": F_LATE_UNIFORM,
    "invalidates-constants": F_INVALIDATES_CONSTANTS, "block-barrier": F_BARRIER, "keeps-turn": F_KEEPS_TURN, "agrees": F_AGREES,
}  # fmt: skip

LOAD_STORE: Final = "load-store"
"""The queue of memory operations: it reads their sources in order, each before a later operation writes."""

GLOBAL: Final = 1
SHARED: Final = 2
LOCAL: Final = 4
ANYWHERE: Final = GLOBAL | SHARED | LOCAL
TENSOR: Final = 8
"""Tensor memory, which no other access reaches."""
_SPACES: Final[dict[str, int]] = {"global": GLOBAL, "shared": SHARED, "local": LOCAL, "tensor": TENSOR, "": ANYWHERE}

SIGNS_NONE: Final = 0
SIGNS_FLOAT: Final = 1
"""Sources may be negated or absolute floating-point values."""
SIGNS_HALF: Final = 2
"""Sources may be negated or absolute pairs of halves."""
SIGNS_INTEGER: Final = 3
"""Sources may be negated or inverted integers."""
_SIGNS: Final[dict[str, int]] = {"": SIGNS_NONE, "float": SIGNS_FLOAT, "half": SIGNS_HALF, "integer": SIGNS_INTEGER}

NO_IMMEDIATE: Final = 1
NO_UNIFORM: Final = 2
_LACKING: Final[dict[str, int]] = {"": 0, "any": 0, "no-immediate": NO_IMMEDIATE, "no-uniform": NO_UNIFORM}


OpParts: TypeAlias = """tuple[
    str, tuple[str, ...], int, tuple[int, ...], tuple[int, ...], tuple[int, ...], int, str, str, int, bool, str, str, int, int, int, int, str, int
]"""
"""The properties of an operation in plain types, for :mod:`orias.kept`: ``base`` to ``lacking`` of :class:`Op`."""


@final
class Op:
    """One interned operation; create with :func:`op`."""

    __slots__ = (
        "addr", "base", "busy", "compat", "descriptors", "estimate", "flags", "foldable", "held", "ident", "lacking", "means", "mods", "name", "offset_bits", "order", "proves", "queue", "signs",
        "space", "uniform",
    )  # fmt: skip

    def __init__(self, name: str, ident: int, parts: "OpParts") -> None:
        self.name: Final[str] = name
        self.ident: Final[int] = ident
        self.base: Final[str] = parts[0]
        self.mods: Final[tuple[str, ...]] = parts[1]
        self.flags: Final[int] = parts[2]
        self.addr: Final[tuple[int, ...]] = parts[3]
        """Positions in ``src`` where an address group (desc, base, ubase, offset) starts."""
        self.offset_bits: Final[tuple[int, ...]] = parts[4]
        """Signed bits of the byte offset of each group."""
        self.descriptors: Final[tuple[int, ...]] = parts[5]
        """Groups that take the descriptor of global memory."""
        self.space: Final[int] = parts[6]
        """Memory spaces that an access may touch: GLOBAL, SHARED, LOCAL as a bit set."""
        self.order: Final[str] = parts[7]
        """Name of the unit, which completes its operations in issue order; empty if there is none."""
        self.queue: Final[str] = parts[8]
        """Name of the queue, which reads the sources of its operations in order; empty if there is none."""
        self.signs: Final[int] = parts[9]
        """The sign modifiers that sources may have: SIGNS_NONE, SIGNS_FLOAT, SIGNS_HALF or SIGNS_INTEGER."""
        self.foldable: Final[bool] = parts[10]
        """True for an integer operation that constant folding evaluates."""
        self.uniform: Final[str] = parts[11]
        """Mnemonic of the uniform-datapath operation that computes the same; empty if there is none."""
        self.means: Final[str] = parts[12]
        """For a uniform-datapath operation, mnemonic of the vector operation that computes the same; else empty."""
        self.compat: Final[int] = parts[13]
        """The instruction set class that a cubin with this operation states in ``.nv.compat``; 0 if it needs none."""
        self.held: Final[int] = parts[14]
        """Cycles after issue during which sources must not change, where no scoreboard protects them."""
        self.busy: Final[int] = parts[15]
        """Cycles that the operation occupies its pipe, if different from its class; else 0."""
        self.estimate: Final[int] = parts[16]
        """Estimated cycles until a late result, for priorities only, right in the order of magnitude; 0 if unknown."""
        self.proves: Final[str] = parts[17]
        """The kind of operations of which a later one stands for those before it where a unit works in order; empty if there is none."""
        self.lacking: Final[int] = parts[18]
        """Kinds of sources that the operation's Mercury form does not have, as a bit set: NO_IMMEDIATE, NO_UNIFORM (``docs/facts/capsules.md``)."""

    def __repr__(self) -> str:
        return self.name

    def has(self, mod: str) -> bool:
        """True if the modifier is present."""
        return mod in self.mods

    def loads(self) -> bool:
        """True if it reads memory at an address, whether stores can change it (F_READ) or nobody writes it (``ld.global.nc``)."""
        return self.flags & F_READ != 0 or self.flags & (F_SIZED | F_WRITE) == F_SIZED


def _parts(name: str) -> OpParts:
    """What the table says of an operation."""
    base, *rest = name.split(".")
    f = facts(base)
    if f is None:
        raise KeyError(f"no operation {base}")
    mods = tuple(rest)
    order = f.value("order", mods)
    fold = f.value("fold", ())
    return (
        base,
        mods,
        _flags(f, mods),
        f.numbers("address", mods),
        f.numbers("offset", mods),
        f.numbers("descriptor", mods),
        _SPACES[f.value("space", mods)],
        order,
        f.value("queue", mods) or order,
        _SIGNS[f.value("signs", mods)],
        fold == "all" or (fold != "" and (".".join(mods) or "plain") in fold.split(" ")),
        f.value("uniform", mods),
        f.value("means", mods),
        f.number("compat", mods),
        f.number("held", mods) or 1,
        f.number("busy", mods),
        f.number("estimate", mods),
        f.value("proves", mods),
        _LACKING[f.value("mercury", mods)],
    )


def _flags(f: Facts, mods: tuple[str, ...]) -> int:
    flags = F_PSEUDO if f.pseudo else 0
    for text in f.values("does", mods):
        for word in text.split(" "):
            flags |= _WORDS[word]
    for text in f.values("not", mods):
        for word in text.split(" "):
            flags &= ~_WORDS[word]
    if flags & F_READ and ("STRONG" in mods or "MMIO" in mods):
        # Any access may have an ordering modifier, which makes it a fence.
        flags |= F_FENCE
    return flags


_ops: dict[str, Op] = {}


def op(name: str) -> Op:
    """The interned operation of this name (``"IMAD.WIDE.U32"``, ``"phi"``); KeyError if the table does not know the mnemonic."""
    o = _ops.get(name)
    if o is None:
        parts: OpParts = remembered("operations", TABLES, name, lambda: _parts(name))
        o = _ops[name] = Op(name, len(_ops), parts)
    return o
