"""What the mutants of ``tools/mutants.py`` are made of: sound inputs of every tool, from PTX texts, and the command lines that read them."""

import contextlib
import io
import json
import re
import tempfile
from pathlib import Path
from typing import Final, final

import orias
from orias.cli.main import run

KINDS: Final[dict[str, tuple[str, tuple[str, ...]]]] = {
    "as": ("full", ("as", "IN", "-o", "OUT")),
    "as-control": ("control", ("as", "IN", "--arch", "ARCH", "-o", "OUT")),
    "as-base": ("control", ("as", "IN", "--base", "CUBIN", "-o", "OUT")),
    "dis": ("cubin", ("dis", "IN")),
    "dis-full": ("cubin", ("dis", "--full", "IN")),
    "check": ("cubin", ("check", "IN")),
    "run": ("cubin", ("run", "IN", "--block", "32", "--max-steps", "2000", "--json", "LAUNCH")),
    "perf": ("cubin", ("perf", "IN", "--json")),
    "perf-launch": ("cubin", ("perf", "IN", "--json", "--grid", "1", "--block", "32", "--max-steps", "2000", "LAUNCH")),
    "explore": ("cubin", ("explore", "IN", "-o", "OUT")),
    "explore-ptx": ("ptx", ("explore", "IN", "-arch=ARCH", "-o", "OUT")),
    "audit": ("cubin", ("audit", "PTX", "IN", "--turns", "1", "--seconds", "0", "--quiet")),
    "audit-ptx": ("ptx", ("audit", "IN", "CUBIN", "--turns", "1", "--seconds", "0", "--quiet")),
    "audit-case": ("case", ("audit", "PTX", "CUBIN", "--case", "IN", "--seconds", "0", "--quiet")),
    "audit-launch": ("launch", ("audit", "PTX", "CUBIN", "--case", "IN", "--seconds", "0", "--quiet")),
    "verify-case": ("case", ("verify", "PTX", "--arch", "ARCH", "--final", "--quiet", "--case", "IN")),
    "knobs": ("knobs", ("PTX", "-arch=ARCH", "--knob-file", "IN", "-o", "OUT")),
    "tune": ("knobs", ("tune", "PTX", "-arch=ARCH", "--trials", "2", "--jobs", "1", "--quiet", "--knob-file", "IN", "-o", "OUT")),
    "tune-ptx": ("ptx", ("tune", "IN", "-arch=ARCH", "--trials", "2", "--jobs", "1", "--quiet", "-o", "OUT")),
    "opt": ("ori", ("opt", "IN", "-o", "OUT")),
    "options": ("options", ("--options-file", "IN", "PTX", "-o", "OUT")),
}  # fmt: skip
"""Kind of campaign -> what is changed, and the command line.  IN is the changed file, PTX and CUBIN the sound ones beside it,
LAUNCH the arguments of a launch, ARCH the target.  ``ptx``, the compiler itself, has no command line."""

_ARCHES: Final = ("sm_80", "sm_90", "sm_120a")
_KNOB_FILE: Final = "[knobs]\nUnrollFullInstLimit = 200\nLogicReaders = 3\n\n[knobs k]\nMaxRegCount = 64\n"
_PARAMETER: Final = re.compile(r"\.param\s+(?:\.align\s+\d+\s+)?\.(\w+)(?:\s+\.\w+)*\s+[\w$%]+(\[\d+\])?")


@final
class Base:
    """A sound input: its contents by what they are (ptx, cubin, full, control, case, launch, knobs, ori, options), target and launch."""

    __slots__ = ("arch", "contents", "launch")

    def __init__(self, arch: str, contents: dict[str, bytes], launch: list[str]) -> None:
        self.arch, self.contents, self.launch = arch, contents, launch


def said(words: list[str]) -> bytes:
    """What a command prints."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()):
        run(["orias", *words])
    return out.getvalue().encode()


def _launch(text: str) -> tuple[list[str], list[str], list[dict[str, object]]]:
    """Arguments of a launch of the first kernel, and the same as parameters and pointers of a case."""
    words: list[str] = []
    params: list[str] = []
    pointers: list[dict[str, object]] = []
    head = text.partition(".entry")[2].partition("{")[0]
    for k, (kind, array) in enumerate(_PARAMETER.findall(head)):
        if array:
            size = int(array[1:-1])
            words += ["--arg", "hex:" + "00" * size]
            params.append("00" * size)
        elif kind.endswith("64") and kind != "f64":
            words += ["--arg", "buf:u32:1024=iota"]
            params.append("00" * 8)
            pointers.append({"param": k, "offset": 0, "size": 4096, "profile": "mixed", "seed": k})
        else:
            words += ["--arg", f"{kind if kind[0] != 'b' else 'u' + kind[1:]}:4"]
            params.append((4).to_bytes(int(kind[1:]) // 8, "little").hex())
    return words, params, pointers


def bases(paths: list[Path], count: int) -> list[Base]:
    """Sound inputs from up to `count` of the PTX files that compile; targets take turns."""
    out: list[Base] = []
    with tempfile.TemporaryDirectory() as folder:
        ptx, cubin = Path(folder) / "in.ptx", Path(folder) / "in.cubin"
        for path in paths:
            if len(out) == count:
                break
            arch = _ARCHES[len(out) % len(_ARCHES)]
            data = path.read_bytes()
            try:
                taken = orias.compile(data, arch=arch).data
            except orias.CompileError:
                continue
            ptx.write_bytes(data)
            cubin.write_bytes(taken)
            text = data.decode("latin-1")
            words, params, pointers = _launch(text)
            name = re.search(r"\.entry\s+([\w$]+)", text)
            case = {
                "kernel": name[1] if name else "k", "grid": [1, 1, 1], "block": [32, 1, 1], "shared": 0, "params": params,
                "pointers": pointers,
            }  # fmt: skip
            dumps = Path(folder) / "dumps"
            run(
                [
                    "orias",
                    str(ptx),
                    f"-arch={arch}",
                    "--dump-before",
                    "OriCopyProp",
                    "--dump-dir",
                    str(dumps),
                    "-o",
                    str(cubin),
                ]
            )
            ori = b"".join(p.read_bytes() for p in sorted(dumps.glob("*"))) if dumps.is_dir() else b""
            for p in dumps.glob("*"):
                p.unlink()
            contents = {
                "ptx": data,
                "cubin": taken,
                "full": said(["dis", "--full", str(cubin)]),
                "control": said(["dis", "--control", str(cubin)]),
                "launch": json.dumps({**case, "grid": 1, "args": words[1::2]}, indent=1).encode(),
                "case": json.dumps(case, indent=1).encode(),
                "knobs": _KNOB_FILE.encode(),
                "options": f"-arch={arch} -O3 -lineinfo --maxrregcount 64\n".encode(),
                "ori": ori,
            }
            out.append(Base(arch, contents, words))
    return out
