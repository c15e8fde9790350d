"""One profile per target: decoder class, limits, constant-bank layout, features.

Sources: ``target_facts.csv`` and sections 3.2 and 3.4 of the register-allocation inventory (measured with
ptxas 13.0.88); limits that only the driver can show are left out.
"""

from typing import NamedTuple


class Target(NamedTuple):
    """A compilation target.

    ``table``: decoder class (name of the instruction table).  Offsets are byte offsets into constant bank 0; -1 where
    the target has none.  ``smem_reserved``: bytes at the start of shared memory that the system keeps.
    """

    name: str
    sm: int
    table: str
    accelerator: bool
    param_base: int
    param_base_large: int
    stack_ptr: int
    desc: int
    ntid: int
    nctaid: int
    local_window: int
    const_window: int
    """Place in bank 0 of the generic address of constant bank 3."""
    shared_window: int
    smem_reserved: int
    smem_max: int
    threads_per_sm: int
    ctas_per_sm: int
    const_operands: bool
    """ALU operations take constant-bank operands (sm_75 to sm_89)."""
    rela: bool
    """Cubins use RELA relocations (sm_90 on)."""
    latency_class: int
    """SM whose measured latencies apply."""
    min_ptx: tuple[int, int]


def _row(name: str, table: int, threads: int, ctas: int, latency: int, min_ptx: tuple[int, int]) -> Target:
    digits = name[3:].rstrip("af")
    sm = int(digits)
    gen90, gen100 = sm >= 90, sm >= 100
    return Target(
        name=name,
        sm=sm,
        table=f"sm_{table}",
        accelerator=name.endswith("a"),
        param_base=0x380 if gen100 else 0x210 if gen90 else 0x160,
        param_base_large=0x380 if gen100 else 0x210 if gen90 else 0x1A80,
        stack_ptr=0x37C if gen100 else 0x28,
        desc=-1 if sm == 75 else 0x358 if gen100 else 0x208 if gen90 else 0x118,
        ntid=0x360 if gen100 else 0x0,
        nctaid=0x370 if gen100 else 0xC,
        local_window=0x2F8 if gen100 else 0x20,
        const_window=0x120 if gen100 else 0xD0 if gen90 else 0x50,
        shared_window=-1 if gen90 else 0x18,
        smem_reserved=1024 if gen90 else 0,
        smem_max=49152,
        threads_per_sm=threads,
        ctas_per_sm=ctas,
        const_operands=not gen90,
        rela=gen90,
        latency_class=latency,
        min_ptx=min_ptx,
    )


TARGETS: dict[str, Target] = {
    t.name: t
    for t in (
        _row("sm_75", 75, 1024, 16, 75, (6, 3)),
        _row("sm_80", 80, 2048, 32, 80, (7, 0)),
        _row("sm_86", 86, 1536, 16, 86, (7, 1)),
        _row("sm_87", 86, 1536, 16, 80, (7, 4)),
        _row("sm_88", 86, 1536, 16, 86, (7, 3)),
        _row("sm_89", 89, 1536, 24, 89, (7, 8)),
        _row("sm_90", 90, 2048, 32, 90, (7, 8)),
        _row("sm_90a", 90, 2048, 32, 90, (8, 0)),
    )
}

"""What a program can be compiled for."""

KNOWN_TARGETS: dict[str, Target] = {
    **TARGETS,
    **{
        t.name: t
        for suffix in ("", "a", "f")
        for t in (
            _row(f"sm_100{suffix}", 100, 2048, 32, 100, (8, 8) if suffix == "f" else (8, 6)),
            _row(f"sm_103{suffix}", 103, 2048, 32, 103, (8, 8)),
            _row(f"sm_110{suffix}", 110, 1536, 24, 110, (9, 0)),
            _row(f"sm_120{suffix}", 120, 1536, 24, 120, (8, 8) if suffix == "f" else (8, 7)),
            _row(f"sm_121{suffix}", 120, 1536, 24, 120, (8, 8)),
        )
    },
}
"""The same and the targets whose code is only read and run."""


def target(name: str) -> Target:
    """The profile of a target such as ``sm_90a``; KeyError if it is not supported yet."""
    return TARGETS[name]
