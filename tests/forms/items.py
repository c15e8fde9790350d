"""Everything that is run on every SM with both compilers: one-instruction programs by family, and whole kernels."""

import functools
import zlib
from collections.abc import Callable, Iterable
from typing import Any, Final, NamedTuple

from orias.sim import Image
from tests.asynchronous import barrier_programs, copy_programs, opcode_programs, test_kernels
from tests.asynchronous.harness import Program
from tests.device import load
from tests.forms import generate
from tests.forms.form import Form, module_text
from tests.forms.run import failures, our_cubin, ptxas_cubin
from tests.kernels import test_kernels as kernels
from tests.kernels.matrix import cases
from tests.wgmma import forms as wgmma
from tests.wgmma import test_attention, test_gemm

ARCHES: Final = ("sm_75", "sm_80", "sm_86", "sm_87", "sm_88", "sm_89", "sm_90", "sm_90a")
COMPILERS: Final = {"orias": our_cubin, "ptxas": ptxas_cubin}
LEVELS: Final = (3, 0)


class Item(NamedTuple):
    """A program; ``run(compiler, arch, level)`` says what is wrong; empty if nothing is."""

    family: str
    name: str
    text: str
    arches: tuple[str, ...]
    run: Callable[[str, str, int], str]
    unjudged: tuple[str, ...] = ()
    """Targets where ptxas's cubin is beyond the simulator or wrong: only ours runs."""
    levels: tuple[int, ...] = LEVELS

    def settings(self, compiler: str, arch: str) -> tuple[int, ...]:
        """Levels to run for a compiler and a target; none if the item is not for them."""
        judged = compiler != "ptxas" or arch not in self.unjudged
        return self.levels if arch in self.arches and judged else ()

    def key(self) -> int:
        """A number that changes with the program's text."""
        return zlib.crc32(self.text.encode())


def _from(sm: int) -> tuple[str, ...]:
    return tuple(a for a in ARCHES if int(a[3:5]) >= sm)


def _form(family: str, form: Form) -> Item:
    def run(compiler: str, arch: str, level: int) -> str:
        bad = failures([form], compiler, arch, level)
        return bad[form.name][0] if bad else ""

    arches = _from(form.sm)
    return Item(family, form.name, module_text([form], "sm_90"), arches, run, () if form.judged else arches)


def _program(family: str, program: Program) -> Item:
    arches = tuple(a for a in _from(program.sm) if a.endswith("a") or not program.suffix)
    # What stands for sm_80 stands for all with its software barrier objects.
    unjudged = tuple(a for a in arches if a in program.unjudged or ("sm_80" in program.unjudged and a < "sm_90"))
    return Item(family, program.name, program.text("sm_90a"), arches, program.run, unjudged)


def _wgmma(form: wgmma.Form) -> Item:
    text = wgmma.module_text([form])

    def run(compiler: str, arch: str, level: int) -> str:
        image = load(COMPILERS[compiler](text, arch, level))
        return form.run(image, "k0", False) or form.run(image, "k0", True)

    return Item("wgmma", form.name, text, ("sm_90a",), run)


def _kernel(family: str, name: str, text: str, arches: tuple[str, ...], check: Callable[[bytes], Any]) -> Item:
    """A whole kernel; `check` runs a cubin and raises AssertionError."""

    def run(compiler: str, arch: str, level: int) -> str:
        try:
            check(COMPILERS[compiler](text, arch, level))
        except AssertionError as e:
            return " ".join(str(e).split())
        return ""

    return Item(family, name, text, arches, run)


def _cuda() -> list[Item]:
    return [
        _kernel(
            "kernels",
            n,
            kernels.source(n),
            _from(80 if n in kernels.NEEDS_80 else 75),
            functools.partial(kernels.run, n),
        )
        for n in kernels.NAMES
    ]


def _matrix_kernels() -> list[Item]:
    out = []
    for name, case in cases.CASES.items():
        text, shared = cases.source(name)

        def check(cubin: bytes, case: cases.Case = case, shared: int = shared) -> None:
            case.make().run(cubin, shared)

        out.append(_kernel("matrix kernels", name, text, tuple(a for a in ARCHES if case.runs_on(a)), check))
    gemm = {"gemm": "gemm.ptx", "tensor": "tensor_gemm.ptx"}
    for name in test_gemm.KINDS:
        text = (test_gemm.PTX / gemm[name.partition("_")[0]]).read_text()
        out.append(_kernel("matrix kernels", name, text, ("sm_90a",), functools.partial(test_gemm.product, name)))
    return [*out, _kernel("matrix kernels", "attention", test_attention.SOURCE, ("sm_90a",), test_attention.attention)]


def _async_kernels() -> list[Item]:
    out = []
    for name, arch, function in test_kernels.CASES:
        text = (test_kernels.HERE / "ptx" / f"{name}.{arch[3:5]}.ptx").read_text()
        late = arch == "sm_90"
        arches = _from(90) if late else ("sm_80", "sm_86", "sm_87", "sm_88", "sm_89")

        def check(cubin: bytes, function: Callable[[Image], Any] = function) -> None:
            function(load(cubin))

        out.append(_kernel("copy kernels", f"{function.__name__}.{arch[3:5]}", text, arches, check))
    return out


_SOURCES: Final[dict[str, Callable[[], list[Item]]]] = {
    "matrix": lambda: [_form("matrix", f) for f in generate.FAMILIES["matrix"]()],
    "wmma": lambda: [_form("wmma", f) for f in generate.FAMILIES["wmma"]()],
    "barriers": lambda: [_program("barriers", p) for p in barrier_programs.programs()],
    "copies": lambda: [_program("copies", p) for p in copy_programs.programs()],
    "opcodes": lambda: [_program("opcodes", p) for p in opcode_programs.programs()],
    "kernels": _cuda,
    "matrix kernels": _matrix_kernels,
    "copy kernels": _async_kernels,
    "wgmma": lambda: [_wgmma(f) for f in wgmma.all_forms()],
    **{
        family: functools.partial(lambda family: [_form(family, f) for f in generate.FAMILIES[family]()], family)
        for family in generate.FAMILIES
        if family not in ("matrix", "wmma")
    },
}
FAMILIES: Final = tuple(_SOURCES)


def items(families: Iterable[str] = FAMILIES) -> list[Item]:
    """The programs of some families."""
    return [item for family in families for item in _SOURCES[family]()]
