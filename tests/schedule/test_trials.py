"""Which orders before allocation are finished: those whose code may be the fastest as far as the scheduler sees."""

from orias.knobs.knob_settings import from_dict
from orias.options import Options
from orias.ori.ir import Func
from orias.ori.text import parse
from orias.pipeline.choose_order import schedule_by_model
from orias.pipeline.estimated_time import EstimatedTime
from orias.pipeline.functions import _up_to_post_ra
from orias.schedule.list import schedule_virtual
from orias.schedule.plans import Plan, plans
from tests.schedule.test_order_reach import one_by_one


def finished(fn: Func) -> list[int]:
    """The register counts of the orders that are tried to the end."""
    counts: list[int] = []
    options = Options()

    def finish(trial: Func) -> None:
        _up_to_post_ra(trial, options)
        counts.append(trial.reg_count)

    schedule_by_model(fn, options, finish)
    return counts


def wide_loads() -> Func:
    """Loads of four words each, all before the first use: with few registers hardly any of them are under way together."""
    loads = "".join(f"  v{300 + n}:R4 = LDG.E.128 v256, v257, URZ, 0x{16 * n:x}\n" for n in range(40))
    stores = "".join(f"  STG.E.128 v256, v257, URZ, 0x{4096 + 16 * n:x}, v{300 + n}\n" for n in range(40))
    return parse(
        ".func k sm_90 entry ssa\nb0:\n  v256:UR2 = copy c[0x0][0x208]\n  v257:R2 = copy c[0x0][0x210]\n"
        f"{loads}{stores}  EXIT\n"
    )


def test_slow_orders_are_not_up_to_post_raed() -> None:
    every, few = wide_loads(), wide_loads()
    every.knobs = from_dict({"SchedTrialSlack": 10_000, "SchedTrialSameWarpsSlack": 10_000}).values("k", [])
    most, some = finished(every), finished(few)
    assert len(some) < len(most)
    assert set(some) < set(most)


def test_no_more_than_some_orders_are_up_to_post_raed() -> None:
    for most in (1, 2):
        fn = wide_loads()
        knobs = {"SchedTrialSlack": 10_000, "SchedTrialSameWarpsSlack": 10_000, "SchedTrialMost": most}
        fn.knobs = from_dict(knobs).values("k", [])
        assert len(finished(fn)) == most


def test_in_a_long_function_the_best_estimate_is_not_questioned() -> None:
    """Unless code of that order spills or allows fewer warps than planned."""
    for length, most in ((10_000, 2), (10, 1)):
        fn = wide_loads()
        fn.knobs = from_dict({"SchedTrialSlack": 10_000, "SchedTrialMost": 2, "SchedTrialSureInst": length}).values(
            "k", []
        )
        assert len(finished(fn)) == most


def test_orders_that_spill_far_more_are_not_up_to_post_raed() -> None:
    """As given, 160 words are live at once, of which 64 registers hold a part; loaded and stored one by one, a few."""
    fn = wide_loads()
    fn.max_regs = 64
    fn.knobs = from_dict({"SchedTrialSlack": 10_000, "SchedTrialSameWarpsSlack": 10_000}).values("k", [])
    words = [way.words for way in plans(fn)]
    assert min(words) < 64 < max(words) - 90
    spilled: list[int] = []

    def finish(trial: Func) -> None:
        _up_to_post_ra(trial, Options())
        spilled.append(trial.spill_loads)

    schedule_by_model(fn, Options(), finish)
    assert spilled and not any(spilled)


def test_loads_have_room_in_an_order_for_few_registers() -> None:
    """Between the order for a few words and that for 160 there are some with the registers of lower occupancies."""
    found = plans(wide_loads())
    few = [way.words for way in found if way.sink]
    assert len(few) > 2 and few == sorted(set(few))
    assert max(few) < min(way.words for way in found if not way.sink)


def test_estimated_time_falls_with_live_words_and_rises_with_registers() -> None:
    few, many = one_by_one(), one_by_one()
    slow = schedule_virtual(few, plan=Plan(False, 8)).cycles
    fast = schedule_virtual(many, plan=Plan(False, 60)).cycles
    assert len(slow) == len(few.blocks)
    assert sum(fast) < sum(slow) / 4
    estimated = EstimatedTime(few)
    assert estimated.of(fast, 40) < estimated.of(slow, 40)
    assert estimated.of(fast, 40) < estimated.of(fast, 72)
    assert estimated.of(fast, 33) == estimated.of(fast, 40)


def test_matrix_products_cross_barriers_where_registers_are_short() -> None:
    """They free fragments that were loaded before a barrier; elsewhere they stay after it."""
    for limit, crosses in ((255, False), (32, True)):
        # The fragments of six products, and of none the sums, are live at the barrier.
        loads = "".join(
            f"  v{300 + n}:R4 = LDSM.16.M88.4 -, v256, URZ, 0x{512 * n:x}\n  v{320 + n}:R2 = LDSM.16.M88.2 -, v256, URZ, 0x{4096 + 512 * n:x}\n"
            for n in range(6)
        )
        products = "".join(
            f"  v{400 + n}:R4 = HMMA.16816.F32 v{300 + n}, v{320 + n}, {f'v{399 + n}' if n else 'RZ'}\n"
            for n in range(6)
        )
        fn = parse(
            ".func k sm_120 entry ssa\nb0:\n  v256:R = S2R SR_TID.X\n" + loads + "  BAR.SYNC.DEFER_BLOCKING 0x0\n" + products
            + "  STS.128 -, v256, URZ, 0x0, v405\n  EXIT\n"
        )  # fmt: skip
        fn.max_regs = limit
        finished(fn)
        names = [i.op.base for i in fn.blocks[0].insts]
        assert ("HMMA" in names[: names.index("BAR")]) is crosses


def chains() -> Func:
    """Chains of computations one after the other, which a scheduler interleaves."""
    body = "".join(
        f"  v{300 + 3 * n}:R = MUFU.RCP v257.lo\n  v{301 + 3 * n}:R2 = IMAD.WIDE.U32 v{300 + 3 * n}, 0x{n + 3:x}, v257\n"
        f"  STG.E.64 v256, v257, URZ, 0x{64 + 8 * n:x}, v{301 + 3 * n}\n"
        for n in range(6)
    )
    return parse(
        ".func k sm_100 entry ssa\nb0:\n  v256:UR2 = copy c[0x0][0x358]\n  v257:R2 = copy c[0x0][0x380]\n"
        + body
        + "  EXIT\n"
    )


def chosen(knobs: dict[str, int]) -> tuple[list[int], int]:
    """The register counts of the orders that are tried to the end, and that of the chosen one (0: the first is taken without a trial)."""
    fn = chains()
    fn.knobs = from_dict(knobs).values("k", [])
    counts: list[int] = []

    def finish(trial: Func) -> None:
        _up_to_post_ra(trial, Options())
        counts.append(trial.reg_count)

    best = schedule_by_model(fn, Options(), finish)
    return counts, best.reg_count if best is not None else 0


def test_an_order_with_fewer_words_is_tried_where_all_warps_fit() -> None:
    """It is taken if it is as fast."""
    slow = {"SchedTrialSameWarpsSlack": 10_000}
    counts, _ = chosen(slow)
    assert len(counts) == 2
    assert min(counts) < max(counts)
    assert chosen({**slow, "SchedEqualTime": 1_000})[1] == min(counts)
    assert chosen({"SchedWordsSaved": 200}) == ([], 0)
