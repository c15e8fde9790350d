"""Sections, symbols, relocations and records of our cubins beside those of ptxas, for small programs that use all of them.

``python tools/compare_records.py tests/cubin/data/record_programs.json`` prints every difference; ``docs/cubin.md`` has the reasons of
those that are left.
"""

import json
from pathlib import Path
from typing import Final

import pytest

import orias
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
        "cluster",
        "div_f32",
        "div_f64",
        "div_s64",
        "exits",
        "extglob2",
        "mbarrier80",
        "mbarrier90",
        "red_sys",
        "reserved_smem",
        "shinf2",
        "tcgen05_1cta",
        "tcgen05_2cta",
        "tcgen05_mma",
        "texsurf",
        "tma",
        "trap1",
        "trap2",
        "trap3",
        "warpsync",
        "warpsyncr",
    ]
)
"""Programs of which executables differ somewhere."""
OBJECTS_DIFFERENT: Final = frozenset(
    [
        "alias",
        "aliasx",
        "atom_shared_f32",
        "ballot1",
        "call_visible",
        "call_weak",
        "const",
        "const_ptr",
        "const_uninit",
        "cpasync",
        "functable",
        "ldmatrix",
        "match",
        "recursive",
        "redux",
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
    ]
)
"""Programs of which only objects do."""
EVERY: Final = [
    (name, arch, relocatable)
    for name, program in PROGRAMS.items()
    for arch in ARCHES
    for relocatable in (False, True)
    if allowed(program["targets"], arch) and name not in DIFFERENT and not (relocatable and name in OBJECTS_DIFFERENT)
]


def differences(name: str, arch: str, relocatable: bool, folder: Path) -> list[str]:
    text = HEAD.format(version="9.0", arch=arch) + PROGRAMS[name]["ptx"]
    theirs = judged(text, arch, "c" if relocatable else "exe", folder)
    if isinstance(theirs, str):
        with pytest.raises(orias.CompileError):
            orias.compile(text, arch=arch, compile_only=relocatable)
        return []
    try:
        ours = orias.compile(text, arch=arch, compile_only=relocatable).data
    except orias.CompileError as e:
        return [f"{name} {arch}: {e}"] * (not name.startswith("unified"))
    found = sorted(features(ours) ^ features(theirs))
    return [f"{name} {arch} {relocatable}: {line}" for line in found if " order " not in line]


def test_a_few(tmp_path: Path) -> None:
    assert [d for case in rotating(EVERY, 8, "records") for d in differences(*case, tmp_path)] == []


@pytest.mark.sweep
def test_many(tmp_path: Path) -> None:
    assert [d for case in rotating(EVERY, 70, "many records") for d in differences(*case, tmp_path)] == []


def test_lists_name_programs() -> None:
    assert PROGRAMS.keys() >= DIFFERENT | OBJECTS_DIFFERENT
