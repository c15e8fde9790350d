"""The pragma enable_smem_spilling: spills go to local memory, which a warning says; without spills it has no effect in ptxas either."""

import orias

KERNEL = """.version 8.7
.target sm_90
.address_size 64
.visible .entry k(.param .u64 p) .maxnreg {limit}
{{
.pragma "{pragma}";
.reg .b64 %rd<4>; .reg .f32 %f<90>;
ld.param.u64 %rd1,[p];
{loads}
bar.sync 0;
{stores}
ret;
}}
"""


def warnings(count: int, limit: int, pragma: str) -> list[str]:
    loads = "\n".join(f"ld.volatile.global.f32 %f{n},[%rd1+{4 * n}];" for n in range(count))
    stores = "\n".join(f"st.volatile.global.f32 [%rd1+{4 * n}],%f{count - 1 - n};" for n in range(count))
    text = KERNEL.format(limit=limit, pragma=pragma, loads=loads, stores=stores)
    return [d.message for d in orias.compile(text, arch="sm_90").diagnostics if d.severity == "warning"]


def test_a_kernel_that_spills_is_warned_of() -> None:
    expected = "Pragma 'enable_smem_spilling' is not obeyed: 'k' spills to local memory"
    assert warnings(80, 32, "enable_smem_spilling") == [expected]
    assert warnings(80, 32, "nounroll") == []


def test_a_kernel_without_spills_is_not() -> None:
    assert warnings(8, 32, "enable_smem_spilling") == []
