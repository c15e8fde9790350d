"""wgmma.mma_async again with the same factors on the same accumulator, in one group: ptxas 13.0.88 drops all but one.

Operations of one shape may follow one another on an accumulator without a wait (PTX ISA, wgmma.mma_async), each adds its product.  ptxas
takes an operation for a repetition of an earlier one with the same operands although the accumulator has changed; with three products
in the program one is left in the code.  So it is in kernels of one block.  (An accumulator that starts as
zeros makes the first operation another one.)  Ours has all of them.

The test fails when the fault is gone in a newer release.
"""

import numpy as np
import pytest

from orias.compiler import compile_text
from orias.options import Options
from orias.sim import load
from tests.forms.run import ptxas_cubin
from tests.wgmma.matrices import Placed, accumulator_index, product, random_patterns, round_to, values

F16 = ", ".join(f"%f{k}" for k in range(16))
MMA = f"wgmma.mma_async.sync.aligned.m64n32k16.f32.f16.f16 {{{F16}}}, %rd3, %rd3, 1, 1, 1, 0, 0;\n"
SHARED = 1024
"""Address of the kernel's shared memory."""
START = "".join(f"cvt.rn.f32.u32 %f{k}, %r1;\n" for k in range(16))
STORES = "".join(f"st.global.f32 [%rd2+{4 * k}], %f{k};\n" for k in range(16))
TEXT = f""".version 8.5
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 image, .param .u64 out, .param .u64 desc) {{
.shared .align 1024 .b8 smem[2048];
.reg .f32 %f<16>; .reg .b32 %r<8>; .reg .b64 %rd<8>;
mov.u32 %r1, %tid.x; ld.param.u64 %rd1, [image]; ld.param.u64 %rd2, [out]; ld.param.u64 %rd3, [desc];
mad.wide.u32 %rd1, %r1, 16, %rd1; mad.wide.u32 %rd2, %r1, 64, %rd2;
ld.global.v4.b32 {{%r4, %r5, %r6, %r7}}, [%rd1]; mov.u32 %r2, smem; mad.lo.u32 %r2, %r1, 16, %r2;
st.shared.v4.b32 [%r2], {{%r4, %r5, %r6, %r7}};
fence.proxy.async; bar.sync 0;
{START}wgmma.fence.sync.aligned;
{MMA * 3}wgmma.commit_group.sync.aligned;
wgmma.wait_group.sync.aligned 0;
{STORES}ret; }}
"""


@pytest.mark.parametrize(("who", "products"), [("ours", 3), ("ptxas", 1)])
def test_three_products(who: str, products: int) -> None:
    cubin = compile_text([("k.ptx", TEXT)], Options("sm_90a")).data if who == "ours" else ptxas_cubin(TEXT, "sm_90a", 3)
    rng = np.random.default_rng(1)
    a = random_patterns(rng, (64, 16), "f16")
    place = Placed(64, 16, "f16", False, 0)
    image = np.zeros(2048, np.uint8)
    place.store(image, 0, a)
    out = np.zeros((128, 16), np.uint32)
    load(cubin).launch("k", 1, 128, [image, out, place.descriptor() + (SHARED >> 4)])
    row, column = accumulator_index(32)
    total = products * product(values(a, "f16"), values(a, "f16")[:32])
    want = np.asarray(round_to(total, "f32"))[row, column].astype(np.uint32).view(np.float32)
    want = want + np.arange(128, dtype=np.float32)[:, None]
    np.testing.assert_allclose(out.view(np.float32), want, rtol=1e-5, atol=1e-4)
