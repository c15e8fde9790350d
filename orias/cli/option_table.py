"""Every command-line option: names, kind of value, help text.

The order is that of options in the tool note of a cubin; names, kinds and order were measured on
ptxas 13.0.88.  The module holds plain data; what only some commands need is imported when they ask, which keeps the start fast.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final

FLAG: "Final" = 0
"""No value."""
BOOL: "Final" = 1
"""``true`` or ``false``."""
NUMBER: "Final" = 2
"""A 32-bit integer."""
ENUM: "Final" = 3
"""One of the values of :func:`allowed`."""
TEXT: "Final" = 4
"""Any text; the last occurrence counts."""
LIST: "Final" = 5
"""Comma-separated texts; repeated options accumulate."""
JOINED: "Final" = 6
"""A number joined to the short name (``-O3``), or after ``=``."""
TEXTS: "Final" = 7
"""Texts that are not split; repeated options accumulate."""
OPTIONAL: "Final" = 9
"""A text after ``=``, or nothing."""
CHOICES: "Final" = 8
"""Comma-separated values of :func:`allowed`; repeated options accumulate."""

"""Values of ``-arch``; with ``compute_`` and ``lto_`` Orias only parses."""

OPTIONS: "Final[tuple[tuple[str, str, int, str, str], ...]]" = (
    ("suppress-stack-size-warning", "suppress-stack-size-warning", FLAG, "", "Do not warn when a stack size cannot be known."),
    ("entry", "e", LIST, "<name>,...", "Compile only these entry functions."),
    ("verbose", "v", FLAG, "", "Report the resources each function uses."),
    ("warn-on-local-memory-usage", "warn-lmem-usage", FLAG, "", "Warn if a function uses local memory."),
    ("warn-on-spills", "warn-spills", FLAG, "", "Warn if registers are spilled."),
    ("warn-on-double-precision-use", "warn-double-usage", FLAG, "", "Warn if an instruction uses double precision."),
    ("dont-merge-basicblocks", "no-bb-merge", FLAG, "", "Keep basic blocks apart (for debugging)."),
    ("return-at-end", "ret-end", FLAG, "", "Keep the last return of a function (for debugging)."),
    ("disable-optimizer-constants", "disable-optimizer-consts", FLAG, "", "Do not put constants of the compiler in a bank."),
    ("maxrregcount", "maxrregcount", TEXT, "<N|archmin|archmax>", "Registers that functions may use at most."),
    ("minnctapersm", "minnctapersm", NUMBER, "<N>", "Blocks that shall fit on one multiprocessor."),
    ("maxntid", "maxntid", LIST, "<N>,...", "Threads a block has at most, per dimension."),
    ("override-directive-values", "override-directive-values", FLAG, "", "Let such options win over the PTX directives."),
    ("device-function-maxrregcount", "func-maxrregcount", TEXT, "<N|archmin|archmax>", "Same as -maxrregcount for functions, with -c."),
    ("register-usage-level", "regUsageLevel", NUMBER, "<0..10>", "Readiness to use more registers (default 5)."),
    ("suppress-debug-info", "suppress-debug-info", FLAG, "", "Write no debug sections."),
    ("generate-line-info", "lineinfo", FLAG, "", "Write line-number information."),
    ("sp-bounds-check", "sp-bounds-check", FLAG, "", "Check the stack pointer against its bounds."),
    ("device-debug", "g", FLAG, "", "Generate debug information."),
    ("device-stack-protector", "device-stack-protector", BOOL, "<true|false>", "Guard stack frames with canaries."),
    ("opt-level", "O", JOINED, "<N>", "Optimisation level, 0 to 3 (default 3)."),
    ("Ofast-compile", "Ofc", TEXT, "<0|min|mid|max>", "Compile faster at the cost of the code (default 0)."),
    ("gpu-name", "arch", ENUM, "<target>", "GPU to compile for (default sm_75, for orias the .target of the file); compute_NN and lto_NN only parse."),
    ("suppress-double-demote-warning", "suppress-double-demote-warning", FLAG, "", "Do not warn of demoted doubles."),
    ("def-load-cache", "dlcm", TEXT, "<ca|cg|cs|cv>", "Default cache operation of loads."),
    ("def-store-cache", "dscm", TEXT, "<wb|cg|cs|wt>", "Default cache operation of stores."),
    ("force-load-cache", "flcm", TEXT, "<ca|cg|cs|cv>", "Cache operation of all loads."),
    ("force-store-cache", "fscm", TEXT, "<wb|cg|cs|wt>", "Cache operation of all stores."),
    ("machine", "m", JOINED, "<64>", "Word size of the host."),
    ("warning-as-error", "Werror", FLAG, "", "Treat warnings as errors."),
    ("disable-warnings", "w", FLAG, "", "Print no warnings."),
    ("compile-only", "c", FLAG, "", "Write a relocatable object."),
    ("extensible-whole-program", "ewp", FLAG, "", "Extensible whole-program mode."),
    ("compile-as-tools-patch", "astoolspatch", FLAG, "", "Compile patch code for tools."),
    ("optimize-float-atomics", "opt-fp-atomics", FLAG, "", "Optimise floating-point atomics at the cost of precision."),
    ("preserve-relocs", "preserve-relocs", FLAG, "", "Keep relocations in the executable."),
    ("make-errors-visible-at-exit", "make-errors-visible-at-exit", FLAG, "", "Make memory faults visible at the exit."),
    ("suppress-async-bulk-multicast-advisory-warning", "suppress-async-bulk-multicast-advisory-warning", FLAG, "",
     "Do not warn of .multicast::cluster."),
    ("suppress-sparse-mma-advisory-info", "suppress-sparse-mma-advisory-info", FLAG, "", "Do not inform of mma.sp."),
    ("split-compile", "split-compile", NUMBER, "<N>", "Threads to use at most (0: one per CPU); the code is the same."),
    ("fmad", "fmad", BOOL, "<true|false>", "Contract multiplications and additions (default true)."),
    ("allow-expensive-optimizations", "allow-expensive-optimizations", BOOL, "<true|false>", "Spend more time optimising."),
    ("position-independent-code", "pic", BOOL, "<true|false>", "Generate position-independent code."),
    ("legacy-bar-warp-wide-behavior", "legacy-bar-warp-wide-behavior", FLAG, "", "Old bar behaviour (deprecated, ignored)."),
    ("sanitize", "sanitize", ENUM, "<memcheck|threadsteer>", "Instrument the code."),
    ("g-tensor-memory-access-check", "g-tmem-access-check", FLAG, "", "Check tensor memory accesses."),
    ("gno-tensor-memory-access-check", "gno-tmem-access-check", FLAG, "", "Do not check tensor memory accesses."),
    ("compiler-annotations", "annotate", FLAG, "", "Write compiler annotations."),
    ("input-as-string", "ias", TEXTS, "<ptx>", "Compile this PTX text."),
    ("options-file", "optf", LIST, "<file>,...", "Take options from a file."),
    ("output-file", "o", TEXT, "<file>", "Output file (default elf.o)."),
    ("help", "h", FLAG, "", "Print this text."),
    ("list-version", "version-ls", FLAG, "", "Print the PTX versions, one a line."),
    ("version", "V", FLAG, "", "Print the version."),
)  # fmt: skip
"""Long name, short name, kind, value in the help text, help text."""

ALIASES: "Final[dict[str, str]]" = {
    "abi": "abi-compile", "compilerStats": "compiler-stats", "compilerStatsFile": "compiler-stats-file", "timeTraceFile": "fdevice-time-trace",
    "ftracePhaseAfter": "ftrace-phase-after", "fext": "force-externals", "ptxlen": "ptx-length", "cudasw32f3056bbb": "cuda32f3056bbb",
    "device-stack-protector-size": "device-stack-protector-frame-size-threshold",
}  # fmt: skip
"""Short names of hidden options that are another word than the long one."""

HIDDEN: "Final[tuple[tuple[str, int, bool], ...]]" = (
    ("regAllocOptLevel", NUMBER, True), ("tool-name", TEXT, True), ("cuda-api-version", TEXT, True), ("jobserver", FLAG, True),
    ("cloning", TEXT, True), ("fast-compile", FLAG, False), ("compiler-stats", CHOICES, False), ("compiler-stats-file", TEXT, False),
    ("fdevice-time-trace", TEXT, False), ("ftrace-phase-after", TEXT, False), ("use-trace-pid", NUMBER, True),
    ("abi-compile", TEXT, False), ("apply-controls", TEXT, True), ("assume-extern-functions-do-not-sync", BOOL, True),
    ("blocks-are-clusters", BOOL, True), ("device-stack-protector-frame-size-threshold", NUMBER, False),
    ("disable-fast-video-emulation", BOOL, True), ("disable-smem-reservation", BOOL, True), ("dont-reserve-null-pointer", FLAG, True),
    ("enable-extended-smem", BOOL, True), ("ext-desc-file", TEXT, True), ("ext-desc-string", TEXT, True), ("force-externals", FLAG, False),
    ("force-rela", FLAG, True), ("limit-fold-fp", BOOL, True), ("link-info", TEXT, True), ("membermask-overlap", BOOL, True),
    ("no-fastreg", FLAG, True), ("no-membermask-overlap", BOOL, True), ("okey", NUMBER, False), ("opt-pointers", FLAG, False),
    ("print-potentially-overlapping-membermasks", FLAG, True), ("profile-options", LIST, False), ("ptx-length", NUMBER, False),
    ("query-controls", TEXT, True), ("set-texmode-raw", BOOL, True), ("sw1729687", BOOL, True), ("sw200387803", BOOL, True),
    ("sw200428197", BOOL, True), ("sw200764156", BOOL, True), ("sw2614554", BOOL, True), ("sw2837879", BOOL, True), ("sw4575628", BOOL, True),
    ("sw4915215", BOOL, True), ("sw4936628", BOOL, True), ("verbose-tkinfo", BOOL, True), ("cimm", FLAG, True), ("fastimul", FLAG, True),
    ("fdcmpt", FLAG, True), ("slr", FLAG, True), ("uumn", FLAG, True), ("key", TEXT, False), ("nv-host", TEXT, True),
    ("reserve-null-pointer", FLAG, True), ("cuda32f3056bbb", BOOL, False),
)  # fmt: skip
"""Options of ptxas that are not in its help text: long name, kind, whether the name also works with one dash."""

STATISTICS: "Final" = {"time": "t", "memory": "m", "phase-wise": "p", "detailed": "d"}
"""Long values of --compiler-stats, and the short ones."""

DEPRECATED: "Final" = ("force-externals", "key", "link-info")
"""Hidden options that ptxas warns of while it reads them."""

OWN: "Final[tuple[tuple[str, int, str, str], ...]]" = (
    (
        "self-check",
        FLAG,
        "",
        "Run all checkers on this compile: verifier, register allocation, control words, encoder.",
    ),
    (
        "keep-warp-barriers",
        FLAG,
        "",
        "Keep barriers of a warp where it is together anyway, and registers for values that nobody wrote, for tools that find such errors.",
    ),
    ("verify-each", FLAG, "", "Run the verifier of Ori after each phase."),
    (
        "dump-before",
        TEXTS,
        "<phase>[:<function>]",
        "Print functions before a phase; both may have '*' and '?'; may be repeated.",
    ),
    ("dump-after", TEXTS, "<phase>[:<function>]", "The same after a phase."),
    ("dump-dir", TEXT, "<folder>", "Write dumps there, one a file, and not to standard error."),
    ("skip-phase", LIST, "<phase>,...", "Leave phases out."),
    ("stop-after", TEXT, "<phase>", "End with this phase; no output file is written."),
    (
        "remarks",
        OPTIONAL,
        "[=<kind>,...]",
        "Print what the compiler decided, and why: unrolled, hoisted, spilled, registers, ... (default: all kinds).",
    ),
    ("time-phases", FLAG, "", "Print the time that each phase takes."),
    (
        "capsules",
        TEXT,
        "<forbid|allow|require>",
        "Capsules, from which nvlink makes code for another SM of the family: none, where known (default), or else an error.",
    ),
    ("no-capsules", FLAG, "", "No capsules; the same as --capsules=forbid."),
    (
        "orias-release",
        TEXT,
        "<13.0|...|13.5>",
        "The release of the CUDA compiler tools to stand for: in --version, --list-version and the newest .version.",
    ),
    ("max-seconds", NUMBER, "<N>", "End the compile with an error after so many seconds (0: no limit)."),
    ("max-memory", NUMBER, "<MiB>", "End the compile with an error if it takes more memory (0: no limit)."),
    ("knob", TEXTS, "[<kernel>:]<name>=<value>", "Set a knob, for all kernels or one; may be repeated (also -knob)."),
    ("knob-file", TEXTS, "<file>", "Set the knobs of a file; may be repeated."),
    ("list-knobs", OPTIONAL, "[=json]", "Print all knobs: type, default, range, what reads them."),
    ("serial-schedule", FLAG, "", "Reorder nothing; every instruction waits for the one before it."),
)
"""Options of Orias alone: long name, kind, value in the help text, help text.  Only the program ``orias`` lists them."""

ORIAS_ONLY: "Final" = ("knob", "knob-file", "list-knobs")
"""Those of OWN that do not exist under another program name (``ptxas``)."""

NOT_IN_NOTE: "Final" = ("input-as-string", "options-file", "output-file", "help", "list-version", "version")

UNSUPPORTED: "Final[tuple[str, ...]]" = (
    "okey",
)  # fmt: skip
"""Options that change what ptxas writes and are not implemented: inputs are read and checked, then refused if it matters to them."""


def allowed(option: str) -> tuple[str, ...]:
    """The values of an ENUM or CHOICES option; empty for any other."""
    if option == "gpu-name":
        from orias.target.target_names import COMPILED

        return tuple(f"{kind}_{n}" for kind in ("compute", "lto", "sm") for n in COMPILED)
    if option == "compiler-stats":
        return ("t", "m", "p", "d", *STATISTICS)
    return ("memcheck", "threadsteer") if option == "sanitize" else ()


def ptx_versions(release: str) -> tuple[str, ...]:
    """The PTX versions that the parser accepts when it stands for a release, ascending."""
    from orias.target.target_names import PTX_VERSIONS, RELEASES

    newest = RELEASES[release][1]
    versions = [(major, minor) for major, last in PTX_VERSIONS for minor in range(last + 1)]
    return tuple(f"{major}.{minor}" for major, minor in versions if (major, minor) <= newest)
