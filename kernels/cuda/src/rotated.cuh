// rotated.cuh is the products that make queries, keys and values, with their
// rotation, and keys and values put into the paged cache.
#pragma once
#include "held.cuh"

// Types of the cache and of weights share names.
namespace kv {
#include "cache.cuh"
}

// put stores value i of a head, of a cache type only known when it runs: types are
// places in cuda.CacheTypes, Q8_0 is none of them.
DEVICE void put(uint8_t *cache, int type, int slot, int part, int head, int kv_heads, int head_dim, int block_size, int i, float v) {
#define OF(N, T) case N: kv::T::put(cache + kv::place<kv::T>(slot / block_size, slot % block_size, part, head, kv_heads, head_dim, block_size), i, v); break;
  switch (type) { OF(0, f16) OF(1, bf16) OF(2, f8_e4m3) default: OF(4, f32) }
#undef OF
}

// A spot is where a pair of weight rows belongs: kind 0 is queries, 1 keys, 2 values.
struct spot { int kind, head, pair; bool turn; };

// turning finds pair i of the heads' rows: those that rotate together where they do.
DEVICE pair turning(spot &to, const matrix &q, const matrix &k, const matrix &v, int head_dim, int pairs, int interleaved, int i) {
  matrix m = q;
  to.kind = 0;
  if (i >= q.out >> 1) {
    i -= q.out >> 1, m = k, to.kind = 1;
    if (i >= k.out >> 1) i -= k.out >> 1, m = v, to.kind = 2;
  }
  int half = head_dim >> 1;
  to.head = i / half, to.pair = i % half;
  to.turn = to.kind < 2 && to.pair < pairs;
  bool near = !to.turn || interleaved;
  int low = to.head * head_dim + (near ? 2 * to.pair : to.pair);
  return {m.w, m.type, low, near ? low + 1 : low + pairs};
}

// rotated_S_R writes the heads of norm(x) · qᵀ + bias, rotated, and stores those of k,
// rotated, and of v at their slots, as project, rope and kv_put do one after the
// other. A warp takes two weight rows of a head, those that rotate together where
// they do; head_dim is even. Grid (any, rows/R).
template <typename S, int R> DEVICE void rotated(const matrix &q, const matrix &k, const matrix &v, const float *x, const float *norm, const float *cos, const float *sin, const int *at, const int *slots, uint8_t *cache, int cache_type, int head_dim, int block_size, int pairs, int interleaved, int in, int rows, float eps) {
  SHARED static float part[8 * R];
  int first = BLOCK_Y * R, live = least(R, rows - first), kv_heads = v.out / head_dim;
  int all = (q.out + k.out + v.out) >> 1, i = own_warp() * BLOCKS + BLOCK;
  spot to;
  uint32_t early = 0;
  if (i < all) {
    pair p = turning(to, q, k, v, head_dim, pairs, interleaved, i);
    early = asked(p, S::row_bytes(p.type, in));
  }
  S::hold(x + (int64_t)first * in, norm, eps, live, in, part);
  NEEDED(early);
  for (; i < all; i += WARPS * BLOCKS) {
    pair p = turning(to, q, k, v, head_dim, pairs, interleaved, i);
    // Slots and rotations are asked for first: they come from far, too.
    int r = least(ROW_OF(R), live - 1), slot = slots[first + r];
    float c = 1.0f, s = 0.0f;
    if (to.turn) {
      int64_t of = (int64_t)at[first + r] * pairs + to.pair;
      c = cos[of], s = sin[of];
    }
    float acc[2 * R] = {};
    S::template dot<R>(acc, p, live, in);
    float value = total<2 * R>(acc);
    p = turning(to, q, k, v, head_dim, pairs, interleaved, anew(i));
    int row = UPPER(R) ? p.high : p.low;
    const float *bias = to.kind == 0 ? q.bias : to.kind == 1 ? k.bias : v.bias;
    if (bias) value += bias[row];
    float other = lane_xor(value, 16 / R);
    if (STORES(R) && ROW_OF(R) < live) {
      if (to.turn) value = UPPER(R) ? other * s + value * c : value * c - other * s;
      if (to.kind == 0) q.y[(int64_t)(first + r) * q.out + row] = value;
      else if (slot >= 0) put(cache, cache_type, slot, to.kind - 1, to.head, kv_heads, head_dim, block_size, row - to.head * head_dim, value);
    }
    __nvvm_bar_warp_sync(-1);  // a warp of which not all lanes store is whole again
  }
}

// ROTATED makes the kernel of a side that takes R rows.
#define ROTATED(S, R) \
  KERNEL_OF(THREADS_##R, 1) rotated_##S##_##R(float *y, const uint8_t *w0, const float *b0, int out0, int type0, const uint8_t *w1, const float *b1, int type1, const uint8_t *w2, const float *b2, int type2, int kv_out, \
                                const float *x, const float *norm, const float *cos, const float *sin, const int *at, const int *slots, uint8_t *cache, int cache_type, int head_dim, int block_size, int pairs, int interleaved, int in, int rows, float eps) { \
    rotated<S, R>({y, w0, b0, out0, type0}, {0, w1, b1, kv_out, type1}, {0, w2, b2, kv_out, type2}, x, norm, cos, sin, at, slots, cache, cache_type, head_dim, block_size, pairs, interleaved, in, rows, eps); \
  }
