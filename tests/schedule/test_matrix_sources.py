"""What an H200 showed of matrix operations (docs/gpu-runs.md): how soon a source may be overwritten, and where warps may stop."""

from itertools import pairwise

import pytest

import orias
from orias.analysis.access import UR_BASE
from orias.check.touch import touch
from orias.cubin.reader import Reader
from orias.isa.decode import Decoded
from orias.isa.isa_table import load
from orias.target.profile import profile_of_sm
from orias.timing.ctl import stall, wait_mask
from orias.timing.needs import Facts
from tests.kernels.matrix import cases


def instructions(name: str, arch: str) -> list[Decoded]:
    """The code of the kernel, in order."""
    reader = Reader(orias.compile(cases.source(name)[0], arch=arch, self_check=True).data)
    table = load(profile_of_sm(reader.sm).table)
    code = next(s.data for s in reader.elf.sections if s.name.startswith(".text."))
    return [table.decode(int.from_bytes(code[k : k + 16], "little")) for k in range(0, len(code), 16)]


@pytest.mark.in_turn(3)
@pytest.mark.parametrize(
    ("name", "arch"), [("attention_f16", "sm_90a"), ("matmul_f16", "sm_80"), ("matmul_tf32", "sm_120a")]
)
def test_short_operations_leave_sources_for_7_cycles(name: str, arch: str) -> None:
    """3 cycles gave wrong results."""
    code = instructions(name, arch)
    facts = Facts(int(arch[3:].rstrip("a")))
    seen = 0
    for k, d in enumerate(code):
        if d.op.base != "HMMA":
            continue
        sources = sum(1 << u for u in {u for u, _ in touch(d).reads} if u < UR_BASE)
        cycles = 0
        for before, after in pairwise(code[k : k + 8]):
            cycles += stall(before.ctl)
            if after.op.base == "BRA" or cycles >= 7:
                break
            if touch(after).write_set & sources and not facts.needs(after) & 1 and not after.op.base.endswith("MMA"):
                pytest.fail(f"{after} {cycles} cycles after {d}")
            seen += 1
    assert seen


@pytest.mark.in_turn(2)
@pytest.mark.parametrize("name", ["hopper_bf16", "hopper_grouped_bf16"])
def test_no_warp_waits_between_an_arrival_and_its_operation(name: str) -> None:
    code = instructions(name, "sm_90a")
    arrivals = [k for k, d in enumerate(code) if d.op.name == "WARPGROUP.ARRIVE"]
    assert arrivals
    for k in arrivals:
        operation = next(i for i in range(k, len(code)) if code[i].op.base == "HGMMA")
        assert operation - k <= 6
        assert not any(wait_mask(d.ctl) for d in code[k + 1 : operation + 1])
