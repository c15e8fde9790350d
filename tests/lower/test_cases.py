"""PTX and the Ori it becomes.

``cases/lines``: a line of PTX, then the targets that agree and the instructions of that line.  ``cases/modules``: a whole module (after
``## name``), then per group of targets (for ``.target sm_90a``, ``sm_100a``, ... that alone) the dump of every function.  Registers are numbered in order of appearance.  ``ORIAS_BLESS=1``
rewrites the files with what the compiler does now; read the difference before you commit it.
"""

import os
import re

import pytest

from orias.diag import Unsupported
from orias.lower.module import lower_module
from orias.ori.ir import Func
from orias.ori.text import dump, inst_text
from orias.ori.verify import verify
from orias.ptx.parser import parse
from orias.target.profile import target

HERE = os.path.join(os.path.dirname(__file__), "cases")
TARGETS = ("sm_75", "sm_80", "sm_90")
LATER = ("sm_100a", "sm_110a", "sm_120a")
"""The targets of ``cases/later``: lines that begin at sm_100."""
BLESS = bool(os.environ.get("ORIAS_BLESS"))
LINE = 40
_PREFIX = {"p": "pred", "h": "b16", "r": "b32", "d": "b64", "q": "b128"}
_NAME = re.compile(r"%([phrdq])(\d+)")
_VREG = re.compile(r"\bv(\d+)\b(:[A-Z0-9]+)?")


def kernel(line: str, declared: str = "sm_90") -> str:
    """A kernel with the instruction on line LINE; %h %r %d %q %p and a number are registers, sh lo gl co variables."""
    names = sorted(set(_NAME.findall(line)))
    decl = "".join(f".reg .{_PREFIX[k]} %{k}{n};" for k, n in names)
    loads = ""
    stores = ""
    for j, (k, n) in enumerate(names):
        at = f"[%ad+{16 * j}]"
        if k == "p":
            loads += f"ld.global.u32 %ar, {at}; setp.ne.u32 %{k}{n}, %ar, 0;"
            stores += f"selp.u32 %ar, 1, 0, %{k}{n}; st.global.u32 {at}, %ar;"
        else:
            loads += f"ld.global.{_PREFIX[k]} %{k}{n}, {at};"
            stores += f"st.global.{_PREFIX[k]} {at}, %{k}{n};"
    head = f""".version 8.8
.target {declared}
.address_size 64
.global .align 8 .b8 gl[64]; .const .align 8 .b8 pad[16]; .const .align 8 .b8 co[64];
.visible .entry k(.param .u64 p, .param .align 8 .b8 st[32]) {{
.reg .b64 %ad; .reg .b32 %ar; {decl} .shared .align 16 .b8 sh0[16]; .shared .align 16 .b8 sh[64]; .local .align 16 .b8 lo[64];
ld.param.u64 %ad, [p]; st.shared.u8 [sh0], 0; {loads}
"""
    return head + "\n" * (LINE - head.count("\n") - 1) + line + "\n" + stores + " ret; }\n"


def renamed(text: str, names: dict[str, str]) -> str:
    """The text with virtual registers numbered in order of appearance."""

    def rename(m: re.Match[str]) -> str:
        name = names.setdefault(m.group(1), f"v{len(names)}")
        return name + (m.group(2) or "")

    return _VREG.sub(rename, text)


def lowered_line(line: str, arch: str, declared: str = "sm_90") -> list[str]:
    """The instructions of one PTX line, or the refusal."""
    try:
        program = lower_module(parse(kernel(line, declared)), target(arch))
    except Unsupported as e:
        return [f"refused: {e.message}"]
    fn = program.kernels[0].entry
    assert verify(fn) == []
    names: dict[str, str] = {}
    out = []
    for b in fn.blocks:
        insts = [i for i in b.insts if i.loc == LINE or (i.loc == 0 and i.op.name == "phi")]
        if insts and out and b.preds and any(i.loc == LINE for p in b.preds for i in p.insts):
            out.append(f"{'cold ' if b.cold else ''}block:")
        out += [renamed(inst_text(i, fn), names).split(" ; @")[0].rstrip() for i in insts]
    return out


def lowered_module(text: str, arch: str) -> list[str]:
    """The dump of every function of a module, or the refusal."""
    try:
        program = lower_module(parse(text), target(arch))
    except Unsupported as e:
        return [f"refused: {e.message}"]
    out: list[str] = []
    funcs: list[Func] = [fn for k in program.kernels for fn in k.all_functions()]
    for fn in funcs:
        assert verify(fn) == []
        names: dict[str, str] = {}
        out += [renamed(line, names).split(" ; @")[0].rstrip() for line in dump(fn).splitlines() if line.strip()]
    return out


def grouped(texts: list[list[str]], targets: tuple[str, ...] = TARGETS) -> list[str]:
    """Targets with equal text together, each group under its names."""
    out: list[str] = []
    head = 0
    previous: list[str] | None = None
    for arch, text in zip(targets, texts, strict=True):
        if text == previous:
            out[head] += " " + arch
            continue
        head = len(out)
        out.append("  " + arch)
        out += ["    " + t for t in text]
        previous = text
    return out


def settle(path: str, now: list[str], was: list[str]) -> None:
    """Compare, or rewrite the file when blessing."""
    if BLESS:
        with open(path, "w", encoding="utf-8") as f:
            f.write("\n".join(now) + "\n")
        return
    assert now == was, "\n".join(f"{a}\n    was {b}" for a, b in zip(now, was, strict=False) if a != b)


def read(path: str) -> list[str]:
    with open(path, encoding="utf-8") as f:
        return f.read().splitlines()


@pytest.mark.in_turn(4)
@pytest.mark.parametrize("name", sorted(os.listdir(os.path.join(HERE, "lines"))))
def test_lines(name: str) -> None:
    path = os.path.join(HERE, "lines", name)
    lines = read(path)
    now: list[str] = []
    for line in lines:
        if line.startswith("#") or not line.strip():
            now.append(line)
        elif not line.startswith(" "):
            now.append(line)
            now += grouped([lowered_line(line, arch) for arch in TARGETS])
    settle(path, now, lines)


@pytest.mark.parametrize("name", sorted(os.listdir(os.path.join(HERE, "later"))))
def test_later_lines(name: str) -> None:
    path = os.path.join(HERE, "later", name)
    lines = read(path)
    now: list[str] = []
    for line in lines:
        if line.startswith("#") or not line.strip():
            now.append(line)
        elif not line.startswith(" "):
            now.append(line)
            now += grouped([lowered_line(line, arch, "sm_100a") for arch in LATER], LATER)
    settle(path, now, lines)


@pytest.mark.in_turn(4)
@pytest.mark.parametrize("name", sorted(os.listdir(os.path.join(HERE, "modules"))))
def test_modules(name: str) -> None:
    path = os.path.join(HERE, "modules", name)
    lines = read(path)
    now: list[str] = []
    text: list[str] = []

    def flush() -> None:
        if text:
            now.extend(text)
            whole = "\n".join(text)
            named = re.search(r"\.target (sm_\d+[af])", whole)
            targets = (named.group(1),) if named else TARGETS
            now.extend(grouped([lowered_module(whole, arch) for arch in targets], targets))
            text.clear()

    for line in lines:
        if line.startswith("##"):
            flush()
            now.append(line)
        elif not line.startswith(" "):
            text.append(line)
    flush()
    settle(path, now, lines)
