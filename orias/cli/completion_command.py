"""``orias completion SHELL``: prints a script that completes sub-commands, options and values of options in a shell."""

import sys
from typing import Final

from orias.cli.option_table import OPTIONS, OWN, allowed
from orias.cli.program_names import TOOLS
from orias.cli.tool_arguments import read_arguments
from orias.cli.toolerror import ToolError

USAGE: Final = """\
usage: orias completion bash|zsh|fish

Prints the completion script of a shell:
  bash   source <(orias completion bash)
  zsh    source <(orias completion zsh)
  fish   orias completion fish | source
"""
_BASH: Final = """\
_orias() {
    local word="${COMP_WORDS[COMP_CWORD]}" before="${COMP_WORDS[COMP_CWORD-1]}"
    if [[ "$word" == "=" ]]; then
        word=""
    elif [[ "$before" == "=" ]]; then
        before="${COMP_WORDS[COMP_CWORD-2]}"
    fi
    case "$before" in
        -arch|--gpu-name) COMPREPLY=($(compgen -W "TARGETS" -- "$word")); return;;
    esac
    if [[ "$word" == -* ]]; then
        COMPREPLY=($(compgen -W "OPTIONS" -- "$word"))
        return
    fi
    COMPREPLY=($(compgen -f -- "$word"))
    if [[ $COMP_CWORD == 1 ]]; then
        COMPREPLY+=($(compgen -W "TOOLS" -- "$word"))
    fi
}
complete -o filenames -F _orias orias
"""
_ZSH: Final = "autoload -U +X compinit && compinit\nautoload -U +X bashcompinit && bashcompinit\n"


def completion_command(arguments: list[str]) -> int:
    """Run the sub-command; returns the exit code."""
    files, _, _ = read_arguments(arguments, (), (), USAGE)
    if not files:
        return 0
    if len(files) > 1 or files[0] not in ("bash", "zsh", "fish"):
        raise ToolError(USAGE.splitlines()[0])
    if files[0] == "fish":
        sys.stdout.write(_fish())
        return 0
    texts = {"TARGETS": " ".join(_targets()), "OPTIONS": " ".join(_options()), "TOOLS": " ".join(TOOLS)}
    script = _BASH
    for name, text in texts.items():
        script = script.replace(f'"{name}"', f'"{text}"')
    sys.stdout.write((_ZSH if files[0] == "zsh" else "") + script)
    return 0


def _targets() -> list[str]:
    return [name for name in allowed("gpu-name") if name.startswith("sm_")]


def _options() -> list[str]:
    """Long names, and short names that are others, with their dashes."""
    names = [f"--{row[0]}" for row in (*OPTIONS, *OWN)]
    return names + [f"-{row[1]}" for row in OPTIONS if row[1] and row[1] != row[0]]


def _fish() -> str:
    lines = [f"complete -c orias -n __fish_use_subcommand -a '{' '.join(TOOLS)}'"]
    rows = [(row[0], row[1], row[4]) for row in OPTIONS] + [(row[0], "", row[3]) for row in OWN]
    for long, short, about in rows:
        other = f" -{'s' if len(short) == 1 else 'o'} {short}" if short and short != long else ""
        values = f" -x -a '{' '.join(_targets())}'" if long == "gpu-name" else ""
        quoted = about.replace("\\", "\\\\").replace("'", "\\'")
        lines.append(f"complete -c orias -l {long}{other}{values} -d '{quoted}'")
    return "\n".join(lines) + "\n"
