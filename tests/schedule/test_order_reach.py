"""The limits on live words that give one order, and orders that are carried from one copy of a function to another."""

from collections.abc import Callable

import pytest

from orias.ori.clone import clone
from orias.ori.ir import Func
from orias.ori.text import dump, parse
from orias.schedule import piece_orders
from orias.schedule.arrivals import Arrivals
from orias.schedule.list import schedule_virtual
from orias.schedule.piece_orders import PieceOrders, Reach
from orias.schedule.plans import Order, Plan, order_of, plans, put_in_order
from tests.builds import replaces_functions
from tests.schedule.test_look_ahead import loading


def one_by_one() -> Func:
    """Loads, each just before its use: with more registers more of them can come first."""
    code = "".join(
        f"  v{300 + n}:R = LDG.E v256, v257, URZ, 0x{4 * n:x}\n  v{401 + n}:R = IADD3 v{400 + n}, v{300 + n}, RZ\n"
        for n in range(40)
    )
    return parse(
        ".func k sm_90 entry ssa\nb0:\n  v256:UR2 = copy c[0x0][0x208]\n  v257:R2 = copy c[0x0][0x210]\n  v400:R = S2R SR_TID.X\n"
        f"{code}  STG.E v256, v257, URZ, 0x0, v440\n  EXIT\n"
    )


def orders(sink: bool) -> dict[int, tuple[Order, Reach]]:
    out: dict[int, tuple[Order, Reach]] = {}
    for words in range(2, 64):
        fn = one_by_one()
        given = [list(b.insts) for b in fn.blocks]
        reach = schedule_virtual(fn, plan=Plan(sink, words))
        assert reach.holds(words)
        out[words] = order_of(given, fn), reach
    return out


def test_limits_within_reach_give_the_same_order() -> None:
    for sink in (False, True):
        found = orders(sink)
        assert len({str(order) for order, _ in found.values()}) > 4
        within = 0
        for order, reach in found.values():
            for words, (other, _) in found.items():
                if reach.holds(words):
                    assert other == order
                    within += 1
        assert within > 2 * len(found)


def test_pieces_that_had_orders_give_the_same_as_new_ones() -> None:
    fn = one_by_one()
    given = [list(b.insts) for b in fn.blocks]
    pieces: list[list[PieceOrders]] = []
    found = orders(False)
    for words in [*found, *reversed(found)]:
        for b, insts in zip(fn.blocks, given, strict=True):
            b.insts = list(insts)
        reach = schedule_virtual(fn, plan=Plan(False, words), pieces=pieces)
        order, alone = found[words]
        assert order_of(given, fn) == order
        assert (reach.least, reach.above) == (alone.least, alone.above)


def test_the_order_for_few_registers_is_found_once() -> None:
    """The plan that starts from it has it, and gives the same as one that has to find it."""
    fn = loading(0)
    sunk = next(p for p in plans(fn) if p.sink)
    assert sunk.sunk is not None
    first, second = clone(fn), clone(fn)
    schedule_virtual(first, plan=sunk)
    schedule_virtual(second, plan=Plan(True, sunk.words))
    assert dump(first) == dump(second)


def test_an_order_can_be_put_on_a_copy() -> None:
    fn = one_by_one()
    copy = clone(fn)
    given = [list(b.insts) for b in fn.blocks]
    schedule_virtual(fn, plan=Plan(False, 20))
    assert dump(fn) != dump(copy)
    put_in_order(copy, order_of(given, fn))
    assert dump(fn) == dump(copy)


@pytest.mark.in_turn(2)
@replaces_functions
def test_an_order_that_cannot_win_ends_early(monkeypatch: pytest.MonkeyPatch) -> None:
    """The orders are those of a scheduler that finishes each try."""
    run = piece_orders._Virtual._run
    ended = 0

    def counted(
        self: piece_orders._Virtual, limit: int, leads: bytearray, height: list[int], arrivals: Arrivals, reach: Reach,
        below: int,
    ) -> tuple[list[int], int]:  # fmt: skip
        nonlocal ended
        found = run(self, limit, leads, height, arrivals, reach, below)
        ended += not found[0]
        return found

    def finished(
        self: piece_orders._Virtual, limit: int, leads: bytearray, height: list[int], arrivals: Arrivals, reach: Reach,
        below: int,
    ) -> tuple[list[int], int]:  # fmt: skip
        return run(self, limit, leads, height, arrivals, reach, piece_orders._UNBOUNDED)

    monkeypatch.setattr(piece_orders._Virtual, "_run", counted)
    early = [orders(sink) for sink in (False, True)]
    assert ended > 10
    monkeypatch.setattr(piece_orders._Virtual, "_run", finished)
    for found, whole in zip(early, [orders(sink) for sink in (False, True)], strict=True):
        for words, (order, reach) in found.items():
            assert order == whole[words][0]
            assert reach.cycles == whole[words][1].cycles


def old_values() -> Func:
    """Guarded instructions, which write a register that others have written and read before."""
    code = "".join(
        f"  v{300 + n}:R = LDG.E v256, v257, URZ, 0x{4 * n:x}\n  @v200 v401:R = IADD3 v401, v{300 + n}, RZ\n"
        for n in range(8)
    )
    return parse(
        ".func k sm_90 entry virtual\nb0:\n  v256:UR2 = copy c[0x0][0x208]\n  v257:R2 = copy c[0x0][0x210]\n  v401:R = S2R SR_TID.X\n"
        f"  v200:P = ISETP.NE.AND v401, RZ, PT\n{code}  STG.E v256, v257, URZ, 0x0, v401\n  EXIT\n"
    )


@pytest.mark.parametrize("make", [one_by_one, old_values, lambda: loading(0)])
def test_changes_of_live_words_are_kept_up(make: Callable[[], Func]) -> None:
    """What is kept for each instruction is what is found anew, after each instruction that is placed."""
    fn = make()
    pieces: list[list[PieceOrders]] = []
    schedule_virtual(fn, plan=Plan(False, 20), pieces=pieces)
    compared = 0
    for piece in pieces[0]:
        s = piece._scheduler
        order, _ = s.run(20, Arrivals(0), Reach())
        for places in (range(len(order)), order):
            s._restart(20, *s.ways[0])
            left = set(places)
            for k in places:
                first = min(left)
                for other in left:
                    if s.steady[other]:
                        assert s.more[other] == s._change(s.word_writes[other], s.word_reads[other])
                        compared += 1
                s._place(k, first)
                left.remove(k)
    assert compared > 50
