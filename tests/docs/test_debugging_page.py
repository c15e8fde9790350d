"""The commands of docs/debugging.md print what the page says, after the changes to the compiler or to the files of which it tells."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest

from tests.docs.words import ROOT
from tools.site.console import Command, Shell, agrees, commands

pytest.importorskip("numpy", reason="numpy is not installed (pip install 'orias[sim]')")
pytestmark = pytest.mark.sweep

PAGE: Final = (ROOT / "docs/debugging.md").read_text(encoding="utf-8")
_MEASURED: Final = re.compile(r"\d+\.\d+")
_FAULT: Final = """
import inspect
import orias.passes.rules_int as rules
text = inspect.getsource(rules.shift)
assert text.count("imm(inner[1] + k)") == 1
exec(text.replace("imm(inner[1] + k)", "imm(inner[1] | k)"), rules.__dict__)
rules.RULES["SHF"] = rules.shift
"""
"""The change to the rewrite of two shifts that the page describes, made where a process of Python starts."""


def with_fault(shell: Shell) -> None:
    (shell.folder / "fault").mkdir(exist_ok=True)
    (shell.folder / "fault/sitecustomize.py").write_text(_FAULT, encoding="utf-8")
    shell.environment["PYTHONPATH"] = f"{shell.folder / 'fault'}:{ROOT}"


def without_fault(shell: Shell) -> None:
    shell.environment["PYTHONPATH"] = str(ROOT)


def refused(shell: Shell) -> None:
    text = program()
    (shell.folder / "kernel.ptx").write_text(text.replace("xor.b32", "xor.s32"), encoding="utf-8")


def restored(shell: Shell) -> None:
    (shell.folder / "kernel.ptx").write_text(program(), encoding="utf-8")


def without_wait(shell: Shell) -> None:
    """bad.cubin: the wait of the IADD3 removed."""
    shell.run("orias kernel.ptx -arch=sm_90 -o kernel.cubin && orias dis --full kernel.cubin > k.sass")
    text = (shell.folder / "k.sass").read_text(encoding="utf-8")
    bad = re.sub(r"(IADD3 R4, R4, 0x5, RZ.*B--)2(---)", r"\1-\2", text)
    assert bad != text
    (shell.folder / "k.sass").write_text(bad, encoding="utf-8")
    assert shell.run("orias as k.sass -o bad.cubin") == []


BEFORE: Final[dict[str, Callable[[Shell], None]]] = {
    "orias verify": with_fault, "orias kernel.ptx -arch=sm_80 --dump-before": without_fault,
    "orias kernel.ptx -arch=sm_90 -o kernel.cubin": refused, "orias kernel.ptx -arch=sm_90 --okey": restored,
    "orias check bad.cubin": without_wait,
}  # fmt: skip
"""Beginning of a command -> what the page says is changed before it; for the first command that begins so."""


def program() -> str:
    (found,) = re.findall(r"^```ptx\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    return str(found)


def session() -> list[Command]:
    return [
        c for block in re.findall(r"^```console\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL) for c in commands(block)
    ]


def test_commands_of_the_page(tmp_path: Path) -> None:
    shell = Shell(tmp_path, "")
    restored(shell)
    left = dict(BEFORE)
    wrong = []
    for command in session():
        for start in [s for s in left if command.text.startswith(s)]:
            left.pop(start)(shell)
        printed = shell.run(command.text)
        said = command.said
        if "--time-phases" in command.text:
            said, printed = ([" ".join(_MEASURED.sub("0", line).split()) for line in x] for x in (said, printed))
        if not agrees(said, printed):
            wrong.append("\n".join([f"$ {command.text}", *printed]))
    assert not left and len(session()) == 11
    assert not wrong, "\n".join(wrong)


def test_the_fault_is_the_one_of_the_page(tmp_path: Path) -> None:
    """Without the change `verify` finds nothing."""
    shell = Shell(tmp_path, "")
    restored(shell)
    assert shell.run("orias verify kernel.ptx --arch sm_80 -O3")[-1].endswith(" 0 differences, 0 not compared")
