"""Finds the NVIDIA tools that judge our output; tests that need one are skipped with the reason when it is missing."""

import os
import re
import shutil
import site
import subprocess
import sys
from pathlib import Path

import pytest

LIMIT_S = 300
"""Seconds of wall time for one call of a tool: most take a tenth of a second, but a busy machine makes them late."""


def find(name: str) -> str | None:
    roots = [Path(p) for p in [*site.getsitepackages(), site.getusersitepackages(), *sys.path] if p]
    for root in roots:
        for candidate in sorted(root.glob(f"nvidia/cu*/bin/{name}")):
            if os.access(candidate, os.X_OK):
                return str(candidate)
    return shutil.which(name)


def tool(name: str) -> str:
    """Path of an NVIDIA tool (ptxas, nvdisasm, cuobjdump, nvlink), or skip the calling test."""
    path = find(name)
    if path is None:
        pytest.skip(f"{name} is not installed (pip install '.[test]')")
    return path


def newer_ptxas() -> str:
    """Path of ptxas 13.5 or later, or skip the calling test.

    It is the file that ORIAS_NEWER_PTXAS names, or the installed one (`pip install '.[test-newer]'`, in an environment of its own:
    an environment holds one version of the package).
    """
    path = os.environ.get("ORIAS_NEWER_PTXAS") or find("ptxas")
    if path is not None:
        done = subprocess.run([path, "--version"], capture_output=True, text=True, timeout=LIMIT_S, check=False)
        release = re.search(r"release (\d+)\.(\d+)", done.stdout)
        if release and (int(release[1]), int(release[2])) >= (13, 5):
            return path
    pytest.skip("ptxas 13.5 is not installed (ORIAS_NEWER_PTXAS, or pip install '.[test-newer]')")
