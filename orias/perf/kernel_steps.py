"""The code of a kernel as steps of the machine model."""

from typing import Final, final

from orias.analysis.access import UR_BASE
from orias.check.code import Node, connect
from orias.check.cubin import SectionCode
from orias.cubin import elf
from orias.cubin.cubin_error import CubinError
from orias.cubin.reader import Reader
from orias.isa.isa_table import IsaTable, load
from orias.isa.operand import K_SB, imm_value, is_imm, is_zero_reg, kind_of, payload
from orias.target.profile import Target, profile_of_sm
from orias.timing.machine_step import StepMaker
from orias.timing.needs import Facts
from orias.timing.step import Step
from orias.timing.units import NEEDS_WRITE

_INST: Final = 16


@final
class KernelCode:
    """A kernel of a cubin.

    ``name``, ``profile`` (its SM), ``registers`` a thread, ``shared`` (static bytes of a block).  ``nodes`` and ``steps``:
    its instructions, one each for 16 bytes of the section.  ``words``: the instruction words.  ``played``: cycles of what
    has been played already, by its digest.
    """

    __slots__ = ("name", "nodes", "played", "profile", "registers", "shared", "steps", "table", "words")

    def __init__(self, name: str, profile: Target, code: SectionCode, words: list[int]) -> None:
        self.name: Final[str] = name
        self.profile: Final[Target] = profile
        self.table: Final[IsaTable] = code.table
        self.nodes: Final[list[Node]] = code.nodes
        self.words: Final[list[int]] = words
        self.registers: int = 0
        self.shared: int = 0
        self.played: Final[dict[bytes, int]] = {}
        connect(code.nodes, code.away, code.tables)
        maker = StepMaker(profile.sm, profile.number("latency_class"))
        self.steps: Final[list[Step]] = [_step(maker, n, w, code.table) for n, w in zip(code.nodes, words, strict=True)]

    def text(self, index: int) -> str:
        """The instruction at an index, as listings print it."""
        return self.table.text(self.words[index], index * _INST)


def kernels(data: bytes, functions: bool = False) -> list[KernelCode]:
    """The kernels of a cubin, in file order, with `functions` also those with a section of their own; CubinError for a file that is none, KeyError for a target without tables."""
    reader = Reader(data)
    wanted = [*reader.kernels, *(reader.functions if functions else ())]
    found = [kernel_of(reader, name) for name in wanted]
    return [code for code in found if code is not None]


def kernel_of(reader: Reader, name: str) -> KernelCode | None:
    """A kernel or function of a cubin that has been read; None if it has no code."""
    section = reader.elf.section(f".text.{name}")
    if section is None or section.type != elf.SHT_PROGBITS or not section.data:
        return None
    if len(section.data) % _INST:
        raise CubinError(f"{section.name}: {len(section.data)} bytes are not a whole number of instructions")
    profile = profile_of_sm(reader.sm)
    table = load(profile.table)
    words = [int.from_bytes(section.data[at : at + _INST], "little") for at in range(0, len(section.data), _INST)]
    facts = Facts(profile.number("latency_class"))
    code = KernelCode(name, profile, SectionCode(reader.elf, section, table, facts), words)
    k = reader.kernels.get(name) or reader.functions[name]
    code.registers, code.shared = k.num_regs, reader.shared_size(name)
    return code


def _step(maker: StepMaker, n: Node, word: int, table: IsaTable) -> Step:
    d = n.d
    scoreboard, count = -1, 0
    if d.op.base == "DEPBAR" and d.op.has("LE"):
        scoreboards = [payload(o) for o in d.src if kind_of(o) == K_SB]
        counts = [imm_value(o) for o in d.src if is_imm(o)]
        if scoreboards:
            scoreboard, count = scoreboards[0], counts[0] if counts else 0
    uniform = all(is_zero_reg(d.src[at + 1]) for at in d.op.addr if at + 1 < len(d.src))
    if not d.op.addr and len(d.src) > 1:
        uniform = is_zero_reg(d.src[1])
    s = maker.make(n.index, d.op, d.ctl, n.needs & NEEDS_WRITE != 0, uniform, scoreboard, count)
    if s.fixed:
        s.sources = [
            u << 2 | field for field, units in n.reuse_slots(table) for u in units if u < UR_BASE and field < 3
        ]
    return s
