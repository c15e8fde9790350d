"""Rates of the instruction tables, and whole-file disassembly compared with nvdisasm.

``python -m bench.isa [--table sm_90] [CUBIN...]``: without cubins it compiles a generated kernel with our own compiler.  Prints words per
second for text, decode, encode and assemble (one process, after one warm-up pass over the same words, and without it), the time
to load the table, and the time of ``orias dis`` and ``nvdisasm -c`` on the largest file, each as a fresh process (best of three,
alternating).  All times are processor time.
"""

import argparse
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

from orias.cubin.elf import ElfFile
from orias.isa.isa_table import load
from orias.target.decoder_class import table_of_sm
from orias.tools.assemble import assemble_instruction
from orias.tools.labels import code_sections
from tests.nvtools import find

STEPS = 400
RUNS = 3


LOADING = """
import sys, time
first = time.process_time()
from orias.isa.isa_table import load
start = time.process_time()
table = load(sys.argv[1])
loaded = time.process_time()
table.text(int(sys.argv[2]))
done = time.process_time()
print(f"imported in {1e3 * (start - first):.1f} ms, loaded in {1e3 * (loaded - start):.1f} ms, first text {1e3 * (done - loaded):.1f} ms later")
"""


def generated(target: str) -> bytes:
    """A kernel with many different instructions."""
    import orias

    body = []
    for i in range(STEPS):
        a, b, c = i % 29, (i * 7 + 3) % 29, (i * 11 + 5) % 29
        body.append(
            f"mad.lo.s32 %r{a}, %r{b}, {i * 37 + 1}, %r{c}; xor.b32 %r{b}, %r{a}, {i * 977}; fma.rn.f32 %f{a}, %f{b}, %f{c}, 0f3F{i:06X};"
        )
        body.append(
            f"setp.lt.s32 %p, %r{a}, %r{c}; @%p add.s32 %r{c}, %r{c}, {i}; ld.global.u32 %r{b}, [%a+{4 * i}]; st.global.f32 [%a+{4 * i}], %f{a};"
        )
    sums = " ".join(f"st.global.u32 [%a+{4000 + 4 * i}], %r{i};" for i in range(29))
    fill = " ".join(f"ld.global.u32 %r{i}, [%a+{8 * i}]; ld.global.f32 %f{i}, [%a+{8 * i + 4}];" for i in range(29))
    text = (
        f".version 8.0\n.target {target}\n.address_size 64\n.visible .entry k(.param .u64 p) {{ .reg .u64 %a; .reg .u32 %r<29>;"
        f" .reg .f32 %f<29>; .reg .pred %p; ld.param.u64 %a, [p]; {fill}\n" + "\n".join(body) + f"\n{sums} ret; }}\n"
    )
    return orias.compile(text, arch=target).data


def rate(name: str, words: int, work: Callable[[], object]) -> None:
    first = time.process_time()
    work()
    cold = time.process_time() - first
    start = time.process_time()
    work()
    warm = time.process_time() - start
    print(f"{name:<22}{words / cold:>12,.0f} words/s cold{words / warm:>12,.0f} words/s warm")


def cpu_seconds(command: list[str]) -> float:
    """Processor time of one process."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, capture_output=True, timeout=300)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def whole_file(path: Path) -> None:
    """Fresh processes on one file, alternating."""
    ours = [sys.executable, "-m", "orias", "dis", str(path)]
    tool = find("nvdisasm")
    best = {"orias dis": 1e9, "nvdisasm -c": 1e9}
    for _ in range(RUNS):
        for name, command in (("orias dis", ours), ("nvdisasm -c", [tool, "-c", str(path)] if tool else None)):
            if command is not None:
                best[name] = min(best[name], cpu_seconds(command))
    size = path.stat().st_size
    for name, seconds in best.items():
        print(f"{name:<22}{seconds:>12.3f} s" if seconds < 1e9 else f"{name}: not installed", f"({size:,} bytes)")


def main(argv: list[str]) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--target", default="sm_90")
    given = parser.parse_args(argv)
    with TemporaryDirectory() as folder:
        files: list[Path] = given.files
        if not files:
            files = [Path(folder) / "k.cubin"]
            files[0].write_bytes(generated(given.target))
        words: list[int] = []
        table_name = ""
        for path in files:
            file = ElfFile(path.read_bytes())
            table_name = table_name or table_of_sm(file.sm)
            if table_of_sm(file.sm) != table_name:
                raise SystemExit("the cubins are for different instruction tables")
            for s in code_sections(file):
                words += [int.from_bytes(s.data[i : i + 16], "little") for i in range(0, len(s.data), 16)]
        table = load(table_name)
        fresh = subprocess.run(
            [sys.executable, "-c", LOADING, table_name, str(words[0])],
            check=True,
            capture_output=True,
            text=True,
            timeout=60,
        )
        lines, forms = len(table.raw.lines()), len(table.raw.forms())
        print(
            f"{table_name}: {lines:,} lines of {forms:,} layouts; {len(words):,} words, {len(set(words)):,} distinct; {fresh.stdout.strip()}"
        )
        rate("text", len(words), lambda: [table.text(w) for w in words])
        rate("decode", len(words), lambda: [table.decode(w) for w in words])
        decoded = [table.decode(w) for w in words]
        rate("encode", len(words), lambda: [table.encode_decoded(d) for d in decoded])
        texts = [table.text(w) for w in words]
        rate("assemble", len(words), lambda: [assemble_instruction(t, table) for t in texts])
        whole_file(max(files, key=lambda p: p.stat().st_size))


if __name__ == "__main__":
    main(sys.argv[1:])
