// References in double precision on the CPU. All tensors are compact and row-major; matrices of attention are
// [B, H, S, D] for queries and [B, Hkv, S, D] for keys and values, where H / Hkv query heads share a head of K and V.
// Expected values made here stay in this process.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "ptxbench/judge/matmul.h"

namespace ptxbench::judge {

// C[m x n] = A[m x k] B[n x k]^T, from bf16 patterns. threads = 0: one per core.
void gemm_nt_reference(std::int64_t m, std::int64_t n, std::int64_t k, std::span<const std::uint16_t> a,
                       std::span<const std::uint16_t> b, std::span<double> c, unsigned threads = 0);

struct AttentionShape {
  std::int64_t batch = 1, heads = 1, kv_heads = 1, length = 0, dim = 0;
  bool causal = false;  // query i sees keys 0..i

  std::int64_t group() const { return heads / kv_heads; }
  std::int64_t query_elements() const { return batch * heads * length * dim; }
  std::int64_t key_elements() const { return batch * kv_heads * length * dim; }
  std::int64_t rows() const { return batch * heads * length; }
};

// O = softmax(Q K^T / sqrt(D)) V, and lse = ln sum exp of the scaled scores. One head, [S, D] each.
void attention_forward_head(std::int64_t length, std::int64_t dim, bool causal, const double* q, const double* k,
                            const double* v, double* o, double* lse);

// Gradients of sum(dO * O) for one query head and its head of K and V, from the stored O and lse of the forward pass:
// P = exp(Q K^T / sqrt(D) - lse), dV += P^T dO, dS = P * (dO V^T - rowsum(dO * O)), dQ = dS K / sqrt(D),
// dK += dS^T Q / sqrt(D).
void attention_backward_head(std::int64_t length, std::int64_t dim, bool causal, const double* q, const double* k,
                             const double* v, const double* o, const double* d_o, const double* lse, double* d_q,
                             double* d_k, double* d_v);

// The same over whole tensors of bf16 patterns (lse: binary32), heads in parallel.
void attention_forward_reference(const AttentionShape& shape, std::span<const std::uint16_t> q,
                                 std::span<const std::uint16_t> k, std::span<const std::uint16_t> v,
                                 std::span<double> o, std::span<double> lse, unsigned threads = 0);

struct AttentionGradientInputs {
  std::span<const std::uint16_t> q, k, v, o, d_o;
  std::span<const float> lse;
};
void attention_backward_reference(const AttentionShape& shape, const AttentionGradientInputs& in, std::span<double> d_q,
                                  std::span<double> d_k, std::span<double> d_v, unsigned threads = 0);

}  // namespace ptxbench::judge
