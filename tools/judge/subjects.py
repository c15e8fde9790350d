"""What the agreement matrix runs: modules of kernels with checks against results computed on the host."""

import json
from collections.abc import Callable, Iterator
from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np

from tests.asynchronous.test_programs import PROGRAMS
from tests.forms.form import Form, module_text
from tests.forms.generate import all_forms
from tests.forms.run import run_form
from tests.kernels.matrix.cases import CASES
from tests.kernels.matrix.cases import source as matrix_source
from tests.kernels.test_kernels import HERE, NAMES, NEEDS_80, arguments
from tests.wgmma.forms import Form as WarpgroupForm
from tests.wgmma.forms import all_forms as warpgroup_forms
from tests.wgmma.forms import module_text as warpgroup_text

BATCH = 12
Check = Callable[[Any], str]
"""Runs one kernel of an image; what is wrong, empty if nothing is."""


class Group(NamedTuple):
    """A module: name, its text when asked for, and a (kernel, check) for each program in it; ``judged``: ptxas's code can be simulated."""

    name: str
    text: Callable[[], str]
    programs: list[tuple[str, Check]]
    judged: bool = True


@cache
def _families() -> dict[str, list[Form]]:
    return all_forms()


@cache
def _warpgroup() -> list[WarpgroupForm]:
    return warpgroup_forms()


def number(arch: str) -> int:
    """90 for sm_90a."""
    return int(arch[3:].rstrip("af"))


def _form(kernel: str, form: Form) -> Check:
    return lambda image: "".join(run_form(image, kernel, form)[:1])


def _form_groups(family: str, forms: list[Form], arch: str) -> Iterator[Group]:
    usable = [f for f in forms if f.sm <= number(arch)]
    # neighbours are alike: a batch takes its forms from all over the family
    count = -(-len(usable) // BATCH)
    for k in range(count):
        mine = usable[k::count]
        text = partial(module_text, mine, arch)
        programs = [(f"k{n}", _form(f"k{n}", f)) for n, f in enumerate(mine)]
        yield Group(f"{family}/{k}", text, programs, all(f.judged for f in mine))


def _kernel(name: str) -> Check:
    def check(image: Any) -> str:
        case = json.loads((HERE / "cases" / f"{name}.json").read_text())
        args, checks = arguments(case)
        result = image.launch(case["kernel"], tuple(case["grid"]), tuple(case["block"]), args, shared=case["shared"])
        for k, (got, want, tol) in enumerate(checks):
            if not np.allclose(got, want, rtol=tol, atol=tol, equal_nan=True):
                return f"{name}: output {k}"
        return "" if result.output == case.get("printed", result.output) else f"{name}: what it prints"

    return check


def _matrix_text(name: str) -> str:
    return matrix_source(name)[0]


def _matrix(name: str) -> Check:
    def check(image: Any) -> str:
        launch = CASES[name][1]()
        kernel = next(iter(image.kernels))
        image.launch(kernel, launch.grid, launch.threads, launch.args, shared=matrix_source(name)[1])
        for at, want, tolerance in launch.wants:
            got = launch.args[at].astype(np.float64)
            if not np.allclose(got, want, rtol=tolerance, atol=tolerance * np.abs(want).max()):
                return f"{name}: argument {at}"
        return ""

    return check


def groups(arch: str) -> Iterator[Group]:
    """Everything for a target."""
    sm = number(arch)
    if arch != "sm_90a":
        for family, forms in _families().items():
            yield from _form_groups(family, forms, arch)
        for name in NAMES:
            if sm >= 80 or name not in NEEDS_80:
                kernel = json.loads((HERE / "cases" / f"{name}.json").read_text())["kernel"]
                yield Group(f"kernels/{name}", (HERE / "ptx" / f"{name}.ptx").read_text, [(kernel, _kernel(name))])
        for name, (first, _) in CASES.items():
            if sm >= first:
                kernel = _matrix_text(name).split(".entry ", 1)[1].split("(", 1)[0].strip()
                yield Group(f"matrix kernels/{name}", partial(_matrix_text, name), [(kernel, _matrix(name))])
        if sm < 90:
            return
    else:
        forms = _warpgroup()
        for k in range(0, len(forms), 4):
            mine = forms[k : k + 4]
            programs: list[tuple[str, Check]] = [
                (f"k{n}", lambda image, n=n, f=f: f.run(image, f"k{n}", False)) for n, f in enumerate(mine)
            ]
            yield Group(f"wgmma/{k // 4}", partial(warpgroup_text, mine), programs)
    for p in PROGRAMS:
        # the others look at bits that are open
        if p.sm <= sm and not p.name.startswith("createpolicy") and "odd threads" not in p.name:
            if arch == "sm_90a" or "tensormap" not in p.name:
                yield Group(f"asynchronous/{p.name}", partial(p.text, arch), [("k", p.check)], arch not in p.unjudged)
