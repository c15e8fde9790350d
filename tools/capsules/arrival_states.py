"""Leaves out the words after an arrival at a barrier in memory that make the state of a thread: Orias has five and a spare register, ptxas nine and none.

Both are one Mercury instruction (``docs/facts/capsules.md``, "Rules"), so nvlink makes ptxas's words of ours.
"""

from typing import Any, Final

from orias.isa.operand import NOT_PT, RZ, Opnd, imm, reg_plus, word

_ARRIVAL: Final = "SYNCS.ARRIVE.TRANS64.TMASK"
_KEPT: Final = word("Rpc")
_LANES_BELOW: Final = word("SR_LTMASK")
_SHIFT: Final = imm(11)
_OURS: Final = ("S2R", "LOP3.LUT", "POPC", "SHF.L.U32", "IMAD")

Words = list[tuple[str, list[Opnd], list[Opnd]]]
"""Operation, results and sources of each instruction."""


def without_states(rows: list[Any], first: int) -> list[Any]:
    """The rows of instructions without those words; a row has guard, operation, results and sources from its item `first` on."""
    out: list[Any] = []
    at = 0
    while at < len(rows):
        row = rows[at]
        out.append(row)
        at += 1
        guard, name, dst, src = row[first:]
        if name.startswith(_ARRIVAL):
            following = [tuple(r[first:]) for r in rows[at : at + 9]]
            if following == [(guard, *w) for w in _theirs(dst[0], src[-1])]:
                at += 9
            elif _are_ours(following[:5], guard, dst[0], src[-1]):
                at += 5
    return out


def _are_ours(rows: list[Any], guard: Opnd, state: Opnd, count: Opnd) -> bool:
    """True for Orias' words, whose values may be in different registers, and sources that commute in any order."""
    if [r[:2] for r in rows] != [(guard, name) for name in _OURS]:
        return False
    (lanes, below, number, steps, high), sources = [r[2][0] for r in rows], [r[3] for r in rows]
    return (
        sources[0] == [_LANES_BELOW]
        and sorted(sources[1][:2]) == sorted((state, lanes))
        and sources[1][2:] == [RZ, imm(0xC0), NOT_PT]
        and sources[2] == [below]
        and sources[3] == [number, _SHIFT, RZ]
        and sorted(sources[4][:2]) == sorted((steps, count))
        and sources[4][2] == high == reg_plus(state, 1)
    )


def _theirs(state: Opnd, count: Opnd) -> Words:
    high = reg_plus(state, 1)
    return [
        ("RPCMOV.32.HI", [_KEPT], [high]),
        ("RPCMOV.32.LO", [_KEPT], [state]),
        ("S2R", [high], [_LANES_BELOW]),
        ("LOP3.LUT", [state], [state, high, RZ, imm(0x40), NOT_PT]),
        ("RPCMOV.32.HI", [high], [_KEPT]),
        ("POPC", [state], [state]),
        ("SHF.L.U32", [state], [state, _SHIFT, RZ]),
        ("IMAD", [high], [state, count, high]),
        ("RPCMOV.32.LO", [state], [_KEPT]),
    ]
