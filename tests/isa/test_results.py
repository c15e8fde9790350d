"""Which operands an instruction writes, against the register life ranges that ``nvdisasm -plr`` prints."""

import re
import subprocess
from pathlib import Path

from orias.cubin.elf import ElfFile
from orias.isa.isa_table import Decoded
from orias.isa.operand import K_P, K_R, K_UP, K_UR, PAYLOAD_SHIFT, kind_of
from orias.tools.disassemble import decode_text_section
from tests.isa.test_listing import compiled
from tests.nvtools import LIMIT_S, tool

FILES = {"GPR": K_R, "UGPR": K_UR, "PRED": K_P, "UPRED": K_UP}
WIDEST = 8


def written(d: Decoded, file_kind: int) -> set[int]:
    constant = 255 if file_kind in (K_R, K_UR) else 7
    return {o >> PAYLOAD_SHIFT for o in d.dst if kind_of(o) == file_kind} - {constant}


def columns(head: str, numbers: str) -> dict[tuple[str, int], int]:
    """Column of each register: from the two heading lines of a section."""
    start = numbers.index("// |") + 4
    names = [x.strip() for x in head[start:].split("|")]
    out = {}
    for name, cell in zip(names, numbers[start:].split("|"), strict=False):
        for m in re.finditer(r"\d+", cell):
            out[name, int(m.group())] = start + m.end() - 1
        start += len(cell) + 1
    return out


def test_results_are_what_the_life_ranges_say(tmp_path: Path) -> None:
    path = compiled(tmp_path, "sm_90")
    text = subprocess.run(
        [tool("nvdisasm"), "-c", "-plr", str(path)], check=True, capture_output=True, text=True, timeout=LIMIT_S
    ).stdout.splitlines()
    code = {s.name: s.data for s in ElfFile(path.read_bytes()).sections if s.name.startswith(".text.")}
    section: list[Decoded] = []
    where: dict[tuple[str, int], int] = {}
    checked = 0
    for i, row in enumerate(text):
        m = re.search(r"\.section\s+(\.text\.[^,\s]+)", row)
        if m:
            section = decode_text_section(code[m.group(1)], "sm_90")
        if re.search(r"// \|\s+#\s+0", row):
            where = columns(text[i - 1], row)
        m = re.match(r"\s*/\*([0-9a-f]+)\*/", row)
        if not m or not where:
            continue
        d = section[int(m.group(1), 16) // 16]
        if d.op.base == "CALL":
            continue
        for name, file_kind in FILES.items():
            shown = {r for (n, r), at in where.items() if n == name and at < len(row) and row[at] in "^x"}
            mine = written(d, file_kind) if any(n == name for n, _ in where) else set()
            reach = {r + k for r in mine for k in range(WIDEST)} if file_kind in (K_R, K_UR) else mine
            assert mine <= shown <= reach, row
            checked += len(shown)
    assert checked > 60
