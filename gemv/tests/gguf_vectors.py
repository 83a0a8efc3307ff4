#!/usr/bin/env python3
"""Blocks of random fields and what PyPI's gguf dequantises them to, as read by
gemv/tests/gemv.rs: format, bytes, values, in hexadecimal.

    pip install gguf numpy && python3 gemv/tests/gguf_vectors.py > gemv/tests/gguf_vectors.txt
"""
import gguf, numpy as np
from gguf import GGMLQuantizationType as T

rng = np.random.default_rng(11)
# Where the half precision numbers of a block lie.
HALVES = {"F16": (), "BF16": (), "Q8_0": (0,), "Q4_0": (0,), "Q4_K": (0, 2), "Q5_K": (0, 2), "Q6_K": (208,)}
for name, halves in HALVES.items():
    size, length = gguf.GGML_QUANT_SIZES[T[name]]
    for _ in range(2):
        block = rng.integers(0, 256, length * max(1, 16 // size), dtype=np.uint8)
        for at in halves:
            block[at : at + 2] = np.array([rng.uniform(-1, 1)], dtype=np.float16).view(np.uint8)
        if name == "F16":  # finite
            block[1::2] &= 0xBF
        if name == "BF16":
            block[1::2] &= 0xBF
        values = gguf.quants.dequantize(block, T[name]).astype("<f4")
        print(name, block.tobytes().hex(), values.tobytes().hex())
# And what it quantises to Q8_0: values, then bytes.
for scale in (1.0, 300.0, 1e-4):
    values = (rng.standard_normal(32) * scale).astype("<f4")
    print("to_Q8_0", values.tobytes().hex(), gguf.quants.quantize(values, T.Q8_0).tobytes().hex())
