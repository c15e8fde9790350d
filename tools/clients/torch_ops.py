"""The operators of PyTorch, each on the device and on the CPU: a pytest file for ``pytests.py`` with a PyTorch for CUDA.

``orias exec -- python tools/clients/pytests.py RESULTS.jsonl -- tools/clients/torch_ops.py`` in the Python that has PyTorch
(with expecttest).  Each test takes one of the operators that PyTorch describes for its own tests, and the first of the inputs
that it gives for them, and compares results as PyTorch's ``test_compare_cpu`` does.  What needs a library of NVIDIA that has a
runtime of its own is skipped with its name: a failure would cost a new process.

With ORIAS_TORCH_COMPILE=1 in the environment the device runs what ``torch.compile`` makes of the operator: kernels of Triton,
which Orias compiles.  Of kernels to choose from it takes the first, and products of matrices are Triton's too.
"""

import itertools
import os
import re

import pytest
import torch
import torch._inductor.config
from torch._inductor.runtime import benchmarking
from torch.testing._internal.common_methods_invocations import op_db

SAMPLES = int(os.environ.get("ORIAS_TORCH_SAMPLES", "3"))
TOLERANCE = 1e-3
TYPES = torch.float32, torch.int64, torch.complex64, torch.bool
RANDOM = (
    "rand", "multinomial", "normal", "bernoulli", "dropout", "empty", "uniform", "exponential", "geometric", "cauchy", "rrelu",
    "fractional_max_pool",
)  # fmt: skip
"""Words in the names of operators whose results are not determined."""
LIBRARY = re.compile("cublas|cudnn|cufft|cusolver|cusparse|curand", re.IGNORECASE)
COMPILED = os.environ.get("ORIAS_TORCH_COMPILE") == "1"
CHOSEN = [op for op in op_db if not any(word in op.name for word in RANDOM)]


if COMPILED:
    torch._inductor.config.max_autotune_gemm = True
    torch._inductor.config.max_autotune_gemm_backends = "TRITON"
    torch._inductor.config.test_configs.max_mm_configs = 1
    torch._inductor.config.compile_threads = 1
    for kind in (benchmarking.TritonBenchmarker, benchmarking.InductorBenchmarker):
        kind.benchmark = kind.benchmark_gpu = lambda *arguments, **options: 1.0


def on_device(value):
    """A value with its tensors on the device."""
    if isinstance(value, torch.Tensor):
        return value.detach().to("cuda")
    if isinstance(value, (list, tuple)):
        items = [on_device(v) for v in value]
        return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
    if isinstance(value, dict):
        return {k: on_device(v) for k, v in value.items()}
    return torch.device("cuda") if value == torch.device("cpu") else value


@pytest.mark.parametrize("op", CHOSEN, ids=lambda op: op.formatted_name)
def test_same_as_on_the_cpu(op):
    types = op.supported_dtypes("cuda")
    dtype = next((t for t in TYPES if t in types), None)
    if dtype is None:
        pytest.skip("none of the types")
    torch.manual_seed(0)
    torch._dynamo.reset()
    run = torch.compile(op, dynamic=False) if COMPILED else op
    for sample in itertools.islice(op.sample_inputs("cpu", dtype), SAMPLES):
        if sample.kwargs.get("dropout_p"):
            continue
        given = on_device(sample.input), on_device(sample.args), on_device(sample.kwargs)
        with torch.no_grad():
            try:
                expected = op(sample.input, *sample.args, **sample.kwargs)
            except RuntimeError as e:
                pytest.skip(f"not on the CPU: {e}")
            try:
                found = run(given[0], *given[1], **given[2])
            except RuntimeError as e:
                library = LIBRARY.search(str(e))
                if library is None:
                    raise
                pytest.skip(f"needs {library[0]}")
        torch.testing.assert_close(found, expected, atol=TOLERANCE, rtol=TOLERANCE, check_device=False, equal_nan=True)
