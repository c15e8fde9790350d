"""The pragma enable_smem_spilling: spilled words in shared memory, beside the kernel's own, in every shape of block."""

import re
import subprocess
from pathlib import Path

import numpy as np
import pytest

import orias
from orias.compiler import compile_text
from orias.options import Options
from tests.device import load
from tests.kernels.test_kernels import run, source
from tests.nvtools import LIMIT_S, tool
from tests.rotation import with_later

ARCHES = with_later(["sm_75", "sm_80", "sm_90"], "shared spills")
PRAGMA = '.pragma "enable_smem_spilling";'


def kernel(directives: str, type_: str = "u32", pragma: str = PRAGMA, own: int = 0, count: int = 60) -> str:
    """Each thread squares `count` values, all of which are live at a barrier, and adds one of another thread's from shared memory."""
    size = int(type_[1:]) // 8
    r = "%d" if size == 8 else "%r"
    lines = [f"ld.global.{type_} {r}{k + 10}, [%a+{k * size}];" for k in range(count)]
    lines += [f"mul.lo.{type_} {r}{k + 10}, {r}{k + 10}, {r}{k + 10};" for k in range(count)]
    if own:
        lines += ["mul.lo.u32 %r4, %r0, 4;", "mov.u32 %r5, s;", "add.u32 %r4, %r4, %r5;", "st.shared.u32 [%r4], %r0;"]
    lines += ["bar.sync 0;"]
    if own:
        lines += ["xor.b32 %r4, %r4, 4;", "ld.shared.u32 %r6, [%r4];", "st.global.u32 [%a], %r6;"]
    first = 4 // size if own else 0
    lines += [f"st.global.{type_} [%a+{k * size}], {r}{k + 10};" for k in range(first, count)]
    return f""".version 9.0
.target sm_75
.address_size 64
.visible .entry k(.param .u64 p) {directives}
{{
{pragma}
.reg .b32 %r<{count + 12}>; .reg .b64 %d<{count + 12}>; .reg .b64 %a;
{f".shared .align 4 .b8 s[{own}];" if own else ""}
ld.param.u64 %a, [p];
mov.u32 %r0, %tid.z; mov.u32 %r1, %ntid.y; mov.u32 %r2, %tid.y; mad.lo.u32 %r0, %r0, %r1, %r2;
mov.u32 %r1, %ntid.x; mov.u32 %r2, %tid.x; mad.lo.u32 %r0, %r0, %r1, %r2;
mul.wide.u32 %d1, %r0, {count * size};
add.s64 %a, %a, %d1;
{chr(10).join(lines)}
ret;
}}
"""


def compiled(text: str, arch: str, limit: int = 24, level: int = 3) -> orias.Cubin:
    options = Options(arch)
    options.maxrregcount = limit
    options.opt_level = level
    options.self_check = True
    return compile_text([("k.ptx", text.replace("sm_75", arch))], options)


def check_run(data: bytes, block: tuple[int, ...], dtype: str = "u4", own: int = 0) -> None:
    threads = int(np.prod(block))
    given = np.random.default_rng(7).integers(0, 1 << 30, (threads, 60)).astype(dtype)
    memory = given.copy()
    load(data).launch("k", (1,), block, [memory])
    want = given * given
    if own:
        want[:, 0] = np.arange(threads) ^ 1
    np.testing.assert_array_equal(memory, want)


def accesses(data: bytes) -> dict[str, int]:
    code = orias.disassemble(data)
    return {name: len(re.findall(rf"\b{name}\b", code)) for name in ("STS", "LDS", "STL", "LDL")}


@pytest.mark.in_turn(4)
@pytest.mark.parametrize("arch", ARCHES)
@pytest.mark.parametrize(
    ("directives", "block"),
    [
        (".maxntid 96", (96,)),
        (".maxntid 4, 8, 2", (2, 16, 2)),
        (".reqntid 8, 4, 2", (8, 4, 2)),
        (".reqntid 64", (64,)),
        ("", (256,)),
    ],
)
def test_words_of_all_threads_are_apart(arch: str, directives: str, block: tuple[int, ...]) -> None:
    directives += " .maxnreg 24" if directives else ""
    cubin = compiled(kernel(directives, own=4 * int(np.prod(block))), arch)
    check_run(cubin.data, block, own=1)
    found = accesses(cubin.data)
    assert found["STS"] > 4 < found["LDS"]


@pytest.mark.in_turn(3)
@pytest.mark.parametrize("arch", ARCHES)
def test_values_of_two_words(arch: str) -> None:
    cubin = compiled(kernel(".reqntid 32 .maxnreg 112", "u64"), arch, 112)
    check_run(cubin.data, (32,), "u8")
    assert accesses(cubin.data)["STS"] > 10
    info = cubin.kernels["k"]
    assert (info.stack, info.spill_stores, info.spill_loads) == (0, 0, 0)
    assert info.shared and info.shared % 128 == 0


def test_a_full_shared_memory_leaves_local_memory() -> None:
    cubin = compiled(kernel(".reqntid 64 .maxnreg 24", own=49152 - 1024), "sm_80")
    check_run(cubin.data, (64,), own=1)
    found = accesses(cubin.data)
    assert found["STL"] > 10
    assert cubin.kernels["k"].shared <= 49152


def test_without_the_pragma_spills_are_local() -> None:
    cubin = compiled(kernel(".reqntid 32 .maxnreg 24", pragma=""), "sm_90")
    assert accesses(cubin.data)["STS"] == 0


def test_level_0_does_not_obey() -> None:
    found = accesses(compiled(kernel(".reqntid 32 .maxnreg 24"), "sm_90", level=0).data)
    assert found["STS"] == 0 < found["STL"]


def test_a_kernel_without_spills_takes_no_memory() -> None:
    assert compiled(kernel(".reqntid 32 .maxnreg 128"), "sm_90", 128).kernels["k"].shared == 0


@pytest.mark.in_turn(4)
@pytest.mark.parametrize("arch", ["sm_75", "sm_90"])
@pytest.mark.parametrize("name", ["nbody", "print", "softmax", "divide", "recursion", "params"])
def test_kernels_in_24_registers(name: str, arch: str) -> None:
    """Calls of helpers, functions and ``vprintf`` keep the register with the address."""
    text = re.sub(r"(\.entry[^{]*\{)", rf"\1\n{PRAGMA}\n", source(name))
    text = re.sub(r"\.version \d\.\d", ".version 9.0", text)
    options = Options(arch)
    options.self_check = True
    options.maxrregcount = 24
    run(name, compile_text([(name, text)], options).data)


DYNAMIC = kernel(".reqntid 32").replace(".visible", ".extern .shared .align 4 .b8 more[];\n.visible", 1)
DYNAMIC = DYNAMIC.replace("bar.sync 0;", "bar.sync 0; st.shared.u32 [more], %r0;")
REFUSED = [
    (kernel(".reqntid 32"), ["-c"], "per-function compilation modes"),
    (kernel(".reqntid 32"), ["-g"], "per-function compilation modes"),
    (DYNAMIC, [], "dynamic SMEM"),
    (DYNAMIC, ["-O0"], "dynamic SMEM"),
]


@pytest.mark.parametrize(("text", "options", "why"), REFUSED)
def test_where_the_pragma_is_refused(text: str, options: list[str], why: str, tmp_path: Path) -> None:
    message = f"Pragma 'enable_smem_spilling' is not allowed for {why}"
    path = tmp_path / "k.ptx"
    path.write_text(text)
    command = [tool("ptxas"), str(path), "-arch=sm_75", *options, "-o", str(tmp_path / "k.cubin")]
    theirs = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S)
    assert theirs.returncode == 255
    assert theirs.stderr.splitlines()[-1] == f"ptxas fatal   : {message}"
    made = Options("sm_75")
    made.compile_only, made.debug = "-c" in options, "-g" in options
    made.opt_level = 0 if "-O0" in options or made.debug else 3
    with pytest.raises(orias.CompileError, match=re.escape(message)):
        compile_text([("k.ptx", text)], made)
