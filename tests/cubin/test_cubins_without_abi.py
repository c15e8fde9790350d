"""ptxas writes cubins without ABI for PTX before 3.0 with registers or local variables at module level."""

import subprocess
from pathlib import Path

import pytest

from orias.check.cubin import check_cubin
from orias.cubin.reader import Reader
from orias.tools.cubin_target import target_name
from tests.nvtools import tool

PTX = """\
.version 2.3
.target sm_20
.address_size 64
.local .u32 cell;
.entry k(.param .u64 out)
{
    .reg .u64 %d;
    .reg .u32 %r;
    ld.param.u64 %d, [out];
    st.local.u32 [cell], 3;
    ld.local.u32 %r, [cell];
    st.global.u32 [%d], %r;
    exit;
}
"""


@pytest.mark.parametrize("arch", ["sm_75", "sm_80", "sm_90", "sm_120a"])
def test_target(arch: str, tmp_path: Path) -> None:
    """On sm_75 such a cubin has an old ABI version beside the header flags of CUDA 13."""
    (tmp_path / "k.ptx").write_text(PTX)
    out = tmp_path / "k.cubin"
    subprocess.run([tool("ptxas"), f"-arch={arch}", tmp_path / "k.ptx", "-o", out], check=True, capture_output=True)
    reader = Reader(out.read_bytes())
    assert reader.target == target_name(reader.elf) == arch
    assert check_cubin(out.read_bytes()) == []
