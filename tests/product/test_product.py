"""The product on its own: no tool on the PATH, nothing imported that is not in the standard library."""

import os
import subprocess
import sys
from pathlib import Path

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "saxpy.ptx"


def alone(code: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run Python code with an empty PATH."""
    env = {k: v for k, v in os.environ.items() if k not in ("PATH", "CUDA_HOME", "CUDA_PATH")} | {"PATH": ""}
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=cwd, env=env, timeout=120)


def test_compiles_with_an_empty_path(tmp_path: Path) -> None:
    code = f"""
import orias
for arch in ("sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_90a"):
    for level in (0, 3):
        cubin = orias.compile(open({str(EXAMPLE)!r}).read(), arch=arch, opt_level=level)
        assert cubin.data[:4] == b"\\x7fELF" and cubin.kernels["saxpy"].registers
        assert "EXIT" in cubin.disassemble()
"""
    r = alone(code, tmp_path)
    assert r.returncode == 0, r.stderr


def test_starts_no_process(tmp_path: Path) -> None:
    code = f"""
import os, subprocess, sys
def refuse(event, args):
    if event in ("subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "os.fork"):
        raise RuntimeError(event)
sys.addaudithook(refuse)
import orias
orias.compile(open({str(EXAMPLE)!r}).read(), arch="sm_90")
"""
    r = alone(code, tmp_path)
    assert r.returncode == 0, r.stderr


def test_compile_path_is_standard_library(tmp_path: Path) -> None:
    code = f"""
import sys
import orias
orias.compile(open({str(EXAMPLE)!r}).read(), arch="sm_90")
ours = [m for m in sys.modules if m.split(".")[0] not in sys.stdlib_module_names]
print(*sorted(m for m in ours if m.split(".")[0] not in ("orias", "__main__") and not m.startswith("__editable__")
      and "editable" not in m and "finder" not in m and not m.startswith("_distutils") and "pth" not in m))
"""
    r = alone(code, tmp_path)
    assert r.returncode == 0, r.stderr
    assert not set(r.stdout.split()) & {"numpy", "elftools", "pytest", "hypothesis", "mypy"}, r.stdout


def test_command_line_with_an_empty_path(tmp_path: Path) -> None:
    out = tmp_path / "k.cubin"
    code = f"""
import sys
from orias.__main__ import main
sys.argv = ["orias", {str(EXAMPLE)!r}, "-arch=sm_80", "-o", {str(out)!r}]
sys.exit(main())
"""
    r = alone(code, tmp_path)
    assert r.returncode == 0, r.stderr
    assert out.read_bytes()[:4] == b"\x7fELF"


def test_refusal_leaves_no_file(tmp_path: Path) -> None:
    source = tmp_path / "bad.ptx"
    source.write_text(
        EXAMPLE.read_text()
        .replace(".version 7.0", ".version 8.0")
        .replace("fma.rn.f32      %f4, %f1, %f2, %f3;", "wgmma.fence.sync.aligned;")
    )
    out = tmp_path / "k.cubin"
    r = subprocess.run(
        [sys.executable, "-m", "orias", str(source), "-arch=sm_80", "-o", str(out)],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert r.returncode == 255
    assert "wgmma.fence" in r.stderr and "line 30" in r.stderr and "Traceback" not in r.stderr
    assert not out.exists() and list(tmp_path.iterdir()) == [source]
