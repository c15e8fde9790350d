"""Every file of a corpus of real PTX: it compiles, and NVIDIA's tools accept the cubin.

The corpus is the folder ``ptx`` in the one that the environment variable ORIAS_CORPUS names, or in ``../shared/corpus`` next to the checkout;
without one these tests are skipped.
"""

import os
import re
import subprocess
from pathlib import Path

import pytest

import orias
from orias.target.profile import TARGETS
from tests.nvtools import LIMIT_S, tool
from tests.ptx.corpus import targets

ROOT = Path(os.environ.get("ORIAS_CORPUS") or Path(__file__).resolve().parents[3] / "shared" / "corpus") / "ptx"
ARCHES = tuple(TARGETS)


def files() -> list[Path]:
    return sorted(ROOT.rglob("*.ptx")) if ROOT.is_dir() else []


def arch_of(text: str) -> str | None:
    """The lowest target of ours that the file may be compiled for."""
    return next(iter(targets(text, ARCHES)), None)


def needs_objects(text: str) -> bool:
    """True if the file is a library object: it has no kernel, or calls functions that are elsewhere."""
    externs = set(re.findall(r"^\s*\.extern\s+\.func[^;]*?([\w$]+)\s*(?:\(|;|$)", text, re.MULTILINE))
    return ".entry" not in text or bool(externs - {"vprintf", "malloc", "free", "__assertfail"})


def accepted(work: Path, cubin: bytes, arch: str, disassemble: bool = True) -> None:
    """NVIDIA's tools take a cubin (nvdisasm, by far the slowest of them, only if asked to)."""
    path = work / "a.cubin"
    path.write_bytes(cubin)
    for command in (["nvdisasm", "-c", str(path)], ["cuobjdump", "-elf", str(path)]):
        if command[0] == "nvdisasm" and not disassemble:
            continue
        r = subprocess.run(
            [tool(command[0]), *command[1:]], capture_output=True, text=True, timeout=LIMIT_S, errors="replace"
        )
        assert r.returncode == 0, f"{command[0]}: {r.stderr[:500]}"
    r = subprocess.run(
        [tool("nvlink"), f"-arch={arch}", str(path), "-o", str(work / "linked")],
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
    )
    assert r.returncode == 0 or "Undefined reference" in r.stderr, f"nvlink: {r.stderr[:500]}"


def check(path: Path, arch: str, work: Path) -> None:
    text = path.read_text(errors="replace")
    debug = bool(re.search(r"^\s*\.target\b.*\bdebug\b", text, re.MULTILINE))
    cubin = orias.compile(text, arch=arch, compile_only=needs_objects(text), debug=debug, opt_level=0 if debug else 3)
    accepted(work, cubin.data, arch)


FILES = files()
NO_CORPUS = f"no corpus at {ROOT} (set ORIAS_CORPUS)"


def identifier(path: Path) -> str:
    return str(path.relative_to(ROOT))


@pytest.mark.in_turn(2)
@pytest.mark.skipif(not FILES, reason=NO_CORPUS)
@pytest.mark.parametrize("path", FILES[:: max(1, len(FILES) // 20)], ids=identifier)
def test_sample(path: Path, tmp_path: Path) -> None:
    arch = arch_of(path.read_text(errors="replace"))
    if arch is None:
        pytest.skip("for a target that is not supported yet")
    check(path, arch, tmp_path)


@pytest.mark.sweep
@pytest.mark.skipif(not FILES, reason=NO_CORPUS)
@pytest.mark.parametrize("path", FILES, ids=identifier)
def test_every_file(path: Path, tmp_path: Path) -> None:
    """For its own target, and every fourth file also for sm_90, if its target is no later one."""
    arch = arch_of(path.read_text(errors="replace"))
    if arch is None:
        pytest.skip("for a target that is not supported yet")
    check(path, arch, tmp_path)
    if int("".join(filter(str.isdigit, arch))) < 90 and FILES.index(path) % 4 == 0:
        check(path, "sm_90", tmp_path)
