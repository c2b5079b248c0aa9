// Kernels that find the largest logits of rows, first the larger, then the lower
// number. Only these have to leave the device; the host draws one of them.
#include "gpu.cuh"

#define BLOCKS_X ((int)__nvvm_read_ptx_sreg_nctaid_x())

// bar sets the logits that a row's mask does not have, bit i%32 of word i/32, to
// -Inf. at says which mask is a row's, below 0: none.
KERNEL(256) bar(float *logits, const int *at, const uint32_t *masks, int n) {
  int mask = at[BLOCK_Y], i = BLOCK * 256 + THREAD;
  if (mask < 0 || i >= n) return;
  uint32_t word = masks[(int64_t)mask * ((n + 31) >> 5) + (i >> 5)];
  if (!(word >> (i & 31) & 1)) logits[(int64_t)BLOCK_Y * n + i] = as_float(0xff800000);
}

// A rank orders logits as one number: larger is earlier. NaN stands before
// everything, zeros are equal, and no logit has rank 0.
DEVICE uint64_t rank_of(float v, int at) {
  uint32_t b = as_bits(v + 0.0f);
  b = v != v ? 0xffffffff : b >> 31 ? ~b : b | 0x80000000;
  return (uint64_t)b << 32 | (uint32_t)~at;
}
DEVICE float logit_of(uint64_t rank) {
  uint32_t b = (uint32_t)(rank >> 32);
  return as_float(b >> 31 ? b & 0x7fffffff : ~b);
}
DEVICE int number_of(uint64_t rank) { return (int)~(uint32_t)rank; }

DEVICE uint64_t first(uint64_t a, uint64_t b) { return a > b ? a : b; }

DEVICE uint64_t warp_first(uint64_t v) {
  for (int by = 16; by > 0; by >>= 1)
    v = first(v, (uint64_t)(uint32_t)lane_xor((int)(v >> 32), by) << 32 | (uint32_t)lane_xor((int)v, by));
  return v;
}

// argmax writes the number and the value of each row's first logit, one block a
// row.
KERNEL(1024) argmax(int *ids, float *values, const float *logits, int n) {
  SHARED static uint64_t part[32];
  logits += (int64_t)BLOCK * n;
  uint64_t best = 0;
#pragma unroll 8
  for (int i = THREAD; i < n; i += 1024) best = first(best, rank_of(logits[i], i));
  best = warp_first(best);
  if ((THREAD & 31) == 0) part[THREAD >> 5] = best;
  block_sync();
  if (THREAD >= 32) return;
  best = warp_first(part[THREAD]);
  if (THREAD == 0) ids[BLOCK] = number_of(best), values[BLOCK] = logit_of(best);
}

// arrange puts every pair of h, `by` apart within runs of 2·by, in order: falling
// in runs of size that are even, rising in odd ones. It begins with a barrier.
// Batcher, "Sorting networks and their applications", 1968.
DEVICE void arrange(uint64_t *h, int pairs, int size, int by) {
  block_sync();
  for (int p = THREAD; p < pairs; p += 256) {
    int i = 2 * p - (p & (by - 1));
    uint64_t a = h[i], b = h[i + by];
    bool swap = (a < b) == ((i & size) == 0);
    h[i] = swap ? b : a, h[i + by] = swap ? a : b;
  }
}

// top_part writes the ranks of the first 256 logits of each slice of 2048, in
// order, 0 where there are no more: grid (slices, rows). Runs of 256 are sorted,
// then halves thrown away: of a falling and a rising run side by side, the larger
// of each pair are the 256 largest, and rise and fall once.
KERNEL(256) top_part(uint64_t *part, const float *logits, int n) {
  SHARED static uint64_t h[2048];
  logits += (int64_t)BLOCK_Y * n;
  for (int e = 0; e < 8; e++) {
    int i = BLOCK * 2048 + e * 256 + THREAD;
    h[e * 256 + THREAD] = i < n ? rank_of(logits[i], i) : 0;
  }
  for (int size = 2; size <= 256; size *= 2)
    for (int by = size / 2; by > 0; by /= 2) arrange(h, 1024, size, by);
  for (int runs = 4; runs > 0; runs /= 2) {
    block_sync();
    uint64_t keep[4];
#pragma unroll
    for (int e = 0; e < 4; e++)
      if (e < runs) keep[e] = first(h[e * 512 + THREAD], h[e * 512 + 256 + THREAD]);
    block_sync();
#pragma unroll
    for (int e = 0; e < 4; e++)
      if (e < runs) h[e * 256 + THREAD] = keep[e];
    for (int by = 128; by > 0; by /= 2) arrange(h, runs * 128, 256, by);
  }
  block_sync();
  part[((int64_t)BLOCK_Y * BLOCKS_X + BLOCK) * 256 + THREAD] = h[THREAD];
}

// top writes the numbers and values of each row's first 256 logits, in order, -1
// and 0 where there are no more, from what top_part left of its slices.
KERNEL(256) top(int *ids, float *values, const uint64_t *part, int slices) {
  SHARED static uint64_t h[256];
  part += (int64_t)BLOCK * slices * 256;
  h[THREAD] = part[THREAD];
  // Four slices are asked for at a time.
  for (int from = 1; from < slices; from += 4) {
    uint64_t top[4], other[4];
#pragma unroll
    for (int k = 0; k < 4; k++) {
      const uint64_t *p = part + least(from + k, slices - 1) * 256;
      top[k] = p[0], other[k] = p[255 - THREAD];
    }
#pragma unroll
    for (int k = 0; k < 4; k++) {
      if (from + k >= slices) break;
      block_sync();
      // Nothing of this slice is among them: the same for all threads.
      if (top[k] <= h[255]) continue;
      uint64_t keep = first(h[THREAD], other[k]);
      block_sync();
      h[THREAD] = keep;
      for (int by = 128; by > 0; by /= 2) arrange(h, 128, 256, by);
    }
  }
  block_sync();
  uint64_t rank = h[THREAD];
  ids[BLOCK * 256 + THREAD] = rank ? number_of(rank) : -1;
  values[BLOCK * 256 + THREAD] = rank ? logit_of(rank) : 0.0f;
}
