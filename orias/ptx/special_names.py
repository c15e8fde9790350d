"""Special registers: shape, type and first PTX version.

Facts: docs/facts/front-end.md (special registers).
"""

from typing import Final


def _table() -> dict[str, tuple[str, int, int, int]]:
    rows: dict[str, tuple[str, int, int, int]] = {}

    def put(names: str, type_: str, vec: int, version: int, sm: int = 0) -> None:
        for name in names.split():
            rows[name] = (type_, vec, version, sm)

    put("tid ntid ctaid nctaid", "u32", 4, 10)
    put("gridid", "u64", 1, 10)
    put("clock", "u32", 1, 10)
    put(" ".join(f"envreg{i}" for i in range(32)), "b32", 1, 10)
    put("laneid warpid smid pm0 pm1 pm2 pm3", "u32", 1, 13)
    put("nwarpid nsmid lanemask_eq lanemask_le lanemask_lt lanemask_ge lanemask_gt", "u32", 1, 20)
    put("clock64", "u64", 1, 20)
    put("pm4 pm5 pm6 pm7", "u32", 1, 30)
    put("globaltimer", "u64", 1, 31, 30)
    put("globaltimer_lo globaltimer_hi", "u32", 1, 31, 30)
    put(" ".join(f"pm{i}_64" for i in range(8)), "u64", 1, 40, 50)
    put("total_smem_size dynamic_smem_size", "u32", 1, 41)
    put("clock_hi", "u32", 1, 50)
    put("reserved_smem_offset_begin reserved_smem_offset_end reserved_smem_offset_cap", "b32", 1, 76, 80)
    put("reserved_smem_offset_0 reserved_smem_offset_1", "b32", 1, 76, 80)
    put("is_explicit_cluster", "pred", 1, 78, 90)
    put("clusterid nclusterid cluster_ctaid cluster_nctaid", "u32", 4, 78, 90)
    put("cluster_ctarank cluster_nctarank", "u32", 1, 78, 90)
    put("current_graph_exec", "u64", 1, 80, 50)
    put("aggr_smem_size", "u32", 1, 81, 90)
    put("locality_domain_id locality_domain_supplemental_sm", "u32", 1, 95, 100)
    return rows


SPECIAL: Final[dict[str, tuple[str, int, int, int]]] = _table()
"""Name without % -> (type, vector length, first PTX version times 10, first SM)."""
