"""Builds shared libraries with the machine's C compiler, and says where they are kept."""

import os
import shutil
import subprocess
from pathlib import Path
from typing import Final

_COMPILERS: Final = ("cc", "gcc", "clang")


class BuildError(Exception):
    """A library could not be built; the message says why."""


def cache() -> Path:
    """The folder for built libraries: ``ORIAS_CACHE``, or ``orias`` in the user's cache folder."""
    own = os.environ.get("ORIAS_CACHE")
    if own:
        return Path(own)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "orias"


def compiler() -> str | None:
    """The command of the C compiler; None if there is none."""
    return os.environ.get("CC") or next((c for c in _COMPILERS if shutil.which(c)), None)


def build(text: str, library: Path, options: list[str]) -> None:
    """Compiles C text to a library in a folder that exists; another process may do the same at the same time."""
    command = compiler()
    if command is None:
        raise BuildError(f"a C compiler is needed ({', '.join(_COMPILERS)}, or CC)")
    file = library.parent / f"{library.name}-{os.getpid()}.c"
    made = file.with_suffix(".so")
    file.write_text(text, encoding="utf-8")
    start = [*command.split(), "-shared", "-fPIC", "-fvisibility=hidden", f"-Wl,-soname,{library.name}"]
    try:
        done = subprocess.run([*start, "-o", str(made), str(file), *options], capture_output=True, text=True)
    except OSError as e:
        raise BuildError(f"{command} failed: {e}") from None
    finally:
        file.unlink()
    if done.returncode:
        raise BuildError(f"{command} failed: {done.stderr.strip()[:2000]}")
    made.replace(library)
