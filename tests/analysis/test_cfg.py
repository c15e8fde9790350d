import pytest

from orias.analysis.cfg import (
    dominators,
    find_loops,
    post_dominators,
    remove_unreachable,
    reverse_postorder,
)
from orias.ori.ir import Func
from orias.target.profile import target
from tests.analysis.graphs import random_graph, reach
from tests.effort import lines_executed


@pytest.mark.in_turn(4)
@pytest.mark.parametrize("seed", range(120))
def test_dominators_agree_with_deleting_blocks(seed: int) -> None:
    fn = random_graph(seed, 3 + seed % 14)
    entry = fn.blocks[0].id
    tree = dominators(fn)
    reachable = reach(fn, entry, -1)
    assert {b.id for b in reverse_postorder(fn)} == reachable
    for a in reachable:
        others = reach(fn, entry, a)
        for b in reachable:
            assert tree.dominates(a, b) == (a == b or b not in others)


@pytest.mark.parametrize("seed", range(120))
def test_post_dominators_agree_with_deleting_blocks(seed: int) -> None:
    fn = random_graph(1000 + seed, 3 + seed % 14)
    remove_unreachable(fn)
    tree = post_dominators(fn)
    ends = {b.id for b in fn.blocks if not b.succs}
    ids = [b.id for b in fn.blocks]
    if any(not reach(fn, b, -1) & ends for b in ids):
        assert sorted(tree.order) == sorted(ids)
        return
    for a in ids:
        for b in ids:
            assert tree.dominates(a, b) == (a == b or not reach(fn, b, a) & ends)


@pytest.mark.parametrize("seed", range(100))
def test_loops_by_definition(seed: int) -> None:
    fn = random_graph(3000 + seed, 4 + seed % 12)
    remove_unreachable(fn)
    tree = dominators(fn)
    forest = find_loops(fn, tree)
    by_id = {b.id: b for b in fn.blocks}
    want: dict[int, set[int]] = {}
    for h in fn.blocks:
        for p in h.preds:
            if tree.dominates(h.id, p.id):
                body = want.setdefault(h.id, {h.id})
                work = [p.id]
                while work:
                    x = work.pop()
                    if x not in body:
                        body.add(x)
                        work.extend(q.id for q in by_id[x].preds)
    assert {lp.header.id: set(lp.blocks) for lp in forest.loops} == want
    if not forest.irreducible:
        for b in fn.blocks:
            assert b.depth == sum(b.id in body for body in want.values())


def test_nested_loop_depths() -> None:
    fn = Func("f", target("sm_80"))
    b = fn.blocks = [fn.new_block() for _ in range(6)]
    for x, y in ((0, 1), (1, 2), (2, 2), (2, 3), (3, 1), (3, 4), (4, 5)):
        fn.link(b[x], b[y])
    forest = find_loops(fn, dominators(fn))
    assert [x.depth for x in b] == [0, 1, 2, 1, 0, 0]
    assert [lp.header.id for lp in forest.loops] == [1, 2]
    assert forest.loops[1].parent is forest.loops[0]
    assert not forest.irreducible


def test_ladder_to_one_exit_is_not_quadratic() -> None:
    def effort(n: int) -> int:
        fn = Func("f", target("sm_80"))
        b = fn.blocks = [fn.new_block() for _ in range(n)]
        for i in range(n - 1):
            fn.link(b[i], b[i + 1])
            if i < n - 2:
                fn.link(b[i], b[n - 1])

        def analyse() -> None:
            assert dominators(fn).idom[n - 1] == 0
            post_dominators(fn)
            find_loops(fn, dominators(fn))

        return lines_executed(analyse)

    assert effort(4000) <= effort(1000) * 5
