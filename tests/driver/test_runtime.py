"""The runtime library through a host program as nvcc would write it, and its tables."""

import shutil
import subprocess

import pytest

from orias.driver import library
from orias.driver.driver_calls import HANDLERS
from tests.driver.test_driver import HERE, execute

pytestmark = pytest.mark.skipif(shutil.which("cc") is None, reason="the runtime library needs a C compiler")
SCALE = """
.version 8.0
.target sm_75
.address_size 64
.const .u32 factor;
.global .attribute(.managed) .u32 shown;
.visible .entry scale(.param .u64 p)
{
  .reg .b32 %r<6>;
  .reg .b64 %a<3>;
  ld.param.u64 %a0, [p];
  mov.u32 %r0, %ctaid.x;
  mov.u32 %r1, %ntid.x;
  mov.u32 %r2, %tid.x;
  mad.lo.u32 %r0, %r0, %r1, %r2;
  ld.const.u32 %r3, [factor];
  mul.lo.u32 %r4, %r0, %r3;
  mad.wide.u32 %a1, %r0, 4, %a0;
  st.global.u32 [%a1], %r4;
  st.global.u32 [shown], 7;
  ret;
}
"""


@pytest.mark.parametrize("major", [pytest.param("12", marks=pytest.mark.sweep), "13"])
def test_a_program_of_the_runtime(tmp_path, major):
    program, ptx = tmp_path / "program", tmp_path / "scale.ptx"
    ptx.write_text(SCALE)
    folder = library.folder()
    link = ["-L", str(folder), f"-l:libcudart.so.{major}", f"-Wl,-rpath-link,{folder}"]
    subprocess.run(["cc", "-o", str(program), str(HERE / "runtime_program.c"), *link], check=True)
    assert execute(["--", str(program), str(ptx)]).stdout == "right\n"


def test_a_program_that_knows_where_its_runtime_is(tmp_path):
    """As PyTorch, whose libraries name the folder of NVIDIA's: it comes before LD_LIBRARY_PATH."""
    program, other, versions = tmp_path / "program", tmp_path / "libcudart.so.13", tmp_path / "versions"
    versions.write_text("libcudart.so.13 { global: *; };\n")
    count = "int cudaGetDeviceCount(int *count) { *count = 7; return 0; }\n"
    options = ["-shared", "-fPIC", "-Wl,-soname,libcudart.so.13", f"-Wl,--version-script={versions}", "-x", "c", "-"]
    subprocess.run(["cc", "-o", str(other), *options], input=count, text=True, check=True)
    main = """#include <stdio.h>
int cudaGetDeviceCount(int *);
int main(void) { int n = 0; int r = cudaGetDeviceCount(&n); printf("%d %d\\n", r, n); return 0; }
"""
    link = ["-x", "c", "-", "-x", "none", str(other), "-Wl,--disable-new-dtags", f"-Wl,-rpath,{tmp_path}"]
    subprocess.run(["cc", "-o", str(program), *link], input=main, text=True, check=True)
    assert subprocess.run([str(program)], capture_output=True, text=True, check=True).stdout == "0 7\n"
    assert execute(["--", str(program)]).stdout == "0 1\n"


def test_a_program_with_the_address_sanitizer(tmp_path):
    program = tmp_path / "program"
    command = ["cc", "-fsanitize=address", "-x", "c", "-o", str(program), "-"]
    built = subprocess.run(command, input='#include <stdio.h>\nint main(void) { puts("right"); }\n', text=True)
    if built.returncode:
        pytest.skip("the compiler has no address sanitizer")
    assert execute(["--", str(program)]).stdout == "right\n"


def test_a_program_with_a_default_stream_for_each_thread(tmp_path):
    """As nvcc --default-stream per-thread writes it: other names, and the stream 0 can be captured."""
    program = """#include <stdio.h>
int cudaStreamBeginCapture(void *, int), cudaStreamBeginCapture_ptsz(void *, int), cudaStreamEndCapture_ptsz(void *, void **);
int cudaMallocAsync_ptsz(void **, size_t, void *), cudaMemcpyAsync_ptsz(void *, const void *, size_t, int, void *);
int cudaMemcpy_ptds(void *, const void *, size_t, int), cudaStreamSynchronize_ptsz(void *), __cudaLaunchKernel_ptsz(void);
int main(void) {
    int in = 7, out = 0;
    void *p, *graph;
    int a = cudaMallocAsync_ptsz(&p, 4, 0), b = cudaMemcpyAsync_ptsz(p, &in, 4, 1, 0), d = cudaStreamSynchronize_ptsz(0);
    int e = cudaMemcpy_ptds(&out, p, 4, 2), f = cudaStreamBeginCapture(0, 0), g = cudaStreamBeginCapture_ptsz(0, 0);
    int h = cudaStreamEndCapture_ptsz(0, &graph);
    printf("%d %d %d %d %d %d %d %d %d\\n", a, b, d, e, out, f, g, h, __cudaLaunchKernel_ptsz != 0);
    return 0;
}
"""
    link = ["-x", "c", "-", "-L", str(library.folder()), "-l:libcudart.so.13", f"-Wl,-rpath-link,{library.folder()}"]
    file = tmp_path / "program"
    subprocess.run(["cc", "-o", str(file), *link], input=program, text=True, check=True)
    assert execute(["--", str(file)]).stdout == "0 0 0 0 7 900 0 0 1\n"


def test_runtime_tables_agree():
    functions = library.runtime_functions()
    names = {n for f in functions for n in f.names}
    handlers = {n for n in HANDLERS if n.startswith(("cuda", "__cuda"))}
    assert handlers <= names
    for f in functions:
        handler = next((HANDLERS[n] for n in f.names if n in HANDLERS), None)
        if handler is None or handler.function.__code__.co_flags & 4:
            continue
        most = handler.function.__code__.co_argcount - 1
        assert most - len(handler.function.__defaults__ or ()) <= f.values <= most, f
