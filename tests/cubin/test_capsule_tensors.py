"""Tensor copies, tensor memory and stochastic rounding have capsules, which nvlink finalises for the sibling."""

import itertools
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from orias import sim
from orias.compiler import compile_text
from orias.options import Options
from tests.nvtools import LIMIT_S, tool
from tests.rotation import rotating
from tests.tensor_memory.products import products
from tests.tensor_memory.programs import Program, transfers
from tools.capsules.campaign import differences

HEAD = ".version 9.0\n.target sm_100f\n.address_size 64\n"
KERNEL = """.visible .entry k{number}(.param .u64 p, .param .u64 q, .param .u32 a, .param .f32 f) {{
.reg .b64 %p, %q; .reg .b32 %a, %b, %r<8>; .reg .b16 %h; .reg .f32 %f<4>;
ld.param.u64 %p, [p]; ld.param.u64 %q, [q]; ld.param.u32 %a, [a]; ld.param.f32 %f0, [f]; add.u32 %b, %a, 8; cvt.u16.u32 %h, %a;
ld.global.v4.u32 {{%r0, %r1, %r2, %r3}}, [%p]; ld.global.u32 %r4, [%p+16]; ld.global.v2.f32 {{%f1, %f2}}, [%p+32];
{line}
ret; }}
"""


def copies() -> Iterator[str]:
    """Every copy of tiles with each number of dimensions, with and without a cache policy."""
    for dims, policy in itertools.product(range(1, 6), ("", ".L2::cache_hint")):
        place, end = f"{{{', '.join(f'%r{d}' for d in range(dims))}}}", ", %q;" if policy else ";"
        for cast, group in itertools.product(("", ".multicast::cluster"), ("", ".cta_group::2")):
            name = f"cp.async.bulk.tensor.{dims}d.shared::cluster.global.tile.mbarrier::complete_tx::bytes{cast}{group}{policy}"
            yield f"{name} [%a], [%p, {place}], [%b]{', %h' if cast else ''}{end}"
        yield f"cp.async.bulk.tensor.{dims}d.global.shared::cta.tile.bulk_group{policy} [%p, {place}], [%a]{end}"
        yield f"cp.reduce.async.bulk.tensor.{dims}d.global.shared::cta.add.tile.bulk_group{policy} [%p, {place}], [%a]{end}"
        yield f"cp.async.bulk.prefetch.tensor.{dims}d.L2.global.tile{policy} [%p, {place}]{end}"


def roundings() -> Iterator[str]:
    """Conversions with random bits; values in vector and uniform registers, and constants (bits only in registers, as ptxas has it)."""
    for relu, value, bits in itertools.product(("", ".relu"), ("%f2", "%f0", "0f40490fdb"), ("%r0", "%a")):
        for form in ("f16x2", "bf16x2"):
            yield f"cvt.rs{relu}.{form}.f32 %r4, %f1, {value}, {bits}; st.global.u32 [%p], %r4;"
        for form in ("e4m3x4", "e5m2x4", "e2m3x4", "e3m2x4"):
            yield f"cvt.rs{relu}.satfinite.{form}.f32 %r4, {{%f1, {value}, %f1, %f2}}, {bits}; st.global.u32 [%p], %r4;"
        yield f"cvt.rs{relu}.satfinite.e2m1x4.f32 %h, {{%f1, {value}, %f1, %f2}}, {bits}; st.global.u16 [%p], %h;"


def compiled(text: str, arch: str, level: int) -> bytes:
    """An object that must have capsules."""
    o = Options(arch, level)
    o.compile_only, o.capsules = True, "require"
    return compile_text([("a.ptx", text)], o).data


def finalised(data: bytes, folder: Path) -> bytes:
    (folder / "a.o").write_bytes(data)
    command = [tool("nvlink"), "-arch", "sm_103f", str(folder / "a.o"), "-o", str(folder / "f.cubin")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S)
    assert done.returncode == 0, done.stdout + done.stderr
    return (folder / "f.cubin").read_bytes()


@pytest.mark.in_turn(2)
@pytest.mark.parametrize("level", [0, 3])
def test_tensor_copies(tmp_path: Path, level: int) -> None:
    text = HEAD + "".join(KERNEL.format(number=k, line=line) for k, line in enumerate(copies()))
    before = compiled(text, "sm_100f", level)
    assert differences(before, finalised(before, tmp_path)) == (70, [])


@pytest.mark.in_turn(2)
@pytest.mark.parametrize("arch", ["sm_100a", "sm_103a"])
def test_stochastic_rounding(arch: str) -> None:
    head = HEAD.replace("sm_100f", arch)
    compiled(head + "".join(KERNEL.format(number=k, line=line) for k, line in enumerate(roundings())), arch, 3)


HALVES = """.visible .entry k(.param .u64 p, .param .u32 t) {
.reg .b64 %p; .reg .b32 %t, %r<4>, %s;
ld.param.u64 %p, [p]; ld.param.u32 %t, [t]; ld.global.u32 %r0, [%p]; ld.global.u32 %r1, [%p+4];
tcgen05.st.sync.aligned.16x32bx2.x2.b32 [%t], 2, {%r0, %r1}; tcgen05.wait::st.sync.aligned;
mul.lo.u32 %s, %r0, %r1; add.u32 %s, %s, 77;
tcgen05.ld.sync.aligned.16x32bx2.x2.b32 {%r2, %r3}, [%t], 2; tcgen05.wait::ld.sync.aligned;
add.u32 %s, %s, %r2; xor.b32 %s, %s, %r3; st.global.u32 [%p], %s; ret; }
"""


@pytest.mark.parametrize("level", [0, 1, 3])
def test_halves_of_an_access_stay_together(tmp_path: Path, level: int) -> None:
    before = compiled(HEAD + HALVES, "sm_100f", level)
    assert differences(before, finalised(before, tmp_path)) == (1, [])


def is_of_family(p: Program) -> bool:
    """Whether sm_100f has a program's products: it lacks integers, scale_vec, and sparse products of 4-bit floats with scales."""
    return ".s8." not in p.name and "scale_vec" not in p.name and not ("sparse" in p.name and ".mxf4" in p.name)


PROGRAMS = [p for p in [*transfers(), *products()] if "sm_100a" in p.targets and is_of_family(p)]


@pytest.mark.in_turn(4)
@pytest.mark.parametrize("p", rotating(PROGRAMS, 6, "capsules"), ids=lambda p: p.name)
def test_tensor_memory(tmp_path: Path, p: Program) -> None:
    args = p.args()
    after = finalised(compiled(p.text("sm_100f"), "sm_100f", 3), tmp_path)
    sim.load(after).launch("k", p.cluster, p.threads, args, cluster=p.cluster)
    p.check(args)
