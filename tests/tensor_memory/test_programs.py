"""Programs on tensor memory with our code and ptxas's, in the simulator, against results from numpy."""

import pytest

import orias
from orias import sim
from orias.ptx.parser import parse
from orias.sim.ptx import PtxImage
from tests.rotation import rotating
from tests.sim.build import assemble
from tests.tensor_memory.copies import copies
from tests.tensor_memory.products import products
from tests.tensor_memory.programs import Program, reductions, transfers

PRODUCTS = products()
COPIES = copies()
ALL = [*transfers(), *reductions(), *COPIES, *PRODUCTS]
LEVELS = (0, 1, 3)


def _run(p: Program, cubin: bytes) -> None:
    args = p.args()
    sim.load(cubin).launch("k", p.cluster, p.threads, args, cluster=p.cluster)
    p.check(args)


def _cases(programs: list[Program]) -> list[tuple[Program, str, int]]:
    return [(p, arch, level) for p in programs for arch in p.targets for level in LEVELS]


def _name(value: object) -> str:
    return value.name if isinstance(value, Program) else str(value)


def _few() -> list[tuple[Program, str, int]]:
    """Cases of other programs, targets and levels."""
    return [*_cases(ALL)[::397], *_cases(COPIES)[::17], *_cases(PRODUCTS)[::317]]


@pytest.mark.in_turn(4)
@pytest.mark.parametrize(("p", "arch", "level"), _few(), ids=_name)
def test_some(p: Program, arch: str, level: int) -> None:
    _run(p, orias.compile(p.text(arch), arch=arch, opt_level=level, self_check=True).data)


def _one_each() -> list[tuple[Program, str, int]]:
    """Every program once, with another target and level every day."""
    return [rotating(_cases([p]), 1, p.name)[0] for p in ALL]


@pytest.mark.sweep
@pytest.mark.parametrize(("p", "arch", "level"), _one_each(), ids=_name)
def test_all(p: Program, level: int, arch: str) -> None:
    _run(p, orias.compile(p.text(arch), arch=arch, opt_level=level, self_check=True).data)


@pytest.mark.sweep
@pytest.mark.parametrize(("p", "arch", "level"), rotating(_cases(ALL), 60, "ptxas"), ids=_name)
def test_ptxas(p: Program, arch: str, level: int) -> None:
    _run(p, assemble(p.text(arch), arch, f"-O{level}"))


def _interpret(p: Program) -> None:
    args = p.args()
    PtxImage(parse(p.text(p.targets[0]), "k.ptx"), p.targets[0]).launch(
        "k", p.cluster, p.threads, args, cluster=p.cluster
    )
    p.check(args)


@pytest.mark.parametrize("p", [*PRODUCTS[::79], *COPIES[::11]], ids=_name)
def test_some_in_the_interpreter(p: Program) -> None:
    _interpret(p)


@pytest.mark.sweep
@pytest.mark.parametrize("p", ALL, ids=_name)
def test_all_in_the_interpreter(p: Program) -> None:
    _interpret(p)
