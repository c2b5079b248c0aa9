// Kernels that work on rows of float32 activations, and embed.
#include "norm.cuh"
#include "weights.cuh"

// quantize writes rows of n floats as ActQ8_32, to the bit as quant.QuantizeActQ8_32. A
// block takes one group of 256 of one row: grid (groups, rows).
KERNEL(256) quantize(uint8_t *dst, const float *x, int n) {
  int i = BLOCK * 256 + THREAD;
  float v = i < n ? x[(int64_t)BLOCK_Y * n + i] : 0.0f;
  x32_store(dst + (int64_t)BLOCK_Y * ((n + 255) >> 8) * 320, i, x32(v));
}

// normed is eight values of a row for a thread of 256, all asked for together, 0
// behind the row's end.
struct normed {
  float v[8];
  inline __attribute__((device, always_inline)) void load(const float *x, const float *w, int from, int n, float by) {
    float m[8];
#pragma unroll
    for (int k = 0; k < 8; k++) {
      int i = from + k * 256;
      v[k] = i < n ? x[i] : 0.0f, m[k] = i < n ? w[i] : 0.0f;
    }
#pragma unroll
    for (int k = 0; k < 8; k++) v[k] = v[k] * by * m[k];
  }
};

// rmsnorm writes x / rms(x) · w, one block per group of n; w has weights for so many
// groups in turn, 1 where all share them. dst may be x: a
// thread writes only what it alone reads after the sum. Zhang & Sennrich, 2019,
// eq. 4. Within (n/256 + 12)·2^-24 of the exact value: the depth of its sum.
KERNEL(256) rmsnorm(float *dst, const float *x, const float *w, int n, int groups, float eps) {
  SHARED static float part[8];
  w += (int64_t)(BLOCK % groups) * n;
  x += (int64_t)BLOCK * n;
  dst += (int64_t)BLOCK * n;
  float by = inverse_rms(x, n, eps, part);
  for (int from = THREAD; from < n; from += 2048) {
    normed v;
    v.load(x, w, from, n, by);
#pragma unroll
    for (int k = 0; k < 8; k++)
      if (from + k * 256 < n) dst[from + k * 256] = v.v[k];
  }
}

// rmsnorm_quantize is rmsnorm of whole rows and quantize in one. dst may be 0,
// or x.
KERNEL(256) rmsnorm_quantize(uint8_t *q, float *dst, const float *x, const float *w, int n, float eps) {
  SHARED static float part[8];
  x += (int64_t)BLOCK * n;
  q += (int64_t)BLOCK * ((n + 255) >> 8) * 320;
  float by = inverse_rms(x, n, eps, part);
  int end = (n + 255) & ~255;
  for (int from = 0; from < end; from += 2048) {
    normed v;
    v.load(x, w, from + THREAD, n, by);
#pragma unroll
    for (int k = 0; k < 8; k++) {
      if (from + k * 256 >= end) break;
      int i = from + k * 256 + THREAD;
      if (dst && i < n) dst[(int64_t)BLOCK * n + i] = v.v[k];
      x32_store(q, i, x32(v.v[k]));
    }
  }
}

// layernorm writes (x - mean) / sqrt(variance + eps) · w + bias, one block per
// group of n, which w and bias have weights for as rmsnorm's; bias may be 0, dst may be x. Ba, Kiros & Hinton, 2016, eq. 4. The
// bound is rmsnorm's, of the row's largest magnitude over its deviation.
KERNEL(256) layernorm(float *dst, const float *x, const float *w, const float *bias, int n, int groups, float eps) {
  SHARED static float part[16];
  w += (int64_t)(BLOCK % groups) * n;
  if (bias) bias += (int64_t)(BLOCK % groups) * n;
  x += (int64_t)BLOCK * n;
  dst += (int64_t)BLOCK * n;
  float s = 0.0f;
  for (int i = THREAD; i < n; i += THREADS) s += x[i];
  float mean = block_sum(s, part) / (float)n;
  s = 0.0f;
  for (int i = THREAD; i < n; i += THREADS) s = fma(x[i] - mean, x[i] - mean, s);
  float by = 1.0f / root(block_sum(s, part + 8) / (float)n + eps);
  for (int i = THREAD; i < n; i += THREADS) {
    float v = (x[i] - mean) * by * w[i];
    dst[i] = bias ? v + bias[i] : v;
  }
}

// add writes x + y, one thread per value; exact as the CPU.
KERNEL(256) add(float *dst, const float *x, const float *y, int n) {
  int64_t i = (int64_t)BLOCK * 256 + THREAD;
  if (i < n) dst[i] = x[i] + y[i];
}

// bias writes x + v for each row of n: grid (n/256, rows); exact as the CPU.
KERNEL(256) bias(float *dst, const float *x, const float *v, int n) {
  int i = BLOCK * 256 + THREAD;
  int64_t at = (int64_t)BLOCK_Y * n + i;
  if (i < n) dst[at] = x[at] + v[i];
}

// scale writes x · by; exact as the CPU.
KERNEL(256) scale(float *dst, const float *x, int n, float by) {
  int64_t i = (int64_t)BLOCK * 256 + THREAD;
  if (i < n) dst[i] = x[i] * by;
}

// softcap writes limit · tanh(x / limit), within limit · 2^-20.
KERNEL(256) softcap(float *dst, const float *x, int n, float limit) {
  int64_t i = (int64_t)BLOCK * 256 + THREAD;
  if (i < n) dst[i] = soft_cap(x[i], limit);
}

// clamp writes x kept within ±limit; exact as the CPU.
KERNEL(256) clamp(float *dst, const float *x, int n, float limit) {
  int64_t i = (int64_t)BLOCK * 256 + THREAD;
  if (i < n) dst[i] = x[i] < -limit ? -limit : x[i] > limit ? limit : x[i];
}

// xielu writes positive · x² + beta · x above 0, elsewhere negative · (e^min(x, epsilon) - 1 -
// x) + beta · x, within (|negative| + |x|)·2^-21. Huang & Schlag, 2025, §3.
KERNEL(256) xielu(float *dst, const float *x, int n, float positive, float negative, float beta, float epsilon) {
  int64_t i = (int64_t)BLOCK * 256 + THREAD;
  if (i >= n) return;
  float v = x[i];
  dst[i] = (v > 0.0f ? positive * v * v : negative * (exponential(v < epsilon ? v : epsilon) - 1.0f - v)) + beta * v;
}

// temper writes x · (1 + beta · ln(1 + (position + offset) / period)) for each row of n, the
// quotient being whole: grid (n/256, rows). Within 2^-20.
KERNEL(256) temper(float *dst, const float *x, const int *positions, int n, float beta, int period, int offset) {
  int i = BLOCK * 256 + THREAD;
  int64_t at = (int64_t)BLOCK_Y * n + i;
  float by = 1.0f + beta * 0.693147181f * log2_of((float)(1 + (positions[BLOCK_Y] + offset) / period));
  if (i < n) dst[at] = x[at] * by;
}

// head_cut writes values [from, from + count) of each head of x, which is width wide: grid
// (n/256, rows) for rows of n in dst.
KERNEL(256) head_cut(float *dst, const float *x, int n, int width, int from, int count) {
  int i = BLOCK * 256 + THREAD;
  if (i < n) dst[(int64_t)BLOCK_Y * n + i] = x[((int64_t)BLOCK_Y * (n / count) + i / count) * width + from + i % count];
}

// head_join writes the heads of x, a wide, each with that of y behind it, b wide: grid
// (n/256, rows) for rows of n in dst.
KERNEL(256) head_join(float *dst, const float *x, const float *y, int n, int a, int b) {
  int i = BLOCK * 256 + THREAD, in = i % (a + b);
  if (i >= n) return;
  int64_t head = (int64_t)BLOCK_Y * (n / (a + b)) + i / (a + b);
  dst[(int64_t)BLOCK_Y * n + i] = in < a ? x[head * a + in] : y[head * b + in - a];
}

// weigh writes x · sigmoid(weight[row]): grid (n/256, rows).
KERNEL(256) weigh(float *dst, const float *x, const float *weight, int n) {
  int i = BLOCK * 256 + THREAD;
  int64_t at = (int64_t)BLOCK_Y * n + i;
  if (i < n) dst[at] = x[at] * sigmoid(weight[BLOCK_Y]);
}

// take writes row rows[i] of x to row i of dst: grid (n/256, want).
KERNEL(256) take(float *dst, const float *x, const int *rows, int n) {
  int i = BLOCK * 256 + THREAD;
  if (i < n) dst[(int64_t)BLOCK_Y * n + i] = x[(int64_t)rows[BLOCK_Y] * n + i];
}

// gate writes act(gate) · up; without up it is the activation alone.
KERNEL(256) gate(float *dst, const float *gate, const float *up, int n, int act) {
  int64_t i = (int64_t)BLOCK * 256 + THREAD;
  if (i < n) dst[i] = activated(gate[i], up ? up[i] : 1.0f, act);
}

// rope rotates the first 2·pairs values of each head, in pairs (i, i+pairs), or
// (2i, 2i+1) when interleaved; the rest is copied. x is (rows, heads,
// head_dim), cos and sin are tables of pairs per row. One thread per pair, grid
// (heads, rows); dst may be x. Exact as the CPU without fused multiply-adds.
// Su et al., 2021, eq. 34.
KERNEL(128) rope(float *dst, const float *x, const float *cos, const float *sin, const int *at, int heads, int head_dim, int pairs, int interleaved) {
  int64_t from = ((int64_t)BLOCK_Y * heads + BLOCK) * head_dim;
  int64_t row = (int64_t)(at ? at[BLOCK_Y] : BLOCK_Y) * pairs;
  for (int i = THREAD; i < pairs; i += THREADS) {
    int64_t l = from + (interleaved ? 2 * i : i), h = l + (interleaved ? 1 : pairs);
    float a = x[l], b = x[h], c = cos[row + i], s = sin[row + i];
    dst[l] = a * c - b * s;
    dst[h] = a * s + b * c;
  }
  for (int i = 2 * pairs + THREAD; i < head_dim; i += THREADS) dst[from + i] = x[from + i];
}

// embed writes row ids[r] of w as floats, exact as the CPU decodes it but
// for the sign of zeros: grid (n/8192, rows), a thread for each 32 values. Multiples of 32 are guaranteed
// of quantised types only.
template <typename T> DEVICE void embed_blocks(float *dst, const uint8_t *w, const int *ids, int n) {
  int j = BLOCK * 256 + THREAD;
  if (j >= n >> 5) return;
  const uint8_t *p = w + ids[BLOCK_Y] * T::row_bytes(n);
  dst += (int64_t)BLOCK_Y * n + j * 32;
  scaling s = T::scales(p, j);
  for (int i = 0; i < 8; i++) {
    int q = T::pack(p, j, i);
    for (int k = 0; k < 4; k++) dst[4 * i + k] = (i < 4 ? s.d0 : s.d1) * (float)(int8_t)(q >> 8 * k) + s.m;
  }
}
template <typename T> DEVICE void embed_floats(float *dst, const uint8_t *w, const int *ids, int n) {
  const uint8_t *p = w + ids[BLOCK_Y] * T::row_bytes(n);
  for (int i = BLOCK * 8192 + THREAD; i < least(n, (BLOCK + 1) * 8192); i += 256) dst[(int64_t)BLOCK_Y * n + i] = T::at(p, i);
}
#define EMBED(T) KERNEL(256) embed_##T(float *dst, const uint8_t *w, const int *ids, int n) { embed_blocks<T>(dst, w, ids, n); }
QUANTISED(EMBED)
#undef EMBED
#define EMBED(T) KERNEL(256) embed_##T(float *dst, const uint8_t *w, const int *ids, int n) { embed_floats<T>(dst, w, ids, n); }
FLOATS(EMBED)
