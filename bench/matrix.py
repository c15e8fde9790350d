"""Matrix kernels compared with ptxas: instructions, registers, spills, and what an inner loop does besides its matrix instructions.

``python -m bench.matrix [ARCH ...]`` compiles the kernels of ``tests/kernels/matrix`` and ``tests/wgmma`` at -O3 with both compilers.  Instructions do not
count NOPs; the inner loop is the shortest run of code that a backward branch repeats with the most matrix instructions in it.
"""

import re
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import orias
from orias.cubin.reader import Reader
from tests.kernels.matrix.cases import CASES, PTX
from tests.nvtools import tool

WGMMA = Path(__file__).parent.parent / "tests" / "wgmma" / "ptx"
_LINE = re.compile(r"\s*/\*([0-9a-f]{4,})\*/\s+(@!?U?P\w+\s+)?([A-Z0-9_]+)(\S*)\s*(.*?)\s*;")


class Code(NamedTuple):
    """Measures of one kernel's code."""

    instructions: int
    registers: int
    spills: int
    products: int
    others: int


def _measure(cubin: bytes, kernel: str) -> Code:
    with tempfile.TemporaryDirectory() as d:
        path = Path(d) / "k.cubin"
        path.write_bytes(cubin)
        command = [tool("nvdisasm"), "-c", str(path)]
        text = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout
    text = re.split(r"(?m)^//-+ \.text\.", text.partition(f" .text.{kernel} ")[2])[0]
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
    return Code(len(code), Reader(cubin).kernels[kernel].num_regs, spills, *best)


def _kernels() -> list[tuple[str, str, Callable[[str], bool]]]:
    """Name, PTX, and which targets it is for."""
    out: list[tuple[str, str, Callable[[str], bool]]] = [
        (n, (PTX / f"{n}.ptx").read_text(), c.runs_on) for n, c in CASES.items()
    ]
    for name in ("gemm", "tensor_gemm", "attention"):
        text = (WGMMA / f"{name}.ptx").read_text()
        entries = re.findall(r"\.entry (\w+)", text)
        out += [(e, _only(text, e), lambda arch: arch == "sm_90a") for e in entries]
    return out


def _only(text: str, entry: str) -> str:
    """A module without its other kernels."""
    parts = re.split(r"(?m)^(?=\s*(?:// \.globl|\.visible \.entry))", text)
    return "".join(p for p in parts if ".entry" not in p or f".entry {entry}(" in p)


def main(arches: list[str]) -> None:
    """Print a row for each kernel and target."""
    print(
        "kernel                           target  instructions      registers     spills  in the loop: others per product"
    )
    worst = [0.0, 0.0]
    for name, text, runs_on in _kernels():
        entry = re.findall(r"\.entry (\w+)", text)[0]
        for arch in arches:
            if not runs_on(arch):
                continue
            ours = _measure(orias.compile(text, arch=arch).data, entry)
            with tempfile.TemporaryDirectory() as d:
                source, out = Path(d) / "k.ptx", Path(d) / "k.cubin"
                source.write_text(text)
                command = [tool("ptxas"), f"-arch={arch}", "-O3", str(source), "-o", str(out)]
                subprocess.run(command, check=True, timeout=120)
                theirs = _measure(out.read_bytes(), entry)
            size = ours.instructions / theirs.instructions
            regs = ours.registers / theirs.registers
            worst = [max(worst[0], size), max(worst[1], regs)]
            loop = " ".join(f"{c.others / c.products:.2f}" if c.products else "-" for c in (ours, theirs))
            print(
                f"{name:32} {arch:7} {ours.instructions:4}/{theirs.instructions:4} {size:5.2f}  {ours.registers:3}/{theirs.registers:3}"
                f" {regs:5.2f}  {ours.spills:2}/{theirs.spills:2}    {loop}",
                flush=True,
            )
    print(f"worst: instructions {worst[0]:.2f}, registers {worst[1]:.2f}")


if __name__ == "__main__":
    main(sys.argv[1:] or ["sm_75", "sm_80", "sm_89", "sm_90", "sm_90a"])
