"""Builds CUDA programs with nvcc, runs them under ``orias exec``, and counts results.

``python tools/clients/cuda_programs.py RESULTS.jsonl --nvcc NVCC [--nvcc-option OPTION ...] PROGRAM ...`` in the Python that
has Orias.  A program is a source file, or a directory whose ``.cu`` and ``.cpp`` files make one program; each runs in its
directory, so that it finds its data.  With ``--nvcc`` of ``orias toolkit DIR --cuda CUDA``, Orias is the assembler.  Each line
of the results is a program: ``passed``, ``failed``, ``late`` or ``not built``, the last line of what it said, and the seconds
that the build and the run took.  Programs that the results already have are not built again; where a program has several
lines, the last one counts.

``--make VARIABLE=VALUE`` (once or more) builds a directory with its own Makefile, whose ``CC`` becomes nvcc with the options; a
program may be followed by arguments, in one word of the shell: ``"heat-cuda 64 10"``.  ``--cpu-seconds`` limits the processor time of
a run, so that the load of the machine does not decide.

A program passes that ends with exit code 0 (or one of ``--exit-code``) and prints no line with ``FAIL``.  ``--reference "COMPILER OPTIONS"`` builds each
program for the host too (Thrust has back ends for it), and what the two print must be the same.
"""

import argparse
import json
import os
import re
import resource
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path


def timed(command, seconds, cwd=None, processor=0):
    """Exit code (None: late), output, the last line of it and of its errors that says something, and seconds."""
    start = time.perf_counter()

    def limit():
        if processor:
            resource.setrlimit(resource.RLIMIT_CPU, (processor, processor))

    with subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        stdin=subprocess.DEVNULL,
        cwd=cwd,
        text=True,
        errors="replace",
        start_new_session=True,  # So that all of nvcc's programs can be ended.
        preexec_fn=limit,
    ) as p:
        try:
            text, _ = p.communicate(timeout=seconds)
            code = p.returncode
        except subprocess.TimeoutExpired:
            os.killpg(p.pid, signal.SIGKILL)
            text, _ = p.communicate()
            code = None
    if processor and code in (-signal.SIGXCPU, -signal.SIGKILL):
        code = None
    return code, text, round(time.perf_counter() - start, 1)


def last_line(text):
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1][:300] if lines else ""


def sources(program):
    if program.is_dir():
        return sorted(p for p in program.iterdir() if p.suffix in (".cu", ".cpp"))
    return [program]


def build_command(program, options, built):
    """The command that builds a program, the directory it runs in, and the program that it makes there."""
    found = shutil.which(options.nvcc)
    nvcc = [str(Path(found).absolute()) if found else options.nvcc, "-cudart", "shared", *options.nvcc_option]
    if not options.make:
        return [*nvcc, "-o", str(built), *map(str, sources(program))], None, built
    named = re.search(r"^program\s*=\s*(\S+)", (program / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    command = ["make", "-s", f"CC={shlex.join(nvcc)}", *options.make]
    return command, program, program / (named[1] if named else "main")


def run_program(program, arguments, name, options, built):
    """The values of a program's line, and its output."""
    build, folder, made = build_command(program, options, built)
    code, text, seconds = timed(build, options.build_seconds, folder)
    line = {"program": name, "state": "not built", "why": last_line(text), "build": seconds}
    if arguments:
        line["arguments"] = arguments
    if code is None:
        line["why"] = "late"
    if code != 0:
        return line, text
    where = program if program.is_dir() else program.parent
    command = [sys.executable, "-m", "orias", "exec", "--", str(made), *arguments]
    code, out, seconds = timed(command, options.seconds, where, options.cpu_seconds)
    line |= {"state": "passed", "why": last_line(out), "run": seconds}
    if code is None:
        line["state"] = "late"
    elif code not in options.exit_code or re.search(r"\bFAIL", out):
        line |= {"state": "failed", "code": code}
    elif options.reference:
        host = built.with_suffix(".host")
        files = [str(p) for p in sources(program)]
        code, text, _ = timed([*shlex.split(options.reference), "-o", str(host), *files], options.build_seconds)
        if code != 0:
            line["reference"] = "not built"
            return line, out + text
        _, text, _ = timed([str(host)], options.seconds, where)
        line["reference"] = "same" if text == out else "differs"
        if text != out:
            line["state"] = "failed"
            out += "\n-- the reference:\n" + text
    return line, out


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("results", type=Path)
    parser.add_argument("programs", nargs="+")
    parser.add_argument("--nvcc", required=True)
    parser.add_argument("--nvcc-option", action="append", default=[])
    parser.add_argument("--make", action="append", default=[], metavar="VARIABLE=VALUE")
    parser.add_argument("--seconds", type=int, default=75, help="for a run")
    parser.add_argument("--cpu-seconds", type=int, default=0, help="of processor time, for a run")
    parser.add_argument("--build-seconds", type=int, default=300, help="for a build")
    parser.add_argument("--limit", type=int, default=3600, help="seconds for all")
    parser.add_argument("--exit-code", action="append", type=int, default=[0])
    parser.add_argument("--reference", default="")
    options = parser.parse_args()
    stop = time.monotonic() + options.limit
    work = options.results.with_suffix("")
    work.mkdir(parents=True, exist_ok=True)
    options.results.touch()
    last = {}
    for line in options.results.read_text(encoding="utf-8").splitlines():
        v = json.loads(line)
        last[v["program"]] = v["state"]
    with options.results.open("a", encoding="utf-8") as out:
        for given in options.programs:
            first, *arguments = shlex.split(given)
            program = Path(first).resolve()
            name = f"{program.parent.name}/{program.stem}"
            if name in last:
                continue
            if time.monotonic() > stop:
                break
            built = work.resolve() / name.replace("/", "-")
            line, text = run_program(program, arguments, name, options, built)
            built.with_suffix(".txt").write_text(text, encoding="utf-8")
            last[name] = line["state"]
            out.write(json.dumps(line) + "\n")
            out.flush()
            print(line, flush=True)
    print(f"{len(last)} programs: {dict(Counter(last.values()))}")


if __name__ == "__main__":
    main()
