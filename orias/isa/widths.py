"""How many registers each operand of an operation covers, by its name alone.

Physical operands name their first register only; virtual ones carry their width themselves.  Checked register by
register against the life-range columns of ``nvdisasm -plr`` over compiler output for sm_75 to sm_90 (nvdisasm 13.5).
"""

from typing import Final, final

from orias.diag import Unsupported
from orias.isa.op import Op
from orias.isa.operand import K_R, KIND_MASK, PAYLOAD_SHIFT, S_U32, SUFFIX_MASK, SUFFIX_SHIFT, Opnd
from orias.isa.warpgroup import GMMA, accumulator_words

_FP64: Final[frozenset[str]] = frozenset(("DADD", "DMUL", "DFMA", "DSETP", "DMNMX"))
_PAIR_TYPES: Final[frozenset[str]] = frozenset(("64", "F64", "S64", "U64"))
_GENERIC: Final[frozenset[str]] = frozenset(
    ("LD", "LDG", "ST", "STG", "ATOM", "ATOMG", "RED", "REDG", "LDGMC", "QSPC", "CCTL", "LDGSTS", "STAS", "REDAS")
)
"""Memory operations with 64-bit addresses; all others take 32-bit ones."""
_DATA_STORES: Final[frozenset[str]] = frozenset(("ST", "STG", "STS", "STL", "RED", "REDG", "STAS", "REDAS"))
_PAIR_ALU: Final[frozenset[str]] = frozenset(("MOV", "UMOV", "IADD", "SEL", "USEL"))
"""Operations that ``.64`` makes work on register pairs (sm_120)."""
_ATOMICS: Final[frozenset[str]] = frozenset(("ATOM", "ATOMG", "ATOMS"))

_MMA: Final[dict[str, tuple[int, int, int, int]]] = {
    "HMMA.884.F16": (2, 2, 2, 2),
    "HMMA.884.F32": (2, 2, 2, 2),
    "HMMA.1688.F16": (2, 2, 1, 2),
    "HMMA.1688.F32": (4, 2, 1, 4),
    "HMMA.16816.F16": (2, 4, 2, 2),
    "HMMA.16816.F32": (4, 4, 2, 4),
    "HMMA.1688.F32.TF32": (4, 4, 2, 4),
    "HMMA.1684.F32.TF32": (4, 2, 1, 4),
    "HMMA.SP.16816.F16": (2, 2, 2, 2),
    "HMMA.SP.16816.F32": (4, 2, 2, 4),
    "HMMA.SP.16832.F16": (2, 4, 4, 2),
    "HMMA.SP.16832.F32": (4, 4, 4, 4),
    "HMMA.SP.1688.F32.TF32": (4, 2, 2, 4),
    "HMMA.SP.16816.F32.TF32": (4, 4, 4, 4),
    "IMMA.8816": (2, 1, 1, 2),
    "IMMA.8832": (2, 1, 1, 2),
    "IMMA.16816": (4, 2, 1, 4),
    "IMMA.16832": (4, 4, 2, 4),
    "IMMA.16832.4": (4, 2, 1, 4),
    "IMMA.16864": (4, 4, 2, 4),
    "IMMA.SP.16832": (4, 2, 2, 4),
    "IMMA.SP.16864": (4, 4, 4, 4),
    "IMMA.SP.16864.4": (4, 2, 2, 4),
    "IMMA.SP.168128": (4, 4, 4, 4),
    "BMMA.88128": (2, 1, 1, 2),
    "BMMA.168128": (4, 2, 1, 4),
    "BMMA.168256": (4, 4, 2, 4),
    "QMMA.16832.F16": (2, 4, 2, 2),
    "QMMA.16832.F32": (4, 4, 2, 4),
    "QMMA.16816.F16": (2, 2, 1, 2),
    "QMMA.16816.F32": (4, 2, 1, 4),
    "QMMA.SP.16864.F32": (4, 4, 4, 4),
    "DMMA.884": (4, 2, 2, 4),
    "DMMA.8x8x4": (4, 2, 2, 4),
    "DMMA.16x8x4": (8, 4, 2, 8),
    "DMMA.16x8x8": (8, 8, 4, 8),
    "DMMA.16x8x16": (8, 16, 8, 8),
}
"""Registers of D, A, B and C by shape and accumulator type (``.4`` on IMMA: 4-bit inputs)."""


@final
class Widths:
    """Registers per operand of one operation: ``dst`` and ``src`` by position; positions beyond the end are 1."""

    __slots__ = ("dst", "src")

    def __init__(self) -> None:
        self.dst: Final[list[int]] = []
        self.src: Final[list[int]] = []


_cache: dict[int, Widths] = {}


def widths(op: Op) -> Widths:
    """The widths of an operation's operands; Unsupported for operations whose widths are not known."""
    w = _cache.get(op.ident)
    if w is None:
        w = Widths()
        _fill(op, w)
        _cache[op.ident] = w
    return w


def src_width(op: Op, k: int, o: Opnd) -> int:
    """Registers that source operand `o` at position `k` covers (a 32-bit address offset written ``R4.U32`` is one)."""
    w = widths(op).src
    if k >= len(w):
        return 1
    if w[k] == 2 and (o & SUFFIX_MASK) >> SUFFIX_SHIFT == S_U32 and o & KIND_MASK == K_R:
        return 1
    return w[k]


def dst_width(op: Op, k: int) -> int:
    """Registers that result `k` covers."""
    w = widths(op).dst
    return w[k] if k < len(w) else 1


def register_id(o: Opnd) -> int:
    """Id of a register operand."""
    return o >> PAYLOAD_SHIFT


def data_words(op: Op) -> int:
    """Registers that a memory operation moves per thread, by its size modifier."""
    for m in op.mods:
        if m == "128":
            return 4
        if m in _PAIR_TYPES:
            return 2
    return 1


def _fill(op: Op, w: Widths) -> None:
    base, mods = op.base, op.mods
    if base in _FP64:
        w.dst.append(1 if base == "DSETP" else 2)
        w.src.extend((2, 2, 2) if base == "DFMA" else (2, 2))
    elif "64" in mods and base in _PAIR_ALU:
        w.dst.append(2)
        w.src.extend((2, 2))
    elif base in ("ISETP", "UISETP", "IMNMX", "UIMNMX", "MATCH") and ("U64" in mods or "S64" in mods):
        if base in ("IMNMX", "UIMNMX"):
            w.dst.append(2)
        w.src.extend((2, 1) if base == "MATCH" else (2, 2))
    elif base == "UIADD3" and "64" in mods:
        w.dst.append(2)
        w.src.extend((2, 2, 2))
    elif base in ("IMAD", "UIMAD"):
        if "WIDE" in mods:
            w.dst.append(2)
            w.src.extend((1, 1, 2))
        elif "HI" in mods:
            w.src.extend((1, 1, 2))
    elif op.addr:
        _memory(op, w)
    elif base in ("LDC", "ULDC", "LDCU"):
        w.dst.append(data_words(op))
    elif base in ("F2F", "I2F", "F2I", "FRND", "I2I"):
        _conversion(op, w)
    elif base in ("HMMA", "IMMA", "BMMA", "QMMA", "DMMA"):
        shape = _mma_key(op)
        row = _MMA.get(shape)
        if row is None:
            raise Unsupported(f"register widths of {op.name} are not known")
        w.dst.append(row[0])
        w.src.extend(row[1:])
    elif base in GMMA:
        # Those of the sources depend on where A is: see orias.isa.warpgroup.source_widths.
        w.dst.append(accumulator_words(op))
    elif base in (
        "TLD4",
        "TXD",
        "TMML",
        "SURED",
    ):
        raise Unsupported(f"register widths of {op.name} are not known")
    elif base in ("TEX", "TLD", "TXQ", "SULD", "SUST"):
        _texture(op, w)
    elif base == "CS2R":
        w.dst.append(1 if "32" in mods else 2)
    elif base in ("BRX", "RET") or (base == "CALL"):
        w.src.append(2)
    elif base == "LEPC":
        w.dst.append(2)


def _texture(op: Op, w: Widths) -> None:
    """The forms that lowering writes.

    Handles in a register (``B``) with the level, in a uniform register (sm_90) or in the constant bank; coordinates in a pair,
    in four registers (3D and arrays) or, TLD with a constant handle, in single registers.
    """
    base, mods = op.base, op.mods
    bindless = "B" in mods
    if base == "TXQ":
        w.dst.extend((1, 1))
        w.src.extend((2, 1, 1) if bindless else (1, 1, 2))
    elif base in ("TEX", "TLD"):
        w.dst.extend((2, 2))
        if base == "TLD" and "SCR" in mods and not bindless:
            w.src.extend((1, 1))
        elif bindless:
            w.src.extend((2 if "SCR" in mods else 4, 2 if base == "TEX" else 1))
        else:
            w.src.extend((2, 1, 2) if base == "TEX" else (2, 2))
    else:
        place = 4 if "3D" in mods else 2 if "2D" in mods else 1
        w.src.extend((2, place, 1, 1))
        if base == "SULD":
            w.dst.append(data_words(op))
            w.src.append(1)
        else:
            w.src.extend((data_words(op), 1))


def _memory(op: Op, w: Widths) -> None:
    base, mods = op.base, op.mods
    n = data_words(op)
    wide = 2 if base in _GENERIC else 1
    if base.startswith("U"):
        _copies(op, w)
        return
    if base == "LDGSTS":
        # The size modifier is that of the copy; no data pass through registers.
        w.src.extend((1, 1, 1, 1, 2, 2, 2, 1))
        return
    w.src.extend((2, wide, wide, 1))
    if base in _DATA_STORES:
        w.src.append(n)
    elif base in _ATOMICS:
        if base == "ATOM" or base == "ATOMG":
            w.dst.append(n)
        else:
            w.dst.append(n)
        w.src.extend((n, n))
    elif base in ("LDSM", "STSM"):
        count = 4 if "4" in mods else 2 if "2" in mods else 1
        if base == "LDSM":
            w.dst.append(count)
        else:
            w.src.append(count)
    elif base in ("LD", "LDG", "LDS", "LDL", "LDGMC"):
        w.dst.append(n)
    elif base == "SYNCS":
        w.dst.append(1 if "PHASECHK" in mods else 2)
        w.src.append(n)


def _copies(op: Op, w: Widths) -> None:
    """Bulk and tensor copies: address groups whose uniform base is the first of several registers."""
    base, mods = op.base, op.mods
    rank = next((int(m[0]) for m in mods if m[1:] == "D" and m[0].isdigit()), 0)
    second = 2
    if base == "UTMALDG":
        first = rank + 2
    elif base in ("UTMASTG", "UTMAREDG"):
        first = rank + 1
    elif base == "UTMAPF":
        first = rank
    else:
        first = 2
        second = 2 if mods[:2] == ("S", "G") else 1
    w.src.extend((1, 1, first, 1))
    if base in ("UTMACCTL", "UBLKPF"):
        w.src.extend((1, 2))
    else:
        # A size, or im2col offsets with a multicast mask, stands in front of the policy.
        word = (1,) if base in ("UBLKCP", "UBLKRED") or "MULTICAST" in mods or "IM2COL" in mods else ()
        w.src.extend((1, 1, second, 1, *word, 2))


def _conversion(op: Op, w: Widths) -> None:
    base, mods = op.base, op.mods
    kinds = [m for m in mods if m[0] in "FSU" and m[1:].isdigit()]
    if base == "FRND":
        wide = 2 if "F64" in kinds else 1
        w.dst.append(wide)
        w.src.append(wide)
    elif base == "F2F":
        # destination type, source type
        w.dst.append(2 if kinds and kinds[0] == "F64" else 1)
        w.src.append(2 if len(kinds) > 1 and kinds[1] == "F64" else 1)
    elif base == "I2F":
        w.dst.append(2 if "F64" in kinds else 1)
        w.src.append(2 if "S64" in kinds or "U64" in kinds else 1)
    elif base == "F2I":
        w.dst.append(2 if "S64" in kinds or "U64" in kinds else 1)
        w.src.append(2 if "F64" in kinds else 1)


def _mma_key(op: Op) -> str:
    base = op.base
    mods = [m for m in op.mods if m not in ("BF16", "SAT", "ROW", "COL", "XOR", "AND", "POPC")]
    sparse = "SP." if mods and mods[0] == "SP" else ""
    if sparse:
        mods = mods[1:]
    if not mods:
        return op.name
    key = f"{base}.{sparse}{mods[0]}"
    if base == "HMMA":
        key += "." + mods[1] if len(mods) > 1 else ""
        if "TF32" in mods:
            key += ".TF32"
    elif base == "QMMA":
        key += "." + mods[1] if len(mods) > 1 else ""
    elif base == "IMMA" and mods[0] in ("16832", "16864") and len(mods) > 1 and mods[1] in ("U4", "S4"):
        if mods[0] == "16832" or sparse:
            key += ".4"
    return key
