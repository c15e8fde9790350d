"""What is compiled to derive the rules: forms of the tests, kernels, one-instruction and random programs, files of the corpus.

A one-instruction program is a line of ``programs.txt``.  A fifth of the sources, chosen by their names, gives no rules: it judges them.
"""

import hashlib
import itertools
import random
import re
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

from orias.tools.fuzz.generate import generate
from tests.asynchronous.test_programs import PROGRAMS as PROGRAMS_OF_COPIES
from tests.corpus.test_corpus import needs_objects
from tests.forms.form import module_text
from tests.forms.generate import all_forms
from tests.kernels.test_kernels import NAMES, source
from tests.nvtools import tool
from tests.ptx.corpus import small_files
from tests.tensor_memory.test_programs import ALL as TENSOR_PROGRAMS

PROGRAMS = Path(__file__).with_name("programs.txt")
BATCH = 60
"""Kernels in a module."""
SMALL_BATCH = 4
"""The same for asynchronous programs, which ptxas may refuse together."""
TENSOR_STEP = 7
"""Every seventh program of tensor memory."""
SEED = 7
FUZZ = 100
"""Programs of ``orias fuzz``, every second one as an object."""
FUZZ_BUDGETS = (20, 20, 40, 40)
"""Their statements."""
_TIME_LIMIT = 200
_TRIES = 80
_CRASH = "crash"
_ALTERNATIVES = re.compile(r"<([^<>]*)>")
_STORES = {"%r": "b32", "%rd": "b64", "%f": "b32", "%d": "b64", "%h": "b16"}
_HEAD = """.version 9.0
.target {arch}
.address_size 64
.global .align 8 .b8 gv[64];
.const .align 8 .b8 cv[64];
.global .texref tx;
.global .surfref su;
"""
KERNEL = """.visible .entry g{number}(.param .u64 p0,.param .u32 a0,.param .u32 a1,.param .u64 b0,.param .u64 b1,.param .f32 f0,.param .f64 d0)
{{
.reg .pred %p<12>; .reg .b16 %h<12>; .reg .b32 %r<32>; .reg .b64 %rd<32>; .reg .f32 %f<12>; .reg .f64 %d<12>; .shared .align 128 .b8 sm{number}[4096];
ld.param.u64 %rd1,[p0]; ld.param.u32 %r20,[a0]; ld.param.u32 %r21,[a1]; ld.param.u64 %rd20,[b0]; ld.param.u64 %rd21,[b1]; ld.param.f32 %f9,[f0]; ld.param.f64 %d9,[d0];
mov.u32 %r1,%tid.x; mul.wide.u32 %rd2,%r1,8; add.s64 %rd3,%rd1,%rd2;
ld.global.u32 %r2,[%rd3]; ld.global.u32 %r3,[%rd3+4096]; ld.global.u32 %r4,[%rd3+8192]; ld.global.u64 %rd4,[%rd3+16384]; ld.global.u64 %rd5,[%rd3+32768];
ld.global.f32 %f1,[%rd3+65536]; ld.global.f32 %f2,[%rd3+65540]; ld.global.f32 %f3,[%rd3+65544]; ld.global.f64 %d1,[%rd3+131072]; ld.global.f64 %d2,[%rd3+131080];
setp.ne.s32 %p1,%r4,77; setp.gt.f32 %p2,%f3,0f3f800000; setp.lt.s32 %p5,%r2,%r3; setp.lt.s32 %p6,%r3,%r4; setp.gt.f32 %p7,%f1,%f2; add.u32 %r22,%r20,5; cvt.u16.u32 %h1,%r2; cvt.u16.u32 %h2,%r3;
{body}
ret;
}}
"""
"""A kernel around the body of a program: values from memory and from parameters in registers of every kind."""


class Source:
    """A module: its name (which decides whether it is held apart), its PTX for a target, and whether it must be an object.

    ``kernels``: the bodies of its kernels, if those that ptxas refuses may be left out; then there is no text.
    """

    def __init__(self, name: str, text: str, relocatable: bool = False, kernels: list[str] | None = None) -> None:
        self.name = name
        self.text = text
        self.relocatable = relocatable
        self.kernels = kernels


def held_apart(name: str) -> bool:
    """True for the fifth of the sources that no rule comes from."""
    return hashlib.sha1(name.encode()).digest()[0] % 5 == 0


def expand(line: str) -> Iterator[str]:
    """The programs of a line: each combination of the alternatives in angle brackets."""
    parts = _ALTERNATIVES.split(line)
    choices = [part.split("/") if i % 2 else [part] for i, part in enumerate(parts)]
    for chosen in itertools.product(*choices):
        yield "".join(chosen)


def with_stores(program: str, offset: int = 0) -> str:
    """PTX of a program ``instructions store registers``: the registers are stored, predicates as numbers."""
    code, _, registers = program.partition("store ")
    out = [code.strip()]
    for i, register in enumerate(registers.split()):
        place = f"[%rd3+{offset + 8 * i}]"
        if register.startswith("%p"):
            out.append(f"selp.u32 %r{30 + i % 2},{5 + i},0,{register}; st.global.u32 {place},%r{30 + i % 2};")
        else:
            out.append(f"st.global.{_STORES[register.rstrip('0123456789')]} {place},{register};")
    return " ".join(out)


def programs(path: Path = PROGRAMS) -> list[str]:
    """All one-instruction programs of a file, in a fixed order that mixes them."""
    lines = path.read_text(encoding="utf-8").splitlines()
    out = [p for line in lines if line and not line.startswith("#") for p in expand(line)]
    random.Random(SEED).shuffle(out)
    return out


def random_programs(count: int) -> list[str]:
    """Bodies that are sequences of one-instruction programs, some in branches."""
    rng = random.Random(SEED)
    pool = programs()
    out: list[str] = []
    for _ in range(count):
        parts: list[str] = []
        for i, program in enumerate(rng.sample(pool, rng.randrange(3, 9))):
            text = with_stores(program, 256 * i).replace("L{n}", f"L{{n}}_{i}")
            parts.append(
                f"@{rng.choice(('%p1', '!%p2', '%p5'))} bra M{{n}}_{i}; {text} M{{n}}_{i}:"
                if rng.random() < 0.4
                else text
            )
        out.append("\n".join(parts))
    return out


def module_of(kernels: list[str], arch: str) -> str:
    """A module of bodies."""
    out = [_HEAD.format(arch=arch)]
    for number, body in enumerate(kernels):
        out.append(KERNEL.format(number=number, body=body.replace("{n}", str(number))))
    return "".join(out)


def sources_of(path: Path) -> Iterator[Source]:
    """The programs of a file alone, as executables and as objects."""
    bodies = [with_stores(p) for p in programs(path)]
    for kind, relocatable in (("program", False), ("object", True)):
        for i in range(0, len(bodies), BATCH):
            part = bodies[i : i + BATCH]
            yield Source(f"{kind}-{i // BATCH}", "", relocatable, part)


def sources(arch: str, files: int, random_count: int) -> Iterator[Source]:
    """All sources for a target, with `files` files of the corpus and `random_count` random programs."""
    sm = int(arch[3:].rstrip("af"))
    for family, forms in all_forms().items():
        mine = [f for f in forms if f.sm <= sm and (not f.archs or arch in f.archs) and f.judged]
        for i in range(0, len(mine), BATCH):
            yield Source(f"form-{family}-{i // BATCH}", module_text(mine[i : i + BATCH], arch))
    for name in NAMES:
        yield Source(f"kernel-{name}", source(name))
    for kind, bodies in (("program", [with_stores(p) for p in programs()]), ("random", random_programs(random_count))):
        for i in range(0, len(bodies), BATCH):
            part = bodies[i : i + BATCH]
            yield Source(f"{kind}-{i // BATCH}", "", kernels=part)
    yield from asynchronous_sources(arch)
    for n in range(FUZZ):
        yield Source(f"fuzz-{n}", generate(SEED + n, FUZZ_BUDGETS[n % len(FUZZ_BUDGETS)], arch), bool(n % 2))
    found = small_files(arch)
    random.Random(SEED).shuffle(found)
    for path in found[:files]:
        text = path.read_text(errors="replace")
        yield Source(f"corpus-{hashlib.sha1(str(path.name).encode()).hexdigest()[:12]}", text, needs_objects(text))


def asynchronous_sources(arch: str) -> Iterator[Source]:
    """Programs of barriers in memory, bulk and tensor copies, clusters, and tensor memory."""
    mine = [p for p in PROGRAMS_OF_COPIES if p.fits(arch)]
    for i in range(0, len(mine), SMALL_BATCH):
        kernels = "".join(p.kernel(f"g{k}") for k, p in enumerate(mine[i : i + SMALL_BATCH]))
        yield Source(f"asynchronous-{i // SMALL_BATCH}", f".version 9.0\n.target {arch}\n.address_size 64\n{kernels}")
    tensor = [p for p in TENSOR_PROGRAMS if arch in p.targets]
    for i, program in enumerate(tensor[::TENSOR_STEP]):
        yield Source(f"tensor-{i}", program.text(arch))


def _compile(text: str, arch: str, level: int, options: list[str], out: Path) -> str | None:
    """The messages if ptxas refuses PTX, nothing if it compiled it, or ``time`` if it takes too long."""
    path = out.with_suffix(".ptx")
    path.write_text(text)
    command = [tool("ptxas"), f"-O{level}", "-arch", arch, *options, str(path), "-o", str(out)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_TIME_LIMIT)
    except subprocess.TimeoutExpired:
        return "time"
    finally:
        path.unlink()
    return None if done.returncode == 0 else done.stderr + done.stdout or _CRASH


def compile_source(source_: Source, arch: str, level: int, out: Path) -> bool:
    """Compile with line information (which gives equations of lengths); kernels that ptxas refuses are left out."""
    options = ["-c"] if source_.relocatable else []
    text, kernels = source_.text, source_.kernels
    if kernels is not None:
        text = module_of(kernels, arch)
    for _ in range(_TRIES):
        messages = _compile(text, arch, level, [*options, "-lineinfo"], out)
        if messages is None:
            return True
        if kernels is None:
            return _compile(text, arch, level, options, out) is None
        wrong = _refused(text, messages)
        if messages == _CRASH:
            wrong = _crashing(kernels, list(range(len(kernels))), arch, level, options, out)
        if not wrong:
            return False
        kernels = [k for i, k in enumerate(kernels) if i not in wrong]
        text = module_of(kernels, arch)
    return False


def _crashing(kernels: list[str], numbers: list[int], arch: str, level: int, options: list[str], out: Path) -> set[int]:
    """Numbers of the kernels, among some, that ptxas crashes on."""
    part = module_of([kernels[i] for i in numbers], arch)
    if _compile(part, arch, level, [*options, "-lineinfo"], out) != _CRASH:
        return set()
    if len(numbers) == 1:
        return set(numbers)
    half = len(numbers) // 2
    return _crashing(kernels, numbers[:half], arch, level, options, out) | _crashing(
        kernels, numbers[half:], arch, level, options, out
    )


def _refused(text: str, messages: str) -> set[int]:
    """Numbers of the kernels that messages are about."""
    lines = text.split("\n")
    out: set[int] = set()
    for number in {int(n) for n in re.findall(r"line '?(\d+)", messages)}:
        for line in reversed(lines[:number]):
            m = re.match(r"\.visible \.entry g(\d+)\(", line)
            if m:
                out.add(int(m.group(1)))
                break
    return out


def gather(
    folder: Path,
    arches: list[str],
    files: int,
    random_count: int,
    say: Callable[[str], None],
    only: Path | None = None,
    kinds: tuple[str, ...] = (),
) -> None:
    """Compile what is not yet in the folder, as ``<target>.<source>.O<level>.cubin``; `only`: a file of programs instead of all; `kinds`: first words of names."""
    folder.mkdir(parents=True, exist_ok=True)
    for arch in arches:
        done = refused = 0
        for s in sources(arch, files, random_count) if only is None else sources_of(only):
            if kinds and not s.name.startswith(kinds):
                continue
            for level in (3,) if s.name.startswith("corpus") else (3, 0):
                out = folder / f"{arch}.{s.name}.O{level}.cubin"
                if out.exists() or compile_source(s, arch, level, out):
                    done += 1
                else:
                    refused += 1
        say(f"{arch}: {done} cubins, {refused} refused by ptxas")
