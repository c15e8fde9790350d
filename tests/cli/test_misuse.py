"""Everyday misuse: what each command says, word for word, in ``tests/cli/misuse.txt`` (ORIAS_BLESS=1 rewrites it).

A block of the file is a command line after ``$``, and the lines of standard error.  Every command fails, writes nothing to
standard output, and leaves no file.
"""

import os
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

import orias
from orias.cli.main import run

GOLDEN = Path(__file__).parent / "misuse.txt"
KERNEL = (
    ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 p) {\n.reg .b64 %rd<4>;\n"
    "ld.param.u64 %rd1, [p];\nst.global.u32 [%rd1], 1;\nret; }\n"
)
FILES = {
    "k.ptx": KERNEL,
    "two.ptx": KERNEL + KERNEL.split("\n", 3)[3].replace("k(", "j("),
    "typo.ptx": KERNEL.replace("st.global.u32", "st.globl.u32"),
    "semicolon.ptx": KERNEL.replace("ret;", "ret"),
    "register.ptx": KERNEL.replace("[%rd1], 1", "[%rd9], 1"),
    "new.ptx": KERNEL.replace("8.0", "99.0"),
    "noversion.ptx": KERNEL.partition("\n")[2],
    "notarget.ptx": KERNEL.replace(".target sm_80\n", ""),
    "far.ptx": KERNEL.replace("sm_80", "sm_90"),
    "c.cu": "__global__ void k(int *p) { *p = 1; }\n",
    "ir.ll": 'target triple = "nvptx64"\n',
    "empty.ptx": "",
    "no.sass": "MOV R1, R99999;\n",
    "list.sass": "IADD4 R1, R2, R3;\n",
    "options": "-arch sm_80 -nonsense\n",
    "bad.knobs": "nonsense = 1\n",
    "k.ori": "no dump\n",
}


def cases() -> Iterator[str]:
    for line in GOLDEN.read_text(encoding="utf-8").splitlines():
        if line.startswith("$ "):
            yield line[2:]


@pytest.fixture
def workdir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    (tmp_path / "k.cubin").write_bytes(orias.compile(KERNEL, arch="sm_80").data)
    (tmp_path / "two.cubin").write_bytes(orias.compile(FILES["two.ptx"], arch="sm_80").data)
    (tmp_path / "cut.cubin").write_bytes((tmp_path / "k.cubin").read_bytes()[:700])
    (tmp_path / "folder").mkdir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("ORIAS_TRACEBACK", raising=False)
    return tmp_path


def test_the_messages(workdir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = sorted(workdir.rglob("*"))
    shown = []
    for line in cases():
        program, *arguments = shlex.split(line)
        code = run([program, *arguments])
        said = capsys.readouterr()
        assert code in (1, 2, 255) and said.out == "", line
        assert "Traceback" not in said.err and "cannot be processed" not in said.err, (line, said.err)
        shown.append(f"$ {line}\n{said.err}")
        assert sorted(workdir.rglob("*")) == before, line
    text = "\n".join(shown)
    if os.environ.get("ORIAS_BLESS"):
        GOLDEN.write_text(text, encoding="utf-8", newline="\n")
    assert text == GOLDEN.read_text(encoding="utf-8")
    assert len(shown) >= 60


def test_a_message_is_short_and_no_exception() -> None:
    for block in GOLDEN.read_text(encoding="utf-8").split("\n\n"):
        command, *said = block.strip("\n").split("\n")
        assert 0 < len(said) <= 4, command
        assert re.search(r"Errno|Traceback|[a-z]Error\b|invalid literal", block) is None, command
