"""Functions of neural networks by ``torch.compile``: results and gradients on the device beside those in f64 on the CPU.

``orias exec -- python inductor_functions.py [NAME]...`` with a PyTorch for CUDA (with zstandard).  Products of matrices and
convolutions are Triton's; of kernels to choose from the first is taken.  What ends at a library of NVIDIA is printed as such.
"""

import sys
from collections.abc import Callable
from typing import Any

import torch
import torch._inductor.config
import torch.nn.functional as F
from torch import Tensor
from torch._inductor.runtime import benchmarking
from torch.nn.attention.flex_attention import create_block_mask, flex_attention

torch._inductor.config.max_autotune_gemm = True
torch._inductor.config.max_autotune_gemm_backends = "TRITON"
torch._inductor.config.test_configs.max_mm_configs = 1
torch._inductor.config.compile_threads = 1
for kind in (benchmarking.TritonBenchmarker, benchmarking.InductorBenchmarker):
    kind.benchmark = kind.benchmark_gpu = lambda *arguments, **options: 1.0
torch.manual_seed(0)

HALF, BRAIN = torch.float16, torch.bfloat16
LIBRARY = ("CUBLAS", "CUDNN")


def random(*shape: int, of: torch.dtype = torch.float32) -> Tensor:
    return torch.randn(*shape).to(of)


def group_norm_silu(x: Tensor) -> Tensor:
    return F.silu(F.group_norm(x, 4))


def rms_norm(x: Tensor, weight: Tensor) -> Tensor:
    wide = x.float() if x.dtype != torch.float64 else x
    return (wide * torch.rsqrt(wide.square().mean(-1, keepdim=True) + 1e-5)).to(x.dtype) * weight


def rotary(x: Tensor, angle: Tensor) -> Tensor:
    c, s = torch.cos(angle)[None, :, None], torch.sin(angle)[None, :, None]
    a, b = x.chunk(2, -1)
    return torch.cat([a * c - b * s, a * s + b * c], -1)


def gate(x: Tensor, weight: Tensor) -> Tensor:
    chosen, _ = torch.topk(torch.softmax((x[:, :, None] * weight).sum(1), -1), 2)
    return chosen / chosen.sum(-1, keepdim=True)


def lstm_cell(i: Tensor, f: Tensor, g: Tensor) -> Tensor:
    return torch.sigmoid(f) * torch.tanh(g) + torch.sigmoid(i) * g


def causal(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    return flex_attention(q, k, v, score_mod=lambda score, b, h, i, j: torch.where(i >= j, score, -float("inf")))


def windowed(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    mask = create_block_mask(lambda b, h, i, j: (i >= j) & (i - j < 50), None, None, 128, 128, device=str(q.device))
    return flex_attention(q, k, v, block_mask=mask, enable_gqa=True)


def biased(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    return flex_attention(q, k, v, score_mod=lambda score, b, h, i, j: score + (i - j) * 0.01 * (h + 1))


def plain_attention(bias: Callable[[Tensor, Tensor, Tensor], Tensor]) -> Callable[[Tensor, Tensor, Tensor], Tensor]:
    """Attention with all scores in memory; `bias` gets the number of the head, the row and the column."""

    def attention(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        k, v = (x.repeat_interleave(q.shape[1] // x.shape[1], 1) for x in (k, v))
        h, i, j = torch.meshgrid(*(torch.arange(n) for n in (q.shape[1], q.shape[2], k.shape[2])), indexing="ij")
        return torch.softmax(q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5 + bias(h, i, j), -1) @ v

    return attention


PLAIN = {
    causal: plain_attention(lambda h, i, j: torch.where(i >= j, 0.0, -float("inf"))),
    windowed: plain_attention(lambda h, i, j: torch.where((i >= j) & (i - j < 50), 0.0, -float("inf"))),
    biased: plain_attention(lambda h, i, j: (i - j) * 0.01 * (h + 1)),
}
"""What is computed on the CPU instead: flex_attention has gradients on devices only."""
CASES: dict[str, tuple[Callable[..., Tensor], list[Tensor], float]] = {
    "softmax": (lambda x: torch.softmax(x * 1.5, -1), [random(33, 257)], 1e-3),
    "layer norm": (lambda x, w, b: F.layer_norm(x, (257,), w, b), [random(33, 257), random(257), random(257)], 1e-3),
    "group norm": (group_norm_silu, [random(4, 8, 16, 16)], 1e-3),
    "rms norm": (rms_norm, [random(8, 200, of=HALF), random(200, of=HALF)], 2e-2),
    "rotary embedding": (rotary, [random(2, 37, 4, 32), random(37, 16)], 1e-3),
    "gate of experts": (gate, [random(20, 64), random(64, 8)], 1e-3),
    "lstm cell": (lstm_cell, [random(16, 64), random(16, 64), random(16, 64)], 1e-3),
    "product f16": (lambda a, b: torch.relu(a @ b), [random(64, 48, of=HALF), random(48, 80, of=HALF)], 2e-2),
    "product bf16": (lambda a, b: (a @ b) * 0.5 + 1, [random(64, 48, of=BRAIN), random(48, 80, of=BRAIN)], 5e-2),
    "product f32": (lambda a, b: a @ b, [random(65, 33), random(33, 70)], 2e-2),
    "batched product": (torch.bmm, [random(3, 40, 32, of=HALF), random(3, 32, 48, of=HALF)], 2e-2),
    "convolution": (lambda x, w: F.relu(F.conv2d(x, w, padding=1)), [random(1, 3, 20, 20), random(8, 3, 3, 3)], 2e-2),
    "pooling": (lambda x: F.max_pool2d(x, 3, 2), [random(2, 3, 20, 20)], 1e-3),
    "bicubic": (lambda x: F.interpolate(x, size=(7, 9), mode="bicubic"), [random(2, 3, 11, 13)], 1e-3),
    "grid sample": (
        lambda x, g: F.grid_sample(x, g, align_corners=False), [random(2, 3, 11, 13), random(2, 5, 6, 2).tanh()], 1e-3,
    ),
    "cross entropy": (F.cross_entropy, [random(40, 30), torch.randint(0, 30, (40,))], 1e-3),
    "gelu bf16": (F.gelu, [random(2000, of=BRAIN)], 2e-2),
    "cumulative sum": (lambda x: torch.cumsum(x, 1), [random(16, 100)], 1e-3),
    "log of cumulative sum": (lambda x: torch.logcumsumexp(x, 1), [random(16, 100)], 1e-3),
    "scatter of largest": (
        lambda x, i, y: x.scatter_reduce(0, i, y, "amax"), [random(50, 20), torch.randint(0, 50, (77, 20)), random(77, 20)], 1e-3,
    ),
    "causal attention": (causal, [random(2, 2, 64, 32, of=HALF) for _ in range(3)], 2e-2),
    "windowed attention": (
        windowed, [random(2, 4, 128, 64, of=BRAIN), random(2, 2, 128, 64, of=BRAIN), random(2, 2, 128, 64, of=BRAIN)], 5e-2,
    ),
    "biased attention": (biased, [random(2, 4, 200, 64, of=HALF) for _ in range(3)], 5e-2),
}  # fmt: skip


def results(function: Callable[..., Tensor], given: list[Tensor]) -> list[Tensor]:
    """What a function returns, and the gradients of the sum of its squares."""
    leaves = [x.detach().requires_grad_(x.is_floating_point()) for x in given]
    out = function(*leaves)
    wide = out.double() if out.dtype == torch.float64 else out.float()
    wide.square().sum().backward()
    return [out.detach(), *(x.grad for x in leaves if x.grad is not None)]


def difference(name: str) -> str:
    """What is wrong with a case, empty if nothing."""
    function, given, tolerance = CASES[name]
    torch._dynamo.reset()
    wide: list[Any] = [x.double() if x.is_floating_point() else x for x in given]
    expected = results(PLAIN.get(function, function), wide)
    found = results(torch.compile(function, dynamic=False), [x.to("cuda") for x in given])
    for k, (a, b) in enumerate(zip(found, expected, strict=True)):
        error = (a.cpu().double() - b).abs() / (1 + b.abs() + (b.abs().max() if k else 0))
        if not bool((error <= tolerance).all()):
            return f"{'gradient' if k else 'result'}: off by {float(error.max()):.3g}"
    return ""


def main() -> None:
    wrong = 0
    for name in sys.argv[1:] or CASES:
        try:
            what = difference(name)
        except RuntimeError as e:
            if not any(library in str(e) for library in LIBRARY):
                raise
            print(f"{name}: needs a library of NVIDIA", flush=True)
            continue
        wrong += what != ""
        print(f"{name}: {what or 'right'}", flush=True)
    sys.exit(wrong > 0)


if __name__ == "__main__":
    main()
