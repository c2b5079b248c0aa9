// Products of weight matrices with many rows of activations on tensor cores, by
// mma.sync. The lanes of a warp hold a 16 by k tile of weights, a k by 8 tile of
// activations and the 16 by 8 result as the PTX ISA, §9.7.14.5, draws them: lane
// l has rows l/4 and l/4 + 8 of the weights and the result, and columns l/4 of
// the activations, 2·(l%4) and the next of the result.
#include "weights.cuh"

// Four weights of k at 4·(l%4), and the same 16 on.
DEVICE void mma_s8_k32(int *c, const int *a, int b0, int b1) {
  asm("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
      : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
DEVICE void mma_s8_k16(int *c, int a0, int a1, int b) {
  asm("mma.sync.aligned.m16n8k16.row.col.s32.s8.s8.s32 {%0,%1,%2,%3}, {%4,%5}, {%6}, {%0,%1,%2,%3};"
      : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3]) : "r"(a0), "r"(a1), "r"(b));
}
DEVICE void mma_bf16(float *c, const uint32_t *a, uint32_t b0, uint32_t b1) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

// A block of four warps makes 64 weight rows by 64 rows of activations, a warp
// 16 by 64 of it in eight tiles: grid (out/64, rows/64).
DEVICE void finish(float *dst, float (*acc)[4], const float *bias, const float *residual, int out, int rows) {
  int lane = THREAD & 31, row = BLOCK * 64 + (THREAD >> 5) * 16 + (lane >> 2), col = BLOCK_Y * 64 + (lane & 3) * 2;
  float plus[2] = {};
  if (bias) plus[0] = bias[least(row, out - 1)], plus[1] = bias[least(row + 8, out - 1)];
  if (residual) {
    // All are read before any is used, so that they are on their way together.
    float more[8][4];
#pragma unroll
    for (int t = 0; t < 8; t++)
#pragma unroll
      for (int i = 0; i < 4; i++) more[t][i] = residual[(int64_t)least(col + t * 8 + (i & 1), rows - 1) * out + least(row + (i & 2) * 4, out - 1)];
#pragma unroll
    for (int t = 0; t < 8; t++)
#pragma unroll
      for (int i = 0; i < 4; i++) acc[t][i] = acc[t][i] + plus[i >> 1] + more[t][i];
  } else {
#pragma unroll
    for (int t = 0; t < 8; t++)
#pragma unroll
      for (int i = 0; i < 4; i++) acc[t][i] += plus[i >> 1];
  }
#pragma unroll
  for (int t = 0; t < 8; t++) {
#pragma unroll
    for (int i = 0; i < 4; i++) {
      int r = row + (i & 2) * 4, c = col + t * 8 + (i & 1);
      if (r < out && c < rows) dst[(int64_t)c * out + r] = acc[t][i];
    }
  }
}

// gemm8_T is gemv's product for many rows: integers are exact within 32 (Q6_K: 16)
// weights, so the result is within (in/32 + 4)·2^-23 of the sum of magnitudes.
// Rows behind the last repeat it and are not stored. Q6_K has two scales among
// 32 weights and takes them 16 at a time.
template <typename T, bool halves> DEVICE void gemm8(float *dst, const uint8_t *w, const uint8_t *x, const float *bias, const float *residual, int out, int in, int rows) {
  int lane = THREAD & 31, row = BLOCK * 64 + (THREAD >> 5) * 16 + (lane >> 2), k = lane & 3;
  int64_t stride = (int64_t)((in + 255) >> 8) * 320;
  const uint8_t *p0 = w + least(row, out - 1) * T::row_bytes(in), *p1 = w + least(row + 8, out - 1) * T::row_bytes(in);
  int col = BLOCK_Y * 64;
  float acc[8][4] = {};
  for (int j = 0; j < in >> 5; j++) {
    scaling s0 = T::scales(p0, j), s1 = T::scales(p1, j);
    int a[4] = {T::pack(p0, j, k), T::pack(p1, j, k), T::pack(p0, j, k + 4), T::pack(p1, j, k + 4)};
    const uint8_t *g = x + (int64_t)(j >> 3) * 320;
#pragma unroll
    for (int t = 0; t < 8; t++) {
      if (col + t * 8 >= rows) break;
      const int *y = (const int *)(g + least(col + t * 8 + (lane >> 2), rows - 1) * stride + (j & 7) * 32);
      int b0 = y[k], b1 = y[k + 4], c[4] = {}, d[4] = {};
      if (halves) mma_s8_k16(c, a[0], a[1], b0), mma_s8_k16(d, a[2], a[3], b1);
      else mma_s8_k32(c, a, b0, b1);
#pragma unroll
      for (int i = 0; i < 2; i++) {
        const uint8_t *h = g + least(col + t * 8 + k * 2 + i, rows - 1) * stride;
        float by = ((const float *)(h + 256))[j & 7], sum = (float)(((const int *)(h + 288))[j & 7] / -128);
        float lo = halves ? fma(s0.d0, (float)c[i], s0.d1 * (float)d[i]) : fma(s0.d0, (float)c[i], s0.m * sum);
        float hi = halves ? fma(s1.d0, (float)c[i + 2], s1.d1 * (float)d[i + 2]) : fma(s1.d0, (float)c[i + 2], s1.m * sum);
        acc[t][i] = fma(by, lo, acc[t][i]);
        acc[t][i + 2] = fma(by, hi, acc[t][i + 2]);
      }
    }
  }
  finish(dst, acc, bias, residual, out, rows);
}
#define GEMM8(T, halves) \
  KERNEL(128) gemm8_##T(float *dst, const uint8_t *w, const uint8_t *x, const float *bias, const float *residual, int out, int in, int rows) { gemm8<T, halves>(dst, w, x, bias, residual, out, in, rows); }
GEMM8(q4_0, false) GEMM8(q8_0, false) GEMM8(q4_k, false) GEMM8(q5_k, false) GEMM8(q6_k, true)

// load writes 16 values of a row as bf16 pairs, from value i on, zeros behind n.
template <typename T> struct blocks_of {
  DEVICE void load(uint32_t *to, const uint8_t *p, int i, int) {
    scaling s = T::scales(p, i >> 5);
    float d = i & 16 ? s.d1 : s.d0;
#pragma unroll
    for (int k = 0; k < 4; k++) {
      int q = T::pack(p, i >> 5, (i >> 2 & 4) + k);
      float v[4];
#pragma unroll
      for (int b = 0; b < 4; b++) v[b] = d * (float)(int8_t)(q >> 8 * b) + s.m;
      to[2 * k] = to_bf16(v[0]) | to_bf16(v[1]) << 16;
      to[2 * k + 1] = to_bf16(v[2]) | to_bf16(v[3]) << 16;
    }
  }
};
template <typename T> struct floats_of {
  DEVICE void load(uint32_t *to, const uint8_t *p, int i, int n) {
    for (int k = 0; k < 8; k++) {
      float a = i + 2 * k < n ? T::at(p, i + 2 * k) : 0.0f, b = i + 2 * k + 1 < n ? T::at(p, i + 2 * k + 1) : 0.0f;
      to[k] = to_bf16(a) | to_bf16(b) << 16;
    }
  }
};

// gemm_T rounds weights, as the CPU decodes them, and activations to bf16 and sums
// in float32: within in·2^-23 of the sum of magnitudes of the product of what was
// rounded, and 2^-8 of it more of the product itself. Per step of 32 of k the block
// rounds 64 weight rows and 64 rows of activations into shared memory, rows 17
// words long to spread them over its banks; a thread does 16 values of each.
template <typename L> DEVICE void gemm(float *dst, const uint8_t *w, const float *x, const float *bias, const float *residual, int64_t row_bytes, int out, int in, int rows, uint32_t *ws, uint32_t *xs) {
  int lane = THREAD & 31, warp = THREAD >> 5, r = THREAD >> 1, half = THREAD & 1, g = lane >> 2, k = lane & 3;
  int row = BLOCK * 64 + r, col = BLOCK_Y * 64 + r;
  float acc[8][4] = {};
  for (int i = 0; i < in; i += 32) {
    L::load(ws + r * 17 + half * 8, w + least(row, out - 1) * row_bytes, i + half * 16, in);
    floats_of<f32>::load(xs + r * 17 + half * 8, (const uint8_t *)(x + (int64_t)least(col, rows - 1) * in), i + half * 16, in);
    block_sync();
#pragma unroll
    for (int s = 0; s < 2; s++) {
      const uint32_t *p = ws + (warp * 16 + g) * 17 + s * 8 + k;
      uint32_t a[4] = {p[0], p[8 * 17], p[4], p[8 * 17 + 4]};
#pragma unroll
      for (int t = 0; t < 8; t++) {
        const uint32_t *y = xs + (t * 8 + g) * 17 + s * 8 + k;
        mma_bf16(acc[t], a, y[0], y[4]);
      }
    }
    block_sync();
  }
  finish(dst, acc, bias, residual, out, rows);
}
#define GEMM(T, L) \
  KERNEL(128) gemm_##T(float *dst, const uint8_t *w, const float *x, const float *bias, const float *residual, int out, int in, int rows) { \
    SHARED static uint32_t ws[64 * 17], xs[64 * 17]; \
    gemm<L<T>>(dst, w, x, bias, residual, T::row_bytes(in), out, in, rows, ws, xs); \
  }
#define GEMM_BLOCKS(T) GEMM(T, blocks_of)
#define GEMM_FLOATS(T) GEMM(T, floats_of)
QUANTISED(GEMM_BLOCKS)
FLOATS(GEMM_FLOATS)
