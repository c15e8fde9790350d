"""Real ptxas cubins, read into the model and written back, byte for byte or section by section."""

import subprocess
from pathlib import Path

import pytest

from orias.cubin import elf
from orias.cubin.capsule.capsule_parser import MERCURY_PREFIXES
from orias.cubin.elf import ElfFile
from orias.cubin.reader import Reader
from orias.cubin.writer import write
from orias.target import features
from orias.target.profile import target as profile
from tests.cubin.ptx_cases import CASES, HEAD, NEW_HEAD
from tests.nvtools import LIMIT_S, tool

TARGETS = ["sm_75", "sm_80", "sm_87", "sm_89", "sm_90a", "sm_100a", "sm_110a", "sm_120a"]
MORE_TARGETS = ["sm_86", "sm_88", "sm_90", "sm_100", "sm_103a", "sm_121a"]
NAME_TABLES = {".shstrtab", ".strtab", ".symtab"}


def has_capsules(target: str) -> bool:
    """Whether ptxas writes capsules for a target."""
    return profile(target).number("cubin_kind") == 2


def compile_ptx(tmp_path: Path, ptx: str, target: str, *options: str) -> bytes:
    source, out = tmp_path / "in.ptx", tmp_path / "out.cubin"
    head = NEW_HEAD if has_capsules(target) else HEAD
    source.write_text(head.format(target=target) + ptx)
    command = [tool("ptxas"), f"-arch={target}", *options, str(source), "-o", str(out)]
    subprocess.run(command, check=True, timeout=LIMIT_S, capture_output=True)
    return out.read_bytes()


def differences(want: bytes, got: bytes) -> list[str]:
    """Names of sections that differ in header or content, without those of capsules (the last ones)."""
    a, b = ElfFile(want), ElfFile(got)
    left = [s for s in a.sections if not s.name.startswith(MERCURY_PREFIXES)]
    if [s.name for s in left] != [s.name for s in b.sections]:
        return ["section list"]
    out = []
    for s, t in zip(left, b.sections, strict=True):
        if s.name == ".shstrtab" and len(left) < len(a.sections) and s.data.startswith(t.data):
            continue
        fields = ("type", "flags", "size", "link", "info", "align", "entsize", "data")
        if any(getattr(s, f) != getattr(t, f) for f in fields):
            out.append(s.name)
    return out


@pytest.mark.in_turn(4)
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("case", sorted(CASES))
def test_executable_module(tmp_path: Path, case: str, target: str) -> None:
    data = compile_ptx(tmp_path, CASES[case], target)
    got = write(Reader(data).module)
    assert differences(data, got) == []
    if has_capsules(target):
        assert ElfFile(got).flags == ElfFile(data).flags ^ 2 ^ elf.KIND_SASS
    else:
        assert got == data


# Relocatable objects may differ in the order of names in the string table (brx), in a record that ptxas writes twice
# (texture), and in offsets of frame entries that ptxas gets wrong on sm_90.
@pytest.mark.in_turn(4)
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("case", sorted(CASES))
def test_relocatable_object(tmp_path: Path, case: str, target: str) -> None:
    data = compile_ptx(tmp_path, CASES[case], target, "-c")
    got = write(Reader(data).module)
    loose = set()
    if case == "texture":
        loose = {".nv.info.k"}
    elif case == "brx":
        loose = {".strtab", ".symtab"}
    if profile(target).has(features.ADDENDS_IN_RELOCATIONS):
        loose.add(".rela.debug_frame")
    assert set(differences(data, got)) <= loose
    linked = tmp_path / "linked.cubin"
    (tmp_path / "ours.o").write_bytes(got)
    command = [tool("nvlink"), f"-arch={target}", str(tmp_path / "ours.o"), "-o", str(linked)]
    subprocess.run(command, check=True, timeout=LIMIT_S, capture_output=True)
    assert Reader(linked.read_bytes()).kernels.keys() == Reader(data).kernels.keys()


@pytest.mark.sweep
@pytest.mark.parametrize("target", MORE_TARGETS)
@pytest.mark.parametrize("case", sorted(CASES))
def test_other_targets(tmp_path: Path, case: str, target: str) -> None:
    test_executable_module(tmp_path, case, target)
    test_relocatable_object(tmp_path, case, target)
