"""Shared memory as a shadow of the registers sees it: the real bytes, but for those that nobody wrote, or whose value nobody wrote."""

from collections.abc import Callable
from typing import Any, Final

import numpy as np
import numpy.typing as npt

Arr = npt.NDArray[Any]


class SharedShadow:
    """Bytes of shared memory in which a shadow has another value than the real one; offsets are in ``data``, all blocks' memory."""

    def __init__(self, data: Arr, written: Arr, fill: int) -> None:
        """`written`: which bytes something has written; the others are `fill`."""
        self._data: Final = data
        self._fill: Final = fill
        self._differs: Final[Arr] = ~written
        self._bytes: Final[Arr] = np.full(len(data), fill, np.uint8)

    def put(self, offsets: Arr, values: Arr, real: Arr) -> None:
        """A store of `values` (bytes, an array as `offsets`) where the real registers store `real`."""
        self._differs[offsets] = values != real
        self._bytes[offsets] = values

    def clear(self, offsets: Arr) -> None:
        """Bytes that something else has written."""
        self._differs[offsets] = False

    def copy(self, goal: Arr, source: Arr | None) -> None:
        """A copy of bytes at `source`, or of bytes that nobody wrote."""
        if source is None:
            self._differs[goal] = True
            self._bytes[goal] = self._fill
        else:
            self._differs[goal] = self._differs[source]
            self._bytes[goal] = self._bytes[source]

    def differs(self, offsets: Arr) -> Arr:
        """Which bytes differ."""
        return self._differs[offsets]

    def run(self, action: Callable[[], None]) -> None:
        """Calls a function while the memory holds the shadow's bytes."""
        where = np.flatnonzero(self._differs)
        real = self._data[where]
        self._data[where] = self._bytes[where]
        try:
            action()
        finally:
            self._data[where] = real
