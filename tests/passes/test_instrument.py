"""Instructions that options add, beside those that ptxas adds to the same program."""

import re
import subprocess
from pathlib import Path

import pytest

import orias
from tests.nvtools import LIMIT_S, tool

PROGRAM = """.version 8.0
.target {arch}
.address_size 64
.visible .entry k(.param .u64 out)
{{
    .reg .b32 %r<4>; .reg .b64 %rd<4>;
    ld.param.u64 %rd1, [out];
    mov.u32 %r1, %tid.x;
    mul.wide.u32 %rd2, %r1, 4;
    add.s64 %rd3, %rd1, %rd2;
    atom.global.add.u32 %r2, [%rd3], %r1;
    st.global.u32 [%rd3], %r2;
    red.global.add.u32 [%rd3+4], %r2;
    ret;
}}
"""
ADDED = ("ERRBAR", "CGAERRBAR", "NANOSLEEP")


def added(data: bytes) -> list[tuple[str, str]]:
    """Every added instruction, barriers with the mnemonic of the next one that was there before."""
    names = [m.split()[0] for m in re.findall(r"/\*[0-9a-f]{4}\*/\s+(?:@!?U?P\d+ )?(.*?) ?;", orias.disassemble(data))]
    out: list[tuple[str, str]] = []
    for k, name in enumerate(names):
        if name.split(".")[0] in ADDED:
            after = next(n for n in names[k:] if n.split(".")[0] not in ADDED)
            out.append((name.removesuffix(".WARP"), after.split(".")[0] if name.endswith("BAR") else ""))
    return out


@pytest.mark.in_turn(4)
@pytest.mark.parametrize("arch", ["sm_75", "sm_80", "sm_90", "sm_100", "sm_120"])
@pytest.mark.parametrize(
    ("option", "field"),
    [(["-make-errors-visible-at-exit"], "errors_at_exit"), (["-sanitize", "threadsteer"], "thread_steering")],
    ids=["errors", "pauses"],
)
def test_as_ptxas(arch: str, option: list[str], field: str, tmp_path: Path) -> None:
    text = PROGRAM.format(arch="sm_75")
    (tmp_path / "k.ptx").write_text(text)
    run = [tool("ptxas"), "-arch", arch, *option, "k.ptx", "-o", "k.cubin"]
    subprocess.run(run, cwd=tmp_path, check=True, timeout=LIMIT_S)
    theirs = added((tmp_path / "k.cubin").read_bytes())
    assert theirs
    assert added(orias.compile(text, arch=arch, **{field: True}).data) == theirs
    assert added(orias.compile(text, arch=arch).data) == []
