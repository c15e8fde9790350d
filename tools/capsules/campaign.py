"""``python -m tools.capsules.campaign``: objects of random programs, kernels and forms with capsules through nvlink.

Each object is finalised for the sibling SM: every function must have the instructions that it had, and random programs must
do there, in the simulator, what their PTX says.  Also counts the instructions that no rule covers; ``--missing`` writes their
signatures, which ``tools.capsules.build`` takes.
"""

import argparse
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from orias.compiler import compile_text
from orias.cubin.capsule.capsule_rules import Rules, load_rules, use_rules
from orias.cubin.capsule.capsule_writer import missing_rules
from orias.cubin.capsule.signature import signature
from orias.cubin.elf import ElfFile
from orias.diag import CompileError
from orias.isa.decode import IllegalWord
from orias.isa.isa_table import IsaTable, load
from orias.isa.op import F_BRANCH, F_CALL, F_RETURNS
from orias.isa.operand import NOT_PT, PT, Opnd, payload
from orias.options import Options
from orias.sim.core.sim_errors import SimError
from orias.target.decoder_class import table_of_sm
from orias.tools.fuzz.generate import generate
from orias.tools.fuzz.judge import case_of
from orias.tools.validate.verify_compile import Verifier, ptx_outcome
from tests.asynchronous.test_programs import PROGRAMS as ASYNCHRONOUS
from tests.forms.form import module_text
from tests.forms.generate import all_forms
from tests.kernels.test_kernels import NAMES, source
from tools.capsules.arrival_states import without_states
from tools.capsules.finalising import FAMILY, FENCED, NEVER_TAKEN, NO_CONTROL, WEAK_FENCE, finalise
from tools.capsules.instances import CONTROL

LIMIT_S = 10.0
"""Time for nvlink."""
_FORMS = 8
"""Forms in an object."""
KINDS = ("random", "kernels", "forms", "asynchronous")

_FENCE = "FENCE.VIEW.ASYNC.S"

Instruction = tuple[int, Opnd, str, list[Opnd], list[Opnd]]


def texts(kind: str, arch: str, first: int, count: int, budgets: list[int]) -> Iterator[tuple[str, str, int]]:
    """Names, PTX and seeds (-1: not a random program) of the sources of a kind."""
    if kind == "random":
        for n in range(first, first + count):
            yield f"random-{n}", generate(n, budgets[n % len(budgets)], arch), n
    elif kind == "kernels":
        for name in NAMES[first : first + count]:
            yield name, source(name), -1
    elif kind == "asynchronous":
        for p in [p for p in ASYNCHRONOUS if p.fits(arch)][first : first + count]:
            yield p.name, p.text(arch), -1
    else:
        sm = int(arch[3:].rstrip("f"))
        mine = [f for forms in all_forms().values() for f in forms if f.sm <= sm and (not f.archs or arch in f.archs)]
        for i in range(first, min(first + count, len(mine)), _FORMS):
            yield f"{mine[i].name} ...", module_text(mine[i : i + _FORMS], arch), -1


def _code(file: ElfFile, section: str, table: IsaTable) -> list[Instruction]:
    """The instructions of a section: word without control bits, guard, operation, results, sources (of branches none).

    Left out is what the linker makes anew: NOPs, null accesses, the branch to itself, waits for scoreboards but the one that asynchronous
    copies use, a weak fence before a stronger one or a release to global memory, and the fence that may stand before operations of barriers in memory.
    """
    code = file.section(section)
    assert code is not None
    out: list[Instruction] = []
    for at in range(0, len(code.data), 16):
        w = int.from_bytes(code.data[at : at + 16], "little") & NO_CONTROL
        try:
            d = table.decode(w | CONTROL << 105)
        except IllegalWord:
            out.append((w, PT, "illegal", [], []))
            continue
        if out and (
            (out[-1][2] == WEAK_FENCE and d.op.base in ("MEMBAR", *FENCED))
            or (out[-1][2] == _FENCE and d.op.base == "SYNCS")
        ):
            out.pop()
            if out and out[-1][2] == NEVER_TAKEN and d.op.base in FENCED:
                out.pop()
        if (
            d.op.base == "DEPBAR"
            and d.src
            and (payload(d.src[0]) != 0 or (out and out[-1][2].startswith((*FENCED, WEAK_FENCE))))
        ):
            continue
        places = d.op.flags & (F_BRANCH | F_CALL | F_RETURNS) or d.op.base == "BSSY"
        if d.op.name != "NOP" and (d.op.name, d.guard) != ("LDS", NOT_PT):
            out.append((0 if places else w, d.guard, d.op.name, d.dst, [] if places else d.src))
    while out and out[-1][2] == "BRA":
        out.pop()
    return without_states(out, 1)


def differences(before: bytes, after: bytes) -> tuple[int, list[str]]:
    """Number of functions compared, and for each whose instructions changed the first that did.

    Where the code has relocations, immediates of moves are addresses, and constants of LDC places of tables, which the linker fills in.
    """
    mine, other = ElfFile(before), ElfFile(after)
    tables: list[IsaTable] = [load(table_of_sm(f.sm)) for f in (mine, other)]
    names = [s.name for s in mine.sections if s.name.startswith(".text.") and other.section(s.name) is not None]
    out: list[str] = []
    for name in names:
        x, y = _code(mine, name, tables[0]), _code(other, name, tables[1])
        filled = mine.section(f".rela{name}") is not None
        at = next(
            (i for i, (p, q) in enumerate(zip(x, y, strict=False)) if not _equal(p, q, filled)),
            -1 if len(x) == len(y) else min(len(x), len(y)),
        )
        if at >= 0:
            texts_ = [
                t.text(c[at][0] | CONTROL << 105) if at < len(c) and c[at][0] else "another one"
                for t, c in zip(tables, (x, y), strict=True)
            ]
            out.append(f"{name}, instruction {at} of {len(x)}, {len(y)}: {texts_[0]} becomes {texts_[1]}")
    return len(names), out


def _equal(p: Instruction, q: Instruction, filled: bool) -> bool:
    return (
        (p[0] != 0 and p[0] == q[0])
        or p[1:] == q[1:]
        or (filled and p[1:4] == q[1:4] and p[2] in ("MOV", "UMOV", "LDC"))
    )


def wrong_result(text: str, seed: int, arch: str, data: bytes) -> str:
    """What a finalised random program does otherwise than its PTX; empty: nothing."""
    try:
        v = Verifier(text, Options(arch), data)
        case = case_of(seed, v.module)
        want = ptx_outcome(v.module, arch, case, v.image)
        if want.error is not None:
            return ""
        found = v.compare("k", case, want, False)
    except SimError as e:
        return f"cannot be run: {e}"
    return found.text() if found is not None else ""


class Campaign:
    """Counts, what was wrong, and the signatures without rule (with how often, and an instruction)."""

    def __init__(self, arch: str, level: int, folder: Path, simulate: bool) -> None:
        self.arch, self.level, self.folder, self.simulate = arch, level, folder, simulate
        self.counts: Counter[str] = Counter()
        self.wrong: list[tuple[str, str, str]] = []
        self.missing: dict[str, tuple[int, str]] = {}
        self.refusals: Counter[str] = Counter()

    def one(self, name: str, text: str, seed: int) -> None:
        """Compile and finalise one module."""
        o = Options(self.arch, self.level)
        o.compile_only, o.capsules, o.fmad = True, "allow", seed < 0
        try:
            done = compile_text([(name, text)], o)
        except CompileError:
            self.counts["refused"] += 1
            return
        self.counts["objects"] += 1
        if done.no_capsule:
            self._why(name, done.data, done.no_capsule)
            return
        self.counts["with capsules"] += 1
        after, why = finalise(done.data, self.arch, self.folder, LIMIT_S)
        if why and "ndefined reference" in why:
            self.counts["undefined names"] += 1
            return
        if why:
            self.counts["not finalised"] += 1
            self.wrong.append((name, text, why))
            return
        self.counts["finalised"] += 1
        functions, changed = differences(done.data, after)
        self.counts["functions"] += functions
        self.counts["changed"] += len(changed)
        self.wrong += [(name, text, x) for x in changed]
        if seed >= 0 and self.simulate and not changed:
            found = wrong_result(text, seed, FAMILY[self.arch], after)
            self.counts["run"] += 1
            if found:
                self.counts["wrong results"] += 1
                self.wrong.append((name, text, found))

    def _why(self, name: str, data: bytes, reason: str) -> None:
        file = ElfFile(data)
        table = load(table_of_sm(file.sm))
        found = 0
        for s in file.sections:
            if s.name.startswith(".text."):
                for members, at in missing_rules(s.data, table, load_rules()):
                    key = signature(members)
                    n, example = self.missing.get(key, (0, f"{name}{s.name}+{at:#x}: {table.text(members[0])}"))
                    self.missing[key] = n + 1, example
                    found += 1
        if not found:
            self.refusals[reason] += 1


def main(arguments: list[str]) -> int:
    """The command line; exit code 1 if anything changed."""
    parser = argparse.ArgumentParser(prog="python -m tools.capsules.campaign", description=__doc__)
    parser.add_argument("--arch", default="sm_100", choices=sorted(FAMILY))
    parser.add_argument("--level", type=int, default=3)
    parser.add_argument("--kind", default="random", choices=KINDS)
    parser.add_argument("--first", type=int, default=0, help="first seed or source")
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--budgets", default="8,20", help="statements of random programs, in turn")
    parser.add_argument("--seconds", type=float, default=150.0)
    parser.add_argument("--no-run", action="store_true", help="do not run random programs in the simulator")
    parser.add_argument("--rules", type=Path, help="another table of rules")
    parser.add_argument(
        "--missing", type=Path, help="write the signatures without rule, one a line, after their number"
    )
    parser.add_argument("--out", type=Path, help="a folder for the PTX of what is wrong")
    o = parser.parse_args(arguments)
    if o.rules is not None:
        use_rules(Rules(o.rules.read_text(encoding="utf-8").splitlines()))
    start = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        c = Campaign(o.arch, o.level, Path(folder), not o.no_run)
        budgets = [int(b) for b in o.budgets.split(",")]
        for name, text, seed in texts(o.kind, o.arch, o.first, o.count, budgets):
            if time.monotonic() - start > o.seconds:
                print(f"time, before {name}")
                break
            c.one(name, text, seed)
    print(f"{o.arch} -O{o.level} {o.kind}: {dict(c.counts)}, {time.monotonic() - start:.0f} s")
    for name, text, why in c.wrong:
        print(f"WRONG {name}: {why}")
        if o.out is not None:
            o.out.mkdir(parents=True, exist_ok=True)
            (o.out / f"{name.split()[0]}.{o.arch}.ptx").write_text(text, encoding="utf-8")
    for why, n in c.refusals.most_common():
        print(f"{n} without capsules: {why}")
    rows = sorted(c.missing.items(), key=lambda x: -x[1][0])
    for key, (n, example) in rows:
        print(f"{n} without rule: {key}    {example}")
    if o.missing is not None:
        o.missing.write_text("".join(f"{n}\t{key}\t{example}\n" for key, (n, example) in rows), encoding="utf-8")
    return 1 if c.wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
