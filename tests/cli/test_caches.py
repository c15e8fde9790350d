"""Cache options change the same loads and stores as ptxas's."""

import re
import subprocess
from pathlib import Path

import pytest

from orias.cli.main import run
from tests.nvtools import LIMIT_S, tool

PTX = """.version 8.0
.target sm_75
.address_size 64
.visible .entry k(.param .u64 p0) {
  .reg .b64 %rd<4>; .reg .b32 %r<8>;
  ld.param.u64 %rd1,[p0];
  ld.global.u32 %r1,[%rd1]; ld.global.cs.u32 %r2,[%rd1+4]; ld.u32 %r3,[%rd1+8]; ld.volatile.global.u32 %r4,[%rd1+12];
  ld.global.nc.u32 %r5,[%rd1+16]; ld.relaxed.gpu.global.u32 %r6,[%rd1+20];
  add.u32 %r1,%r1,%r2; add.u32 %r1,%r1,%r3; add.u32 %r1,%r1,%r4; add.u32 %r1,%r1,%r5; add.u32 %r1,%r1,%r6;
  st.global.u32 [%rd1+40],%r1; st.global.cs.u32 [%rd1+44],%r1; st.u32 [%rd1+48],%r1; st.volatile.global.u32 [%rd1+52],%r1;
  ret;
}
"""


def accesses(cubin: Path) -> list[str]:
    text = subprocess.run(
        [tool("nvdisasm"), "-c", str(cubin)], check=True, timeout=LIMIT_S, capture_output=True, text=True
    ).stdout
    return sorted(re.findall(r"(?:LDG|LD|STG|ST)\.[A-Z0-9.]+", text))


@pytest.mark.in_turn(4)
@pytest.mark.parametrize(
    ("target", "option"),
    [("sm_75", "-dlcm=ca"), ("sm_75", "-dlcm=cs"), ("sm_75", "-fscm=cs"), ("sm_90", "-flcm=cg"), ("sm_90", "-dscm=wt")],
)
def test_same_operations(tmp_path: Path, target: str, option: str) -> None:
    source, theirs, ours = tmp_path / "k.ptx", tmp_path / "theirs.cubin", tmp_path / "ours.cubin"
    source.write_text(PTX)
    subprocess.run(
        [tool("ptxas"), f"-arch={target}", option, str(source), "-o", str(theirs)], check=True, timeout=LIMIT_S
    )
    assert run(["ptxas", f"-arch={target}", option, str(source), "-o", str(ours)]) == 0
    assert accesses(ours) == accesses(theirs)
