"""A campaign of mutated inputs: no traceback, no end over 10 s, none over 1.5 GB, exit codes as documented, output if and only if 0.

    python tools/mutants.py ptx FOLDER --count 20000 --seed 1
    python tools/mutants.py tools FOLDER --count 500         (500 for every kind of tools/mutant_inputs.py; or one kind by name)

FOLDER holds PTX; for tools, listings, cubins, cases, knob files and dumps are made of it first.  Mutants are mild (registers, types,
labels, numbers, lines) and wild (bytes), by halves unless --changes says which.  All run in this process under an alarm of processor time,
which is what makes thousands cheap; what fails is kept in the folder of --keep with its number.
"""

import argparse
import contextlib
import io
import json
import random
import re
import resource
import signal
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

import orias
from orias.cli.door import enter
from orias.cli.main import run
from orias.target.profile import TARGETS
from tools.mutant_inputs import KINDS, Base, bases

LIMIT_S = 10
MEMORY = 1536 << 20
BIGGEST = 40_000
BASES = 24
_WAYS: tuple[dict[str, Any], ...] = (
    {},
    {},
    {},
    {"lineinfo": True},
    {"debug": True},
    {"compile_only": True},
    {"self_check": True},
)
"""Options that a mutant may be compiled with."""
_CODES = (0, 1, 2, 255)
"""0, a launch that failed or a finding, something not compared, and wrong input."""
_DEFECTS = ("cannot be processed", "Internal error", "Out of memory", "Traceback")
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

_VALUES: tuple[Any, ...] = (0, 1, -1, 3, 64, 1024, 1025, 65536, 1 << 31, 1 << 32, 1 << 63, 1 << 70, 1.5, 1e300, True, None, "", "zz", "00", "k", "mixed", [],
           [1], [0, 0, 0], [1 << 40], {}, {"a": 1})  # fmt: skip


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


def mild_case(data: bytes, r: random.Random) -> bytes:
    """Replace or drop one value of a JSON text; a mild change of the text if it is none any more."""
    try:
        top = json.loads(data)
    except ValueError:
        return mild(data, r)
    places: list[tuple[Any, Any]] = []
    stack: list[Any] = [top]
    while stack:
        x = stack.pop()
        for key in list(x) if isinstance(x, dict) else range(len(x)):
            places.append((x, key))
            if isinstance(x[key], dict | list):
                stack.append(x[key])
    if places:
        x, key = r.choice(places)
        if r.random() < 0.2:
            del x[key]
        else:
            x[key] = r.choice(_VALUES)
    return json.dumps(top).encode()


class TooLongError(BaseException):
    """Past the limit of processor time; no handler of the product's takes it."""


def mutant(data: bytes, r: random.Random, changes: str = "both", case: bool = False) -> bytes:
    """One to three changes, all mild or all wild; `case`: of a JSON text."""
    gentle = mild_case if case else mild
    change = gentle if changes == "mild" or (changes == "both" and r.random() < 0.5) else wild
    for _ in range(r.randint(1, 3)):
        data = change(data, r)
    return data


def compiled(data: bytes, r: random.Random) -> int:
    """Exit code of the compiler, for half of the mutants for the target that they name, for the others for any; at any level.

    Raises what went through, and AssertionError for a refusal without an error.
    """
    arch = r.choice(tuple(TARGETS)) if r.random() < 0.5 else ""
    try:
        taken = orias.compile(data, arch=arch, opt_level=r.randrange(4), **r.choice(_WAYS))
    except orias.CompileError as e:
        assert any(d.severity in ("error", "fatal") for d in e.diagnostics), "refused without an error"
        return 255
    assert taken.data[:4] == b"\x7fELF", "no cubin"
    return 0


def attempt(kind: str, data: bytes, base: Base, folder: Path) -> int:
    """Exit code of a command on a mutant; raises AssertionError for an internal error, or an output that should not be."""
    names = {
        "IN": folder / ("in." + KINDS[kind][0]),
        "OUT": folder / "out",
        "PTX": folder / "sound.ptx",
        "CUBIN": folder / "sound.cubin",
    }
    names["IN"].write_bytes(data)
    names["OUT"].unlink(missing_ok=True)
    names["PTX"].write_bytes(base.contents["ptx"])
    names["CUBIN"].write_bytes(base.contents["cubin"])
    words: list[str] = []
    for word in KINDS[kind][1]:
        if word == "LAUNCH":
            words += base.launch
        elif word in names:
            words.append(str(names[word]))
        else:
            words.append(word.replace("ARCH", base.arch))
    said = io.StringIO()
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(said):
        code = enter(run, ["orias", *words], "orias")
    assert code in _CODES, f"exit code {code}"
    for defect in _DEFECTS:
        assert defect not in said.getvalue(), said.getvalue()
    assert "OUT" not in KINDS[kind][1] or names["OUT"].exists() == (code == 0), f"output and exit code {code}"
    assert code == 0 or said.getvalue() or code in (1, 2), f"exit code {code} without a message"
    return code


def campaign(
    kind: str, inputs: list[Base], count: int, seed: int, keep: Path | None, changes: str = "both"
) -> tuple[Counter[int], list[str]]:
    """Exit codes and faults of `count` mutants."""

    def stop(number: int, frame: object) -> None:
        raise TooLongError(f"longer than {LIMIT_S} s")

    codes: Counter[int] = Counter()
    faults: list[str] = []
    what = KINDS[kind][0] if kind in KINDS else "ptx"
    inputs = [b for b in inputs if b.contents[what]]
    # Processor time, so that other programs of the machine do not count.
    before = signal.signal(signal.SIGPROF, stop)
    try:
        with tempfile.TemporaryDirectory() as folder:
            for n in range(count if inputs else 0):
                r = random.Random(seed << 32 | n)
                base = r.choice(inputs)
                data = mutant(base.contents[what], r, changes, what in ("case", "launch"))
                signal.setitimer(signal.ITIMER_PROF, LIMIT_S)
                try:
                    codes[attempt(kind, data, base, Path(folder)) if kind in KINDS else compiled(data, r)] += 1
                except (Exception, SystemExit, TooLongError) as e:
                    faults.append(f"{kind}: mutant {n} of seed {seed}: {type(e).__name__}: {str(e)[:300]}")
                    if keep is not None:
                        keep.mkdir(exist_ok=True, parents=True)
                        (keep / f"{kind}_{seed}_{n}").write_bytes(data)
                        (keep / f"{kind}_{seed}_{n}.ptx").write_bytes(base.contents["ptx"])
                finally:
                    signal.setitimer(signal.ITIMER_PROF, 0)
    finally:
        signal.signal(signal.SIGPROF, before)
    return codes, faults


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kind", choices=("ptx", "tools", *KINDS))
    parser.add_argument("folder", type=Path)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--changes", choices=("mild", "wild", "both"), default="both")
    parser.add_argument("--keep", type=Path)
    a = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    paths = sorted(a.folder.rglob("*.ptx")) if a.folder.is_dir() else [a.folder]
    paths = [p for p in paths if 0 < p.stat().st_size <= BIGGEST]
    if a.kind == "ptx":
        inputs = [Base("", {"ptx": p.read_bytes()}, []) for p in paths]
    else:
        random.Random(a.seed).shuffle(paths)
        inputs = bases(paths, BASES)
    every: list[str] = []
    for kind in KINDS if a.kind == "tools" else [a.kind]:
        start = time.process_time()
        codes, faults = campaign(kind, inputs, a.count, a.seed, a.keep, a.changes)
        seconds = time.process_time() - start
        print(
            f"{kind}: {a.count} mutants ({a.changes}) of {len(inputs)} files, seed {a.seed}, {seconds:.0f} s, exit codes {dict(codes)}"
        )
        print("".join(line + "\n" for line in faults), end="", flush=True)
        every += faults
    return 1 if every else 0


if __name__ == "__main__":
    sys.exit(main())
