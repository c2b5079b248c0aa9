// cache.cuh is the paged KV cache: a layer is (blocks, 2, kv_heads, block_size,
// head_dim), as kernels.KV lays it out.
#pragma once
#include "gpu.cuh"

// A cache type reads and writes value i of a token's head_dim, which begin at p;
// a whole warp writes together. Bits are those of package quant.
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
struct bf16 {
  DEVICE int bytes(int n) { return 2 * n; }
  DEVICE float at(const uint8_t *p, int i) { return from_bf16(((const uint16_t *)p)[i]); }
  DEVICE void put(uint8_t *p, int i, float v) { ((uint16_t *)p)[i] = (uint16_t)to_bf16(v); }
};

// f8_e4m3 converts as quant.E4M3 does, with saturation, in integers, since
// only capability 8.9 has an instruction for it.
struct f8_e4m3 {
  DEVICE int bytes(int n) { return n; }
  DEVICE float at(const uint8_t *p, int i) {
    uint32_t b = p[i] & 0x7f;
    float f = as_float(b << 20) * 0x1p120f;
    return as_float((b == 0x7f ? 0x7fc00000 : as_bits(f)) | (uint32_t)(p[i] & 0x80) << 24);
  }
  DEVICE void put(uint8_t *p, int i, float v) {
    uint32_t b = as_bits(v) & 0x7fffffff, sign = as_bits(v) >> 24 & 0x80;
    if (b > 0x7f800000) b = 0x7f;
    else if (b >= 0x43e00000) b = 0x7e;                                  // 448
    else if (b < 0x3c800000) b = as_bits(as_float(b) + 0x1p14f) - 0x46800000;  // the addition rounds
    else b = (b + 0x7ffff + (b >> 20 & 1) - (120u << 23)) >> 20;
    p[i] = (uint8_t)(sign | b);
  }
};
struct q8_0 {
  DEVICE int bytes(int n) { return n / 32 * 34; }
  DEVICE float at(const uint8_t *p, int i) {
    p += (i >> 5) * 34;
    return from_f16(*(const uint16_t *)p) * (float)(int8_t)p[2 + (i & 31)];
  }
  // d is the largest magnitude of the warp's 32 values / 127; quants are rounded
  // to nearest, halves away from zero.
  DEVICE void put(uint8_t *p, int i, float v) {
    int top = as_bits(v) & 0x7fffffff;
    for (int by = 16; by > 0; by >>= 1) top = most(top, lane_xor(top, by));
    float d = as_float(top) / 127.0f, id = d != 0.0f ? 1.0f / d : 0.0f, q = v * id;
    p += (i >> 5) * 34;
    if ((i & 31) == 0) *(uint16_t *)p = to_f16(d > 65504.0f ? 65504.0f : d);
    int whole = (int)q;
    float rest = q - (float)whole;
    p[2 + (i & 31)] = (uint8_t)(rest >= 0.5f ? whole + 1 : rest <= -0.5f ? whole - 1 : whole);
  }
};

// first_seen returns the first token that a row sees of those up to end: with a window above 0
// so many of the last, with one below 0 those of the run of -window positions it is in.
DEVICE int first_seen(int end, int window) {
  if (window < 0 && end > 0) return (end - 1) / -window * -window;
  return window > 0 && end > window ? end - window : 0;
}

// place returns the first byte of a token's values of one head: keys are part
// 0, values part 1. A slot is block · block_size + place in it.
template <typename T> DEVICE int64_t place(int64_t block, int in, int part, int head, int kv_heads, int head_dim, int block_size) {
  return (((block * 2 + part) * kv_heads + head) * block_size + in) * T::bytes(head_dim);
}
