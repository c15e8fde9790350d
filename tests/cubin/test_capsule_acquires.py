"""Fences and acquires in capsules: what nvlink makes of them for the sibling waits as the code itself does."""

from pathlib import Path

import pytest

from orias.isa.operand import NOT_PT
from orias.timing.ctl import wait_mask, write_barrier
from tests.cubin.test_capsule_writer import compiled, finalised
from tests.schedule.decoded import code_of
from tests.schedule.test_acquire_waits import _TEXT

ACQUIRES = {
    "ld.acquire.gpu.global.u32 %r2, [%p];": ("STRONG", "CCTL"),
    "ld.acquire.cta.global.u32 %r2, [%p];": ("STRONG", "NOP"),
    "atom.acq_rel.gpu.global.add.u32 %r2, [%p], %r1;": ("ATOMG", "CCTL"),
    "atom.acq_rel.gpu.global.cas.b32 %r2, [%p], 0, 1;": ("ATOMG", "CCTL"),
    "atom.acquire.gpu.global.or.b32 _, [%p], %r1; mov.u32 %r2, 0;": ("ATOMG", "CCTL"),
    "ld.acquire.cta.shared.u32 %r2, [%r1];": ("LDS", "NOP"),
    "ld.acquire.gpu.shared.u32 %r2, [%r1];": ("LDS", "CCTL"),
    "atom.acquire.cta.global.add.u32 %r2, [%p], %r1;": ("ATOMG", "NOP"),
    "atom.acquire.cta.global.or.b32 _, [%p], %r1; mov.u32 %r2, 0;": ("ATOMG", "NOP"),
    "atom.acq_rel.cta.global.cas.b32 %r2, [%p], 0, 1;": ("ATOMG", "NOP"),
    "atom.acq_rel.cta.exch.b32 %r2, [%p], %r1;": ("ATOM.", "NOP"),
    "{.reg .b64 %d; atom.acq_rel.cta.or.b64 %d, [%p], %q; cvt.u32.u64 %r2, %d; }": ("ATOM.E.OR", "NOP"),
    "{.reg .f32 %f; atom.acquire.cta.add.f32 %f, [%p], %f; mov.b32 %r2, %f; }": ("ATOM.E.ADD", "NOP"),
    "atom.acquire.cta.shared.cas.b32 %r2, [s], 0, 1;": ("ATOMS", "NOP"),
    "st.global.u32 [%o + 64], %r1; atom.acquire.cta.shared.exch.b32 %r2, [s], 1;": ("ATOMS", "NOP"),
    "atom.acq_rel.cta.shared.exch.b32 _, [s], 1; mov.u32 %r2, 0;": ("ATOMS", "NOP"),
}
"""The acquire, its access, and what waits for that."""


@pytest.mark.in_turn(4)
@pytest.mark.parametrize("arch", ["sm_100", "sm_120"])
@pytest.mark.parametrize("body", ACQUIRES)
def test_an_acquire_waits_for_its_access_in_both(body: str, arch: str, tmp_path: Path) -> None:
    access, waits = ACQUIRES[body]
    result = compiled(_TEXT.format(arch=arch, body=body), arch)
    assert not result.no_capsule
    data = result.data
    for insts in (code_of(data), code_of(finalised(data, arch, tmp_path))):
        first = next(k for k, d in enumerate(insts) if access in d.op.name and d.guard != NOT_PT)
        then = next(k for k in range(first, len(insts)) if insts[k].op.base == waits)
        assert wait_mask(insts[then].ctl) >> write_barrier(insts[first].ctl) & 1
