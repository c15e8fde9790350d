"""Runs the programs of a family on the GPU in a process of their own: after a fault or a hang nothing else of that process can use the GPU.

``python -m tests.gpu.apart FAMILY COMPILER FOLDER BEGIN`` runs the programs from a number on with the cubins in FOLDER and prints a line of
JSON for each: its number, and what is wrong.  A fault is the last line.
"""

import json
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import Executor
from pathlib import Path
from typing import Final

from tests.device import load, on
from tests.forms.items import Item
from tests.gpu.driver import Driver, DriverError, load_driver
from tests.gpu.image import device
from tests.gpu.modules import Module, compiled, modules

_FAULTS: Final = 60
"""Faults of a family after which the rest is left out."""
_LATE: Final = 300
"""Seconds for the programs of a process."""
_SECONDS: Final = 4.0
"""A kernel that runs longer counts as hanging."""


def programs(family: str, compiler: str, arch: str) -> Iterator[tuple[int, Module, int, Item]]:
    """The programs of a family with their numbers: modules as :func:`tests.gpu.modules.modules` gives them, and the number of a kernel."""
    number = 0
    for module in modules(family, compiler, arch):
        for n, item in enumerate(module.items):
            yield number, module, n, item
            number += 1


def run(driver: Driver, family: str, compiler: str, folder: Path, begin: int) -> Iterator[tuple[int, str, bool]]:
    """Number of a program, what is wrong with it, and whether that was a fault: nothing follows one."""
    loaded, image = "", None
    with on(device(driver)):
        for number, module, n, item in programs(family, compiler, driver.arch):
            if number < begin:
                continue
            alone = folder / f"{module.name} {n}.cubin"
            at = alone if alone.exists() else folder / f"{module.name}.cubin"
            if not at.exists():
                continue
            try:
                if loaded != str(at):
                    loaded, image = str(at), load(at.read_bytes())
                yield number, item.check(image, "k0" if at == alone else f"k{n}"), False
            except DriverError as e:
                yield number, str(e), True
                return


def failures(pool: Executor, family: str, compiler: str, arch: str, folder: Path) -> list[str]:
    """What is wrong with the programs of a family on GPU 0; `folder` is for their cubins."""
    all_programs = list(programs(family, compiler, arch))
    bad = []
    for module, cubin in compiled(pool, modules(family, compiler, arch), compiler, arch):
        if isinstance(cubin, str):
            bad.append(f"{module.items[0].name} -O{module.level}: {cubin}")
        else:
            (folder / f"{module.name}.cubin").write_bytes(cubin)
    begin = 0
    for _ in range(_FAULTS):
        if begin >= len(all_programs):
            return bad
        command = [sys.executable, "-m", "tests.gpu.apart", family, compiler, str(folder), str(begin)]
        seen = begin - 1
        try:
            done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=_LATE)
            text, why = done.stdout, f"exit code {done.returncode}: {done.stderr.strip()[-300:]}"
            ended = done.returncode == 0
        except subprocess.TimeoutExpired as e:
            text, why, ended = (e.stdout or b"").decode(), f"no end after {_LATE} s", False
        fault = False
        for line in text.splitlines():
            if line.startswith("["):
                seen, wrong, fault = json.loads(line)
                if wrong:
                    bad.append(f"{all_programs[seen][3].name} -O{all_programs[seen][1].level}: {wrong}")
        if ended and not fault:
            return bad
        if not fault:
            seen += 1
            if seen < len(all_programs):
                bad.append(f"{all_programs[seen][3].name} -O{all_programs[seen][1].level}: {why}")
        begin = seen + 1
    return [*bad, f"more than {_FAULTS} faults: the rest is left out"]


def main() -> int:
    """The command."""
    family, compiler, folder, begin = sys.argv[1:]
    driver = load_driver()
    driver.seconds = _SECONDS
    for row in run(driver, family, compiler, Path(folder), int(begin)):
        print(json.dumps(row), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
