"""Programs of YARPGen: loops over arrays."""

from pathlib import Path


def generate(tool: str, seed: int, folder: Path) -> Path | None:
    return None
