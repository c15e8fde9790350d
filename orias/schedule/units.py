"""Which execution pipe an operation uses, and what it needs of the scoreboards.

One row per base mnemonic.  Sources: section 3.3 (pipes) and 3.5 (which opcodes use barriers) of the scheduling
inventory, measured on ptxas 13.0.88; which barrier fields of the control word are legal at all comes from probing
nvdisasm.  Operations that ptxas was never seen to write carry a guess on the careful side, marked in the table.
"""

from typing import Final, final

from orias.diag import Unsupported
from orias.isa.op import Op
from orias.isa.operand import K_R, KIND_MASK
from orias.ori.ir import Inst

ALU: Final = 0
FMA: Final = 1
HALF: Final = 2
HALF_CMP: Final = 3
"""The third half-precision pipe: HMNMX2, HSET2, HSETP2."""
XU: Final = 4
MEM: Final = 5
FP64: Final = 6
MMA: Final = 7
UNIFORM: Final = 8
CONTROL: Final = 9
CBU: Final = 10
"""Convergence-barrier operations."""
PIPE_NAMES: Final[tuple[str, ...]] = (
    "alu", "fma", "half", "halfcmp", "xu", "mem", "fp64", "mma", "uniform", "control", "cbu",
)  # fmt: skip

_PIPE_ROWS: Final[tuple[tuple[int, str], ...]] = (
    (
        ALU,
        "IADD3 LOP3 SHF SEL ISETP IMNMX VIMNMX VIMNMX3 VIADDMNMX VHMNMX LEA PRMT FMNMX FSEL FSETP FSET MOV IABS SGXT BMSK "
        "VABSDIFF VABSDIFF4 VOTE PLOP3 F2FP F2IP I2IP CS2R P2R R2P LEPC RPCMOV ELECT I2FP FMNMX3 IADD",
    ),
    (FMA, "FADD FMUL FFMA IMAD IDP FSWZADD VIADD"),
    (HALF, "HADD2 HFMA2 HMUL2"),
    (HALF_CMP, "HMNMX2 HSET2 HSETP2"),
    (XU, "MUFU I2F F2I F2F FRND POPC FLO BREV FCHK I2I"),
    (
        MEM,
        "LD LDG LDS LDL LDC LDSM LDGMC ST STG STS STL STSM STAS ATOM ATOMG ATOMS RED REDG REDAS LDGSTS LDGDEPBAR ARRIVES "
        "SYNCS CCTL CCTLL CCTLT MEMBAR ERRBAR CGAERRBAR FENCE SULD SUST SURED TEX TLD TLD4 TXD TXQ TMML SHFL S2R S2UR B2R "
        "MATCH REDUX MOVM QSPC R2UR BAR UBLKCP UBLKRED UBLKPF UTMALDG UTMASTG UTMAREDG UTMAPF UTMACCTL UTMACMDFLUSH "
        "GETLMEMBASE SETLMEMBASE PMTRIG",
    ),
    (FP64, "DADD DMUL DFMA DSETP DMNMX"),
    (MMA, "HMMA IMMA BMMA QMMA DMMA HGMMA IGMMA BGMMA QGMMA WARPGROUP WARPGROUPSET"),
    (
        UNIFORM,
        "UIADD3 UIMAD UISETP ULDC ULEA ULOP3 UMOV UPLOP3 UPRMT USEL USHF USGXT UFLO UPOPC UBREV UBMSK VOTEU UP2UR UR2UP "
        "UCLEA USETSHMSZ USETMAXREG UCGABAR_ARV UCGABAR_WAIT LDCU UI2F UI2FP UF2I UVIMNMX UIMNMX "
        "UFSETP UFADD UFFMA",
    ),
    (
        CONTROL,
        "BRA BRX BRXU EXIT RET CALL BPT KILL NOP NANOSLEEP YIELD WARPSYNC ENDCOLLECTIVE DEPBAR ACQBULK PREEXIT",
    ),
    (CBU, "BSSY BSYNC BREAK BMOV"),
)

_ALWAYS_VARIABLE: Final[frozenset[str]] = frozenset(
    [
        "LD",
        "LDG",
        "LDS",
        "LDL",
        "LDC",
        "LDCU",
        "LDSM",
        "LDGMC",
        "ATOM",
        "ATOMG",
        "ATOMS",
        "S2R",
        "S2UR",
        "SHFL",
        "MUFU",
        "I2F",
        "F2I",
        "F2F",
        "FRND",
        "POPC",
        "FLO",
        "BREV",
        "MATCH",
        "REDUX",
        "FCHK",
        "B2R",
        "TEX",
        "TLD",
        "TLD4",
        "TXD",
        "TXQ",
        "TMML",
        "SULD",
        "DMMA",
        "MOVM",
        "LDGDEPBAR",
        "SYNCS",
        "FENCE",
        "USETMAXREG",
        "QSPC",
        "I2I",
        "GETLMEMBASE",
    ]
)
"""Results arrive at a time the code cannot know, on every target.  QSPC, TMML, I2I, LDGMC, GETLMEMBASE: guesses."""

_FP64_OPS: Final[frozenset[str]] = frozenset(("DADD", "DMUL", "DFMA", "DSETP", "DMNMX"))
_MMA_75: Final[frozenset[str]] = frozenset(("HMMA", "IMMA", "BMMA"))

_LATE_READERS: Final[frozenset[str]] = frozenset(
    [
        "ST",
        "STG",
        "STS",
        "STL",
        "STSM",
        "STAS",
        "RED",
        "REDG",
        "REDAS",
        "SUST",
        "SURED",
        "LDGSTS",
        "ARRIVES",
        "CCTL",
        "CCTLL",
        "CCTLT",
        "BAR",
        "MEMBAR",
        "UBLKCP",
        "UBLKRED",
        "UBLKPF",
        "UTMALDG",
        "UTMASTG",
        "UTMAREDG",
        "UTMAPF",
        "UTMACCTL",
        "UTMACMDFLUSH",
        "R2UR",
        "SETLMEMBASE",
    ]
)
"""Fixed-latency or resultless operations that still read their sources late."""

_NO_READ_BARRIER: Final[frozenset[str]] = frozenset(("FENCE", "LDGDEPBAR", "USETMAXREG"))
"""Variable-latency operations without any register source, or whose read-barrier field is illegal."""

UNIFORM_LATE_READERS: Final[frozenset[str]] = frozenset(
    ("UBLKCP", "UBLKRED", "UBLKPF", "UTMALDG", "UTMASTG", "UTMAREDG", "UTMAPF", "UTMACCTL", "SYNCS")
)
"""Operations that read uniform registers late too; all others have read them at issue (ptxas overwrites them at once)."""

NEEDS_WRITE: Final = 1
NEEDS_READ: Final = 2


def takes_waits(inst: Inst) -> bool:
    """False for WARPGROUP.DEPBAR, whose wait mask must be empty (nvdisasm refuses others).

    It needs none: the registers that it stands for were ready when the operations on them issued.
    """
    return not (inst.op.base == "WARPGROUP" and inst.op.has("DEPBAR"))


def _build_pipes() -> dict[str, int]:
    rows: dict[str, int] = {}
    for pipe, names in _PIPE_ROWS:
        for name in names.split():
            rows[name] = pipe
    return rows


_PIPE: Final[dict[str, int]] = _build_pipes()


@final
class Units:
    """Answers for one target, cached by operation."""

    __slots__ = ("_barriers", "_pipes", "sm")

    def __init__(self, sm: int) -> None:
        self.sm: Final[int] = sm
        self._pipes: dict[int, int] = {}
        self._barriers: dict[int, int] = {}

    def pipe(self, op: Op) -> int:
        """The execution pipe; raises Unsupported for an operation without a row."""
        p = self._pipes.get(op.ident)
        if p is None:
            row = _PIPE.get(op.base)
            if row is None:
                raise Unsupported(f"no scheduling facts for {op.name}")
            p = MMA if op.base == "HFMA2" and "MMA" in op.mods else row
            self._pipes[op.ident] = p
        return p

    def barriers(self, op: Op) -> int:
        """NEEDS_WRITE if results arrive late, NEEDS_READ if sources are read late, as a bit set."""
        b = self._barriers.get(op.ident)
        if b is None:
            b = self._compute(op)
            self._barriers[op.ident] = b
        return b

    def needs(self, inst: Inst) -> int:
        """As :meth:`barriers`, for one instruction: some operations have forms that take no barrier."""
        base = inst.op.base
        if base == "BMOV":
            # Reading a B register writes late, writing one from an R register reads late (legality of the fields).
            kind = inst.dst[0] & KIND_MASK if inst.dst else 0
            if kind == K_R:
                return NEEDS_WRITE
            return NEEDS_READ if inst.src and inst.src[0] & KIND_MASK == K_R else 0
        if not inst.src and base in ("CCTL", "CCTLL", "CCTLT"):
            return 0
        return self.barriers(inst.op)

    def _compute(self, op: Op) -> int:
        base = op.base
        self.pipe(op)
        variable = base in _ALWAYS_VARIABLE
        if not variable:
            if base in _FP64_OPS:
                variable = self.sm not in (90, 100)
            elif base in _MMA_75:
                variable = self.sm == 75
            elif base == "R2UR":
                variable = self.sm < 90
        bits = 0
        if variable:
            bits = NEEDS_WRITE if base in _NO_READ_BARRIER else NEEDS_WRITE | NEEDS_READ
        elif base in _LATE_READERS and not (base == "R2UR" and self.sm >= 90):
            bits = NEEDS_READ
        return bits


_units: dict[int, Units] = {}


def units(sm: int) -> Units:
    """The table of a target by the SM number of its profile."""
    u = _units.get(sm)
    if u is None:
        u = Units(sm)
        _units[sm] = u
    return u
