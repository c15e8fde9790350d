"""IREE: a product of matrices and a reduction compiled for CUDA, beside numpy's results; needs iree-base-compiler and -runtime.

Run it with ``orias exec --device A100 -- python iree_module.py``.
"""

import iree.compiler as compiler
import iree.runtime as runtime
import numpy as np

TEXT = """
func.func @main(%a: tensor<64x32xf32>, %b: tensor<32x48xf32>) -> (tensor<64x48xf32>, tensor<64xf32>) {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<64x48xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<64x48xf32>) -> tensor<64x48xf32>
  %m = linalg.matmul ins(%a, %b : tensor<64x32xf32>, tensor<32x48xf32>) outs(%f : tensor<64x48xf32>) -> tensor<64x48xf32>
  %e2 = tensor.empty() : tensor<64xf32>
  %f2 = linalg.fill ins(%z : f32) outs(%e2 : tensor<64xf32>) -> tensor<64xf32>
  %r = linalg.generic {indexing_maps=[affine_map<(i,j)->(i,j)>, affine_map<(i,j)->(i)>], iterator_types=["parallel","reduction"]} ins(%m: tensor<64x48xf32>) outs(%f2: tensor<64xf32>) {
    ^bb0(%x: f32, %acc: f32):
      %t = math.exp %x : f32
      %s = arith.addf %t, %acc : f32
      linalg.yield %s : f32
  } -> tensor<64xf32>
  return %m, %r : tensor<64x48xf32>, tensor<64xf32>
}
"""
options = ["--iree-hal-target-device=cuda", "--iree-cuda-target=sm_80"]
module = compiler.compile_str(TEXT, extra_args=options)
config = runtime.Config("cuda")
context = runtime.SystemContext(config=config)
context.add_vm_module(runtime.VmModule.copy_buffer(config.vm_instance, module))
random = np.random.default_rng(0)
a, b = random.random((64, 32)).astype(np.float32), random.random((32, 48)).astype(np.float32)
product, sums = (np.array(r.to_host()) for r in context.modules.module.main(a, b))
assert np.allclose(product, a @ b, atol=1e-4) and np.allclose(sums, np.exp(a @ b).sum(1), rtol=1e-4)
print("right")
