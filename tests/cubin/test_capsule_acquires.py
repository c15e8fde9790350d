"""Fences and acquires in capsules: what nvlink makes of them for the sibling waits as the code itself does."""

from pathlib import Path

import pytest

from orias.cubin.elf import ElfFile
from orias.isa.decode import Decoded
from orias.isa.isa_table import load
from orias.target.decoder_class import table_of_sm
from orias.timing.ctl import wait_mask, write_barrier
from orias.tools.cubin_target import sm_number
from tests.cubin.test_capsule_writer import compiled, finalised
from tests.schedule.test_acquire_waits import _TEXT

ACQUIRES = {
    "ld.acquire.gpu.global.u32 %r2, [%p];": ("STRONG", "CCTL"),
    "ld.acquire.cta.global.u32 %r2, [%p];": ("STRONG", "NOP"),
    "atom.acq_rel.gpu.global.add.u32 %r2, [%p], %r1;": ("ATOMG", "CCTL"),
    "atom.acq_rel.gpu.global.cas.b32 %r2, [%p], 0, 1;": ("ATOMG", "CCTL"),
}
"""The acquire, its access, and what waits for that."""


def code(data: bytes) -> list[Decoded]:
    file = ElfFile(data)
    text = next(s.data for s in file.sections if s.name == ".text.k")
    table = load(table_of_sm(sm_number(file)))
    return [table.decode(int.from_bytes(text[k : k + 16], "little")) for k in range(0, len(text), 16)]


@pytest.mark.parametrize("arch", ["sm_100", "sm_120"])
@pytest.mark.parametrize("body", ACQUIRES)
def test_an_acquire_waits_for_its_access_in_both(body: str, arch: str, tmp_path: Path) -> None:
    access, waits = ACQUIRES[body]
    data = compiled(_TEXT.format(arch=arch, body=body), arch).data
    for insts in (code(data), code(finalised(data, arch, tmp_path))):
        stores = next(k for k, d in enumerate(insts) if d.op.base == "STG")
        first = max(k for k in range(stores) if access in insts[k].op.name)
        then = next(k for k in range(first, len(insts)) if insts[k].op.base == waits)
        assert wait_mask(insts[then].ctl) >> write_barrier(insts[first].ctl) & 1
