"""Bulk reductions with a policy for the cache have capsules, as have copies of a part with a size for the cache; nvlink finalises them as they are."""

from pathlib import Path

import pytest

from orias.compiler import compile_text
from orias.options import Options
from tests.rotation import rotating
from tools.capsules.campaign import differences
from tools.capsules.finalising import finalise
from tools.capsules.sources import module_of

COORDINATES = ("%r2", "%r2,%r3", "%r2,%r3,%r4", "%r2,%r3,%r4,%r20", "%r2,%r3,%r4,%r20,%r21")
MAPPED = [
    f"cp.reduce.async.bulk.tensor.{n}d.global.shared::cta.{op}.{mode}.bulk_group{hint} [%rd20,{{{COORDINATES[n - 1]}}}],[sm{{n}}]{policy};"
    for n in range(1, 6)
    for op in ("add", "min", "max", "inc", "dec", "and", "or", "xor")
    for mode in (("tile",) if n < 3 else ("tile", "im2col_no_offs"))
    for hint, policy in (("", ""), (".L2::cache_hint", ",%rd5"))
]
PLAIN = [
    f"cp.reduce.async.bulk.global.shared::cta.bulk_group{hint}.{op} [%rd3],[sm{{n}}+64],512{policy};"
    for op in (
        "add.u32", "add.s32", "add.u64", "add.f32", "add.f64", "add.noftz.f16", "add.noftz.bf16", "min.u32", "min.s32", "min.u64", "min.s64",
        "min.f16", "min.bf16", "max.u32", "max.s32", "max.u64", "max.s64", "max.f16", "max.bf16", "inc.u32", "dec.u32", "and.b32", "and.b64",
        "or.b32", "or.b64", "xor.b32", "xor.b64",
    )
    for hint, policy in (("", ""), (".L2::cache_hint", ",%rd5"))
]  # fmt: skip
PARTS = [
    f"cp.async.cg.shared.global.L2::cache_hint{size} [sm{{n}}+16],[%rd3+16],16,%r2,%rd5;"
    for size in (".L2::64B", ".L2::128B", ".L2::256B")
]


@pytest.mark.parametrize("arch", rotating(["sm_100", "sm_120"], 1, "capsules of reductions"))
def test_finalised(tmp_path: Path, arch: str) -> None:
    o = Options(arch)
    o.compile_only, o.capsules = True, "require"
    before = compile_text([("a.ptx", module_of([*MAPPED, *PLAIN, *PARTS], arch))], o).data
    after, why = finalise(before, arch, tmp_path, 60.0)
    assert not why
    assert differences(before, after) == (len(MAPPED) + len(PLAIN) + len(PARTS), [])


@pytest.mark.parametrize("combined", ["and", "or", "xor"])
@pytest.mark.parametrize("compared", ["eq", "ne", "lt", "le", "gt", "ge"])
def test_unsigned_comparisons(compared: str, combined: str) -> None:
    """With a constant and a predicate, which sm_120 compares in one instruction."""
    body = f"setp.{compared}.{combined}.u64 %p3,%rd4,3,!%p1; selp.u32 %r10,5,0,%p3; st.global.u32 [%rd3],%r10;"
    o = Options("sm_120")
    o.capsules = "require"
    compile_text([("a.ptx", module_of([body], "sm_120"))], o)
