// weights.cuh reads weights as they lie in a GGUF file, 32 at a time.
//
// For each quantised type: row_bytes of n weights; pack, the i-th four weights of
// sub-block j as signed bytes; words, all eight fours; and scales, with which a weight is
// d0·q + m among the first 16 of a sub-block and d1·q + m among the others.
// p is the row's first byte. Layouts and their sources are in kernels/quant.
#pragma once
#include "gpu.cuh"

struct scaling { float d0, d1, m; };

// Blocks whose size is only even are read by halves.
DEVICE uint32_t word(const uint8_t *p) {
  const uint16_t *h = (const uint16_t *)p;
  return h[0] | (uint32_t)h[1] << 16;
}

// less subtracts a small number from each of four bytes below 128 - by.
DEVICE int less(uint32_t q, uint32_t by) { return (int)(((q | 0x80808080u) - by * 0x01010101u) ^ 0x80808080u); }

// Types without 16-byte alignment read the fours of a sub-block one by one.
template <typename T> struct narrow {
  DEVICE void words(const uint8_t *p, int j, int *q) {
#pragma unroll
    for (int i = 0; i < 8; i++) q[i] = T::pack(p, j, i);
  }
};

// 18 bytes: F16 d, then nibbles; byte l holds weights l and l+16.
struct q4_0 : narrow<q4_0> {
  DEVICE int64_t row_bytes(int n) { return (int64_t)(n >> 5) * 18; }
  DEVICE int pack(const uint8_t *p, int j, int i) {
    return less(word(p + j * 18 + 2 + (i & 3) * 4) >> (i & 4) & 0x0f0f0f0f, 8);
  }
  DEVICE scaling scales(const uint8_t *p, int j) {
    float d = from_f16(*(const uint16_t *)(p + j * 18));
    return {d, d, 0.0f};
  }
};

// 34 bytes: F16 d, 32 int8.
struct q8_0 : narrow<q8_0> {
  DEVICE int64_t row_bytes(int n) { return (int64_t)(n >> 5) * 34; }
  DEVICE int pack(const uint8_t *p, int j, int i) { return (int)word(p + j * 34 + 2 + i * 4); }
  DEVICE scaling scales(const uint8_t *p, int j) {
    float d = from_f16(*(const uint16_t *)(p + j * 34));
    return {d, d, 0.0f};
  }
};

// The head of Q4_K and Q5_K: F16 d and dmin, then six-bit scales and mins.
DEVICE scaling k_scales(const uint8_t *p, int j) {
  uint4 h = *(const uint4 *)p;
  int at = (j & 3) * 8;
  uint32_t a = h.y >> at, b = h.z >> at, c = h.w >> at, s, m;
  if (j & 4) s = (c & 15) | (a >> 2 & 48), m = (c >> 4 & 15) | (b >> 2 & 48);
  else s = a & 63, m = b & 63;
  float d = from_f16((uint16_t)h.x) * (float)(int)s, min = from_f16((uint16_t)(h.x >> 16)) * (float)(int)m;
  return {d, d, -min};
}

// nibbles takes the low or the high nibbles of 16 bytes; fifths adds bit by.
DEVICE void nibbles(int *q, uint4 v, int by) {
  q[0] = (int)(v.x >> by & 0x0f0f0f0f), q[1] = (int)(v.y >> by & 0x0f0f0f0f);
  q[2] = (int)(v.z >> by & 0x0f0f0f0f), q[3] = (int)(v.w >> by & 0x0f0f0f0f);
}
DEVICE void fifths(int *q, uint4 v, int by) {
  q[0] |= (v.x >> by & 0x01010101) << 4, q[1] |= (v.y >> by & 0x01010101) << 4;
  q[2] |= (v.z >> by & 0x01010101) << 4, q[3] |= (v.w >> by & 0x01010101) << 4;
}

// 144 bytes: the head, then nibbles; 32 bytes hold two sub-blocks.
struct q4_k {
  DEVICE int64_t row_bytes(int n) { return (int64_t)(n >> 8) * 144; }
  DEVICE int pack(const uint8_t *p, int j, int i) {
    const uint32_t *q = (const uint32_t *)(p + (int64_t)(j >> 3) * 144 + 16 + (j >> 1 & 3) * 32);
    return (int)(q[i] >> (j & 1) * 4 & 0x0f0f0f0f);
  }
  DEVICE void words(const uint8_t *p, int j, int *q) {
    const uint4 *v = (const uint4 *)(p + (int64_t)(j >> 3) * 144 + 16 + (j >> 1 & 3) * 32);
    int by = (j & 1) * 4;
    nibbles(q, v[0], by);
    nibbles(q + 4, v[1], by);
  }
  DEVICE scaling scales(const uint8_t *p, int j) { return k_scales(p + (int64_t)(j >> 3) * 144, j & 7); }
};

// 176 bytes: the head, the fifth bits, then nibbles as in Q4_K.
struct q5_k {
  DEVICE int64_t row_bytes(int n) { return (int64_t)(n >> 8) * 176; }
  DEVICE int pack(const uint8_t *p, int j, int i) {
    p += (int64_t)(j >> 3) * 176;
    uint32_t low = ((const uint32_t *)(p + 48 + (j >> 1 & 3) * 32))[i] >> (j & 1) * 4 & 0x0f0f0f0f;
    uint32_t high = ((const uint32_t *)(p + 16))[i] >> (j & 7) & 0x01010101;
    return (int)(low | high << 4);
  }
  DEVICE void words(const uint8_t *p, int j, int *q) {
    p += (int64_t)(j >> 3) * 176;
    const uint4 *v = (const uint4 *)(p + 48 + (j >> 1 & 3) * 32), *h = (const uint4 *)(p + 16);
    int by = (j & 1) * 4;
    nibbles(q, v[0], by);
    nibbles(q + 4, v[1], by);
    fifths(q, h[0], j & 7);
    fifths(q + 4, h[1], j & 7);
  }
  DEVICE scaling scales(const uint8_t *p, int j) { return k_scales(p + (int64_t)(j >> 3) * 176, j & 7); }
};

// 210 bytes: low nibbles, high pairs of bits, int8 scales per 16, F16 d.
struct q6_k : narrow<q6_k> {
  DEVICE int64_t row_bytes(int n) { return (int64_t)(n >> 8) * 210; }
  DEVICE int pack(const uint8_t *p, int j, int i) {
    p += (int64_t)(j >> 3) * 210;
    int half = j >> 2 & 1, col = j & 3;
    uint32_t low = word(p + half * 64 + (col & 1) * 32 + i * 4) >> (col & 2) * 2 & 0x0f0f0f0f;
    uint32_t high = word(p + 128 + half * 32 + i * 4) >> col * 2 & 0x03030303;
    return less(low | high << 4, 32);
  }
  DEVICE scaling scales(const uint8_t *p, int j) {
    p += (int64_t)(j >> 3) * 210;
    float d = from_f16(*(const uint16_t *)(p + 208));
    const int8_t *s = (const int8_t *)(p + 192 + (j & 7) * 2);
    return {d * (float)s[0], d * (float)s[1], 0.0f};
  }
};

// The float types: at reads one weight, and eight reads 8 at a multiple of 8 of
// a row whose length is one too. Or read does that, and eight makes them of it.
struct f16 {
  typedef uint4 piece;
  DEVICE int64_t row_bytes(int n) { return (int64_t)n * 2; }
  DEVICE float at(const uint8_t *p, int i) { return from_f16(((const uint16_t *)p)[i]); }
  DEVICE piece read(const uint8_t *p, int i) { return *(const uint4 *)(p + (int64_t)i * 2); }
  DEVICE void eight(const uint8_t *p, int i, float *v) { eight(read(p, i), v); }
  DEVICE void eight(piece q, float *v) {
    uint32_t w[4] = {q.x, q.y, q.z, q.w};
    for (int k = 0; k < 4; k++) v[2 * k] = from_f16((uint16_t)w[k]), v[2 * k + 1] = from_f16((uint16_t)(w[k] >> 16));
  }
};
struct bf16 {
  typedef uint4 piece;
  DEVICE int64_t row_bytes(int n) { return (int64_t)n * 2; }
  DEVICE float at(const uint8_t *p, int i) { return from_bf16(((const uint16_t *)p)[i]); }
  DEVICE piece read(const uint8_t *p, int i) { return *(const uint4 *)(p + (int64_t)i * 2); }
  DEVICE void eight(const uint8_t *p, int i, float *v) { eight(read(p, i), v); }
  DEVICE void eight(piece q, float *v) {
    uint32_t w[4] = {q.x, q.y, q.z, q.w};
    for (int k = 0; k < 4; k++) v[2 * k] = as_float(w[k] << 16), v[2 * k + 1] = as_float(w[k] & 0xffff0000);
  }
};
struct f32 {
  struct piece { float4 a, b; };
  DEVICE int64_t row_bytes(int n) { return (int64_t)n * 4; }
  DEVICE float at(const uint8_t *p, int i) { return ((const float *)p)[i]; }
  DEVICE piece read(const uint8_t *p, int i) {
    const float4 *f = (const float4 *)(p + (int64_t)i * 4);
    return {f[0], f[1]};
  }
  DEVICE void eight(const uint8_t *p, int i, float *v) { eight(read(p, i), v); }
  DEVICE void eight(piece q, float *v) {
    float4 a = q.a, b = q.b;
    v[0] = a.x, v[1] = a.y, v[2] = a.z, v[3] = a.w, v[4] = b.x, v[5] = b.y, v[6] = b.z, v[7] = b.w;
  }
};

#define QUANTISED(F) F(q4_0) F(q8_0) F(q4_k) F(q5_k) F(q6_k)
#define FLOATS(F) F(f16) F(bf16) F(f32)
