"""The command lines in the pages run, in a folder with files of the names that pages use.

Every ``orias`` line of a block of shell commands is run here or named in NOT_RUN; sessions with outputs (``console``) have tests of their
own, those in SESSIONS; every other command is named in OTHERS with what runs it.
"""

import io
import json
import re
import shlex
import shutil
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import pytest

import orias
from orias.cli.main import run
from tests.docs.words import ROOT
from tests.docs.words import pages as all_pages
from tools.site.console import pages as session_pages

pytest.importorskip("numpy", reason="numpy is not installed (pip install 'orias[sim]')")
pytest.importorskip("jinja2", reason="Jinja2 is not installed (pip install 'orias[explore]')")
pytestmark = pytest.mark.sweep

PAGES = [p for p in all_pages() if p.name != "CHANGELOG.md"]
SESSIONS = {*(p.name for p in session_pages()), "audit.md", "debugging.md"}
"""Pages whose console sessions run as they stand: tests/docs/test_site.py, tests/validate/test_audit_page.py, tests/docs/test_debugging_page.py."""
_BLOCK = re.compile(r"^```(\w*)[^\n]*\n(.*?)^```", re.MULTILINE | re.DOTALL)
LAUNCH = "--grid 4 --block 256 --arg buf:f32:1024=iota --arg buf:f32:1024 --arg f32:2 --arg u32:1024"
NOT_RUN = {
    "orias serve": "stays (tests/server)",
    "orias exec": "needs another program (tests/driver, tests/clients)",
    "--cuda": "needs a CUDA toolkit (tests/cli)",
    "DIR/bin": "the line before makes it",
}
"""Part of a command -> why it is not run here, and which tests are about it."""
REPLACED = {
    "--grid ...": LAUNCH, "k.cubin ... --html": f"k.cubin {LAUNCH} --html", "k.cubin ... --json": f"k.cubin {LAUNCH} --json", "FILE.cubin ...": "FILE.cubin",
    "--seconds 600 --ptxas /usr/local/cuda/bin/ptxas --out found": "--seconds 5", "mytest {}": "grep -q fma {}",
    "k.knobs ...": "k.knobs --seconds 5", "--seconds 600": "--seconds 5", "--seconds 240": "--seconds 5", "orias tune kernel.ptx": "orias tune kernel.ptx --seconds 5",
    "--kernel k --grid 2 --block 128 --arg buf:f32:256": f"--kernel saxpy {LAUNCH}",
}  # fmt: skip
"""What stands for something else in pages, and searches that would take minutes."""
OTHERS = {
    "pip install": "installs a package (.ci/run installs this one in a fresh environment)", "python3 -m venv": "makes an environment (.ci/run)",
    "pytest -q": "tests themselves", "ORIAS_BLESS=1 pytest": "rewrites expectations", "ruff check": "the gate (.ci/run)", "mypy --explicit-package-bases": "the gate (.ci/run)",
    "tools/compare_cubins.py": "the gate (.ci/run) compares two builds with it", "tools.judge.agreement": "takes hours (tests/validate/test_agreement.py)",
    "tools/isa/wheels.py": "downloads packages of gigabytes", "tools/isa/agreement.py": "judges what the line before downloads",
    "tools/compare_records.py": "tests/cubin/test_cubin_records.py", "tools.debug_info": "asks nvcc and ptxas (tests/debuginfo)", "tools.capsules FOLDER": "learns from a folder of cubins of ptxas (tests/cubin)", "export ": "sets variables of a client (tests/clients, tests/server)",
    "pytest --orias": "tests/driver/test_pytest_plugin.py", "bench.gpu": "measures on a GPU",
    "ln -s": "a link to the program (tests/product, tests/cli)", "bin/ptxas": "the program by another name (tests/product, tests/cli)",
}  # fmt: skip
"""Part of a command of another program -> why it is not run here, and what runs it."""
CASE = {
    "kernel": "saxpy", "grid": [4], "block": [256], "params": ["00" * 8, "00" * 8, "00000040", "00040000"],
    "pointers": [{"param": 0, "size": 4096, "profile": "float"}, {"param": 1, "size": 4096, "profile": "float"}],
}  # fmt: skip
"""A case of orias verify for the kernel of the folder."""
STATUS = {"orias bisect": (0, 1), "orias reduce": (0, 1, 255), "orias audit": (0, 1)}
"""Commands whose status says what they found; others end with 0."""


_OTHER = re.compile(
    r"(pip|python3?|pytest|ruff|mypy|export|ln|bin/\S+|git|npm|cmake|make|nvcc|clang|ptxas|mkdocs|cd|sh|bash|[A-Z_]+=\S+) "
)


def lines(page: Path) -> Iterator[str]:
    """The lines of a page's blocks of commands; of sessions without a test of their own the lines after ``$``."""
    for language, block in _BLOCK.findall(page.read_text(encoding="utf-8")):
        text = block.replace("\\\n", " ").splitlines()
        if language in ("", "sh", "bash"):
            yield from text
        elif language == "console" and page.name not in SESSIONS:
            yield from (line[2:] for line in text if line.startswith("$ "))


def commands(page: Path) -> Iterator[str]:
    return (line for line in lines(page) if line.startswith("orias "))


USED = [page for page in PAGES if any(commands(page))]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the files that commands of pages name."""
    here = tmp_path_factory.mktemp("commands")
    for name in ("examples", "tests"):
        (here / name).symlink_to(ROOT / name)
    text = (ROOT / "examples/saxpy.ptx").read_text()
    cubin = orias.compile(text, arch="sm_90")
    (here / "kernels").mkdir()
    for name in ("k.ptx", "kernel.ptx", "FILE.ptx", "more.ptx", "kernels/a.ptx"):
        (here / name).write_text(text)
    for name in (
        "k.cubin",
        "kernel.cubin",
        "FILE.cubin",
        "FILE",
        "ours.cubin",
        "theirs.cubin",
        "saxpy.cubin",
        "libcufft.so.12",
    ):
        (here / name).write_bytes(cubin.data)
    from orias.cubin.elf import ElfFile

    code = ElfFile(cubin.data).section(".text.saxpy")
    assert code is not None
    (here / "code.bin").write_bytes(code.data)
    (here / "case.json").write_text(json.dumps(CASE))
    assert execute(here, "orias dis --full kernel.cubin > LISTING")[0] == 0
    assert execute(here, "orias -arch=sm_90 k.ptx --dump-after='*' --dump-dir=dumps")[0] == 0
    shutil.copy(sorted((here / "dumps").glob("saxpy.0*-after-*.ori"))[0], here / "kernel.ori")
    return here


def execute(folder: Path, line: str) -> tuple[int, str]:
    """The status of a command line, and what it printed."""
    words = shlex.split(line, comments=True)
    target = None
    if ">" in words:
        target = folder / words[words.index(">") + 1]
        words = words[: words.index(">")]
    out, err = io.StringIO(), io.StringIO()
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(out), redirect_stderr(err):
        patch.chdir(folder)
        status = run(words)
    if target is not None:
        target.write_text(out.getvalue())
    return status, out.getvalue()[-2000:] + err.getvalue()[-2000:]


@pytest.mark.parametrize("page", USED, ids=lambda p: p.stem)
def test_commands_run(page: Path, folder: Path) -> None:
    wrong = []
    for line in commands(page):
        if any(part in line for part in NOT_RUN):
            continue
        text = line
        for part, other in REPLACED.items():
            text = text.replace(part, other)
        if re.search(r"dumps/(\S+)", text):
            for name in re.findall(r"dumps/(\S+)", text):
                pattern = re.sub(r"\.\d+-", ".*-", name)
                found = sorted((folder / "dumps").glob(pattern))
                assert found, f"{page.name}: no dump {name}"
                text = text.replace(f"dumps/{name}", f"dumps/{found[0].name}")
        status, said = execute(folder, text)
        wanted = next((s for part, s in STATUS.items() if text.startswith(part)), (0,))
        if status not in wanted:
            wrong.append(f"{line}\n  status {status}: {said}")
    assert not wrong, "\n".join(wrong)


def test_other_commands_run_elsewhere() -> None:
    """Every command of another program is known; every entry of the table is needed."""
    found = [line for page in PAGES for line in lines(page) if _OTHER.match(line)]
    assert [line for line in found if not any(part in line for part in OTHERS)] == []
    assert [part for part in OTHERS if not any(part in line for line in found)] == []


def test_pages_are_found() -> None:
    assert {"README", "explorer", "command-line", "disassembler", "performance"} <= {p.stem for p in USED}
    assert sum(1 for page in USED for _ in commands(page)) > 60
