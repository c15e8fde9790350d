"""Registers of one or two words that become parts of wider registers."""

from orias.isa.operand import Opnd, is_vreg, lane_words, vreg, with_pair_lane, with_reg, with_word_lane, without_lane
from orias.ori.ir import Func


def rename_words(fn: Func, words: dict[int, Opnd]) -> None:
    """Replace each register of `words`, by id, by the word or the pair of another register that stands for it."""
    for inst in fn.insts():
        inst.src = [word_for(o, words) for o in inst.src]
        inst.old = word_for(inst.old, words)


def word_for(o: Opnd, words: dict[int, Opnd]) -> Opnd:
    """The operand with the part that stands for its register, if there is one; flags and suffix stay."""
    if not is_vreg(o) or vreg(o) not in words:
        return o
    part = words[vreg(o)]
    first, count = lane_words(part, 4)
    at, wanted = lane_words(o, count)
    new = with_reg(without_lane(o), vreg(part))
    return with_word_lane(new, first + at) if wanted == 1 else with_pair_lane(new, first // 2)
