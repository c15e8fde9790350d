"""Null accesses before LDGSTS and MEMBAR, as ptxas 13.0.88 writes them for the same programs."""

import re

import pytest

import orias

HEAD = """.version 8.0
.target sm_75
.address_size 64
.visible .entry k(.param .u64 p, .param .u32 n) {
  .reg .b32 %r<20>; .reg .b64 %rd<4>; .reg .pred %p<2>;
  .shared .align 16 .b8 s[4096];
  ld.param.u64 %rd1, [p]; cvta.to.global.u64 %rd1, %rd1; ld.param.u32 %r1, [n];
  mov.u32 %r2, %tid.x; shl.b32 %r3, %r2, 4; mov.u32 %r4, s; add.u32 %r5, %r4, %r3;
"""
COPY = "cp.async.ca.shared.global [%r5], [%rd1], 16; "
LOAD = "ld.shared.u32 %r6, [%r4+64]; st.global.u32 [%rd1+64], %r6; "
FENCE = "membar.gl; st.global.u32 [%rd1+128], %r2; "


def gaps(body: str, arch: str, level: int, **options: object) -> str:
    """LDGSTS (C) and MEMBAR (M) in order, each after the count of null accesses just before it."""
    text = HEAD.replace("sm_75", "sm_75" if arch == "sm_75" else "sm_80") + body + "ret; }"
    out, count = "", 0
    for line in orias.compile(text, arch=arch, opt_level=level, **options).disassemble().splitlines():
        if "@!PT LDS RZ, [RZ]" in line:
            count += 1
            continue
        found = re.search(r"MEMBAR|LDGSTS", line)
        assert found or not count, f"null accesses before {line}"
        if found:
            out += f"{count}{'M' if found.group() == 'MEMBAR' else 'C'} "
        count = 0
    return out.strip()


@pytest.mark.in_turn(4)
@pytest.mark.parametrize("level", [0, 3])
@pytest.mark.parametrize(
    ("body", "sm_80", "sm_90"),
    [
        (COPY, "0C", "3C"),
        (LOAD + COPY, "3C", "3C"),
        ("st.shared.u32 [%r4+64], %r2; " + COPY + COPY, "3C 0C", "3C 0C"),
        (COPY + "bar.sync 0; " + COPY, "0C 3C", "3C 3C"),
        ("ld.global.u32 %r6, [%rd1]; st.global.u32 [%rd1+4], %r6; " + COPY, "0C", "3C"),
        (COPY + FENCE, "0C 0M", "3C 1M"),
        (LOAD + COPY + FENCE, "3C 1M", "3C 1M"),
        (LOAD + FENCE + COPY, "4M 0C", "4M 0C"),
        (COPY + FENCE + COPY + FENCE, "0C 0M 0C 0M", "3C 1M 0C 1M"),
        (LOAD + FENCE, "0M", "0M"),
    ],
)
def test_gaps(body: str, sm_80: str, sm_90: str, level: int) -> None:
    assert gaps(body, "sm_80", level) == sm_80
    assert gaps(body, "sm_90", level) == sm_90


@pytest.mark.parametrize(("arch", "want"), [("sm_75", "0M"), ("sm_80", "4M"), ("sm_90", "4M")])
def test_relocatable_code_may_run_with_copies_that_are_not_seen(arch: str, want: str) -> None:
    assert gaps(LOAD + FENCE, arch, 3, compile_only=True) == want
