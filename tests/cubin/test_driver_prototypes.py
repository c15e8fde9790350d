"""Objects name the prototypes of driver functions that a module calls without a declaration, as ptxas does."""

import subprocess
from pathlib import Path

import pytest

import orias
from orias.cubin.reader import Reader
from tests.nvtools import LIMIT_S, tool

HEAD = """.version 9.0
.target {}
.address_size 64
.shared .align 8 .b64 mb;
.shared .align 128 .b8 s[1024];
.visible .entry k(.param .u64 p, .param .u64 t) {{ .reg .b64 %d<4>; .reg .f32 %f<9>; .reg .b32 %r<9>; .reg .b16 %h<3>; .reg .pred %q;
ld.param.u64 %d1, [p]; ld.param.u64 %d2, [t]; mov.u32 %r1, mb; mov.u32 %r2, s;
"""
BULK = "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes"
TENSOR = "cp.async.bulk.tensor.3d.shared::cluster.global.{}mbarrier::complete_tx::bytes"
COPIES = (
    f"{BULK} [%r2], [%d1], 1024, [%r1];",
    f"{BULK}.multicast::cluster [%r2], [%d1], 1024, [%r1], %h1;",
    f"{TENSOR.format('')} [%r2], [%d1, {{%r3, %r4, %r5}}], [%r1];",
    f"{TENSOR.format('')}.multicast::cluster [%r2], [%d1, {{%r3, %r4, %r5}}], [%r1], %h1;",
    f"{TENSOR.format('im2col.')} [%r2], [%d1, {{%r3, %r4, %r5}}], [%r1], {{%h1}};",
    f"{TENSOR.format('im2col.')}.multicast::cluster [%r2], [%d1, {{%r3, %r4, %r5}}], [%r1], {{%h1}}, %h1;",
)
RESULT = "v4.f32.f32 {%f1, %f2, %f3, %f4}"
GRADIENTS = (
    f"tex.grad.3d.{RESULT}, [%d2, {{%f5, %f6, %f7, %f7}}], {{%f1, %f2, %f3, %f4}}, {{%f5, %f6, %f7, %f8}};",
    f"tex.grad.3d.{RESULT}|%q, [%d2, {{%f5, %f6, %f7, %f7}}], {{%f1, %f2, %f3, %f4}}, {{%f5, %f6, %f7, %f8}};",
    f"tex.grad.2d.{RESULT}, [%d2, {{%f5, %f6}}], {{%f1, %f2}}, {{%f3, %f4}}, {{%r1, %r2}}, %f5;",
    f"tex.grad.3d.{RESULT}, [%d2, %d1, {{%f5, %f6, %f7, %f7}}], {{%f1, %f2, %f3, %f4}}, {{%f5, %f6, %f7, %f8}};",
)


@pytest.mark.in_turn(4)
@pytest.mark.parametrize(("arch", "line"), [("sm_120a", x) for x in COPIES] + [("sm_90", x) for x in GRADIENTS])
def test_prototypes(arch: str, line: str, tmp_path: Path) -> None:
    target = f"{arch}, texmode_independent" if "%d2, %d1" in line else arch
    text = HEAD.format(target) + line + " ret; }\n"
    (tmp_path / "k.ptx").write_text(text)
    command = [tool("ptxas"), "-arch", arch, "-c", str(tmp_path / "k.ptx"), "-o", str(tmp_path / "k.o")]
    subprocess.run(command, check=True, capture_output=True, timeout=LIMIT_S)
    theirs, ours = (tmp_path / "k.o").read_bytes(), orias.compile(text, arch=arch, compile_only=True).data
    found = [Reader(data).module.prototypes for data in (ours, theirs)]
    assert found[0] == found[1] and len(found[0]) == 1
