"""Compilers that an audit runs on request: any ``ptxas``, or Orias itself.  The product never does; this tool may."""

import re
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Final, final

from orias.compiler import compile_text
from orias.diag import CompileError
from orias.options import Options

LIMIT: Final = 60.0
"""Seconds that a compile may take."""
_RELEASE: Final = re.compile(r"V(\d+\.\d+\.\d+)")


def release_of(text: str) -> str:
    """The release in a version text of NVIDIA's tools, such as 13.0.88; empty if there is none."""
    m = _RELEASE.search(text)
    return m[1] if m else ""


@final
class Compiler:
    """A compiler with its options; ``release`` is empty for other tools than ptxas."""

    def __init__(self, command: str, options: list[str]) -> None:
        """`command`: the path or name of a ptxas, or ``orias``; ValueError if there is none of that name."""
        self.options: Final[list[str]] = options
        self.own: Final[bool] = command == "orias"
        path = "" if self.own else shutil.which(command)
        if path is None:
            raise ValueError(f"there is no compiler '{command}'")
        self.path: Final[str] = path
        self.release: Final[str] = "" if self.own else _release(path)
        self.name: Final[str] = "orias" if self.own else f"{Path(path).name} {self.release}".strip()

    def label(self) -> str:
        """Name, release and options."""
        return " ".join([self.name, *self.options])

    def compile(self, ptx: str, arch: str) -> bytes | str:
        """The cubin, or the reason why there is none."""
        return self._own(ptx, arch) if self.own else self._run(ptx, arch)

    def _own(self, ptx: str, arch: str) -> bytes | str:
        o = Options(arch, 3)
        for word in self.options:
            if re.fullmatch(r"-O[0-3]", word):
                o.opt_level = int(word[2])
            elif word == "-fmad=false":
                o.fmad = False
            else:
                return f"option {word} cannot be passed to Orias here"
        try:
            return compile_text([("audit.ptx", ptx)], o).data
        except CompileError as e:
            return f"line {e.diagnostics[0].line}: {e.diagnostics[0].message}"

    def _run(self, ptx: str, arch: str) -> bytes | str:
        with tempfile.TemporaryDirectory() as d:
            source, out = Path(d) / "audit.ptx", Path(d) / "audit.cubin"
            source.write_text(ptx, encoding="latin-1")
            command = [self.path, f"-arch={arch}", *self.options, str(source), "-o", str(out)]
            try:
                r = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT, check=False)
            except subprocess.TimeoutExpired:
                return f"no result after {LIMIT:.0f} s"
            except OSError as e:
                return str(e.strerror)
            if r.returncode == 0 and out.exists():
                return out.read_bytes()
            return (r.stderr.strip().splitlines() or [f"exit code {r.returncode}"])[0][:200]


def _release(path: str) -> str:
    try:
        r = subprocess.run([path, "--version"], capture_output=True, text=True, timeout=LIMIT, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return release_of(r.stdout)


def on_path(name: str) -> list[str]:
    """Every program of this name in the folders of PATH, the first one first, each file once."""
    import os

    found: list[str] = []
    real: set[str] = set()
    for folder in os.get_exec_path():
        path = os.path.join(folder, name)
        if os.access(path, os.X_OK) and os.path.isfile(path) and os.path.realpath(path) not in real:
            real.add(os.path.realpath(path))
            found.append(path)
    return found
