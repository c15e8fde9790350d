"""Probes for words of constant bank 0: what PTX reads each."""

WORDS: dict[str, str] = {
    "ntid": "mov.u32 %r1, %ntid.x;",
    "nctaid": "mov.u32 %r1, %nctaid.x;",
    "nsmid": "mov.u32 %r1, %nsmid;",
    "dynamic_shared": "mov.u32 %r1, %dynamic_smem_size;",
    "environment_0": "mov.u32 %r1, %envreg0;",
    "environment_16": "mov.u32 %r1, %envreg16;",
    "reserved_shared_end": "mov.u32 %r1, %reserved_smem_offset_end;",
    "reserved_shared_1": "mov.u32 %r1, %reserved_smem_offset_1;",
    "system_shared_size": "mov.u32 %r1, %total_smem_size;",
    "cluster_shared_limit": "mov.u32 %r1, %aggr_smem_size;",
    "cluster_size": "mov.u32 %r1, %cluster_nctaid.x;",
    "cluster_count": "mov.u32 %r1, %nclusterid.x;",
    "cluster_reciprocal": "mov.u32 %r1, %clusterid.x;",
    "cluster_ranks": "mov.u32 %r1, %cluster_nctarank;",
    "explicit_cluster": "mov.pred %p1, %is_explicit_cluster; selp.u32 %r1, 1, 0, %p1;",
    "grid_id": "mov.u64 %rd2, %gridid; st.global.u64 [%rd1], %rd2;",
    "graph_exec": "mov.u64 %rd2, %current_graph_exec; st.global.u64 [%rd1], %rd2;",
    "local_window": "cvta.local.u64 %rd2, %rd1; st.global.u64 [%rd1], %rd2;",
    "shared_window": "cvta.shared.u64 %rd2, %rd1; st.global.u64 [%rd1], %rd2;",
    "constant_window": "cvta.const.u64 %rd2, %rd1; st.global.u64 [%rd1], %rd2;",
    "parameter_window": "cvta.param.u64 %rd2, %rd1; st.global.u64 [%rd1], %rd2;",
    "parameter_window_end": "isspacep.param::entry %p1, %rd1; selp.u32 %r1, 1, 0, %p1;",
    "bank_window": "cvta.param.u64 %rd2, %rd1; st.global.u64 [%rd1], %rd2;",
    "texture_headers": "txq.filter_mode.b32 %r1, [tx];",
}
"""Each probe reads its word, and beside it only those that every kernel reads."""
