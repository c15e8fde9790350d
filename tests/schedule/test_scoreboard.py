"""Control words of the assigner, judged by the hazard checker; and the checker judged by damaging good code."""

import random

import pytest

import orias
from orias.check import check_cubin
from orias.ori.ir import Func
from orias.ori.text import parse
from orias.schedule.block_order import layout
from orias.schedule.hazard_check import check_hazards
from orias.schedule.scoreboard import assign
from orias.schedule.serial_scheme import schedule_serial
from orias.timing.ctl import (
    NO_BARRIER,
    YIELD,
    read_barrier,
    stall,
    wait_mask,
    with_stall,
    write_barrier,
)
from tests.control_words import with_wait, with_write
from tests.effort import lines_executed

SIMPLE = """\
.func k sm_90 entry allocated
b0: -> b2 b1
  R0 = S2R SR_TID.X
  R2 = LDC.64 c[0x0][0x210], RZ
  UR4 = ULDC.64 c[0x0][0x208], URZ
  R2 = IMAD.WIDE R0, 0x4, R2
  R4 = LDG.E UR4, R2, URZ, 0x0
  P0, PT = ISETP.GE.AND R0, 0x4, PT
  R4 = IADD3 R4, 0x1, RZ
  STG.E UR4, R2, URZ, 0x0, R4
  R4 = MOV 0x5
  @P0 BRA
b1: -> b2
  STG.E UR4, R2, URZ, 0x8, R4
b2:
  EXIT
"""


def scheduled(text: str) -> Func:
    fn = parse(text)
    layout(fn)
    assign(fn)
    return fn


def test_effort_grows_with_the_arms_of_a_loop() -> None:
    """Stores of each arm are pending at all others: four times the arms must not take much more than four times the work."""

    def cost(count: int) -> int:
        arms = "".join(
            f"b{k}: -> b0\n  R4 = LDG.E UR4, R2, URZ, 0x{4 * k:x}\n  R5 = IADD3 R4, R5, RZ\n"
            f"  STG.E UR4, R2, URZ, 0x{4 * k:x}, R5\n  BRA\n"
            for k in range(1, count + 1)
        )
        targets = " ".join(f"b{k}" for k in range(1, count + 1))
        fn = parse(f".func k sm_80 entry allocated\nb0: -> {targets}\n  R6 = IADD3 R4, R4, RZ\n{arms}")
        return lines_executed(lambda: assign(fn))

    cost(5)
    assert cost(400) <= 5 * cost(100)


def test_simple_kernel() -> None:
    fn = scheduled(SIMPLE)
    rows = [(i.op.base, stall(i.ctl), write_barrier(i.ctl), read_barrier(i.ctl), wait_mask(i.ctl)) for i in fn.insts()]
    none = NO_BARRIER
    assert rows == [
        ("S2R", 2, 0, none, 0),
        ("LDC", 2, 1, none, 0),
        ("ULDC", 2, none, none, 0),
        ("IMAD", 5, none, none, 3),
        ("LDG", 1, 2, none, 0),
        ("ISETP", 2, none, none, 0),
        ("IADD3", 5, none, none, 4),
        ("STG", 2, none, 0, 0),
        ("MOV", 4, none, none, 1),
        ("BRA", 5, none, none, 0),
        ("STG", 1, none, none, 0),
        ("EXIT", 5, none, none, 0),
    ]
    assert check_hazards(fn) == []


def test_a_warp_yields_after_ten_cycles() -> None:
    """Operations of one pipe have stalls of 2; each tenth cycle of a block clears the yield bit, as does a longer stall."""
    body = "".join(f"  R{2 + k} = LOP3.LUT R0, R1, RZ, 0x3c, !PT\n" for k in range(8))
    late = "  R20 = IADD3 R9, 0x1, RZ\n  R21 = IADD3 R20, 0x1, RZ\n"
    fn = scheduled(f".func k sm_90 entry allocated\nb0: -> b1\n{body}b1:\n{body}{late}  EXIT\n")
    rows = [(stall(i.ctl), i.ctl & YIELD == 0) for i in fn.insts()]
    stays, yields = (2, False), (2, True)
    assert rows[:8] == [*[stays] * 5, yields, stays, (1, False)]
    assert rows[8:15] == [*[stays] * 5, yields, stays]
    assert rows[15:17] == [(4, True), (4, True)]


def test_serial_code_has_no_hazards() -> None:
    fn = parse(SIMPLE)
    layout(fn)
    schedule_serial(fn)
    assert check_hazards(fn) == []


def test_distance_beyond_the_stall_field() -> None:
    fn = scheduled("""\
.func k sm_80 entry allocated
b0:
  R4 = HMMA.16816.F32 R8, R12, RZ
  R0 = FADD R4, R5
  EXIT
""")
    assert [(i.op.base, stall(i.ctl)) for i in fn.insts()] == [("HMMA", 15), ("NOP", 9), ("FADD", 1), ("EXIT", 5)]
    assert check_hazards(fn) == []


def test_many_distant_loads_leave_scoreboards_to_short_waits() -> None:
    # Ten loads, each through the address register of the one before: overwriting it waits for its reader only.
    loads = "".join(f"  R2 = IMAD.WIDE R0, 0x{n:x}, R4\n  R{n} = LDG.E UR4, R2, URZ, 0x0\n" for n in range(10, 20))
    uses = "".join(f"  R{n} = IADD3 R{n}, 0x1, RZ\n" for n in range(10, 20))
    fn = scheduled(f".func k sm_90 entry allocated\nb0:\n{loads}{uses}  EXIT\n")
    assert check_hazards(fn) == []
    pending: set[int] = set()
    for i in fn.insts():
        if i.op.base == "IMAD":
            assert not any(wait_mask(i.ctl) >> n & 1 for n in pending)
        elif i.op.base == "LDG":
            pending.add(write_barrier(i.ctl))
    assert len(pending) > 1


def test_latency_across_a_loop_back_edge() -> None:
    fn = scheduled("""\
.func k sm_80 entry allocated
b0: -> b1
  R0 = MOV 0x5
b1: -> b2 b1
  R0 = FADD R0, R0
  @P0 BRA
b2:
  EXIT
""")
    assert check_hazards(fn) == []
    rows = [(i.op.base, stall(i.ctl)) for i in fn.insts()]
    assert rows[0] == ("MOV", 5)
    assert rows[1][1] + rows[2][1] >= 4


def test_calls_wait_for_everything() -> None:
    fn = scheduled("""\
.func k sm_80 entry allocated
.sym func f 0
b0:
  R4 = LDG.E -, R2, URZ, 0x0
  R5 = MOV 0x5
  CALL.REL.NOINC sym0 ; call f abi ffff 7f 0 7f 3f
  R6 = IADD3 R5, R4, RZ
  EXIT
""")
    call = next(i for i in fn.insts() if i.op.base == "CALL")
    assert wait_mask(call.ctl) == 1 << 2
    assert check_hazards(fn) == []


def test_async_copies_keep_scoreboard_zero() -> None:
    fn = scheduled("""\
.func k sm_80 entry allocated
b0:
  R0 = S2R SR_TID.X
  LDGSTS.E -, R0, URZ, 0x0, -, R2, URZ, 0x0
  LDGDEPBAR
  DEPBAR.LE SB0, 0x0
  EXIT
""")
    rows = [(i.op.base, write_barrier(i.ctl), read_barrier(i.ctl)) for i in fn.insts()]
    assert rows[0][1] == 1
    assert rows[2] == ("LDGDEPBAR", 0, NO_BARRIER)
    assert stall(next(i for i in fn.insts() if i.op.base == "LDGDEPBAR").ctl) >= 2


def damage(fn: Func, rng: random.Random) -> bool:
    """Break one thing that matters in a control word; False if the pick cannot be broken."""
    insts = [i for b in fn.blocks for i in b.insts]
    inst = rng.choice(insts)
    what = rng.randrange(3)
    if what == 0 and stall(inst.ctl) > 1 and inst.op.base not in ("BRA", "EXIT", "NOP", "STS", "STG", "LDG", "LDS"):
        inst.ctl = with_stall(inst.ctl, 1)
        return True
    if what == 1 and wait_mask(inst.ctl):
        inst.ctl = with_wait(inst.ctl, 0)
        return True
    if what == 2 and write_barrier(inst.ctl) != NO_BARRIER:
        inst.ctl = with_write(inst.ctl, NO_BARRIER)
        return True
    return False


def random_function(rng: random.Random, sm: str) -> str:
    """An allocated function with branches and loops over few registers."""
    blocks = rng.randrange(1, 7)
    lines = [f".func k {sm} entry allocated"]
    for n in range(blocks):
        last = n == blocks - 1
        kind = 0 if last else rng.randrange(3)
        other = rng.randrange(1, blocks) if blocks > 1 else 0
        succs = [] if last else [n + 1] if kind == 0 else [n + 1, other]
        if len(succs) == 2 and succs[0] == succs[1]:
            succs = succs[:1]
        lines.append(f"b{n}:" + (" -> " + " ".join(f"b{s}" for s in succs) if succs else ""))
        for _ in range(rng.randrange(1, 9)):
            d, a, b, c = (rng.randrange(2, 12) for _ in range(4))
            e = rng.randrange(1, 6) * 2
            f = rng.randrange(1, 6) * 2
            p, q = rng.randrange(3), rng.randrange(3)
            guard = f"@{'!' * rng.randrange(2)}P{q} " if rng.random() < 0.2 else ""
            u = rng.randrange(4, 8)
            lines.append(
                "  "
                + guard
                + rng.choice(
                    [
                        f"R{d} = IADD3 R{a}, R{b}, R{c}",
                        f"R{d} = FFMA R{a}, R{b}, R{c}",
                        f"R{e} = IMAD.WIDE R{a}, R{b}, R{f}",
                        f"P{p}, PT = ISETP.GE.AND R{a}, R{b}, P{q}",
                        f"R{d} = SEL R{a}, R{b}, P{p}",
                        f"R{d} = MUFU.RCP R{a}",
                        f"R{e} = LDG.E.64 -, R{f}, URZ, 0x10",
                        f"STG.E -, R{f}, URZ, 0x0, R{a}",
                        f"R{d} = LDS R{a}, RZ, 0x0".replace("LDS R", "LDS -, R").replace(", RZ,", ", URZ,"),
                        f"STS -, R{a}, URZ, 0x0, R{b}",
                        f"R{d}, P{p} = SHFL.BFLY R{a}, 0x1, 0x1f",
                        f"R{e} = DADD R{f}, R{e}",
                        f"R{d} = MOV UR{u}",
                        f"UR{u} = UIADD3 UR{rng.randrange(4, 8)}, 0x1, URZ",
                        f"R{d} = S2R SR_TID.X",
                        f"R{d} = POPC R{a}",
                    ]
                )
            )
        if last:
            lines.append("  EXIT")
        elif len(succs) == 2:
            lines.append(f"  @P{rng.randrange(3)} BRA")
    return "\n".join(lines) + "\n"


@pytest.mark.in_turn(3)
@pytest.mark.parametrize("sm", ["sm_75", "sm_80", "sm_86", "sm_89", "sm_90"])
def test_random_functions(sm: str) -> None:
    rng = random.Random(sm)
    for n in range(60):
        text = random_function(rng, sm)
        fn = parse(text)
        layout(fn)
        assign(fn)
        faults = check_hazards(fn)
        assert faults == [], f"{n}:\n{text}\n" + "\n".join(faults)


def test_the_checker_sees_damage() -> None:
    """Most single faults in tight code must be seen (some remove a wait or a stall that something else covers)."""
    rng = random.Random(5)
    broken = seen = 0
    while broken < 150:
        fn = parse(random_function(rng, "sm_80"))
        layout(fn)
        assign(fn)
        if damage(fn, rng):
            broken += 1
            seen += bool(check_hazards(fn))
    assert seen > 100, f"{seen} of {broken}"


def test_a_guarded_late_write_leaves_the_earlier_result_in_flight() -> None:
    """``@P1 FLO`` after ``IADD3``: where P1 is false, a store reads the sum, which needs its own cycles (sm_75: 8)."""
    text = """.version 7.0
.target sm_75
.address_size 64
.visible .entry k(.param .u64 o, .param .u64 a) {
  .reg .b64 %rd<4>; .reg .b32 %r<3>;
  ld.param.u64 %rd1, [o]; ld.param.u64 %rd2, [a];
  bfind.shiftamt.u64 %r1, %rd2; st.global.u32 [%rd1], %r1; ret;
}
"""
    assert check_cubin(orias.compile(text, arch="sm_75").data) == []


def test_loads_before_a_loop_leave_a_scoreboard_to_the_load_in_it() -> None:
    # Twelve loads that the first iteration waits for one after the other, and one in each iteration that its end waits for.
    before = "".join(f"  R{n} = LDG.E UR4, R2, URZ, 0x{4 * n:x}\n" for n in range(10, 22))
    reads = "".join(f"  R{n} = IADD3 R{n}, R{n}, RZ\n  R5 = IADD3 R5, R{n}, RZ\n" for n in range(10, 22))
    fn = parse(f"""\
.func k sm_90 entry allocated
b0: -> b1
{before}b1: -> b2 b1
  R30 = LDG.E UR4, R6, URZ, 0x0
{reads}  R5 = IADD3 R5, R30, RZ
  P0, PT = ISETP.LT.AND R5, R8, PT
  @P0 BRA
b2:
  EXIT
""")
    layout(fn)
    assign(fn)
    assert check_hazards(fn) == []
    loop = fn.blocks[1].insts
    own = write_barrier(loop[0].ctl)
    assert [i.op.base for i in loop if wait_mask(i.ctl) >> own & 1] == ["IADD3"]
    assert wait_mask(loop[-3].ctl) >> own & 1
