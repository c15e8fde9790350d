"""Sections, symbols, relocations and records of our cubins beside those of ptxas, for small programs that use all of them.

``python -m tools.compare_records tests/cubin/data/record_programs.json`` prints every difference, and how many files differ for each
reason; ``docs/cubin.md`` has the reasons.
"""

import json
import subprocess
from pathlib import Path
from typing import Any, Final

import pytest

import orias
from orias.cubin.elf import ElfFile
from tests.nvtools import tool
from tests.rotation import rotating
from tools.compare_records import HEAD, MODES, allowed, features, judged, reasons
from tools.record_reasons import REASONS, reason_of

PROGRAMS: Final = json.loads((Path(__file__).parent / "data" / "record_programs.json").read_text())
ARCHES: Final = ("sm_80", "sm_90", "sm_100a")
EVERY: Final = [
    (name, arch, mode)
    for name, program in PROGRAMS.items()
    for arch in ARCHES
    for mode in ("exe", "c", "g")
    if allowed(program["targets"], arch) and not program.get("options")
]


def causes(name: str, arch: str, mode: str, folder: Path) -> set[str]:
    """The reasons for which a program's file differs, and what has none."""
    text = HEAD.format(version="9.0", arch=arch) + PROGRAMS[name]["ptx"]
    theirs = judged(text, arch, mode, folder)
    kind = f"{arch} {' '.join(MODES[mode]) or 'exe'}"
    if isinstance(theirs, str):
        with pytest.raises(orias.CompileError):
            orias.compile(text, arch=arch, compile_only=mode == "c", debug=mode == "g")
        return set()
    try:
        ours = orias.compile(text, arch=arch, compile_only=mode == "c", debug=mode == "g").data
    except orias.CompileError as e:
        return {reason_of(name, kind, "refused by us only") or f"no reason: {name} {kind} {e}"}
    return reasons(name, kind, features(ours), features(theirs))


def test_a_few(tmp_path: Path) -> None:
    found = set().union(*(causes(*case, tmp_path) for case in rotating(EVERY, 12, "records")))
    assert [cause for cause in found if cause.startswith("no reason")] == []


@pytest.mark.sweep
def test_all(tmp_path: Path) -> None:
    """Each difference has a reason, and no reason is left that explains none."""
    assert set().union(*(causes(*case, tmp_path) for case in EVERY)) == {r.name for r in REASONS}


def test_the_page_has_each_reason_once() -> None:
    page = (Path(__file__).parents[2] / "docs" / "cubin.md").read_text()
    assert {r.name: page.count(f"* **{r.name}**") for r in REASONS} == {r.name: 1 for r in REASONS}


def test_a_difference_without_a_reason_is_named() -> None:
    line = "symbol v bind 1 type 1 other 0x0 in .nv.global value 0x0 size 4"
    assert reasons("glob1", "sm_80 exe", {line}, set()) == {f"no reason: glob1 sm_80 exe + {line}"}
    order = {"section order .text .data"}, {"section order .data .extra .text"}
    assert reasons("glob1", "sm_80 exe", *order) == {"no reason: glob1 sm_80 exe section order"}
    assert reasons("glob1", "sm_80 exe", {"section order .a .b"}, {"section order .a .c .b"}) == set()


FUNCTION = "{} .func {}() {{ bar.sync 0; {} ret; }}\n"
CALLS: Final = [
    "v1 v2 k1:v1,v2 k2:v2",
    "l1 l2 k1:l1,l2 k2:l2",
    "v1 l1 k1:v1,l1 v2:l1 l2:v1 k2:v2,l2",
    "k1:v1,l1 l1:l2 v1:v2 l2:l3 v2 l3 k2:v2",
    "k1:v1 v1:v2 v2:v3 v3",
    "v1 v2 v3:v1 k1",
    "v1:v3,v4 v2:v4,v3 v3 v4 k1:v2,v1",
    "k1:v2,v1,v2,l1 l1:v1 l2:l1 v1 v2:l2",
    "l1 l2 l3:l1,l2,l1 k1",
    "v1 l2 l3 v4:l3,v1,l2,l3,v1 k1",
    "v1 l1 k1:v1 e1:l1 l2:l1 k2:l2 e2",
]
"""Visible (v) and local (l) functions, visible (k) and local (e) kernels, with what they call."""


@pytest.mark.in_turn(4)
@pytest.mark.parametrize("calls", rotating(CALLS, 2, "section order"))
@pytest.mark.parametrize(
    "options",
    [
        {"compile_only": True},
        {"debug": True},
        {"compile_only": True, "debug": True},
        {"compile_only": True, "opt_level": 0},
    ],
)
def test_order_of_sections(calls: str, options: dict[str, Any], tmp_path: Path) -> None:
    parts = [part.partition(":") for part in calls.split()]
    text = HEAD.format(version="9.0", arch="sm_90")
    text += "".join(f"{'.visible' * (n[0] == 'v')} .func {n}();\n" for n, _, _ in parts if n[0] in "vl")
    for name, _, called in parts:
        body = "".join(f"call.uni {c}; " for c in called.split(",") if c)
        if name[0] in "ke":
            text += f"{'.visible' * (name[0] == 'k')} .entry {name}() {{ {body} ret; }}\n"
        else:
            text += FUNCTION.format(".visible" * (name[0] == "v"), name, body)
    (tmp_path / "k.ptx").write_text(text)
    given = [{"compile_only": "-c", "debug": "-g", "opt_level": "-O0"}[name] for name in options]
    command = [tool("ptxas"), "-arch=sm_90", *given, str(tmp_path / "k.ptx"), "-o", str(tmp_path / "k.cubin")]
    subprocess.run(command, check=True, capture_output=True)
    cubins = orias.compile(text, arch="sm_90", **options).data, (tmp_path / "k.cubin").read_bytes()
    ours, theirs = ([s.name for s in ElfFile(c).sections if s.name.startswith(".text.")] for c in cubins)
    assert ours == theirs


def test_order_by_first_calls() -> None:
    """As in ptxas 13.0.88's object: a function that is called again counts where it is called first."""
    text = HEAD.format(version="9.0", arch="sm_90")
    text += (
        FUNCTION.format("", "a", "")
        + FUNCTION.format("", "b", "")
        + FUNCTION.format("", "c", "call a; call b; call a;")
    )
    sections = ElfFile(orias.compile(text, arch="sm_90", compile_only=True).data).sections
    assert [s.name for s in sections if s.name.startswith(".text.")] == [".text.b", ".text.a", ".text.c"]


CONSTANT, GLOBAL = ".const .u32 c[3] = {7, 8, 9};\n", ".global .u32 g[3] = {7, 8, 9};\n"
ORDERS: Final = (
    CONSTANT + GLOBAL,
    GLOBAL + CONSTANT,
    f"{CONSTANT}.visible {GLOBAL}",
    f".global .u32 h[3];\n.visible {CONSTANT}.visible {GLOBAL}",
)
CALL = """{ .param .b64 a; .param .b64 b; .param .b32 r; st.param.b64 [a], %d; st.param.b64 [b], %d;
  call.uni (r), vprintf, (a, b); ld.param.b32 %r, [r]; }
"""
ORDERED = """.file 1 "k.cu"
.extern .func (.param .b32 r) vprintf(.param .b64 a, .param .b64 b);
.visible .entry k(.param .u64 p) {
.reg .b32 %r; .reg .b64 %d;
.loc 1 3 0
ld.param.u64 %d, [p];
ld.global.u32 %r, [g];
bar.sync 0;
@CALL@st.global.u32 [%d], %r;
ret;
}
"""


@pytest.mark.in_turn(4)
@pytest.mark.parametrize("mode", ["exe", "c"])
@pytest.mark.parametrize("call", ["", CALL], ids=["", "call"])
@pytest.mark.parametrize("arch", rotating(ARCHES, 1, "orders"))
@pytest.mark.parametrize("variables", ORDERS, ids=range(len(ORDERS)))
def test_order_of_banks_relocations_and_records(
    variables: str, arch: str, call: str, mode: str, tmp_path: Path
) -> None:
    """Constant banks by their first variables, lines before data, barriers before what a kernel calls."""
    text = HEAD.format(version="9.0", arch=arch) + variables + ORDERED.replace("@CALL@", call)
    theirs = judged(text, arch, mode, tmp_path)
    assert isinstance(theirs, bytes)
    ours = orias.compile(text, arch=arch, compile_only=mode == "c").data
    for word in ("section", "record"):
        a, b = ([n for n in features(x) if n.startswith(word) and " order " in n] for x in (ours, theirs))
        assert a == b
