"""Names of targets as clients write them."""


def target_of(arch: str | int | tuple[int, int]) -> str:
    """``sm_90`` from ``"sm_90"``, ``"90"``, ``90`` or the compute capability ``(9, 0)``."""
    if isinstance(arch, tuple):
        return f"sm_{arch[0]}{arch[1]}"
    text = str(arch).removeprefix("sm_").removeprefix("compute_")
    return f"sm_{text}"
