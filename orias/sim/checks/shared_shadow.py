"""Shared memory as a shadow of the registers sees it: the real bytes, but for those whose stored value nobody wrote."""

from collections.abc import Callable
from typing import Any, Final

import numpy as np
import numpy.typing as npt

Arr = npt.NDArray[Any]


class SharedShadow:
    """Bytes of shared memory in which a shadow has another value than the real one; offsets are in ``data``, all blocks' memory."""

    def __init__(self, data: Arr) -> None:
        self._data: Final = data
        self._differs: Final[Arr] = np.zeros(len(data), np.bool_)
        self._bytes: Final[Arr] = np.zeros(len(data), np.uint8)
        self._any = False

    def put(self, offsets: Arr, values: Arr, real: Arr) -> None:
        """A store of `values` (bytes, an array as `offsets`) where the real registers store `real`."""
        self._differs[offsets] = values != real
        self._bytes[offsets] = values
        self._any = bool(self._differs.any())

    def clear(self, offsets: Arr) -> None:
        """Bytes that something else has written."""
        if self._any:
            self._differs[offsets] = False
            self._any = bool(self._differs.any())

    def differs(self, offsets: Arr) -> Arr:
        """Which bytes differ."""
        return self._differs[offsets]

    def holds(self, offsets: Arr) -> bool:
        """Whether any of these bytes differs."""
        return self._any and bool(self._differs[offsets].any())

    def run(self, action: Callable[[], None]) -> None:
        """Calls a function while the memory holds the shadow's bytes."""
        where = np.flatnonzero(self._differs)
        real = self._data[where]
        self._data[where] = self._bytes[where]
        try:
            action()
        finally:
            self._data[where] = real
