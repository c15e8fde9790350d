"""Every file with handlers; importing one registers what it lowers."""


def load() -> None:
    """Import all families (they register themselves once)."""
    import orias.lower.approx
    import orias.lower.asynccopy
    import orias.lower.atomics
    import orias.lower.bits
    import orias.lower.bulk
    import orias.lower.calls
    import orias.lower.compare
    import orias.lower.compare_float
    import orias.lower.control
    import orias.lower.convert
    import orias.lower.divide_float
    import orias.lower.divide_int
    import orias.lower.dot
    import orias.lower.float32
    import orias.lower.float64
    import orias.lower.half
    import orias.lower.integer
    import orias.lower.matrix
    import orias.lower.mbarrier
    import orias.lower.memory
    import orias.lower.move
    import orias.lower.multimem
    import orias.lower.policy
    import orias.lower.stack
    import orias.lower.surface
    import orias.lower.sync
    import orias.lower.tensormap
    import orias.lower.texture
    import orias.lower.video
    import orias.lower.video_simd
    import orias.lower.warp
    import orias.lower.warpgroup
    import orias.lower.wmma  # noqa: F401
