// Attention over the paged cache. A layer is (blocks, 2, kv_heads, block_size,
// head_dim), as kernels.KV lays it out.
#include "gpu.cuh"

// A cache type reads and writes value i of a token's head_dim, which begin at p.
struct f16 {
  DEVICE int bytes(int n) { return 2 * n; }
  DEVICE float at(const uint8_t *p, int i) { return from_f16(((const uint16_t *)p)[i]); }
  DEVICE void put(uint8_t *p, int i, float v) { ((uint16_t *)p)[i] = to_f16(v); }
};
struct f32 {
  DEVICE int bytes(int n) { return 4 * n; }
  DEVICE float at(const uint8_t *p, int i) { return ((const float *)p)[i]; }
  DEVICE void put(uint8_t *p, int i, float v) { ((float *)p)[i] = v; }
};
struct q8_0 {
  DEVICE int bytes(int n) { return n / 32 * 34; }
  DEVICE float at(const uint8_t *p, int i) {
    p += (i >> 5) * 34;
    return from_f16(*(const uint16_t *)p) * (float)(int8_t)p[2 + (i & 31)];
  }
};

// place returns the first byte of a token's values of one head: keys are part
// 0, values part 1. A slot is block · block_size + place in it.
template <typename T> DEVICE int64_t place(int64_t block, int in, int part, int head, int kv_heads, int head_dim, int block_size) {
  return (((block * 2 + part) * kv_heads + head) * block_size + in) * T::bytes(head_dim);
}

// kv_put stores value i of a row: grid (kv_heads·head_dim/256, rows).
template <typename T> DEVICE void kv_put(uint8_t *cache, const float *k, const float *v, const int *slots, int kv_heads, int head_dim, int block_size) {
  int i = BLOCK * 256 + THREAD, slot = slots[BLOCK_Y];
  if (i >= kv_heads * head_dim || slot < 0) return;
  int64_t at = (int64_t)BLOCK_Y * kv_heads * head_dim + i;
  for (int part = 0; part < 2; part++)
    T::put(cache + place<T>(slot / block_size, slot % block_size, part, i / head_dim, kv_heads, head_dim, block_size), i % head_dim, (part ? v : k)[at]);
}

// kv_put_T stores the keys and values of rows at their slots; a slot below 0
// is none. Bits are the CPU's.
KERNEL(256) kv_put_f16(uint8_t *cache, const float *k, const float *v, const int *slots, int kv_heads, int head_dim, int block_size) { kv_put<f16>(cache, k, v, slots, kv_heads, head_dim, block_size); }
KERNEL(256) kv_put_f32(uint8_t *cache, const float *k, const float *v, const int *slots, int kv_heads, int head_dim, int block_size) { kv_put<f32>(cache, k, v, slots, kv_heads, head_dim, block_size); }

// A warp quantises the 32 values of a block together, as quant.Q8_0 does: d is
// the largest magnitude / 127, quants are rounded to nearest, halves away
// from zero.
KERNEL(256) kv_put_q8_0(uint8_t *cache, const float *k, const float *v, const int *slots, int kv_heads, int head_dim, int block_size) {
  int i = BLOCK * 256 + THREAD, slot = slots[BLOCK_Y];
  if (i >= kv_heads * head_dim || slot < 0) return;
  int64_t at = (int64_t)BLOCK_Y * kv_heads * head_dim + i;
  for (int part = 0; part < 2; part++) {
    float x = (part ? v : k)[at];
    int top = as_bits(x) & 0x7fffffff;
    for (int by = 16; by > 0; by >>= 1) top = most(top, lane_xor(top, by));
    float d = as_float(top) / 127.0f, id = d != 0.0f ? 1.0f / d : 0.0f, q = x * id;
    uint8_t *p = cache + place<q8_0>(slot / block_size, slot % block_size, part, i / head_dim, kv_heads, head_dim, block_size) + (i % head_dim >> 5) * 34;
    if ((i & 31) == 0) *(uint16_t *)p = to_f16(d > 65504.0f ? 65504.0f : d);
    int whole = (int)q;
    float rest = q - (float)whole;
    p[2 + (i & 31)] = (uint8_t)(rest >= 0.5f ? whole + 1 : rest <= -0.5f ? whole - 1 : whole);
  }
}

// attend_T leaves, for each head of each row and each of grid.z parts of the
// tokens it sees, Σ exp(score - top)·value, then top, then Σ exp(score - top).
// Grid (heads, rows, splits), four warps: token first + warp, + 4, ..., lanes
// share out head_dim. Query heads share key heads in groups; a row sees tokens
// [max(0, end - window), end). Milakov & Gimelshein, "Online normalizer
// calculation for softmax", 2018, algorithm 3; split as in Dao et al.,
// "Flash-Decoding", 2023. Together with attend_combine within
// (head_dim/32 + tokens/4 + 32 + spread)·2^-22 of Σ|p·v|.
template <typename T> DEVICE void attend(float *part, const float *q, const uint8_t *cache, const int *tables, const int *seq, const int *ends, int table_len, int heads, int kv_heads, int head_dim, int block_size, int window, float scale, float softcap) {
  SHARED static float sums[4 * 258];
  int lane = THREAD & 31, warp = THREAD >> 5, head = BLOCK, kv = head / (heads / kv_heads);
  int64_t at = (int64_t)BLOCK_Y * heads + head;
  q += at * head_dim;
  part += (at * BLOCKS_Z + BLOCK_Z) * (head_dim + 2);
  int end = ends[BLOCK_Y], first = window > 0 && end > window ? end - window : 0;
  const int *table = tables + (int64_t)(end > 0 ? seq[BLOCK_Y] : 0) * table_len;
  int count = (end - first + BLOCKS_Z - 1) / BLOCKS_Z;
  int from = first + BLOCK_Z * count, to = least(from + count, end);

  float mine[8], acc[8], top = as_float(0xff800000), sum = 0.0f;
#pragma unroll
  for (int i = 0; i < 8; i++) {
    mine[i] = lane + 32 * i < head_dim ? q[lane + 32 * i] * scale : 0.0f;
    acc[i] = 0.0f;
  }
  for (int t = from + warp; t < to; t += 4) {
    int64_t block = table[t / block_size];
    int in = t % block_size;
    const uint8_t *p = cache + place<T>(block, in, 0, kv, kv_heads, head_dim, block_size);
    float s = 0.0f;
#pragma unroll
    for (int i = 0; i < 8; i++)
      if (lane + 32 * i < head_dim) s = fma(mine[i], T::at(p, lane + 32 * i), s);
    s = warp_sum(s);
    if (softcap > 0.0f) s = soft_cap(s, softcap);
    float above = s > top ? s : top, was = exponential(top - above), is = exponential(s - above);
    if (s != s) is = s;  // a broken score shows in the result
    top = above;
    sum = fma(sum, was, is);
    p = cache + place<T>(block, in, 1, kv, kv_heads, head_dim, block_size);
#pragma unroll
    for (int i = 0; i < 8; i++)
      if (lane + 32 * i < head_dim) acc[i] = fma(acc[i], was, is * T::at(p, lane + 32 * i));
  }
#pragma unroll
  for (int i = 0; i < 8; i++)
    if (lane + 32 * i < head_dim) sums[warp * 258 + lane + 32 * i] = acc[i];
  if (lane == 0) sums[warp * 258 + 256] = top, sums[warp * 258 + 257] = sum;
  block_sync();

  float all = as_float(0xff800000), by[4];
  for (int w = 0; w < 4; w++) all = sums[w * 258 + 256] > all ? sums[w * 258 + 256] : all;
  sum = 0.0f;
#pragma unroll
  for (int w = 0; w < 4; w++) {
    // A warp without a token has -Inf for its top; so have all of an empty part.
    float t = sums[w * 258 + 256];
    by[w] = sums[w * 258 + 257] == 0.0f ? 0.0f : t == all ? 1.0f : exponential(t - all);
    sum = fma(by[w], sums[w * 258 + 257], sum);
  }
  for (int i = THREAD; i < head_dim; i += 128) {
    float v = 0.0f;
#pragma unroll
    for (int w = 0; w < 4; w++) v = fma(by[w], sums[w * 258 + i], v);
    part[i] = v;
  }
  if (THREAD == 0) part[head_dim] = all, part[head_dim + 1] = sum;
}
#define ATTEND(T) \
  KERNEL(128) attend_##T(float *part, const float *q, const uint8_t *cache, const int *tables, const int *seq, const int *ends, int table_len, int heads, int kv_heads, int head_dim, int block_size, int window, float scale, float softcap) { \
    attend<T>(part, q, cache, tables, seq, ends, table_len, heads, kv_heads, head_dim, block_size, window, scale, softcap); \
  }
ATTEND(f16) ATTEND(f32) ATTEND(q8_0)

// attend_combine writes the softmax of all parts together, with the head's sink
// where there are sinks: grid (heads, rows). A row without tokens, padding, gives
// zeros. Xiao et al., "Efficient Streaming Language Models with Attention
// Sinks", 2023.
KERNEL(128) attend_combine(float *dst, const float *part, const float *sinks, int heads, int head_dim, int splits) {
  int64_t at = (int64_t)BLOCK_Y * heads + BLOCK;
  int step = head_dim + 2;
  part += at * splits * step;
  float top = sinks ? sinks[BLOCK] : as_float(0xff800000), first = top;
  for (int s = 0; s < splits; s++) top = part[s * step + head_dim] > top ? part[s * step + head_dim] : top;
  for (int i = THREAD; i < head_dim; i += 128) {
    float v = 0.0f, sum = sinks ? exponential(first - top) : 0.0f;
    for (int s = 0; s < splits; s++) {
      const float *p = part + s * step;
      float more = p[head_dim + 1];
      if (more == 0.0f) continue;
      float by = p[head_dim] == top ? 1.0f : exponential(p[head_dim] - top);
      v = fma(by, p[i], v);
      sum = fma(by, more, sum);
    }
    dst[at * head_dim + i] = sum == 0.0f ? 0.0f : v / sum;
  }
}
