"""Random command lines over every option that ptxas has, hidden ones included."""

import random

from orias.cli.option_table import BOOL, FLAG, HIDDEN, JOINED, LIST, NUMBER, OPTIONS

_NUMBERS = ("0", "1", "2", "3", "10", "16", "32", "-1", "300", "0x10", "x", "")
_VALUES = {
    "entry": ("k", "a", "a,b", "zz", "k,k", "g", "c,a", ""),
    "maxrregcount": ("16", "32", "64", "255", "300", "17", "archmin", "archmax", "-1", "x"),
    "device-function-maxrregcount": ("16", "32", "64", "300", "archmin", "archmax", "x"),
    "maxntid": ("64", "64,2", "1,2,3,4", "0", "x", "1024", "2048"),
    "Ofast-compile": ("0", "min", "mid", "max", "x"),
    "gpu-name": ("sm_75", "sm_80", "sm_90", "sm_90a", "sm_100a", "sm_120a", "sm_70", "compute_80", "lto_80", "lto_90a", "x"),
    "def-load-cache": ("ca", "cg", "cs", "cv", "wb", ""),
    "def-store-cache": ("wb", "cg", "cs", "wt", "ca"),
    "force-load-cache": ("ca", "cg", "cs", "cv", "x"),
    "force-store-cache": ("wb", "cg", "cs", "wt", "x"),
    "machine": ("64", "32", "x"),
    "opt-level": ("0", "1", "2", "3", "4", "-1", "", "x"),
    "register-usage-level": ("0", "5", "10", "11", "-1", "x"),
    "split-compile": ("0", "1", "2", "4", "-1", "x"),
    "sanitize": ("memcheck", "threadsteer", "x"),
    "options-file": ("o1.opt", "o2.opt", "ok.opt", "nosuch.opt", "words.opt"),
    "output-file": ("x.cubin", "y.cubin", "no/such/x", "."),
    "tool-name": ("nvcc", "foo"),
    "cuda-api-version": ("13.0", "12.4"),
    "compiler-stats": ("t", "m", "p", "d", "t,m", "x"),
    "compiler-stats-file": ("s.json",),
    "fdevice-time-trace": ("trace.json", "nosuch.json", "k.ptx"),
    "ftrace-phase-after": ("cicc", "x"),
    "use-trace-pid": ("1", "x"),
    "cloning": ("yes", "no", "x"),
    "input-as-string": (".version 99.9", ""),
}  # fmt: skip
_FILES = (
    "k.ptx", "k.ptx", "k.ptx", "f.ptx", "two.ptx", "dbl.ptx", "loc.ptx", "shm.ptx", "rec.ptx", "data.ptx", "noentry.ptx", "l.ptx", "nt.ptx",
    "bad.ptx", "syn.ptx", "t90.ptx", "t80.ptx", "empty.ptx", "old.ptx", "extern.ptx", "dbgt.ptx", "nosuch.ptx", "exact.ptx",
)  # fmt: skip
_RARE = ("help", "list-version", "version", "options-file", "input-as-string", "legacy-bar-warp-wide-behavior")


def random_line(seed: int) -> list[str]:
    """The arguments that belong to a seed."""
    rng = random.Random(seed)
    out: list[str] = []
    options = [(long, short, kind) for long, short, kind, _, _ in OPTIONS] + [
        (name, name if short else "", kind) for name, kind, short in HIDDEN
    ]
    for _ in range(rng.choice((0, 1, 1, 2, 2, 3, 4, 6))):
        long, short, kind = rng.choice(options)
        if long in _RARE and rng.random() < 0.7:
            continue
        name = f"-{short}" if short and rng.random() < 0.6 else f"--{long}"
        if kind == FLAG:
            out.append(name + ("=1" if rng.random() < 0.02 else ""))
            continue
        values = _VALUES.get(long) or (
            ("true", "false", "true", "1") if kind == BOOL else _NUMBERS if kind in (NUMBER, JOINED, LIST) else ("x",)
        )
        value = rng.choice(values)
        if kind == JOINED and name == f"-{short}":
            out.append(name + value)
        elif rng.random() < 0.5:
            out.append(f"{name}={value}")
        else:
            out.extend((name, value))
    for _ in range(rng.choice((1, 1, 1, 1, 1, 2, 2, 3, 0))):
        out.insert(rng.randint(0, len(out)), rng.choice(_FILES))
    return out
