"""Which leading operands of a new form are results: a first guess from the mnemonic, for the table to state.

The table's ``^`` marks are the facts (checked against the life ranges that ``nvdisasm -plr`` prints); this rule only proposes
marks for forms that no table has yet.
"""

from typing import Final

_NO_RESULT: Final = frozenset(
    [
        "ARRIVES",
        "AST",
        "BAR",
        "BPT",
        "BRA",
        "BREAK",
        "BRX",
        "BRXU",
        "BSYNC",
        "CALL",
        "CCTL",
        "CCTLL",
        "CCTLT",
        "DEPBAR",
        "ENDCOLLECTIVE",
        "EXIT",
        "JMP",
        "JMX",
        "JMXU",
        "KILL",
        "LDGSTS",
        "MEMBAR",
        "NANOSLEEP",
        "NOP",
        "OUT",
        "PMTRIG",
        "RED",
        "REDAS",
        "REDG",
        "RET",
        "RTT",
        "SETCTAID",
        "SETLMEMBASE",
        "ST",
        "STAS",
        "STG",
        "STL",
        "STS",
        "STSM",
        "SURED",
        "SUST",
        "UBLKCP",
        "UBLKPF",
        "UBLKRED",
        "USETSHMSZ",
        "UTMACCTL",
        "UTMALDG",
        "UTMAPF",
        "UTMAREDG",
        "UTMASTG",
        "WARPGROUP",
        "WARPGROUPSET",
        "WARPSYNC",
        "YIELD",
    ]
)
"""Mnemonics without a result, though their first operand may be a register (checked with ``nvdisasm -plr``)."""

_TWO_PREDICATES: Final = frozenset(("DSETP", "FSETP", "HSETP2", "ISETP", "PLOP3", "UISETP", "UPLOP3"))
_ONE_RESULT: Final = frozenset(("BMOV", "FCHK", "R2P", "RPCMOV", "UR2UP", "UP2UR", "P2R"))


def result_count(mnemonic: str, skeletons: list[str]) -> int:
    """How many of the leading printed operands an operation writes."""
    if mnemonic in _NO_RESULT:
        return 0
    if mnemonic in _TWO_PREDICATES:
        return 2
    if mnemonic in _ONE_RESULT:
        return 1
    n = len(skeletons)
    if mnemonic in ("VOTE", "VOTEU"):
        return n - 1
    if mnemonic in ("BSSY", "USETMAXREG"):
        return 1 if skeletons[0] in ("{B}", "{Q}") else 0
    if mnemonic in ("TEX", "TLD", "TLD4", "TXD", "TXQ", "TMML"):
        i = 1 if skeletons[0] == "{P}" else 0
        return i + 2
    i = 0
    while i < n and skeletons[i] in ("{P}", "{Q}"):
        i += 1
    if i < n and skeletons[i] in ("{R}", "{U}"):
        first = i == 0
        i += 1
        if mnemonic in ("LD", "LDG") and i < n and skeletons[i] == "{R}":
            return i + 1
        if first:
            while i < n and skeletons[i] in ("{P}", "{Q}"):
                i += 1
    return i
