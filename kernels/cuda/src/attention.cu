// Attention over the paged cache, and storing to it.
#include "cache.cuh"

// kv_put stores value i of a row: grid (kv_heads·head_dim/256, rows).
template <typename T> DEVICE void kv_put(uint8_t *cache, const float *k, const float *v, const int *slots, int kv_heads, int head_dim, int block_size) {
  int i = BLOCK * 256 + THREAD, slot = slots[BLOCK_Y];
  if (i >= kv_heads * head_dim || slot < 0) return;
  int64_t at = (int64_t)BLOCK_Y * kv_heads * head_dim + i;
  for (int part = 0; part < 2; part++)
    T::put(cache + place<T>(slot / block_size, slot % block_size, part, i / head_dim, kv_heads, head_dim, block_size), i % head_dim, (part ? v : k)[at]);
}

// kv_put_T stores the keys and values of rows at their slots; a slot below 0
// is none.
#define KV_PUT(T) \
  KERNEL(256) kv_put_##T(uint8_t *cache, const float *k, const float *v, const int *slots, int kv_heads, int head_dim, int block_size) { kv_put<T>(cache, k, v, slots, kv_heads, head_dim, block_size); }
KV_PUT(f16) KV_PUT(bf16) KV_PUT(f8_e4m3) KV_PUT(q8_0) KV_PUT(f32)

// attend_T leaves, for each head of each row and each of grid.z parts of the
// tokens it sees, Σ exp(score - top)·value, then top, then Σ exp(score - top).
// Grid (heads, rows, splits), four warps: token first + warp, + 4, ..., lanes
// share out head_dim. Query heads share key heads in groups; a row sees tokens
// from first_seen to end. Milakov & Gimelshein, "Online normalizer
// calculation for softmax", 2018, algorithm 3; split as in Dao et al.,
// "Flash-Decoding", 2023. Together with attend_combine within
// (head_dim/32 + tokens/4 + 32 + spread)·2^-22 of Σ|p·v|. Heads have at most 32·N values,
// which are 256 in attend_T and 512 in attend_wide_T.
// With SIDES the window is to both sides, half each, and slopes, where there are some, are
// taken off a score for each token between. Press et al., "ALiBi", 2022.
template <typename T, int N, bool SIDES> DEVICE void attend(float *part, const float *q, const uint8_t *cache, const int *tables, const int *seq, const int *ends, const int *positions, const float *slopes, int table_len, int heads, int kv_heads, int head_dim, int block_size, int window, float scale, float softcap) {
  SHARED static float sums[4 * (32 * N + 2)];
  int lane = THREAD & 31, warp = THREAD >> 5, head = BLOCK, kv = head / (heads / kv_heads);
  int64_t at = (int64_t)BLOCK_Y * heads + head;
  q += at * head_dim;
  part += (at * BLOCKS_Z + BLOCK_Z) * (head_dim + 2);
  int end = ends[BLOCK_Y], first = SIDES ? 0 : first_seen(end, window), own = SIDES && end > 0 ? positions[BLOCK_Y] : 0;
  if (SIDES && window > 0) first = most(0, own - window / 2), end = least(end, own + window / 2 + 1);
  float slope = SIDES && slopes ? slopes[head] : 0.0f;
  const int *table = tables + (int64_t)(end > 0 ? seq[BLOCK_Y] : 0) * table_len;
  int count = (end - first + BLOCKS_Z - 1) / BLOCKS_Z;
  int from = first + BLOCK_Z * count, to = least(from + count, end);

  float mine[N], acc[N], top = as_float(0xff800000), sum = 0.0f;
#pragma unroll
  for (int i = 0; i < N; i++) {
    mine[i] = lane + 32 * i < head_dim ? q[lane + 32 * i] * scale : 0.0f;
    acc[i] = 0.0f;
  }
  for (int t = from + warp; t < to; t += 4) {
    int64_t block = table[t / block_size];
    int in = t % block_size;
    const uint8_t *p = cache + place<T>(block, in, 0, kv, kv_heads, head_dim, block_size);
    float s = 0.0f;
#pragma unroll
    for (int i = 0; i < N; i++)
      if (lane + 32 * i < head_dim) s = fma(mine[i], T::at(p, lane + 32 * i), s);
    s = warp_sum(s);
    if (softcap > 0.0f) s = soft_cap(s, softcap);
    if (SIDES && slopes) s -= slope * (float)(t > own ? t - own : own - t);
    float above = s > top ? s : top, was = exponential(top - above), is = exponential(s - above);
    if (s != s) is = s;  // a broken score shows in the result
    top = above;
    sum = fma(sum, was, is);
    p = cache + place<T>(block, in, 1, kv, kv_heads, head_dim, block_size);
#pragma unroll
    for (int i = 0; i < N; i++)
      if (lane + 32 * i < head_dim) acc[i] = fma(acc[i], was, is * T::at(p, lane + 32 * i));
  }
#pragma unroll
  for (int i = 0; i < N; i++)
    if (lane + 32 * i < head_dim) sums[warp * (32 * N + 2) + lane + 32 * i] = acc[i];
  if (lane == 0) sums[warp * (32 * N + 2) + 32 * N] = top, sums[warp * (32 * N + 2) + 32 * N + 1] = sum;
  block_sync();

  float all = as_float(0xff800000), by[4];
  for (int w = 0; w < 4; w++) all = sums[w * (32 * N + 2) + 32 * N] > all ? sums[w * (32 * N + 2) + 32 * N] : all;
  sum = 0.0f;
#pragma unroll
  for (int w = 0; w < 4; w++) {
    // A warp without a token has -Inf for its top; so have all of an empty part.
    float t = sums[w * (32 * N + 2) + 32 * N];
    by[w] = sums[w * (32 * N + 2) + 32 * N + 1] == 0.0f ? 0.0f : t == all ? 1.0f : exponential(t - all);
    sum = fma(by[w], sums[w * (32 * N + 2) + 32 * N + 1], sum);
  }
  for (int i = THREAD; i < head_dim; i += 128) {
    float v = 0.0f;
#pragma unroll
    for (int w = 0; w < 4; w++) v = fma(by[w], sums[w * (32 * N + 2) + i], v);
    part[i] = v;
  }
  if (THREAD == 0) part[head_dim] = all, part[head_dim + 1] = sum;
}
#define ATTEND(T) \
  KERNEL(128) attend_##T(float *part, const float *q, const uint8_t *cache, const int *tables, const int *seq, const int *ends, int table_len, int heads, int kv_heads, int head_dim, int block_size, int window, float scale, float softcap) { \
    attend<T, 8, false>(part, q, cache, tables, seq, ends, 0, 0, table_len, heads, kv_heads, head_dim, block_size, window, scale, softcap); \
  } \
  KERNEL(128) attend_wide_##T(float *part, const float *q, const uint8_t *cache, const int *tables, const int *seq, const int *ends, int table_len, int heads, int kv_heads, int head_dim, int block_size, int window, float scale, float softcap) { \
    attend<T, 16, false>(part, q, cache, tables, seq, ends, 0, 0, table_len, heads, kv_heads, head_dim, block_size, window, scale, softcap); \
  } \
  KERNEL(128) attend_sides_##T(float *part, const float *q, const uint8_t *cache, const int *tables, const int *seq, const int *ends, const int *positions, const float *slopes, int table_len, int heads, int kv_heads, int head_dim, int block_size, int window, float scale, float softcap) { \
    attend<T, 8, true>(part, q, cache, tables, seq, ends, positions, slopes, table_len, heads, kv_heads, head_dim, block_size, window, scale, softcap); \
  }
ATTEND(f16) ATTEND(bf16) ATTEND(f8_e4m3) ATTEND(f32) ATTEND(q8_0)

// attend_combine writes the softmax of all parts together, with the head's sink
// where there are sinks: grid (heads, rows, head_dim/256). A row without tokens, padding, gives
// zeros. Xiao et al., "Efficient Streaming Language Models with Attention
// Sinks", 2023.
//
// A long context has so many parts that what counts is how many reads are on their
// way: threads look at the parts' tops side by side, and warps then take parts in
// turn, none of whose reads waits for another's.
KERNEL(128) attend_combine(float *dst, const float *part, const float *sinks, int heads, int head_dim, int splits) {
  SHARED static float sums[4 * 257], tops[4];
  int64_t at = (int64_t)BLOCK_Y * heads + BLOCK;
  int step = head_dim + 2, lane = THREAD & 31, warp = THREAD >> 5, from = BLOCK_Z * 256, own = least(256, head_dim - from);
  part += at * splits * step;
  float top = sinks ? sinks[BLOCK] : as_float(0xff800000), first = top;
  for (int s = THREAD; s < splits; s += 128) top = part[s * step + head_dim] > top ? part[s * step + head_dim] : top;
#pragma unroll
  for (int by = 16; by > 0; by >>= 1) {
    float other = lane_xor(top, by);
    top = other > top ? other : top;
  }
  if (lane == 0) tops[warp] = top;
  block_sync();
#pragma unroll
  for (int w = 0; w < 4; w++) top = tops[w] > top ? tops[w] : top;

  float acc[8] = {}, sum = 0.0f;
  for (int s = warp; s < splits; s += 16) {
    float its[4], more[4], v[4][8];
#pragma unroll
    for (int j = 0; j < 4; j++) {
      const float *p = part + least(s + 4 * j, splits - 1) * step;
      its[j] = p[head_dim], more[j] = s + 4 * j < splits ? p[head_dim + 1] : 0.0f;
#pragma unroll
      for (int i = 0; i < 8; i++) v[j][i] = lane + 32 * i < own ? p[from + lane + 32 * i] : 0.0f;
    }
#pragma unroll
    for (int j = 0; j < 4; j++) {
      float by = more[j] == 0.0f ? 0.0f : its[j] == top ? 1.0f : exponential(its[j] - top);
      sum = fma(by, more[j], sum);
#pragma unroll
      for (int i = 0; i < 8; i++) acc[i] = fma(by, v[j][i], acc[i]);
    }
  }
#pragma unroll
  for (int i = 0; i < 8; i++) sums[warp * 257 + lane + 32 * i] = acc[i];
  if (lane == 0) sums[warp * 257 + 256] = sum;
  block_sync();
  sum = sinks ? exponential(first - top) : 0.0f;
#pragma unroll
  for (int w = 0; w < 4; w++) sum += sums[w * 257 + 256];
  for (int i = THREAD; i < own; i += 128) {
    float v = 0.0f;
#pragma unroll
    for (int w = 0; w < 4; w++) v += sums[w * 257 + i];
    dst[at * head_dim + from + i] = sum == 0.0f ? 0.0f : v / sum;
  }
}
