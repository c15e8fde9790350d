"""The driver library through its C functions: in this process, and in a C program without Python."""

import ctypes
import mmap
import os
import shutil
import struct
import subprocess
import sys
from ctypes import byref, c_char_p, c_float, c_int, c_size_t, c_uint64, c_void_p
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import orias
from orias.cli.exec_command import settings
from orias.driver import host_memory, library
from orias.driver.devices import devices
from orias.driver.driver_calls import HANDLERS
from orias.driver.driver_state import Driver

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
SAXPY = (ROOT / "examples" / "saxpy.ptx").read_bytes()
BAD = b"""
.version 8.0
.target sm_75
.address_size 64
.visible .entry store(.param .u64 p)
{
  .reg .b64 %a;
  ld.param.u64 %a, [p];
  st.global.u32 [%a], 7;
  ret;
}
"""
pytestmark = pytest.mark.skipif(shutil.which("cc") is None, reason="the driver library needs a C compiler")


class Api:
    """Functions of the library; those that fail raise."""

    def __init__(self) -> None:
        self.lib = ctypes.CDLL(str(library.folder() / "libcuda.so.1"))

    def code(self, name, *args):
        return getattr(self.lib, name)(*args)

    def __call__(self, name, *args):
        code = self.code(name, *args)
        assert code == 0, (name, code)


@pytest.fixture(scope="module")
def cuda():
    api = Api()
    api("cuInit", 0)
    return api


@pytest.fixture
def context(cuda):
    handle = c_void_p()
    cuda("cuCtxCreate_v2", byref(handle), 0, 0)
    yield cuda
    cuda("cuCtxDestroy_v2", handle)


def allocate(cuda, size):
    p = c_uint64()
    cuda("cuMemAlloc_v2", byref(p), c_size_t(size))
    return p


def function(cuda, image, name):
    module, f = c_void_p(), c_void_p()
    cuda("cuModuleLoadData", byref(module), image)
    cuda("cuModuleGetFunction", byref(f), module, name)
    return f


def launch(cuda, f, grid, block, values):
    pointers = (c_void_p * len(values))(*[ctypes.addressof(v) for v in values])
    return cuda.code("cuLaunchKernel", f, grid, 1, 1, block, 1, 1, 0, None, pointers, None)


def saxpy(cuda, image):
    n = 1000
    x, y = np.arange(n, dtype=np.float32), np.ones(n, np.float32)
    px, py = allocate(cuda, x.nbytes), allocate(cuda, y.nbytes)
    cuda("cuMemcpyHtoD_v2", px, c_void_p(x.ctypes.data), c_size_t(x.nbytes))
    cuda("cuMemcpyHtoD_v2", py, c_void_p(y.ctypes.data), c_size_t(y.nbytes))
    assert launch(cuda, function(cuda, image, b"saxpy"), 8, 128, [px, py, c_float(2), c_int(n)]) == 0
    out = np.empty_like(y)
    cuda("cuMemcpyDtoH_v2", c_void_p(out.ctypes.data), py, c_size_t(y.nbytes))
    assert np.array_equal(out, 2 * x + y)
    cuda("cuMemFree_v2", px)
    cuda("cuMemFree_v2", py)


CALLS_WITH_AN_EXCEPTION = """
extern void *PyExc_ValueError;
void PyErr_SetString(void *, const char *);
int call(int (*function)(int *), int *place) { PyErr_SetString(PyExc_ValueError, "on its way"); return function(place); }
"""


def test_an_exception_on_its_way_stays(cuda, tmp_path):
    """PyTorch calls the runtime in destructors, while an exception of Python passes its C++."""
    source = tmp_path / "calls.c"
    source.write_text(CALLS_WITH_AN_EXCEPTION)
    subprocess.run(["cc", "-shared", "-fPIC", "-o", tmp_path / "calls.so", source], check=True)
    count = c_int()
    with pytest.raises(ValueError, match="on its way"):
        ctypes.PyDLL(str(tmp_path / "calls.so")).call(cuda.lib.cuDeviceGetCount, byref(count))
    assert count.value == 1


@pytest.mark.parametrize("before", [None, False, print])
def test_frames_of_the_driver_are_not_the_programs(cuda, monkeypatch, before):
    """TorchDynamo would compile the frames of the driver with those of a function under ``torch.compile``: they failed in numpy."""
    set_before = []

    def set_eval_frame(callback):
        set_before.append(callback)
        return before if len(set_before) % 2 else None

    monkeypatch.setitem(sys.modules, "torch._C._dynamo.eval_frame", SimpleNamespace(set_eval_frame=set_eval_frame))
    count = c_int()
    cuda("cuDeviceGetCount", byref(count))
    assert count.value == 1
    assert set_before == ([None] if before is None else [None, before])


def test_ptx_runs(context):
    saxpy(context, SAXPY)


ADD = """
.version 8.0
.target sm_75
.address_size 64
.visible .entry add(.param .u64 p)
{{
  .reg .b64 %a<3>; .reg .b32 %r;
  ld.param.u64 %a0, [p];
  mov.u32 %r, %tid.x;
  rem.u32 %r, %r, 10;
  mul.wide.u32 %a1, %r, {distance};
  add.u64 %a0, %a0, %a1;
  red.global.add.u{bits} [%a0], {value};
  ret;
}}
"""


@pytest.mark.parametrize("bits", [32, 64])
@pytest.mark.parametrize("distance", [8, 100_000])
def test_reductions_add_in_memory_of_the_process(context, bits, distance):
    p = allocate(context, 1_000_000)
    value = (1 << bits - 1) + 3
    f = function(context, ADD.format(bits=bits, distance=distance, value=value).encode(), b"add")
    context("cuMemsetD8_v2", p, 0, c_size_t(1_000_000))
    assert launch(context, f, 3, 100, [p]) == 0
    out = np.empty(1_000_000, np.uint8)
    context("cuMemcpyDtoH_v2", c_void_p(out.ctypes.data), p, c_size_t(out.nbytes))
    assert out.view("u8")[:: distance // 8][:10].tolist() == [90] * 10  # 30 times the value
    assert np.count_nonzero(out) == 10
    context("cuMemFree_v2", p)


def test_cubin_runs(context):
    saxpy(context, orias.compile(SAXPY, arch="sm_90").data)


def test_events_have_the_time_of_the_model(context):
    events = [c_void_p(), c_void_p()]
    for e in events:
        context("cuEventCreate", byref(e), 0)
    times = []
    f = function(context, SAXPY, b"saxpy")
    x, y = allocate(context, 1 << 20), allocate(context, 1 << 20)
    for grid in (8, 8, 1024):
        context("cuEventRecord", events[0], None)
        assert launch(context, f, grid, 256, [x, y, c_float(2), c_int(1 << 18)]) == 0
        context("cuEventRecord", events[1], None)
        ms = c_float()
        context("cuEventElapsedTime", byref(ms), *events)
        times.append(ms.value)
    assert times[0] == pytest.approx(times[1]) and 0.0005 < times[0] < times[2] < 0.1


def test_cubin_of_another_device_is_refused(context):
    assert context.code("cuModuleLoadData", byref(c_void_p()), orias.compile(SAXPY, arch="sm_80").data) == 209


def test_host_memory_is_accessible(context):
    n = 4
    x, y = np.ones(n, np.float32), np.zeros(n, np.float32)
    args = [c_uint64(x.ctypes.data), c_uint64(y.ctypes.data), c_float(3), c_int(n)]
    assert launch(context, function(context, SAXPY, b"saxpy"), 1, 32, args) == 0
    assert list(y) == [3] * n


def test_a_wrong_address_ends_the_context(context, capfd):
    f = function(context, BAD, b"store")
    p = allocate(context, 4)
    context("cuMemFree_v2", p)
    assert launch(context, f, 1, 1, [p]) == 0
    assert context.code("cuCtxSynchronize") == 700
    assert context.code("cuMemAlloc_v2", byref(c_uint64()), c_size_t(4)) == 700
    assert "store at 0x" in capfd.readouterr().err


def test_wrong_sizes_are_refused(context):
    f = function(context, SAXPY, b"saxpy")
    values = [c_uint64(0), c_uint64(0), c_float(0), c_int(0)]
    assert launch(context, f, 0, 32, values) == 1
    assert launch(context, f, 1, 2048, values) == 1
    assert context.code("cuLaunchKernel", f, 1, 1, 1, 1, 1, 1, 50000, None, None, None) == 1
    assert context.code("cuMemAlloc_v2", byref(c_uint64()), c_size_t(1 << 40)) == 2
    assert context.code("cuModuleGetFunction", byref(c_void_p()), c_void_p(12), b"f") == 400


def test_invalid_ptx_leaves_its_message(context):
    text = ctypes.create_string_buffer(1000)
    kinds = (c_int * 2)(5, 6)
    values = (c_void_p * 2)(ctypes.addressof(text), 1000)
    bad = BAD.replace(b"st.global.u32", b"st.global.u33")
    assert context.code("cuModuleLoadDataEx", byref(c_void_p()), bad, 2, kinds, values) == 218
    assert b"u33" in text.value


def test_occupancy_and_attributes(context):
    f = function(context, SAXPY, b"saxpy")
    blocks, registers = c_int(), c_int()
    context("cuOccupancyMaxActiveBlocksPerMultiprocessor", byref(blocks), f, 256, c_size_t(0))
    context("cuFuncGetAttribute", byref(registers), 4, f)
    assert blocks.value == 8
    assert registers.value == orias.compile(SAXPY, arch="sm_90").kernels["saxpy"].registers


def test_active_clusters_of_blocks_that_the_kernel_does_not_allow(context):
    """CUTLASS's Python DSL asks so how many clusters of its persistent kernels to launch; zero was refused as a grid."""
    one = function(context, BAD.replace(b"u64 p)", b"u64 p) .reqntid 1, 1, 1"), b"store")
    attribute = (c_int * 16)(4, 0, 2, 1, 1)
    config = (c_int * 14)(2, 1, 1, 128, 1, 1, 1024)
    struct.pack_into("<QI", config, 40, ctypes.addressof(attribute), 1)
    clusters = c_int()
    context("cuOccupancyMaxActiveClusters", byref(clusters), one, config)
    assert clusters.value > 0


def test_without_context(cuda):
    assert cuda.code("cuMemAlloc_v2", byref(c_uint64()), c_size_t(4)) == 201


def test_names_of_results(cuda):
    text = c_char_p()
    cuda("cuGetErrorName", 700, byref(text))
    assert text.value == b"CUDA_ERROR_ILLEGAL_ADDRESS"
    assert cuda.code("cuGetErrorName", 12345, byref(text)) == 1


def test_entry_points_have_the_form_of_a_version(cuda):
    places = []
    for version in (3020, 12070, 12080):
        p = c_void_p()
        cuda("cuGetProcAddress_v2", b"cuEventElapsedTime", byref(p), version, c_uint64(0), None)
        places.append(p.value)
    assert places[0] == places[1] != places[2]
    # numba-cuda-mlir 0.6.0 asks for version 2.0 of functions that came later.
    for name in (b"cuFuncGetAttribute", b"cuFuncSetAttribute"):
        cuda("cuGetProcAddress_v2", name, byref(c_void_p()), 2000, c_uint64(0), None)
    status = c_int()
    assert cuda.code("cuGetProcAddress_v2", b"cuNoSuch", byref(c_void_p()), 13000, c_uint64(0), byref(status)) == 500
    assert status.value == 1


def test_what_is_absent_is_not_supported(cuda):
    assert cuda.code("cuMulticastCreate", byref(c_void_p()), None) == 801


def test_tables_agree():
    exported = {f.symbol for f in library.functions()}
    own = {name: h for name, h in HANDLERS.items() if name.startswith("cu") and not name.startswith("cuda")}
    assert own.keys() <= exported
    takes = {f.symbol: len(f.arguments or "") for f in library.functions()}
    for name, handler in own.items():
        code = handler.function.__code__
        if not code.co_flags & 4:
            most = code.co_argcount - 1
            defaults = len(handler.function.__defaults__ or ())
            assert most - defaults <= takes[name] <= most, name


@pytest.mark.in_turn(3)
@pytest.mark.parametrize("name", devices())
def test_devices(name):
    program = """
import ctypes
import mmap
c = ctypes.CDLL("libcuda.so.1")
assert c.cuInit(0) == 0
v = ctypes.c_int()
for a in (75, 76):
    assert c.cuDeviceGetAttribute(ctypes.byref(v), a, 0) == 0
    print(v.value)
"""
    done = execute(["--device", name, "--", sys.executable, "-c", program])
    sm = devices()[name].sm
    assert done.stdout.split() == [str(sm // 10), str(sm % 10)]


def execute(arguments):
    command = [sys.executable, "-m", "orias", "exec", *arguments]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    return subprocess.run(command, capture_output=True, text=True, timeout=120, env=environment, check=True)


@pytest.mark.in_turn(3)
@pytest.mark.parametrize("tool, pools, code", [([], 1, 0), (["--tool", "initcheck"], 3, 0), ([], 100, 2)])
def test_addresses_that_the_program_took_before(tmp_path, tool, pools, code):
    program = tmp_path / "program.py"
    program.write_text("""
import ctypes, sys
from ctypes import byref, c_size_t, c_uint64, c_void_p
process = ctypes.CDLL(None)
process.mmap.restype = c_void_p
process.mmap.argtypes = [c_void_p, c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
PRIVATE_ANONYMOUS_FIXED, TERABYTE = 0x100022, 1 << 40
for i in range(int(sys.argv[1])):
    process.mmap(0x200000000000 + 4 * i * TERABYTE, 4096, 0, PRIVATE_ANONYMOUS_FIXED, -1, 0)
c = ctypes.CDLL("libcuda.so.1")
handle, p, out = c_void_p(), c_uint64(), c_uint64(1)
assert c.cuInit(0) == 0
code = c.cuCtxCreate_v2(byref(handle), 0, 0)
if code == 0:
    assert c.cuMemAlloc_v2(byref(p), c_size_t(512)) == 0
    assert c.cuMemsetD32_v2(p, 7, c_size_t(128)) == 0
    assert c.cuMemcpyDtoH_v2(byref(out), p, c_size_t(8)) == 0
    assert out.value == 0x700000007
print(code)
""")
    done = execute([*tool, "--", sys.executable, str(program), str(pools)])
    assert done.stdout.split()[:1] == [str(code)]


@pytest.mark.in_turn(2)
def test_exact_bounds(tmp_path):
    program = tmp_path / "program.py"
    program.write_text("""
import ctypes, sys
from ctypes import byref, c_uint64, c_void_p
c = ctypes.CDLL("libcuda.so.1")
context, module, f, p = c_void_p(), c_void_p(), c_void_p(), c_uint64()
c.cuInit(0), c.cuCtxCreate_v2(byref(context), 0, 0), c.cuMemAlloc_v2(byref(p), ctypes.c_size_t(8))
c.cuModuleLoadData(byref(module), open(sys.argv[1], "rb").read()), c.cuModuleGetFunction(byref(f), module, b"store")
p.value += 8
c.cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, None, (c_void_p * 1)(ctypes.addressof(p)), None)
print(c.cuCtxSynchronize())
""")
    text = tmp_path / "store.ptx"
    text.write_bytes(BAD)
    results = [execute([*e, "--", sys.executable, str(program), str(text)]).stdout for e in ([], ["--exact"])]
    assert results == ["0\n", "700\n"]


def test_what_the_end_of_a_program_gives_back(tmp_path):
    # Python clears the globals of modules after the driver's interpreter counts as ended (CuPy unloads modules then).
    program = tmp_path / "program.py"
    program.write_text("""
import ctypes, os
from ctypes import byref, c_char_p, c_uint64, c_void_p
c = ctypes.CDLL("libcuda.so.1")
context, p = c_void_p(), c_uint64()
c.cuInit(0), c.cuCtxCreate_v2(byref(context), 0, 0), c.cuMemAlloc_v2(byref(p), ctypes.c_size_t(8))
pool = c_uint64()
c.cuDeviceGetDefaultMemPool(byref(pool), 0)
class Owner:
    def __init__(self, *kept):
        self.kept = kept
    def __del__(self):
        c, p, text, byref, write, pool, late = self.kept
        same = c.cuDeviceGetDefaultMemPool(byref(late), 0), late.value == pool, c.cuMemPoolTrimTo(late, 0), c.cuMemGetDefaultMemPool(byref(late), p, 1)
        write(1, repr(same).encode())
        results = c.cuMemFree_v2(p), c.cuCtxSynchronize(), c.cuMemAlloc_v2(p, 8), c.cuGetErrorName(4, byref(text)), c.cuGetErrorName(1, byref(text))
        write(1, repr(results).encode())
        c.cuGetErrorName(4, byref(text))
        write(1, text.value)
owner = Owner(c, p, c_char_p(), byref, os.write, pool.value, c_uint64())
""")
    out = "(0, True, 0, 4)(0, 0, 4, 0, 1)CUDA_ERROR_DEINITIALIZED"
    assert execute(["--", sys.executable, str(program)]).stdout == out


@pytest.mark.in_turn(2)
def test_an_exception_of_a_signal_handler_ends_a_launch_and_reaches_the_program(tmp_path):
    program = tmp_path / "program.py"
    program.write_text("""
import ctypes, signal
from ctypes import byref, c_void_p
class Late(BaseException):
    pass
def late(*_):
    raise Late
c = ctypes.CDLL("libcuda.so.1")
context, module, f = c_void_p(), c_void_p(), c_void_p()
c.cuInit(0), c.cuCtxCreate_v2(byref(context), 0, 0)
text = b".version 8.0\\n.target sm_75\\n.address_size 64\\n.visible .entry k() { L: bra L; }"
c.cuModuleLoadData(byref(module), text), c.cuModuleGetFunction(byref(f), module, b"k")
signal.signal(signal.SIGALRM, late)
signal.setitimer(signal.ITIMER_REAL, 0.3)
try:
    print(c.cuLaunchKernel(f, 1, 1, 1, 32, 1, 1, 0, None, None, None))
    print("not late")
except Late:
    print("late", c.cuCtxSynchronize())
""")
    assert execute(["--", sys.executable, str(program)]).stdout == "late 0\n"


def test_an_exception_before_a_function_begins_waits_for_its_end(tmp_path):
    program = tmp_path / "program.py"
    program.write_text("""
import ctypes, sys
c = ctypes.CDLL("libcuda.so.1")
version = ctypes.c_int(7)
print(c.cuDriverGetVersion(ctypes.byref(version)), version.value > 7)
def hook(frame, event, arg):
    if frame.f_code.co_name == "call" and frame.f_code.co_filename.endswith("attach.py"):
        sys.settrace(None)
        raise KeyboardInterrupt
version.value = 7
sys.settrace(hook)
print(c.cuDriverGetVersion(ctypes.byref(version)), version.value > 7)
""")
    assert execute(["--", sys.executable, str(program)]).stdout == "0 True\n0 True\n"


def test_a_program_in_c(tmp_path):
    program = tmp_path / "program"
    link = ["-L", str(library.folder()), "-l:libcuda.so.1"]
    subprocess.run(["cc", "-o", str(program), str(HERE / "program.c"), *link], check=True)
    assert execute(["--", str(program), str(ROOT / "examples" / "saxpy.ptx")]).stdout == "right\n"


def test_an_unknown_device_is_named():
    command = [sys.executable, "-m", "orias", "exec", "--device", "Riva128", "--", "true"]
    done = subprocess.run(command, capture_output=True, text=True, env=os.environ | {"PYTHONPATH": str(ROOT)})
    assert done.returncode == 255
    assert "Riva128" in done.stderr


def test_programs_find_an_assembler_that_is_ours() -> None:
    """Without one, Triton would take the ptxas in its own package."""
    for name in ("TRITON_PTXAS_PATH", "TRITON_PTXAS_BLACKWELL_PATH"):
        own = settings({})[name]
        said = subprocess.run([own, "--version"], env={}, capture_output=True, text=True, timeout=60, check=True)
        assert "Orias" in said.stdout
        assert settings({name: "/other/ptxas"})[name] == "/other/ptxas"


def test_memory_of_the_host_is_looked_up_once_in_a_launch(context, monkeypatch):
    looks = []
    writable = host_memory._writable
    monkeypatch.setattr(host_memory, "_writable", lambda *span: looks.append(span) or writable(*span))
    f, n = function(context, SAXPY, b"saxpy"), 1000
    with mmap.mmap(-1, 8 * n) as memory:
        address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
        np.frombuffer(memory, np.float32)[:] = 1
        arguments = [c_uint64(address), c_uint64(address + 4 * n), c_float(2), c_int(n)]
        assert launch(context, f, 8, 128, arguments) == 0
        assert len(looks) == 1
        assert (np.frombuffer(memory, np.float32)[n:] == 3).all()
        np.frombuffer(memory, np.float32)[:] = 1
        assert launch(context, f, 8, 128, arguments) == 0
        assert len(looks) == 2


@pytest.mark.parametrize("offset", [-4, -8])
def test_the_last_addresses_are_no_memory_of_the_host(context, capfd, offset):
    with mmap.mmap(-1, 4096) as memory:
        address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
        wild = c_uint64(offset)
        assert (
            launch(context, function(context, SAXPY, b"saxpy"), 1, 1, [c_uint64(address), wild, c_float(2), c_int(1)])
            == 0
        )
        assert context.code("cuCtxSynchronize") == 700
    assert f"{wild.value:x}" in capfd.readouterr().err


def test_registered_memory_keeps_its_bytes(context):
    cuda = context
    size = 1 << 16
    memory = (ctypes.c_uint8 * size)(*[i * 7 & 255 for i in range(size)])
    wanted = bytes(memory)
    cuda("cuMemHostRegister_v2", memory, c_uint64(size), 2)
    free, total, later = c_uint64(), c_uint64(), c_uint64()
    cuda("cuMemGetInfo_v2", byref(free), byref(total))
    assert cuda.code("cuMemFree_v2", c_uint64(ctypes.addressof(memory))) == 1
    cuda("cuMemHostUnregister", memory)
    cuda("cuMemGetInfo_v2", byref(later), byref(total))
    assert bytes(memory) == wanted and free.value == later.value


def test_the_default_stream_of_the_thread():
    """Functions whose names end in _ptsz take the stream 0 for that of the calling thread, which can be captured."""
    program = """
import ctypes
from ctypes import byref, c_int, c_uint64, c_void_p
c = ctypes.CDLL("libcuda.so.1")
context = c_void_p()
assert c.cuInit(0) == 0 and c.cuCtxCreate_v2(byref(context), 0, 0) == 0
def capturing(stream):
    state = c_int()
    assert c.cuStreamIsCapturing(c_void_p(stream), byref(state)) == 0
    return state.value
print(c.cuStreamBeginCapture_v2(c_void_p(0), 0), capturing(2))
print(c.cuStreamBeginCapture_v2_ptsz(c_void_p(0), 0), capturing(2), capturing(0))
graph = c_void_p()
print(c.cuStreamEndCapture_ptsz(c_void_p(0), byref(graph)), capturing(2))
place, status = c_void_p(), c_int()
for flags in (0, 1, 2):
    assert c.cuGetProcAddress_v2(b"cuLaunchKernelEx", byref(place), 13000, c_uint64(flags), byref(status)) == 0
    print(place.value == ctypes.cast(c.cuLaunchKernelEx_ptsz, c_void_p).value)
"""
    lines = execute(["--", sys.executable, "-c", program]).stdout.split("\n")
    assert lines == ["900 0", "0 1 0", "0 0", "False", "False", "True", ""]


def test_a_program_with_another_runtime_is_told_once(cuda, capsys):
    table, place = bytes.fromhex("6bd5fb6c5bf4e74a8987d93912fd9df9"), c_void_p()
    driver = Driver.of_process
    driver.told_of_runtime = False
    codes = [cuda.code("cuGetExportTable", byref(place), c_char_p(table)) for _ in range(2)]
    assert codes == [500, 500]
    assert capsys.readouterr().err.count("nvcc -cudart shared") == 1
