"""Relocatable objects of ours and of ptxas link with each other."""

import subprocess
from pathlib import Path

import pytest

from orias.cli.main import run
from orias.cubin.reader import Reader
from tests.nvtools import LIMIT_S, tool

HEAD = ".version 8.0\n.target sm_75\n.address_size 64\n"
KERNEL = (
    HEAD
    + """
.extern .func (.param .b32 r) twice(.param .b32 a);
.extern .global .align 4 .b32 counter;
.extern .shared .align 16 .b8 dyn[];
.shared .align 4 .b8 s[32];
.visible .entry k(.param .u64 p) {
  .reg .b64 %rd<4>; .reg .b32 %r<8>;
  ld.param.u64 %rd1, [p]; mov.u32 %r1, %tid.x;
  { .param .b32 x; .param .b32 y; st.param.b32 [x], %r1; call.uni (y), twice, (x); ld.param.b32 %r2, [y]; }
  ld.global.u32 %r3, [counter]; add.u32 %r2, %r2, %r3; st.shared.u32 [s+4], %r2; st.shared.u32 [dyn], %r2;
  ld.shared.u32 %r4, [s]; add.u32 %r2, %r2, %r4; st.global.u32 [%rd1], %r2; ret;
}
"""
)
FUNCTION = (
    HEAD
    + """
.visible .global .align 4 .u32 counter = 5;
.visible .const .align 4 .u32 factor = 2;
.visible .func (.param .b32 r) twice(.param .b32 a) {
  .reg .b32 %r<4>;
  ld.param.u32 %r1, [a]; ld.const.u32 %r2, [factor]; mul.lo.u32 %r1, %r1, %r2; st.param.b32 [r], %r1; ret;
}
"""
)


def ours(source: Path, target: str) -> Path:
    out = source.with_suffix(".ours.o")
    assert run(["ptxas", "-c", f"-arch={target}", str(source), "-o", str(out)]) == 0
    return out


def theirs(source: Path, target: str) -> Path:
    out = source.with_suffix(".theirs.o")
    subprocess.run([tool("ptxas"), "-c", f"-arch={target}", str(source), "-o", str(out)], check=True, timeout=LIMIT_S)
    return out


@pytest.mark.parametrize("target", ["sm_75", "sm_80", "sm_89", "sm_90"])
def test_objects_link_both_ways(tmp_path: Path, target: str) -> None:
    kernel, function = tmp_path / "kernel.ptx", tmp_path / "function.ptx"
    kernel.write_text(KERNEL)
    function.write_text(FUNCTION)
    a, b = ours(kernel, target), theirs(kernel, target)
    c, d = ours(function, target), theirs(function, target)
    sizes = []
    for first, second in ((b, d), (a, c), (a, d), (b, c)):
        linked = tmp_path / "linked.cubin"
        done = subprocess.run(
            [tool("nvlink"), f"-arch={target}", str(first), str(second), "-o", str(linked)],
            capture_output=True,
            text=True,
            timeout=LIMIT_S,
        )
        assert done.returncode == 0, done.stderr + done.stdout
        reader = Reader(linked.read_bytes())
        assert list(reader.kernels) == ["k"]
        sizes.append(
            (reader.shared_size("k"), len(reader.global_init()), len(reader.bank(3)), reader.kernels["k"].param_bytes)
        )
    assert len(set(sizes)) == 1


@pytest.mark.in_turn(3)
@pytest.mark.parametrize("target", ["sm_75", "sm_80", "sm_90", "sm_100", "sm_120"])
def test_helpers_of_static_functions_stay(tmp_path: Path, target: str) -> None:
    """nvlink keeps the section of a function that only its own module calls and that calls a division; it drops another one.

    It also drops functions that nothing calls where one takes the address of the other, which divides.
    """
    sim = pytest.importorskip("orias.sim")
    np = pytest.importorskip("numpy")
    function = ".func (.param .f32 r) {}(.param .f32 a) {{ .reg .f32 %f<3>; ld.param.f32 %f1, [a]; div.rn.f32 %f2, %f1, 0f40400000; div.rn.f32 %f2, %f2, %f1; st.param.f32 [r], %f2; ret; }}\n"
    source = tmp_path / "k.ptx"
    source.write_text(
        f".version 8.8\n.target {target}\n.address_size 64\n{function.format('unused')}{function.format('used')}"
        f"{function.format('pointed')}.func (.param .f32 r) pointing(.param .f32 a) {{ .reg .b64 %rd; .reg .f32 %f; mov.u64 %rd, pointed;\n"
        "{ .param .f32 x; .param .f32 y; ld.param.f32 %f, [a]; st.param.f32 [x], %f; P: .callprototype (.param .f32 _) _ (.param .f32 _);\n"
        "call (y), %rd, (x), P; ld.param.f32 %f, [y]; } st.param.f32 [r], %f; ret; }\n"
        ".visible .entry k(.param .u64 p) { .reg .b64 %rd1; .reg .f32 %f<3>; ld.param.u64 %rd1, [p]; ld.global.f32 %f1, [%rd1];\n"
        "{ .param .f32 x; .param .f32 y; st.param.f32 [x], %f1; call (y), used, (x); ld.param.f32 %f2, [y]; }\n"
        "st.global.f32 [%rd1], %f2; ret; }\n"
    )
    linked = tmp_path / "linked.cubin"
    command = [tool("nvlink"), f"-arch={target}", str(ours(source, target)), "-o", str(linked)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S)
    assert done.returncode == 0, done.stderr
    x = np.array([7], np.float32)
    sim.load(linked.read_bytes()).launch("k", 1, 1, [x])
    assert x[0] == np.float32(7) / np.float32(3) / np.float32(7)
