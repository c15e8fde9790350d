"""Records of moves, choices, branches, predicates, and of what a warp does together (``moves.h``)."""

from collections.abc import Callable
from typing import Final

from orias.isa.operand import (
    INV,
    K_B,
    S_B0,
    S_B3,
    S_NONE,
    Opnd,
    const_bank,
    const_offset,
    in_file,
    is_imm,
    is_pred,
    is_zero_reg,
    payload,
    suffix_of,
    without_suffix,
    word_text,
)
from orias.sim.native.record import CONSTANT, IMMEDIATE, Record, Unknown
from orias.sim.native.record_format import BANKS
from orias.sim.sass.exec_flow import branch_target

_SHUFFLES: Final = ("IDX", "UP", "DOWN", "BFLY")
_VOTES: Final = ("ALL", "ANY", "EQ")


def _mov(r: Record) -> None:
    s = r.s
    r.only()
    if len(s.src) > 1 and payload(s.src[1]) != 15:
        raise Unknown
    r.code = "MOV"
    r.result(s.regs[0])
    r.integer(s.src[0])


def _choice(code: str, take: Callable[[Record, Opnd], None]) -> Callable[[Record], None]:
    """One of two sources by a predicate; `take` reads a source."""

    def translate(r: Record) -> None:
        s = r.s
        r.only()
        r.code = code
        r.result(s.regs[0])
        take(r, s.src[0])
        take(r, s.src[1])
        r.predicate(0, s.src[2])

    return translate


def _plop3(r: Record) -> None:
    s = r.s
    r.only("LUT")
    r.code = "PLOP3"
    for k, o in enumerate(s.src[:3]):
        r.predicate(k, o)
    tables = [payload(o) & 0xFF for o in s.src[3:]]
    r.x, r.y = tables[0], tables[-1]
    r.flags()
    if len(tables) < len(s.preds):
        raise Unknown


def _shfl(r: Record) -> None:
    s = r.s
    r.only(*_SHUFFLES)
    r.code, r.x = "SHFL", _SHUFFLES.index(s.op.mods[0])
    r.result(s.regs[0])
    r.flags()
    for o in s.src[:3]:
        r.integer(o)


def _vote(r: Record) -> None:
    s = r.s
    r.only(*_VOTES)
    r.code, r.x = "VOTE", _VOTES.index(s.op.mods[0])
    if s.regs:
        r.result(s.regs[0])
    r.flags()
    r.predicate(0, s.src[0])


def _ldc(r: Record) -> None:
    s = r.s
    r.only("64", "128")
    if not is_zero_reg(s.src[1]) or const_bank(s.src[0]) not in BANKS or const_offset(s.src[0]) % 4:
        raise Unknown
    r.code = "LDC"
    r.result(s.regs[0])
    r.sources.append((CONSTANT, 0, const_offset(s.src[0]) >> 2, const_bank(s.src[0])))
    r.x = r.words = 4 if r.has("128") else 2 if r.has("64") else 1


def _cs2r(r: Record) -> None:
    s = r.s
    if word_text(s.src[0]) != "SRZ":
        raise Unknown
    r.code = "MOV" if r.has("32") else "MOV64"
    r.result(s.regs[0])
    r.sources.append((IMMEDIATE, 0, 0, 0))


def _bssy(r: Record) -> None:
    s = r.s
    r.code, r.x = "BSSY", payload(s.dst[0] if s.dst else s.src[0])


def _predicates_to_word(r: Record) -> None:
    s = r.s
    r.only("PR", "B0", "B1", "B2", "B3")
    if s.uniform or suffix_of(s.regs[0]) != S_NONE:
        raise Unknown
    r.code = "P2R"
    r.result(s.regs[0])
    base = s.src[1]
    if S_B0 <= suffix_of(base) <= S_B3:
        r.x = 8 * (suffix_of(base) - S_B0)
        base = without_suffix(base)
    r.integer(base)
    r.integer(s.src[2])


def _word_to_predicates(r: Record) -> None:
    s = r.s
    r.only("PR", "B0", "B1", "B2", "B3")
    if s.uniform:
        raise Unknown
    r.code = "R2P"
    base = s.src[0]
    if S_B0 <= suffix_of(base) <= S_B3:
        r.y = 8 * (suffix_of(base) - S_B0)
        base = without_suffix(base)
    r.integer(base)
    r.x = payload(s.src[1]) & 0x7F if len(s.src) > 1 else 0x7F


def _bsync(r: Record) -> None:
    s = r.s
    r.only()
    barriers = [o for o in s.src if in_file(o, K_B)]
    if len(barriers) != 1 or any(payload(o) != 7 or o & INV for o in s.src if is_pred(o)):
        raise Unknown
    r.code, r.x = "BSYNC", payload(barriers[0])


def _warpsync(r: Record) -> None:
    s = r.s
    r.only("ALL")
    r.code = "WARPSYNC"
    if r.has("ALL") or not s.src:
        r.sources.append((IMMEDIATE, 0, 0xFFFFFFFF, 0))
    else:
        r.integer(s.src[0])


def _barrier(r: Record) -> None:
    s = r.s
    r.only("SYNC", "DEFER_BLOCKING", "SYNCALL")
    operands = [o for o in s.src if not is_pred(o)]
    if len(operands) != 1 or not is_imm(operands[0]) or not r.has("SYNC", "SYNCALL"):
        raise Unknown
    r.code = "BARSYNC"


def _nop(r: Record) -> None:
    r.code = "NOP"


def _bra(r: Record) -> None:
    s = r.s
    r.only()
    if len(s.src) != 1 or not is_imm(s.src[0]):
        raise Unknown
    r.code = "BRA"
    r.x = branch_target(s, s.src[0])


MOVES: Final[dict[str, Callable[[Record], None]]] = {
    "MOV": _mov, "SEL": _choice("SEL", Record.integer), "FSEL": _choice("FSEL", Record.real), "PLOP3": _plop3, "SHFL": _shfl, "VOTE": _vote,
    "LDC": _ldc, "CS2R": _cs2r, "NOP": _nop, "BRA": _bra, "BSSY": _bssy, "BSYNC": _bsync, "WARPSYNC": _warpsync,
    "BAR": _barrier, "P2R": _predicates_to_word, "R2P": _word_to_predicates, **dict.fromkeys(("MEMBAR", "ERRBAR", "CGAERRBAR", "CCTL", "CCTLL", "FENCE"), _nop),
}  # fmt: skip
"""Mnemonic -> what fills its record."""
