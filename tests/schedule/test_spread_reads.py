"""Reads of registers that collide are spread over the banks after scheduling."""

import itertools

import pytest

import orias
from orias.isa.operand import K_R, in_file, reg_id
from orias.knobs.knob_settings import from_dict
from orias.options import Options
from orias.ori.text import parse
from orias.perf.kernel_steps import kernels
from orias.schedule.scheduling import post_ra
from orias.schedule.spread_reads import lean
from orias.timing.machine_numbers import machine
from orias.timing.play import Player, visit

PRODUCTS = """\
.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 p, .param .u64 q)
{{
.reg .f32 %a<9>, %b<9>, %c<80>;
.reg .b64 %p, %q;
ld.param.u64 %p, [p];
ld.param.u64 %q, [q];
{body}
ret;
}}
"""


def products(n: int) -> str:
    """All products of two groups of numbers, each added up with the one before."""
    lines = [f"ld.global.f32 %a{k}, [%p+{4 * k}];" for k in range(n)]
    lines += [f"ld.global.f32 %b{k}, [%q+{4 * k}];" for k in range(n)]
    lines += [f"mul.rn.f32 %c{n * i + j}, %a{i}, %b{j};" for i in range(n) for j in range(n)]
    for _ in range(3):
        lines += [
            f"fma.rn.f32 %c{n * i + j}, %a{j}, %b{i}, %c{n * i + j};" if j % 2 else f"fma.rn.f32 %c{n * i + j}, %b{j}, %a{i}, %c{n * i + j};"
            for i in range(n)
            for j in range(n)
        ]  # fmt: skip
    lines += [f"st.global.f32 [%q+{4 * k}], %c{k};" for k in range(n * n)]
    return PRODUCTS.format(body="\n".join(lines))


def lost(arch: str, text: str, **knobs: int) -> int:
    """Cycles lost to register banks."""
    data = orias.compile(text, arch=arch, knobs=knobs).data
    (code,) = kernels(data)
    played = Player(machine(code.profile.sm), code.steps, False).play([[[visit(k) for k in range(len(code.steps))]]], 1)
    return played.port_bubbles


@pytest.mark.in_turn(3)
@pytest.mark.parametrize("arch", ["sm_86", "sm_90a", "sm_120a"])
def test_fewer_cycles_are_lost(arch: str) -> None:
    before, after = (lost(arch, products(5), SchedBankBudget=n) for n in (0, 100))
    assert before > 5 and after * 3 < before * 2, (before, after)


@pytest.mark.in_turn(2)
@pytest.mark.parametrize("arch", ["sm_86", "sm_90a"])
def test_reads_of_a_dozen_instructions_add_up(arch: str) -> None:
    """With four instructions before each collision in view, 21 cycles and more were lost."""
    assert lost(arch, products(8)) <= 14


LONG_STALLS = """\
.func k sm_90 entry allocated
b0:
  R4 = HMMA.16816.F32 R8, R12, RZ
  R20 = FFMA R16, R18, R22
  R24 = FFMA R18, R26, R28
  R30 = FFMA R32, R18, R34
  R36 = FFMA R18, R28, R26
  R38 = FFMA R34, R18, R32
  R9 = FADD R24, R4
  R9 = FADD R9, R20
  R9 = FADD R9, R30
  R9 = FADD R9, R36
  R9 = FADD R9, R38
  STG.E -, R2, URZ, 0x0, R9
  EXIT
"""


def test_nops_do_not_stay_from_before() -> None:
    """Control words are set twice where registers change; with the NOPs of the first time a product had three after it."""
    fillers: list[int] = []
    sources: list[list[list[int]]] = []
    for budget in (0, 100):
        fn = parse(LONG_STALLS)
        fn.knobs = from_dict({"SchedBankBudget": budget}).values("k", [])
        post_ra(fn, Options(opt_level=3))
        fillers.append(sum(i.op.name == "NOP" for i in fn.insts()))
        sources.append([i.src for i in fn.insts()])
    assert fillers[0] == fillers[1] > 0
    assert sources[0] != sources[1], "nothing changed, so nothing is shown"


def registers_of_crowded_bank(most: int, helper: bool = False) -> int:
    """The registers of products of eight values in even registers, where the odd ones are needed again afterwards."""
    lines = [f"  R{4 + 2 * k} = FADD R2, R{3 + 2 * k}" for k in range(8)]
    lines += [
        f"  R{4 + 2 * (k % 8)} = FFMA R{4 + 2 * (k % 8)}, R{4 + 2 * ((k + 1) % 8)}, R{4 + 2 * ((k + 3) % 8)}"
        for k in range(24)
    ]
    lines += [f"  STG.E -, R20, URZ, {4 * k:#x}, R{3 + k}" for k in range(16)]
    kind = "helper" if helper else "entry"
    fn = parse("\n".join([f".func k sm_90 {kind} allocated", f".regs {most} 24", "b0:", *lines, "  EXIT", ""]))
    post_ra(fn, Options(opt_level=3))
    return fn.reg_count


def test_registers_that_cost_no_occupancy_are_taken() -> None:
    assert 24 < registers_of_crowded_bank(255) <= 32
    assert registers_of_crowded_bank(24) == 24
    assert registers_of_crowded_bank(255, helper=True) == 24


def shared_factors(losses: int, worth: int) -> int:
    """How many of 16 products of even registers read a factor of the one before, where four others with none of their factors were before."""
    lines = [
        f"  R{40 + 2 * k} = FFMA R{20 + 2 * (k % 4)}, R{28 + 2 * ((k + k // 4) % 4)}, R{40 + 2 * k}" for k in range(16)
    ]
    fn = parse("\n".join([".func k sm_90 entry allocated", "b0:", *lines, "  EXIT", ""]))
    fn.knobs = from_dict({"SchedBankLosses": losses, "SchedSharedSources": worth, "SchedBankBudget": 0}).values("k", [])
    post_ra(fn, Options(opt_level=3))
    factors = [{reg_id(o) for o in i.src[:2]} for i in fn.insts() if i.op.base == "FFMA"]
    assert len(factors) == 16
    return sum(not a.isdisjoint(b) for a, b in itertools.pairwise(factors))


def test_products_that_share_a_factor_follow_one_another() -> None:
    assert shared_factors(1_000_000, 50) < 4
    assert shared_factors(60, 50) > 9


def changes_of_bank(losses: int) -> int:
    """How often the bank changes from one of 16 products to the next, where eight read even registers and the eight after them odd ones."""
    lines = [
        f"  R{100 + 8 * (k % 8) + k // 8} = FFMA R{12 + 2 * (k % 8) + k // 8}, R{30 + 2 * (k % 8) + k // 8}, R{50 + 2 * (k % 8) + k // 8}"
        for k in range(16)
    ]
    fn = parse("\n".join([".func k sm_90 entry allocated", "b0:", *lines, "  EXIT", ""]))
    fn.knobs = from_dict({"SchedBankLosses": losses, "SchedBankBudget": 0}).values("k", [])
    post_ra(fn, Options(opt_level=3))
    banks = [reg_id(i.src[0]) & 1 for i in fn.insts() if i.op.base == "FFMA"]
    assert len(banks) == 16
    return sum(a != b for a, b in itertools.pairwise(banks))


def test_products_of_one_bank_follow_those_of_the_other() -> None:
    assert changes_of_bank(1_000_000) < 4
    assert changes_of_bank(60) > 11


LEANING = """\
.func k sm_90 entry allocated
b0:
  R4 = LDG.E -, R2, URZ, 0x0
  R6 = LDG.E -, R2, URZ, 0x4
  R8 = LDG.E -, R2, URZ, 0x8
  R10 = LDG.E -, R2, URZ, 0xc
  R12, - = LOP3.LUT R4, R6, R8, 0x96, !PT
  R14, - = LOP3.LUT R6, R8, R10, 0x96, !PT
  R15 = FADD R4, R6
  R17, - = LOP3.LUT R12, R14, R4, 0x96, !PT
  R15 = FADD R15, R17
  R19 = FADD R17, R15
  R21 = FADD R19, R15
  STG.E -, R2, URZ, 0x0, R21
  EXIT
"""


def test_registers_of_quads_stay() -> None:
    """Threads that only help their quad have values in all registers but those that the function sets apart for quads."""
    fn = parse(LEANING.replace("b0:", ".quads fff0\nb0:"))
    before = [(i.op.name, i.dst, i.src) for i in parse(LEANING).insts()]
    post_ra(fn, Options(opt_level=3))
    assert all((i.op.name, i.dst, i.src) in before for i in fn.insts() if i.op.base in ("LOP3", "FADD", "STG", "LDG"))


def test_sources_are_spread_though_nothing_collides() -> None:
    """Loads apart, nothing follows closely enough to collide in a warp alone, but three even registers keep a bank busy for three cycles."""
    found = []
    for budget in (0, 100):
        fn = parse(LEANING)
        fn.knobs = from_dict({"SchedBankBudget": budget}).values("k", [])
        post_ra(fn, Options(opt_level=3))
        found.append(
            sum(
                lean([reg_id(o) << 2 for o in i.src if in_file(o, K_R)])
                for i in fn.insts()
                if i.op.base in ("LOP3", "FADD")
            )
        )
    assert found[1] < 4 < 9 < found[0], found
