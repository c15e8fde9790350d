"""Every instruction of what ptxas makes of the corpus has a meaning in the simulator, on every SM."""

import random
from pathlib import Path
from typing import Any

import pytest

from orias.cubin.elf import ElfFile
from orias.isa.decode import Decoded
from orias.isa.isa_table import load
from orias.sim.core.build import build
from orias.sim.core.sim_errors import Fault
from orias.target.decoder_class import table_of_name
from orias.tools.assemble import assemble_line
from orias.tools.labels import code_sections
from tests.nvtools import tool
from tests.oracle import compile_or_none
from tests.ptx.corpus import small_files

FILES = 15


def refusal(d: Decoded) -> str:
    """Why an instruction cannot be simulated, nothing if it can."""
    plan = build(d, 0, 0, lambda: "")
    if plan.run is None:
        return ""
    nobody: Any = None
    try:
        plan.run(nobody, nobody)
    except Fault as f:
        return f.message
    except (AttributeError, TypeError):
        # It has begun to look at the threads.
        return ""
    return ""


def test_what_is_not_simulated_says_so() -> None:
    table = load("sm_90")
    word = assemble_line("ALD R0, a[0x80] ;", table, 0, {}, 1)
    assert refusal(table.decode(word)) == "ALD is not simulated"
    assert refusal(table.decode(assemble_line("IADD3 R0, R1, R2, R3 ;", table, 0, {}, 1))) == ""


@pytest.mark.sweep
@pytest.mark.parametrize(
    "arch", ["sm_75", "sm_80", "sm_89", "sm_90a", "sm_100a", "sm_103", "sm_110", "sm_120a", "sm_121"]
)
def test_corpus(arch: str, tmp_path: Path) -> None:
    tool("ptxas")
    table = load(table_of_name(arch))
    bad: set[str] = set()
    seen: set[str] = set()
    for path in random.Random(arch).sample(small_files(arch), FILES):
        cubin = compile_or_none(path, arch, ["-O3"], tmp_path)
        if cubin is not None:
            for s in code_sections(ElfFile(cubin)):
                for at in range(0, len(s.data), 16):
                    d = table.decode(int.from_bytes(s.data[at : at + 16], "little"))
                    if d.op.name not in seen:
                        seen.add(d.op.name)
                        bad |= {why} if (why := refusal(d)) else set()
    assert len(seen) > 50
    assert bad == set()
