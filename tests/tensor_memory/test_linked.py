"""Allocation of tensor memory in relocatable objects, of ours and of ptxas, which nvlink puts together or which run as they are."""

import subprocess
from pathlib import Path

import numpy as np
import pytest

from orias import sim
from orias.cli.main import run
from tests.nvtools import LIMIT_S, tool
from tests.tensor_memory.copies import copies
from tests.tensor_memory.products import products
from tests.tensor_memory.programs import BLOCK, Program

_PROGRAMS = [*copies(), *products()]
_HEAD = ".version 9.0\n.target {arch}\n.address_size 64\n"
_DECLARED = "func (.param .b32 r) taken(.param .b32 slot, .param .b32 columns)"
_KERNEL = (
    _HEAD
    + f".extern .{_DECLARED};"
    + """
.visible .entry k(.param .u64 out) {
    .reg .b32 %r<8>; .reg .b64 %l<4>;
    .shared .align 16 .b8 before[48];
    .shared .align 4 .b32 slot;
    mov.u32 %r0, slot;
    tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r0], 32;
    ld.shared.b32 %r1, [slot];
    { .param .b32 a; .param .b32 b; .param .b32 c;
      st.param.b32 [a], %r0; st.param.b32 [b], 128; call.uni (c), taken, (a, b); ld.param.b32 %r2, [c]; }
    ld.param.u64 %l0, [out];
    st.global.v2.b32 [%l0], {%r1, %r2};
    tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r2, 128;
    tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r1, 32;
    ret;
}
"""
)
_FUNCTION = (
    _HEAD
    + f".visible .{_DECLARED}"
    + """ {
    .reg .b32 %r<8>;
    ld.param.b32 %r0, [slot];
    ld.param.b32 %r1, [columns];
    tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r0], %r1;
    ld.shared.b32 %r2, [%r0];
    st.param.b32 [r], %r2;
    ret;
}
"""
)


def _object(folder: Path, name: str, text: str, arch: str, compiler: str) -> Path:
    source, out = folder / f"{name}.ptx", folder / f"{name}.{compiler}.o"
    source.write_text(text)
    if compiler == "orias":
        assert run(["ptxas", "-c", f"-arch={arch}", str(source), "-o", str(out)]) == 0
    else:
        subprocess.run([tool("ptxas"), "-c", f"-arch={arch}", str(source), "-o", str(out)], check=True, timeout=LIMIT_S)
    return out


def _linked(folder: Path, arch: str, objects: list[Path]) -> sim.Image:
    out = folder / "linked.cubin"
    line = [tool("nvlink"), f"-arch={arch}", *map(str, objects), "-o", str(out)]
    done = subprocess.run(line, capture_output=True, text=True, timeout=LIMIT_S)
    assert done.returncode == 0, done.stderr + done.stdout
    return sim.load(out.read_bytes())


@pytest.mark.in_turn(4)
@pytest.mark.parametrize("function", ["orias", "ptxas"])
@pytest.mark.parametrize("kernel", ["orias", "ptxas"])
@pytest.mark.parametrize("arch", BLOCK)
def test_a_function_allocates(tmp_path: Path, arch: str, kernel: str, function: str) -> None:
    objects = [
        _object(tmp_path, "kernel", _KERNEL.replace("{arch}", arch), arch, kernel),
        _object(tmp_path, "function", _FUNCTION.replace("{arch}", arch), arch, function),
    ]
    out = np.full(4, 9, np.uint32)
    _linked(tmp_path, arch, objects).launch("k", 1, 32, [out])
    assert out.tolist() == [0, 128, 9, 9]


def _check(folder: Path, p: Program, arch: str, compiler: str) -> None:
    made = _object(folder, "k", p.text(arch), arch, compiler)
    for image in (_linked(folder, arch, [made]), sim.load(made)):
        args = p.args()
        image.launch("k", p.cluster, p.threads, args, cluster=p.cluster)
        p.check(args)


@pytest.mark.in_turn(4)
@pytest.mark.parametrize("compiler", ["orias", "ptxas"])
@pytest.mark.parametrize("p", _PROGRAMS[7::131], ids=lambda p: p.name)
def test_some_programs(tmp_path: Path, p: Program, compiler: str) -> None:
    _check(tmp_path, p, p.targets[len(p.name) % len(p.targets)], compiler)


@pytest.mark.sweep
@pytest.mark.parametrize("compiler", ["orias", "ptxas"])
@pytest.mark.parametrize(
    ("p", "arch"),
    [(p, p.targets[k % len(p.targets)]) for k, p in enumerate(_PROGRAMS)],
    ids=lambda v: v.name if isinstance(v, Program) else v,
)
def test_all_programs(tmp_path: Path, p: Program, arch: str, compiler: str) -> None:
    _check(tmp_path, p, arch, compiler)
