"""The completion scripts, run by the shells that are installed."""

import shutil
import subprocess

import pytest

from orias.cli.main import run
from orias.cli.option_table import OPTIONS, OWN
from orias.cli.program_names import TOOLS


def script(shell: str, capsys: pytest.CaptureFixture[str]) -> str:
    assert run(["orias", "completion", shell]) == 0
    return capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (["di"], {"dis"}),
        (["ver"], {"verify"}),
        (["-arch", "sm_9"], {"sm_90", "sm_90a"}),
        (["--gpu-name", "=", "sm_9"], {"sm_90", "sm_90a"}),
        (["--gpu-name", "="], {"sm_75", "sm_90a"}),
        (["--maxrr"], {"--maxrregcount"}),
        (["x.ptx", "--verify-"], {"--verify-each"}),
    ],
)
def test_bash(words: list[str], found: set[str], capsys: pytest.CaptureFixture[str]) -> None:
    if shutil.which("bash") is None:
        pytest.skip("bash is not installed")
    text = script("bash", capsys)
    quoted = " ".join(f"'{w}'" for w in words)
    text += f"COMP_WORDS=(orias {quoted}); COMP_CWORD={len(words)}; _orias; printf '%s\\n' \"${{COMPREPLY[@]}}\"\n"
    out = subprocess.run(["bash", "-c", text], capture_output=True, text=True, check=True, timeout=60).stdout.split()
    assert found <= set(out)
    assert words[-1] == "=" or all(w.startswith(words[-1]) for w in out)


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_the_other_shells_take_their_script(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    text = script(shell, capsys)
    for name in (*TOOLS, *(row[0] for row in (*OPTIONS, *OWN))):
        assert name in text
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed; its script was not run")
    subprocess.run([shell, "-c", text], capture_output=True, check=True, timeout=60)


def test_usage(capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in ([], ["tcsh"], ["bash", "zsh"]):
        assert run(["orias", "completion", *arguments]) == 255
        assert "usage: orias completion bash|zsh|fish" in capsys.readouterr().err
