import random

import pytest

from orias.analysis.cfg import remove_unreachable
from orias.analysis.liveness import WordCounts, def_mask, liveness, use_mask
from orias.isa.operand import K_P, K_R, PT, in_file, payload, vreg
from orias.ori.builder import Builder
from orias.ori.ir import Func
from orias.target.profile import target
from tests.analysis.graphs import random_graph


def test_phi_reads_at_the_end_of_the_predecessor() -> None:
    fn = Func("f", target("sm_80"))
    b = fn.blocks = [fn.new_block() for _ in range(3)]
    fn.link(b[0], b[1])
    fn.link(b[1], b[1])
    fn.link(b[1], b[2])
    at = Builder(fn, b[0])
    start = at.r("S2R", 0)
    at.block = b[1]
    i = fn.new_vreg(K_R)
    j = fn.new_vreg(K_R)
    at.emit("phi", [i], [start, j])
    at.emit("IADD3", [j], [i, i, i])
    p = at.setp("ISETP.GE.AND", j, i, PT)
    at.emit("BRA", [], [], guard=p)
    at.block = b[2]
    at.emit("EXIT", [], [])
    lv = liveness(fn)

    def bits(*regs: int) -> int:
        return sum(1 << payload(o) for o in regs)

    assert lv.live_in == [0, 0, 0]
    assert lv.live_out == [bits(start), bits(j), 0]
    assert lv.phi_out == [bits(start), bits(j), 0]
    assert lv.before(b[1]) == [bits(i), bits(i), bits(i, j), bits(j, p)]


@pytest.mark.parametrize("seed", range(60))
def test_fixed_point_is_the_least(seed: int) -> None:
    """A register is live before an instruction exactly if some path reaches a use before a definition."""
    rng = random.Random(seed)
    fn = random_graph(seed, 3 + seed % 8)
    remove_unreachable(fn)
    regs = [fn.new_vreg(K_P if i == 0 else K_R) for i in range(5)]
    for b in fn.blocks:
        at = Builder(fn, b)
        for _ in range(rng.randint(0, 4)):
            at.emit("IADD3", [rng.choice(regs[1:])], [rng.choice(regs[1:])])
            if rng.random() < 0.3:
                b.insts[-1].guard = regs[0]
    lv = liveness(fn)
    for b in fn.blocks:
        before = lv.before(b)
        for reg in regs:
            bit = 1 << payload(reg)
            for k in range(len(b.insts)):
                assert bool(before[k] & bit) == _reaches_use(b, k, bit)
            assert bool(lv.live_in[b.id] & bit) == _reaches_use(b, 0, bit)


def _reaches_use(block, k: int, bit: int) -> bool:  # type: ignore[no-untyped-def]
    seen: set[int] = set()
    work = [(block, k)]
    while work:
        b, i = work.pop()
        while i < len(b.insts):
            if use_mask(b.insts[i]) & bit:
                return True
            if def_mask(b.insts[i]) & bit:
                break
            i += 1
        else:
            for s in b.succs:
                if s.id not in seen:
                    seen.add(s.id)
                    work.append((s, 0))
    return False


def test_words_of_sets() -> None:
    rng = random.Random("words")
    fn = Func("f", target("sm_80"))
    registers = [fn.new_vreg(rng.choice((K_R, K_P)), rng.choice((1, 1, 1, 2, 4, 7, 128))) for _ in range(300)]
    words = {file: WordCounts(fn, file) for file in (K_R, K_P)}
    for _ in range(50):
        some = rng.sample(registers, rng.randrange(len(registers)))
        mask = sum(1 << vreg(o) for o in some)
        for file, counts in words.items():
            assert counts.count(mask) == sum(fn.width(o) for o in some if in_file(o, file))
    assert words[K_R].count(0) == 0
