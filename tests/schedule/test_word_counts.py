"""Words of wide registers count one by one where live words are counted before allocation."""

from orias.analysis.liveness import liveness
from orias.ori.ir import Func
from orias.ori.text import parse
from orias.schedule.list import schedule_virtual
from orias.schedule.plans import block_pressure
from orias.schedule.word_counts import WordCounting, register_of

HEAD = ".func k sm_100a entry ssa\nb0:\n  v256:R2 = copy c[0x0][0x380]\n  v257:UR = copy 0x0\n"


def _packed(words: int, load: str) -> Func:
    """A load of many words, pairs of which become one word each that is stored."""
    lines = [f"  v258:R{words} = {load}"]
    for k in range(words // 2):
        lines.append(f"  v{260 + k}:R = F2FP.F16.F32.PACK_AB v258.{2 * k + 1}, v258.{2 * k}")
    for k in range(words // 2):
        lines.append(f"  STG.E -, v256, URZ, {4 * k:#x}, v{260 + k}")
    return parse(HEAD + "\n".join(lines) + "\n  EXIT\n")


def _need(fn: Func) -> int:
    return block_pressure(fn, fn.blocks[0], liveness(fn))


def test_words_are_given_back_while_a_wide_register_is_read() -> None:
    # The address, the words that are loaded; each pair gives its registers to what it becomes.
    assert _need(_packed(64, "LDTM.x64 v257")) == 2 + 64


def test_a_short_vector_stays_whole() -> None:
    # While the second word is made, all four of the vector and the first one.
    assert _need(_packed(4, "LDG.E.128 -, v256, URZ, 0x0")) == 2 + 4 + 1


def test_the_order_stays_within_what_the_words_need() -> None:
    fn = _packed(64, "LDTM.x64 v257")
    schedule_virtual(fn)
    assert _need(fn) == 2 + 64


def test_a_register_that_lives_on_counts_whole() -> None:
    text = "  v258:R64 = LDTM.x64 v257\n  v259:R = FADD v258.0, v258.1\n  BRA b1\nb1: ; preds b0\n"
    fn = parse(HEAD.replace("b0:", "b0: -> b1") + text + "  STG.E -, v256, URZ, 0x0, v258.5\n  EXIT\n")
    assert _need(fn) == 2 + 64


def test_items_name_their_register() -> None:
    fn = _packed(64, "LDTM.x64 v257")
    counting = WordCounting(fn)
    items = counting.split(258)
    assert len(items) == 64 and {register_of(x) for x in items} == {258} and counting.split(256) == [256]
    assert sum(counting.words(x) for x in items) == 64 and counting.words(256) == 2 and counting.words(257) == 0
    load = fn.blocks[0].insts[2]
    assert counting.writes(load) == items and counting.reads(load) == [257]
    assert counting.reads(fn.blocks[0].insts[3]) == [items[1], items[0]]
