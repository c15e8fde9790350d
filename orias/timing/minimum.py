"""The checker's table of measured distances, in cycles, from results to their readers (``data/minimum.txt``)."""

import os
from typing import Final

from orias.timing.bounds import Minimum, read_texts

_DATA: Final = os.path.join(os.path.dirname(__file__), "data", "minimum.txt")

_tables: dict[tuple[str, int], str] = {}


def minimum(kind: str, sm: int) -> Minimum:
    """Distances of one kind (:data:`orias.timing.distance_classes.KINDS`) on one SM."""
    if not _tables:
        _tables.update(read_texts(_DATA))
    return Minimum(_tables.get((kind, sm), ""))
