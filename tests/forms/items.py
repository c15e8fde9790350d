"""Everything that is run on every SM with both compilers: one-instruction programs by family, and whole kernels."""

import functools
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, NamedTuple

from orias.diag import CompileError
from orias.sim import Image, SimError
from tests.asynchronous import (
    barrier_programs,
    copy_programs,
    elect_programs,
    multimem_programs,
    opcode_programs,
    test_kernels,
)
from tests.asynchronous.harness import Program
from tests.device import Device, current, load, on
from tests.forms import generate
from tests.forms.form import Form
from tests.forms.run import our_cubin, ptxas_cubin, run_form
from tests.kernels import test_kernels as kernels
from tests.kernels.matrix import cases
from tests.semantic import test_spirv_run as spirv_run
from tests.sync import test_meeting_places as sides
from tests.wgmma import forms as wgmma
from tests.wgmma import test_attention, test_gemm

ARCHES: Final = ("sm_75", "sm_80", "sm_86", "sm_87", "sm_88", "sm_89", "sm_90", "sm_90a")
LATER: Final = ("sm_100a", "sm_103a", "sm_110a", "sm_120a", "sm_121a")
"""Targets that run what is written for sm_90."""
COMPILERS: Final = {"orias": our_cubin, "ptxas": ptxas_cubin}
LEVELS: Final = (3, 0)


class Piece(NamedTuple):
    """What an item adds to a module it shares with others: declarations, and a kernel of the name it is given."""

    declarations: str
    kernel: Callable[[str], str]


class Item(NamedTuple):
    """A program; ``check(image, kernel)`` runs it on a loaded image and says what is wrong, nothing if all is right."""

    family: str
    name: str
    text: str
    """A module of its own; of an item with a piece for sm_90."""
    arches: tuple[str, ...]
    check: Callable[[Any, str], str]
    piece: Piece | None = None
    """Items with one can share a module (:func:`module`)."""
    unjudged: tuple[str, ...] = ()
    """Targets where ptxas's cubin is beyond the simulator or wrong: only ours runs."""
    levels: tuple[int, ...] = LEVELS
    interpreted: bool = True
    """False: it looks at what PTX leaves open, so it means nothing to an interpreter of PTX."""

    def runs_on(self, arch: str) -> bool:
        """Whether it is for a target."""
        return arch in self.arches or (arch in LATER and "sm_90" in self.arches)

    def judges(self, arch: str) -> bool:
        """Whether ptxas's cubin for a target is run too."""
        return arch not in self.unjudged and not (arch in LATER and "sm_90" in self.unjudged)

    def settings(self, compiler: str, arch: str) -> tuple[int, ...]:
        """Levels to run for a compiler and a target; none if the item is not for them."""
        return self.levels if self.runs_on(arch) and (compiler != "ptxas" or self.judges(arch)) else ()

    def source(self, arch: str) -> str:
        """The module of this item alone."""
        return module([self], arch) if self.piece else self.text

    def run(self, compiler: str, arch: str, level: int) -> str:
        """Compile and run on the device of the tests; what is wrong, nothing if all is right."""
        try:
            return self.check(load(COMPILERS[compiler](self.source(arch), arch, level)), "k0")
        except (CompileError, SimError) as e:
            return f"{self.name}: {type(e).__name__} {e}"[:400]


def module(some: Sequence[Item], arch: str) -> str:
    """A module of items with pieces; their kernels are k0, k1 ..."""
    pieces = [i.piece for i in some if i.piece is not None]
    assert len(pieces) == len(some)
    head = f".version 8.7\n.target {'sm_90' if arch in LATER else arch}\n.address_size 64\n"
    declarations = dict.fromkeys(p.declarations for p in pieces)
    return head + "".join(declarations) + "".join(p.kernel(f"k{n}") for n, p in enumerate(pieces))


def _from(sm: int) -> tuple[str, ...]:
    return tuple(a for a in ARCHES if int(a[3:].rstrip("af")) >= sm)


def _shared(family: str, name: str, arches: tuple[str, ...], check: Callable[[Any, str], str], piece: Piece) -> Item:
    """An item with a piece."""
    item = Item(family, name, "", arches, check, piece)
    return item._replace(text=module([item], "sm_90"))


def _form(family: str, form: Form) -> Item:
    def check(image: Any, kernel: str) -> str:
        return "".join(run_form(image, kernel, form)[:1])

    item = _shared(family, form.name, _from(form.sm), check, Piece(form.module, form.kernel))
    return item if form.judged else item._replace(unjudged=item.arches)


def _program(family: str, program: Program) -> Item:
    arches = tuple(
        a for a in _from(program.sm) if a.endswith("a") or not (program.suffix or "tensormap" in program.name)
    )
    # What stands for sm_80 stands for all with its software barrier objects.
    unjudged = tuple(a for a in arches if a in program.unjudged or ("sm_80" in program.unjudged and a < "sm_90"))
    open_ = program.name.removeprefix("op ").startswith("createpolicy") or "odd threads" in program.name
    item = _shared(family, program.name, arches, program.check, Piece("", program.kernel))
    return item._replace(unjudged=unjudged, interpreted=not open_)


def _wgmma(form: wgmma.Form) -> Item:
    def check(image: Any, kernel: str) -> str:
        return form.run(image, kernel, False) or form.run(image, kernel, True)

    return _shared("wgmma", form.name, ("sm_90a",), check, Piece("", form.kernel))


def _kernel(family: str, name: str, text: str, arches: tuple[str, ...], run: Callable[[bytes], Any]) -> Item:
    """A whole kernel; `run` loads a cubin on the device of the tests, runs it and raises AssertionError."""

    def check(image: Any, _: str) -> str:
        try:
            with on(Device(lambda cubin: image, current().tensormap)):
                run(b"")
        except AssertionError as e:
            return " ".join(str(e).split()) or "assertion failed"
        return ""

    return Item(family, name, text, arches, check)


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

        def run(cubin: bytes, case: cases.Case = case, shared: int = shared) -> None:
            case.make().run(cubin, shared)

        out.append(_kernel("matrix kernels", name, text, tuple(a for a in ARCHES if case.runs_on(a)), run))
    gemm = {"gemm": "gemm.ptx", "tensor": "tensor_gemm.ptx"}
    for name in test_gemm.KINDS:
        text = (test_gemm.PTX / gemm[name.partition("_")[0]]).read_text()
        out.append(_kernel("matrix kernels", name, text, ("sm_90a",), functools.partial(test_gemm.product, name)))
    return [*out, _kernel("matrix kernels", "attention", test_attention.SOURCE, ("sm_90a",), test_attention.attention)]


def _async_kernels() -> list[Item]:
    out = []
    for name, arch, function in (c for c in test_kernels.CASES if c[1] in ("sm_80", "sm_90")):
        text = (test_kernels.HERE / "ptx" / f"{name}.{arch[3:5]}.ptx").read_text()
        late = arch == "sm_90"
        arches = _from(90) if late else ("sm_80", "sm_86", "sm_87", "sm_88", "sm_89")

        def run(cubin: bytes, function: Callable[[Image], Any] = function) -> None:
            function(load(cubin))

        out.append(_kernel("copy kernels", f"{function.__name__}.{arch[3:5]}", text, arches, run))
    return out


def _sides() -> list[Item]:
    """Collectives on several sides of a branch."""
    out = []
    for name, (body, least, want) in sides.CASES.items():
        text = sides.HEAD.format(arch="sm_90" if least == 90 else f"sm_{least}") + body + sides.TAIL
        item = _kernel("sides", name, text, _from(least), functools.partial(sides.check, want=want))
        out.append(item._replace(interpreted=False))
    return out


def _semantic() -> list[Item]:
    """The programs of a public project, where its folder is named (tests/semantic)."""
    out = []
    for case in spirv_run.cases():
        path = spirv_run.FOLDER / spirv_run.Path(case["file"]).name
        if not path.is_file():
            continue

        def check(image: Any, _: str, case: dict[str, Any] = case) -> str:
            got = spirv_run.launch(case, image)
            return "" if spirv_run.agree(case, got) else f"{got.tobytes().hex()} instead of {case['expected_hex']}"

        text = path.read_text()
        needed = max([75, *(int(n) for n in re.findall(r"\.target\s+sm_(\d+)", text))])
        out.append(Item("semantic", case["name"], text, _from(needed), check))
    return out


_SOURCES: Final[dict[str, Callable[[], list[Item]]]] = {
    "matrix": lambda: [_form("matrix", f) for f in generate.FAMILIES["matrix"]()],
    "wmma": lambda: [_form("wmma", f) for f in generate.FAMILIES["wmma"]()],
    "barriers": lambda: [_program("barriers", p) for p in barrier_programs.programs()],
    "copies": lambda: [_program("copies", p) for p in copy_programs.programs()],
    "elections": lambda: [_program("elections", p) for p in elect_programs.programs()],
    "multimem": lambda: [_program("multimem", p) for p in multimem_programs.programs()],
    "opcodes": lambda: [_program("opcodes", p) for p in opcode_programs.programs()],
    "kernels": _cuda,
    "sides": _sides,
    "semantic": _semantic,
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
