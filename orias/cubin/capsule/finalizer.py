"""The opaque record MERCURY_FINALIZER_OPTIONS of a function: measured bytes, by optimisation level and kind of file.

They depend on nothing else that was tried: not on the kernel, the target or other options (ptxas 13.0.88).
"""

from typing import Final

_START: Final = "8a9d22a4b19d146d00b42af3f7"
_BY_LEVEL: Final[tuple[tuple[str, str, str], ...]] = (
    (
        "366de0626964758cb0e4b93c0de962b945696ea345e47c",
        "2022784ad4779b9e49fa046c74000000",
        "bfbde7d54be8040120b4f27fe8e20000",
    ),
    (
        "144fc2404b4657ae92c69b1e2fcb409b674b4c8167c65e",
        "02005a68f655b9bc6bd8264e56000000",
        "9d9fc5f769ca26230296d05dcac00000",
    ),
    (
        "f5ae23a1aaa7b64f73277affce2aa17a86aaad608627bf",
        "e3e1bb8917b4585d8a39c7afb7000000",
        "7c7e2416882bc7c2e37731bc2b210000",
    ),
    (
        "58038e0c070a1be2de8ad75263870cd72b0700cd2b8a12",
        "4e4c1624ba19f5f027946a021a000000",
        "d1d389bb25866a6f4eda9c11868c0000",
    ),
)
"""For each level: the middle, the end in executables, the end in relocatable objects."""

_LINES_START: Final = "8a9d1a9c8248311096c3060b0f3e76742e1f7352fadc7efe279380"
_LINES_BY_LEVEL: Final[tuple[tuple[str, str, str], ...]] = (
    (
        "c01b3d5b15181f7b90378c5f4129e66e29fab22db1646e",
        "6e588aa8ebebac849b46c4cf9a00",
        "9bad7f5d1e1e5971c3b5e418c6dc",
    ),
    (
        "c11a3c5a14191e7a91368d5e4028e76f28fbb32cb0656f",
        "6f598ba9eaeaad859a47c5ce9b00",
        "9aac7e5c1f1f5870c2b4e519c7dd",
    ),
    (
        "b16a4c2a64696e0ae146fd2e3058971f588bc35cc0151f",
        "1f29fbd99a9addf5ea37b5beeb00",
        "eadc0e2c6f6f2800b2c49569b7ad",
    ),
    (
        "d50e284e000d0a6e8522994a543cf37b3cefa738a4717b",
        "7b4d9fbdfefeb9918e53d1da8f00",
        "8eb86a480b0b4c64d6a0f10dd3c9",
    ),
)
"""The same for cubins with line information."""


_DEBUG: Final = (
    "93840385e915d72033ad34c2c38efefc7ebbb655bf026c79cb02901bc3e6bfc3"
    "35d36ef60eb7eeb31f17dca741a4449b06a36d85567e01011a74205887e80eb059b70300"
)
"""Of all cubins with debug information."""


def finalizer_options(level: int, linked: bool, lines: bool = False, debug: bool = False) -> bytes:
    """The bytes of the record for an optimisation level from 0 to 3.

    ``linked``: the cubin is an object or an extensible whole program.  ``lines``: it has line information, ``debug``: debug information.
    """
    if debug:
        return bytes.fromhex(_DEBUG)
    if lines:
        middle, executable, object_ = _LINES_BY_LEVEL[min(level, 3)]
        return bytes.fromhex(_LINES_START + middle + (object_ if linked else executable))
    middle, executable, object_ = _BY_LEVEL[min(level, 3)]
    return bytes.fromhex(_START + middle + (object_ if linked else executable))
