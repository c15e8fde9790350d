"""How many rounds of spilling an allocation takes: the count, not the time, which depends on the machine."""

from typing import Any

import pytest

from orias.compiler import compile_text
from orias.isa.operand import K_R
from orias.options import Options
from orias.ori.ir import Func
from orias.ori.text import parse
from orias.regalloc import allocate, register_allocation
from orias.regalloc.allocate import Assignment
from orias.regalloc.coalesce import Classes, Cls, coalesce
from orias.regalloc.ranges import Ranges
from orias.regalloc.register_allocation import allocate_checked
from orias.regalloc.wgmma_spill import gather_accumulators
from tests.builds import replaces_functions

pytestmark = replaces_functions


@pytest.fixture
def rounds(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Gets the number of classes of each round."""
    out: list[int] = []

    def counted(rg: Ranges) -> Classes:
        classes = coalesce(rg)
        out.append(sum(1 for _ in classes.all()))
        return classes

    monkeypatch.setattr(register_allocation, "coalesce", counted)
    return out


def _turned(stages: int, values: int, limit: int) -> str:
    """In each stage a vector of 64 words becomes another, word by word in reverse order, while `values` values are live.

    At each point there are registers for all words, but the two vectors cannot share theirs.
    """
    code = ["  v256:R = S2R SR_TID.X"]
    number = 300
    for _ in range(stages):
        held = range(number, number + values)
        code += [f"  v{v}:R = LDS -, v256, URZ, 0x{4 * v:x}" for v in held]
        first = number + values
        code.append(f"  v{first}:R64 = LDTM.x64 v270")
        code += [f"  v{first + 1 + k}:R = IADD3 -, -, v{first}.{63 - k}, 0x1, RZ" for k in range(64)]
        number = first + 65
        code.append(f"  v{number}:R64 = pack " + ", ".join(f"v{first + 1 + k}" for k in range(64)))
        code.append(f"  STTM.x64 v270, v{number}")
        code += [f"  STS -, v256, URZ, 0x{4 * v:x}, v{v}" for v in held]
        number += 1
    head = f".func k sm_100a entry ssa\n.regs {limit} 0\nb0:\n  v270:UR = copy 0x0\n"
    return head + "\n".join(code) + "\n  EXIT\n"


def test_hundreds_of_values_without_a_place(rounds: list[int]) -> None:
    fn = parse(_turned(6, 90, 168))
    allocate_checked(fn)
    assert 1000 < fn.spill_stores <= 1320
    # Where each round takes away only as many registers as the number of rounds before tells, it takes 10.
    assert len(rounds) <= 9, rounds


@pytest.mark.in_turn(2)
def test_the_tightest_packing_comes_first_once_places_were_short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Preferences count again only where it has a place for all."""
    tried: list[tuple[bool, bool]] = []
    attempt = allocate.attempt

    def noted(
        classes: Classes, file: int, todo: list[Cls], result: Assignment, comfort: bool, *rest: Any, **named: Any
    ) -> list[Cls]:
        failed = attempt(classes, file, todo, result, comfort, *rest, **named)
        if file == K_R:
            tried.append((comfort, not failed))
        return failed

    monkeypatch.setattr(allocate, "attempt", noted)
    allocate_checked(parse(_turned(6, 90, 168)))
    short = tried.index((True, False))
    later = [k for k in range(short + 1, len(tried)) if tried[k][0]]
    assert len(tried) > short + 3
    assert all(tried[k - 1] == (False, True) for k in later), tried


def _pending(operations: int) -> str:
    """Products with two accumulators of 64 words, and A of 4 words in registers, that are all pending at once."""
    acc = [[f"%f{64 * half + k}" for k in range(64)] for half in (0, 1)]
    a = [[f"%r{4 * n + k}" for k in range(4)] for n in range(operations)]
    lines = [f"mov.f32 {x}, 0f00000000;" for half in acc for x in half]
    for n, words in enumerate(a):
        lines.append(f"ld.shared.v4.b32 {{{', '.join(words)}}}, [%rd1+{16 * n}];")
    lines.append("wgmma.fence.sync.aligned;")
    for n, words in enumerate(a):
        lines.append(
            f"wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 {{{', '.join(acc[n % 2])}}}, "
            f"{{{', '.join(words)}}}, %rd2, 1, 1, 1, 1;"
        )
    lines += ["wgmma.commit_group.sync.aligned;", "wgmma.wait_group.sync.aligned 0;"]
    lines += [f"st.shared.f32 [%rd1+{4 * k}], {x};" for k, x in enumerate(acc[0] + acc[1])]
    body = "\n".join(lines)
    return f""".version 8.0
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 p, .param .u64 q) .maxntid 288
{{
.reg .f32 %f<128>; .reg .b32 %r<{4 * operations}>; .reg .b64 %rd<3>;
ld.param.u64 %rd1, [p];
ld.param.u64 %rd2, [q];
{body}
ret;
}}
"""


@pytest.mark.in_turn(2)
@pytest.mark.parametrize(("operations", "serial"), [(2, False), (8, True)])
def test_operations_that_cannot_be_pending(
    rounds: list[int], monkeypatch: pytest.MonkeyPatch, operations: int, serial: bool
) -> None:
    """That eight A of 4 words and two accumulators are too many for the registers from R24 on is known without spilling."""

    def gathered(fn: Func) -> None:
        rounds.append(0)
        gather_accumulators(fn)

    monkeypatch.setattr(register_allocation, "gather_accumulators", gathered)
    options = Options("sm_90a")
    options.self_check = True
    options.maxrregcount = 168
    compile_text([("k", _pending(operations))], options)
    assert (0 in rounds) == serial
    assert not serial or rounds.index(0) == 1, rounds
