"""Why cubins of Orias differ from ptxas's in sections, symbols, relocations and records: the list of docs/cubin.md as patterns.

A difference is a line of `tools.compare_records` after its sign (``+``: Orias only, ``-``: ptxas only), in a program and a kind of
file (``sm_80 exe``).  The first reason whose patterns match all three is that of the difference.  Order lines have none of their own:
:func:`unexplained_order` looks at what both sides have.
"""

import re
from collections import Counter
from collections.abc import Iterable
from typing import Final, NamedTuple


class Reason(NamedTuple):
    """A reason: its name in the docs, and regular expressions for whole program names, kinds of file, and parts of lines."""

    name: str
    programs: str
    kinds: str
    lines: str


_WARP = "vote|vote_mask|shfl|shfl_mask|match|warpsync|redux|ballot1|warpsyncr"
_TEXTURE = "tex_param|texpar.*|texsurf|texref_unified|surfref_unified|suq_ref"

REASONS: Final = (
    Reason("Sums by shuffles", "atom_(gpu|sys|generic|shared)", ".*", r"- record .* INT_WARP_WIDE_INSTR_OFFSETS"),
    Reason("16-bit atomics", "atom_(f16|bf16|cas16)", ".*", r"- record .* ATOM16_EMUL_INSTR_REG_MAP"),
    Reason("Checks of tcgen05", "tcgen05_.*", "sm_100a .*", r"__cuda_sm10x_|__internal_\d_|(COOP_GROUP|INT_WARP_WIDE|MBARRIER)"),
    Reason("Checks of tcgen05", "tcgen05_.*", "sm_100a .*", r"reserved|type 5[67] symbol k|debug_frame type 2 "),
    Reason("Helpers", "div_.*", ".*", r"__cuda_|__internal_\d_|__div_|CRS_STACK_SIZE|\.rela?\.(text|debug_frame)"),
    Reason("Warp operations", _WARP, r"sm_80 -[cg]", r"__cuda_|\.nv\.prototype|COOP_GROUP|CRS_STACK|\.rela?\.(text|debug_frame)"),
    Reason("EXIT after trap", "assertfail|exits|trap\\d", r".* (exe|-c)", r"EXIT_INSTR_OFFSETS"),
    Reason("Convergence barriers", "brx|exits|alloca|trap\\d|recursive|bulk|tma|tcgen05_mma|mbarrier\\d+", ".*", r"record .* CRS_STACK_SIZE"),
    Reason("Addresses in operands", "shared_.*|shinf2|atom_shared.*|two_kernels|ldmatrix|cpasync|mbarrier80|const.*", "sm_80 -c",
           r"reloc \.rela?\.text\.\w+ type (55|59|64|74|100) |section \.rela?\.text"),
    Reason("Addresses in operands", "const.*", ".* -c", r"reloc \.rela\.text\.k type (59|66) "),
    Reason("Addresses in operands", _TEXTURE, r"sm_1\d\da -c", r"reloc \.rela\.text\.k type (66|115) "),
    Reason("YIELD that a linker clears", "mbarrier80", "sm_80 -c", r"type (68|69) |section \.rela\.text"),
    Reason("Calls of oneself", "recursive", ".* -[cg]", r"reloc \.rela?\.text\.f type (58|75) symbol f|section \.rel\.text\.f"),
    Reason("Branch tables", "brxf?", ".*", r"constant2|INDIRECT_BRANCH_TARGETS|\.rel\.text|const_opt"),
    Reason("Shared variables of functions", "shinf2", ".*", r"\.nv\.shared|nv_debug\.shared|\.rela?\.text|section order|symbol (\$__u__|\w+ bind 0 type 1 )"),
    Reason("Unused extern variables", "extglob2", ".* -c", r"- symbol unused "),
    Reason("Masks of aliases", "alias.*", ".* -g", r"SPARSE_MMA_MASK"),
    Reason("Unused words of loads", "mma_sp1", ".* -g", r"- record .* UNUSED_LOAD_BYTE_OFFSET"),
    Reason("Registers of warpgroups", "setmaxnreg", "sm_100a -g", r"\+ record .* REG_RECONFIG"),
    Reason("Arrivals without clusters", "cluster", ".* -g", r"- record .* COOP_GROUP"),
)  # fmt: skip


IN_FILES: Final = (
    Reason("Helpers", ".*", ".*", r"__cuda_sm(20|3x)_|__internal_\d_|__div_|\.rela?\.text\.\S+ type (56|57|58|75) "),
    Reason("Warp operations", ".*", "sm_[78].* -c", r"__cuda_sm70_|\.nv\.prototype|COOP_GROUP"),
    Reason("Helpers", ".*", ".*", r"\.rela?\.debug_frame|section \.rela?\.text"),
    Reason("16-bit atomics", ".*", ".*", r"- record .* ATOM16_EMUL_INSTR_REG_MAP"),
    Reason("Sums by shuffles", ".*", ".*", r"INT_WARP_WIDE_INSTR_OFFSETS"),
    Reason("Convergence barriers", ".*", ".*", r"record .* CRS_STACK_SIZE"),
    Reason("EXIT after trap", ".*", ".*", r"EXIT_INSTR_OFFSETS"),
    Reason("YIELD that a linker clears", ".*", ".* -c", r"- reloc \S+ type (68|69) "),
    Reason("Addresses in operands", ".*", ".* -c", r"reloc \.rela?\.text\.\S+ type (55|59|64|65|66|74|100|115) "),
    Reason("Branch tables", ".*", ".*", r"constant2|INDIRECT_BRANCH_TARGETS|const_opt"),
    Reason("Unused extern variables", ".*", ".* -c", r"- symbol \S+ bind 1 type 13 .* in  value"),
    Reason("Two ways through warp operations", ".*", "sm_(9|1).* -c", r"record .* COOP_GROUP_\w+ of \d+ words"),
    Reason("Spills", ".*", ".*", r"record .* ANNOTATIONS"),
    Reason("Samplers of texels", ".*tex-read.*", ".*", r"- reloc \.rela?\.nv\.constant0|section \.nv\.constant0"),
)  # fmt: skip
"""The reasons by differences alone, for files that are not among the small programs: what else could differ so has its program there."""


def reason_of(program: str, kind: str, line: str) -> str:
    """The name of a difference's reason, or nothing; a program with a slash in its name is a file of a folder."""
    for r in IN_FILES if "/" in program else REASONS:
        if re.fullmatch(r.programs, program) and re.fullmatch(r.kinds, kind) and re.search(r.lines, line):
            return r.name
    return ""


def unexplained_order(ours: Iterable[str], theirs: Iterable[str]) -> list[str]:
    """Orders (of sections, of the records of a section) in which what both have comes differently."""
    mine, other = _orders(ours), _orders(theirs)
    out = []
    for what in sorted(mine.keys() & other.keys()):
        common = Counter(mine[what]) & Counter(other[what])
        a, b = ([x for x in names if common[x]] for names in (mine[what], other[what]))
        # A record that one side has more often stands somewhere else only because of that.
        if list(dict.fromkeys(a)) != list(dict.fromkeys(b)):
            out.append(what)
    return out


def _orders(lines: Iterable[str]) -> dict[str, list[str]]:
    found = {}
    for line in lines:
        what, marker, names = line.partition(" order ")
        if marker:
            found[what] = names.split()
    return found
