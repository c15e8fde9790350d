"""The keywords of :func:`orias.compile` for type checkers: the fields of :class:`orias.options.Options` but the target and the level."""

from collections.abc import Mapping
from typing import TypedDict

from orias.knobs.knob_settings import KnobSettings

KnobValue = bool | int | str


class CompileOptions(TypedDict, total=False):
    """What :class:`orias.options.Options` says of each field."""

    maxrregcount: int
    maxntid: list[int]
    minnctapersm: int
    override_directives: bool
    lineinfo: bool
    debug: bool
    level_given: bool
    compile_only: bool
    extensible: bool
    force_rela: bool
    raw_textures: bool
    reserve_null: bool
    name_syscall: bool
    host_data: bytes
    blocks_are_clusters: bool
    entries: list[str]
    fmad: bool
    verbose: bool
    warn_spills: bool
    warn_lmem: bool
    warn_double: bool
    register_usage: int
    remarks: bool
    function_maxrregcount: int
    cloning: bool
    constant_bank: bool
    preserve_relocs: bool
    uniform_registers: bool
    errors_at_exit: bool
    thread_steering: bool
    access_checks: bool
    keep_warp_barriers: bool
    split_compile: int
    jobserver: bool
    stack_check: bool
    stack_guard: int
    annotate: bool
    def_load_cache: str
    def_store_cache: str
    force_load_cache: str
    force_store_cache: str
    suppress_debug_info: bool
    self_check: bool
    serial: bool
    verify_each: bool
    skip_phases: list[str]
    stop_after: str
    dump_before: list[str]
    dump_after: list[str]
    dump_dir: str
    time_phases: bool
    knobs: KnobSettings | Mapping[str, KnobValue | Mapping[str, KnobValue]]
    tool_arguments: str
    tools_patch: bool
    release: str
    capsules: str
