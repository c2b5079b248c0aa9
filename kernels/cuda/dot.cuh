// dot.cuh is a warp's product of one weight row with R rows of activations.
//
// Lane l takes sub-blocks l, l+32, ...; integers within a sub-block are exact,
// the rest is float32: against the exact product of the weights with the
// activations as they were quantised, (n/1024 + 12)·2^-23 of the row's largest
// |weight| times Σ|x|; float weights (n/256 + 12)·2^-23 of it.
#pragma once
#include "weights.cuh"

// dot_blocks takes activations as X32 at x, rows stride bytes apart.
template <typename T, int R> DEVICE void dot_blocks(float *acc, const uint8_t *p, const uint8_t *x, int64_t stride, int live, int n) {
  for (int j = THREAD & 31; j < n >> 5; j += 32) {
    scaling s = T::scales(p, j);
    int q[8];
    T::words(p, j, q);
#pragma unroll
    for (int r = 0; r < R; r++) {
      const uint8_t *g = x + least(r, live - 1) * stride + (int64_t)(j >> 3) * 320;
      const uint4 *y = (const uint4 *)(g + (j & 7) * 32);
      uint4 a = y[0], b = y[1];
      int lo = dp4a(q[3], a.w, dp4a(q[2], a.z, dp4a(q[1], a.y, dp4a(q[0], a.x, 0))));
      int hi = dp4a(q[7], b.w, dp4a(q[6], b.z, dp4a(q[5], b.y, dp4a(q[4], b.x, 0))));
      float d = ((const float *)(g + 256))[j & 7];
      float sum = (float)(((const int *)(g + 288))[j & 7] / -128);
      acc[r] = fma(d, fma(s.d0, (float)lo, fma(s.d1, (float)hi, s.m * sum)), acc[r]);
    }
  }
#pragma unroll
  for (int r = 0; r < R; r++) acc[r] = warp_sum(acc[r]);
}

// dot_floats takes activations as float32.
template <typename T, int R> DEVICE void dot_floats(float *acc, const uint8_t *p, const float *x, int live, int n) {
  if ((n & 7) == 0) {
    for (int i = (THREAD & 31) * 8; i < n; i += 256) {
      float w[8];
      T::eight(p, i, w);
#pragma unroll
      for (int r = 0; r < R; r++) {
        const float4 *y = (const float4 *)(x + (int64_t)least(r, live - 1) * n + i);
        float4 a = y[0], b = y[1];
        float s = fma(w[3], a.w, fma(w[2], a.z, fma(w[1], a.y, fma(w[0], a.x, acc[r]))));
        acc[r] = fma(w[7], b.w, fma(w[6], b.z, fma(w[5], b.y, fma(w[4], b.x, s))));
      }
    }
  } else {
    for (int i = THREAD & 31; i < n; i += 32) {
      float w = T::at(p, i);
#pragma unroll
      for (int r = 0; r < R; r++) acc[r] = fma(w, x[(int64_t)least(r, live - 1) * n + i], acc[r]);
    }
  }
#pragma unroll
  for (int r = 0; r < R; r++) acc[r] = warp_sum(acc[r]);
}
