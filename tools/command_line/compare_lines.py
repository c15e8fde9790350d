"""Runs command lines with ptxas and with Orias under the name ptxas, and compares exit code, streams and files.

python -m tools.command_line.compare_lines [--hand] [--file FILE] [--random N] [--seed S] [--show K] [LINE ...]

``--hand`` takes the lines of `hand_written_lines.txt` and of the tests, ``--random`` lines of the generator.  Times, register
counts and our own help and version text are not compared, nor lines that end ptxas by a signal.  A file is compared whole, a cubin and
the file of --query-controls, whose format is each compiler's own, only as there.
"""

import argparse
import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

from orias.cli.door import enter
from orias.cli.main import run
from tests.cli.command_lines import ACCEPTED, STOPPED
from tests.nvtools import tool
from tools.command_line.input_files import FILES
from tools.command_line.random_lines import random_line

HERE = Path(__file__).resolve().parent
SECONDS = 60
_SIGNALS = (-11, -8, -6)
"""Exit codes of ptxas that are no answer, but the signals of a crash."""
_CONTROLS = (b"\x77\x15\x74\x7a\x94\x64\xf2\xc2", b"# Controls of Orias")
"""How files of --query-controls begin."""
_TEXTS = {"$K": FILES["k.ptx"], "$F": FILES["f.ptx"], "$B": FILES["bad.ptx"]}
_BLIND = (
    (re.compile(r',\{"args":\{"name":"[^"]*"\},"cat":"phase",[^}]*\}'), ""),
    (re.compile(r"Compile time = .*"), "Compile time"),
    (re.compile(r"Used \d+ registers"), "Used N registers"),
    (re.compile(r"tmpxft_[0-9a-f]{8}"), "tmpxft"),
    (re.compile(r"current version is '[\d.]+'"), "current version"),
    (re.compile(r"(?<![\w.])\d+\.\d+(?= (?:ms|KB)| *\(|%)"), "N"),
    (re.compile(r'("(?:dur|ts|pid)": ?)\d+'), r"\1N"),
)  # fmt: skip
Result = tuple[int, str, str, dict[str, str]]


def blind(text: str) -> str:
    """A stream without what differs from run to run, or by code."""
    for pattern, to in _BLIND:
        text = pattern.sub(to, text)
    return text


def files_of(folder: Path) -> dict[str, str]:
    """The files that a run left: cubins as there, others with their text."""
    out = {}
    for path in sorted(folder.iterdir()):
        data = path.read_bytes() if path.is_file() else b""
        text = "cubin" if data[:4] == b"\x7fELF" else data.decode(errors="replace")
        text = "controls" if data.startswith(_CONTROLS) else text
        if text != FILES.get(path.name):
            out[path.name] = blind(text)
    return out


def theirs(arguments: list[str], folder: Path) -> Result:
    """One run of ptxas."""
    try:
        done = subprocess.run(
            [tool("ptxas"), *arguments], capture_output=True, timeout=SECONDS, stdin=subprocess.DEVNULL, cwd=folder
        )
    except subprocess.TimeoutExpired:
        return (-99, "", "timeout", {})
    return (
        done.returncode,
        blind(done.stdout.decode(errors="replace")),
        blind(done.stderr.decode(errors="replace")),
        files_of(folder),
    )


def ours(arguments: list[str], folder: Path) -> Result:
    """One run of Orias, in a child of this process."""
    with tempfile.TemporaryDirectory() as streams:
        paths = [Path(streams) / "out", Path(streams) / "err"]
        child = os.fork()
        if child == 0:
            os.chdir(folder)
            os.environ["ORIAS_PTXAS_RELEASE"] = "13.0"
            for number, path in enumerate([Path(os.devnull), *paths]):
                os.dup2(os.open(path, (os.O_RDWR | os.O_CREAT) if number else os.O_RDONLY), number)
            sys.stdin, sys.stdout, sys.stderr = open(0), open(1, "w"), open(2, "w")  # noqa: SIM115
            os._exit(enter(run, ["/bin/ptxas", *arguments], "ptxas"))
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        out, err = (blind(p.read_text(errors="replace")) for p in paths)
        return (code, out, err, files_of(folder))


def once(runner: "object", arguments: list[str]) -> Result:
    """A run in a folder of its own."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for file, text in FILES.items():
            (folder / file).write_bytes(text.encode())
        result: Result = runner(arguments, folder)  # type: ignore[operator]
        return result


def difference(a: Result, b: Result) -> str:
    """Which part differs, or ""."""
    if (a[1].startswith(("\nUsage", "Usage")) or ": NVIDIA (R)" in a[1]) and a[0] == b[0] and a[2:] == b[2:]:
        return ""
    for part, x, y in zip(("exit code", "stdout", "stderr", "files"), a, b, strict=True):
        if x != y:
            return part
    return ""


def main() -> int:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("lines", nargs="*")
    p.add_argument("--hand", action="store_true")
    p.add_argument("--file", type=Path, help="a file with lines")
    p.add_argument("--random", type=int, default=0)
    p.add_argument("--seed", type=int, default=0)
    p.add_argument("--show", type=int, default=1000)
    a = p.parse_args()
    lines = [shlex.split(line) for line in a.lines]
    if a.hand:
        hand = (HERE / "hand_written_lines.txt").read_text() + STOPPED + ACCEPTED
        lines += [shlex.split(line) for line in hand.splitlines() if line]
    if a.file:
        lines += [shlex.split(line) for line in a.file.read_text().splitlines() if line]
    lines += [random_line(a.seed + i) for i in range(a.random)]
    import orias.compiler  # noqa: F401  (so that the children have it)

    counts: Counter[str] = Counter()
    for line in lines:
        arguments = [_TEXTS.get(word, word) for word in line]
        x, y = once(theirs, arguments), once(ours, arguments)
        what = "ptxas ended by a signal" if x[0] in _SIGNALS else difference(x, y)
        counts[what or "equal"] += 1
        if "Internal error in Orias" in y[2] or "Traceback" in y[2]:
            counts["internal error of Orias"] += 1
        if what and x[0] not in _SIGNALS and sum(counts.values()) - counts["equal"] <= a.show:
            print(f"=== {what}: {shlex.join(line)}")
            print(
                f"  ptxas {x[0]}\n{x[1]}{x[2]}  {x[3] if x[3] != y[3] else ''}\n  orias {y[0]}\n{y[1]}{y[2]}  {y[3] if x[3] != y[3] else ''}"
            )
    print(f"{len(lines)} lines: " + ", ".join(f"{n} {what}" for what, n in counts.most_common()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
