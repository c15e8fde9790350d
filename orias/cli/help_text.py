"""The texts of ``--help``, ``--version`` and ``--list-version``."""

from orias.cli.option_table import OPTIONS, OWN, allowed, ptx_versions
from orias.target.target_names import RELEASES

TOOLS = """\
Tools:
  orias dis FILE                             print the SASS of a cubin, fat binary or host file
  orias as FILE.sass -o FILE.cubin ...       assemble a listing
  orias run FILE.cubin --kernel K ...        run a kernel in the simulator
  orias perf FILE.cubin ...                  what a kernel costs, by a model of the SM
  orias tune FILE.ptx -o OUT.knobs ...       search for knobs and register budgets
  orias explore FILE [OTHER] -o PAGE.html    a page that shows how PTX becomes SASS, and why
  orias reference -o PAGE.html ...           the instruction reference, as a page
  orias check FILE.cubin                     check the control words on all paths
  orias verify FILE.ptx ...                  run PTX, every phase and the SASS, and compare
  orias audit FILE.ptx FILE.cubin ...        did a compiler break this kernel?
  orias bisect FILE.ptx ...                  find the phase that changes the meaning
  orias opt PHASE ... FILE.ori               run phases on a dump
  orias reduce FILE.ptx -o OUT.ptx ...       shrink a file that fails
  orias fuzz [--seconds S] ...               compile random programs and judge them by running
  orias exec [--device D] -- PROGRAM ...     run a program with the simulator as its GPU
  orias toolkit DIR [--cuda CUDA]            make a CUDA toolkit whose assembler and disassemblers are Orias
  orias completion bash|zsh|fish             print a script that completes options in a shell
  orias batch --out DIR FILE ...             compile many files, over processes or a cluster
  orias serve [--idle S]                     compile for the commands that have ORIAS_SERVER=1
Each prints its own options with --help.
"""


def _wrap(words: list[str], indent: str, width: int = 90) -> str:
    lines: list[str] = []
    line = indent
    for w in words:
        if len(line) + len(w) > width and line != indent:
            lines.append(line.rstrip())
            line = indent
        line += w + " "
    lines.append(line.rstrip())
    return "\n".join(lines) + "\n"


def help_text(program: str) -> str:
    """The output of ``--help``."""
    out = f"Usage: {program} [options] FILE.ptx ...\n\nCompile PTX to a cubin. '-' reads standard input.\n\nOptions:\n"
    for long, short, _, value, about in OPTIONS:
        head = f"  --{long} {value}".rstrip()
        out += f"{head:<58} (-{short})\n"
        out += _wrap(about.split(), "        ")
        values = allowed(long)
        if values:
            out += _wrap(["Values:", *(f"'{v}'," for v in values[:-1]), f"'{values[-1]}'."], "        ")
    if program == "orias":
        out += "\nOptions of Orias alone:\n"
        for long, _, value, about in OWN:
            out += f"  --{long} {value}".rstrip() + "\n" + _wrap(about.split(), "        ")
    return out + "\n" + TOOLS


def version_text(program: str, version: str, identity: str, release: str) -> str:
    """The output of ``--version``.

    ``identity``: the hash of the code, for clients that key a cache on this text; ``release``: the release to stand for, whose
    two version numbers clients parse.
    """
    return (
        f"{program}: Orias {version}, an open PTX assembler (code {identity})\n"
        "Not a product of NVIDIA; stands in for the PTX assembler of\n"
        f"Cuda compilation tools, release {release}, {RELEASES[release][0]}\n"
    )


def list_versions(release: str) -> str:
    """The output of ``--list-version``."""
    return "\n".join(ptx_versions(release)) + "\n"
