"""The code for GPUs, tried on a driver library whose GPU is the simulator (``fake.py``)."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from bench.gpu_interleave import cases, cubin, origins
from orias.ptx.parser import parse
from orias.tools.fuzz.judge import case_of
from tests.device import on
from tests.forms.items import ARCHES, COMPILERS, LATER, items
from tests.forms.run import our_cubin
from tests.gpu import fake
from tests.gpu.driver import Driver, DriverError
from tests.gpu.image import GpuImage, device
from tests.gpu.random_programs import launched, program
from tests.gpu.speed import products
from tests.gpu.test_gpu import speed

HEAD = ".version 8.7\n.target sm_90a\n.address_size 64\n"
DYNAMIC = (
    HEAD
    + """.extern .shared .align 16 .b8 s[];
.visible .entry k(.param .u64 p, .param .u32 at) { .reg .b64 %d; .reg .b32 %a, %v; ld.param.u64 %d, [p]; ld.param.u32 %a, [at];
mov.u32 %v, s; add.u32 %a, %a, %v; st.shared.u32 [%a], 77; ld.shared.u32 %v, [%a]; st.global.u32 [%d], %v; ret; }
"""
)


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return fake.build(tmp_path_factory.mktemp("fake"))


@pytest.fixture
def gpu(library: Path) -> Iterator[tuple[Driver, fake.Fake]]:
    stand_in = fake.Fake(library)
    yield Driver(stand_in.lib, seconds=0.2), stand_in


Both = tuple[Driver, fake.Fake]


def test_device(gpu: Both) -> None:
    driver = gpu[0]
    assert (driver.sm, driver.arch, driver.name(), driver.version(), driver.processors) == (
        90,
        "sm_90a",
        "Simulated",
        13000,
        132,
    )


PROGRAMS = {
    "video": "",
    "barriers": "cluster ld, mapa, getctarank",
    "copies": "im2col 4d (2, 1)",
    "wgmma": "m64n8k16.f16.f16.f16.ss.0",
    "kernels": "saxpy",
    "matrix kernels": "conv_f16",
    "copy kernels": "tiles.90",
}


@pytest.mark.in_turn(4)
@pytest.mark.parametrize("family", list(PROGRAMS))
def test_programs_of_every_kind(gpu: Both, family: str) -> None:
    driver, stand_in = gpu
    item = next(i for i in items([family]) if PROGRAMS[family] in ("", i.name))
    with on(device(driver)):
        assert item.run("orias", "sm_90a", 3) == ""
    assert len(stand_in.asked("cuLaunchKernelEx")) == (2 if family == "wgmma" else 1)
    assert len(stand_in.asked("cuMemFree")) == len(stand_in.asked("cuMemAlloc"))
    if family == "barriers":
        assert stand_in.asked("cuLaunchKernelEx")[0][9:12] == [4, 1, 1]
    assert bool(stand_in.asked("cuTensorMapEncodeIm2col")) == (family in ("copies", "matrix kernels"))
    assert bool(stand_in.asked("cuTensorMapEncodeTiled")) == (family in ("copy kernels", "matrix kernels"))


@pytest.mark.in_turn(4)
@pytest.mark.parametrize("sm", [75, 80, 86, 87, 88, 89, 90, 100, 103, 110, 120, 121])
def test_the_device_chooses_the_target(library: Path, sm: int) -> None:
    """Every compute capability has its target; on sm_100a and 120a, programs by both compilers."""
    stand_in = fake.Fake(library, sm)  # holds what the library calls
    driver = Driver(stand_in.lib)
    assert driver.arch.removesuffix("a") == f"sm_{sm}"
    assert driver.arch in (*ARCHES, *LATER)
    if sm not in (100, 120):
        return
    names = ["saxpy", PROGRAMS["copy kernels"], PROGRAMS["barriers"], "softmax_f32"]
    chosen = [i for i in items(["kernels", "copy kernels", "barriers", "matrix kernels"]) if i.name in names]
    assert len(chosen) == len(names)
    with on(device(driver)):
        for item in chosen:
            for compiler in COMPILERS:
                assert 3 in item.settings(compiler, driver.arch) or compiler == "ptxas"
                assert item.run(compiler, driver.arch, 3) == "", (item.name, compiler)


def test_wrong_results_are_seen(gpu: Both) -> None:
    _, stand_in = gpu
    item = next(i for i in items(["kernels"]) if i.name == "saxpy")
    broken = Driver(stand_in.lib)
    broken.read = lambda address, size: bytes(size)  # type: ignore[method-assign]
    with on(device(broken)):
        assert "output" in item.run("orias", "sm_90a", 3)


def test_dynamic_shared_memory_is_asked_for(gpu: Both) -> None:
    driver, stand_in = gpu
    out = np.zeros(1, np.uint32)
    GpuImage(driver, our_cubin(DYNAMIC, "sm_90a", 3)).launch("k", 1, 1, [out, 99_996], shared=100_000)
    assert out[0] == 77
    assert stand_in.asked("cuFuncSetAttribute")[0][1:] == [8, 100_000]


def test_large_clusters_are_asked_for(gpu: Both) -> None:
    driver, stand_in = gpu
    out = np.zeros(1, np.uint32)
    GpuImage(driver, our_cubin(DYNAMIC, "sm_90a", 3)).launch("k", 16, 1, [out, 0], shared=16, cluster=16)
    assert [14, 1] in [a[1:] for a in stand_in.asked("cuFuncSetAttribute")]
    assert stand_in.asked("cuLaunchKernelEx")[0][9:12] == [16, 1, 1]


def test_faults_name_the_kernel_and_the_next_one_runs(gpu: Both) -> None:
    driver, stand_in = gpu
    cubin = our_cubin(DYNAMIC, "sm_90a", 3)
    out = np.zeros(1, np.uint32)
    with pytest.raises(DriverError, match=r"kernel k: .*700 CUDA_ERROR_ILLEGAL_ADDRESS in words"):
        GpuImage(driver, cubin).launch("k", 1, 1, [out, 1 << 20], shared=16)
    assert len(stand_in.asked("cuDevicePrimaryCtxReset")) == 1
    GpuImage(driver, cubin).launch("k", 1, 1, [out, 0], shared=16)
    assert out[0] == 77


def test_a_kernel_s_own_error_is_the_one_that_is_raised(gpu: Both) -> None:
    """Where the driver gives no new context after a fault, as on hardware."""
    driver, stand_in = gpu
    stand_in.lost = True
    with pytest.raises(DriverError, match=r"kernel k: .*700 CUDA_ERROR_ILLEGAL_ADDRESS") as e:
        GpuImage(driver, our_cubin(DYNAMIC, "sm_90a", 3)).launch(
            "k", 1, 1, [np.zeros(1, np.uint32), 1 << 20], shared=16
        )
    assert e.value.__notes__ == ["the device has no new context: cuDevicePrimaryCtxReset_v2: 700 CUDA_ERROR_ILLEGAL_ADDRESS in words"]  # fmt: skip


def test_errors_of_calls_are_named(gpu: Both) -> None:
    driver, _ = gpu
    with pytest.raises(DriverError, match="cuModuleLoadData: 200 CUDA_ERROR_INVALID_IMAGE"):
        driver.load(b"no cubin".ljust(64, b"\0"))
    module = driver.load(our_cubin(DYNAMIC, "sm_90a", 3))
    with pytest.raises(DriverError, match="cuModuleGetFunction: 500"):
        driver.function(module, "missing")
    with pytest.raises(DriverError, match="cuMemAlloc_v2: 2 CUDA_ERROR_OUT_OF_MEMORY"):
        driver.allocate(1 << 40)


def test_a_kernel_that_does_not_end_is_named(gpu: Both) -> None:
    driver, stand_in = gpu
    stand_in.hang = True
    with pytest.raises(DriverError, match=r"kernel k: no end after 0 s"):
        GpuImage(driver, our_cubin(DYNAMIC, "sm_90a", 3)).launch("k", 1, 1, [np.zeros(1, np.uint32), 0], shared=16)


@pytest.mark.parametrize("seed", [3, 4])
def test_a_random_program_leaves_the_memory_of_the_simulator(gpu: Both, seed: int) -> None:
    made = program(seed, "sm_90a")
    assert not made.why
    assert launched(gpu[0], made.cubin, case_of(seed, parse(made.text))) == made.memory


@pytest.mark.in_turn(2)
@pytest.mark.parametrize("name", ["mma75_f16", "hopper_bf16"])
def test_speed_is_recorded(gpu: Both, name: str, tmp_path: Path) -> None:
    driver, _ = gpu
    path = tmp_path / "runs.md"
    chosen = [p for p in products() if p.name == name]
    rows = speed(driver, chosen, (64,), path, 2)
    # The stand-in's clock counts a millisecond for each launch.
    assert [(r.kernel, r.size) for r in rows] == [(name, 64)]
    assert rows[0].ours == rows[0].theirs == pytest.approx(2 * 64**3 / 1e-3 / 1e12)
    assert f"| {name} | 64 | 0.0 | 0.0 | 1.00 |" in path.read_text()
    assert len(COMPILERS) == 2


def test_products_cover_the_matrix_kernels() -> None:
    names = {p.name for p in products()}
    assert {i.name for i in items(["matrix kernels"])} - names == {
        "gemm_f16", "gemm_bf16", "gemm_e4m3", "attention", "conv_f16", "grouped_bf16", "attention_f16", "attention_backward_f16",
        "attention_backward_q_f16", "softmax_f32", "layer_norm_f16", "hopper_grouped_f16", "hopper_grouped_bf16", "hopper_attention_f16",
        "hopper_attention_backward_f16", "hopper_attention_backward_q_f16",
    }  # fmt: skip


def test_the_probe_of_interleaved_maps(gpu: Both) -> None:
    """Maps without slices give the bytes that strides and sizes say; the simulator refuses copies with the others."""
    driver = gpu[0]
    image = GpuImage(driver, cubin(driver.arch))
    plain = [c for c in cases() if not c.layout and len(c.dims) == 3]
    assert [origins(driver, image, c)[:4] for c in plain[:2]] == [[0, 512, 8192, 8704], [528, 1040, 8720, 9232]]
    assert origins(driver, image, plain[2])[:4] == [0, 16, 512, 528]
    with pytest.raises(DriverError, match="kernel k3"):
        origins(driver, image, next(c for c in cases() if c.layout))
