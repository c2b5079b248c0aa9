// Attention of single rows on tensor cores, for query heads that share key heads:
// a token's keys and values are read once for all of a group.
#pragma once
#include "prefill.cuh"

// arrive counts a block's arrival at a place that holds 0 before the first of n and
// after the last. Numbers that blocks wrote before are there for who comes later.
DEVICE uint32_t arrive(uint32_t *at, int n) {
  uint32_t before;
  asm volatile("atom.global.inc.u32 %0, [%1], %2;" : "=r"(before) : "l"(at), "r"(n - 1) : "memory");
  return before;
}
DEVICE void fence() { asm volatile("fence.acq_rel.gpu;" ::: "memory"); }

// fresh reads what another block wrote, past the processor's own cache.
DEVICE float fresh(const float *p) {
  float v;
  asm volatile("ld.global.cg.f32 %0, [%1];" : "=f"(v) : "l"(p) : "memory");
  return v;
}

// share returns by what sums of a head are to be multiplied, with its sink where there
// is one: top is the largest score, sum the weights' sum.
DEVICE float share(float top, float sum, const float *sinks, int head) {
  float by = 1.0f;
  if (sinks) {
    float sink = sinks[head], most = top > sink ? top : sink;
    by = exponential(top - most);
    sum = fma(sum, by, exponential(sink - most));
  }
  return sum == 0.0f ? 0.0f : by / sum;
}

// combine writes the softmax of all parts of a head together, a warp for it. A part
// is read while others before it are still on their way.
template <int D> DEVICE void combine(float *dst, const float *part, const float *sinks, int head, int splits) {
  constexpr int AT_ONCE = D > 128 ? 4 : 8;
  int lane = THREAD & 31;
  float top = as_float(0xff800000);
  for (int s = lane; s < splits; s += 32) {
    float its = fresh(part + s * (D + 2) + D);
    top = its > top ? its : top;
  }
#pragma unroll
  for (int by = 16; by > 0; by >>= 1) {
    float other = lane_xor(top, by);
    top = other > top ? other : top;
  }
  float acc[D / 32] = {}, sum = 0.0f;
  for (int s = 0; s < splits; s += AT_ONCE) {
    float its[AT_ONCE], more[AT_ONCE], v[AT_ONCE][D / 32];
#pragma unroll
    for (int j = 0; j < AT_ONCE; j++) {
      const float *p = part + least(s + j, splits - 1) * (D + 2);
      its[j] = fresh(p + D), more[j] = fresh(p + D + 1);
#pragma unroll
      for (int i = 0; i < D / 32; i++) v[j][i] = fresh(p + lane + 32 * i);
    }
#pragma unroll
    for (int j = 0; j < AT_ONCE; j++) {
      float by = s + j >= splits || more[j] == 0.0f ? 0.0f : its[j] == top ? 1.0f : exponential(its[j] - top);
      sum = fma(by, more[j], sum);
#pragma unroll
      for (int i = 0; i < D / 32; i++) acc[i] = fma(by, v[j][i], acc[i]);
    }
  }
  float by = share(top, sum, sinks, head);
#pragma unroll
  for (int i = 0; i < D / 32; i++) dst[lane + 32 * i] = acc[i] * by;
}

// attend_group_T_D writes what attend_T and attend_combine do, within attend_prefill's
// bound: grid (kv_heads, rows, splits), up to eight heads to a key head. The last
// block of a row and key head to arrive puts the parts together; arrived, a number
// for each, is 0 before and after. A warp multiplies the
// heads, a tile's upper eight rows, by 16 tokens at a time, and keeps them in
// registers: which numbers of a head are neighbours in a tile does not matter to a
// product as long as both sides agree, so that lanes read 16 bytes side by side.
// Heads wider than 128 have 8 warps, as in attend_prefill.
template <typename T, int D> DEVICE void attend_group(float *dst, float *part, uint32_t *arrived, const float *q, const uint8_t *cache, const int *tables, const int *seq, const int *ends, const float *sinks, int table_len, int heads, int kv_heads, int block_size, int window, float scale, float softcap) {
  typedef stage<T> staged;
  typedef typename staged::number number;
  constexpr int SIDES = shape<D>::sides, TILES = D / 8 / SIDES;
  SHARED static float sums[4 * 8 * (D + 2)];
  const float none = as_float(0xff800000), log2e = 1.44269504f * staged::unit;
  int lane = THREAD & 31, warp = THREAD >> 5 & 3, side = THREAD >> 7, g = lane >> 2, c = lane & 3, group = heads / kv_heads;
  int64_t at = (int64_t)BLOCK_Y * heads + BLOCK * group;
  int end = ends[BLOCK_Y], first = first_seen(end, window);
  const int *table = tables + (int64_t)(end > 0 ? seq[BLOCK_Y] : 0) * table_len;
  int count = (end - first + BLOCKS_Z - 1) / BLOCKS_Z;
  int from = first + BLOCK_Z * count, to = least(from + count, end);

  // Step k has the first or second half of chunk c + 4·(k/2) of a lane's head.
  uint32_t a[D / 16][4] = {};
  if (g < group) {
    const float *x = q + (at + g) * D;
#pragma unroll
    for (int k = 0; k < D / 16; k++) {
      float4 v = *(const float4 *)(x + (c + 4 * (k >> 1)) * 8 + (k & 1) * 4);
      a[k][0] = number::pack(v.x * scale, v.y * scale);
      a[k][2] = number::pack(v.z * scale, v.w * scale);
    }
  }
  // token is where part 0 or 1 of a token lies; those behind the last repeat it.
  auto token = [&](int t, int which) __attribute__((always_inline)) {
    t = least(t, to - 1);
    return cache + place<T>(table[t / block_size], t % block_size, which, BLOCK, kv_heads, D, block_size);
  };
  // Column g of tile 8·m + e is number e of chunk 8·m + g; where only 32 numbers are
  // left, there are four such tiles of half chunks.
  float acc[TILES][4] = {}, top = none, sum = 0.0f;
  for (int t = from + warp * 16; t < to; t += 64) {
    float s[2][4] = {};
#pragma unroll
    for (int n = 0; n < 2; n++) {
      const uint8_t *key = token(t + n * 8 + g, 0);
#pragma unroll
      for (int j = 0; j < D / 32; j++) {
        uint4 b = staged::words(key, c + 4 * j);
        number::mma(s[n], a[2 * j], b.x, b.y);
        number::mma(s[n], a[2 * j + 1], b.z, b.w);
      }
    }
    float most = top;
#pragma unroll
    for (int i = 0; i < 4; i++) {
      float &x = s[i >> 1][i & 1];
      if (softcap > 0.0f) x = soft_cap(x * staged::unit, softcap) * (1.0f / staged::unit);
      if (t + (i >> 1) * 8 + c * 2 + (i & 1) >= to) x = none;
      most = x > most ? x : most;
    }
#pragma unroll
    for (int by = 1; by < 4; by *= 2) {
      float other = lane_xor(most, by);
      most = other > most ? other : most;
    }
    float was = top == most ? 1.0f : raise2((top - most) * log2e), less = most == none ? 0.0f : -most * log2e;
    top = most;
    float p[4];
#pragma unroll
    for (int i = 0; i < 4; i++) p[i] = raise2(fma(s[i >> 1][i & 1], log2e, less));
    sum = fma(sum, was, (p[0] + p[1]) + (p[2] + p[3]));
    uint32_t w[4] = {number::pack(p[0], p[1]), 0, number::pack(p[2], p[3]), 0};
    const uint8_t *values[4];
#pragma unroll
    for (int i = 0; i < 4; i++) values[i] = token(t + (i >> 1) * 8 + c * 2 + (i & 1), 1);
#pragma unroll
    for (int m = 0; m < TILES; m += 8) {
      bool half = TILES - m < 8;
      uint4 v[4];
#pragma unroll
      for (int i = 0; i < 4; i++) {
        v[i] = staged::words(values[i], side * TILES + m + (half ? g >> 1 : g));
        if (half && g & 1) v[i].x = v[i].z, v[i].y = v[i].w;
      }
#pragma unroll
      for (int e = 0; e < (half ? 4 : 8); e++) {
        uint32_t x[4];
#pragma unroll
        for (int i = 0; i < 4; i++) x[i] = e < 2 ? v[i].x : e < 4 ? v[i].y : e < 6 ? v[i].z : v[i].w;
        float *to = acc[m + e];
        to[0] *= was, to[1] *= was;
        if (e & 1) number::mma(to, w, x[0] >> 16 | (x[1] & 0xffff0000), x[2] >> 16 | (x[3] & 0xffff0000));
        else number::mma(to, w, (x[0] & 0xffff) | x[1] << 16, (x[2] & 0xffff) | x[3] << 16);
      }
    }
  }
  sum += lane_xor(sum, 1);
  sum += lane_xor(sum, 2);
  float *own = sums + (warp * 8 + g) * (D + 2);
#pragma unroll
  for (int n = 0; n < TILES; n++) {
    int chunk = (n & ~7) + 8 > TILES ? 4 : 8, i = side * TILES * 8 + (n & ~7) * 8 + c * 2 * chunk + (n & 7);
    own[i] = acc[n][0], own[i + chunk] = acc[n][1];
  }
  if (c == 0 && side == 0) own[D] = top * staged::unit, own[D + 1] = sum;
  block_sync();

  // A warp without a token has -Inf for its top; so have all of an empty part.
  for (int head = THREAD >> 5; head < group; head += 4 * SIDES) {
    const float *of = sums + head * (D + 2);
    float all = none, by[4];
#pragma unroll
    for (int w = 0; w < 4; w++) all = of[w * 8 * (D + 2) + D] > all ? of[w * 8 * (D + 2) + D] : all;
#pragma unroll
    for (int w = 0; w < 4; w++) {
      float t = of[w * 8 * (D + 2) + D];
      by[w] = of[w * 8 * (D + 2) + D + 1] == 0.0f ? 0.0f : t == all ? 1.0f : exponential(t - all);
    }
    float total = 0.0f, scale = staged::unit;
    if (BLOCKS_Z == 1) {
#pragma unroll
      for (int w = 0; w < 4; w++) total = fma(by[w], of[w * 8 * (D + 2) + D + 1], total);
      scale *= share(all, total, sinks, BLOCK * group + head);
    }
    for (int i = lane; i < D + 2; i += 32) {
      float v = 0.0f;
#pragma unroll
      for (int w = 0; w < 4; w++) v = fma(by[w], of[w * 8 * (D + 2) + i], v);
      if (BLOCKS_Z > 1) part[((at + head) * BLOCKS_Z + BLOCK_Z) * (D + 2) + i] = i == D ? all : i < D ? v * scale : v;
      else if (i < D) dst[(at + head) * D + i] = v * scale;
    }
  }
  if (BLOCKS_Z == 1) return;
  fence();
  block_sync();
  if (THREAD == 0) sums[0] = as_float(arrive(arrived + (int64_t)BLOCK_Y * kv_heads + BLOCK, BLOCKS_Z));
  block_sync();
  if (as_bits(sums[0]) != BLOCKS_Z - 1) return;
  fence();
  for (int head = THREAD >> 5; head < group; head += 4 * SIDES) combine<D>(dst + (at + head) * D, part + (at + head) * BLOCKS_Z * (D + 2), sinks, BLOCK * group + head, BLOCKS_Z);
}
#define ATTEND_GROUP(T, D) \
  KERNEL(128 * shape<D>::sides) attend_group_##T##_##D(float *dst, float *part, uint32_t *arrived, const float *q, const uint8_t *cache, const int *tables, const int *seq, const int *ends, const float *sinks, int table_len, int heads, int kv_heads, int block_size, int window, float scale, float softcap) { \
    attend_group<T, D>(dst, part, arrived, q, cache, tables, seq, ends, sinks, table_len, heads, kv_heads, block_size, window, scale, softcap); \
  }
#define ATTEND_GROUPS(T) ATTEND_GROUP(T, 64) ATTEND_GROUP(T, 96) ATTEND_GROUP(T, 128) ATTEND_GROUP(T, 256)
