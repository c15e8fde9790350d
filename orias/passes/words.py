"""Registers of one word that become words of wider registers."""

from orias.isa.operand import Opnd, is_vreg, lane_words, vreg, with_reg, with_word_lane
from orias.ori.ir import Func


def rename_words(fn: Func, words: dict[int, Opnd]) -> None:
    """Replace each register of `words`, by id, by the word of another register that stands for it."""
    for inst in fn.insts():
        inst.src = [word_for(o, words) for o in inst.src]
        inst.old = word_for(inst.old, words)


def word_for(o: Opnd, words: dict[int, Opnd]) -> Opnd:
    """The operand with the word that stands for its register, if there is one; flags and suffix stay."""
    if not is_vreg(o) or vreg(o) not in words:
        return o
    word = words[vreg(o)]
    return with_word_lane(with_reg(o, vreg(word)), lane_words(word, 4)[0])
