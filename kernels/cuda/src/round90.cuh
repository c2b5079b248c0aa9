// Weights of every type as wgmma takes them: rounded to bfloat16 in registers, 16 of a
// lane at a time, in the order that gemm90.cu says.
#pragma once
#include "weights.cuh"

// pair rounds two numbers to nearest even.
DEVICE uint32_t pair(float lo, float hi) {
  uint32_t d;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(d) : "f"(hi), "f"(lo));
  return d;
}

// load16 is where it stands, so that what is read early is not read late.
DEVICE uint4 load16(const uint8_t *p) {
  uint4 v;
  asm volatile("ld.global.nc.v4.b32 {%0, %1, %2, %3}, [%4];" : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w) : "l"(p));
  return v;
}

// shifted is byte b of q plus 128, for bytes below 128, as a float: the byte
// becomes the upper end of 128's significand. That takes one instruction and no
// conversion, and the 128 goes in the multiply-add that the scale needs anyway.
DEVICE float shifted(uint32_t q, int b) { return as_float(__nvvm_prmt(q, 0x43000000, 0x7044 + (b << 8))); }

// shifted_far does so with 32768, for all bytes.
DEVICE float shifted_far(uint32_t q, int b) { return as_float(__nvvm_prmt(q, 0x47000000, 0x7404 + (b << 4))); }

// round_fours rounds 16 weights d·q + m of bytes q that at takes; m has been
// lessened by what at adds.
template <float (*at)(uint32_t, int)> DEVICE void round_fours(uint32_t *to, const uint32_t *q, float d, float m) {
#pragma unroll
  for (int k = 0; k < 4; k++) {
    float v[4];
#pragma unroll
    for (int b = 0; b < 4; b++) v[b] = fma(d, at(q[k], b), m);
    to[2 * k] = pair(v[0], v[1]), to[2 * k + 1] = pair(v[2], v[3]);
  }
}

// Types whose blocks lie at even addresses only are copied to shared memory a group
// ahead, words of a row side by side: lanes that read each their own would read few
// bytes of many rows. staged<T> says how: base is where a group's block begins in a
// row, from where word w of the group lies from there on, size how many of its bytes
// are copied. In shared memory they lie mis bytes on, 0 or 2, as base does in memory.
template <typename T> struct staged;
DEVICE int bound(int n) { return most(0, least(n, 4)); }

template <> struct staged<q4_0> {
  static constexpr int rounds = 3, pitch = 25;
  DEVICE int base(int n) { return n * 72; }
  DEVICE int from(int, int w) { return w * 4; }
  DEVICE int size(int n, int w, int mis, int bytes) { return bound(least(bytes - n * 72, 72) + mis - w * 4); }
};
template <> struct staged<q8_0> {
  static constexpr int rounds = 5, pitch = 41;
  DEVICE int base(int n) { return n * 136; }
  DEVICE int from(int, int w) { return w * 4; }
  DEVICE int size(int n, int w, int mis, int bytes) { return bound(least(bytes - n * 136, 136) + mis - w * 4); }
};
// A group is half of a block: 16 words of nibbles, 8 of pairs of bits, and then the
// one behind each, which mis makes part of it, 3 of scales and d.
template <> struct staged<q6_k> {
  static constexpr int rounds = 4, pitch = 35;
  DEVICE int base(int n) { return (n >> 1) * 210; }
  DEVICE int from(int n, int w) {
    int half = n & 1;
    if (w < 16) return half * 64 + w * 4;
    if (w < 24) return 128 + half * 32 + (w - 16) * 4;
    int at = w == 24 ? 64 : w == 25 ? 160 : w < 29 ? 192 + (w - 26) * 4 : 208, by = w == 24 ? 64 : w == 25 ? 32 : w < 29 ? 8 : 0;
    return at + half * by;
  }
  DEVICE int size(int n, int w, int mis, int bytes) {
    int all = (n >> 1) * 210 < bytes ? 4 : 0;
    if (w < 24) return all;
    int without = w == 26 || w == 27 ? 4 : w == 29 ? 2 : 0, more = w == 24 || w == 25 || w == 28 ? 2 : w == 29 ? 1 : 0;
    return least(all, without + mis * more);
  }
};

// bring starts to copy group n of a warp's 16 rows to where to is: eight lanes take
// words of a row, four rows a time, which begin at rows from w on.
template <typename T> DEVICE void bring(uint32_t to, const uint8_t *w, const int *rows, int n, int bytes) {
  typedef staged<T> S;
  int word = THREAD & 7;
#pragma unroll
  for (int r = 0; r < 4; r++) {
    int at = rows[r] + S::base(n), mis = at & 2;
#pragma unroll
    for (int k = 0; k < S::rounds; k++)
      asm volatile("cp.async.ca.shared.global [%0+%1], [%2], 4, %3;" ::"r"(to), "n"((r * 4 * S::pitch + k * 8) * 4), "l"(w + (at - mis + S::from(n, word + k * 8))), "r"(S::size(n, word + k * 8, mis, bytes)) : "memory");
  }
}

// sixteen_bytes puts together what lies from an even byte on; the word behind is
// somewhere else for some.
DEVICE void sixteen_bytes(uint32_t *q, const uint32_t *p, const uint32_t *behind, int odd) {
  uint32_t v[5] = {p[0], p[1], p[2], p[3], behind[0]}, by = odd ? 0x5432 : 0x3210;
#pragma unroll
  for (int k = 0; k < 4; k++) q[k] = __nvvm_prmt(v[k], v[k + 1], by);
}

// round_staged rounds a lane's 16 weights of step t of the group at row. Their types have no
// m, and both products are exact, so that the sum is what the CPU decodes: what
// is added to the numbers has few bits.
DEVICE void round_staged(staged<q4_0>, uint32_t *to, const uint32_t *row, int mis, int t) {
  int at = ((THREAD & 2) + t) * 18 + mis, first = at + 2;
  uint32_t q[4];
  sixteen_bytes(q, row + (first >> 2), row + (first >> 2) + 4, first & 2);
#pragma unroll
  for (int k = 0; k < 4; k++) q[k] = q[k] >> (THREAD & 1) * 4 & 0x0f0f0f0f;
  float d = from_f16(*(const uint16_t *)((const uint8_t *)row + at));
  round_fours<shifted>(to, q, d, d * -136.0f);
}
DEVICE void round_staged(staged<q8_0>, uint32_t *to, const uint32_t *row, int mis, int t) {
  int at = ((THREAD & 2) + t) * 34 + mis, first = at + 2 + (THREAD & 1) * 16;
  uint32_t q[4];
  sixteen_bytes(q, row + (first >> 2), row + (first >> 2) + 4, first & 2);
#pragma unroll
  for (int k = 0; k < 4; k++) q[k] ^= 0x80808080u;
  float d = from_f16(*(const uint16_t *)((const uint8_t *)row + at));
  round_fours<shifted_far>(to, q, d, d * -32896.0f);
}
DEVICE void round_staged(staged<q6_k>, uint32_t *to, const uint32_t *row, int mis, int t) {
  int h = THREAD & 1, j = (THREAD & 2) + t;
  uint32_t q[4], high[4];
  const uint32_t *low = row + t * 8 + h * 4, *pairs = row + 16 + h * 4;
  sixteen_bytes(q, low, t && h ? row + 24 : low + 4, mis);
  sixteen_bytes(high, pairs, h ? row + 25 : pairs + 4, mis);
#pragma unroll
  for (int k = 0; k < 4; k++) q[k] = (q[k] >> (THREAD & 2) * 2 & 0x0f0f0f0f) | (high[k] >> j * 2 & 0x03030303) << 4;
  const uint8_t *p = (const uint8_t *)row + mis;
  float d = from_f16(*(const uint16_t *)(p + 29 * 4)) * (float)*(const int8_t *)(p + 26 * 4 + j * 2 + h);
  round_fours<shifted>(to, q, d, d * -160.0f);
}

// Of the other types, early is what is read for a lane's 16 weights of a group's
// first step, from weight i on, and late what is read for the second's beside, 32 on.
template <typename T> struct wide {
  static constexpr bool apart = true;
  typedef struct {} early, late;
};

// round_k is for sub-block j of Q4_K and Q5_K, whose head has scales and mins of six
// bits. What m loses to 128·d is less than 2^-17 of d.
DEVICE void round_k(uint32_t *to, const uint32_t *q, uint4 head, int j) {
  uint32_t at = (j & 3) * 8, a = head.y >> at, b = head.z >> at, c = head.w >> at;
  uint32_t late = -(uint32_t)(j >> 2 & 1); // all ones in the block's second half
  uint32_t s = (a & 63 & ~late) | (((c & 15) | (a >> 2 & 48)) & late), m = (b & 63 & ~late) | (((c >> 4 & 15) | (b >> 2 & 48)) & late);
  float d = from_f16((uint16_t)head.x) * (float)(int)s, min = from_f16((uint16_t)(head.x >> 16)) * (float)(int)m;
  round_fours<shifted>(to, q, d, fma(-128.0f, d, -min));
}
struct nothing {};
template <> struct wide<q4_k> {
  static constexpr bool apart = false;
  struct early { uint4 q, head; };
  typedef nothing late;
  DEVICE early read(const uint8_t *p, int i) {
    p += (int64_t)(i >> 8) * 144;
    return {load16(p + 16 + (i >> 6 & 3) * 32 + (i & 16)), load16(p)};
  }
  DEVICE late read_late(const uint8_t *, int) { return {}; }
  DEVICE void half(uint32_t *to, const early &w, int i, int by) {
    uint32_t q[4];
    nibbles((int *)q, w.q, by);
    round_k(to, q, w.head, i >> 5);
  }
  DEVICE void round(uint32_t *to, const early &w, int i) { half(to, w, i, 0); }
  DEVICE void round_late(uint32_t *to, const early &w, const late &, int i) { half(to, w, i, 4); }
};
template <> struct wide<q5_k> {
  static constexpr bool apart = false;
  struct early { uint4 q, fifth, head; };
  typedef nothing late;
  DEVICE early read(const uint8_t *p, int i) {
    p += (int64_t)(i >> 8) * 176;
    return {load16(p + 48 + (i >> 6 & 3) * 32 + (i & 16)), load16(p + 16 + (i & 16)), load16(p)};
  }
  DEVICE late read_late(const uint8_t *, int) { return {}; }
  DEVICE void half(uint32_t *to, const early &w, int i, int by) {
    uint32_t q[4];
    nibbles((int *)q, w.q, by);
    fifths((int *)q, w.fifth, i >> 5 & 7);
    round_k(to, q, w.head, i >> 5);
  }
  DEVICE void round(uint32_t *to, const early &w, int i) { half(to, w, i, 0); }
  DEVICE void round_late(uint32_t *to, const early &w, const late &, int i) { half(to, w, i, 4); }
};

// Rows of float types are whole eights of weights.
template <> struct wide<bf16> {
  static constexpr bool apart = false;
  struct early { uint4 v[2]; };
  typedef early late;
  DEVICE early read(const uint8_t *p, int i) { return {load16(p + (int64_t)i * 2), load16(p + (int64_t)i * 2 + 16)}; }
  DEVICE late read_late(const uint8_t *p, int i) { return read(p, i); }
  DEVICE void round(uint32_t *to, const early &w, int) {
    // Copies, since what is read next comes to w's registers while these are multiplied.
    uint32_t from[8] = {w.v[0].x, w.v[0].y, w.v[0].z, w.v[0].w, w.v[1].x, w.v[1].y, w.v[1].z, w.v[1].w};
#pragma unroll
    for (int k = 0; k < 8; k++) asm("mov.b32 %0, %1;" : "=r"(to[k]) : "r"(from[k]));
  }
  DEVICE void round_late(uint32_t *to, const early &, const late &w, int i) { round(to, w, i); }
};
template <> struct wide<f16> {
  static constexpr bool apart = false;
  typedef wide<bf16>::early early, late;
  DEVICE early read(const uint8_t *p, int i) { return wide<bf16>::read(p, i); }
  DEVICE late read_late(const uint8_t *p, int i) { return read(p, i); }
  DEVICE void round(uint32_t *to, const early &w, int i) {
    wide<bf16>::round(to, w, i);
#pragma unroll
    for (int k = 0; k < 8; k++) to[k] = pair(from_f16((uint16_t)to[k]), from_f16((uint16_t)(to[k] >> 16)));
  }
  DEVICE void round_late(uint32_t *to, const early &, const late &w, int i) { round(to, w, i); }
};
template <> struct wide<f32> {
  static constexpr bool apart = false;
  struct early { uint4 v[4]; };
  typedef early late;
  DEVICE early read(const uint8_t *p, int i) {
    p += (int64_t)i * 4;
    return {load16(p), load16(p + 16), load16(p + 32), load16(p + 48)};
  }
  DEVICE late read_late(const uint8_t *p, int i) { return read(p, i); }
  DEVICE void round(uint32_t *to, const early &w, int) {
#pragma unroll
    for (int k = 0; k < 4; k++) to[2 * k] = pair(as_float(w.v[k].x), as_float(w.v[k].y)), to[2 * k + 1] = pair(as_float(w.v[k].z), as_float(w.v[k].w));
  }
  DEVICE void round_late(uint32_t *to, const early &, const late &w, int i) { round(to, w, i); }
};
