"""One-line instructions inside a kernel that declares everything they name: our messages and ptxas's, by line.

Method: many lines in one module, one message list per line.  A syntax error hides what follows it, so its line is dropped and the
rest asked again (messages about ptxas's own macro text do not count); ptxas's second round of checks runs only on what passed the first, so accepted lines are asked again.
"""

import re
import subprocess
import tempfile
from pathlib import Path

from orias.diag import CompileError
from orias.ptx.parser import parse

_REGISTERS = """.reg .pred %p<32>; .reg .b16 %h<32>; .reg .b32 %r<64>; .reg .b64 %rd<64>; .reg .f32 %f<64>; .reg .f64 %fd<32>;
.reg .u32 %u<8>; .reg .s32 %s<8>; .reg .f16 %hf<8>; .reg .f16x2 %hx<8>; .reg .u16 %us<8>; .reg .s16 %ss<8>; .reg .u64 %ud<8>; .reg .s64 %sd<8>; .reg .b8 %b<8>; .reg .u8 %ub<8>;
"""
_HEAD = """.version {version}
.target {target}
.address_size 64
.global .align 16 .b8 gl[1024]; .const .align 16 .b8 cn[1024]; .global .texref tx; .global .surfref sf; .global .u32 g32;
.func (.param .b32 rv) fn1 (.param .b32 a) {{ ret; }}
.func fn0 {{ ret; }}
.entry k (.param .u64 pa, .param .u32 pb) {{
.shared .align 16 .b8 sm[1024]; .shared .b64 mb; .local .align 16 .b8 lo[64];
"""
_MESSAGE = re.compile(r"ptxas \S+probe\.ptx, line (\d+); (\w+)\s*: (.*)")

Messages = list[list[str]]


def head(version: str, target: str) -> str:
    """The module before the lines."""
    major, minor = version.split(".")
    wide = ".reg .b128 %q<8>;\n" if (int(major), int(minor)) >= (8, 3) else "\n"
    return _HEAD.format(version=version, target=target) + _REGISTERS + wide


def ours(lines: list[str], version: str, target: str) -> Messages:
    """Our error messages per line."""
    top = head(version, target)
    base = top.count("\n") + 1
    result: Messages = []
    rest = lines
    while rest:
        found: Messages = [[] for _ in rest]
        fatal = len(rest)
        try:
            parse(top + "\n".join(rest) + "\nret;\n}\n")
        except CompileError as error:
            for d in error.diagnostics:
                if 0 <= d.line - base < len(rest) and d.severity in ("error", "fatal"):
                    found[d.line - base].append(d.message)
                    if d.severity == "fatal":
                        fatal = d.line - base
        result += found[: fatal + 1]
        rest = rest[fatal + 1 :]
    return result


def ptxas(tool: str, lines: list[str], version: str, target: str) -> Messages:
    """The real assembler's error messages per line."""
    top = head(version, target)
    base = top.count("\n") + 1
    result: Messages = [[] for _ in lines]
    active = list(range(len(lines)))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "probe.ptx"
        while active:
            path.write_text(top + "\n".join(lines[i] for i in active) + "\nret;\n}\n")
            command = [tool, "-arch", target, "-O0", str(path), "-o", str(Path(folder) / "out")]
            run = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
            found: dict[int, list[str]] = {}
            fatal = -1
            for text in run.stderr.splitlines():
                match = _MESSAGE.match(text)
                if match is None or match[2] not in ("error", "fatal"):
                    continue
                at = int(match[1]) - base
                found.setdefault(at, []).append(match[3])
                if match[2] == "fatal":
                    fatal = at
            if fatal >= 0:
                result[active[fatal]] = found[fatal]
                del active[fatal]
                continue
            for at, messages in found.items():
                if 0 <= at < len(active):
                    result[active[at]] = messages
            if not any(0 <= at < len(active) for at in found):
                break
            active = [i for at, i in enumerate(active) if at not in found]
    return result
