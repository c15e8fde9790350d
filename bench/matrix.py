"""Matrix kernels beside ptxas: instructions, registers, spills, and what an inner loop does besides its matrix instructions.

``python -m bench.matrix [ARCH ...]`` compiles the kernels of ``tests/kernels/matrix`` at -O3 with both compilers.  Instructions do not
count NOPs; the inner loop is the shortest run of code that a backward branch repeats with the most matrix instructions in it.
"""

import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

import orias
from tests.kernels.matrix.cases import CASES, PTX
from tests.nvtools import tool

_LINE = re.compile(r"\s*/\*([0-9a-f]{4,})\*/\s+(@!?U?P\w+\s+)?([A-Z0-9_]+)(\S*)\s*(.*?)\s*;")


class Code(NamedTuple):
    """Measures of one kernel's code."""

    instructions: int
    registers: int
    spills: int
    products: int
    others: int


def _registers(path: Path) -> int:
    """The register count of the kernel."""
    text = subprocess.run(
        [tool("cuobjdump"), "-res-usage", str(path)], capture_output=True, text=True, timeout=60, check=True
    )
    return max(int(n) for n in re.findall(r"REG:(\d+)", text.stdout + text.stderr))


def _measure(cubin: bytes) -> Code:
    with tempfile.TemporaryDirectory() as d:
        path = Path(d) / "k.cubin"
        path.write_bytes(cubin)
        registers = _registers(path)
        text = subprocess.run(
            [tool("nvdisasm"), "-c", str(path)], capture_output=True, text=True, timeout=120, check=True
        ).stdout
    labels: dict[str, int] = {}
    code: list[tuple[str, str]] = []
    for line in text.splitlines():
        found = _LINE.match(line)
        if found:
            if found[3] != "NOP":
                code.append((found[3], found[5]))
        elif re.match(r"^\.L_x_\d+:", line):
            labels[line.strip().rstrip(":")] = len(code)
    best = (0, 0)
    for at, (name, rest) in enumerate(code):
        target = re.search(r"\((\.L_x_\d+)\)", rest)
        if name != "BRA" or target is None or labels.get(target[1], at) >= at:
            continue
        body = code[labels[target[1]] : at + 1]
        products = sum(n.endswith("MMA") for n, _ in body)
        if products and (products > best[0] or (products == best[0] and len(body) - products < best[1])):
            best = (products, len(body) - products)
    spills = sum(n in ("STL", "LDL") for n, _ in code)
    return Code(len(code), registers, spills, *best)


def main(arches: list[str]) -> None:
    """Print a row for each kernel and target."""
    print("kernel                    target  instructions      registers     spills  in the loop: others per product")
    worst = [0.0, 0.0]
    for name, (first, _) in CASES.items():
        for arch in arches:
            if int(arch[3:].rstrip("a")) < first:
                continue
            source = PTX / f"{name}.ptx"
            ours = _measure(orias.compile(source.read_text(), arch=arch).data)
            with tempfile.TemporaryDirectory() as d:
                out = Path(d) / "k.cubin"
                subprocess.run(
                    [tool("ptxas"), f"-arch={arch}", "-O3", str(source), "-o", str(out)], check=True, timeout=120
                )
                theirs = _measure(out.read_bytes())
            size = ours.instructions / theirs.instructions
            regs = ours.registers / theirs.registers
            worst = [max(worst[0], size), max(worst[1], regs)]
            loop = " ".join(f"{c.others / c.products:.2f}" if c.products else "-" for c in (ours, theirs))
            print(
                f"{name:25} {arch:7} {ours.instructions:4}/{theirs.instructions:4} {size:5.2f}  {ours.registers:3}/{theirs.registers:3}"
                f" {regs:5.2f}  {ours.spills:2}/{theirs.spills:2}    {loop}",
                flush=True,
            )
    print(f"worst: instructions {worst[0]:.2f}, registers {worst[1]:.2f}")


if __name__ == "__main__":
    main(sys.argv[1:] or ["sm_75", "sm_80", "sm_89", "sm_90"])
