"""The masks of occupied registers against lists of points, and attempts that repeat what an earlier one chose."""

import random

from orias.isa.operand import K_R
from orias.ori.text import parse
from orias.regalloc.allocate import Assignment, attempt, usual_order
from orias.regalloc.coalesce import coalesce
from orias.regalloc.occupancy import Occupancy
from orias.regalloc.ranges import Ranges
from orias.regalloc.register_allocation import prepare
from tests.regalloc.test_pack import tuples_and_words


def test_against_points() -> None:
    rng = random.Random("occupancy")
    for points in (1, 2, 3, 8, 33, 100):
        for _ in range(20):
            tree = Occupancy(points)
            at = [0] * tree.size
            for _ in range(30):
                start = rng.randrange(points)
                end = min(points, start + rng.choice((1, 2, 5, 40)))
                mask = 1 << rng.randrange(12)
                tree.add(start, end, mask)
                for p in range(start, end):
                    at[p] |= mask
            for start in range(points):
                union = 0
                for end in range(start + 1, points + 1):
                    union |= at[end - 1]
                    assert tree.taken(start, end) == union
                for reach in (1, 4, 16, 20):
                    near = [at[p] for p in range(max(0, start - reach), start)]
                    later = [at[p] for p in range(start, min(start + reach, points))]
                    free = ~at[start]
                    assert tree.before(start, reach) & free == _union(near) & free
                    if start:
                        free = ~at[start - 1]
                        assert tree.after(start, reach) & free == _union(later) & free


def test_long_functions_against_points() -> None:
    rng = random.Random("long")
    points = 3000
    tree = Occupancy(points)
    at = [0] * tree.size
    edges = list(range(0, points + 1, 16))
    for n in range(400):
        start, end = sorted((rng.randrange(points + 1), rng.choice((rng.randrange(points + 1), rng.choice(edges)))))
        mask = 1 << rng.randrange(200)
        if n % 2:
            end = min(end, start + 40)
        tree.add(start, end, mask)
        for p in range(start, end):
            at[p] |= mask
        start, end = sorted((rng.choice(edges), rng.choice((rng.randrange(points + 1), rng.choice(edges)))))
        assert tree.taken(start, end) == _union(at[start:end])


def _union(masks: list[int]) -> int:
    out = 0
    for mask in masks:
        out |= mask
    return out


def test_an_empty_interval_occupies_nothing() -> None:
    tree = Occupancy(100)
    tree.add(4, 4, 1)
    assert tree.taken(0, 100) == 0
    tree.add(0, 100, 2)
    assert [tree.taken(p, p) for p in range(100)] == [0] * 100


def test_known_choices_are_the_choices() -> None:
    """An attempt that takes over the registers of an earlier one ends like one that chooses them itself."""
    taken_over = 0
    for seed in range(4):
        fn = parse(tuples_and_words(random.Random(f"known{seed}"), 200))
        prepare(fn)
        classes = coalesce(Ranges(fn))
        todo = sorted((c for c in classes.all() if c.file == K_R), key=usual_order)
        for comfort in (True, False):
            result = Assignment()
            assert attempt(classes, K_R, todo, result, comfort) == []
            known = {c: c.slot for c in todo}
            highest = result.highest[K_R]
            for cap in range(highest, highest - 12, -1):
                failed = attempt(classes, K_R, todo, result, comfort, cap)
                alone = [c.slot for c in todo]
                assert attempt(classes, K_R, todo, result, comfort, cap, known) == failed
                assert [c.slot for c in todo] == alone
                assert attempt(classes, K_R, todo, result, comfort, cap, known, True) == failed[:1]
                taken_over += alone != list(known.values())
    assert taken_over > 20
