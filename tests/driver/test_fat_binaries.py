"""Which code of a fat binary runs, with the variables of NVIDIA's driver that choose it."""

import shutil
import sys

import pytest

import orias
from orias.cubin.fatbin import KIND_CUBIN, KIND_PTX
from tests.driver.test_driver import execute
from tests.tools.test_images import entry, fatbin

pytestmark = pytest.mark.skipif(shutil.which("cc") is None, reason="the driver library needs a C compiler")
PTX = """
.version 8.0
.target sm_90
.address_size 64
.visible .global .align 4 .u32 which = NUMBER;
.visible .entry nothing()
{
  ret;
}
"""
PROGRAM = """
import ctypes, sys
from ctypes import byref, c_size_t, c_uint32, c_uint64, c_void_p
c = ctypes.CDLL("libcuda.so.1")
context, p, n, value = c_void_p(), c_uint64(), c_size_t(), c_uint32()
assert c.cuInit(0) == 0 and c.cuCtxCreate_v2(byref(context), 0, 0) == 0
for path in sys.argv[1:]:
    module = c_void_p()
    code = c.cuModuleLoadData(byref(module), open(path, "rb").read() + bytes(1))
    if code == 0:
        assert c.cuModuleGetGlobal_v2(byref(p), byref(n), module, b"which") == 0
        assert c.cuMemcpyDtoH_v2(byref(value), p, c_size_t(4)) == 0
    print(value.value if code == 0 else -code)
"""


@pytest.mark.in_turn(3)
@pytest.mark.parametrize(
    "variable, results",
    [
        ("", [1, 1, 2, 2]),
        ("CUDA_FORCE_PTX_JIT", [2, -209, 2, 2]),
        ("CUDA_DISABLE_PTX_JIT", [1, 1, -209, -223]),
    ],
)
def test_cubins_and_ptx(tmp_path, monkeypatch, variable, results):
    for name in ("CUDA_FORCE_PTX_JIT", "CUDA_DISABLE_PTX_JIT"):
        monkeypatch.setenv(name, "1" if name == variable else "0")
    code = orias.compile(PTX.replace("NUMBER", "1"), arch="sm_90").data
    text = PTX.replace("NUMBER", "2").encode() + b"\0"
    cubin, ptx = entry(KIND_CUBIN, code, 0, 0, 0), entry(KIND_PTX, text, 0, 0, 0)
    paths = [tmp_path / name for name in ("both", "cubin", "ptx", "text")]
    for path, data in zip(paths, (fatbin(cubin, ptx), fatbin(cubin), fatbin(ptx), text), strict=True):
        path.write_bytes(data)
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    done = execute(["--", sys.executable, str(program), *map(str, paths)])
    assert list(map(int, done.stdout.split())) == results
