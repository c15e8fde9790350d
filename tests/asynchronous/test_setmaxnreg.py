"""setmaxnreg: the register count at entry, the registers used in each part, and what is said where it is ignored."""

import re

import pytest

from orias.api import Cubin, compile_sources
from orias.diag import CompileError
from orias.options import Options
from tests.ptx.corpus import corpus

HEAD = ".version 8.8\n.target sm_90a\n.address_size 64\n"


def specialised(
    live: int, directives: str = ".reqntid 384, 1, 1 .minnctapersm 1", more: int = 240, less: int = 24
) -> str:
    """A kernel whose first four warps keep few values and whose others keep `live` values at once."""
    loads = "\n".join(f"ld.volatile.global.f32 %f{k}, [%rd1+{4 * k}];" for k in range(live))
    stores = "\n".join(f"st.volatile.global.f32 [%rd1+{4 * k}], %f{live - 1 - k};" for k in range(live))
    return f"""{HEAD}.visible .entry k(.param .u64 p, .param .u32 n) {directives} {{
.reg .b64 %rd<4>; .reg .b32 %r<8>; .reg .pred %p<4>; .reg .f32 %f<{live}>;
ld.param.u64 %rd1, [p]; ld.param.u32 %r2, [n];
mov.u32 %r1, %tid.x; setp.lt.u32 %p1, %r1, 128; @%p1 bra A;
setmaxnreg.inc.sync.aligned.u32 {more};
{loads}
{stores}
ret;
A: setmaxnreg.dec.sync.aligned.u32 {less};
{chr(10).join(f"ld.global.u32 %r{k}, [%rd1+{4 * k}];" for k in range(3, 8))}
B: {chr(10).join(f"mad.lo.u32 %r{k}, %r{k}, %r{3 + (k + 1) % 5}, %r2;" for k in range(3, 8))}
sub.u32 %r2, %r2, 1; setp.ne.u32 %p2, %r2, 0; @%p2 bra B;
{chr(10).join(f"st.global.u32 [%rd1+{4 * k}], %r{k};" for k in range(3, 8))}
ret; }}
"""


def compiled(text: str, compile_only: bool = False, arch: str = "sm_90a") -> Cubin:
    options = Options(arch, 3)
    text = text.replace(".version 8.8\n.target sm_90a", f".version 9.0\n.target {arch}")
    options.compile_only = compile_only
    return compile_sources([("a.ptx", text)], options)


def highest(lines: list[str]) -> int:
    return max(int(n) for line in lines for n in re.findall(r"\bR(\d+)\b", line))


@pytest.mark.parametrize("arch", ["sm_90a", "sm_100a", "sm_110f", "sm_120a"])
def test_parts_have_their_own_limits(arch: str) -> None:
    cubin = compiled(specialised(200), arch=arch)
    info = cubin.kernels["k"]
    assert info.registers == 168
    assert info.spill_stores == 0 and info.spill_loads == 0
    lines = cubin.disassemble().splitlines()
    give = next(k for k, line in enumerate(lines) if "USETMAXREG.DEALLOC.CTAPOOL 0x18" in line)
    take = next(k for k, line in enumerate(lines) if "USETMAXREG.TRY_ALLOC.CTAPOOL UP0, 0xf0" in line)
    assert take < give
    assert highest(lines[:take]) < 166
    assert 198 <= highest(lines[take:give]) < 238
    assert highest(lines[give:]) < 22


@pytest.mark.parametrize(
    ("directives", "more", "less", "count"),
    [
        (".maxntid 384 .minnctapersm 1", 240, 24, 168),
        (".maxntid 384 .minnctapersm 1", 96, 24, 96),
        (".maxntid 128 .minnctapersm 1", 240, 24, 240),
        (".maxntid 512 .minnctapersm 1", 160, 24, 128),
        (".maxnreg 168", 160, 40, 160),
    ],
)
def test_count_at_entry(directives: str, more: int, less: int, count: int) -> None:
    assert compiled(specialised(12, directives, more, less)).kernels["k"].registers == count


def test_ignored_without_count() -> None:
    cubin = compiled(specialised(12, ".maxntid 384"))
    assert "USETMAXREG" not in cubin.disassemble()
    assert [d.message for d in cubin.diagnostics if d.severity == "info"] == [
        "(C7508) Potential Performance Loss: 'setmaxnreg' ignored; unable to determine register count at entry."
    ]


def test_ignored_across_units() -> None:
    text = (
        HEAD + ".visible .func f() { setmaxnreg.inc.sync.aligned.u32 96; setmaxnreg.dec.sync.aligned.u32 64; ret; }\n"
    )
    cubin = compiled(text, compile_only=True)
    assert [d.message[:7] for d in cubin.diagnostics] == ["(C7504)"]


def test_decrease_above_every_count() -> None:
    with pytest.raises(CompileError) as e:
        compiled(specialised(12, ".maxnreg 168", 160, 176))
    assert "(C7406) setmaxnreg.dec has register count (176)" in str(e.value)


def test_corpus_file() -> None:
    path = corpus() / "ptx" / "llc-19" / "llvm-nvptx-tests" / "setmaxnreg.sm_90a.ptx"
    compile_sources([(path.name, path.read_bytes())], Options("sm_90a", 3))
