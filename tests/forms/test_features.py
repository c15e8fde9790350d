"""Every feature of sm_90 to sm_121f that a target of sm_100 and later takes has a program, which runs on every such target.

The features are those of ``tests/ptx/data/families.txt``; the programs those of the families of tests.
"""

import functools
import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

import pytest

import orias
from orias import sim
from tests.asynchronous import (
    barrier_programs,
    copy_programs,
    elect_programs,
    later_programs,
    multimem_programs,
    opcode_programs,
    test_wide_columns,
)
from tests.asynchronous.harness import Program
from tests.forms.form import Form
from tests.forms.generate import all_forms
from tests.forms.narrow_forms import eights, kinds, moves
from tests.forms.run import failures
from tests.forms.test_complete import key
from tests.ptx.test_families import ROWS
from tests.rotation import rotating
from tests.sim.build import assemble
from tests.tensor_memory import programs as tensor
from tests.tensor_memory.copies import copies
from tests.tensor_memory.products import products

TARGETS = ("sm_100a", "sm_103a", "sm_110a", "sm_120a", "sm_121a")
LEVELS = (0, 1, 3)
RUNS = [(compiler, level) for compiler in ("orias", "ptxas") for level in LEVELS]
_MODULES = (barrier_programs, copy_programs, opcode_programs, elect_programs, multimem_programs, later_programs)
Feature = tuple[tuple[str, ...], str]
"""The words of an opcode, and for products in tensor memory the kinds of its operands."""


class Case(NamedTuple):
    """A program of a family."""

    name: str
    text: str
    fits: Callable[[str, str], bool]
    """Whether a compiler's cubin for a target runs."""
    run: Callable[[str, str, int], str]
    """Compiler, target, level: what is wrong, nothing if all is right."""


def _operands(text: str) -> str:
    """Kinds of operands: an address, a vector, anything else."""
    plain = re.sub(r"\[[^\]]*\]", "[", re.sub(r"\{[^}]*\}", "{", text))
    return "".join(o.strip()[:1] if o.strip()[:1] in "[{" else "x" for o in plain.split(","))


def features_of(text: str) -> list[Feature]:
    """The opcodes of PTX text, in order."""
    found = re.findall(r"(?:^|[;:\s{}])([a-z]\w*(?:\.[\w:]+)+)(?=[\s;])([^;]*)", text)
    return [(key(o), _operands(rest) if o.startswith("tcgen05.mma") else "") for o, rest in found]


def wanted(line: str) -> Feature:
    """What a row is about: its first instruction that is no move."""
    return next(f for f in features_of(line) if "mov" not in f[0])


def _form(form: Form) -> Case:
    def fits(compiler: str, arch: str) -> bool:
        has = form.sm <= int(arch[3:].rstrip("af")) and (not form.archs or arch in form.archs)
        return has and (compiler != "ptxas" or form.judged)

    def run(compiler: str, arch: str, level: int) -> str:
        return str(failures([form], compiler, arch, level) or "")

    return Case(form.name, form.body, fits, run)


def _program(p: Program) -> Case:
    def fits(compiler: str, arch: str) -> bool:
        return p.fits(arch) and (compiler != "ptxas" or arch not in p.unjudged)

    return Case(p.name, p.body, fits, p.run)


def _tensor(p: tensor.Program) -> Case:
    def run(compiler: str, arch: str, level: int) -> str:
        text = p.text(arch)
        cubin = (
            orias.compile(text, arch=arch, opt_level=level).data
            if compiler == "orias"
            else assemble(text, arch, f"-O{level}")
        )
        args = p.args()
        sim.load(cubin).launch("k", p.cluster, p.threads, args, cluster=p.cluster)
        try:
            p.check(args)
        except AssertionError as e:
            return " ".join(str(e).split()) or "wrong"
        return ""

    return Case(p.name, p.text(p.targets[0]), lambda compiler, arch: arch in p.targets, run)


def _cases() -> Iterator[Case]:
    for form in [*(f for family in all_forms().values() for f in family), *moves(), *eights(), *kinds()]:
        yield _form(form)
    for module in _MODULES:
        yield from map(_program, module.programs())
    yield from {p.name: _program(p) for p, _ in test_wide_columns._programs()}.values()
    for p in [*tensor.transfers(), *tensor.reductions(), *copies(), *products()]:
        yield _tensor(p)


@functools.cache
def programs() -> dict[Feature, list[Case]]:
    """The programs that have each feature; those with the fewest instructions first."""
    found: dict[Feature, list[Case]] = {}
    for case in sorted(_cases(), key=lambda c: c.text.count(";")):
        for f in dict.fromkeys(features_of(case.text)):
            found.setdefault(f, []).append(case)
    return found


def taken() -> list[tuple[str, str, str]]:
    """(feature, line, target) for all targets of these that take it."""
    return [(f, line, arch) for f, line, where in ROWS for arch in TARGETS if arch[3:] in where]


def program_of(line: str, compiler: str, arch: str) -> Case | None:
    """The first program for a feature that runs on a target."""
    return next((c for c in programs().get(wanted(line), ()) if c.fits(compiler, arch)), None)


@pytest.mark.sweep
def test_every_feature_has_a_program() -> None:
    rows = taken()
    assert len(rows) > 600
    assert not [(f, arch) for f, line, arch in rows if program_of(line, "orias", arch) is None]
    # ptxas's code is a judge but for the few forms where it does something else than PTX says.
    assert len([f for f, line, arch in rows if program_of(line, "ptxas", arch) is None]) < 30


@pytest.mark.sweep
@pytest.mark.parametrize("arch", TARGETS)
@pytest.mark.parametrize(("compiler", "level"), RUNS)
def test_programs(arch: str, compiler: str, level: int) -> None:
    """A part of them, another one every day."""
    rows = rotating([r for r in taken() if r[2] == arch], 40, f"features {arch} {compiler} {level}")
    cases = [(f, c) for f, line, _ in rows if (c := program_of(line, compiler, arch))]
    bad = [f"{f}, {c.name}: {w[:200]}" for f, c in cases if (w := c.run(compiler, arch, level))]
    assert not bad, "\n".join(bad)
