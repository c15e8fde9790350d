"""All forms, and a command line that writes them down: ``python -m tests.forms.generate DIR [ARCH]`` makes one .ptx and one .json a family.

The .json holds, per kernel, the inputs of each thread and the expected outputs (a number, or a text where several results are right).
"""

import functools
import json
import os
import sys

from tests.forms import (
    convert_forms,
    divide_forms,
    float_forms,
    integer_forms,
    later_forms,
    matrix_forms,
    memory_forms,
    video_forms,
    warp_forms,
    wmma_forms,
)
from tests.forms.exact import Answer
from tests.forms.form import Form, module_text

FAMILIES = {
    "integer": integer_forms.forms,
    "float": float_forms.forms,
    "convert": convert_forms.forms,
    "divide": divide_forms.forms,
    "matrix": matrix_forms.forms,
    "memory": memory_forms.forms,
    "warp": warp_forms.forms,
    "wmma": wmma_forms.forms,
    "video": video_forms.forms,
    "later": later_forms.forms,
}


@functools.cache
def all_forms() -> dict[str, list[Form]]:
    """Every form, by family; made once a process, for the exact results of products take seconds."""
    return {name: f() for name, f in FAMILIES.items()}


def main(directory: str, arch: str) -> None:
    """Write the modules and their expectations."""
    os.makedirs(directory, exist_ok=True)
    for family, forms in all_forms().items():
        usable = [f for f in forms if f.sm <= int(arch[3:].rstrip("a")) and (not f.archs or arch in f.archs)]
        with open(os.path.join(directory, family + ".ptx"), "w", encoding="utf-8") as out:
            out.write(module_text(usable, arch))
        facts = {
            f"k{n}": {
                "name": f.name,
                "block": f.block,
                "inputs": f.vectors,
                "expected": [[repr(e) if isinstance(e, Answer) else e for e in row] for row in f.expected()],
            }
            for n, f in enumerate(usable)
        }
        with open(os.path.join(directory, family + ".json"), "w", encoding="utf-8") as out:
            json.dump(facts, out)
        print(f"{family}: {len(usable)} kernels")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else "sm_90")
