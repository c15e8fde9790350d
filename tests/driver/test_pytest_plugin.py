"""``pytest --orias``: runs of pytest on a program that calls the driver with ctypes."""

import os
import shutil

import pytest

from orias.clients import pytest_plugin
from orias.driver import library
from tests.driver.test_driver import ROOT

pytest_plugins = ["pytester"]
needs_cc = pytest.mark.skipif(shutil.which("cc") is None, reason="the driver library needs a C compiler")
TESTS = '''
import ctypes
import os
import subprocess
import sys
from ctypes import byref, c_int, c_size_t, c_uint64, c_void_p

import pytest

PTX = b"""
.version 8.0
.target sm_75
.address_size 64
.visible .entry store(.param .u64 to)
{
  .reg .b64 %a; .reg .b32 %r;
  ld.param.u64 %a, [to];
  mov.u32 %r, %tid.x;
  mad.wide.u32 %a, %r, 4, %a;
  st.global.u32 [%a], %r;
  ret;
}
.visible .entry unwritten(.param .u64 from)
{
  .reg .b64 %a; .reg .b32 %r;
  ld.param.u64 %a, [from];
  ld.global.u32 %r, [%a];
  st.global.u32 [%a], %r;
  ret;
}
"""


@pytest.fixture(scope="session")
def cuda():
    lib = ctypes.CDLL("libcuda.so.1")
    context = c_void_p()
    assert lib.cuInit(0) == 0 and lib.cuCtxCreate_v2(byref(context), 0, 0) == 0
    return lib


@pytest.fixture
def launch(cuda):
    module = c_void_p()
    assert cuda.cuModuleLoadData(byref(module), PTX) == 0

    def run(name, grid, block, address=None):
        f, p = c_void_p(), c_uint64()
        cuda.cuModuleGetFunction(byref(f), module, name)
        cuda.cuMemAlloc_v2(byref(p), c_size_t(4 * block))
        if address is not None:
            p.value = address
        values = (c_void_p * 1)(ctypes.addressof(p))
        return cuda.cuLaunchKernel(f, grid, 1, 1, block, 1, 1, 0, None, values, None)

    return run


@pytest.mark.orias_device
def test_runs(launch, orias_launches):
    assert launch(b"store", 2, 64) == 0
    (r,) = orias_launches
    assert (r.kernel, r.grid, r.block) == ("store", (2, 1, 1), (64, 1, 1))
    assert r.instructions % 128 == 0 and r.instructions > 0 and r.cycles > 0


@pytest.mark.orias_device(sm=90)
def test_needs_sm_90():
    pass


@pytest.mark.orias_budget("st*", cycles=5000, instructions=5000)
def test_within_budget(launch):
    launch(b"store", 2, 64)


@pytest.mark.orias_budget("store", instructions=10)
def test_too_many_instructions(launch):
    launch(b"store", 2, 64)


@pytest.mark.orias_budget("store", cycles=10)
def test_too_many_cycles(launch):
    launch(b"store", 2, 64)


@pytest.mark.orias_budget("absent", cycles=10)
def test_not_launched(launch):
    launch(b"store", 1, 32)


@pytest.mark.orias_budget("store")
def test_wrong_marker():
    pass


def test_finding(launch):
    launch(b"unwritten", 1, 1)


def test_silent_error(launch):
    launch(b"store", 1, 1, 64)


def test_error_that_is_asked_for(cuda, launch):
    launch(b"store", 1, 1, 64)
    assert cuda.cuCtxSynchronize() == 700


def test_after_an_error(cuda, launch):
    assert launch(b"store", 1, 32) == 0 and cuda.cuCtxSynchronize() == 0


def test_child_process():
    subprocess.run([sys.executable, "-c", "import ctypes; ctypes.CDLL('libcuda.so.1')"], check=True)
'''


@pytest.fixture
def program(monkeypatch, request):
    # pytester has a home of its own, where the library would be built again.
    monkeypatch.setenv("ORIAS_CACHE", str(library.cache()))
    pytester = request.getfixturevalue("pytester")
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setenv("PYTHONSAFEPATH", "1")
    monkeypatch.setenv("COLUMNS", "200")
    # Where Orias is installed, pytest would load the plugin by its entry point as well.
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.delenv("PYTEST_ADDOPTS", raising=False)
    pytester.makepyfile(test_program=TESTS)
    return pytester


def run(program, *options):
    return program.runpytest_subprocess("-p", "orias.clients.pytest_plugin", "-p", "no:cacheprovider", *options)


@pytest.mark.in_turn(2)
@needs_cc
def test_a_run(program):
    done = run(program, "--orias", "--orias-device", "A100", "--orias-check", "initcheck", "--orias-report", "-rfsE")
    done.assert_outcomes(passed=5, failed=5, errors=1, skipped=1)
    done.stdout.fnmatch_lines_random([
        "*launches*instructions*cycles*microseconds*kernel",
        "*6 * store",
        "*1 * unwritten",
        "SKIPPED*needs sm_90, the device is sm_80",
        "FAILED*test_too_many_instructions*store took * instructions, the budget is 10",
        "FAILED*test_too_many_cycles*store took * cycles, the budget is 10",
        "FAILED*test_not_launched*absent was not launched; launched: store",
        "ERROR*test_wrong_marker*a kernel and one or both numbers",
        "FAILED*test_finding*initcheck: read of 4 bytes of global memory*",
        "FAILED*test_silent_error*ILLEGAL_ADDRESS*",
    ])  # fmt: skip


@pytest.mark.sweep
@needs_cc
def test_processes_of_xdist(program):
    pytest.importorskip("xdist")
    done = run(program, "-p", "xdist", "--orias", "--orias-report", "-n", "2", "-k", "runs or within")
    done.assert_outcomes(passed=2)
    done.stdout.fnmatch_lines(["*2 * store"])


def test_without_a_device(program, monkeypatch):
    # The library may be loaded in this process.
    monkeypatch.setattr(pytest_plugin, "_capability", lambda: 0)
    done = program.runpytest_inprocess("-p", "orias.clients.pytest_plugin", "-k", "test_runs or needs_sm_90", "-rs")
    done.assert_outcomes(skipped=2)
    done.stdout.fnmatch_lines(["SKIPPED*no GPU (pytest --orias simulates one)"])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--orias-report"], "*need --orias"),
        (["--orias", "--orias-device", "Riva128"], "*device Riva128: there are*"),
        (["--orias", "--orias-check", "hazards,racecheck"], "*hazards runs alone"),
    ],
)
def test_wrong_options(program, options, message):
    done = program.runpytest_inprocess("-p", "orias.clients.pytest_plugin", *options)
    assert done.ret == pytest.ExitCode.USAGE_ERROR
    done.stderr.fnmatch_lines([message])


def test_the_plugin_is_cheap():
    import subprocess
    import sys

    program = "import sys, pytest; n = set(sys.modules); import orias.clients.pytest_plugin; print(*sorted(set(sys.modules) - n))"
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=environment, check=True)
    assert set(done.stdout.split()) - {"ctypes", "_ctypes", "ctypes._endian"} == {
        "orias", "orias.clients", "orias.clients.pytest_plugin", "orias.version",
    }  # fmt: skip
