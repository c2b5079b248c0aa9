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

// rotated_S_R writes the heads of norm(x) · qᵀ + bias, rotated, and stores those of k,
// rotated, and of v at their slots, as project, rope and kv_put do one after the
// other. A warp takes two weight rows of a head, those that rotate together where
// they do; head_dim is even. Grid (any, rows/R).
template <typename S, int R> DEVICE void rotated(matrix q, matrix k, matrix v, const float *x, const float *norm, const float *cos, const float *sin, const int *at, const int *slots, uint8_t *cache, int cache_type, int head_dim, int block_size, int pairs, int interleaved, int in, int rows, float eps) {
  SHARED static float part[8];
  int first = BLOCK_Y * R, live = least(R, rows - first), half = head_dim >> 1, kv_heads = v.out / head_dim;
  S::hold(x + (int64_t)first * in, norm, eps, live, in, part);
  for (int i = BLOCK * 8 + (THREAD >> 5); i < (q.out + k.out + v.out) >> 1; i += BLOCKS * 8) {
    matrix m = q;
    int at_pair = i, kind = 0;
    if (at_pair >= q.out >> 1) {
      at_pair -= q.out >> 1, m = k, kind = 1;
      if (at_pair >= k.out >> 1) at_pair -= k.out >> 1, m = v, kind = 2;
    }
    int head = at_pair / half, pair = at_pair % half;
    bool turn = kind < 2 && pair < pairs, near = !turn || interleaved;
    int low = near ? 2 * pair : pair, high = near ? low + 1 : pair + pairs;
    float a[R], b[R] = {};
    // One piece of code for both, the lower first.
#pragma nounroll
    for (int second = 0; second < 2; second++) {
#pragma unroll
      for (int r = 0; r < R; r++) a[r] = b[r], b[r] = 0.0f;
      S::template dot<R>(b, m.w, m.type, head * head_dim + (second ? high : low), live, in);
    }
#pragma unroll
    for (int r = 0; r < R; r++) {
      if ((THREAD & 31) == r && r < live) {
        float l = a[r], h = b[r];
        if (m.bias) l += m.bias[head * head_dim + low], h += m.bias[head * head_dim + high];
        if (turn) {
          int64_t row = (int64_t)at[first + r] * pairs + pair;
          float c = cos[row], s = sin[row], was = l;
          l = was * c - h * s;
          h = was * s + h * c;
        }
        int slot = slots[first + r];
        if (kind == 0) {
          float *y = m.y + (int64_t)(first + r) * m.out + head * head_dim;
          y[low] = l, y[high] = h;
        } else if (slot >= 0) {
          put(cache, cache_type, slot, kind - 1, head, kv_heads, head_dim, block_size, low, l);
          put(cache, cache_type, slot, kind - 1, head, kv_heads, head_dim, block_size, high, h);
        }
      }
    }
  }
}

// ROTATED makes the kernel of a side that takes R rows.
#define ROTATED(S, R) \
  KERNEL(256) rotated_##S##_##R(float *y, const uint8_t *w0, const float *b0, int out0, int type0, const uint8_t *w1, const float *b1, int type1, const uint8_t *w2, const float *b2, int type2, int kv_out, \
                                const float *x, const float *norm, const float *cos, const float *sin, const int *at, const int *slots, uint8_t *cache, int cache_type, int head_dim, int block_size, int pairs, int interleaved, int in, int rows, float eps) { \
    rotated<S, R>({y, w0, b0, out0, type0}, {0, w1, b1, kv_out, type1}, {0, w2, b2, kv_out, type2}, x, norm, cos, sin, at, slots, cache, cache_type, head_dim, block_size, pairs, interleaved, in, rows, eps); \
  }
