"""The modifiers the simulator knows, by mnemonic: an instruction with any other is refused, never misread."""

from typing import Final

from orias.isa.op import Op

_CMP: Final = "F LT EQ LE GT NE GE NUM NAN LTU EQU LEU GTU NEU GEU T"
_LOGIC: Final = "AND OR XOR"
_ROUND: Final = "RN RM RP RZ"
_TO_INTEGRAL: Final = "FLOOR CEIL TRUNC ROUND"
_INT: Final = "U8 S8 U16 S16 U32 S32 U64 S64"
_CACHE: Final = (
    "E SYS GPU CTA SM VC CONSTANT STRONG WEAK MMIO PRIVATE EF EL LU NA EN U LTC64B LTC128B LTC256B DESC BYPASS ACCESS"
)
_ATOM: Final = (
    _CACHE
    + " ADD MIN MAX INC DEC AND OR XOR EXCH CAS CAST SPIN POPC 32 64 S32 S64 U32 U64 F32 F64 FTZ RN F16x2 BF16x2 F32x2 F16x4 BF16x4 ARRIVE"
)

_KNOWN: Final[dict[str, frozenset[str]]] = {
    name: frozenset(mods.split())
    for name, mods in {
        "IADD3": "X 64", "VIADD": "16x2", "IMAD": "U32 S32 HI WIDE X MOV SHL IADD", "LEA": "HI X SX32",
        "SHF": "L R W HI U32 S32 U64 S64", "LOP3": "LUT PAND", "PLOP3": "LUT", "MOV": "", "SEL": "",
        "PRMT": "F4E B4E RC8 ECL ECR RC16", "ISETP": f"{_CMP} {_LOGIC} U32 S32 EX", "POPC": "", "BREV": "", "IABS": "",
        "FLO": "U32 S32 SH", "IMNMX": "U32 S32", "VIMNMX": "U32 S32 S16x2 U16x2 RELU", "BMSK": "C W",
        "VIMNMX3": "U32 S16x2 U16x2 RELU", "VIADDMNMX": "U32 S32 S16x2 U16x2 RELU", "SGXT": "U32 S32 W", "IDP": "4A 2A LO HI U8 S8 U16 S16",
        "VABSDIFF": "U32 S32", "VABSDIFF4": "U8 S8 ACC", "P2R": "B0 B1 B2 B3", "R2P": "B0 B1 B2 B3",
        "UP2UR": "B0 B1 B2 B3", "UR2UP": "B0 B1 B2 B3", "I2I": f"{_INT} SAT", "I2IP": f"{_INT} SAT",
        "LDC": "64 128 U8 S8 U16 S16", "S2R": "", "CS2R": "32", "LEPC": "",
        "FADD": f"FTZ SAT {_ROUND}", "FMUL": f"FTZ SAT {_ROUND} D2 D4 D8 M2 M4 M8",
        "FFMA": f"FTZ SAT {_ROUND} D2 D4 D8 M2 M4 M8", "DADD": _ROUND, "DMUL": _ROUND, "DFMA": _ROUND,
        "FSETP": f"{_CMP} {_LOGIC} FTZ", "DSETP": f"{_CMP} {_LOGIC} MIN MAX", "FSET": f"{_CMP} {_LOGIC} FTZ BF",
        "FSEL": "FTZ", "FMNMX": "FTZ NAN XORSIGN", "FCHK": "DIVIDE",
        "MUFU": "RCP RSQ SQRT EX2 LG2 SIN COS TANH RCP64H RSQ64H F16 BF16 BF16_V2",
        "F2F": f"F16 BF16 F32 F64 FTZ SAT {_ROUND}", "F2FP": "F16 BF16 TF32 E4M3 E5M2 F32 RELU RZ SATFINITE PACK_B PACK_AB MERGE_C "
        "PACK_AB_MERGE_C UNPACK_B UNPACK_B_MERGE_C",
        "F2I": f"FTZ NTZ F16 BF16 F32 F64 {_INT} {_TO_INTEGRAL} {_ROUND}", "F2IP": f"NTZ F32 U8 S8 {_TO_INTEGRAL} {_ROUND}",
        "I2F": f"F16 BF16 F32 F64 {_INT} {_ROUND}", "I2FP": f"F32 F16 BF16 {_INT} {_ROUND}",
        "FRND": f"FTZ F16 BF16 F32 F64 SAT {_TO_INTEGRAL}",
        "HADD2": "BF16_V2 FTZ SAT RELU F32 MMA", "HMUL2": "BF16_V2 FTZ SAT RELU MMA", "HFMA2": "BF16_V2 FTZ SAT RELU MMA",
        "HMNMX2": "BF16_V2 FTZ NAN XORSIGN", "HSETP2": f"BF16_V2 FTZ H_AND {_CMP} {_LOGIC}",
        "HSET2": f"BF16_V2 BF FTZ {_CMP} {_LOGIC}",
        "LD": f"{_CACHE} 64 128 U8 S8 U16 S16", "LDG": f"{_CACHE} 64 128 U8 S8 U16 S16", "LDS": "U 64 128 U8 S8 U16 S16",
        "LDL": f"{_CACHE} 64 128 U8 S8 U16 S16", "ST": f"{_CACHE} 64 128 U8 S8 U16 S16",
        "STG": f"{_CACHE} 64 128 U8 S8 U16 S16", "STS": "64 128 U8 S8 U16 S16", "STL": f"{_CACHE} 64 128 U8 S8 U16 S16",
        "ATOM": _ATOM + " 128", "ATOMG": _ATOM + " 128", "ATOMS": _ATOM + " 128", "RED": _ATOM, "REDG": _ATOM, "LDGSTS": f"{_CACHE} 64 128 ZFILL",
        "HMMA": "16816 16832 1688 1684 884 F32 F16 BF16 TF32 SP STEP0 STEP1 STEP2 STEP3 ROW COL",
        "IMMA": "16816 16832 16864 168128 8816 8832 S8 U8 S4 U4 SAT SP", "QMMA": "16816 16832 16864 F32 F16 E4M3 E5M2 SP",
        "BMMA": "88128 168128 168256 AND XOR POPC", "DMMA": "884 8x8x4 16x8x4 16x8x8 16x8x16 RM RP RZ",
        "LDSM": "16 M88 MT88 2 4", "STSM": "16 M88 MT88 2 4",
        "SYNCS": "EXCH 64 ARRIVE TRANS64 RED A1T0 ART0 A0TR A0TX A1TR OPTOUT PHASECHK TRYWAIT CCTL IV",
        "STAS": "64 128", "UBLKCP": "S G", "USETMAXREG": "TRY_ALLOC DEALLOC CTAPOOL",
        "QSPC": "E S L G D", "SHFL": "IDX UP DOWN BFLY", "VOTE": "ALL ANY EQ", "VOTEU": "ALL ANY EQ",
        "MATCH": "ANY ALL U64", "REDUX": "SUM MIN MAX AND OR XOR S32", "ELECT": "", "R2UR": "", "MOVM": "16 MT88",
        "BRA": "U CONV DIV ANY", "EXIT": "", "KILL": "", "CALL": "REL ABS NOINC", "RET": "REL ABS NODEC", "BRX": "",
        "JMX": "", "BSYNC": "", "BSSY": "", "BREAK": "", "BMOV": "32 CLEAR", "WARPSYNC": "ALL COLLECTIVE EXCLUSIVE",
        "YIELD": "", "NANOSLEEP": "WARP SYNCS", "ENDCOLLECTIVE": "", "BAR": "SYNC ARV RED POPC AND OR DEFER_BLOCKING",
        "B2R": "RESULT", "BPT": "TRAP DRAIN INT PAUSE CAL",
    }.items()
}  # fmt: skip


def unknown(op: Op, base: str) -> list[str]:
    """The modifiers of an operation that the simulator does not know under the mnemonic `base`."""
    known = _KNOWN.get(base)
    return [] if known is None else [m for m in op.mods if m not in known]
