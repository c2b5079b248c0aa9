// Latent attention: all heads share a token's one key, whose first numbers are its value. A
// layer of the cache is (blocks, block_size, head_dim).
#include "cache.cuh"
#include "runs.cuh"

// The widest key and value there are registers for, 32 numbers of a lane each, and how many
// tokens a block decodes at a time.
#define KEYS 18
#define VALUES 16
#define TOKENS 16

// latent_put_T stores the keys of rows at their slots; a slot below 0 is none: grid
// (head_dim/256, rows).
template <typename T> DEVICE void latent_put(uint8_t *cache, const float *k, const int *slots, int head_dim) {
  int i = BLOCK * 256 + THREAD, slot = slots[BLOCK_Y];
  if (i < head_dim && slot >= 0) T::put(cache + (int64_t)slot * T::bytes(head_dim), i, k[(int64_t)BLOCK_Y * head_dim + i]);
}

// latent_attend_T leaves, for each head of each row and each of grid.z parts of the tokens it
// sees, what attend_T does: Σ exp(score - top)·value, top, and Σ exp(score - top). Grid
// (heads/8, rows, splits): a warp is a head, and the eight of a block share each key, which is
// read from the cache and decoded once for them. Values come from the registers that gave the
// score. Together with attend_combine within attend_T's bound. DeepSeek-AI, "DeepSeek-V2",
// 2024, §2.1.
template <typename T> DEVICE void latent_attend(float *part, const float *q, const uint8_t *cache, const int *tables, const int *seq, const int *ends, int table_len, int heads, int head_dim, int values, int block_size, float scale) {
  SHARED static float keys[TOKENS * KEYS * 32];
  int lane = THREAD & 31, warp = THREAD >> 5, head = BLOCK * 8 + warp, end = ends[BLOCK_Y];
  bool there = head < heads;
  int64_t at = (int64_t)BLOCK_Y * heads + (there ? head : 0);
  q += at * head_dim;
  part += (at * BLOCKS_Z + BLOCK_Z) * (values + 2);
  const int *table = tables + (int64_t)(end > 0 ? seq[BLOCK_Y] : 0) * table_len;
  int count = (end + BLOCKS_Z - 1) / BLOCKS_Z, from = BLOCK_Z * count, to = least(from + count, end);

  float mine[KEYS], acc[VALUES] = {}, top = as_float(0xff800000), sum = 0.0f;
#pragma unroll
  for (int i = 0; i < KEYS; i++) mine[i] = lane + 32 * i < head_dim ? q[lane + 32 * i] * scale : 0.0f;
  for (int first = from; first < to; first += TOKENS) {
    int n = least(TOKENS, to - first);
    all_threads();
    for (int j = warp; j < n; j += 8) {
      int t = first + j;
      const uint8_t *p = cache + ((int64_t)table[t / block_size] * block_size + t % block_size) * T::bytes(head_dim);
      for (int i = lane; i < head_dim; i += 32) keys[j * KEYS * 32 + i] = T::at(p, i);
    }
    all_threads();
    for (int j = 0; j < n; j++) {
      float k[KEYS], s = 0.0f;
#pragma unroll
      for (int i = 0; i < KEYS; i++) {
        k[i] = lane + 32 * i < head_dim ? keys[j * KEYS * 32 + lane + 32 * i] : 0.0f;
        s = fma(mine[i], k[i], s);
      }
      s = warp_sum(s);
      float above = s > top ? s : top, was = exponential(top - above), is = exponential(s - above);
      if (s != s) is = s;  // a broken score shows in the result
      top = above;
      sum = fma(sum, was, is);
#pragma unroll
      for (int i = 0; i < VALUES; i++) acc[i] = fma(acc[i], was, is * k[i]);
    }
  }
  if (!there) return;
#pragma unroll
  for (int i = 0; i < VALUES; i++)
    if (lane + 32 * i < values) part[lane + 32 * i] = acc[i];
  if (lane == 0) part[values] = top, part[values + 1] = sum;
}
#define OF(T) \
  KERNEL(256) latent_put_##T(uint8_t *cache, const float *k, const int *slots, int head_dim) { latent_put<T>(cache, k, slots, head_dim); } \
  KERNEL(256) latent_attend_##T(float *part, const float *q, const uint8_t *cache, const int *tables, const int *seq, const int *ends, int table_len, int heads, int head_dim, int values, int block_size, float scale) { \
    latent_attend<T>(part, q, cache, tables, seq, ends, table_len, heads, head_dim, values, block_size, scale); \
  }
OF(f16) OF(bf16) OF(f8_e4m3) OF(q8_0) OF(f32)
