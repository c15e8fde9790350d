"""ccache and sccache with an nvcc whose ptxas is Orias: the second compile is a hit, and one of other code is not."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

import orias
from orias.cli.toolkit_command import make_toolkit
from tests.nvtools import LIMIT_S, find

SOURCE = "__global__ void k(int *a) { a[threadIdx.x] += 3; }\n"
CHECK = "export CCACHE_COMPILERCHECK='%compiler% --version; DIR/bin/ptxas --version'"
KEY = '-DORIAS_CODE="$(DIR/bin/ptxas --version | cksum | cut -d" " -f1)"'
COMMANDS = {
    "ccache": [CHECK, "ccache DIR/bin/nvcc -arch=sm_80 -c k.cu"],
    "sccache": [f"sccache DIR/bin/nvcc {KEY} -arch=sm_80 -c k.cu"],
}
"""What docs/recipes.md says to run: with another Orias, a cache has to compile again."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A toolkit of links, and a source file beside it; skips the test where there is no nvcc."""
    nvcc = find("nvcc")
    if nvcc is None:
        pytest.skip("nvcc is not installed (pip install '.[test]')")
    make_toolkit(tmp_path / "toolkit", Path(nvcc).parents[1])
    (tmp_path / "k.cu").write_text(SOURCE)
    return tmp_path


def caches(folder: Path) -> dict[str, str]:
    """An environment with caches of its own."""
    return {
        **os.environ,
        "CCACHE_DIR": str(folder / "ccache"),
        "SCCACHE_DIR": str(folder / "sccache"),
        "SCCACHE_SERVER_PORT": str(20000 + os.getpid() % 20000),
        "SCCACHE_IDLE_TIMEOUT": "30",
        "PYTHONPATH": str(Path(orias.__file__).parents[1]),
    }


def compile_with(cache: str, folder: Path) -> int:
    """Compile the source through a cache as the recipe says; the hits since the cache is there."""
    command = "\n".join(COMMANDS[cache]).replace("DIR", str(folder / "toolkit"))
    environment = caches(folder)

    (folder / "k.o").unlink(missing_ok=True)
    subprocess.run(["bash", "-c", command], env=environment, cwd=folder, timeout=200, check=True, capture_output=True)
    assert b"\x7fELF" in (folder / "k.o").read_bytes()
    said = subprocess.run(
        [cache, "-s"], env=environment, capture_output=True, text=True, timeout=LIMIT_S, check=True
    ).stdout
    hits = re.search(r"(?m)^(?:  |Cache )[Hh]its:? +(\d+)", said)
    assert hits, said
    return int(hits[1])


@pytest.mark.sweep
@pytest.mark.parametrize("cache", ["ccache", "sccache"])
def test_a_cache_with_nvcc(folder: Path, cache: str) -> None:
    if shutil.which(cache) is None:
        pytest.skip(f"{cache} is not installed (apt-get install {cache})")
    assert [compile_with(cache, folder) for _ in range(2)] == [0, 1]
    script = folder / "toolkit" / "bin" / "ptxas"
    script.rename(folder / "ptxas")
    script.write_text(f'#!/bin/sh\ncase "$*" in --version) echo other code;; *) exec {folder}/ptxas "$@";; esac\n')
    script.chmod(0o755)
    assert compile_with(cache, folder) == 1, "a hit, though --version says other code"
    if cache == "sccache":
        subprocess.run([cache, "--stop-server"], env=caches(folder), capture_output=True, timeout=LIMIT_S, check=True)
    page = (Path(__file__).parents[2] / "docs" / "recipes.md").read_text().splitlines()
    assert set(COMMANDS[cache]) <= set(page)
