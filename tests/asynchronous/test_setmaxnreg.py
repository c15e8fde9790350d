"""setmaxnreg: the register count at entry, the registers used in each part, and what is said where it is ignored."""

import re
from pathlib import Path

import numpy as np
import pytest

from orias.api import Cubin, compile_sources
from orias.diag import CompileError
from orias.options import Options
from orias.sim import load
from tests.oracle import compile_or_none
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


@pytest.mark.in_turn(3)
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


@pytest.mark.parametrize("compiler", ["orias", "ptxas"])
def test_registers_that_a_warp_asks_for_later_are_its_own(compiler: str, tmp_path: Path) -> None:
    text = specialised(200)
    (tmp_path / "a.ptx").write_text(text)
    data = compiled(text).data if compiler == "orias" else compile_or_none(tmp_path / "a.ptx", "sm_90a", [], tmp_path)
    assert data is not None
    given = np.arange(200, dtype=np.float32)
    values = given.copy()
    load(data).launch("k", 1, 384, [values, np.uint32(1)])
    # The first four warps change the first and the last few.
    assert np.array_equal(values[8:192], given[::-1][8:192])


@pytest.mark.in_turn(3)
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


def product(directives: str, columns: int, more: int = 224, a_in_registers: bool = False) -> str:
    """As :func:`specialised`, the others with a warpgroup product of `columns` columns in f32."""
    accumulator = ", ".join(f"%f{k}" for k in range(columns // 2))
    a, tail = ("{%r4, %r5, %r6, %r7}", "0") if a_in_registers else ("%rd2", "0, 0")
    return f"""{HEAD}.visible .entry k(.param .u64 p, .param .u64 a, .param .u64 b) {directives} {{
.reg .b64 %rd<4>; .reg .b32 %r<8>; .reg .pred %p1; .reg .f32 %f<{columns // 2}>;
ld.param.u64 %rd1, [p]; ld.param.u64 %rd2, [a]; ld.param.u64 %rd3, [b];
mov.u32 %r1, %tid.x; setp.lt.u32 %p1, %r1, 128; @%p1 bra A;
setmaxnreg.inc.sync.aligned.u32 {more};
{chr(10).join(f"ld.global.u32 %r{k}, [%rd1+{4 * k}];" for k in range(4, 8))}
{chr(10).join(f"mov.f32 %f{k}, 0f00000000;" for k in range(columns // 2))}
wgmma.fence.sync.aligned;
wgmma.mma_async.sync.aligned.m64n{columns}k16.f32.f16.f16 {{{accumulator}}}, {a}, %rd3, 1, 1, 1, {tail};
wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;
{chr(10).join(f"st.global.f32 [%rd1+{4 * k}], %f{k};" for k in range(columns // 2))}
ret;
A: setmaxnreg.dec.sync.aligned.u32 56; st.global.u32 [%rd1], %r1; ret; }}
"""


def tensor_memory_load(directives: str, values: int) -> str:
    """As :func:`specialised`, the others with a load of tensor memory."""
    registers = ", ".join(f"%f{k}" for k in range(values))
    return f"""{HEAD}.visible .entry k(.param .u64 p) {directives} {{
.reg .b64 %rd1; .reg .b32 %r1, %f<{values}>; .reg .pred %p1;
ld.param.u64 %rd1, [p];
mov.u32 %r1, %tid.x; setp.lt.u32 %p1, %r1, 128; @%p1 bra A;
setmaxnreg.inc.sync.aligned.u32 224;
tcgen05.ld.sync.aligned.32x32b.x{values}.b32 {{{registers}}}, [%r1]; tcgen05.wait::ld.sync.aligned;
{chr(10).join(f"st.global.u32 [%rd1+{4 * k}], %f{k};" for k in range(values))}
ret;
A: setmaxnreg.dec.sync.aligned.u32 56; st.global.u32 [%rd1], %r1; ret; }}
"""


def said(cubin: Cubin) -> list[str]:
    return [d.message[:7] for d in cubin.diagnostics if d.severity == "info"]


@pytest.mark.in_turn(4)
@pytest.mark.parametrize(
    ("threads", "columns", "a_in_registers", "count"),
    [
        (128, 256, False, 0),
        (256, 200, False, 0),
        (256, 208, False, 224),
        (288, 136, False, 0),
        (288, 144, False, 168),
        (384, 104, False, 0),
        (384, 112, False, 168),
        (512, 72, False, 0),
        (512, 80, False, 128),
        (512, 64, True, 0),
        (512, 72, True, 128),
        (1024, 8, False, 0),
        (1024, 16, False, 64),
    ],
)
def test_threads_alone_state_the_count_where_two_blocks_have_no_room(
    threads: int, columns: int, a_in_registers: bool, count: int
) -> None:
    # What ptxas 13.0.88 does: two blocks of these threads leave fewer registers than the product needs by itself.
    cubin = compiled(product(f".maxntid {threads}", columns, a_in_registers=a_in_registers))
    assert ("USETMAXREG" in cubin.disassemble()) == bool(count)
    assert said(cubin) == ([] if count else ["(C7508)"])
    if count:
        assert cubin.kernels["k"].registers == count
    else:
        assert cubin.kernels["k"].registers <= columns // 2 + 4 * a_in_registers + 26


@pytest.mark.parametrize(("threads", "values", "count"), [(384, 32, 0), (384, 64, 168), (512, 64, 128), (1024, 16, 64)])
def test_the_same_for_loads_of_tensor_memory(threads: int, values: int, count: int) -> None:
    cubin = compiled(tensor_memory_load(f".reqntid {threads}", values), arch="sm_100a")
    assert ("USETMAXREG" in cubin.disassemble()) == bool(count)
    if count:
        assert cubin.kernels["k"].registers == count


@pytest.mark.in_turn(4)
@pytest.mark.parametrize("directives", [".maxntid 384", ".maxntid 384 .minnctapersm 1", ".maxnreg 168"])
@pytest.mark.parametrize(("more", "names"), [(88, ["(C7507)"]), (96, [])])
def test_ignored_where_the_product_needs_more(directives: str, more: int, names: list[str]) -> None:
    cubin = compiled(product(directives, 128, more))
    assert said(cubin) == names
    assert ("USETMAXREG" in cubin.disassemble()) == (not names)


@pytest.mark.parametrize("directives", [".maxntid 384", ".maxntid 384 .minnctapersm 1", ".maxnreg 168"])
def test_ignored_in_relocatable_code(directives: str) -> None:
    cubin = compiled(product(directives, 128), compile_only=True)
    assert said(cubin) == ["(C7504)"]
    assert "USETMAXREG" not in cubin.disassemble()


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
