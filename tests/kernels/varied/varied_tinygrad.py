"""Kernels that tinygrad makes: ``python varied_tinygrad.py DIR`` compiles them to PTX (tinygrad 0.14, without a GPU).

The first line of each file has the grid, the block and the order of the buffers: the output first, then the inputs by their numbers.
"""

import os
import sys

os.environ["DEV"] = "MOCK+NULL:PTX:sm_80"

from tinygrad import Tensor, dtypes
from tinygrad.codegen import to_program
from tinygrad.device import Device
from tinygrad.uop.ops import Ops


def tensors(*shapes: tuple[int, ...], dtype: object = dtypes.float32) -> list[Tensor]:
    """Inputs without contents."""
    return [Tensor.empty(*s, dtype=dtype) for s in shapes]


def kernels() -> dict[str, tuple[Tensor, list[Tensor]]]:
    """Name -> result and inputs; each is one kernel."""
    out: dict[str, tuple[Tensor, list[Tensor]]] = {}

    def add(name: str, result: Tensor, inputs: list[Tensor]) -> None:
        out[name] = result, inputs

    (a, b) = tensors((64, 48), (48, 64))
    add("grad_matmul", a @ b, [a, b])
    (a, b) = tensors((64, 64), (64, 64), dtype=dtypes.half)
    add("grad_matmul_half", a.matmul(b, dtype=dtypes.float32), [a, b])
    (x,) = tensors((32, 96))
    add("grad_gelu", x.gelu(), [x])
    (x,) = tensors((16, 128))
    add("grad_sum_rows", (x * x).sum(axis=1), [x])
    (x,) = tensors((1, 4, 12, 12))
    (w,) = tensors((8, 4, 3, 3))
    add("grad_conv", x.conv2d(w), [x, w])
    (x,) = tensors((1, 8, 16, 16))
    add("grad_max_pool", x.max_pool2d(), [x])
    (x,) = tensors((40, 30))
    add("grad_transpose", (x.transpose(0, 1) + 1).contiguous(), [x])
    (x, y) = tensors((8, 100), (8, 100), dtype=dtypes.int32)
    add("grad_divmod", x // (y.abs() + 1) + x % (y.abs() + 7), [x, y])
    (x, y) = tensors((16, 64), (16, 64))
    add("grad_swiglu", x * (y * y.sigmoid()), [x, y])
    (w,) = tensors((50, 24))
    (i,) = tensors((40,), dtype=dtypes.int32)
    add("grad_gather", w[i], [w, i])
    (x,) = tensors((2, 6, 14, 14))
    (w,) = tensors((6, 1, 3, 3))
    add("grad_depthwise", x.conv2d(w, groups=6, stride=2, padding=1).relu(), [x, w])
    return out


def main(directory: str) -> None:
    """Write every kernel."""
    renderer = Device[Device.DEFAULT].renderer
    for name, (result, inputs) in kernels().items():
        calls = [
            c
            for c in result.schedule_linear().toposort()
            if c.op is Ops.CALL and c.src[0].op in (Ops.SINK, Ops.PROGRAM)
        ]
        assert len(calls) == 1, (name, len(calls))
        program = to_program(calls[0].src[0], renderer)
        text = next(u.arg for u in program.src if u.op is Ops.BINARY).decode()
        buffers = [u.buffer if hasattr(u, "buffer") else u for u in calls[0].src[1:]]
        known = [t.uop.base.buffer for t in inputs]
        order = [next((k for k, t in enumerate(known) if t is b), -1) for b in buffers]
        info = program.arg
        head = f"// grid {' '.join(map(str, info.global_size))} block {' '.join(map(str, info.local_size or (1, 1, 1)))} buffers {' '.join(map(str, order))}"
        with open(f"{directory}/{name}.ptx", "w", encoding="utf-8") as out:
            out.write(f"{head}\n{text}\n")
        print(name, head, len(text))


if __name__ == "__main__":
    main(sys.argv[1])
