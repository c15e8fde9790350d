"""Fences and acquires in capsules: what nvlink makes of them for the sibling waits as the code itself does."""

from pathlib import Path

import pytest

from orias.timing.ctl import wait_mask, write_barrier
from tests.cubin.test_capsule_writer import compiled, finalised
from tests.schedule.decoded import code_of
from tests.schedule.test_acquire_waits import _TEXT

ACQUIRES = {
    "ld.acquire.gpu.global.u32 %r2, [%p];": ("STRONG", "CCTL"),
    "ld.acquire.cta.global.u32 %r2, [%p];": ("STRONG", "NOP"),
    "atom.acq_rel.gpu.global.add.u32 %r2, [%p], %r1;": ("ATOMG", "CCTL"),
    "atom.acq_rel.gpu.global.cas.b32 %r2, [%p], 0, 1;": ("ATOMG", "CCTL"),
}
"""The acquire, its access, and what waits for that."""


@pytest.mark.parametrize("arch", ["sm_100", "sm_120"])
@pytest.mark.parametrize("body", ACQUIRES)
def test_an_acquire_waits_for_its_access_in_both(body: str, arch: str, tmp_path: Path) -> None:
    access, waits = ACQUIRES[body]
    data = compiled(_TEXT.format(arch=arch, body=body), arch).data
    for insts in (code_of(data), code_of(finalised(data, arch, tmp_path))):
        stores = next(k for k, d in enumerate(insts) if d.op.base == "STG")
        first = max(k for k in range(stores) if access in insts[k].op.name)
        then = next(k for k in range(first, len(insts)) if insts[k].op.base == waits)
        assert wait_mask(insts[then].ctl) >> write_barrier(insts[first].ctl) & 1
