"""``orias exec --tool`` on a program: its report as text and as JSON, and its exit code."""

import json
import os
import shutil
import subprocess
import sys

import pytest

import orias
from orias.cubin.fatbin import KIND_CUBIN, KIND_PTX
from tests.driver.test_driver import ROOT, execute
from tests.tools.test_images import entry, fatbin

pytestmark = pytest.mark.skipif(shutil.which("cc") is None, reason="the driver library needs a C compiler")
PTX = """
.version 8.0
.target sm_75
.address_size 64
.visible .entry copy(.param .u64 from, .param .u64 to)
{
  .reg .b32 %r<2>;
  .reg .b64 %a<2>;
  ld.param.u64 %a0, [from];
  ld.param.u64 %a1, [to];
  ld.global.u32 %r0, [%a0];
  st.global.u32 [%a1], %r0;
  ret;
}
.visible .entry race(.param .u64 to)
{
  .reg .b32 %r<4>;
  .reg .b64 %a<1>;
  .shared .align 4 .b8 buf[256];
  ld.param.u64 %a0, [to];
  mov.u32 %r0, %tid.x;
  mul.lo.u32 %r1, %r0, 4;
  mov.u32 %r2, buf;
  add.u32 %r3, %r2, %r1;
  st.shared.u32 [%r3], %r0;
  xor.b32 %r3, %r3, 128;
  ld.shared.u32 %r1, [%r3];
  st.global.u32 [%a0], %r1;
  ret;
}
"""
PROGRAM = """
import ctypes, sys
from ctypes import byref, c_size_t, c_uint64, c_void_p

c = ctypes.CDLL("libcuda.so.1")
c.cuInit(0)


def memory():
    p = c_uint64()
    assert c.cuMemAlloc_v2(byref(p), c_size_t(8)) == 0
    return p


def run(name, *values, threads=1):
    module, f = c_void_p(), c_void_p()
    assert c.cuModuleLoadData(byref(module), open(sys.argv[1], "rb").read()) == 0
    c.cuModuleGetFunction(byref(f), module, name)
    pointers = (c_void_p * len(values))(*[ctypes.addressof(v) for v in values])
    assert c.cuLaunchKernel(f, 1, 1, 1, threads, 1, 1, 0, None, pointers, None) == 0
    return c.cuCtxSynchronize()


def context():
    x = c_void_p()
    assert c.cuCtxCreate_v2(byref(x), 0, 0) == 0


context()
a, b, kept = memory(), memory(), memory()
c.cuMemsetD32_v2(a, 1, c_size_t(2))
assert run(b"copy", a, b) == 0 and run(b"copy", b, a) == 0  # Written by the host, then by a kernel.
if "bad" in sys.argv:
    fresh = memory()
    assert run(b"copy", fresh, a) == 0
    assert run(b"race", a, threads=64) == 0
    c.cuMemFree_v2(b)
    assert run(b"copy", b, a) == 700
    context()
    odd = c_uint64(a.value + 2)
    assert run(b"copy", a, odd) == 716
else:
    c.cuMemFree_v2(b)
    c.cuMemFree_v2(a)
    c.cuMemFree_v2(kept)
print("ran")
"""


def run(tmp_path, *arguments, tools="memcheck,racecheck,initcheck,synccheck"):
    program, ptx, out = tmp_path / "program.py", tmp_path / "kernels.ptx", tmp_path / "out.json"
    program.write_text(PROGRAM)
    ptx.write_text(PTX)
    options = ["--tool", tools, "--json", str(out), "--leaks", "--error-exitcode", "9"]
    command = [
        sys.executable,
        "-m",
        "orias",
        "exec",
        *options,
        "--",
        sys.executable,
        str(program),
        str(ptx),
        *arguments,
    ]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, env=environment)
    assert done.stdout == "ran\n", done.stderr
    return done, json.loads(out.read_text())


def test_faults_are_reported(tmp_path):
    done, report = run(tmp_path, "bad")
    assert done.returncode == 9
    kinds = [(f["tool"], f["kind"], f["kernel"]) for f in report["findings"]]
    assert kinds[:5] == [
        ("initcheck", "uninitialised", "copy"),
        ("racecheck", "read after write", "race"),
        ("racecheck", "write after write", "race"),
        ("memcheck", "OutOfBounds", "copy"),
        ("memcheck", "Misaligned", "copy"),
    ]
    assert {k[1] for k in kinds[5:]} == {"leak"}
    leaks = [f["message"] for f in report["findings"][5:]]
    assert all("program.py:11 (memory), were not given back" in m for m in leaks)
    assert [m.split(", ")[1].split(" at ")[0] for m in leaks] == ["allocation 1", "allocation 3", "allocation 4"]
    freed = report["findings"][3]
    assert "program.py:11 (memory), which was given back" in freed["message"] and freed["places"][0]["ptx"] == "11"
    assert "orias: racecheck: race at shared address" in done.stderr
    assert "nobody wrote" in done.stderr


def test_a_correct_program_has_no_errors(tmp_path):
    done, report = run(tmp_path)
    assert (done.returncode, report["findings"], report["launches"]) == (0, [], 2), done.stderr


@pytest.mark.sweep
def test_no_hazards(tmp_path):
    _, report = run(tmp_path, tools="hazards")
    assert report["findings"] == [] and report["launches"] == 2


def test_hazards_run_alone():
    command = [sys.executable, "-m", "orias", "exec", "--tool", "hazards,racecheck", "true"]
    done = subprocess.run(command, capture_output=True, text=True, env=os.environ | {"PYTHONPATH": str(ROOT)})
    assert done.returncode == 255 and "runs alone" in done.stderr


LATER = """
import ctypes, sys
from ctypes import byref, c_size_t, c_uint64, c_void_p

c = ctypes.CDLL("libcuda.so.1")
x, module, f, p = c_void_p(), c_void_p(), c_void_p(), c_uint64()
assert c.cuInit(0) == 0 and c.cuCtxCreate_v2(byref(x), 0, 0) == 0 and c.cuMemAlloc_v2(byref(p), c_size_t(256)) == 0
assert c.cuMemAlloc_v2(byref(c_uint64()), c_size_t(1 << 50)) == 2
assert c.cuModuleLoadData(byref(module), open(sys.argv[1], "rb").read()) == 0
assert c.cuModuleGetFunction(byref(f), module, b"race") == 0
for value in (2, 16, p.value):
    given = c_uint64(value)
    assert c.cuLaunchKernel(f, 1, 1, 1, 32, 1, 1, 0, None, (c_void_p * 1)(ctypes.addressof(given)), None) == 0
print(c.cuCtxSynchronize())
"""
# Threads of one warp exchange values in shared memory without a barrier.
IN_A_WARP = PTX[: PTX.index(".visible")] + PTX[PTX.index(".visible .entry race") :].replace(", 128;", ", 64;")


def findings(tmp_path, image, *options):
    """What a program prints, and the kinds of what the tools find in it."""
    program, file, out = tmp_path / "later.py", tmp_path / "image", tmp_path / "out.json"
    program.write_text(LATER)
    file.write_bytes(image)
    done = execute(["--json", str(out), *options, "--", sys.executable, str(program), str(file)])
    return done.stdout, [f["kind"] for f in json.loads(out.read_text())["findings"]]


def test_a_context_that_is_kept_runs_kernels_after_an_error(tmp_path):
    image = IN_A_WARP.encode()
    assert findings(tmp_path, image, "--tool", "memcheck", "--keep-context", "--api-errors") == (
        "0\n", ["call", "Misaligned", "OutOfBounds"]
    )  # fmt: skip


@pytest.mark.in_turn(2)
def test_racecheck_takes_ptx_rather_than_code_without_barriers_of_warps(tmp_path):
    parts = []
    for keep in (False, True):
        cubin = orias.compile(IN_A_WARP, arch="sm_90", keep_warp_barriers=keep).data
        parts.append(entry(KIND_CUBIN, cubin, 0, 0, 0))
    ptx = entry(KIND_PTX, IN_A_WARP.encode() + b"\0", 0, 0, 0)
    races = []
    for given in ([parts[0]], [parts[0], ptx], [parts[1], ptx]):
        _, kinds = findings(tmp_path, fatbin(*given), "--tool", "racecheck", "--keep-context")
        races.append("read after write" in kinds)
    assert races == [False, True, True]
