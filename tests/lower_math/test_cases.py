"""PTX instructions and the Ori they become, one file a family in ``cases/``.

A case is a line of PTX, followed by indented blocks: the targets that give the same text, then the instructions with registers named in
order of appearance.  ``ORIAS_BLESS=1`` rewrites the files with what the compiler does now; read the difference before you commit it.
"""

import os
import re

import pytest

from orias.diag import Unsupported
from orias.lower.module import lower_module
from orias.ori.text import inst_text
from orias.ptx.parser import parse
from orias.target.profile import target

HERE = os.path.join(os.path.dirname(__file__), "cases")
TARGETS = ("sm_75", "sm_80", "sm_86", "sm_89", "sm_90")
_PREFIX = {"p": "pred", "h": "b16", "r": "b32", "f": "f32", "d": "b64", "e": "f64"}
_NAME = re.compile(r"%([phrfde])(\d+)")
_VREG = re.compile(r"\bv(\d+)\b(:[A-Z0-9]+)?")
LINE = 40


def kernel(line: str) -> str:
    """A kernel with the instruction on line LINE; registers are named by type: %h %r %f %d %e %p and a number."""
    names = sorted(set(_NAME.findall(line)))
    decl = "".join(f".reg .{_PREFIX[k]} %{k}{n};" for k, n in names)
    loads = "".join(
        f"ld.global.{_PREFIX[k]} %{k}{n}, [%ad+{8 * j}];"
        if k != "p"
        else f"ld.global.u32 %ar, [%ad+{8 * j}]; setp.ne.u32 %{k}{n}, %ar, 0;"
        for j, (k, n) in enumerate(names)
    )
    stores = "".join(
        f"st.global.{_PREFIX[k]} [%ad+{8 * j}], %{k}{n};"
        if k != "p"
        else f"selp.u32 %ar, 1, 0, %{k}{n}; st.global.u32 [%ad], %ar;"
        for j, (k, n) in enumerate(names)
    )
    head = f""".version 8.8
.target sm_90
.address_size 64
.visible .entry k(.param .u64 p) {{
.reg .b64 %ad; .reg .b32 %ar; {decl}
ld.param.u64 %ad, [p]; {loads}
"""
    return head + "\n" * (LINE - head.count("\n") - 1) + line + "\n" + stores + " ret; }\n"


def lowered(line: str, arch: str) -> list[str]:
    """The instructions of one PTX line, or the refusal."""
    try:
        program = lower_module(parse(kernel(line)), target(arch))
    except Unsupported as e:
        return [f"refused: {e.message}"]
    fn = program.kernels[0].entry
    names: dict[str, str] = {}

    def rename(m: re.Match[str]) -> str:
        name = names.setdefault(m.group(1), f"v{len(names)}")
        return name + (m.group(2) or "")

    out = []
    for b in fn.blocks:
        insts = [i for i in b.insts if i.loc == LINE]
        if insts and out and b.preds and any(i.loc == LINE for p in b.preds for i in p.insts):
            out.append(f"{'cold ' if b.cold else ''}block:")
        out += [_VREG.sub(rename, inst_text(i, fn)).split(" ; @")[0].rstrip() for i in insts]
    return out


def described(line: str) -> list[str]:
    """The lines of a case's answer."""
    out: list[str] = []
    previous = ["nothing yet"]
    head = 0
    for arch in TARGETS:
        text = lowered(line, arch)
        if text == previous:
            out[head] += " " + arch
            continue
        head = len(out)
        out.append("  " + arch)
        out += ["    " + t for t in text]
        previous = text
    return out


@pytest.mark.in_turn(4)
@pytest.mark.parametrize("name", sorted(os.listdir(HERE)))
def test_cases(name: str) -> None:
    path = os.path.join(HERE, name)
    with open(path, encoding="utf-8") as f:
        lines = f.read().splitlines()
    now: list[str] = []
    for line in lines:
        if line.startswith("#") or not line.strip():
            now.append(line)
        elif not line.startswith(" "):
            now.append(line)
            now += described(line)
    if os.environ.get("ORIAS_BLESS"):
        with open(path, "w", encoding="utf-8") as f:
            f.write("\n".join(now) + "\n")
    assert now == lines or os.environ.get("ORIAS_BLESS"), "\n".join(
        f"{a}\n    was {b}" for a, b in zip(now, lines, strict=False) if a != b
    )
