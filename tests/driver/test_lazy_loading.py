"""Kernels of a module of PTX are compiled when they are used first, and share the variables of the module."""

import ctypes
import os
import shutil
import subprocess
import sys
from ctypes import byref, c_char_p, c_int, c_size_t, c_uint64, c_void_p

import numpy as np
import pytest

import orias
from orias.cubin.reader import Reader
from orias.deferred import DeferredModule
from orias.options import Options
from orias.sim.core.image import Image
from tests.driver.test_driver import ROOT, Api, allocate, context, cuda, execute, launch  # noqa: F401 - fixtures

pytestmark = pytest.mark.skipif(shutil.which("cc") is None, reason="the driver library needs a C compiler")
HEAD = ".version 8.0\n.target sm_75\n.address_size 64\n"
SHARED_VARIABLES = """
.visible .global .align 4 .u32 count = 5;
.global .align 8 .u64 where = generic(count);
.const .align 4 .u32 step = 3;
.func (.reg .u32 r) next(.reg .u32 x)
{
  .reg .u32 %s;
  ld.const.u32 %s, [step];
  add.u32 r, x, %s;
  ret;
}
.visible .entry up()
{
  .reg .u32 %a<3>;
  ld.global.u32 %a1, [count];
  call (%a2), next, (%a1);
  st.global.u32 [count], %a2;
  ret;
}
.visible .entry twice()
{
  .reg .u32 %a;
  .reg .u64 %p;
  ld.global.u64 %p, [where];
  ld.u32 %a, [%p];
  shl.b32 %a, %a, 1;
  st.u32 [%p], %a;
  ret;
}
"""
POINTER = """
.func (.reg .u32 r) seven()
{
  mov.u32 r, 7;
  ret;
}
.visible .global .u64 table[1] = {seven};
.visible .entry through_pointer(.param .u64 out)
{
  .reg .u32 %a;
  .reg .u64 %f, %p;
  ld.param.u64 %p, [out];
  ld.global.u64 %f, [table];
  proto: .callprototype (.reg .u32 _) _ ();
  call (%a), %f, (), proto;
  st.global.u32 [%p], %a;
  ret;
}
.visible .entry other()
{
  ret;
}
"""
LATE_REFUSAL = """
.version 8.0
.target sm_90a
.address_size 64
.visible .entry good() { ret; }
.visible .entry bad()
.maxnreg 168
{
  setmaxnreg.inc.sync.aligned.u32 160;
  setmaxnreg.dec.sync.aligned.u32 240;
  ret;
}
"""


def loaded(api, text):
    module = c_void_p()
    api("cuModuleLoadData", byref(module), text.encode())
    return module


def handle(api, module, name):
    f = c_void_p()
    api("cuModuleGetFunction", byref(f), module, name)
    return f


def variable(api, module, name):
    address, size, value = c_uint64(), c_size_t(), np.zeros(1, np.uint32)
    api("cuModuleGetGlobal_v2", byref(address), byref(size), module, name)
    api("cuMemcpyDtoH_v2", c_void_p(value.ctypes.data), address, c_size_t(4))
    return int(value[0])


def is_loaded(api, f):
    state = c_int(-1)
    api("cuFuncIsLoaded", byref(state), f)
    return state.value


def kernels(api, module):
    count = ctypes.c_uint()
    api("cuModuleGetFunctionCount", byref(count), module)
    found = (c_void_p * count.value)()
    api("cuModuleEnumerateFunctions", found, count, module)
    out = {}
    for f in found:
        name = c_char_p()
        api("cuFuncGetName", byref(name), c_void_p(f))
        out[name.value] = c_void_p(f)
    return out


def test_kernels_share_variables(context):  # noqa: F811
    module = loaded(context, HEAD + SHARED_VARIABLES)
    assert variable(context, module, b"count") == 5
    for name, value in ((b"up", 8), (b"twice", 16), (b"up", 19), (b"twice", 38)):
        assert launch(context, handle(context, module, name), 1, 1, []) == 0
        assert variable(context, module, b"count") == value


def test_a_kernel_is_loaded_by_its_first_use(context):  # noqa: F811
    mode = c_int()
    context("cuModuleGetLoadingMode", byref(mode))
    assert mode.value == 2
    module = loaded(context, HEAD + SHARED_VARIABLES)
    found = kernels(context, module)
    assert set(found) == {b"up", b"twice"}
    assert [is_loaded(context, f) for f in found.values()] == [0, 0]
    assert handle(context, module, b"up").value == found[b"up"].value
    assert (is_loaded(context, found[b"up"]), is_loaded(context, found[b"twice"])) == (1, 0)
    registers = c_int()
    context("cuFuncGetAttribute", byref(registers), 4, found[b"twice"])
    assert registers.value and is_loaded(context, found[b"twice"])
    again = kernels(context, loaded(context, HEAD + SHARED_VARIABLES))
    assert is_loaded(context, again[b"up"]) == 0
    context("cuFuncLoad", again[b"up"])
    assert is_loaded(context, again[b"up"]) == 1


def test_modules_of_one_text_have_variables_of_their_own(context):  # noqa: F811
    modules = [loaded(context, HEAD + SHARED_VARIABLES) for _ in range(2)]
    assert launch(context, handle(context, modules[0], b"up"), 1, 1, []) == 0
    assert [variable(context, m, b"count") for m in modules] == [8, 5]


def test_a_module_with_pointers_to_functions_is_loaded_whole(context):  # noqa: F811
    module = loaded(context, HEAD + POINTER)
    assert [is_loaded(context, f) for f in kernels(context, module).values()] == [1, 1]
    out, value = allocate(context, 4), np.zeros(1, np.uint32)
    assert launch(context, handle(context, module, b"through_pointer"), 1, 1, [out]) == 0
    context("cuMemcpyDtoH_v2", c_void_p(value.ctypes.data), out, c_size_t(4))
    assert value[0] == 7


def test_what_is_wrong_with_any_kernel_is_said_at_once(context):  # noqa: F811
    module = c_void_p()
    for wrong in ("  add.u32 %a, %b;\n", "  call nowhere;\n"):
        text = (HEAD + SHARED_VARIABLES).replace("  ld.u32 %a, [%p];\n", wrong)
        assert context.code("cuModuleLoadData", byref(module), text.encode()) == 218


def test_a_refusal_that_waits_for_the_kernel(context):  # noqa: F811
    module, f = loaded(context, LATE_REFUSAL), c_void_p()
    for _ in range(2):
        assert context.code("cuModuleGetFunction", byref(f), module, b"bad") == 218
    handle(context, module, b"good")
    assert context.code("cuModuleGetFunction", byref(f), module, b"none") == 500


def test_cubins_of_single_kernels_are_those_of_the_whole_module():
    whole = Image(orias.compile(HEAD + SHARED_VARIABLES, arch="sm_90").data)
    o = Options("sm_90")
    o.verify_each = True
    module = DeferredModule([("text", HEAD + SHARED_VARIABLES)], o)
    assert not Reader(module.data).kernels
    base = Image(module.data)
    assert {n: size for n, (_, size) in base.variables.items()} == {n: s for n, (_, s) in whole.variables.items()}
    code = {name: data for _, data, name in whole._code}
    for name in module.waiting:
        image = Image(module.cubin(name), base.arena, base)
        assert image.variables == base.variables
        assert [(n, data) for _, data, n in image._code] == [(name, code[name])]


class Interrupted:
    """The compiler of kernels, which a signal ends after its work once."""

    def __init__(self, kernels):
        self.kernels, self.ended = kernels, False

    def part(self, *arguments):
        part = self.kernels.part(*arguments)
        if not self.ended:
            self.ended = True
            raise KeyboardInterrupt
        return part


def test_a_compile_that_a_signal_ended_begins_again():
    sources = [("text", HEAD + SHARED_VARIABLES)]
    module, other = DeferredModule(sources, Options("sm_90")), DeferredModule(sources, Options("sm_90"))
    module._compiler.kernels = Interrupted(module._compiler.kernels)
    with pytest.raises(KeyboardInterrupt):
        module.cubin("up")
    assert [module.cubin(n) for n in module.waiting] == [other.cubin(n) for n in other.waiting]


EAGER = """
import ctypes
import sys
from tests.driver.test_lazy_loading import HEAD, SHARED_VARIABLES, Api, is_loaded, kernels, loaded
api, handle, mode = Api(), ctypes.c_void_p(), ctypes.c_int()
api("cuInit", 0)
api("cuCtxCreate_v2", ctypes.byref(handle), 0, 0)
api("cuModuleGetLoadingMode", ctypes.byref(mode))
print(mode.value, [is_loaded(api, f) for f in kernels(api, loaded(api, HEAD + SHARED_VARIABLES)).values()])
"""


@pytest.mark.in_turn(2)
@pytest.mark.parametrize("variable, value, out", [("CUDA_MODULE_LOADING", "EAGER", "1"), ("ORIAS_CACHE_DIR", "", "2")])
def test_whole_modules(variable, value, out, tmp_path):
    environment = {**os.environ, variable: value or str(tmp_path), "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "orias", "exec", "--", sys.executable, "-c", EAGER]
    done = subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True)
    assert done.stdout == f"{out} [1, 1]\n", done.stderr
