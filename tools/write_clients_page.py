"""Writes ``docs/clients.md``: runs a recipe for each client that is installed and counts what Orias compiled for it.

python tools/write_clients_page.py [PYTHON ...]

Each PYTHON is an interpreter with some of the clients (by default the one that runs this); a client that none of them has is listed
as not run.  A recipe is Python text: the page shows it as it ran.  It leaves cubins in its folder; ``Orias`` in the note of a cubin
is the proof of who made it.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
LIMIT = 900
"""Seconds for one recipe."""
HEAD = """\
# Clients

Written by `python tools/write_clients_page.py`, which ran the recipes below, each in an empty
folder with `orias` installed, without a GPU. "By Orias": cubins whose note names Orias. What each
client needs to know is in [command-line.md](command-line.md), [toolkit.md](toolkit.md) and
[in-process.md](in-process.md).

| client | version | targets | cubins | by Orias | failures |
|---|---|---|---|---|---|
"""


class Recipe(NamedTuple):
    """A client: its name, the distribution (`command`: the command) that has its version, and the program that uses it."""

    client: str
    distribution: str
    program: str
    simulator: bool = False
    command: bool = False


NVCC = """\
import subprocess, sysconfig
from pathlib import Path

cuda = next(Path(sysconfig.get_path("purelib")).glob("nvidia/cu[0-9]*"))
subprocess.run(["orias", "toolkit", "toolkit", "--cuda", str(cuda)], check=True)
Path("k.cu").write_text("__global__ void k(float *p) { p[threadIdx.x] = sqrtf(p[threadIdx.x]); }")
for target in ("sm_75", "sm_80", "sm_86", "sm_89", "sm_90a", "sm_100a", "sm_120"):
    subprocess.run(["toolkit/bin/nvcc", f"-arch={target}", "-cubin", "k.cu", "-o", f"k.{target}.cubin"], check=True)
"""
NUMBA = """\
from pathlib import Path

import numpy as np
import orias.clients.numba_cuda
from numba import cuda

orias.clients.numba_cuda.install()


@cuda.jit
def add(a, b, c):
    i = cuda.grid(1)
    if i < c.size:
        c[i] = a[i] + b[i]


a = np.arange(64.0)
c = np.zeros(64)
add[2, 32](a, a, c)
assert np.array_equal(c, 2 * a)
for kernel in add.overloads.values():
    Path("add.sm_90a.cubin").write_bytes(kernel._codelibrary.get_cubin().code)
"""
CUDA_CORE = """\
from pathlib import Path

import orias.clients.cuda_core

text = ".version 8.0\\\\n.target sm_75\\\\n.address_size 64\\\\n.visible .entry k() { ret; }\\\\n"
for target in ("sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_120"):
    code = orias.clients.cuda_core.object_code(text, arch=target)
    Path(f"k.{target}.cubin").write_bytes(code.code)
""".replace("\\\\n", "\\n")
TRITON = """\
from pathlib import Path

import orias.clients.triton
import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

orias.clients.triton.install()


@triton.jit
def add(x, y, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = i < n
    tl.store(out + i, tl.load(x + i, mask=mask) + tl.load(y + i, mask=mask), mask=mask)


signature = {"x": "*fp32", "y": "*fp32", "out": "*fp32", "n": "i32", "BLOCK": "constexpr"}
for arch, target in ((75, "sm_75"), (80, "sm_80"), (89, "sm_89"), (90, "sm_90a"), (100, "sm_100a"), (120, "sm_120a")):
    source = ASTSource(fn=add, signature=signature, constexprs={"BLOCK": 256})
    kernel = triton.compile(source, target=GPUTarget("cuda", arch, 32))
    Path(f"add.{target}.cubin").write_bytes(kernel.asm["cubin"])
"""
JAX = '''\
import os, subprocess, sys, sysconfig
from pathlib import Path

cuda = next(Path(sysconfig.get_path("purelib")).glob("nvidia/cu[0-9]*"))
subprocess.run(["orias", "toolkit", "toolkit", "--cuda", str(cuda)], check=True)
Path("own").mkdir()
Path("toolkit/bin/ptxas").rename("own/ptxas")
Path("toolkit/bin/ptxas").write_text(f"""#!{sys.executable}
import shutil, subprocess, sys

code = subprocess.run(["{Path("own/ptxas").resolve()}", *sys.argv[1:]]).returncode
words = " ".join(sys.argv).replace("=", " ").split()
if "-o" in words and not code:  # keep a copy of what XLA gets
    name = "{Path.cwd()}/softmax." + words[words.index("-arch") + 1] + ".cubin"
    shutil.copy(words[words.index("-o") + 1], name)
sys.exit(code)
""")
Path("toolkit/bin/ptxas").chmod(0o755)
os.environ["CUDA_ROOT"] = str(Path("toolkit").resolve())  # else JAX takes the ptxas of pip
os.environ["JAX_SKIP_CUDA_CONSTRAINTS_CHECK"] = "1"  # it asks the driver, which is not there
os.environ["XLA_FLAGS"] = "--xla_gpu_enable_libnvptxcompiler=false --xla_gpu_autotune_level=0"

import jax, jax.numpy as jnp
from jax.experimental import topologies

TARGET = """gpu_device_info {{ threads_per_block_limit: 1024 threads_per_warp: 32 shared_memory_per_block: 49152
shared_memory_per_core: 102400 threads_per_core_limit: 1536 core_count: 84 fpus_per_core: 128 block_dim_limit_x: 2147483647
block_dim_limit_y: 65535 block_dim_limit_z: 65535 memory_bandwidth: 768096000000 l2_cache_size: 6291456 clock_rate_ghz: 1.8
device_memory_size: 51041271808 shared_memory_per_block_optin: 101376
cuda_compute_capability {{ major: {} feature_extension: {} }}
registers_per_core_limit: 65536 registers_per_block_limit: 65536
thread_dim_limit_x: 1024 thread_dim_limit_y: 1024 thread_dim_limit_z: 64 }} platform_name: "CUDA" """
for major, extension in ((8, "NONE"), (9, "ACCELERATED_FEATURES"), (10, "ACCELERATED_FEATURES"), (12, "NONE")):
    text = TARGET.format(major, extension)
    devices = topologies.get_topology_desc("topology", "cuda", target_config=text, topology="1x1x1").devices
    place = jax.sharding.NamedSharding(jax.sharding.Mesh(devices, ("x",)), jax.sharding.PartitionSpec())
    argument = jax.ShapeDtypeStruct((64, 256), jnp.float32, sharding=place)
    jax.jit(jax.nn.softmax).lower(argument).compile()
'''
TINYGRAD = """\
import os, shutil, subprocess, tempfile
from pathlib import Path

subprocess.run(["orias", "toolkit", "toolkit"], check=True)
os.environ["PATH"] = f"{Path('toolkit/bin').resolve()}:{os.environ['PATH']}"
os.environ["DEV"] = "PYTHON"

from tinygrad import Tensor
from tinygrad.codegen import to_program
from tinygrad.helpers import Target
from tinygrad.renderer.ptx import PTXRenderer
from tinygrad.uop.ops import Ops

steps = (Tensor.empty(64, 64) @ Tensor.empty(64, 64)).relu().schedule_linear()
kernel = next(step.src[0] for step in steps.src if step.src[0].op is Ops.SINK)
for target in ("sm_75", "sm_80", "sm_89", "sm_90", "sm_120"):
    renderer = PTXRenderer(Target("CUDA", "PTX", target))
    ptx = to_program(kernel, renderer).src[-1].arg
    tempfile.tempdir = tempfile.mkdtemp()
    renderer.compiler.disassemble(ptx)  # as with DEBUG=7: ptxas, then nvdisasm
    (cubin,) = Path(tempfile.tempdir).glob("tinycuda_*")
    shutil.copy(cubin, f"matmul.{target}.cubin")
"""
CUPY = """\
from pathlib import Path

import orias
from cupy.cuda import nvrtc

SOURCE = 'extern "C" __global__ void scale(float *p, float a, int n) { int i = threadIdx.x; if (i < n) p[i] *= a; }'
for target in ("sm_75", "sm_80", "sm_89", "sm_90", "sm_100", "sm_120"):
    program = nvrtc.createProgram(SOURCE, "scale.cu", (), ())
    nvrtc.compileProgram(program, (f"-arch=compute_{target[3:]}",))
    ptx = nvrtc.getPTX(program).rstrip(b"\\0").decode()
    Path(f"scale.{target}.cubin").write_bytes(orias.compile(ptx, arch=target).data)  # for orias.clients.cupy, or a file
"""
CUTLASS = """\
import subprocess, sysconfig
from pathlib import Path

site = Path(sysconfig.get_path("purelib"))
source = site / "cutlass_library/source"
subprocess.run(["orias", "toolkit", "toolkit", "--cuda", str(next(site.glob("nvidia/cu[0-9]*")))], check=True)
nvcc = ["toolkit/bin/nvcc", "-std=c++17", "--expt-relaxed-constexpr", "-cubin"]
nvcc += [f"-I{source.joinpath(*x.split())}" for x in ("include", "tools util include", "examples common")]
basic, tutorial = "00_basic_gemm/basic_gemm.cu", "cute/tutorial"
files = {
    "sm_75": basic,
    "sm_80": f"{tutorial}/sgemm_sm80.cu",
    "sm_89": basic,
    "sm_90a": f"{tutorial}/hopper/wgmma_tma_sm90.cu",
    "sm_100a": f"{tutorial}/blackwell/04_mma_tma_2sm_sm100.cu",
    "sm_120a": basic,
}
for target, file in files.items():
    command = [*nvcc, f"-arch={target}", str(source / "examples" / file), "-o", f"{Path(file).stem}.{target}.cubin"]
    subprocess.run(command, check=True)
"""
CLANG = """\
import shutil, subprocess
from pathlib import Path

Path("k.cu").write_text('extern "C" __attribute__((global)) void k(float *p) { p[__nvvm_read_ptx_sreg_tid_x()] *= 2; }')
command = ["clang-19", "-O3", "--cuda-device-only", "-nocudainc", "-nocudalib", f"--ptxas-path={shutil.which('orias')}"]
for target in ("sm_75", "sm_80", "sm_86", "sm_89", "sm_90a"):
    subprocess.run([*command, f"--cuda-gpu-arch={target}", "-c", "k.cu", "-o", f"k.{target}.cubin"], check=True)
"""
ON_DEVICES = """\
for device, target in (("A100", "sm_80"), ("H100", "sm_90a"), ("B200", "sm_100a"), ("RTX5090", "sm_120a")):
    caches = {"TRITON_CACHE_DIR": f"kernels-{device}", "TORCHINDUCTOR_CACHE_DIR": f"graphs-{device}"}
    environment = {**os.environ, **{k: str(Path(v).resolve()) for k, v in caches.items()}}
    command = ["orias", "exec", "--device", device, "--", sys.executable, "program.py"]
    subprocess.run(command, check=True, env=environment)
    (cubin,) = Path(f"kernels-{device}").rglob("*.cubin")
    shutil.copy(cubin, f"kernel.{target}.cubin")
"""
TORCH = '''\
import os, shutil, subprocess, sys
from pathlib import Path

Path("program.py").write_text("""
import torch
import torch._inductor.config

torch._inductor.config.compile_threads = 1


def norm(x, w):
    return torch.nn.functional.silu(torch.nn.functional.layer_norm(x, (200,), w))


x, w = torch.randn(16, 200), torch.randn(200)
found = torch.compile(norm)(x.cuda(), w.cuda()).cpu()
torch.testing.assert_close(found, norm(x, w), rtol=1e-4, atol=1e-4)
""")
'''
HELION = '''\
import os, shutil, subprocess, sys
from pathlib import Path

Path("program.py").write_text("""
import helion
import helion.language as hl
import torch


@helion.kernel(config=helion.Config(block_sizes=[16], num_warps=4))
def softmax(x: torch.Tensor) -> torch.Tensor:
    out = torch.empty_like(x)
    for rows in hl.tile(x.size(0)):
        out[rows, :] = torch.softmax(x[rows, :], 1)
    return out


x = torch.randn(40, 200)
torch.testing.assert_close(softmax(x.cuda()).cpu(), torch.softmax(x, 1), rtol=1e-4, atol=1e-4)
""")
'''
MOJO = '''\
import os, shutil, subprocess, sys
from pathlib import Path

Path("program.mojo").write_text("""
from max.gpu import global_idx
from max.gpu.host import DeviceContext

comptime N = 1000


def scale(p: Pointer[Float32, MutAnyOrigin], a: Float32):
    var i = global_idx.x
    if i < N:
        p[unsafe_offset=i] *= a


def main() raises:
    with DeviceContext() as context:
        var data = context.enqueue_create_buffer[DType.float32](N)
        data.enqueue_fill(2)
        context.enqueue_function[scale](data, Float32(3), grid_dim=8, block_dim=128)
        with data.map_to_host() as host:
            for i in range(N):
                if host[i] != 6:
                    raise Error("wrong")
""")
Path("assembler").write_text(f"""#!{sys.executable}
import shutil, subprocess, sys

code = subprocess.run(["{shutil.which("orias")}", *sys.argv[1:]]).returncode
words = " ".join(sys.argv).replace("=", " ").split()
if not code:  # keep a copy of what Mojo gets
    shutil.copy(words[words.index("-o") + 1], "{Path.cwd()}/scale." + words[words.index("--gpu-name") + 1] + ".cubin")
sys.exit(code)
""")
Path("assembler").chmod(0o755)
os.environ["MODULAR_NVPTX_COMPILER_PATH"] = str(Path("assembler").resolve())
os.environ["XDG_CACHE_HOME"] = str(Path("cache").resolve())  # else Mojo may take what it compiled before
for device in ("A100", "RTX4090", "H100", "B200", "RTX5090"):
    mojo = Path(sys.executable).with_name("mojo")
    subprocess.run(["orias", "exec", "--device", device, "--", str(mojo), "run", "program.mojo"], check=True)
'''
CUTE_DSL = '''\
import os, subprocess, sys
from pathlib import Path

import orias

Path("program.py").write_text("""
import cutlass
import cutlass.cute as cute
from cutlass.cute.runtime import make_fake_compact_tensor


@cute.kernel
def scale(x: cute.Tensor, a: cutlass.Float32):
    lane, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    i = block * 128 + lane
    if i < cute.size(x):
        x[i] *= a


@cute.jit
def run(x: cute.Tensor, a: cutlass.Float32):
    scale(x, a).launch(grid=((cute.size(x) + 127) // 128, 1, 1), block=(128, 1, 1))


x = make_fake_compact_tensor(cutlass.Float32, (cute.sym_int64(),), assumed_align=4)
cute.compile(run, x, cutlass.Float32(2))
""")
for target in ("sm_80", "sm_90a", "sm_100a", "sm_120a"):
    folder = Path(target).resolve()
    folder.mkdir()
    settings = {"CUTE_DSL_ARCH": target, "CUTE_DSL_KEEP": "ptx", "CUTE_DSL_DUMP_DIR": str(folder)}
    subprocess.run([sys.executable, "program.py"], check=True, env={**os.environ, **settings, "CUTE_DSL_NO_CACHE": "1"})
    (ptx,) = folder.glob("*.ptx")
    cubin = orias.compile(ptx.read_text().rstrip("\\0"), arch=target).data
    Path(f"scale.{target}.cubin").write_bytes(cubin)
'''
ZIG = '''\
import subprocess, sys
from pathlib import Path

import orias

Path("k.zig").write_text("""
export fn scale(p: [*]addrspace(.global) f32, a: f32, n: u32) callconv(.kernel) void {
    const i = asm volatile ("mov.u32 %[r], %tid.x;" : [r] "=r" (-> u32));
    if (i < n) p[i] *= a;
}
""")
zig = [sys.executable, "-m", "ziglang", "build-obj", "-target", "nvptx64-cuda", "-O", "ReleaseFast", "-fno-emit-bin"]
for target in ("sm_75", "sm_80", "sm_86", "sm_89", "sm_90a", "sm_100a", "sm_120a"):
    subprocess.run([*zig, "-mcpu", target, f"-femit-asm={target}.ptx", "k.zig"], check=True)
    Path(f"scale.{target}.cubin").write_bytes(orias.compile(Path(f"{target}.ptx").read_text(), arch=target).data)
'''
RECIPES = (
    Recipe("nvcc, through a toolkit of links", "nvidia-cuda-nvcc", NVCC),
    Recipe("numba-cuda, in process, on the simulator", "numba-cuda", NUMBA, simulator=True),
    Recipe("cuda.core, in process", "cuda-core", CUDA_CORE),
    Recipe("Triton, in process", "triton", TRITON),
    Recipe("JAX, ahead of time", "jax", JAX),
    Recipe("tinygrad, its listing of kernels", "tinygrad", TINYGRAD),
    Recipe("CuPy, PTX of its NVRTC", "cupy-cuda13x", CUPY),
    Recipe("CUTLASS, through a toolkit of links", "nvidia-cutlass", CUTLASS),
    Recipe("clang", "clang-19", CLANG, command=True),
    Recipe("torch.compile, on the simulator", "torch", TORCH + ON_DEVICES),
    Recipe("Helion, on the simulator", "helion", HELION + ON_DEVICES),
    Recipe("Mojo, on the simulator", "mojo-compiler", MOJO),
    Recipe("CuTe DSL, its PTX", "nvidia-cutlass-dsl", CUTE_DSL),
    Recipe("Zig, its PTX", "ziglang", ZIG),
)


class Result(NamedTuple):
    """What a run left: version, targets, numbers of cubins and of those by Orias, and the end of the messages if it failed."""

    version: str
    targets: list[str]
    cubins: int
    ours: int
    failure: str


def version_in(python: str, distribution: str) -> str:
    """The version of a distribution that an interpreter has; empty if it has none."""
    text = (
        f"import importlib.metadata as m\ntry: print(m.version({distribution!r}))\nexcept m.PackageNotFoundError: pass"
    )
    done = subprocess.run([python, "-c", text], capture_output=True, text=True, timeout=60, check=False)
    return done.stdout.strip()


def version_of(command: str) -> str:
    """The version that a command prints; empty if there is no such command."""
    if shutil.which(command) is None:
        return ""
    done = subprocess.run([command, "--version"], capture_output=True, text=True, timeout=60, check=False)
    found = re.search(r"\d+(\.\d+)+", done.stdout)
    return found[0] if found else ""


def ran(recipe: Recipe, pythons: list[str]) -> Result | None:
    """The result of a recipe in the first interpreter that has the client; None if there is no client."""
    for python in pythons:
        version = version_of(recipe.distribution) if recipe.command else version_in(python, recipe.distribution)
        if version:
            return run_in(recipe, python, version)
    return None


def run_in(recipe: Recipe, python: str, version: str) -> Result:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        commands = folder / "bin"
        commands.mkdir()
        (commands / "orias").write_text(f'#!/bin/sh\nexec "{python}" -m orias "$@"\n', encoding="utf-8")
        (commands / "orias").chmod(0o755)
        work = folder / "work"
        work.mkdir()
        (work / "recipe.py").write_text(recipe.program, encoding="utf-8")
        environment = {**os.environ, "PYTHONPATH": str(ROOT), "PATH": f"{commands}:{os.environ['PATH']}"}
        environment["TRITON_CACHE_DIR"] = str(folder / "cache")
        command = ["orias", "exec", "--"] if recipe.simulator else []
        done = subprocess.run(
            [*command, python, "recipe.py"], cwd=work, env=environment, capture_output=True, text=True, timeout=LIMIT, check=False
        )  # fmt: skip
        found = {re.sub(r".*\.(sm_\w+)\.cubin", r"\1", p.name): p.read_bytes() for p in sorted(work.glob("*.cubin"))}
        ours = sum(b"Orias" in data for data in found.values())
        failure = done.stderr.strip()[-300:] if done.returncode else ""
        return Result(version, sorted(found, key=lambda t: int(re.sub(r"\D", "", t))), len(found), ours, failure)


def page(results: dict[str, Result | None]) -> str:
    """The page of the results by client."""
    out = HEAD
    for r in RECIPES:
        result = results.get(r.client)
        if result is None:
            out += f"| {r.client} | | not run | | | |\n"
            continue
        failures = "1: see below" if result.failure else str(result.cubins - result.ours)
        out += f"| {r.client} | {result.version} | {', '.join(result.targets)} | {result.cubins} | {result.ours} | {failures} |\n"
    for r in RECIPES:
        result = results.get(r.client)
        if result is not None:
            door = "orias exec -- python recipe.py" if r.simulator else "python recipe.py"
            out += f"\n## {r.client[0].upper()}{r.client[1:]}\n\n`{door}`, with\n\n```python\n{r.program}```\n"
            if result.failure:
                out += f"\nIt failed:\n\n```\n{result.failure}\n```\n"
    return out


def main() -> int:
    pythons = [os.path.abspath(shutil.which(p) or p) for p in sys.argv[1:]] or [sys.executable]
    results = {r.client: ran(r, pythons) for r in RECIPES}
    (ROOT / "docs" / "clients.md").write_text(page(results), encoding="utf-8", newline="\n")
    print(json.dumps({k: v and v._asdict() for k, v in results.items()}, indent=1))
    return 1 if any(r is not None and (r.failure or r.ours < r.cubins) for r in results.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
