"""Loaded modules and their kernels, which are compiled and loaded when they are used first."""

from orias.api import CompileError
from orias.cubin.model import KernelCode
from orias.deferred import DeferredModule
from orias.driver.driver_state import Context
from orias.driver.results import DriverError
from orias.driver.timeline import Codes
from orias.sim.core.image import Image
from orias.sim.core.sim_errors import LoadError


class Module:
    """A loaded module and its context (None: a library, which belongs to all)."""

    def __init__(self, image: Image, context: Context | None, later: DeferredModule | None = None) -> None:
        self.image = image
        """The variables, and the kernels that do not wait."""
        self.context = context
        self.functions: dict[str, int] = {}
        self.codes: Codes = {}
        """Kernels that the machine model has read."""
        self._later = later
        self._images: dict[str, Image] = {n: image for n, k in image.kernels.items() if k.is_entry}

    def names(self) -> list[str]:
        """All kernels."""
        return self._later.waiting if self._later and self._later.waiting else list(self._images)

    def is_loaded(self, name: str) -> bool:
        """Whether a kernel is compiled and loaded."""
        return name in self._images

    def image_of(self, name: str) -> Image:
        """The image that has a kernel."""
        found = self._images.get(name)
        if found is None:
            assert self._later is not None
            try:
                found = Image(self._later.cubin(name), self.image.arena, self.image)
            except CompileError as e:
                raise DriverError("INVALID_PTX", str(e)) from None
            except LoadError as e:
                raise load_failure(e) from None
            self._images[name] = found
        return found


class Function:
    """A kernel and what was set for it, by number of CUfunction_attribute."""

    def __init__(self, module: Module, module_handle: int, name: str) -> None:
        self.module = module
        self.module_handle = module_handle
        self.name = name
        self.attributes: dict[int, int] = {}

    @property
    def image(self) -> Image:
        """The image that has its code, which is loaded at the first call."""
        return self.module.image_of(self.name)

    @property
    def kernel(self) -> KernelCode:
        """What its cubin says of it."""
        return self.image.kernels[self.name]


def load_failure(e: LoadError) -> DriverError:
    """What a cubin that the simulator does not load is answered with."""
    return DriverError("INVALID_IMAGE", str(e))
