"""The Python of the pages runs: every block, in a folder with files of the names that pages use, with the names that they take as given."""

import re
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

import orias
from tests.docs.words import ROOT, pages

pytest.importorskip("numpy", reason="numpy is not installed (pip install 'orias[sim]')")
pytest.importorskip("jinja2", reason="Jinja2 is not installed (pip install 'orias[explore]')")
pytestmark = pytest.mark.sweep

_BLOCK: Final = re.compile(r"^```python([^\n]*)\n(.*?)^```", re.MULTILINE | re.DOTALL)
ELSEWHERE: Final = {
    "import orias.clients": "needs the client (tests/clients/test_in_process.py)",
    "import numpy as np\nimport pytest\n\nfrom my_kernels": "a test of the reader's (tests/driver/test_pytest_plugin.py)",
    "@lowers(": "shows the form of a rule; tests/lower run the rules",
    "from tests.forms.generate": "needs minutes (tests/forms)",
}
"""Beginning of a block -> why it is not run here, and what is about it."""
RECIPES: Final = "clients.md"
"""The page whose blocks are recipes: tools/write_clients_page.py runs them."""
_SAXPY: Final = "text = ptx_text = open('examples/saxpy.ptx').read()\nimport orias\n"
_ARRAYS: Final = (
    "import numpy as np\nx, y, a, n = np.ones(1024, 'f4'), np.zeros(1024, 'f4'), np.float32(2), np.uint32(1024)\n"
)
GIVEN: Final = {
    "api.md": _SAXPY,
    "explorer.md": _SAXPY + _ARRAYS,
    "performance.md": _SAXPY + _ARRAYS + "data = orias.compile(text, arch='sm_80').data\nn = np.uint32(1024)\n",
    "simulator.md": _ARRAYS + "array, out = np.zeros((4, 4), 'f4'), np.zeros((4, 4), 'f4')\n",
}
"""What the blocks of a page take as given."""
REPLACED: Final = {
    'image.globals["counter"]': 'sim.load("counter.cubin").globals["counter"]',
    'image.launch("k", 1, 64, [t, s])': 'sim.load("textures.cubin").launch("k", 1, 64, [t, s])',
    'image.bind("tex", t)': 'sim.load("reference.cubin").bind("tex", t)',
    "seconds=60": "seconds=3",
    "grid=(16,), block=(256,)": "grid=(4,), block=(256,)",
}
"""What stands for a program of the reader, and a search that would take a minute."""
_HEAD: Final = ".version 8.0\n.target sm_80\n.address_size 64\n"
_COUNTER: Final = _HEAD + ".visible .global .u32 counter;\n.visible .entry k() { ret; }\n"
_TEXTURES: Final = _HEAD + ".visible .entry k(.param .u64 t, .param .u64 s) { ret; }\n"
_REFERENCE: Final = (
    _HEAD
    + """.global .texref tex;
.visible .entry k(.param .u64 out) {
  .reg .f32 %f<5>; .reg .b64 %d; .reg .f32 %x;
  ld.param.u64 %d, [out];
  mov.f32 %x, 0f00000000;
  tex.1d.v4.f32.f32 {%f1, %f2, %f3, %f4}, [tex, {%x}];
  st.global.f32 [%d], %f1;
  ret;
}
"""
)


def blocks(page: Path) -> list[str]:
    """The blocks of Python of a page that are no files of a console session."""
    return [text for title, text in _BLOCK.findall(page.read_text(encoding="utf-8")) if "title=" not in title]


def run_here(block: str) -> bool:
    return not any(block.startswith(start) for start in ELSEWHERE)


PAGES: Final = [p for p in pages() if p.name != RECIPES and any(map(run_here, blocks(p)))]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    here = tmp_path_factory.mktemp("python")
    (here / "examples").symlink_to(ROOT / "examples")
    text = (ROOT / "examples/saxpy.ptx").read_text()
    (here / "kernel.ptx").write_text(text)
    (here / "saxpy.cubin").write_bytes(orias.compile(text, arch="sm_80").data)
    for name, source in (("counter", _COUNTER), ("textures", _TEXTURES), ("reference", _REFERENCE)):
        (here / f"{name}.cubin").write_bytes(orias.compile(source, arch="sm_80").data)
    (here / "k.cubin").write_bytes((here / "counter.cubin").read_bytes())
    return here


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.stem)
def test_blocks_run(page: Path, folder: Path) -> None:
    text = GIVEN.get(page.name, "") + "\n".join(filter(run_here, blocks(page)))
    for part, other in REPLACED.items():
        text = text.replace(part, other)
    program = folder / f"{page.stem}_page.py"
    program.write_text(text, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, program],
        cwd=folder,
        env={"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_example(folder: Path) -> None:
    """The program with which the README begins."""
    done = subprocess.run(
        [sys.executable, "examples/saxpy.py"],
        cwd=ROOT,
        env={"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0 and done.stdout, done.stderr


def test_blocks_are_found() -> None:
    """Every entry of the table is needed, and pages with Python are looked at."""
    every = [b for p in pages() if p.name != RECIPES for b in blocks(p)]
    assert all(any(b.startswith(start) for b in every) for start in ELSEWHERE)
    assert all(any(part in b for b in every) for part in REPLACED)
    assert {"README", "api", "batch", "cubin", "debugging", "explorer", "performance", "simulator", "tuning"} <= {
        p.stem for p in PAGES
    }
