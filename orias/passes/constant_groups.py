"""ConvertToUniformReg, after it: neighbouring words of a constant bank fill neighbouring uniform registers in one load.

Words that a block copies to uniform registers, with no call between that may change those, become words of one pair (on targets
with such a load: of one group of four), if their place in the bank is aligned as a whole.
"""

from typing import Final

from orias.isa.operand import (
    K_NONE,
    K_UR,
    PT,
    Opnd,
    const_bank,
    const_offset,
    has_lane,
    has_modifiers,
    in_file,
    is_const,
    is_vreg,
    vreg,
    with_word_lane,
)
from orias.isa.roles import LOAD_UNIFORM_CONSTANT
from orias.ori.ir import OP_COPY, OP_PHI, Block, Func, Inst
from orias.passes.words import rename_words
from orias.target import features

_WORD: Final = 4
_NO_SLOTS: Final = 1 << 32
"""Beyond every offset in a bank."""

Place = tuple[int, int]
"""A bank and an offset in it."""
Run = dict[Place, list[Inst]]
"""Copies of constants that may be one, by the place of their first word, in the order of the block."""


def group_constants(fn: Func) -> bool:
    """Merge copies of constants block by block; True if any went."""
    if fn.target.has(features.CONSTANT_OPERANDS):
        return False
    sizes = [n for n in LOAD_UNIFORM_CONSTANT[fn.target.spelling("uniform_constant")] if n > 1]
    fixed = {vreg(s) for i in fn.insts() if i.op is OP_PHI for s in i.src if is_vreg(s)}
    words: dict[int, Opnd] = {}
    for b in fn.blocks:
        for run in _runs(fn, b, fixed):
            for size in sorted(sizes, reverse=True):
                _group(fn, b, run, size, words)
    if words:
        rename_words(fn, words)
    return bool(words)


def _runs(fn: Func, b: Block, fixed: set[int]) -> list[Run]:
    """The copies of constants to uniform registers of a block, divided by what may change such registers; no phi reads their results.

    Where a capsule is written the handles of textures stay apart: a linker may place them anew, aligned to one word.
    """
    out: list[Run] = [{}]
    slots = fn.slots_at if fn.slots_at and fn.target.has(features.MERCURY_LAYOUT) else _NO_SLOTS
    for inst in b.insts:
        if fn.changes_uniform(inst):
            out.append({})
        elif _is_copy(inst) and vreg(inst.dst[0]) not in fixed:
            c = inst.src[0]
            place = const_bank(c), const_offset(c)
            if place[0] != 0 or place[1] < slots:
                out[-1].setdefault(place, []).append(inst)
    return [run for run in out if len(run) > 1]


def _is_copy(inst: Inst) -> bool:
    """True for an unguarded copy of a constant to a uniform register of its own."""
    if inst.op is not OP_COPY or len(inst.dst) != 1 or inst.guard != PT or inst.old != K_NONE:
        return False
    d, c = inst.dst[0], inst.src[0]
    return (
        in_file(d, K_UR) and is_vreg(d) and not has_lane(d) and is_const(c) and not has_lane(c) and not has_modifiers(c)
    )


def _group(fn: Func, b: Block, run: Run, size: int, words: dict[int, Opnd]) -> None:
    """Make one copy of each aligned group of `size` words that the run copies one by one, where the first of them is."""
    for bank, offset in sorted(run):
        parts = [run.get((bank, offset + _WORD * k), []) for k in range(size)]
        if offset % (_WORD * size) or not all(any(fn.width(i.dst[0]) == 1 for i in part) for part in parts):
            continue
        new = fn.new_vreg(K_UR, size)
        copies = [(k, i) for k, part in enumerate(parts) for i in part if fn.width(i.dst[0]) == 1]
        gone = {i.uid for _, i in copies}
        at = next(at for at, i in enumerate(b.insts) if i.uid in gone)
        first = b.insts[at]
        copy = fn.new_inst(OP_COPY, [new], [parts[0][0].src[0]], loc=first.loc)
        b.insts = [*b.insts[:at], copy, *(i for i in b.insts[at:] if i.uid not in gone)]
        for k, i in copies:
            words[vreg(i.dst[0])] = with_word_lane(new, k)
        for k in range(size):
            run[bank, offset + _WORD * k] = [i for i in parts[k] if i.uid not in gone]
