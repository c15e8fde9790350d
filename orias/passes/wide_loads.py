"""LateExpansion, after it: loads of neighbouring words of shared memory are one load.

Two or four words that are aligned as a whole, as far as the low bits of the address are known, and between whose loads
nothing may write memory, are loaded together where the first of them was.
"""

from typing import Final

from orias.analysis.known_bits import trailing_zeros
from orias.isa.op import F_CALL, F_FENCE, F_WRITE, Op, op
from orias.isa.operand import (
    K_NONE,
    K_R,
    PT,
    URZ,
    Opnd,
    imm_value,
    in_file,
    is_imm,
    is_vreg,
    vreg,
    with_word_lane,
)
from orias.ori.decisions import MERGED, Decision
from orias.ori.ir import Block, Func, Inst
from orias.passes.def_use import Values
from orias.passes.words import rename_words

_BARRIER: Final = F_WRITE | F_FENCE | F_CALL
_WORD: Final = 4
_FARTHEST: Final = 96
"""A load moves up by so many instructions at most: its result takes a register all the way.  A guess."""

Wide = tuple[tuple[int, Op], ...]
"""The operations that load several words at once, with the number of words, most first."""


def widen_loads(fn: Func) -> bool:
    """Merge loads block by block; True if any were."""
    name = fn.target.spelling("shared_load")
    load, wide = op(name), ((4, op(f"{name}.128")), (2, op(f"{name}.64")))
    if not any(inst.op is load for inst in fn.insts()):
        return False
    values = Values(fn)
    words: dict[int, Opnd] = {}
    for b in fn.blocks:
        _widen(fn, b, values, load, wide, words)
    if words:
        rename_words(fn, words)
    return bool(words)


def _widen(fn: Func, b: Block, values: Values, load: Op, wide: Wide, words: dict[int, Opnd]) -> None:
    groups: dict[Opnd, dict[int, tuple[int, Inst]]] = {}
    gone: set[int] = set()
    for k, inst in enumerate(b.insts):
        if inst.op.flags & _BARRIER:
            _take(fn, values, wide, groups, words, gone)
            groups = {}
        elif inst.op is load and _is_word_load(fn, inst):
            groups.setdefault(inst.src[1], {}).setdefault(imm_value(inst.src[3]), (k, inst))
    _take(fn, values, wide, groups, words, gone)
    if gone:
        b.insts = [i for i in b.insts if i.uid not in gone]


def _is_word_load(fn: Func, inst: Inst) -> bool:
    """True for an unguarded load of one word into a register, with a constant offset."""
    if inst.guard != PT or inst.old != K_NONE or len(inst.dst) != 1 or len(inst.src) != 4 or not is_imm(inst.src[3]):
        return False
    if inst.src[0] != K_NONE or inst.src[2] != URZ:
        return False
    d = inst.dst[0]
    return is_vreg(d) and in_file(d, K_R) and fn.width(d) == 1


def _take(
    fn: Func,
    values: Values,
    wide: Wide,
    groups: dict[Opnd, dict[int, tuple[int, Inst]]],
    words: dict[int, Opnd],
    gone: set[int],
) -> None:
    """Merge the loads of a stretch; `words` gets what stands for their results, `gone` the instructions that go."""
    for base, found in groups.items():
        if len(found) < 2:
            continue
        aligned = 1 << min(trailing_zeros(values.defs, base), 4)
        for count, load in wide:
            size = count * _WORD
            if aligned < size:
                continue
            for start in sorted(found):
                offsets = range(start, start + size, _WORD)
                if start % size or not all(o in found for o in offsets):
                    continue
                members = [found.pop(o) for o in offsets]
                first = min(k for k, _ in members)
                if max(k for k, _ in members) - first > _FARTHEST:
                    continue
                whole = fn.new_vreg(K_R, count)
                leader = next(i for k, i in members if k == first)
                for n, (_, inst) in enumerate(members):
                    words[vreg(inst.dst[0])] = with_word_lane(whole, n)
                    if inst is not leader:
                        gone.add(inst.uid)
                if fn.decisions is not None:
                    lines = sorted({i.loc for _, i in members})
                    text = (
                        f"{count} loads of shared memory (lines {', '.join(map(str, lines))}) are one of {size} bytes"
                    )
                    fn.decisions.append(Decision(MERGED, leader.loc, text, {"loads": count, "bytes": size}))
                leader.op, leader.dst = load, [whole]
                leader.src[3] = members[0][1].src[3]
