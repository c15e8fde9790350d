"""Finds the NVIDIA tools that judge our output; tests that need one are skipped with the reason when it is missing."""

import os
import shutil
import site
import sys
from pathlib import Path

import pytest


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
