"""Random programs on a GPU: our code leaves the memory there that it leaves in the simulator, or that ptxas's code leaves there too."""

import functools
from collections.abc import Iterator, Sequence
from concurrent.futures import Executor
from typing import Final, NamedTuple

import numpy as np

import orias.sim
from orias.compiler import compile_text
from orias.diag import CompileError
from orias.ptx.parser import parse
from orias.sim.core.sim_errors import SimError
from orias.tools.fuzz.generate import generate
from orias.tools.fuzz.judge import case_of, options, ptxas_cubin
from orias.tools.validate.case import Case
from orias.tools.validate.run_case import run
from tests.gpu import apart
from tests.gpu.driver import Driver, DriverError
from tests.gpu.image import GpuImage
from tests.nvtools import tool

_BUDGETS: Final = (8, 20, 40)
"""Statements of a program, in turn."""
LEVELS: Final = (3, 0, 1, 2)


class Made(NamedTuple):
    """A program and what the simulator's memory holds after it; ``why``: a reason why there is nothing to run."""

    seed: int
    level: int
    text: str
    cubin: bytes
    memory: bytes
    why: str = ""


def program(seed: int, arch: str) -> Made:
    """The program of a seed, compiled by us and run in the simulator."""
    level = LEVELS[seed % len(LEVELS)]
    text = generate(seed, _BUDGETS[seed % len(_BUDGETS)], arch)
    try:
        cubin = compile_text([("k.ptx", text)], options(arch, level)).data
        out = run(orias.sim.load(cubin), case_of(seed, parse(text)))
    except (CompileError, SimError) as e:
        return Made(seed, level, text, b"", b"", str(e))
    if out.error is not None:
        return Made(seed, level, text, b"", b"", str(out.error))
    return Made(seed, level, text, cubin, out.regions[1].tobytes())


def launched(driver: Driver, cubin: bytes, case: Case) -> bytes:
    """What the output of a case holds after a launch on the GPU."""
    image = GpuImage(driver, cubin)
    values = [bytes(p) for p in case.params]
    addresses = []
    for (parameter, _), region in case.pointers.items():
        address = image.arena.allocate(region.size)
        image.arena.write(address, region.bytes())
        values[parameter] = (address + region.start).to_bytes(8, "little")
        addresses.append((address, region.size))
    driver.launch(driver.function(image.module, case.kernel), case.grid, case.block, values, case.shared)  # type: ignore[arg-type]
    driver.finish("a random program")
    out = driver.read(*addresses[1])
    image.close()
    return out


def _memories(driver: Driver, programs: Sequence[tuple[bytes, Case]]) -> Iterator[bytes]:
    for cubin, case in programs:
        yield launched(driver, cubin, case)


def _outputs(programs: Sequence[tuple[bytes, Case]]) -> list[bytes | str]:
    """The memory that each leaves on the GPU, or why it did not end."""
    out: list[bytes | str] = []
    while len(out) < len(programs):
        try:
            out.extend(apart.rows(functools.partial(_memories, programs=programs[len(out) :])))
        except DriverError as e:
            out.append(str(e))
    return out


def _ptxas(text: str, arch: str) -> bytes:
    cubin = ptxas_cubin(tool("ptxas"), text, arch, 3)
    assert isinstance(cubin, bytes), cubin
    return cubin


def _places(a: bytes, b: bytes) -> int:
    """Words that differ."""
    return int((np.frombuffer(a, np.uint32) != np.frombuffer(b, np.uint32)).sum())


def wrong(pool: Executor, seeds: Sequence[int], arch: str) -> tuple[int, list[str]]:
    """How many programs ran, and those whose memory is neither the simulator's nor that of ptxas's code on the GPU."""
    made = [m for m in pool.map(functools.partial(program, arch=arch), seeds, chunksize=4) if not m.why]
    cases = {m.seed: case_of(m.seed, parse(m.text)) for m in made}
    differing = []
    for m, got in zip(made, _outputs([(m.cubin, cases[m.seed]) for m in made]), strict=True):
        if got != m.memory:
            differing.append((m, got))
    theirs = _outputs([(_ptxas(m.text, arch), cases[m.seed]) for m, _ in differing])
    out = []
    for (m, got), other in zip(differing, theirs, strict=True):
        if got == other and not isinstance(got, str):
            continue  # a result that the simulator rounds otherwise, as of an approximation
        said = got if isinstance(got, str) else f"{_places(got, m.memory)} words differ from the simulator's"
        ptxas = other if isinstance(other, str) else f"ptxas's from the simulator's in {_places(other, m.memory)}"
        out.append(f"{m.seed} -O{m.level}: {said}; {ptxas}")
    return len(made), out
