"""Leaves out the words after an arrival at a barrier in memory that make the state of a thread: Orias has five and a spare register, ptxas nine and none.

Both are one Mercury instruction (``docs/facts/capsules.md``, "Rules"), so nvlink makes ptxas's words of ours.
"""

from typing import Any, Final

from orias.isa.operand import NOT_PT, RZ, Opnd, imm, reg_plus, word

_ARRIVAL: Final = "SYNCS.ARRIVE.TRANS64.TMASK"
_KEPT: Final = word("Rpc")
_LANES_BELOW: Final = word("SR_LTMASK")
_SHIFT: Final = imm(11)

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
        if name.startswith(_ARRIVAL) and at < len(rows):
            spare = rows[at][first + 2][0] if rows[at][first + 1] == "S2R" else RZ
            for words in (_ours(dst[0], src[-1], spare), _theirs(dst[0], src[-1])):
                if [tuple(r[first:]) for r in rows[at : at + len(words)]] == [(guard, *w) for w in words]:
                    at += len(words)
                    break
    return out


def _ours(state: Opnd, count: Opnd, spare: Opnd) -> Words:
    high = reg_plus(state, 1)
    return [
        ("S2R", [spare], [_LANES_BELOW]),
        ("LOP3.LUT", [spare], [state, spare, RZ, imm(0xC0), NOT_PT]),
        ("POPC", [spare], [spare]),
        ("SHF.L.U32", [spare], [spare, _SHIFT, RZ]),
        ("IMAD", [high], [spare, count, high]),
    ]


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
