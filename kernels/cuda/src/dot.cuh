// dot.cuh is a warp's products of two weight rows with R rows of activations.
//
// A lane takes pieces l, l+32, ... of both rows: weights that lie together. All
// loads of a turn come before the first use of one, so that they are under way
// together: a warp asks for 1 to 4 KiB at a time. Integers within a sub-block are
// exact, the rest is float32: against the exact product of the weights with the
// activations as they were quantised, (n/1024 + 12)·2^-23 of the row's largest
// |weight| times Σ|x|; float weights (n/256 + 12)·2^-23 of it.
#pragma once
#include "weights.cuh"

#define LANE (THREAD & 31)
#define MEMBER inline __attribute__((device, always_inline))

// underway keeps the assembler from putting off loads that stand before it: no
// access to memory passes a barrier. All lanes must come here.
DEVICE void underway() { __nvvm_bar_warp_sync(-1); }

// anew returns v, of which the compiler then knows nothing: what follows from it is
// worked out where it is needed, not kept in registers over all that stands between.
DEVICE int anew(int v) {
  asm volatile("" : "+r"(v));
  return v;
}

// A run is 16 bytes in a place that is only even, read as aligned words, of which
// those of an odd half begin one half earlier. The half word that may be missing at
// the end is read apart: what lies behind the row's end is not the kernel's. Runs that lie
// a multiple of four bytes apart share odd.
struct run {
  uint32_t w[5];
  DEVICE int odd(const uint8_t *p) { return (int)(uint64_t)p & 2; }
  MEMBER void load(const uint8_t *p, int odd) {
    const uint32_t *a = (const uint32_t *)(p - odd);
    w[0] = a[0], w[1] = a[1], w[2] = a[2], w[3] = a[3];
    w[4] = *(const uint16_t *)(p + 14);
  }
  MEMBER uint32_t at(int i, int odd) const { return __nvvm_prmt(w[i], w[i + 1], 0x3210 + odd * 0x1111); }
};

// A piece of a quantised type is `parts` sub-blocks or halves of them, with a scale
// d and perhaps a min each, of `each` chunks of 16 weights. Piece i, of which there
// are `per` in 256 weights, begins with chunk first(i); the others follow `step`
// apart. load reads it, ready decodes the scales, words gives chunk k as signed
// bytes. `turns` pieces are read together. Mins are for sums times -128, as ActQ8_32 has them.
template <typename T> struct piece;

struct piece_k {
  static const int parts = 2, each = 2, step = 1, per = 4, turns = 1;
  static const bool mins = true;
  uint4 head, a, b;
  float d[2], m[2];
  DEVICE int first(int i) { return 4 * i; }
  // Two scales and two mins of six bits at a time, in bytes.
  MEMBER void ready(int i) {
    int by = (i & 1) * 16;
    bool low = !(i & 2);
    uint32_t s = head.y >> by, n = head.z >> by, rest = head.w >> by;
    uint32_t few = low ? 0x3f3f : 0x0f0f, more = low ? 0 : 0x3030;
    s = ((low ? s : rest) & few) | (s >> 2 & more);
    n = ((low ? n : rest >> 4) & few) | (n >> 2 & more);
    float by_d = from_f16((uint16_t)head.x), by_m = from_f16((uint16_t)(head.x >> 16)) * 0x1p-7f;
    d[0] = by_d * (float)(int)(s & 255), d[1] = by_d * (float)(int)(s >> 8);
    m[0] = by_m * (float)(int)(n & 255), m[1] = by_m * (float)(int)(n >> 8);
  }
};
template <> struct piece<q4_k> : piece_k {
  MEMBER void load(const uint8_t *p, int i) {
    p += (int64_t)(i >> 2) * 144;
    const uint4 *v = (const uint4 *)(p + 16 + (i & 3) * 32);
    head = *(const uint4 *)p, a = v[0], b = v[1];
  }
  MEMBER void words(int *q, int i, int k) const { nibbles(q, k & 1 ? b : a, (k & 2) * 2); }
};
template <> struct piece<q5_k> : piece_k {
  uint4 c, e;  // the fifth bits
  MEMBER void load(const uint8_t *p, int i) {
    p += (int64_t)(i >> 2) * 176;
    const uint4 *v = (const uint4 *)(p + 48 + (i & 3) * 32), *h = (const uint4 *)(p + 16);
    head = *(const uint4 *)p, a = v[0], b = v[1], c = h[0], e = h[1];
  }
  MEMBER void words(int *q, int i, int k) const {
    nibbles(q, k & 1 ? b : a, (k & 2) * 2);
    fifths(q, k & 1 ? e : c, (i & 3) * 2 + (k >> 1));
  }
};

// Eight pieces make a block: 16 weights each of two sub-blocks of a half, which
// share bytes.
template <> struct piece<q6_k> {
  static const int parts = 2, each = 1, step = 4, per = 8, turns = 2;
  static const bool mins = false;
  run low, high;
  int odd, scale[2];
  float d[2], m[2];
  uint16_t half;
  DEVICE int first(int i) { return (i >> 2) * 8 + (i & 3); }
  MEMBER void load(const uint8_t *p, int i) {
    p += (int64_t)(i >> 3) * 210;
    int h = i >> 2 & 1;
    odd = run::odd(p);
    low.load(p + h * 64 + (i & 3) * 16, odd);
    high.load(p + 128 + h * 32 + (i & 1) * 16, odd);
    const int8_t *s = (const int8_t *)(p + 192 + h * 8 + (i & 3));
    scale[0] = s[0], scale[1] = s[4];
    half = *(const uint16_t *)(p + 208);
  }
  // Weights come as four times what they are: two bits below the six are 0.
  MEMBER void ready(int i) {
    float by = from_f16(half) * 0.25f;
    d[0] = by * (float)scale[0], d[1] = by * (float)scale[1];
  }
  MEMBER void words(int *q, int i, int k) const {
#pragma unroll
    for (int w = 0; w < 4; w++) {
      // The sign is turned around for both chunks at once.
      uint32_t l = low.at(w, odd), h = (high.at(w, odd) << (2 - (i & 2))) ^ 0x88888888;
      l = k ? l >> 2 : l << 2, h = k ? h : h << 4;
      q[w] = (int)((l & 0x3c3c3c3c) | (h & 0xc0c0c0c0));
    }
  }
};

// A piece is half a block.
template <> struct piece<q8_0> {
  static const int parts = 1, each = 1, step = 1, per = 16, turns = 2;
  static const bool mins = false;
  run v;
  int odd;
  float d[1], m[1];
  uint16_t half;
  DEVICE int first(int i) { return i; }
  MEMBER void load(const uint8_t *p, int i) {
    p += (int64_t)(i >> 1) * 34;
    odd = run::odd(p + 2);
    v.load(p + 2 + (i & 1) * 16, odd);
    half = *(const uint16_t *)p;
  }
  MEMBER void ready(int i) { d[0] = from_f16(half); }
  MEMBER void words(int *q, int i, int k) const {
    for (int w = 0; w < 4; w++) q[w] = (int)v.at(w, odd);
  }
};

// A piece is a block, and weights come as sixteen times what they are.
template <> struct piece<q4_0> {
  static const int parts = 1, each = 2, step = 1, per = 8, turns = 2;
  static const bool mins = false;
  run v;
  int odd;
  float d[1], m[1];
  uint16_t half;
  DEVICE int first(int i) { return 2 * i; }
  MEMBER void load(const uint8_t *p, int i) {
    p += (int64_t)i * 18;
    odd = run::odd(p + 2);
    v.load(p + 2, odd);
    half = *(const uint16_t *)p;
  }
  MEMBER void ready(int i) { d[0] = from_f16(half) * 0.0625f; }
  MEMBER void words(int *q, int i, int k) const {
    for (int w = 0; w < 4; w++) {
      uint32_t both = v.at(w, odd) ^ 0x88888888;
      q[w] = (int)((k ? both : both << 4) & 0xf0f0f0f0);
    }
  }
};

// Where chunk c of a group of ActQ8_32 lies: straight, as ActQ8_32 is, or turned, so that the
// lanes of a warp find theirs in different banks of shared memory whatever the type.
struct straight { DEVICE int chunk(int c) { return c * 16; } };
struct turned { DEVICE int chunk(int c) { return (((c >> 2 ^ c) & 1) | ((c >> 2 ^ c << 1) & 2) | (c & 2) << 1 | (c & 1) << 3) * 16; } };

// N numbers that lie together.
template <typename T, int N> struct __attribute__((aligned(4 * N))) some { T v[N]; };

// multiply adds the products of piece i of two rows, which is the lane's, to acc.
template <typename X, int R, typename P> DEVICE void multiply(float *acc, P *w, const uint8_t *x, int64_t stride, int live, int lane, int i) {
  w[0].ready(lane), w[1].ready(lane);
  x += (int64_t)(i / P::per) * 320;
  int first = P::first(lane % P::per), sub = first >> 1;
#pragma unroll
  for (int j = 0; j < P::parts; j++) {
    int sum[R][2] = {};
#pragma unroll
    for (int k = j * P::each; k < (j + 1) * P::each; k++) {
      int a[4], b[4];
      w[0].words(a, lane, k), w[1].words(b, lane, k);
#pragma unroll
      for (int r = 0; r < R; r++) {
        uint4 y = *(const uint4 *)(x + least(r, live - 1) * stride + X::chunk(first + k * P::step));
        sum[r][0] = dp4a(a[3], y.w, dp4a(a[2], y.z, dp4a(a[1], y.y, dp4a(a[0], y.x, sum[r][0]))));
        sum[r][1] = dp4a(b[3], y.w, dp4a(b[2], y.z, dp4a(b[1], y.y, dp4a(b[0], y.x, sum[r][1]))));
      }
    }
#pragma unroll
    for (int r = 0; r < R; r++) {
      const uint8_t *g = x + least(r, live - 1) * stride + 256;
      const int together = P::step == 1 ? P::parts : 1, at = sub + j * P::each * P::step / 2, in = P::step == 1 ? j : 0;
      float d = ((const some<float, together> *)(g + (at - in) * 4))->v[in];
      float s = P::mins ? (float)((const some<int, together> *)(g + 32 + (at - in) * 4))->v[in] : 0.0f;
#pragma unroll
      for (int h = 0; h < 2; h++) {
        float v = w[h].d[j] * (float)sum[r][h];
        if (P::mins) v = fma(w[h].m[j], s, v);
        acc[2 * r + h] = fma(d, v, acc[2 * r + h]);
      }
    }
  }
}

// dot_blocks adds to acc[2·r + h] the lane's part of row h of T at p[h] times row r
// of activations, of which live rows are there: ActQ8_32 at x, rows stride bytes apart.
template <typename T, typename X, int R> DEVICE void dot_blocks(float *acc, const uint8_t *const *p, const uint8_t *x, int64_t stride, int live, int n) {
  typedef piece<T> P;
  const int lane = anew(LANE), pieces = n / 256 * P::per + n % 256 * P::per / 256;
  for (int i = lane; i - lane < pieces; i += 32 * P::turns) {
    P w[P::turns][2];
#pragma unroll
    for (int t = 0; t < P::turns; t++) {
      int at = least(i + 32 * t, pieces - 1);  // lanes without one load the last
      w[t][0].load(p[0], at), w[t][1].load(p[1], at);
    }
    underway();
#pragma unroll
    for (int t = 0; t < P::turns; t++)
      if (i + 32 * t < pieces) multiply<X, R>(acc, w[t], x, stride, live, lane, i + 32 * t);
  }
}

// Where floats of activations lie: as they are, or, where a row's length is a
// multiple of 64, turned for the same reason as ActQ8_32: the even fours of 64 before
// the odd ones.
struct plain { DEVICE int four(int c, bool) { return c; } };
struct parted { DEVICE int four(int c, bool whole) { return whole ? (c & ~15) | (c & 1) << 3 | (c >> 1 & 7) : c; } };

// dot_floats is the same for weights of a float type, and float32 activations.
template <typename T, typename X, int R> DEVICE void dot_floats(float *acc, const uint8_t *const *p, const float *x, int live, int n) {
  const int lane = anew(LANE);
  if ((n & 7) == 0) {
    bool whole = (n & 63) == 0;
    const int turns = (R == 1 ? 64 : 32) / sizeof(typename T::piece);
    for (int i = lane * 8; i - lane * 8 < n; i += 256 * turns) {
      typename T::piece w[turns][2];
#pragma unroll
      for (int t = 0; t < turns; t++) {
        int at = least(i + 256 * t, n - 8);
        w[t][0] = T::read(p[0], at), w[t][1] = T::read(p[1], at);
      }
      underway();
#pragma unroll
      for (int t = 0; t < turns; t++) {
        if (i + 256 * t >= n) break;
        float a[8], b[8];
        T::eight(w[t][0], a), T::eight(w[t][1], b);
#pragma unroll
        for (int r = 0; r < R; r++) {
          const float4 *y = (const float4 *)(x + (int64_t)least(r, live - 1) * n + i + 256 * t - lane * 8);
#pragma unroll
          for (int k = 0; k < 2; k++) {
            float4 v = y[X::four(lane * 2 + k, whole)];
            acc[2 * r] = fma(a[4 * k + 3], v.w, fma(a[4 * k + 2], v.z, fma(a[4 * k + 1], v.y, fma(a[4 * k], v.x, acc[2 * r]))));
            acc[2 * r + 1] = fma(b[4 * k + 3], v.w, fma(b[4 * k + 2], v.z, fma(b[4 * k + 1], v.y, fma(b[4 * k], v.x, acc[2 * r + 1]))));
          }
        }
      }
    }
  } else {
    for (int i = lane; i < n; i += 32) {
      float a = T::at(p[0], i), b = T::at(p[1], i);
#pragma unroll
      for (int r = 0; r < R; r++) {
        float v = x[(int64_t)least(r, live - 1) * n + i];
        acc[2 * r] = fma(a, v, acc[2 * r]), acc[2 * r + 1] = fma(b, v, acc[2 * r + 1]);
      }
    }
  }
}

// total adds up N sums over the warp, in the order of warp_sum, and returns the one
// that is the lane's: number LANE / (32/N). Half of the sums goes to the other half
// of the lanes at a time.
template <int N> DEVICE float total(float *acc, int by = 16) {
  if constexpr (N == 1) {
    for (; by > 0; by /= 2) acc[0] += lane_xor(acc[0], by);
    return acc[0];
  } else {
    bool upper = LANE & by;
#pragma unroll
    for (int i = 0; i < N / 2; i++) {
      float kept = upper ? acc[N / 2 + i] : acc[i], given = upper ? acc[i] : acc[N / 2 + i];
      acc[i] = kept + lane_xor(given, by);
    }
    return total<N / 2>(acc, by / 2);
  }
}
