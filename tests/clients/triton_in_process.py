"""Compiles kernels with Triton in this process, without a GPU; prints what the test asks for, as JSON.

Run by a Python that has Triton, with Orias on its path.
"""

import hashlib
import json
import os
import sys
from typing import Any

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource
from triton.runtime.errors import PTXASError

import orias


@triton.jit
def add(x, y, out, n, BLOCK: tl.constexpr):  # type: ignore[no-untyped-def]
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = i < n
    tl.store(out + i, tl.load(x + i, mask=mask) + tl.load(y + i, mask=mask), mask=mask)


def build(arch: int, **options: Any) -> Any:
    source = ASTSource(
        fn=add, signature={"x": "*fp32", "y": "*fp32", "out": "*fp32", "n": "i32"}, constexprs={"BLOCK": 256}
    )
    return triton.compile(source, target=GPUTarget("cuda", arch, 32), options=options)


def main() -> None:
    hook = triton.knobs.runtime.add_stages_inspection_hook
    orias.triton.install()
    orias.triton.install()
    out: dict[str, Any] = {"before": hook is None, "kernels": {}}
    for arch in (80, 90, 100):
        kernel = build(arch)
        cubin = kernel.asm["cubin"]
        target = f"sm_{arch}{'a' if arch >= 90 else ''}"
        command = orias.compile(kernel.asm["ptx"], arch=target, lineinfo=True)
        info = command.kernels["add"]
        out["kernels"][arch] = {
            "orias": b"Orias" in cubin,
            "code": command.disassemble() == orias.disassemble(cubin),
            "registers": [kernel.metadata.orias_registers, info.registers],
            "spills": kernel.metadata.orias_spills,
            "shared": [kernel.metadata.orias_shared, info.shared],
            "hash": kernel.hash,
            "digest": hashlib.sha256(cubin).hexdigest(),
        }
    try:
        build(80, ptx_options="--no-such-option")
        out["error"] = ""
    except PTXASError as e:
        out["error"] = str(e)
    out["key"] = orias.triton.key()
    identity = orias.clients.triton.identity
    orias.triton.uninstall()
    orias.clients.triton.identity = lambda: "another"
    orias.triton.install()
    out["other"] = build(80).hash
    orias.clients.triton.identity = identity
    orias.triton.uninstall()
    out["after"] = triton.knobs.runtime.add_stages_inspection_hook is hook
    json.dump(out, sys.stdout)


if __name__ == "__main__":
    os.environ.setdefault("TRITON_ALWAYS_COMPILE", "0")
    main()
