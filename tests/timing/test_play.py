"""The machine model gives the cycles that Huerta et al. (MICRO 2025) measured on an RTX A6000."""

import pytest

from orias.timing.machine_numbers import machine
from orias.timing.machine_step import StepMaker
from orias.timing.play import Played, Player, visit
from orias.timing.register_ports import RegisterPorts
from orias.timing.step import FP32, GLOBAL, NO_UNIT, SHARED, Step

AMPERE = machine(86)


def steps_of(count: int) -> list[Step]:
    """Independent instructions that need no unit."""
    return [Step(k, NO_UNIT, 0) for k in range(count)]


def times(played: Played, warp: int) -> list[int]:
    """The issue cycles of a warp."""
    return [t for t, w, _ in played.log if w == warp]


def run(steps: list[Step], warps: int = 1, far: bool = False) -> Played:
    trace = [visit(s.index) for s in steps]
    return Player(AMPERE, steps, far, log_warps=warps).play([[trace] * warps], 1)


@pytest.mark.parametrize(
    ("cores", "sixth", "seventh", "eighth", "later"),
    [
        (1, [13], [17], [21], 4),
        (2, [13, 15], [17, 19], [21, 23], 4),
        (3, [13, 15, 17], [19, 21, 23], [25, 27, 29], 6),
        (4, [13, 15, 17, 19], [21, 23, 25, 27], [29, 31, 33, 35], 8),
    ],
)
def test_memory_instructions_of_several_sub_cores(
    cores: int, sixth: list[int], seventh: list[int], eighth: list[int], later: int
) -> None:
    """Table 1: the first issues in cycle 2."""
    steps = steps_of(10)
    for s in steps:
        s.fixed, s.memory, s.raw, s.war = False, GLOBAL, 32, 11
    played = run(steps, cores)
    issues = [[t + 2 for t in times(played, w)] for w in range(cores)]
    assert all(x[:5] == [2, 3, 4, 5, 6] for x in issues)
    assert [x[5] for x in issues] == sixth
    assert [x[6] for x in issues] == seventh
    assert [x[7] for x in issues] == eighth
    assert all(x[9] - x[8] == later for x in issues)


@pytest.mark.parametrize(("x", "y", "cycles"), [(19, 21, 5), (18, 21, 6), (18, 20, 7)])
def test_register_banks(x: int, y: int, cycles: int) -> None:
    """Listing 1: a clock, NOP, two FFMAs, NOP, a clock."""
    steps = steps_of(6)
    steps[2].sources = [10 << 2, 12 << 2 | 1, 14 << 2 | 2]
    steps[3].sources = [16 << 2, x << 2 | 1, y << 2 | 2]
    issued = times(run(steps), 0)
    assert issued[5] - issued[0] == cycles


def test_the_issue_stage_does_not_see_a_conflict_of_the_instruction_before() -> None:
    """Section 5.1.1: without the NOP after the FFMAs the second clock is not delayed."""
    steps = steps_of(5)
    steps[2].sources = [10 << 2, 12 << 2 | 1, 14 << 2 | 2]
    steps[3].sources = [16 << 2, 18 << 2 | 1, 20 << 2 | 2]
    issued = times(run(steps), 0)
    assert issued[4] - issued[0] == 4


@pytest.mark.parametrize(
    ("registers", "bubbles"), [((2, 4), 1), ((2, 5), 0), ((2, 4, 6), 2), ((2, 4, 5), 1), ((2, 5, 7), 1)]
)
def test_bubbles_of_equal_instructions(registers: tuple[int, ...], bubbles: int) -> None:
    """Section 5.3: FMUL with both sources in one bank has a bubble, FFMA with three in one bank two."""
    steps = steps_of(40)
    for s in steps:
        s.sources = [r << 2 | k for k, r in enumerate(registers)]
    issued = times(run(steps), 0)
    assert issued[39] - issued[19] == 20 * (1 + bubbles)


R2, R3, R4, R7, R8, R12, R13 = 2, 3, 4, 7, 8, 12, 13


@pytest.mark.parametrize(
    ("second", "flags", "third_hits"),
    [
        ((R2, R7, R8), 0, False),
        ((R2, R7, R8), 1, True),
        ((R7, R2, R8), 0, True),
        ((R4, R7, R8), 0, False),
    ],
)
def test_reuse_cache(second: tuple[int, int, int], flags: int, third_hits: bool) -> None:
    """Listing 4: IADD3 R1, R2.reuse, R3, R4; then FFMA; then IADD3 R10, R2, R12, R13."""
    ports = RegisterPorts()
    ports.read(0, 0, [R2 << 2, R3 << 2 | 1, R4 << 2 | 2], 1)
    before = ports.hits
    ports.read(10, 0, [r << 2 | k for k, r in enumerate(second)], flags)
    assert (ports.hits - before == 1) == (second[0] == R2)
    before = ports.hits
    ports.read(20, 0, [R2 << 2, R12 << 2 | 1, R13 << 2 | 2], 0)
    assert (ports.hits - before == 1) == third_hits


def test_another_warp_misses_the_reuse_cache() -> None:
    ports = RegisterPorts()
    ports.read(0, 0, [R2 << 2], 1)
    ports.read(10, 1, [R2 << 2], 0)
    assert ports.hits == 0


def sub_core(steps: list[Step], warps: int) -> list[int]:
    """The order in which warps of one sub-core issue."""
    trace = [visit(s.index) for s in steps]
    block: list[list[int]] = []
    for _ in range(warps):
        block += [trace, [], [], []]
    played = Player(AMPERE, steps, False, log_warps=4 * warps).play([block], 1)
    return [w // 4 for _, w, _ in sorted(played.log)]


def test_greedy_then_youngest() -> None:
    """Figure 4 (a), without its instruction-cache miss."""
    assert sub_core(steps_of(32), 4) == [3] * 32 + [2] * 32 + [1] * 32 + [0] * 32


def test_a_stall_count_gives_the_slot_away() -> None:
    """Figure 4 (b): the second instruction stalls for four cycles."""
    steps = steps_of(32)
    steps[1].stall = 4
    order = sub_core(steps, 4)
    assert order[:7] == [3, 3, 2, 2, 1, 1, 3]
    assert order[-30:] == [0] * 30


def test_yield_gives_the_slot_to_the_youngest_other_warp() -> None:
    """Figure 4 (c)."""
    steps = steps_of(32)
    steps[1].yields = True
    order = sub_core(steps, 4)
    assert order[:3] == [3, 3, 2]
    assert order[3] == 2 and order[4] == 3


def test_yield_alone_is_a_bubble() -> None:
    """Section 5.1.2: one cycle if there is no other warp."""
    steps = steps_of(4)
    steps[1].yields = True
    assert times(run(steps), 0) == [0, 1, 3, 4]


@pytest.mark.parametrize(
    ("memory", "raw", "war"), [(GLOBAL, 32, 11), (GLOBAL, 38, 11), (SHARED, 24, 9), (SHARED, 26, 9)]
)
def test_dependences_of_a_load(memory: int, raw: int, war: int) -> None:
    """Table 2: the consumer of the result, and the writer of the address register."""
    steps = steps_of(3)
    load = steps[0]
    load.fixed, load.memory, load.raw, load.war, load.write, load.read, load.stall = False, memory, raw, war, 0, 1, 2
    steps[1].wait = 1 << 1
    steps[2].wait = 1 << 0
    assert times(run(steps), 0) == [0, war, raw]


def test_depbar_waits_for_the_first_of_several() -> None:
    steps = steps_of(5)
    for s in steps[:3]:
        s.fixed, s.memory, s.raw, s.war, s.write = False, GLOBAL, 32, 11, 2
    steps[3].depbar = 2 << 8 | 2
    steps[4].depbar = 2 << 8 | 0
    assert times(run(steps), 0) == [0, 1, 2, 32, 40]


def test_a_wide_unit_takes_one_a_cycle_and_a_half_one_every_other() -> None:
    steps = [Step(k, FP32, 1) for k in range(8)]
    assert times(run(steps), 0) == list(range(8))
    trace = [visit(s.index) for s in steps]
    turing = Player(machine(75), steps, False, log_warps=1)
    for s in steps:
        s.hold = 2
    assert times(turing.play([[trace]], 1), 0) == list(range(0, 16, 2))


def test_every_sm_has_all_numbers() -> None:
    names = set(machine(80).numbers)
    for sm in (75, 80, 86, 87, 88, 89, 90, 100, 103, 110, 120, 121):
        assert set(machine(sm).numbers) == names, sm


def test_blocks_take_turns() -> None:
    """Two blocks on an SM that holds one take twice the time of one."""
    steps = steps_of(10)
    trace = [visit(s.index) for s in steps]
    one = Player(AMPERE, steps, False).play([[trace]], 1).cycles
    assert Player(AMPERE, steps, False).play([[trace]] * 2, 1).cycles == 2 * one


def test_a_barrier_waits_for_the_last_warp() -> None:
    steps = steps_of(4)
    steps[0].stall = 10
    steps[1].barrier = True
    short, whole = [visit(1), visit(2)], [visit(k) for k in range(4)]
    played = Player(AMPERE, steps, False, log_warps=2).play([[short, whole]], 1)
    assert times(played, 0)[1] >= times(played, 1)[1] + 30


def test_steps_of_operations() -> None:
    from orias.isa.op import op

    maker = StepMaker(86, 86)
    s = maker.make(0, op("LDG.E.128"), 7 << 5 | 7 << 8 | 1 << 4 | 1, True, False, -1, 0)
    assert (s.memory, s.raw, s.war, s.loads, s.fixed) == (GLOBAL, 38, 11, True, False)
    s = maker.make(0, op("LDS"), 7 << 5 | 7 << 8 | 2, True, True, -1, 0)
    assert (s.memory, s.raw, s.war, s.loads) == (SHARED, 23, 9, False)
    assert maker.make(0, op("HMMA.16816.F32"), 0, False, False, -1, 0).hold == 16
