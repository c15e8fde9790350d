"""Forms of sm_100 and later: the operations and driver functions that ptxas 13.0.88 uses, and what is refused."""

import re

import numpy as np
import pytest

import orias
from orias import sim
from orias.tools.disassemble import disassemble
from tests.asynchronous.harness import LATER
from tests.forms.run import our_cubin, ptxas_cubin

DONE = "mbarrier::complete_tx::bytes"
_OPERATION = re.compile(
    r"\b(?:UTMA\w+|UBLK\w+|UGETNEXTWORKID|USTGR|UREDGR|LDGMC|SYNCS|CCTL|ARRIVES|STAS|REDAS|FENCE|UCGABAR_\w+)[\w.]*|__cuda_syscall_\w+"
)
TENSOR = LATER[:3]
"""Targets with tensor memory."""
LINES: list[tuple[tuple[str, ...], str]] = [
    (LATER, f"cp.async.bulk.tensor.3d.shared::cta.global.im2col::w.{DONE} [sm], [%rd2, {{%r1, %r2, %r3}}], [mb], {{%h1, %h2}};"),
    (TENSOR, f"cp.async.bulk.tensor.4d.shared::cluster.global.im2col::w.{DONE}.multicast::cluster.L2::cache_hint [sm], [%rd2, {{%r1, %r2, %r3, %r4}}], [mb], {{5, %h2}}, %h3, %rd3;"),
    (TENSOR, f"cp.async.bulk.tensor.5d.shared::cluster.global.im2col::w::128.{DONE}.cta_group::2 [sm], [%rd2, {{%r1, %r2, %r3, %r4, %r5}}], [mb], {{%h1, 2}};"),
    (TENSOR, "cp.async.bulk.prefetch.tensor.3d.L2.global.im2col::w [%rd2, {%r1, %r2, %r3}], {%h1, %h2};"),
    (TENSOR, "cp.async.bulk.prefetch.tensor.3d.L2.global.im2col::w::128.L2::cache_hint [%rd2, {%r1, %r2, %r3}], {%h1, %h2}, %rd3;"),
    (TENSOR, "cp.async.bulk.prefetch.tensor.2d.L2.global.tile::gather4.L2::cache_hint [%rd2, {%r1, %r2, %r3, %r4, %r5}], %rd3;"),
    (TENSOR, "cp.async.bulk.tensor.2d.global.shared::cta.tile::scatter4.bulk_group.L2::cache_hint [%rd2, {%r1, %r2, %r3, %r4, %r5}], [sm], %rd3;"),
    (TENSOR, f"cp.async.bulk.tensor.2d.shared::cluster.global.tile::gather4.{DONE}.multicast::cluster.cta_group::2.L2::cache_hint [sm], [%rd2, {{%r1, %r2, %r3, %r4, %r5}}], [mb], %h1, %rd3;"),
    (LATER, f"cp.async.bulk.tensor.1d.shared::cluster.global.tile.{DONE} [sm], [%rd2, {{%r1}}], [mb];"),
    (LATER, f"cp.async.bulk.tensor.4d.shared::cluster.global.im2col.{DONE}.L2::cache_hint [sm], [%rd2, {{%r1, %r2, %r3, %r4}}], [mb], {{%h1, %h2}}, %rd3;"),
    (LATER, f"cp.async.bulk.tensor.5d.shared::cluster.global.tile.{DONE}.multicast::cluster [sm], [%rd2, {{%r1, %r2, %r3, %r4, %r5}}], [mb], %h1;"),
    (LATER, f"cp.async.bulk.shared::cluster.global.{DONE}.multicast::cluster [sm], [%rd1], %r1, [mb], 3;"),
    (LATER, "fence.proxy.tensormap::generic.acquire.sys [%rd1], 128;"),
    (LATER, "fence.proxy.async::generic.release.sync_restrict::shared::cta.cluster;"),
    (LATER, f"clusterlaunchcontrol.try_cancel.async.shared::cta.{DONE}.multicast::cluster::all.b128 [sm], [mb];"),
    (LATER, f"st.async.weak.shared::cluster.{DONE}.v4.u32 [sm], {{%r1, %r2, %r3, %r4}}, [mb];"),
    (LATER, "mbarrier.arrive.expect_tx.relaxed.cluster.shared::cluster.b64 _, [mb], 64;"),
]  # fmt: skip


def module(arch: str, line: str) -> str:
    reads = " ".join(f"ld.global.u32 %r{k}, [%rd1+{4 * k}];" for k in range(1, 6))
    halves = " ".join(f"ld.global.u16 %h{k}, [%rd1+{32 + 2 * k}];" for k in range(1, 4))
    return f""".version 9.0
.target {arch}
.address_size 64
.visible .entry k(.param .u64 p, .param .align 64 .b8 tm[128]) .reqnctapercluster 2, 1, 1 {{
.reg .b32 %r<6>; .reg .b64 %rd<5>; .reg .b16 %h<4>;
.shared .align 8 .b64 mb; .shared .align 128 .b8 sm[1024];
ld.param.u64 %rd1, [p]; mov.u64 %rd2, tm; cvta.param.u64 %rd2, %rd2; {reads} {halves} ld.global.u64 %rd3, [%rd1+64];
{line}
ret; }}
"""


def used(cubin: bytes) -> list[str]:
    return sorted(set(_OPERATION.findall(disassemble(cubin))))


@pytest.mark.in_turn(4)
@pytest.mark.parametrize(
    ("arches", "line"), LINES, ids=[f"{k}-{line.split(' ')[0]}" for k, (_, line) in enumerate(LINES)]
)
def test_same_operations(arches: tuple[str, ...], line: str) -> None:
    for arch in arches[-1:] if len(line) % 3 else arches[:1]:
        text = module(arch, line)
        assert used(our_cubin(text, arch, 3)) == used(ptxas_cubin(text, arch, 3)), arch


@pytest.mark.sweep
@pytest.mark.parametrize("arch", LATER)
def test_same_operations_everywhere(arch: str) -> None:
    for arches, line in LINES:
        if arch in arches:
            text = module(arch, line)
            for opt in (1, 3):
                assert used(our_cubin(text, arch, opt)) == used(ptxas_cubin(text, arch, opt)), line


@pytest.mark.parametrize(
    ("line", "want"),
    [
        ("st.async.weak.global.u32 [%rd1], %r1;", 7),
        ("st.async.mmio.release.gpu.global.u32 [%rd1], %r1;", 7),
        ("red.async.release.gpu.global.max.s32 [%rd1], %r1;", 9),
    ],
)
def test_forms_that_ptxas_has_not(line: str, want: int) -> None:
    """For the first two ptxas 13.0.88 has no instruction, the third becomes an addition there; ours do what PTX says."""
    data = np.arange(64, dtype=np.int32)
    data[:2] = 9, 7
    tensor_map = np.zeros(128, np.uint8)
    sim.load(orias.compile(module("sm_100a", line)).data).launch("k", 2, 1, [data, tensor_map])
    assert data[0] == want
