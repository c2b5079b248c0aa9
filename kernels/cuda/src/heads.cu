// What stands between the projections and attention, in one launch: norms of
// query and key heads, rotation, and keys and values into the paged cache.
#include "cache.cuh"
#include "norm.cuh"

// heads_T norms (without a norm: not) and rotates (without cos: not) query heads
// to dst and key heads into the cache, and stores value heads there, as rmsnorm
// by groups of head_dim, rope and kv_put do one after the other. Grid (heads + 2 ·
// kv_heads, rows), a thread per value. heads may be 0: nothing to do for queries.
template <typename T> DEVICE void heads_of(float *dst, uint8_t *cache, const float *q, const float *k, const float *v, const float *q_norm, const float *k_norm, const float *cos, const float *sin, const int *at, const int *slots, int heads, int kv_heads, int head_dim, int block_size, int pairs, int interleaved, float q_eps, float k_eps) {
  SHARED static float h[256], part[8];
  int i = THREAD, head = BLOCK, slot = slots[BLOCK_Y], side = 0;
  bool is_q = head < heads, is_v = head >= heads + kv_heads;
  if (!is_q && slot < 0) return;
  const float *x = is_q ? q : is_v ? v : k, *norm = is_q ? q_norm : is_v ? 0 : k_norm;
  if (!is_q) head -= is_v ? heads + kv_heads : heads;
  int64_t from = ((int64_t)BLOCK_Y * (is_q ? heads : kv_heads) + head) * head_dim;
  x += from;
  float value = i < head_dim ? x[i] : 0.0f;
  if (norm) {
    float by = inverse_rms(x, head_dim, is_q ? q_eps : k_eps, part);
    if (i < head_dim) value = value * by * norm[i];
  }
  if (cos && !is_v) {
    h[i] = value;
    block_sync();
    if (i < 2 * pairs) {
      int pair = interleaved ? i >> 1 : i < pairs ? i : i - pairs;
      side = interleaved ? i & 1 : i >= pairs;
      int64_t row = (int64_t)at[BLOCK_Y] * pairs + pair;
      float a = h[interleaved ? 2 * pair : pair], b = h[interleaved ? 2 * pair + 1 : pair + pairs], c = cos[row], s = sin[row];
      value = side ? a * s + b * c : a * c - b * s;
    }
  }
  if (i >= head_dim) return;
  if (is_q) {
    dst[from + i] = value;
    return;
  }
  T::put(cache + place<T>(slot / block_size, slot % block_size, is_v, head, kv_heads, head_dim, block_size), i, value);
}
#define OF(T) \
  KERNEL(256) heads_##T(float *dst, uint8_t *cache, const float *q, const float *k, const float *v, const float *q_norm, const float *k_norm, const float *cos, const float *sin, const int *at, const int *slots, int heads, int kv_heads, int head_dim, int block_size, int pairs, int interleaved, float q_eps, float k_eps) { \
    heads_of<T>(dst, cache, q, k, v, q_norm, k_norm, cos, sin, at, slots, heads, kv_heads, head_dim, block_size, pairs, interleaved, q_eps, k_eps); \
  }
OF(f16) OF(bf16) OF(f8_e4m3) OF(q8_0) OF(f32)
