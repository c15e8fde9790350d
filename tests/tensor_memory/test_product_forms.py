"""Every form of tcgen05.mma becomes the operation that ptxas makes of it, with the same operands."""

import re
import subprocess
from pathlib import Path

import pytest

import orias
from tests.nvtools import LIMIT_S, tool
from tests.tensor_memory.product_forms import lines, module, stationary_lines

_PRODUCT = re.compile(r"(UTC[HIQO]MMA\S*) ([^;]*);")
_REGISTER = re.compile(r"(U[RP])[0-9]+")


def _products(cubin: Path) -> list[str]:
    """The products of a cubin, in order, without the numbers of registers."""
    text = subprocess.run(
        [tool("nvdisasm"), "-c", str(cubin)], capture_output=True, text=True, timeout=LIMIT_S, check=True
    ).stdout
    return [name + " " + _REGISTER.sub(r"\1", operands) for name, operands in _PRODUCT.findall(text)]


def _compare(folder: Path, target: str, level: int, body: list[str]) -> None:
    source = folder / "k.ptx"
    source.write_text(module(target, body))
    theirs, ours = folder / "theirs.cubin", folder / "ours.cubin"
    subprocess.run(
        [tool("ptxas"), "-arch", target, f"-O{level}", str(source), "-o", str(theirs)], timeout=300, check=True
    )
    ours.write_bytes(orias.compile(source.read_text(), arch=target, opt_level=level, self_check=True).data)
    expected, found = _products(theirs), _products(ours)
    assert len(found) == len(expected) == len(body)
    wrong = [f"{line}\n  {a}\n  {b}" for line, a, b in zip(body, expected, found, strict=True) if a != b]
    assert not wrong, "\n".join(wrong)


def _forms(target: str, group: int) -> list[str]:
    integers = target != "sm_103a"
    return [*lines(group, integers, target != "sm_110a"), *(stationary_lines(integers) if group == 1 else ())]


@pytest.mark.in_turn(4)
@pytest.mark.parametrize("group", [1, 2])
def test_a_sample_of_forms(tmp_path: Path, group: int) -> None:
    _compare(tmp_path, "sm_100a", 3, _forms("sm_100a", group)[group::9])


@pytest.mark.sweep
@pytest.mark.parametrize("level", [1, 2, 3])
@pytest.mark.parametrize("group", [1, 2])
@pytest.mark.parametrize("target", ["sm_100a", "sm_103a", "sm_110a"])
def test_all_forms(tmp_path: Path, target: str, group: int, level: int) -> None:
    """Not at -O0, where ptxas passes constant flags and the upper half of no mask in registers."""
    _compare(tmp_path, target, level, _forms(target, group))
