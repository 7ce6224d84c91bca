#!/usr/bin/env python3
"""Times cuBLASLt's BF16 product C[m,n] = A[m,k] B[n,k]^T without any of ptxbench's code: PyTorch's profiler (CUPTI activity
records through Kineto) around calls made through ctypes. The same question as ptxbench's baseline asks: the fastest of the
first eight algorithms that the heuristics offer, L2 flushed before each call, median of the kernel times. Prints JSON.

    cublas_time.py M N K [--calls 50]
"""
import argparse
import ctypes
import json
import statistics

import torch
from torch.profiler import ProfilerActivity, profile

BF16, F32 = 14, 0  # cudaDataType_t
COMPUTE_32F = 68  # cublasComputeType_t
TRANSPOSE_A, TRANSPOSE_B = 3, 4  # cublasLtMatmulDescAttributes_t
MAX_WORKSPACE = 1  # cublasLtMatmulPreferenceAttributes_t
WORKSPACE = 64 << 20
PLANS = 8


class Heuristic(ctypes.Structure):  # cublasLtMatmulHeuristicResult_t
    _fields_ = [("algo", ctypes.c_uint64 * 8), ("workspace", ctypes.c_size_t), ("state", ctypes.c_int), ("waves", ctypes.c_float),
                ("reserved", ctypes.c_int * 4)]


class Product:
    def __init__(self, m, n, k):
        self.lt = ctypes.CDLL("libcublasLt.so.13")
        self.lt.cublasLtGetVersion.restype = ctypes.c_size_t
        self.a = torch.randn(m, k, device="cuda").bfloat16()
        self.b = torch.randn(n, k, device="cuda").bfloat16()
        self.c = torch.empty(m, n, device="cuda", dtype=torch.bfloat16)
        self.workspace = torch.empty(WORKSPACE, device="cuda", dtype=torch.uint8)
        self.handle, self.desc, preference = (ctypes.c_void_p() for _ in range(3))
        self.check(self.lt.cublasLtCreate(ctypes.byref(self.handle)))
        self.check(self.lt.cublasLtMatmulDescCreate(ctypes.byref(self.desc), COMPUTE_32F, F32))
        self.set(self.lt.cublasLtMatmulDescSetAttribute, self.desc, TRANSPOSE_A, ctypes.c_int(1))
        self.set(self.lt.cublasLtMatmulDescSetAttribute, self.desc, TRANSPOSE_B, ctypes.c_int(0))
        # By columns: C^T[n,m] = B A^T, so B is the first operand.
        self.layouts = [self.layout(k, n, k), self.layout(k, m, k), self.layout(n, m, n)]
        self.check(self.lt.cublasLtMatmulPreferenceCreate(ctypes.byref(preference)))
        self.set(self.lt.cublasLtMatmulPreferenceSetAttribute, preference, MAX_WORKSPACE, ctypes.c_uint64(WORKSPACE))
        self.plans, count = (Heuristic * PLANS)(), ctypes.c_int()
        first, second, result = self.layouts
        self.check(self.lt.cublasLtMatmulAlgoGetHeuristic(self.handle, self.desc, first, second, result, result, preference, PLANS,
                                                          self.plans, ctypes.byref(count)))
        self.plans = self.plans[:count.value]

    def check(self, status):
        if status != 0:
            raise RuntimeError(f"cuBLASLt status {status}")

    def set(self, function, owner, attribute, value):
        self.check(function(owner, attribute, ctypes.byref(value), ctypes.sizeof(value)))

    def layout(self, rows, columns, leading):
        layout = ctypes.c_void_p()
        self.check(self.lt.cublasLtMatrixLayoutCreate(ctypes.byref(layout), BF16, ctypes.c_uint64(rows), ctypes.c_uint64(columns),
                                                      ctypes.c_int64(leading)))
        return layout

    def run(self, plan):
        one, zero = ctypes.c_float(1), ctypes.c_float(0)
        first, second, result = self.layouts
        self.check(self.lt.cublasLtMatmul(
            self.handle, self.desc, ctypes.byref(one), ctypes.c_void_p(self.b.data_ptr()), first, ctypes.c_void_p(self.a.data_ptr()),
            second, ctypes.byref(zero), ctypes.c_void_p(self.c.data_ptr()), result, ctypes.c_void_p(self.c.data_ptr()), result,
            ctypes.byref(plan.algo), ctypes.c_void_p(self.workspace.data_ptr()), ctypes.c_size_t(plan.workspace),
            ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)))


def median_ms(product, plan, calls, flush):
    """Median over the calls of the time from the first kernel's start to the last one's end, by CUPTI."""
    kernels = []
    for _ in range(3):
        product.run(plan)
    torch.cuda.synchronize()
    with profile(activities=[ProfilerActivity.CUDA]) as profiler:
        for _ in range(calls):
            flush.zero_()
            product.run(plan)
        torch.cuda.synchronize()
    for event in sorted(profiler.events(), key=lambda event: event.time_range.start):
        kernels.append((event.name, event.time_range.start, event.time_range.end))
    spans, start, end = [], None, None
    for name, begin, finish in kernels + [("flush", 0, 0)]:
        if "gemm" in name.lower() or "nvjet" in name.lower() or "splitk" in name.lower():
            start, end = begin if start is None else start, finish
        elif start is not None:
            spans.append((end - start) / 1000)
            start = None
    if len(spans) != calls:
        raise RuntimeError(f"{len(spans)} products seen, expected {calls}: {sorted({name for name, _, _ in kernels})}")
    return statistics.median(spans)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for size in ("m", "n", "k"):
        parser.add_argument(size, type=int)
    parser.add_argument("--calls", type=int, default=50)
    options = parser.parse_args()
    torch.manual_seed(1)
    product = Product(options.m, options.n, options.k)
    flush = torch.empty(256 << 20, device="cuda", dtype=torch.uint8)
    times = [median_ms(product, plan, options.calls, flush) for plan in product.plans]
    expected = product.a.float() @ product.b.float().T
    error = ((product.c.float() - expected).norm() / expected.norm()).item()
    print(json.dumps({"library": "cuBLASLt", "version": product.lt.cublasLtGetVersion(), "plans_ms": times, "best_ms": min(times),
                      "relative_l2": error}))


if __name__ == "__main__":
    main()
