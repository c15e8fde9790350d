"""Extensible whole programs (-ewp) beside ptxas's: sections and records, links with objects, and what cannot be."""

import subprocess
from pathlib import Path
from typing import Final

import pytest

import orias
from orias.cubin.elf import ET_EXTENSIBLE, ElfFile
from orias.cubin.reader import Reader
from tests.cubin.link_cases import CASES
from tests.cubin.linking import compiled, link
from tests.cubin.test_cubin_records import PROGRAMS
from tests.cubin.test_mixed_links import HEAD, outcome
from tests.nvtools import LIMIT_S, tool
from tests.rotation import rotating
from tools.compare_records import HEAD as RECORDS_HEAD
from tools.compare_records import MODES, allowed, features, judged

BY_SYMBOL: Final = ("symbol", "structure", "recursion", "variables", "alias", "division", "frames")
"""Cases whose kernel calls nothing through pointers, and whose objects need no function of the kernel's file."""
LEFT: Final = frozenset(
    [
        "alloca",
        "assertfail",
        "atom_bf16",
        "atom_cas16",
        "atom_f16",
        "atom_generic",
        "atom_gpu",
        "atom_shared",
        "atom_sys",
        "ballot1",
        "brx",
        "bulk",
        "div_f32",
        "div_f64",
        "div_s64",
        "exits",
        "extglob2",
        "match",
        "mbarrier80",
        "recursive",
        "redux",
        "shfl",
        "shfl_mask",
        "shinf2",
        "tcgen05_1cta",
        "tcgen05_2cta",
        "tcgen05_mma",
        "tma",
        "trap1",
        "trap2",
        "trap3",
        "vote",
        "vote_mask",
        "warpsyncr",
    ]
)
"""Programs that differ: unknown stack sizes, and what executables or objects differ in."""
EVERY: Final = [
    (name, arch)
    for name, program in PROGRAMS.items()
    for arch in ("sm_80", "sm_90", "sm_100a")
    if allowed(program["targets"], arch) and name not in LEFT and not program.get("options")
]
FUNCTION = ".func (.param .b32 r) f(.param .b32 a) { st.param.b32 [r], 1; ret; }\n"


@pytest.mark.parametrize(("name", "arch"), rotating(EVERY, 6, "extensible records"))
def test_sections_symbols_and_records_are_those_of_ptxas(name: str, arch: str, tmp_path: Path) -> None:
    text = RECORDS_HEAD.format(version="9.0", arch=arch) + PROGRAMS[name]["ptx"]
    theirs = judged(text, arch, "ewp", tmp_path)
    if isinstance(theirs, str):
        with pytest.raises(orias.CompileError):
            orias.compile(text, arch=arch, extensible=True)
        return
    ours = orias.compile(text, arch=arch, extensible=True).data
    assert [line for line in sorted(features(ours) ^ features(theirs)) if " order " not in line] == []


@pytest.mark.parametrize(
    ("name", "arch"), rotating([(n, a) for n in BY_SYMBOL for a in ("sm_75", "sm_80", "sm_90")], 2, "extensible links")
)
def test_a_linked_program_computes_what_its_objects_compute(name: str, arch: str, tmp_path: Path) -> None:
    kernel, other = (HEAD.format(arch) + text for text in CASES[name])
    theirs = [compiled(text, arch, False, tmp_path / f"{n}.o") for n, text in enumerate((kernel, other))]
    want = outcome(link(theirs, arch, tmp_path))
    assert any(want)
    # nvlink takes the kind of a file from its name too.
    ours = tmp_path / "ours.cubin"
    ours.write_bytes(orias.compile(kernel, arch=arch, extensible=True).data)
    assert ElfFile(ours.read_bytes()).type == ET_EXTENSIBLE
    for second in (theirs[1], compiled(other, arch, True, tmp_path / "ours.o")):
        assert outcome(link([ours, second], arch, tmp_path)) == want


def test_with_compile_only_it_has_no_effect() -> None:
    text = HEAD.format("sm_90") + CASES["symbol"][0]
    alone = orias.compile(text, arch="sm_90", compile_only=True).data
    assert orias.compile(text, arch="sm_90", compile_only=True, extensible=True).data == alone


@pytest.mark.parametrize("where", ["code", "data"])
def test_the_address_of_a_function_elsewhere_is_refused_as_by_ptxas(where: str, tmp_path: Path) -> None:
    table = ".visible .global .u64 t[1] = {f};\n" if where == "data" else ""
    move = "mov.u64 %rd2, f; st.global.u64 [%rd1], %rd2; " if where == "code" else ""
    text = (
        HEAD.format("sm_80") + ".extern .func (.param .b32 r) f(.param .b32 a);\n" + table
        + f".visible .entry k(.param .u64 p) {{ .reg .b64 %rd<3>; ld.param.u64 %rd1, [p]; {move}ret; }}\n"
    )  # fmt: skip
    source = tmp_path / "k.ptx"
    source.write_text(text)
    command = [tool("ptxas"), "-arch=sm_80", "-ewp", str(source), "-o", str(tmp_path / "k.cubin")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S, check=False)
    with pytest.raises(orias.CompileError) as e:
        orias.compile(text, arch="sm_80", extensible=True)
    assert [d.message for d in e.value.diagnostics] == [done.stderr.splitlines()[0].partition(": ")[2]]


@pytest.mark.parametrize("arch", ["sm_80", "sm_90"])
@pytest.mark.parametrize("options", ["-ewp -g", "-ewp --cloning=no"])
def test_functions_with_sections_of_their_own(options: str, arch: str, tmp_path: Path) -> None:
    text = (
        RECORDS_HEAD.format(version="9.0", arch=arch)
        + ".visible .global .u32 w;\n"
        + FUNCTION
        + ".visible .entry k(.param .u64 p) { .reg .b64 %d; .reg .b32 %r<3>; ld.param.u64 %d, [p]; ld.global.u32 %r1, [w];\n"
        + "{ .param .b32 a; st.param.b32 [a], %r1; .param .b32 r; call.uni (r), f, (a); ld.param.b32 %r2, [r]; }\n"
        + "st.global.u32 [%d], %r2; ret; }\n"
    )
    MODES["apart"] = options.split()
    theirs = judged(text, arch, "apart", tmp_path)
    assert isinstance(theirs, bytes)
    ours = orias.compile(
        text, arch=arch, extensible=True, debug="-g" in options, cloning="--cloning=no" not in options
    ).data
    assert [line for line in sorted(features(ours) ^ features(theirs)) if " order " not in line] == []


def test_the_reader_gives_shared_memory_without_the_reserved_part() -> None:
    text = HEAD.format("sm_90") + CASES["symbol"][0].replace("{", "{ .shared .align 4 .b8 s[96];\n .reg .b32 %s<2>; ld.shared.u32 %s1, [s]; st.shared.u32 [s+4], %s1;\n", 1)  # fmt: skip
    kernel = Reader(orias.compile(text, arch="sm_90", extensible=True).data).kernels["k"]
    assert kernel.shared_size == 96
