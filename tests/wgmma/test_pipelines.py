"""Loops with groups under way across iterations: accumulators stay in place, registers of A stay reserved, nothing is injected."""

import numpy as np
import pytest

from orias.compiler import compile_text
from orias.options import Options
from orias.sim import SimError, load
from tests.forms.run import ptxas_cubin
from tests.wgmma.matrices import Placed, accumulator_index, fragment_a, product, random_patterns, round_to, values

HEAD = ".version 8.7\n.target sm_90a\n.address_size 64\n"
FILL = """mov.u32 %t, %tid.x; mov.u32 %s, smem; ld.param.u64 %p, [image]; shl.b32 %i, %t, 4;
FILL:
cvt.u64.u32 %q, %i; add.u64 %q, %q, %p; ld.global.v4.b32 {%v0, %v1, %v2, %v3}, [%q];
add.u32 %x, %s, %i; st.shared.v4.b32 [%x], {%v0, %v1, %v2, %v3};
add.u32 %i, %i, 2048; setp.lt.u32 %more, %i, 4096; @%more bra FILL;
fence.proxy.async; bar.sync 0;
shr.u32 %i, %s, 4; cvt.u64.u32 %w, %i; ld.param.u64 %db, [descb]; add.u64 %db, %db, %w;
ld.param.u64 %q, [frag]; mad.wide.u32 %q, %t, 16, %q; ld.param.u64 %po, [out]; mad.wide.u32 %po, %t, 64, %po;
"""
DECLARE = """.shared .align 1024 .b8 smem[4096];
.reg .f32 %f<32>; .reg .b32 %a<4>, %b<4>, %t, %i, %s, %x, %n, %v<4>; .reg .b64 %p, %po, %q, %db, %w; .reg .pred %more;
"""
F16 = ", ".join(f"%f{k}" for k in range(16))
STORES = "".join(f"st.global.f32 [%po+{4 * k}], %f{k};\n" for k in range(16))


def kernel(body: str) -> str:
    params = ".param .u64 image, .param .u64 frag, .param .u64 out, .param .u64 descb, .param .u32 count"
    return f"{HEAD}.visible .entry k({params}) {{\n{DECLARE}{FILL}{body}\n{STORES}ret; }}\n"


def step(a: str) -> str:
    return f"""ld.global.v4.b32 {{%{a}0, %{a}1, %{a}2, %{a}3}}, [%q]; add.u64 %q, %q, 2048;
wgmma.fence.sync.aligned;
wgmma.mma_async.sync.aligned.m64n32k16.f32.f16.f16 {{{F16}}}, {{%{a}0, %{a}1, %{a}2, %{a}3}}, %db, 1, 1, 1, 0;
wgmma.commit_group.sync.aligned;
wgmma.wait_group.sync.aligned 1;
"""


ZEROS = "".join(f"mov.f32 %f{k}, 0f00000000;\n" for k in range(16))
LOOP = "add.u32 %n, %n, -2; setp.ne.u32 %more, %n, 0; @%more bra L;\nwgmma.wait_group.sync.aligned 0;"
DOUBLE = kernel(f"{ZEROS}ld.param.u32 %n, [count];\nL:\n{step('a')}{step('b')}{LOOP}")
"""Two sets of registers for A in turn: each is loaded again only when its group is over."""


def run(cubin: bytes, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Result and expectation of `count` products with one B."""
    rng = np.random.default_rng(count)
    b = random_patterns(rng, (32, 16), "f16")
    a = [random_patterns(rng, (64, 16), "f16") for _ in range(count)]
    place = Placed(32, 16, "f16", False, 0)
    image = np.zeros(max(4096, place.bytes), np.uint8)
    place.store(image, 0, b)
    frag = np.stack([fragment_a(x, "f16") for x in a]).astype(np.uint32)
    out = np.zeros((128, 16), np.uint32)
    load(cubin).launch("k", 1, 128, [image, frag, out, place.descriptor(), count], max_steps=200_000)
    total = sum(product(values(x, "f16"), values(b, "f16")) for x in a)
    row, column = accumulator_index(32)
    return out, np.asarray(round_to(total, "f32"))[row, column]


def close(out: np.ndarray, want: np.ndarray) -> None:
    got = out.view(np.float32)
    np.testing.assert_allclose(got, want.astype(np.uint32).view(np.float32), rtol=1e-5, atol=1e-4)


def ours(text: str, level: int = 3) -> tuple[bytes, list[str]]:
    options = Options("sm_90a", level)
    options.self_check = True
    cubin = compile_text([("k.ptx", text)], options)
    return cubin.data, [d.message for d in cubin.diagnostics]


@pytest.mark.parametrize("level", [0, 1, 3])
def test_a_in_turn(level: int) -> None:
    cubin, remarks = ours(DOUBLE, level)
    # At -O0 operations run one at a time.
    assert [r[:7] for r in remarks] == ([] if level else ["(C7519)"] * 4 + ["(C7517)"] * 2 + ["(C7511)"])
    close(*run(cubin, 6))


def test_a_in_turn_ptxas() -> None:
    close(*run(ptxas_cubin(DOUBLE, "sm_90a", 3), 6))


def test_missing_wait_is_seen() -> None:
    """The simulator gives an accumulator under way no value: code that reads it early comes out wrong."""
    text = kernel(
        f"{ZEROS}ld.param.u32 %n, [count];\n{step('a')}".replace(
            "wait_group.sync.aligned 1", "wait_group.sync.aligned 0"
        )
    )
    cubin, _ = ours(text)
    out, want = run(cubin, 1)
    close(out, want)
    word = bytes.fromhex("c579000000800000")
    at = cubin.find(word)
    assert at >= 0
    # WARPGROUP.DEPBAR.LE gsb0, 0x0 becomes 0x1: nothing is waited for.
    broken = bytearray(cubin)
    assert broken[at + 9] == 0
    broken[at + 9] = 1
    try:
        out, want = run(bytes(broken), 1)
    except SimError:
        return
    assert (out == 0x7FF0DEAD).all()


HALVES = kernel(
    f"""{ZEROS}ld.param.u32 %n, [count];
L:
{step("a")}wgmma.wait_group.sync.aligned 0;
{"".join(f"mul.f32 %f{k}, %f{k}, 0f3F000000;" for k in range(16))}
{step("b")}wgmma.wait_group.sync.aligned 0;
{LOOP}"""
)
"""The accumulator is scaled between products, as flash attention does."""


def test_scaled_between() -> None:
    cubin, remarks = ours(HALVES)
    assert remarks == []
    other = ptxas_cubin(HALVES, "sm_90a", 3)
    mine, theirs = run(cubin, 4)[0], run(other, 4)[0]
    assert (mine == theirs).all()


def test_descriptor_with_constant_half() -> None:
    """B's descriptor with A in registers stands after an unused pair; its constant high word is one word, not two."""
    text = kernel(
        f"{ZEROS}or.b64 %db, %w, 4611686293305360384; ld.param.u32 %n, [count];\n{step('a')}wgmma.wait_group.sync.aligned 0;"
    )
    assert ours(text)[1] == []


def test_accumulators_that_some_threads_clear() -> None:
    ones = "".join(f"mov.f32 %f{k}, 0f3F800000;\n" for k in range(16))
    clear = "and.b32 %x, %t, 1; setp.ne.u32 %more, %x, 0;\n" + "".join(
        f"@%more mov.f32 %f{k}, 0f00000000;\n" for k in range(16)
    )
    once = step("a").replace("wait_group.sync.aligned 1", "wait_group.sync.aligned 0")
    cubin, _ = ours(kernel(f"{ones}{clear}ld.param.u32 %n, [count];\n{once}"))
    out, want = run(cubin, 1)
    kept = (np.arange(128) % 2 == 0).astype(np.float32)[:, None]
    close(out, (want.astype(np.uint32).view(np.float32) + kept).astype(np.float32).view(np.uint32))
