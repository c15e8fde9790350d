"""The list of all files with handlers; importing a file registers its handlers.

Most programs need the common files only.  :func:`load_all` imports the others at the first instruction without a
handler.  All handlers of one instruction name are in the same group, common or other.
"""


def load_common() -> None:
    """Import the families of ordinary programs."""
    import orias.lower.float.approx
    import orias.lower.float.compare_float
    import orias.lower.float.convert
    import orias.lower.float.divide_float
    import orias.lower.float.float32
    import orias.lower.float.float64
    import orias.lower.float.half
    import orias.lower.frame.calls
    import orias.lower.frame.control_flow
    import orias.lower.frame.stack
    import orias.lower.integer.add_multiply
    import orias.lower.integer.bits
    import orias.lower.integer.compare
    import orias.lower.integer.divide_int
    import orias.lower.memory.barriers
    import orias.lower.memory.loads_stores
    import orias.lower.memory.move
    import orias.lower.memory.warp  # noqa: F401


def load_all() -> None:
    """Import all families."""
    load_common()
    import orias.lower.integer.dot
    import orias.lower.integer.video
    import orias.lower.integer.video_simd
    import orias.lower.matrix.tcgen05
    import orias.lower.matrix.tcgen05_alloc
    import orias.lower.matrix.tcgen05_mma
    import orias.lower.matrix.warp_matrix
    import orias.lower.matrix.wgmma
    import orias.lower.matrix.wmma
    import orias.lower.memory.asynccopy
    import orias.lower.memory.atomics
    import orias.lower.memory.bulk
    import orias.lower.memory.launch_control
    import orias.lower.memory.mbarrier
    import orias.lower.memory.multimem
    import orias.lower.memory.policy
    import orias.lower.memory.tensormap
    import orias.lower.texture.sampling
    import orias.lower.texture.surface  # noqa: F401
