"""Programs of YARPGen (version 2, C): nests of loops over arrays, one thread."""

import re
import subprocess
from pathlib import Path
from typing import Final

LIMIT_S: Final = 20
MOST_ELEMENTS: Final = 20_000
MOST_TEXT: Final = 60_000
"""Larger programs are left out: most of YARPGen's have arrays of more elements than one simulated thread can fill."""
_ARRAY: Final = re.compile(r"^[\w ]+ arr_\d+ ((?:\[\d+\] ?)+)", re.MULTILINE)

HEAD: Final = """
#include <stddef.h>
#include <limits.h>
#ifdef DEVICE
#define printf(...) 0
#else
int printf(const char *, ...);
#endif
#define main program
"""
KERNEL: Final = """
#undef main
#ifdef DEVICE
__attribute__((nvptx_kernel)) void k(unsigned long long *out) { program(); *out = seed; }
#else
#undef printf
int main(void) { program(); return 0; }
#endif
"""


def generate(tool: str, seed: int, folder: Path) -> Path | None:
    """A program as one C file; None if YARPGen fails or the program is too large."""
    command = [tool, f"--seed={seed}", "--std=c", f"--out-dir={folder}"]
    try:
        done = subprocess.run(command, capture_output=True, timeout=LIMIT_S, check=False, cwd=folder)
    except subprocess.TimeoutExpired:
        return None
    if done.returncode != 0:
        return None
    driver, function, init = ((folder / name).read_text(encoding="utf-8") for name in ("driver.c", "func.c", "init.h"))
    elements = 0
    for m in _ARRAY.finditer(driver):
        count = 1
        for extent in re.findall(r"\d+", m[1]):
            count *= int(extent)
        elements += count
    if elements > MOST_ELEMENTS or len(driver) + len(function) > MOST_TEXT:
        return None
    program = (
        driver.replace("#include <stdio.h>", HEAD).replace('printf("%llu\\n", seed)', 'printf("%llx\\n", seed)')
        + "\n"
        + function.replace('#include "init.h"', init)
        + KERNEL
    )
    source = folder / "program.c"
    source.write_text(program.replace("int main() {", "int main(void) {"), encoding="utf-8")
    return source
