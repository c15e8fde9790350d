"""Prepares the input of a compile: merges several inputs into one text, and applies options to kernels.

Facts: docs/facts/front-end.md (input files).
"""

from typing import Final

from orias.diag import CompileError, Diagnostic
from orias.options import Options
from orias.patterns import regex
from orias.ptx.ast import Function, Instr, Module, Sig
from orias.ptx.parser import parse
from orias.ptx.targets import refusal

HEAD_ERRORS: Final = ("Missing .version", "Unsupported .version")
_HEAD: Final = (
    r"(?s)(?:[ \t\r\f\n]++|//[^\n]*+|/\*.*?\*/)*+(?:\.version[ \t\r\f\n]+([0-9]+)\.([0-9]+)|\.target[ \t\r\f\n]+([^\n/.]*)|"
    r"\.address_size[ \t\r\f\n]+[0-9]+)"
)
"""A directive of the head and what precedes it, of which nothing is tried twice; compiled for several inputs only."""


def merge(sources: list[tuple[str, str | bytes]], arch: str) -> tuple[str, str | bytes]:
    """Merge all inputs into one (name, text): concatenates the texts, with the heads of all but the first blanked.

    Where the heads differ, the merged text has the highest version and the highest target; the last target, if ``arch`` is
    below the highest; ``debug`` if one has it.  :func:`locate` maps a line to its input.
    """
    if len(sources) == 1:
        return sources[0]
    heads = [_Head(raw.decode("latin-1") if isinstance(raw, bytes) else raw) for _, raw in sources]
    version = max((h.version for h in heads), default=(0, 0))
    highest = max(heads, key=lambda h: _sm(h.target))
    if _sm(highest.target) > _sm(arch):
        highest = heads[-1]
    first = heads[0]
    text = first.text
    target = highest.target
    if any(_debug(h.target) for h in heads) and not _debug(target):
        target += ", debug"
    if version != first.version or _sm(target) != _sm(first.target) or _debug(target) != _debug(first.target):
        words = f".version {version[0]}.{version[1]} .target {target}\n"
        size = " .address_size 64 " if ".address_size" in text[: first.end] else ""
        text = "\n" * (text.count("\n", 0, first.end) - 1) + words + size + text[first.end :]
    return sources[0][0], "\n".join([text, *(h.body() for h in heads[1:])])


def _sm(target: str) -> int:
    """The number in a target name, 0 without one."""
    return int("".join(c for c in target.partition(",")[0] if c.isdecimal()) or "0")


def _debug(target: str) -> bool:
    """Whether the words of ``.target`` declare debug information."""
    return "debug" in [word.strip() for word in target.split(",")]


class _Head:
    """The directives at the start of a text: ``version``, ``target`` (all its words), ``end`` (index after them)."""

    __slots__ = ("end", "target", "text", "version")

    def __init__(self, text: str) -> None:
        self.text: str = text
        self.version: tuple[int, int] = (0, 0)
        self.target: str = ""
        self.end: int = 0
        head = regex(_HEAD)
        m = head.match(text)
        while m is not None:
            if m.group(1) is not None:
                self.version = int(m.group(1)[-6:]), int(m.group(2)[-6:])
            elif m.group(3) is not None:
                self.target = m.group(3).strip()
            self.end = m.end()
            m = head.match(text, self.end)

    def body(self) -> str:
        """The text with blank lines for the head."""
        return "\n" * self.text.count("\n", 0, self.end) + self.text[self.end :]


def input_lines(sources: list[tuple[str, str | bytes]]) -> list[int]:
    """The lines of the merged text at which all inputs but the first begin."""
    out: list[int] = []
    line = 1
    for _, text in sources[:-1]:
        line += (text.count(b"\n") if isinstance(text, bytes) else text.count("\n")) + 1
        out.append(line)
    return out


def locate(sources: list[tuple[str, str | bytes]], line: int) -> tuple[str, int]:
    """The input's name and the line in it of a line of the merged text; lines count from 1."""
    for name, text in sources:
        count = (text.count(b"\n") if isinstance(text, bytes) else text.count("\n")) + 1
        if line <= count:
            return name, line
        line -= count
    return sources[-1][0], line


def restrict(module: Module, options: Options) -> list[Diagnostic]:
    """Keep the kernels of ``-e``, in that order (where functions have sections of their own, all are kept); add the thread limits of ``-maxntid`` and ``-minnctapersm``; give loads and
    stores of global memory the cache operations of ``-dlcm``, ``-flcm``, ``-dscm`` and ``-fscm``.

    Returns what is wrong with the names of ``-e``; the module is not changed then.
    """
    if options.entries:
        by_name: dict[str, Function] = {f.name: f for f in module.functions}
        wrong = _wrong_entry(module, by_name, options)
        if wrong is not None:
            return [wrong]
        if not options.own_sections:
            chosen = [by_name[name] for name in options.entries]
            module.functions = [f for f in module.functions if not f.entry] + chosen
    load = options.force_load_cache or options.def_load_cache
    store = options.force_store_cache or options.def_store_cache
    if load or store:
        caches = {"ld": (load, bool(options.force_load_cache)), "st": (store, bool(options.force_store_cache))}
        _set_caches(module, caches)
    if options.maxrregcount:
        return []
    for f in module.functions:
        if f.entry:
            if options.maxntid and (options.override_directives or not {"maxntid", "reqntid"} & f.directives.keys()):
                f.directives["maxntid"] = tuple(options.maxntid)
            if options.minnctapersm and (options.override_directives or "minnctapersm" not in f.directives):
                f.directives["minnctapersm"] = (options.minnctapersm,)
    return []


def _wrong_entry(module: Module, by_name: dict[str, Function], options: Options) -> Diagnostic | None:
    """The first error in the names of ``-e``: ptxas stops there."""
    for name in options.entries:
        if name not in by_name:
            return Diagnostic("fatal", refusal(module.target, options.arch) or f"Unknown function {name}")
    if options.own_sections:
        return None
    for name in options.entries:
        if not by_name[name].entry:
            return Diagnostic("error", f"Entry function '{name}' not found")
    if len(set(options.entries)) < len(options.entries):
        return Diagnostic("fatal", "Internal error: symbol already assigned")
    return None


def _set_caches(module: Module, caches: dict[str, tuple[str, bool]]) -> None:
    """Sets cache operations, given by instruction name as (operation, whether it replaces an explicit one).

    Changes only plain accesses to global and generic memory; loads through the read-only path take only ``cs``.
    """
    changed: dict[int, Sig] = {}
    for f in module.functions:
        for s in f.body or ():
            if not isinstance(s, Instr) or s.sig.name not in caches:
                continue
            cop, force = caches[s.sig.name]
            mods = s.sig.mods
            if not cop or mods.get("space", "") not in ("", "global") or mods.get("order", "weak") != "weak":
                continue
            if ("cop" in mods and not force) or ("nc" in mods and cop != "cs"):
                continue
            new = changed.get(id(s.sig))
            if new is None:
                new = Sig(s.sig.name, s.sig.text, {**mods, "cop": cop}, s.sig.types)
                changed[id(s.sig)] = new
            s.sig = new


def check_heads(sources: list[tuple[str, str | bytes]], newest: tuple[int, int]) -> None:
    """Raise CompileError for inputs without a version, or with one that is not known, if there are several inputs."""
    found: list[Diagnostic] = []
    for name, text in sources if len(sources) > 1 else ():
        try:
            parse(text, name, newest)
        except CompileError as e:
            found += [
                Diagnostic(d.severity, d.message, d.line, d.column, d.file or name)
                for d in e.diagnostics
                if d.message.startswith(HEAD_ERRORS)
            ]
    if found:
        raise CompileError(found)
