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
    gen90 = sm >= 90
    return Target(
        name=name,
        sm=sm,
        table=f"sm_{table}",
        accelerator=name.endswith("a"),
        param_base=0x210 if gen90 else 0x160,
        param_base_large=0x210 if gen90 else 0x1A80,
        stack_ptr=0x28,
        desc=-1 if sm == 75 else 0x208 if gen90 else 0x118,
        ntid=0x0,
        nctaid=0xC,
        local_window=0x20,
        const_window=0xD0 if gen90 else 0x50,
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


def target(name: str) -> Target:
    """The profile of a target such as ``sm_90a``; KeyError if it is not supported yet."""
    return TARGETS[name]
