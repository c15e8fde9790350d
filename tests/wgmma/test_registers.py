"""Accumulators that the registers do not suffice for: ptxas 13.0.88 serialises (C7511, C7512) or refuses (C7602), and so do we."""

import subprocess
from pathlib import Path

import numpy as np
import pytest

import orias
from orias.api import Cubin, compile_sources
from orias.diag import CompileError, Diagnostic
from orias.options import Options
from orias.sim import load
from tests.nvtools import LIMIT_S, tool
from tests.wgmma.test_advisories import said
from tests.wgmma.test_remarks import COMMIT, FENCE, HEAD, TAIL, WAIT, operations

_SECOND = 64
"""First register of the second accumulator."""


def product(columns: int, first: int = 0, a: str = "%rd2") -> str:
    registers = ",".join(f"%f{first + k}" for k in range(columns // 2))
    tail = "0" if a.startswith("{") else "0,0"
    return f"wgmma.mma_async.sync.aligned.m64n{columns}k16.f32.f16.f16 {{{registers}}},{a},%rd3,1,1,1,{tail};"


def moves(op: str, count: int, first: int) -> str:
    place = "%f{0},[%rd1+{1}]" if op.startswith("ld") else "[%rd1+{1}],%f{0}"
    return " ".join(f"{op}.global.f32 {place.format(first + k, 2048 * (first + k))};" for k in range(count))


def program(one: int, two: int, body: list[str]) -> str:
    """Accumulators of two products, loaded before the body and stored after it."""
    head = HEAD.replace("%f<32>", "%f<160>")
    around = [[moves(op, n // 2, k) for n, k in ((one, 0), (two, _SECOND))] for op in ("ld", "st")]
    return head + "\n".join([*around[0], *body, *around[1]]) + TAIL


PAIR = "two accumulators under way"
LOOP = "one after the other in a loop"
CASES = {
    # name: (columns, limit, message)
    (PAIR, 64, 64, 96): [],
    (PAIR, 64, 80, 96): [(7512, 0, "k")],
    (PAIR, 80, 128, 96): [(7511, 0, "k")],
    (LOOP, 64, 80, 96): [(7512, 0, "k")],
}


def text(kind: str, one: int, two: int) -> str:
    if kind == PAIR:
        return program(one, two, [FENCE, product(one), product(two, _SECOND), COMMIT, WAIT])
    steps = [FENCE, product(one), COMMIT, WAIT, FENCE, product(two, _SECOND), COMMIT, WAIT]
    again = "add.u32 %r1,%r1,1; setp.lt.u32 %p3,%r1,3; @%p3 bra Q;"
    return program(one, two, ['Q: .pragma "nounroll";', *steps, again])


def ours(source: str, limit: int) -> Cubin:
    options = Options("sm_90a")
    options.maxrregcount = limit
    options.self_check = True
    return compile_sources([("k.ptx", source)], options)


def run(cubin: Cubin) -> np.ndarray:
    memory = np.arange(1 << 17, dtype=np.float32) / 64 + 1
    load(cubin.data).launch("k", 1, 128, [memory, 0, 0, 1], max_steps=500_000)
    return memory.view(np.uint32)


@pytest.mark.in_turn(4)
@pytest.mark.parametrize("case", list(CASES))
def test_case(case: tuple[str, int, int, int]) -> None:
    kind, one, two, limit = case
    source = text(kind, one, two)
    cubin = ours(source, limit)
    assert said([d.message for d in cubin.diagnostics]) == CASES[case]
    assert cubin.kernels["k"].registers <= limit
    if CASES[case]:
        ops = operations(cubin.data).split()
        assert ops == ["A", "M+", "W0"] * (len(ops) // 3)
    assert (run(cubin) == run(ours(source, 255))).all()


@pytest.mark.sweep
@pytest.mark.parametrize("case", list(CASES))
def test_case_ptxas(case: tuple[str, int, int, int], tmp_path: Path) -> None:
    kind, one, two, limit = case
    run = ptxas(text(kind, one, two), limit, tmp_path)
    assert said(run.stderr.splitlines()) == CASES[case]


def ptxas(source: str, limit: int, folder: Path) -> "subprocess.CompletedProcess[str]":
    (folder / "k.ptx").write_text(source)
    flags = ["-arch=sm_90a", f"--maxrregcount={limit}"]
    command = [tool("ptxas"), *flags, str(folder / "k.ptx"), "-o", str(folder / "k.cubin")]
    return subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S)


@pytest.mark.parametrize(("a", "limit", "need"), [("%rd2", 33, 34), ("{%r4,%r5,%r6,%r7}", 36, 38)])
def test_one_operation(a: str, limit: int, need: int, tmp_path: Path) -> None:
    body = [FENCE, product(16, 0, a), COMMIT, WAIT]
    source = HEAD + "\n".join(body) + TAIL
    message = f"(C7602) Insufficient registers ({limit}) to compile instruction at line 11 in function k."
    message += f" Try to compile with register target of {need} or higher."
    assert message in ptxas(source, limit, tmp_path).stderr
    with pytest.raises(CompileError) as e:
        ours(source, limit)
    assert e.value.diagnostics[-1] == Diagnostic("fatal", message)
    assert ours(source, need).kernels["k"].registers <= need


def tensor_memory(operation: str, count: int) -> str:
    values = "{" + ", ".join(f"%v{k}" for k in range(count)) + "}"
    operands = f"{values}, [%r1]" if operation == "ld" else f"[%r1], {values}"
    each = "st.global.b32 [%rd1+{0}], %v{1};" if operation == "ld" else "ld.global.b32 %v{1}, [%rd1+{0}];"
    others = [each.format(4 * k, k) for k in range(count)]
    line = f"tcgen05.{operation}.sync.aligned.32x32b.x{count}.b32 {operands}; tcgen05.wait::{operation}.sync.aligned;"
    body = "\n".join([line, *others] if operation == "ld" else [*others, line])
    return f""".version 8.8
.target sm_100a
.address_size 64
.visible .entry k(.param .u64 p0, .param .u32 p1) {{
.reg .b64 %rd<2>; .reg .b32 %r<2>, %v<{count}>;
ld.param.u64 %rd1, [p0]; ld.param.u32 %r1, [p1];
{body}
ret; }}
"""


@pytest.mark.parametrize(("operation", "count", "line"), [("ld", 8, 7), ("st", 16, 23), ("ld", 64, 7)])
@pytest.mark.parametrize("debug", [False, True])
def test_tensor_memory(operation: str, count: int, line: int, debug: bool) -> None:
    """An access to N values of tensor memory needs N + 18 registers, as for ptxas 13.0.88, with less it is refused."""
    source, need = tensor_memory(operation, count), count + 18
    options = {"arch": "sm_100a", "capsules": "forbid", "debug": debug}
    with pytest.raises(orias.CompileError) as e:
        orias.compile(source, maxrregcount=need - 1, **options)
    found = e.value.diagnostics
    assert found[-1].message == (
        f"(C7602) Insufficient registers ({need - 1}) to compile instruction at line {line} in function k."
        f" Try to compile with register target of {need} or higher."
    )
    # Warnings that were given before stay.
    assert len(found) == (3 if debug else 1)
    assert orias.compile(source, maxrregcount=need, **options).kernels["k"].registers <= need
