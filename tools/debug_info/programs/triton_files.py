"""Kernels of Triton, those of the tests: ``python triton_files.py FOLDER`` writes their PTX, which has line tables (no GPU)."""

import importlib.util
import sys
from pathlib import Path

import triton
from triton.backends.compiler import GPUTarget

T = str(Path(__file__).resolve().parents[3] / "tests")
sys.path[:0] = [T + "/kernels/matrix"]
out = Path(sys.argv[1])


def load(path, name):
    spec = importlib.util.spec_from_file_location(name, path)
    m = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(m)
    return m


m = load(T + "/kernels/matrix/triton_kernels.py", "mk")
c = load(T + "/clients/triton_kernels.py", "ck")


def write(name, fn, types, constants, sm, warps=4):
    signature = dict(zip(fn.arg_names, [*types, *["constexpr"] * len(constants)], strict=True))
    attrs = {(j,): [["tt.divisibility", 16]] for j, t in enumerate(types) if t[0] == "*" or t == "i32"}
    source = triton.compiler.ASTSource(fn, signature, constants, attrs)
    try:
        made = triton.compile(
            source,
            target=GPUTarget("cuda", sm, 32),
            options={"num_warps": warps, "num_stages": 3 if sm >= 80 else 1, "ptx_version": 88},
        )
    except Exception as e:
        print(name, sm, type(e), str(e)[:200])
        return
    (out / f"triton_{name}.sm_{sm}.ptx").write_text(made.asm["ptx"])


h, f, i = "*fp16", "*fp32", "i32"
att = {"D": 32, "BM": 32, "BN": 32}
write("matmul_f16", m.matmul, [h, h, f, i, i, i], {"BM": 64, "BN": 64, "BK": 32}, 80)
write("matmul_bf16", m.matmul, ["*bf16", "*bf16", f, i, i, i], {"BM": 32, "BN": 32, "BK": 32}, 90)
write("matmul_f16", m.matmul, [h, h, f, i, i, i], {"BM": 64, "BN": 64, "BK": 32}, 100)
write("grouped", m.grouped, ["*bf16", "*bf16", f, "*i32", i, i], {"BM": 64, "BN": 64, "BK": 32}, 86)
write("attention", m.attention, [h, h, h, f, f, i, "fp32"], att, 89)
write("attention_backward", m.attention_backward, [h, h, h, h, f, f, f, f, i, "fp32"], att, 80)
write("softmax", m.softmax, [f, f, i], {"B": 256}, 75)
write("softmax", m.softmax, [f, f, i], {"B": 1024}, 90)
write("layer_norm", m.layer_norm, [h, h, f, f, i, "fp32"], {"B": 256}, 86)
write("layer_norm", m.layer_norm, [h, h, f, f, i, "fp32"], {"B": 512}, 100)
write("rows_reduced", c.rows_reduced, [f, f, f, "*i32"], {"B": 32, "N": 64}, 80)
write("scanned", c.scanned, ["*i32", f, "*i32", f], {"B": 4, "N": 64}, 90)
write("counted", c.counted, ["*i32", "*i32", f, i], {"B": 128, "BINS": 32}, 89)
write("locked", c.locked, ["*i32", "*i32"], {"B": 128}, 75)
