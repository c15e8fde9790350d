"""Places where the real ptxas (13.0.88) is wrong, each with its proof and with what we do instead.

A test here fails when the fault is gone in a newer release: then the entry goes too.
"""

import subprocess
from pathlib import Path

import orias
from orias.cubin.elf import ElfFile
from tests.nvtools import tool

HERE = Path(__file__).parent


def test_fence_acquire_becomes_an_illegal_word(tmp_path: Path) -> None:
    """fence.acquire.gpu on sm_75 to sm_89 assembles to sixteen zero bytes, which nvdisasm calls illegal.

    The orders of PTX ask for an acquire pattern: the CCTL.IVALL that ptxas itself writes for fence.acq_rel's acquire half.
    """
    out = tmp_path / "k.cubin"
    source = HERE / "fence_acquire.ptx"
    subprocess.run([tool("ptxas"), "-arch=sm_75", str(source), "-o", str(out)], check=True, timeout=30)
    text = next(s.data for s in ElfFile(out.read_bytes()).sections if s.name == ".text.k")
    assert bytes(16) in [text[i : i + 16] for i in range(0, len(text), 16)]
    refused = subprocess.run([tool("nvdisasm"), "-c", str(out)], capture_output=True, text=True, timeout=30)
    assert "Illegal instruction" in refused.stderr
    out.write_bytes(orias.compile(source.read_text(), arch="sm_75").data)
    accepted = subprocess.run([tool("nvdisasm"), "-c", str(out)], capture_output=True, text=True, timeout=30)
    assert accepted.returncode == 0 and "CCTL.IVALL" in accepted.stdout
