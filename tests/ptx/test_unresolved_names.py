"""What is said of modules with unresolved names, of 64 and 32 bits.

Functions come first, then variables, then the size of addresses, of which -g has a message of its own.
"""

import subprocess
from pathlib import Path

import pytest

import orias
from orias.diag import CompileError
from tests.nvtools import LIMIT_S, tool

HEAD = ".version 8.0\n.target sm_75\n.address_size"
BODIES = {
    "a function and a variable": ".extern .global .u32 v;\n.extern .func f();\n.visible .entry k() {\ncall f;\nret;\n}\n",
    "a function and an array": ".extern .global .u32 v[];\n.extern .func f();\n.visible .entry k() {\ncall f;\nret;\n}\n",
    "two variables": ".extern .global .u32 v[4];\n.extern .global .u32 w[];\n.visible .entry k() {\nret;\n}\n",
    "nothing unresolved": ".visible .entry k() {\nret;\n}\n",
    "a function": ".extern .func f();\n.visible .entry k() {\ncall f;\nret;\n}\n",
    "a variable": ".extern .global .u32 v;\n.visible .entry k() {\n\nret;\n}\n",
    "a function that is not extern": ".func f();\n.visible .entry k() {\ncall f;\nret;\n}\n",
}


@pytest.mark.in_turn(4)
@pytest.mark.parametrize("arch", ["sm_80", "sm_90"])
@pytest.mark.parametrize("options", ["", "-c", "-g", "-g -c"])
@pytest.mark.parametrize("size", [32, 64])
@pytest.mark.parametrize("name", BODIES)
def test_messages(name: str, size: int, options: str, arch: str, tmp_path: Path) -> None:
    text, words = f"{HEAD} {size}\n{BODIES[name]}", options.split()
    path = tmp_path / "a.ptx"
    path.write_text(text)
    judged = subprocess.run(
        [tool("ptxas"), f"-arch={arch}", *words, path, "-o", tmp_path / "a.cubin"],
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )
    try:
        found = orias.compile(text, arch=arch, compile_only="-c" in words, debug="-g" in words).diagnostics
    except CompileError as e:
        found = e.diagnostics
    ours = [f"ptxas {d.severity:<8}: {d.message}" for d in found]
    assert ours == judged.stderr.splitlines()
