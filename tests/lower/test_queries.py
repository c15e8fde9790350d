"""Queries that read the driver's descriptors: the same word of the same table as in ptxas's code, through the same symbol."""

import re
import subprocess
from pathlib import Path

import pytest

import orias
from orias.cubin.reader import Reader
from tests.nvtools import LIMIT_S, tool

TEXTURE = [
    "memory_layout",
    "channel_data_type",
    "channel_order",
    "normalized_coords",
    "array_size",
    "filter_mode",
    "addr_mode_0",
    "addr_mode_1",
    "addr_mode_2",
    "num_mipmap_levels",
    "num_samples",
    "force_unnormalized_coords",
]
SURFACE = ["channel_data_type", "channel_order", "array_size", "memory_layout"]
_KERNEL = """
.visible .entry k{n}(.param .u64 t, .param .u64 o) {{
    .reg .b64 %t, %o; .reg .b32 %r;
    ld.param.u64 %t, [t]; ld.param.u64 %o, [o];
    {op}.b32 %r, [{where}];
    st.global.u32 [%o], %r; ret;
}}
"""


def _module(arch: str, mode: str) -> str:
    ops = [f"txq.{q}" for q in TEXTURE] + [f"suq.{q}" for q in SURFACE]
    cases = [(op, "%t") for op in ops] + [("txq.channel_order", "T"), ("suq.channel_order", "S")]
    kernels = "".join(_KERNEL.format(n=n, op=op, where=where) for n, (op, where) in enumerate(cases))
    return f".version 8.3\n.target {arch}{mode}\n.address_size 64\n.global .texref T;\n.global .surfref S;\n{kernels}"


def _words(cubin: bytes) -> dict[str, tuple[str, int, int]]:
    """Kernel -> (symbol of the descriptor's size, offset of the table's address in constant bank 0, offset in the descriptor)."""
    symbols = {k.name: [(r.type, r.symbol) for r in k.relocs] for k in Reader(cubin).module.kernels}
    out = {}
    for name, code in re.findall(r"(?m)^\.text\.(k\d+):\n(.*?)(?=^\.text|\Z)", orias.disassemble(cubin), re.DOTALL):
        ((type_, symbol),) = symbols[name]
        assert type_ == 55
        (bank,) = {int(x, 16) for x in re.findall(r"c\[0x0\]\[(0x7[08]|0x80|0xf[08]|0x100)\]", code)}
        inside = [int(x, 16) for x in re.findall(r"LDG\.E\.CONSTANT\S* .*\+(0x[0-9a-f]+)\]", code)]
        inside += [int(x, 16) for x in re.findall(r"U?IMAD U?R.*, (0x[0-9a-f]+) ;", code)]
        out[name] = (symbol, bank, sum(inside))
    return out


@pytest.mark.in_turn(4)
@pytest.mark.parametrize("mode", ["", ", texmode_independent"])
@pytest.mark.parametrize("arch", ["sm_75", "sm_80", "sm_90"])
def test_queries_of_descriptors(arch: str, mode: str, tmp_path: Path) -> None:
    text = _module(arch, mode)
    (tmp_path / "a.ptx").write_text(text)
    out = tmp_path / "a.cubin"
    subprocess.run(
        [tool("ptxas"), f"-arch={arch}", str(tmp_path / "a.ptx"), "-o", str(out)], check=True, timeout=LIMIT_S
    )
    ours, theirs = _words(orias.compile(text, arch=arch).data), _words(out.read_bytes())
    assert len(theirs) == len(TEXTURE) + len(SURFACE) + 2
    assert ours == theirs
