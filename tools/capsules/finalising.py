"""Sends instructions through nvlink, which finalises them for another SM of the family, and says what becomes of them."""

import subprocess
from pathlib import Path
from typing import Final

from orias.cubin import nvinfo
from orias.cubin.capsule.capsule_rules import Rules, use_rules
from orias.cubin.elf import ElfFile
from orias.cubin.model import CubinModule, KernelCode
from orias.cubin.writer import write
from orias.isa.decode import Decoded
from orias.isa.isa_table import IllegalWord, IsaTable, load
from orias.isa.op import F_READ, F_WRITE, op
from orias.isa.operand import NOT_PT, PT, Opnd
from orias.target.decoder_class import table_of_sm
from orias.timing.ctl import NO_BARRIER, read_barrier, wait_mask, write_barrier
from tests.nvtools import tool
from tools.capsules.arrival_states import without_states

FAMILY = {"sm_100": "sm_103", "sm_120": "sm_121", "sm_100f": "sm_103f", "sm_120f": "sm_121f"}
"""The SM of an object, and the SM that nvlink makes code for."""
LIMIT_S = 2.0
"""Time for an object of instructions; nvlink needs a tenth of it, or does not end."""
_BATCH = 40
"""Functions in an object."""
_EXIT_CONTROL = 0x7F5
RIGHT = ""
NO_CONTROL = (1 << 105) - 1
_NOP, _BRANCH, _STOP = 0x918, 0x947, 0x94D
"""Low twelve bits of words."""
WEAK_FENCE = "MEMBAR.ALL.CTA"
"""The linker decides anew whether it stands before a stronger one."""
FENCED: Final = ("USTGR", "UREDGR")
"""Releases to global memory by the uniform datapath: the linker writes a branch that is never taken and a weak fence before each,
and a wait after both."""
NEVER_TAKEN: Final = "BRA.U"
_WAITS: Final = ("NOP", "CCTL.IVALL")
"""What stands after an access that acquires, and waits for it."""
_NULL_ACCESS = 0xF984
"""Low 16 bits of an LDS that is never executed."""


def finalise(data: bytes, arch: str, folder: Path, limit_s: float) -> tuple[bytes, str]:
    """What nvlink makes of an object; or nothing, and why."""
    path, out = folder / "a.o", folder / "f.cubin"
    path.write_bytes(data)
    out.unlink(missing_ok=True)
    command = [tool("nvlink"), "-arch", FAMILY[arch], str(path), "-o", str(out)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=limit_s)
    except subprocess.TimeoutExpired:
        return b"", "nvlink does not end"
    if done.returncode or not out.exists():
        return b"", f"nvlink ends with {done.returncode} {(done.stdout + done.stderr).strip()[:200]}"
    return out.read_bytes(), ""


def instructions(file: ElfFile, section: str, table: IsaTable) -> list[tuple[Opnd, str, list[Opnd], list[Opnd]]]:
    """Guard, operation, results and sources of the instructions of a section, without those that the linker makes anew."""
    code = file.section(section)
    assert code is not None
    out: list[tuple[Opnd, str, list[Opnd], list[Opnd]]] = []
    for at in range(0, len(code.data), 16):
        try:
            d = table.decode(int.from_bytes(code.data[at : at + 16], "little"))
        except IllegalWord:
            out.append((PT, "illegal", [], []))
            continue
        if out and out[-1][1] == WEAK_FENCE and d.op.base in ("MEMBAR", *FENCED):
            out.pop()
            if out and out[-1][1] == NEVER_TAKEN and d.op.base in FENCED:
                out.pop()
        if out and out[-1][1].startswith((*FENCED, WEAK_FENCE)) and d.op.base == "DEPBAR":
            continue
        if d.op.name != "NOP" and (d.op.name, d.guard) != ("LDS", NOT_PT):
            out.append((d.guard, d.op.name, d.dst, d.src))
    while out and out[-1][1] == "BRA":
        out.pop()
    return without_states(out, 0)


def words_of(file: ElfFile, section: str) -> list[int]:
    """The words of a section without control bits, NOPs, null accesses and the branch to itself."""
    code = file.section(section)
    assert code is not None
    words = [int.from_bytes(code.data[at : at + 16], "little") & NO_CONTROL for at in range(0, len(code.data), 16)]
    out = [w for w in words if w & 0xFFF != _NOP and w & 0xFFFF != _NULL_ACCESS]
    while out and out[-1] & 0xFFF == _BRANCH:
        out.pop()
    return out


def _exit_is_right(file: ElfFile, name: str) -> bool:
    """True if the record of the EXITs, which comes from Mercury offsets, has the place of the EXIT."""
    code, info = file.section(f".text.{name}"), file.section(f".nv.info.{name}")
    assert code is not None and info is not None
    places = [at for at in range(0, len(code.data), 16) if (code.data[at] | code.data[at + 1] << 8) & 0xFFF == _STOP]
    found = [r.payload for r in nvinfo.decode(info.data) if r.code == nvinfo.EXIT_INSTR_OFFSETS]
    return found == [b"".join(p.to_bytes(4, "little") for p in places)]


def _acquires(members: list[Decoded]) -> bool:
    """True for a group that ends with what waits for its access."""
    return members[-1].op.name in _WAITS and any(_accesses(d) for d in members)


def _accesses(d: Decoded) -> bool:
    return d.op.flags & (F_READ | F_WRITE) != 0


def waits_for_access(insts: list[Decoded]) -> bool:
    """True if the first access is waited for by what acquires after it."""
    k = next((k for k, d in enumerate(insts) if _accesses(d)), len(insts))
    then = next((d for d in insts[k + 1 :] if d.op.name in _WAITS), None)
    if then is None:
        return False
    barriers = {write_barrier(insts[k].ctl), read_barrier(insts[k].ctl)} - {NO_BARRIER}
    return any(wait_mask(then.ctl) >> b & 1 for b in barriers)


class Finaliser:
    """Judges instructions by a table of rules.  ``calls``: how often nvlink ran."""

    def __init__(self, arch: str, rules: Rules, folder: Path) -> None:
        self.arch, self.folder = arch, folder
        self.table = load(table_of_sm(int(arch[3:].rstrip("f"))))
        self.other = load(table_of_sm(int(FAMILY[arch][3:].rstrip("f"))))
        self.calls = 0
        use_rules(rules)
        self._exit = self.table.encode(op("EXIT"), PT, [], [PT], _EXIT_CONTROL)

    def judge(self, cases: list[list[Decoded]]) -> list[str]:
        """For each case (one instruction, or a group) what is wrong with it; empty if it comes back as it was."""
        out = [RIGHT] * len(cases)
        for start in range(0, len(cases), _BATCH):
            self._judge(cases, list(range(start, min(start + _BATCH, len(cases)))), out)
        return out

    def _judge(self, cases: list[list[Decoded]], chosen: list[int], out: list[str]) -> None:
        data, why = self._object([cases[i] for i in chosen])
        after = b""
        if not why:
            self.calls += 1
            after, why = finalise(data, self.arch, self.folder, LIMIT_S)
        if why:
            if len(chosen) == 1:
                out[chosen[0]] = why
            else:
                half = len(chosen) // 2
                self._judge(cases, chosen[:half], out)
                self._judge(cases, chosen[half:], out)
            return
        ours, theirs = ElfFile(data), ElfFile(after)
        for k, i in enumerate(chosen):
            name = f".text.k{k}"
            same = words_of(ours, name) == words_of(theirs, name)
            same = same or instructions(ours, name, self.table) == instructions(theirs, name, self.other)
            if same and not _exit_is_right(theirs, f"k{k}"):
                out[i] = "wrong length"
            elif same and _acquires(cases[i]) and not waits_for_access(self._code(theirs, name)):
                out[i] = "does not wait for its access"
            elif not same:
                out[i] = "becomes " + " / ".join(self._texts(theirs, f".text.k{k}"))

    def _code(self, file: ElfFile, name: str) -> list[Decoded]:
        section = file.section(name)
        assert section is not None
        words = [int.from_bytes(section.data[at : at + 16], "little") for at in range(0, len(section.data), 16)]
        return [self.other.decode(w) for w in words]

    def _texts(self, file: ElfFile, name: str) -> list[str]:
        section = file.section(name)
        assert section is not None
        words = [int.from_bytes(section.data[at : at + 16], "little") for at in range(0, len(section.data), 16)]
        return [self._text(w) for w in words if self._text(w) not in ("NOP", "EXIT") and "BRA" not in self._text(w)][:4]

    def _text(self, w: int) -> str:
        try:
            return self.other.text(w)
        except IllegalWord:
            return f"{w:#x}"

    def _object(self, cases: list[list[Decoded]]) -> tuple[bytes, str]:
        """An object with a function for each case, and why it has no capsules."""
        m = CubinModule(self.arch, True)
        m.capsules, m.ptx_sm, m.options = True, int(self.arch[3:].rstrip("f")), f"-arch {self.arch} "
        for i, members in enumerate(cases):
            words = [*(self.table.encode_decoded(d) for d in members), self._exit]
            k = KernelCode(f"k{i}", b"".join(w.to_bytes(16, "little") for w in words))
            k.num_regs = 254
            k.exit_offsets = [16 * len(members)]
            m.kernels.append(k)
        return write(m), m.no_capsule
