"""Sections, symbols, relocations and records of our cubins beside those of ptxas, for small programs that use all of them.

``python tools/compare_records.py tests/cubin/data/record_programs.json`` prints every difference; ``docs/cubin.md`` has the reasons of
those that are left.
"""

import json
import subprocess
from pathlib import Path
from typing import Final

import pytest

import orias
from orias.cubin.elf import ElfFile
from tests.nvtools import tool
from tests.rotation import rotating
from tools.compare_records import HEAD, allowed, features, judged

PROGRAMS: Final = json.loads((Path(__file__).parent / "data" / "record_programs.json").read_text())
ARCHES: Final = ("sm_80", "sm_90", "sm_100a")
DIFFERENT: Final = frozenset(
    [
        "assertfail",
        "atom_bf16",
        "atom_cas16",
        "atom_f16",
        "atom_generic",
        "atom_gpu",
        "atom_shared",
        "atom_sys",
        "brx",
        "bulk",
        "div_f32",
        "div_f64",
        "div_s64",
        "exits",
        "extglob2",
        "mbarrier80",
        "mbarrier90",
        "shinf2",
        "tcgen05_1cta",
        "tcgen05_2cta",
        "tcgen05_mma",
        "texsurf",
        "tma",
        "trap1",
        "trap2",
        "trap3",
    ]
)
"""Programs of which executables differ somewhere."""
OBJECTS_DIFFERENT: Final = frozenset(
    [
        "atom_shared_f32",
        "ballot1",
        "const",
        "const_ptr",
        "const_uninit",
        "cpasync",
        "ldmatrix",
        "match",
        "recursive",
        "redux",
        "reserved_smem",
        "shared_both",
        "shared_dyn",
        "shared_infunc",
        "shared_static",
        "shfl",
        "shfl_mask",
        "suq_ref",
        "surfref_unified",
        "tex_param",
        "texpar1",
        "texpar12",
        "texpar2",
        "texpar20",
        "texpar4",
        "texref_unified",
        "two_kernels",
        "vote",
        "vote_mask",
        "warpsync",
        "warpsyncr",
    ]
)
"""Programs of which only objects do."""
DEBUG_DIFFERENT: Final = frozenset(
    [
        "alias",
        "aliasonly",
        "aliasx",
        "alloca",
        "ballot1",
        "brxf",
        "cluster",
        "dblconst_many",
        "match",
        "mma_sp1",
        "optconst",
        "recursive",
        "redux",
        "setmaxnreg",
        "shared_both",
        "shared_dyn",
        "shfl",
        "shfl_mask",
        "st_async",
        "suq_ref",
        "surfref_unified",
        "vote",
        "vote_mask",
        "warpsync",
        "warpsyncr",
    ]
)
"""Programs that differ with -g, but not as executables without."""
EVERY: Final = [
    (name, arch, mode)
    for name, program in PROGRAMS.items()
    for arch in ARCHES
    for mode, different in (
        ("exe", DIFFERENT),
        ("c", DIFFERENT | OBJECTS_DIFFERENT),
        ("g", DIFFERENT | DEBUG_DIFFERENT),
    )
    if allowed(program["targets"], arch) and name not in different and not program.get("options")
]


def differences(name: str, arch: str, mode: str, folder: Path) -> list[str]:
    text = HEAD.format(version="9.0", arch=arch) + PROGRAMS[name]["ptx"]
    theirs = judged(text, arch, mode, folder)
    if isinstance(theirs, str):
        with pytest.raises(orias.CompileError):
            orias.compile(text, arch=arch, compile_only=mode == "c", debug=mode == "g")
        return []
    try:
        ours = orias.compile(text, arch=arch, compile_only=mode == "c", debug=mode == "g").data
    except orias.CompileError as e:
        return [f"{name} {arch}: {e}"] * (not name.startswith("unified"))
    found = sorted(features(ours) ^ features(theirs))
    return [f"{name} {arch} {mode}: {line}" for line in found]


def test_a_few(tmp_path: Path) -> None:
    assert [d for case in rotating(EVERY, 8, "records") for d in differences(*case, tmp_path)] == []


@pytest.mark.sweep
def test_many(tmp_path: Path) -> None:
    assert [d for case in rotating(EVERY, 70, "many records") for d in differences(*case, tmp_path)] == []


def test_lists_name_programs() -> None:
    assert PROGRAMS.keys() >= DIFFERENT | OBJECTS_DIFFERENT | DEBUG_DIFFERENT


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
]
"""Visible (v) and local (l) functions and kernels (k), with what they call."""


@pytest.mark.parametrize("calls", rotating(CALLS, 2, "section order"))
@pytest.mark.parametrize("options", [{"compile_only": True}, {"debug": True}, {"compile_only": True, "debug": True}])
def test_order_of_sections(calls: str, options: dict[str, bool], tmp_path: Path) -> None:
    parts = [part.partition(":") for part in calls.split()]
    text = HEAD.format(version="9.0", arch="sm_90")
    text += "".join(f"{'.visible' * (n[0] == 'v')} .func {n}();\n" for n, _, _ in parts if n[0] != "k")
    for name, _, called in parts:
        body = "".join(f"call.uni {c}; " for c in called.split(",") if c)
        if name[0] == "k":
            text += f".visible .entry {name}() {{ {body} ret; }}\n"
        else:
            text += FUNCTION.format(".visible" * (name[0] == "v"), name, body)
    (tmp_path / "k.ptx").write_text(text)
    given = [{"compile_only": "-c", "debug": "-g"}[name] for name in options]
    command = [tool("ptxas"), "-arch=sm_90", *given, str(tmp_path / "k.ptx"), "-o", str(tmp_path / "k.cubin")]
    subprocess.run(command, check=True, capture_output=True)
    cubins = orias.compile(text, arch="sm_90", **options).data, (tmp_path / "k.cubin").read_bytes()
    ours, theirs = ([s.name for s in ElfFile(c).sections if s.name.startswith(".text.")] for c in cubins)
    assert ours == theirs
