// held.cuh is products with few rows of activations that a block norms and
// quantises for itself, into shared memory, before its warps take weight row after
// weight row, one each. Blocks are as many as the device runs at once, so that the
// first part is done few times. Every number is the one that the kernels of
// rows.cu and gemv.cu give.
//
// A side S holds rows, and multiplies by them one weight row of a type only known
// when it runs. Numbers of types are places in cuda.Types.
#pragma once
#include "dot.cuh"
#include "norm.cuh"

#define BLOCKS ((int)__nvvm_read_ptx_sreg_nctaid_x())

extern SHARED __attribute__((aligned(16))) uint8_t held[];

// hold_blocks writes rows of floats, normed where there is a norm, to held as X32
// without the padding of the last group. A lane takes eight values, four lanes
// the 32 that share a scale: the same numbers as x32, in fewer shuffles.
DEVICE void hold_blocks(const float *x, const float *norm, float eps, int64_t stride, int live, int n, float *part) {
  for (int r = 0; r < live; r++, x += n) {
    float by = norm ? inverse_rms(x, n, eps, part) : 0.0f;
    for (int from = (THREAD >> 5) * 256; from < n; from += 2048) {
      int i = from + (THREAD & 31) * 8;
      float v[8] = {};
      if (i < n) {
        const float4 *p = (const float4 *)(x + i);
        float4 a = p[0], b = p[1];
        v[0] = a.x, v[1] = a.y, v[2] = a.z, v[3] = a.w, v[4] = b.x, v[5] = b.y, v[6] = b.z, v[7] = b.w;
        if (norm)
#pragma unroll
          for (int k = 0; k < 8; k++) v[k] = v[k] * by * norm[i + k];
      }
      int top = 0;
#pragma unroll
      for (int k = 0; k < 8; k++) top = most(top, as_bits(v[k]) & 0x7fffffff);
      top = most(top, lane_xor(top, 1));
      top = most(top, lane_xor(top, 2));
      float d = as_float(top) / 127.0f, id = 1.0f / d;
      if (top >= 0x7f800000) d = as_float(0x7fc00000), id = 0.0f;
      else if (d < 0x1p-126f) d = id = 0.0f;
      int sum = 0;
      uint32_t q[2] = {};
#pragma unroll
      for (int k = 0; k < 8; k++) {
        int w = id == 0.0f ? 0 : (int)(int8_t)as_bits(v[k] * id + 0x1.8p23f);
        sum += w;
        q[k >> 2] |= (uint32_t)(uint8_t)w << 8 * (k & 3);
      }
      sum += lane_xor(sum, 1);
      sum += lane_xor(sum, 2);
      if (i < n) {
        uint8_t *g = held + r * stride + (int64_t)(i >> 8) * 320;
        ((uint32_t *)(g + (i & 255)))[0] = q[0];
        ((uint32_t *)(g + (i & 255)))[1] = q[1];
        if ((i & 31) == 0) {
          ((float *)(g + 256))[i >> 5 & 7] = d;
          ((int *)(g + 288))[i >> 5 & 7] = -128 * sum;
        }
      }
    }
    __nvvm_bar_warp_sync(-1);  // a warp of which not all lanes store is whole again
    block_sync();              // part is free, and after the last row held is whole
  }
}

struct blocks {
  DEVICE int64_t stride(int in) { return (int64_t)((in + 255) >> 8) * 320; }
  DEVICE void hold(const float *x, const float *norm, float eps, int live, int n, float *part) { hold_blocks(x, norm, eps, stride(n), live, n, part); }
  template <int R> DEVICE void dot(float *acc, const uint8_t *w, int type, int64_t row, int live, int n) {
#define OF(N, T) case N: dot_blocks<T, R>(acc, w + row * T::row_bytes(n), held, stride(n), live, n); break;
    switch (type) { OF(0, q4_0) OF(1, q8_0) OF(2, q4_k) OF(3, q5_k) default: OF(4, q6_k) }
#undef OF
  }
};

// hold_floats writes rows of floats, normed where there is a norm, to held.
DEVICE void hold_floats(const float *x, const float *norm, float eps, int live, int n, float *part) {
  float *h = (float *)held;
  for (int r = 0; r < live; r++, x += n, h += n) {
    float by = norm ? inverse_rms(x, n, eps, part) : 0.0f;
    for (int i = THREAD; i < n; i += THREADS) h[i] = norm ? x[i] * by * norm[i] : x[i];
    __nvvm_bar_warp_sync(-1);  // a warp of which not all lanes loop is whole again
    block_sync();
  }
}

struct floats {
  DEVICE void hold(const float *x, const float *norm, float eps, int live, int n, float *part) { hold_floats(x, norm, eps, live, n, part); }
  template <int R> DEVICE void dot(float *acc, const uint8_t *w, int type, int64_t row, int live, int n) {
#define OF(N, T) case N: dot_floats<T, R>(acc, w + row * T::row_bytes(n), (const float *)held, live, n); break;
    switch (type) { OF(5, f16) OF(6, bf16) default: OF(7, f32) }
#undef OF
  }
};

struct matrix { float *y; const uint8_t *w; const float *bias; int out, type; };
