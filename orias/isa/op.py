"""The vocabulary of operations: interned :class:`Op` objects and what is true of each by name.

An operation is a SASS mnemonic with its modifiers, written as ``nvdisasm`` prints it (``ISETP.GE.U32.AND``),
or a *pseudo* operation in lower case (``phi``, ``iadd64``) that the phases before encoding expand.
Operations are interned: compare them by identity.

Operand order of a SASS operation in the IR is the printed order, with two rules:

* ``dst`` lists the register results first, then the predicate results, each group in printed order, always
  as many as the printed form has: ``ISETP`` has two predicates, ``SHFL`` and ``ATOMG`` a register and a
  predicate (PT when unused), ``IADD3`` a register and zero, one or two carry predicates, ``LOP3`` a register and
  zero or one predicate.
* an address is four consecutive sources ``desc, base, ubase, offset``: the descriptor UR pair or NONE, the
  R base (RZ if absent; a pair for 64-bit addresses), the UR base (URZ if absent), an immediate byte offset.
  ``LDC``/``ULDC`` take a constant operand and an index register (RZ/URZ): ``LDC.64 c[0x0][0x210], RZ``.

Terminators carry no label: the target of a branch is in ``Block.succs``.
"""

from typing import Final, final

# What an operation does, as a bit set.
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


@final
class Op:
    """One interned operation; create with :func:`op`."""

    __slots__ = ("addr", "base", "flags", "ident", "mods", "name")

    def __init__(self, name: str, ident: int) -> None:
        parts = name.split(".")
        self.name: Final[str] = name
        self.ident: Final[int] = ident
        self.base: Final[str] = parts[0]
        self.mods: Final[tuple[str, ...]] = tuple(parts[1:])
        self.flags: Final[int] = _flags(parts[0], self.mods)
        self.addr: Final[tuple[int, ...]] = () if "IVALL" in parts else _ADDR.get(parts[0], ())

    def __repr__(self) -> str:
        return self.name

    def has(self, mod: str) -> bool:
        """True if the modifier is present."""
        return mod in self.mods


_LOAD: Final = F_READ
_STORE: Final = F_WRITE | F_SIDE
_ATOM: Final = F_READ | F_WRITE | F_SIDE
_COPY: Final = _ATOM | F_FENCE | F_CONVERGENT
_SYNC: Final = F_SIDE | F_FENCE | F_CONVERGENT
_GMMA: Final = F_READ | F_SIDE | F_CONVERGENT
"""Warpgroup matrix operations read shared memory, and go on after they have issued."""
_FLOW: Final = F_SIDE | F_TERM

_FLAGS: Final[dict[str, int]] = {
    # pseudo operations (see docs/ori.md)
    "phi": F_PSEUDO,
    "copy": F_PSEUDO,
    "pack": F_PSEUDO,
    "undef": F_PSEUDO,
    "iadd64": F_PSEUDO | F_COMMUTES,
    "imul64": F_PSEUDO | F_COMMUTES,
    "shl64": F_PSEUDO,
    "shr64": F_PSEUDO,
    "isetp64": F_PSEUDO,
    "sext64": F_PSEUDO,
    "call": F_PSEUDO | F_CALL | F_SIDE | F_FENCE,
    "frame": F_PSEUDO,
    "quadtex": F_PSEUDO | F_CONVERGENT,
    "fence": F_PSEUDO | F_SIDE | F_FENCE,
    "setmaxnreg": F_PSEUDO | F_SIDE | F_FENCE | F_CONVERGENT,
    # floating point and integer arithmetic that commutes
    "FADD": F_COMMUTES, "FMUL": F_COMMUTES, "FFMA": F_COMMUTES, "FMNMX": F_COMMUTES,
    "DADD": F_COMMUTES, "DMUL": F_COMMUTES, "DFMA": F_COMMUTES, "DMNMX": F_COMMUTES,
    "HADD2": F_COMMUTES, "HMUL2": F_COMMUTES, "HFMA2": F_COMMUTES, "HMNMX2": F_COMMUTES,
    "IADD3": F_COMMUTES, "IMAD": F_COMMUTES, "IMNMX": F_COMMUTES, "VIMNMX": F_COMMUTES, "VIADD": F_COMMUTES,
    "UIADD3": F_COMMUTES, "UIMAD": F_COMMUTES, "VABSDIFF": F_COMMUTES,
    # memory
    "LDC": F_CONSTMEM, "ULDC": F_CONSTMEM, "LDCU": F_CONSTMEM,
    "LD": _LOAD, "LDG": _LOAD, "LDS": _LOAD, "LDL": _LOAD, "LDGMC": _LOAD,
    "ST": _STORE, "STG": _STORE, "STS": _STORE, "STL": _STORE, "STAS": _STORE,
    "ATOM": _ATOM, "ATOMG": _ATOM, "ATOMS": _ATOM, "RED": _ATOM, "REDG": _ATOM, "REDAS": _ATOM,
    "LDGSTS": _ATOM, "LDGDEPBAR": F_SIDE | F_FENCE, "DEPBAR": F_SIDE | F_FENCE, "ARRIVES": _ATOM, "SYNCS": _ATOM,
    "CCTL": F_SIDE | F_FENCE, "CCTLL": F_SIDE | F_FENCE, "CCTLT": F_SIDE | F_FENCE, "QSPC": 0,
    "MEMBAR": F_SIDE | F_FENCE, "ERRBAR": F_SIDE | F_FENCE, "CGAERRBAR": F_SIDE | F_FENCE, "FENCE": F_SIDE | F_FENCE,
    "SULD": _LOAD, "SUST": _STORE, "SURED": _ATOM,
    # synchronisation and warp operations
    "BAR": _SYNC, "WARPSYNC": _SYNC, "NANOSLEEP": F_SIDE, "YIELD": F_SIDE, "ENDCOLLECTIVE": _SYNC,
    "B2R": F_SIDE | F_CONVERGENT,
    "BSSY": F_SIDE | F_CONVERGENT, "BSYNC": F_SIDE | F_CONVERGENT, "BREAK": F_SIDE | F_CONVERGENT, "BMOV": F_SIDE,
    "SHFL": F_CONVERGENT, "FSWZADD": F_CONVERGENT, "VOTE": F_CONVERGENT, "VOTEU": F_CONVERGENT, "MATCH": F_CONVERGENT, "REDUX": F_CONVERGENT,
    "ELECT": F_CONVERGENT, "MOVM": F_CONVERGENT, "LDSM": _LOAD | F_CONVERGENT, "STSM": _STORE | F_CONVERGENT,
    "HMMA": F_CONVERGENT, "IMMA": F_CONVERGENT, "BMMA": F_CONVERGENT, "DMMA": F_CONVERGENT, "QMMA": F_CONVERGENT,
    "HGMMA": _GMMA, "IGMMA": _GMMA, "QGMMA": _GMMA, "BGMMA": _GMMA, "WARPGROUP": _SYNC,
    "ACQBULK": F_SIDE | F_FENCE, "PREEXIT": F_SIDE | F_FENCE,
    "UBLKCP": _COPY, "UBLKRED": _COPY, "UBLKPF": _COPY, "UTMALDG": _COPY, "UTMASTG": _COPY, "UTMAREDG": _COPY, "UTMAPF": _COPY,
    "UTMACCTL": F_SIDE | F_FENCE, "UTMACMDFLUSH": F_SIDE | F_FENCE,
    "UCGABAR_ARV": _SYNC, "UCGABAR_WAIT": _SYNC, "USETMAXREG": _SYNC,
    # control flow
    "BRA": _FLOW, "BRX": _FLOW, "EXIT": _FLOW, "RET": _FLOW, "CALL": F_SIDE | F_CALL | F_FENCE,
    "BPT": F_SIDE, "KILL": F_SIDE, "NOP": F_SIDE, "PMTRIG": F_SIDE, "R2UR": F_CONVERGENT, "LEPC": 0, "RPCMOV": F_SIDE,
    # special registers that change under our feet
    "CS2R": F_SIDE,
}  # fmt: skip

MATRIX: Final[frozenset[str]] = frozenset(("HMMA", "IMMA", "BMMA", "DMMA", "QMMA"))
"""Matrix operations of one warp, by mnemonic."""

_ADDR: Final[dict[str, tuple[int, ...]]] = {
    "LD": (0,), "LDG": (0,), "LDS": (0,), "LDL": (0,), "LDSM": (0,), "ST": (0,), "STG": (0,), "STS": (0,), "STL": (0,),
    "STSM": (0,), "ATOM": (0,), "ATOMG": (0,), "ATOMS": (0,), "RED": (0,), "REDG": (0,), "LDGSTS": (0, 4),
    "UBLKCP": (0, 4), "UBLKRED": (0, 4), "UBLKPF": (0,), "UTMALDG": (0, 4), "UTMASTG": (0, 4), "UTMAREDG": (0, 4), "UTMAPF": (0, 4),
    "UTMACCTL": (0,),
    "CCTL": (0,), "CCTLL": (0,), "QSPC": (0,), "ARRIVES": (0,), "SYNCS": (0,), "LDGMC": (0,), "STAS": (0,), "REDAS": (0,),
}  # fmt: skip
"""Positions in ``src`` where an address group (desc, base, ubase, offset) starts."""


def _flags(base: str, mods: tuple[str, ...]) -> int:
    flags = _FLAGS.get(base, F_PSEUDO if base.islower() else 0)
    if "CONSTANT" in mods and base == "LDG":
        flags &= ~F_READ
    if ("STRONG" in mods or "MMIO" in mods) and flags & F_READ:
        flags |= F_FENCE
    if base == "CCTL" and ("PF1" in mods or "PF2" in mods):
        flags &= ~F_FENCE
    return flags


_ops: dict[str, Op] = {}


def op(name: str) -> Op:
    """The interned operation of this name (``"IMAD.WIDE.U32"``, ``"phi"``)."""
    o = _ops.get(name)
    if o is None:
        o = Op(name, len(_ops))
        _ops[name] = o
    return o
