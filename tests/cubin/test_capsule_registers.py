"""Special registers of newer PTX have capsules too: reads that no system value of Mercury gives are stated as plain words."""

from pathlib import Path

import pytest

from orias.compiler import compile_text
from orias.cubin.capsule.capsule_parser import capsules
from orias.cubin.elf import ElfFile
from orias.options import Options
from tools.capsules.campaign import differences
from tools.capsules.finalising import finalise

TEXT = """.version 9.5
.target {arch}
.address_size 64
.visible .entry k(.param .u64 p) {{
.reg .b64 %p; .reg .b32 %r<4>; .reg .pred %q;
ld.param.u64 %p, [p];
mov.u32 %r0, %warpid; st.global.u32 [%p], %r0;
mov.u32 %r1, %locality_domain_id; st.global.u32 [%p+4], %r1;
setp.ne.u32 %q, %r0, 3;
@%q mov.u32 %r2, %locality_domain_supplemental_sm;
@!%q mov.u32 %r2, 7;
st.global.u32 [%p+8], %r2;
ret; }}
"""
PLAIN_READ = "11970004"
"""The first bytes of a record that states S2R with the number of the special register."""


@pytest.mark.parametrize("level", [0, 1, 3])
@pytest.mark.parametrize(("arch", "reads"), [("sm_100", 2), ("sm_120", 0)])
def test_locality_domains(tmp_path: Path, arch: str, reads: int, level: int) -> None:
    """SMs of the family of sm_100 have the table of the driver at one place, which nvlink keeps; on sm_120 both registers are 0."""
    o = Options(arch, level)
    o.compile_only, o.capsules = True, "require"
    before = compile_text([("a.ptx", TEXT.format(arch=arch))], o).data
    (c,) = capsules(ElfFile(before))
    plain = [i for i in c.items if i.code[:4].hex() == PLAIN_READ]
    assert [i.units() for i in plain] == [1] * reads
    after, why = finalise(before, arch, tmp_path, 60.0)
    assert not why
    assert differences(before, after) == (1, [])
