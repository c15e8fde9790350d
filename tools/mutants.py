"""A campaign of mutated inputs: no traceback, no end over 10 s, none over 1.5 GB, exit 0 or 255, output if and only if 0.

    python tools/mutants.py ptx FOLDER --count 20000 --seed 1
    python tools/mutants.py as LISTING_OR_FOLDER --count 2500        (also dis, check, with cubins)

Mutants of PTX are mild (registers, types, labels, numbers, lines) and wild (bytes), by halves.  All run in this process under
an alarm, which is what makes thousands cheap; what fails is kept in the folder of --keep with its number.
"""

import argparse
import contextlib
import io
import random
import re
import resource
import signal
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import orias
from orias.cli.tools import run_tool

LIMIT_S = 10
MEMORY = 1536 << 20
BIGGEST = 40_000
_WORD = re.compile(rb"%?[A-Za-z_$][\w$]*|\.[a-z]\w*|\b\d\w*")
_TYPES = [
    b".b8",
    b".b16",
    b".b32",
    b".b64",
    b".u8",
    b".u16",
    b".u32",
    b".u64",
    b".s16",
    b".s32",
    b".s64",
    b".f16",
    b".f32",
    b".f64",
    b".pred",
]
_NUMBERS = [b"0", b"1", b"-1", b"31", b"32", b"255", b"65536", b"2147483648", b"4294967295", b"4294967296", b"9223372036854775807",
            b"18446744073709551615", b"99999999999999999999", b"0x7fffffff", b"0f7FC00000", b"1e400"]  # fmt: skip


def mild(data: bytes, r: random.Random) -> bytes:
    """Change one register, type, label or number for another of the text, or move, double or drop a line."""
    if r.random() < 0.4:
        lines = data.split(b"\n")
        i, j = r.randrange(len(lines)), r.randrange(len(lines))
        kind = r.randrange(3)
        if kind == 0:
            del lines[i]
        elif kind == 1:
            lines.insert(j, lines[i])
        else:
            lines[i], lines[j] = lines[j], lines[i]
        return b"\n".join(lines)
    words = list(_WORD.finditer(data))
    if not words:
        return data
    m = r.choice(words)
    word = m.group()
    if word[:1].isdigit():
        new = r.choice(_NUMBERS)
    elif word in _TYPES:
        new = r.choice(_TYPES)
    else:
        new = r.choice([w.group() for w in words[:2000] if w.group()[:1] == word[:1]] or [word])
    return data[: m.start()] + new + data[m.end() :]


def wild(data: bytes, r: random.Random) -> bytes:
    """Change, drop, double or fill bytes."""
    k = r.randrange(max(1, len(data)))
    kind = r.randrange(5)
    n = r.randint(1, 8)
    if kind == 0:
        return data[:k] + bytes([r.randrange(256)]) + data[k + 1 :]
    if kind == 1:
        return data[:k] + data[k + n :]
    if kind == 2:
        return data[:k] + data[k : k + 8 * n] + data[k:]
    if kind == 3:
        return data[:k] + bytes([r.choice([0, 255, 127, 128])]) * n + data[k + n :]
    return (
        data[:k]
        if r.random() < 0.2
        else data[:k] + bytes([data[k] ^ 1 << r.randrange(8)]) + data[k + 1 :]
        if data
        else data
    )


def mutant(data: bytes, r: random.Random) -> bytes:
    """One to three changes, all mild or all wild."""
    change = mild if r.random() < 0.5 else wild
    for _ in range(r.randint(1, 3)):
        data = change(data, r)
    return data


def attempt(kind: str, data: bytes, r: random.Random, folder: Path) -> int:
    """Exit code of one mutant; raises what went through, and AssertionError for an output that should not be."""
    if kind == "ptx":
        try:
            taken = orias.compile(
                data, arch=r.choice(["sm_75", "sm_80", "sm_90", "sm_100a", "sm_120"]), opt_level=r.choice([0, 1, 3])
            )
        except orias.CompileError as e:
            assert any(d.severity in ("error", "fatal") for d in e.diagnostics), "refused without an error"
            return 255
        assert taken.data[:4] == b"\x7fELF", "no cubin"
        return 0
    source, output = folder / "in", folder / "out"
    source.write_bytes(data)
    output.unlink(missing_ok=True)
    said = io.StringIO()
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(said):
        code = run_tool("orias", kind, [str(source), *(["-o", str(output)] if kind == "as" else [])])
    assert code in (0, 1, 255), f"exit code {code}"
    assert "cannot be processed" not in said.getvalue(), said.getvalue()
    assert kind != "as" or output.exists() == (code == 0), "output and exit code"
    return code


def campaign(kind: str, texts: list[bytes], count: int, seed: int, keep: Path | None) -> tuple[Counter[int], list[str]]:
    """Exit codes and faults of `count` mutants."""

    def stop(number: int, frame: object) -> None:
        raise TimeoutError(f"longer than {LIMIT_S} s")

    codes: Counter[int] = Counter()
    faults: list[str] = []
    # Processor time, so that other programs of the machine do not count.
    before = signal.signal(signal.SIGPROF, stop)
    try:
        with tempfile.TemporaryDirectory() as folder:
            for n in range(count):
                r = random.Random(seed << 32 | n)
                data = mutant(r.choice(texts), r)
                signal.setitimer(signal.ITIMER_PROF, LIMIT_S)
                try:
                    codes[attempt(kind, data, r, Path(folder))] += 1
                except (Exception, SystemExit) as e:
                    faults.append(f"mutant {n} of seed {seed}: {type(e).__name__}: {str(e)[:200]}")
                    if keep is not None:
                        keep.mkdir(exist_ok=True, parents=True)
                        (keep / f"{kind}_{seed}_{n}").write_bytes(data)
                finally:
                    signal.setitimer(signal.ITIMER_PROF, 0)
    finally:
        signal.signal(signal.SIGPROF, before)
    return codes, faults


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kind", choices=("ptx", "as", "dis", "check"))
    parser.add_argument("folder", type=Path)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", type=Path)
    a = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    paths = sorted(a.folder.rglob("*.ptx" if a.kind == "ptx" else "*")) if a.folder.is_dir() else [a.folder]
    texts = [p.read_bytes() for p in paths if p.is_file() and 0 < p.stat().st_size <= BIGGEST]
    start = time.process_time()
    codes, faults = campaign(a.kind, texts, a.count, a.seed, a.keep)
    print(
        f"{a.kind}: {a.count} mutants of {len(texts)} files, seed {a.seed}, {time.process_time() - start:.0f} s, exit codes {dict(codes)}"
    )
    for line in faults:
        print(line)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
