"""Turns a parsed command line into compile options, with ptxas's messages on combinations.

Source: ``docs/facts/command-line.md``, "Combinations".
"""

import os

from orias.cli.compile_settings import Settings
from orias.cli.hidden_settings import clones, hidden_options, older_than, options_after, options_before, reservation
from orias.cli.option_table import UNSUPPORTED
from orias.cli.parse import BLANKS, Command, UsageError, low_word, parse_number
from orias.knobs.knob_settings import KnobError, KnobSettings, Setting, parse_environment, parse_setting, read_knob_file
from orias.options import CAPSULES, Options
from orias.target.register_steps import FEWEST_REGISTERS, MOST_REGISTERS, STEPS

_CACHES = {
    "def-load-cache": ("default cache modifier on load", ("ca", "cg", "cs", "cv")),
    "def-store-cache": ("default cache modifier on store", ("wb", "cg", "cs", "wt")),
    "force-load-cache": ("default cache modifier on load", ("ca", "cg", "cs", "cv")),
    "force-store-cache": ("default cache modifier on store", ("wb", "cg", "cs", "wt")),
}
_FAST = ("max", "mid", "min", "0")
_GUARDED_BYTES = 16
"""Local variables of that size are guarded unless an option says otherwise (ptxas 13.0.88)."""
_DIGITS = 20
"""A number of so many decimal digits has more than 64 bits."""
_NO_WARPS = 63
"""ptxas 13.0.88 divides by zero for fewer threads below zero."""
_TOO_MANY = (1 << 31) - 1
_REFUSED = "Option '--{}' is not supported by Orias"


def _registers(text: str, name: str, arch: str, s: Settings, patch: bool = False) -> int:
    """A register limit; 0 for none.  `patch`: of -astoolspatch, whose code has the fewest registers."""
    try:
        n = {"archmin": STEPS[0], "archmax": MOST_REGISTERS}.get(text) or parse_number(text, long=True)
    except UsageError:
        raise UsageError(f"Invalid value '{text}' for option '{name}'") from None
    if patch and not 0 <= n <= FEWEST_REGISTERS:
        s.messages.append(("error", f"Invalid value '{n}' of '{name}' with option '--compile-as-tools-patch'"))
        return 0
    if n < 0 or n > MOST_REGISTERS:
        s.warn(f"Too big maxrregcount value specified {n}, will be ignored")
        return MOST_REGISTERS
    if n < FEWEST_REGISTERS:
        s.warn(f"For profile {arch} adjusting per thread register count of {n} to lower bound of {FEWEST_REGISTERS}")
        return FEWEST_REGISTERS
    return n


def _leading_number(text: str) -> int:
    """The decimal number at the start of a text, 0 if there is none (as ptxas reads ``-maxntid``: by C's ``atoi``)."""
    text = text.lstrip(BLANKS)
    digits = ""
    for ch in text[1:] if text[:1] in ("+", "-") else text:
        if not "0" <= ch <= "9":
            break
        digits += ch
    value = int(digits.lstrip("0")[:_DIGITS] or "0")
    return low_word(-value if text[:1] == "-" else value)


def _fast_compile(c: Command) -> None:
    """The conflict of -Ofc and the level."""
    fast = c.values.get("Ofast-compile", "0")
    if fast == "0" or not c.has("opt-level"):
        return
    allowed = 0 if fast == "max" else 1
    level = c.number("opt-level", 3)
    if (3 if level < 0 else min(level, 3)) != allowed:
        levels = "1,2,3" if fast == "max" else "0,2,3"
        raise UsageError(f"Conflicting options -opt-level=<{levels}> and --Ofast-compile={fast} specified")


def _fast(c: Command) -> bool:
    """Whether --fast-compile counts, which is ignored with -c."""
    return c.flag("fast-compile") and not c.flag("compile-only")


def _values(c: Command, s: Settings) -> None:
    """Values that are wrong by themselves."""
    level = c.number("register-usage-level", 5)
    if not 0 <= level <= 10:
        s.warn(f"Value of RegUsageLevel ({level}) is out of valid range {{0..10}}, option will be ignored")
    fast = c.values.get("Ofast-compile", "0")
    if fast not in _FAST:
        raise UsageError(f"Invalid value for --Ofast-compile/-Ofc ({fast}), is not 'max', 'mid', 'min', or '0'")
    if c.values.get("cuda-api-version", "13.0") != "13.0":
        raise UsageError(f"Invalid value '{c.values['cuda-api-version']}' for option '--cuda-api-version'")


def _conflicts(c: Command, s: Settings, arch: str) -> None:
    if c.has("membermask-overlap") and c.has("no-membermask-overlap"):
        raise UsageError("Conflicting options -no-membermask-overlap and -membermask-overlap specified")
    if c.values.get("abi-compile", "yes") != "yes":
        s.messages.append(("error", f"Invalid value '{c.values['abi-compile']}' for option -abi."))
    for name in ("fast-compile", "extensible-whole-program"):
        if c.flag("compile-only") and c.flag(name):
            s.ignored("--compile-only", f"--{name}")
    _split_conflicts(c, s)
    if _fast(c) and clones(c):
        raise UsageError("Conflicting options -cloning=yes and --fast-compile specified")
    if _fast(c) and c.flag("extensible-whole-program"):
        s.ignored("--fast-compile", "--extensible-whole-program")
    _fast_compile(c)
    if c.flag("device-debug") and c.flag("generate-line-info"):
        s.warn(
            "Conflicting options --device-debug and --generate-line-info specified, "
            "ignoring --generate-line-info option"
        )
    reservation(c, s, arch)
    _tools_patch(c, s)
    if c.flag("device-debug"):
        if c.number("opt-level", 0) != 0:
            raise UsageError("Optimized debugging not supported")
        for name in ("register-usage-level", "fast-compile"):
            if c.has(name) and (name != "fast-compile" or _fast(c)):
                s.ignored("--device-debug", f"--{name}")
        if c.values.get("Ofast-compile", "0") != "0":
            s.ignored("--device-debug", "--Ofast-compile=<min,mid,max>")
        if clones(c) and not c.flag("compile-only"):
            raise UsageError("Conflicting options -cloning=yes and -g specified")
        if c.values.get("abi-compile", "yes") != "yes":
            s.warn("Program compiled without abi might not work properly under debugger")
    if c.flag("legacy-bar-warp-wide-behavior"):
        name = "--legacy-bar-warp-wide-behavior"
        s.late.append(f"'{name}' is a deprecated option, It will be removed in future release and is not recommended")
        s.legacy_barriers = True
    s.tensor_access = c.flag("g-tensor-memory-access-check") or c.flag("gno-tensor-memory-access-check")


def _split_conflicts(c: Command, s: Settings) -> None:
    """Conflicts of -split-compile; raises UsageError for a value that is wrong."""
    split = c.number("split-compile", 1)
    if split < 0:
        raise UsageError(f"Invalid value '{split}' for option '--split-compile'")
    if not c.has("split-compile") or c.flag("compile-only"):
        shared = False
    else:
        shared = c.flag("fast-compile") and c.number("split-compile", 1) != 1
    if shared:
        s.ignored("--fast-compile", "--split-compile")
    elif c.flag("sw2614554") and c.has("split-compile"):
        s.ignored("--sw2614554", "--split-compile")


def _caches(c: Command, s: Settings) -> None:
    """Messages on cache operations."""
    for name, (what, allowed) in _CACHES.items():
        value = c.values.get(name)
        if value is not None and value not in allowed:
            s.messages.append(("error", f"Invalid {what} specified: {value}"))
    for kind in ("load", "store"):
        if c.has(f"force-{kind}-cache") and c.has(f"def-{kind}-cache"):
            s.warn(
                f"Conflicting options force-{kind}-cache and def-{kind}-cache specified, "
                f"ignoring def-{kind}-cache option"
            )


def _tools_patch(c: Command, s: Settings) -> None:
    """Conflicts of -astoolspatch."""
    if not c.flag("compile-as-tools-patch"):
        return
    for name in ("compile-only", "extensible-whole-program", "fast-compile"):
        if c.flag(name) and not (name == "extensible-whole-program" and _fast(c)):
            raise UsageError(f"Conflicting options '--{name}' and --compile-as-tools-patch specified")
    if clones(c):
        raise UsageError("Conflicting options '-cloning=yes' and --compile-as-tools-patch specified")
    if c.has("sanitize"):
        name = "--sanitize"
        s.warn(f"Conflicting options '{name}' and '--compile-as-tools-patch' specified, ignoring '{name}' option")


def _limits(c: Command, s: Settings) -> None:
    """Options about registers and threads."""
    arch = s.options.arch
    if c.has("maxrregcount"):
        patch = c.flag("compile-as-tools-patch")
        s.options.maxrregcount = _registers(c.values["maxrregcount"], "maxrregcount", arch, s, patch)
    name = "device-function-maxrregcount"
    if c.has(name):
        if c.flag("compile-only"):
            s.options.function_maxrregcount = _registers(c.values[name], name, arch, s)
        else:
            s.warn(f"Command line option '{name}' not supported for 'whole program compilation', will be ignored")
    # Functions for tools have a register limit of their own.
    limited = c.has("maxrregcount") or c.flag("compile-as-tools-patch")
    for name in ("minnctapersm", "maxntid"):
        if limited and c.has(name) and (name == "maxntid" or c.number(name, 0) != 0):
            s.warn(f"Conflicting options -maxrregcount and -{name} specified, ignoring -{name} option")
    sizes = [] if limited else c.lists.get("maxntid", [])
    if len(sizes) > 3:
        s.warn("Too many values specified for option '-maxntid', option will be ignored")
    elif sizes:
        numbers = [_leading_number(v) for v in sizes]
        threads = 1
        for n in numbers:
            threads *= n
        if -_NO_WARPS < threads < 0:
            raise UsageError(f"Invalid value '{','.join(sizes)}' for option '-maxntid'")
        if threads:
            s.options.maxntid = [n if n > 0 else _TOO_MANY for n in numbers]
    if not limited:
        s.options.minnctapersm = max(0, c.number("minnctapersm", 0))
    s.options.override_directives = c.flag("override-directive-values")


def _controls(c: Command) -> list[Setting]:
    """Write the file of --query-controls, and read that of --apply-controls; raises UsageError."""
    if c.values.get("query-controls"):
        from orias.cli.hidden_files import write_controls

        write_controls(c.values["query-controls"])
    if not c.values.get("apply-controls"):
        return []
    from orias.cli.hidden_files import read_controls

    return read_controls(c.values["apply-controls"])


def _unreadable(c: Command) -> str:
    """The message on a description of extensions, whose format is not documented, in the words of ptxas on a wrong one; "" if there is none."""
    if c.has("ext-desc-file") and c.has("ext-desc-string"):
        return "Conflicting options ext-desc-file and ext-desc-string specified"
    description = c.values.get("ext-desc-file", "")
    if description and not os.path.exists(description):
        return f"Could not open input file '{description}'"
    if description or c.has("ext-desc-string"):
        return "Parsing error near 'template initialization': failed"
    return ""


def _refused(c: Command, s: Settings) -> str:
    """The message on an option that changes what ptxas writes and that Orias does not have."""
    if s.parse_only:
        return ""
    for name in UNSUPPORTED:
        value = c.values.get(name)
        if value is None or value == "false" or (name == "okey" and value == "0"):
            continue
        return _REFUSED.format(name)
    return ""


def _knobs(c: Command) -> KnobSettings:
    """Settings of knobs: the environment's, then those of files, then those of the command line."""
    out: list[Setting] = []
    try:
        out += parse_environment(os.environ.get("ORIAS_KNOBS", ""))
        for path in c.lists.get("knob-file", []):
            out += read_knob_file(path).settings
        out += [parse_setting(text) for text in c.lists.get("knob", [])]
    except KnobError as e:
        raise UsageError(str(e)) from None
    return KnobSettings(out)


def settings(c: Command) -> Settings:
    """The settings of a command; raises UsageError if ptxas would stop immediately."""
    arch = c.values.get("gpu-name", Options().arch)
    if arch.startswith("lto_") and arch.endswith("a"):
        raise UsageError(f"Unsupported gpu architecture '{arch}'")
    if c.has("fdcmpt") and not c.has("uumn"):
        raise UsageError("Unknown option '-fdcmpt'")
    o = Options("sm_" + arch.partition("_")[2])
    s = Settings(o, "" if arch.startswith("sm_") else arch, c.values.get("output-file", "elf.o"))
    options_before(c, s, arch)
    try:
        _values(c, s)
        _conflicts(c, s, arch)
        _caches(c, s)
        hidden_options(c, s, arch)
        _limits(c, s)
    except UsageError as e:
        # What was said before is printed too.
        s.messages.append(("fatal", str(e)))
        return s
    options_after(c, s, arch)
    try:
        controls = _controls(c)
    except UsageError as e:
        s.messages.append(("fatal", str(e)))
        return s
    unreadable = _unreadable(c)
    if unreadable:
        s.messages.append(("fatal", unreadable))
        return s
    o.preserve_relocs = c.flag("preserve-relocs") and older_than(arch, 90)
    o.tools_patch = c.flag("compile-as-tools-patch")
    o.debug = c.flag("device-debug")
    level = c.number("opt-level", 3)
    o.level_given = c.has("opt-level")
    # As in ptxas, `-O` without a number is level 0, and a negative one is the highest.
    o.opt_level = 0 if o.debug else 3 if level < 0 else min(level, 3)
    fast = c.values.get("Ofast-compile", "0")
    if fast != "0" and not o.debug:
        # ptxas generates -O0 code for max; mid and min are the same, close to -O1.
        o.opt_level = 0 if fast == "max" else 1
    o.lineinfo = c.flag("generate-line-info") and not o.debug
    o.suppress_debug_info = c.flag("suppress-debug-info")
    o.compile_only = c.flag("compile-only")
    o.extensible = c.flag("extensible-whole-program") and not _fast(c)
    o.force_rela = c.flag("force-rela")
    o.raw_textures = c.flag("set-texmode-raw")
    o.reserve_null = c.flag("reserve-null-pointer") and not c.flag("dont-reserve-null-pointer")
    o.name_syscall = c.flag("cuda32f3056bbb")
    if not (o.compile_only or c.flag("extensible-whole-program")):
        s.host_file = c.values.get("nv-host")
    o.blocks_are_clusters = c.flag("blocks-are-clusters") and not older_than(arch, 90)
    s.refused = _refused(c, s)
    # No keyword is known: ptxas 13.0.88 takes none of those tried for any target.
    s.profile_option = next((x.partition("=")[0].strip() for x in c.lists.get("profile-options", [])), None)
    o.entries = c.lists.get("entry", [])
    o.def_load_cache = c.values.get("def-load-cache", "")
    o.def_store_cache = c.values.get("def-store-cache", "")
    o.force_load_cache = c.values.get("force-load-cache", "")
    o.force_store_cache = c.values.get("force-store-cache", "")
    o.fmad = c.flag("fmad", True)
    o.verbose = c.flag("verbose")
    o.warn_spills = c.flag("warn-on-spills")
    o.warn_lmem = c.flag("warn-on-local-memory-usage")
    o.warn_double = c.flag("warn-on-double-precision-use")
    usage = c.number("register-usage-level", 5)
    o.register_usage = usage if 0 <= usage <= 10 and not o.debug else 5
    o.stack_check = c.flag("sp-bounds-check")
    if c.flag("device-stack-protector"):
        o.stack_guard = max(c.number("device-stack-protector-frame-size-threshold", _GUARDED_BYTES), 0)
    o.constant_bank = not c.flag("disable-optimizer-constants")
    o.cloning = not c.flag("fast-compile") and c.values.get("cloning") != "no"
    o.uniform_registers = not (c.flag("sw200428197") or o.tools_patch)
    o.errors_at_exit = c.flag("make-errors-visible-at-exit")
    inserted = "" if c.flag("compile-as-tools-patch") else c.values.get("sanitize", "")
    o.thread_steering = inserted == "threadsteer"
    o.access_checks = inserted == "memcheck"
    o.split_compile = 1 if c.flag("sw2614554") else c.number("split-compile", 1)
    o.jobserver = c.flag("jobserver")
    s.statistics = c.lists.get("compiler-stats", [])
    s.statistics_file = c.values.get("compiler-stats-file", "") if c.has("compiler-stats") else ""
    s.link_info = c.values.get("link-info", "")
    s.trace = c.values.get("fdevice-time-trace", "")
    s.trace_after = c.values.get("ftrace-phase-after", "")
    s.trace_pid = c.number("use-trace-pid", 0)
    o.self_check = c.flag("self-check")
    o.keep_warp_barriers = c.flag("keep-warp-barriers")
    o.verify_each = c.flag("verify-each")
    o.dump_before = c.lists.get("dump-before", [])
    o.dump_after = c.lists.get("dump-after", [])
    o.dump_dir = c.values.get("dump-dir", "")
    o.skip_phases = c.lists.get("skip-phase", [])
    o.stop_after = c.values.get("stop-after", "")
    if c.has("remarks"):
        from orias.cli.remark_text import wanted_kinds

        s.remark_kinds = wanted_kinds(c.values["remarks"])
        o.remarks = True
    o.time_phases = c.flag("time-phases") or bool(s.trace)
    s.show_phases = c.flag("time-phases")
    o.serial = c.flag("serial-schedule")
    o.capsules = "forbid" if c.flag("no-capsules") else c.values.get("capsules", o.capsules)
    s.say_no_capsules = "capsules" in c.values
    s.says_stacks = not c.flag("suppress-stack-size-warning")
    if o.capsules not in CAPSULES:
        raise UsageError(f"Invalid value '{o.capsules}' for option '--capsules'")
    o.knobs = KnobSettings([*controls, *_knobs(c).settings])
    o.release = c.values.get("orias-release", "")
    o.annotate = c.flag("compiler-annotations")
    o.tool_arguments = c.note_text()
    return s
