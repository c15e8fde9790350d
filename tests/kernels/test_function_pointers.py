"""Pointers that one kernel makes and another calls through: virtual functions, variables, arguments (nvcc 13.0, sm_75).

Every kernel of a module has copies of the functions: what stands for an address must mean the same in all of them.
"""

import subprocess
from pathlib import Path

import numpy as np
import pytest

import orias
import orias.sim as sim
from tests.nvtools import LIMIT_S, tool
from tests.rotation import with_later

PTX = Path(__file__).parent / "pointers" / "function_pointers.ptx"
LANES = np.arange(32)


def wanted() -> list[list[int]]:
    """What function_pointers.cu computes, in Python."""
    k, z = (2, 3, 5), 9
    first = [lambda x: x + k[0], lambda x: x * k[1], lambda x: x * k[2]]
    second = [lambda x: x - k[0], lambda x: x - k[1], lambda x: x ^ z]
    p, q = (lambda a: a * 3 + 1), (lambda a: a ^ 7)
    out = [[first[i % 3](i) + 100 * second[i // 3 % 3](i) for i in range(32)]]
    for f in (q, p):
        out.append([f(i) * 1000 + (q if i & 1 else p)(5) for i in range(32)])
    out.append([q(i) for i in range(32)])
    table = {0: lambda i: q(3), 1: lambda i: 10, 2: lambda i: i + 20, 3: lambda i: i * 30, 4: lambda i: 40, 5: q}
    out.append([table.get(i & 7, lambda i: 1)(i) for i in range(32)])
    return out


def results(cubin: bytes) -> list[list[int]]:
    image = sim.load(cubin)
    image.launch("_Z4makev", 1, 1)
    rows: list[np.ndarray[tuple[int], np.dtype[np.int32]]] = []

    def launch(name: str, *args: int) -> None:
        rows.append(LANES.astype(np.int32))
        image.launch(name, 1, 32, [rows[-1], *args])

    launch("_Z3usePi")
    for which in (0, 1):
        image.launch("_Z3seti", 1, 1, [which])
        launch("_Z4callPi")
    pointer = np.zeros(1, np.uint64)
    image.launch("_Z4takePPFiiE", 1, 1, [pointer])
    launch("_Z5givenPiPFiiE", int(pointer[0]))
    launch("_Z3swiPiPFiiE", int(pointer[0]))
    return [r.tolist() for r in rows]


@pytest.mark.in_turn(4)
@pytest.mark.parametrize("arch", with_later(["sm_75", "sm_80", "sm_90"], "function_pointers"))
@pytest.mark.parametrize("opt", [0, 3])
@pytest.mark.parametrize("compiler", ["orias", "ptxas"])
def test_pointers_mean_the_same_in_all_kernels(compiler: str, opt: int, arch: str, tmp_path: Path) -> None:
    if compiler == "orias":
        cubin = orias.compile(PTX.read_text(), arch=arch, opt_level=opt, self_check=True).data
    else:
        out = tmp_path / "k.cubin"
        subprocess.run(
            [tool("ptxas"), f"-arch={arch}", f"-O{opt}", str(PTX), "-o", str(out)], check=True, timeout=LIMIT_S
        )
        cubin = out.read_bytes()
    assert results(cubin) == wanted()


def test_functions_apart() -> None:
    """With -g pointers are addresses."""
    assert results(orias.compile(PTX.read_text(), arch="sm_80", debug=True).data) == wanted()


def test_a_table_no_kernel_calls_through() -> None:
    head = ".version 8.0\n.target sm_80\n.address_size 64\n"
    text = head + ".func f() { ret; }\n.visible .global .u64 t[2] = {f, f};\n.visible .entry k() { ret; }\n"
    assert orias.compile(text, arch="sm_80").kernels["k"].registers
