"""The program under the names ``nvdisasm`` and ``cuobjdump``: what clients ask of those two (docs/toolkit.md).

The forms are those of nvdisasm and cuobjdump 13.5.37.  Other options are refused by name.
"""

import sys
from pathlib import Path
from typing import Final

from orias.cli.door import failure_text
from orias.cli.toolerror import ToolError

_CODE_NAMES: Final[dict[str, str]] = {
    "--print-code": "-c", "--print-line-info": "-g", "--print-line-info-inline": "-gi", "--print-line-info-ptx": "-gp",
    "--print-instruction-encoding": "-hex", "--binary": "-b",
}  # fmt: skip
_WORD: Final = "/* 0x"
"""The start of an instruction word in a listing."""
_CODE_FLAGS: Final = ("-c", "-g", "-gi", "-gp", "-hex")
_DUMP_FLAGS: Final[dict[str, str]] = {"--dump-sass": "-sass", "--list-elf": "-lelf"}
_DUMP_VALUES: Final[dict[str, str]] = {
    "--extract-elf": "-xelf", "--function": "-fun", "--gpu-architecture": "-arch",
}  # fmt: skip


def run_named(program: str, arguments: list[str]) -> int:
    """Run the program under one of the names; returns the exit code."""
    try:
        if "--version" in arguments or "-V" in arguments:
            sys.stdout.write(_version(program))
            return 0
        if program == "nvdisasm":
            return _nvdisasm(arguments)
        return _cuobjdump(arguments)
    except ToolError as e:
        message = str(e)
    except BrokenPipeError:
        return 0
    except OSError as e:
        message = f"Could not open input file '{e.filename}'"
    except Exception as e:
        message = failure_text(e)
    sys.stderr.write(f"{program} fatal   : {message}\n")
    return 255


def _version(program: str) -> str:
    from orias.cli.help_text import version_text
    from orias.identity import identity
    from orias.target.target_names import NEWEST_RELEASE
    from orias.version import VERSION

    return version_text(program, VERSION, identity(), NEWEST_RELEASE)


def _nvdisasm(arguments: list[str]) -> int:
    """Prints the code; without ``-c`` too, where nvdisasm prints the other sections as well."""
    from orias.cli.dis import run_dis

    words: list[str] = []
    rest = iter(arguments)
    for word in rest:
        name, equals, value = word.partition("=")
        name = _CODE_NAMES.get(name, name)
        if name == "-b":
            words += [name, value if equals else next(rest, "")]
        elif name in _CODE_FLAGS or not name.startswith("-"):
            words.append(name)
        else:
            raise ToolError(f"Option '{name}' is not supported by Orias")
    if not any(not w.startswith("-") for w in words):
        raise ToolError("No input file specified")
    return run_dis([*words, "--quiet"])


def _cuobjdump(arguments: list[str]) -> int:
    from orias.cubin.cubin_error import CubinError
    from orias.cubin.elf import ElfFile
    from orias.cubin.fatbin import cubins
    from orias.tools.cubin_target import target_name

    files: list[str] = []
    asked: set[str] = set()
    given: dict[str, str] = {}
    rest = iter(arguments)
    for word in rest:
        name, equals, value = word.partition("=")
        name = _DUMP_FLAGS.get(name, _DUMP_VALUES.get(name, name))
        if name in _DUMP_VALUES.values():
            given[name] = value if equals else next(rest, "")
        elif name in _DUMP_FLAGS.values():
            asked.add(name)
        elif name.startswith("-"):
            raise ToolError(f"Option '{name}' is not supported by Orias")
        else:
            files.append(name)
    if not files:
        raise ToolError("No input file specified")
    for file in files:
        try:
            images = [(target_name(ElfFile(image)), image) for _, image in cubins(Path(file).read_bytes())]
        except (CubinError, ValueError) as e:
            raise ToolError(f"{file}: {e}") from None
        images = [(t, image) for t, image in images if given.get("-arch", t) == t]
        _dump(file, images, asked, given)
    return 0


def _dump(file: str, images: list[tuple[str, bytes]], asked: set[str], given: dict[str, str]) -> None:
    many: dict[str, int] = {}
    for number, (target, image) in enumerate(images, 1):
        many[target] = many.get(target, 0) + 1
        stem = Path(file).name.rpartition(".")[0] or Path(file).name
        name = f"{stem}{f'.{many[target]}' if many[target] > 1 else ''}.{target}.cubin"
        if "-lelf" in asked:
            sys.stdout.write(f"ELF file {number:4}: {name}\n")
        wanted = given.get("-xelf", "")
        if wanted and (wanted == "all" or wanted in name):
            sys.stdout.write(f"Extracting ELF file {number:4}: {name}\n")
            Path(name).write_bytes(image)
        if "-sass" in asked:
            sys.stdout.write(sass(image, target, given.get("-fun", "")))


def sass(image: bytes, target: str, function: str) -> str:
    """The code of a cubin, of all functions or one, with words and numeric branch targets."""
    from orias.cubin.elf import ElfFile
    from orias.tools.cubin_target import sm_number
    from orias.tools.disassemble import Style, disassemble_raw
    from orias.tools.labels import code_sections

    file = ElfFile(image)
    style = Style(hex_words=True)
    listings: list[tuple[str, list[str]]] = []
    for section in code_sections(file):
        name = section.name.removeprefix(".text.")
        if not function or name == function:
            listings.append((name, disassemble_raw(bytes(section.data), "SM" + target[3:], 0, style).splitlines()))
    rows = [line for _, lines in listings for line in lines[2:]]
    width = max((len(line.rpartition(_WORD)[0].rstrip()) for line in rows), default=0) + 2
    out = f"\n\tcode for {target}\n" + ("" if function else f"\t.target\t{target}\n\n")
    for name, lines in listings:
        head = lines[:2] if function else [f'\t.headerflags\t@"EF_CUDA_SM{sm_number(file)}"']
        code = [_aligned(line, width) for line in lines[2:]]
        out += "\n".join([f"\t\tFunction : {name}", *head, *code, "\t\t..........\n\n\n"])
    return out


def _aligned(line: str, width: int) -> str:
    """A line whose instruction word, a comment at its end, starts in a column."""
    text, word, rest = line.rpartition(_WORD)
    return f"{text.rstrip():<{width}}{word}{rest}"
