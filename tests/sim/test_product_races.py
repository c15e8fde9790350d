"""Races of matrix operations that read shared memory: seeded ones, and the programs as they are."""

import pytest

import orias
from tests.forms.items import items
from tests.tensor_memory.products import products
from tools.sanitizer.checked_image import CheckedImage

WARPGROUP = "m64n8k16.f16.f16.f16.ss.0"
TENSOR = "mma.f16.f16.128x32.group1.sparse"
OVER = "shl.b32 %i, %t, 4; add.u32 %i, %s, %i; st.shared.b32 [%i], %t;"
"""Threads overwrite what the product of the warpgroup reads."""
STORED = "fence.proxy.async; bar.sync 0;"
WAIT = "wgmma.wait_group.sync.aligned 0;"
FENCE = "    fence.proxy.async.shared::cta;\n"
BARRIERS = "tcgen05.fence::before_thread_sync;\n    bar.sync 0;"
ADDRESS = "ld.shared.b32 %tmem, [%slot];"
LATE = "    @%p1 st.shared.b32 [%data], %me;\n"
NO_FENCE = "no proxy fence between store and copy"
CASES = {
    "warpgroup": (WARPGROUP, "", "", []),
    "warpgroup, written after the wait": (WARPGROUP, WAIT, WAIT + OVER, []),
    "warpgroup, no fence": (WARPGROUP, STORED, "bar.sync 0;", [NO_FENCE]),
    "warpgroup, no barrier": (WARPGROUP, STORED, "fence.proxy.async;", ["read after write"]),
    "warpgroup, written before the wait": (WARPGROUP, WAIT, OVER + WAIT, ["write after read"]),
    "tensor memory": (TENSOR, "", "", []),
    "tensor memory, written after the wait": (
        TENSOR,
        "    @!%p3 bra waiting;\n",
        "    @!%p3 bra waiting;\n" + LATE,
        [],
    ),
    "tensor memory, no fence": (TENSOR, FENCE, "", [NO_FENCE]),
    "tensor memory, no barrier": (TENSOR, BARRIERS, "", ["read after write", "write after write"]),
    "tensor memory, written before the wait": (TENSOR, "waiting:\n", LATE + "waiting:\n", ["write after read"]),
}


def text_of(name: str) -> str:
    """The program that a case changes."""
    if name == TENSOR:
        return next(p for p in products() if p.name == name).text("sm_100a")
    return next(i for i in items(["wgmma"]) if i.name == name).source("sm_90a")


@pytest.mark.in_turn(4)
@pytest.mark.parametrize("case", CASES)
def test_races_of_products(case: str) -> None:
    name, old, new, want = CASES[case]
    text = text_of(name)
    assert old in text
    arch = "sm_100a" if name == TENSOR else "sm_90a"
    # A fault takes both barriers before the product of tensor memory; the address that the first one guards is known.
    if old == BARRIERS:
        text = text.replace(ADDRESS, "mov.b32 %tmem, 0;")
    cubin = orias.compile(text.replace(old, new) if old else text, arch=arch, keep_warp_barriers=True).data
    image = CheckedImage(cubin, ("racecheck",))
    if name == TENSOR:
        program = next(p for p in products() if p.name == name)
        image.launch("k", program.cluster, program.threads, program.args(), cluster=program.cluster)
    else:
        next(i for i in items(["wgmma"]) if i.name == name).check(image, "k0")
    assert sorted({f.kind for f in image.findings}) == want, [f.lines() for f in image.findings]
