// Dot products and weighted sums for WebAssembly with SIMD128, which Go's
// compiler does not emit. build.sh compiles this to a module that lives in Go's
// memory and is merged into the program.
//
// Every function gives the bits of the Go reference in kernels/quant: sums of
// integers are exact, and floats are multiplied and added one by one in its
// order. Layouts of blocks are described there, beside each type.
//
// Build with -ffp-contract=off. Nothing here may need the C stack or data
// segments, because both would lie in Go's memory: tables are made of constants.
#include <stdint.h>
#include <wasm_simd128.h>

#define EXPORT(n) __attribute__((export_name(#n)))
#define INLINE static inline __attribute__((always_inline))

typedef const uint8_t *bytes;

INLINE v128_t load(bytes p) { return wasm_v128_load(p); }
INLINE uint32_t u16(bytes p) { return p[0] | p[1] << 8; }
INLINE uint32_t u32(bytes p) { return u16(p) | u16(p + 2) << 16; }
INLINE float f32(bytes p) { return *(const float *)p; }
INLINE float bits(uint32_t u) { union { uint32_t u; float f; } x = {u}; return x.f; }

INLINE float f16(bytes p) {
  uint32_t h = u16(p), b = h & 0x7fff, f = (b << 13) + (112u << 23);
  if (b < 0x400) {
    union { float f; uint32_t u; } x;
    x.f = bits(0x3f000000 | b) - 0.5f;
    f = x.u;
  }
  if (b >= 0x7c00) {
    f += 112u << 23;
    if (b > 0x7c00) f |= 1u << 22;
  }
  return bits(f | (h & 0x8000) << 16);
}

INLINE v128_t nibblesLow(v128_t q) { return wasm_v128_and(q, wasm_i8x16_const_splat(15)); }
INLINE v128_t nibblesHigh(v128_t q) { return wasm_u8x16_shr(q, 4); }

// dot16 returns Σ w·y of 16 pairs as eight partial sums of 16 bits. |w| ≤ 128 and
// |y| ≤ 127, so two products fit.
INLINE v128_t dot16(v128_t w, v128_t y) {
  return wasm_i16x8_add(wasm_i16x8_extmul_low_i8x16(w, y), wasm_i16x8_extmul_high_i8x16(w, y));
}

INLINE int32_t sum4(v128_t s) {
  return wasm_i32x4_extract_lane(s, 0) + wasm_i32x4_extract_lane(s, 1) + wasm_i32x4_extract_lane(s, 2) + wasm_i32x4_extract_lane(s, 3);
}

// Activations: groups of 320 bytes, see kernels/quant/act.go.
enum { GROUP = 320, SUM16 = 256, SCALE256 = 304, SCALE32 = 256, SUM32 = 288 };

// A block32 is 32 weights as bytes, w = d·q + m.
typedef struct {
  v128_t q[2];
  float d, m;
} block32;

// The way the reference multiplies the factors of a block with its sum.
enum { SCALED, SHIFTED };

INLINE float term32(block32 w, bytes group, int j, int shifted) {
  v128_t s = wasm_i32x4_add(wasm_i32x4_extadd_pairwise_i16x8(dot16(w.q[0], load(group + 32 * j))),
                            wasm_i32x4_extadd_pairwise_i16x8(dot16(w.q[1], load(group + 32 * j + 16))));
  float dx = f32(group + SCALE32 + 4 * j), sum = (float)sum4(s);
  if (shifted) {
    float sx = (float)((int32_t)u32(group + SUM32 + 4 * j) / -128);
    return dx * (w.d * sum + w.m * sx);
  }
  return w.d * dx * sum;
}

// ROWS32 makes NAME, for one activation row, and NAME_4, for four, out of one body.
#define ROWS32(NAME, BYTES, UNPACK, SHIFT)                                                         \
  INLINE void NAME##_n(bytes w, int n, int rows, bytes x, int xStride, float *out, int outStride, int batch) { \
    for (int r = 0; r < rows; r++) {                                                               \
      float acc[4] = {0, 0, 0, 0};                                                                 \
      for (int b = 0; b < n / 32; b++, w += BYTES) {                                               \
        block32 k = UNPACK(w);                                                                     \
        bytes g = x + b / 8 * GROUP;                                                               \
        acc[0] += term32(k, g, b % 8, SHIFT);                                                      \
        if (batch == 4) {                                                                          \
          acc[1] += term32(k, g + xStride, b % 8, SHIFT);                                          \
          acc[2] += term32(k, g + 2 * xStride, b % 8, SHIFT);                                      \
          acc[3] += term32(k, g + 3 * xStride, b % 8, SHIFT);                                      \
        }                                                                                          \
      }                                                                                            \
      out[r] = acc[0];                                                                             \
      if (batch == 4) {                                                                            \
        out[r + outStride] = acc[1];                                                               \
        out[r + 2 * outStride] = acc[2];                                                           \
        out[r + 3 * outStride] = acc[3];                                                           \
      }                                                                                            \
    }                                                                                              \
  }                                                                                                \
  static void NAME(bytes w, int n, int rows, bytes x, int xs, float *out, int os) { NAME##_n(w, n, rows, x, xs, out, os, 1); } \
  static void NAME##_4(bytes w, int n, int rows, bytes x, int xs, float *out, int os) { NAME##_n(w, n, rows, x, xs, out, os, 4); }

INLINE block32 q8_0(bytes p) { return (block32){{load(p + 2), load(p + 18)}, f16(p), 0}; }

INLINE block32 q4_0(bytes p) {
  v128_t q = load(p + 2), eight = wasm_i8x16_const_splat(8);
  return (block32){{wasm_i8x16_sub(nibblesLow(q), eight), wasm_i8x16_sub(nibblesHigh(q), eight)}, f16(p), 0};
}

INLINE block32 q4_1(bytes p) {
  v128_t q = load(p + 4);
  return (block32){{nibblesLow(q), nibblesHigh(q)}, f16(p), f16(p + 2)};
}

// fifth returns 16 where a bit of the 16 is set.
INLINE v128_t fifth(uint32_t h) {
  v128_t b = wasm_i8x16_shuffle(wasm_i16x8_splat(h), wasm_i16x8_splat(h), 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1);
  v128_t bit = wasm_i8x16_const(1, 2, 4, 8, 16, 32, 64, -128, 1, 2, 4, 8, 16, 32, 64, -128);
  return wasm_v128_and(wasm_i8x16_eq(wasm_v128_and(b, bit), bit), wasm_i8x16_const_splat(16));
}

INLINE block32 q5_0(bytes p) {
  v128_t q = load(p + 6), off = wasm_i8x16_const_splat(16);
  uint32_t h = u32(p + 2);
  return (block32){{wasm_i8x16_sub(wasm_v128_or(nibblesLow(q), fifth(h & 0xffff)), off),
                    wasm_i8x16_sub(wasm_v128_or(nibblesHigh(q), fifth(h >> 16)), off)}, f16(p), 0};
}

INLINE block32 q5_1(bytes p) {
  v128_t q = load(p + 8);
  uint32_t h = u32(p + 4);
  return (block32){{wasm_v128_or(nibblesLow(q), fifth(h & 0xffff)), wasm_v128_or(nibblesHigh(q), fifth(h >> 16))}, f16(p), f16(p + 2)};
}

INLINE v128_t iq4Values(void) { return wasm_i8x16_const(-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113); }

INLINE block32 iq4_nl(bytes p) {
  v128_t q = load(p + 2);
  return (block32){{wasm_i8x16_swizzle(iq4Values(), nibblesLow(q)), wasm_i8x16_swizzle(iq4Values(), nibblesHigh(q))}, f16(p), 0};
}

INLINE block32 mxfp4(bytes p) {
  v128_t q = load(p + 1), values = wasm_i8x16_const(0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12);
  float d = p[0] < 2 ? bits(0x00200000u << p[0]) : bits((p[0] - 1u) << 23);
  return (block32){{wasm_i8x16_swizzle(values, nibblesLow(q)), wasm_i8x16_swizzle(values, nibblesHigh(q))}, d, 0};
}

ROWS32(dot_q8_0, 34, q8_0, SCALED)
ROWS32(dot_q4_0, 18, q4_0, SCALED)
ROWS32(dot_q5_0, 22, q5_0, SCALED)
ROWS32(dot_iq4_nl, 18, iq4_nl, SCALED)
ROWS32(dot_mxfp4, 17, mxfp4, SCALED)
ROWS32(dot_q4_1, 20, q4_1, SHIFTED)
ROWS32(dot_q5_1, 24, q5_1, SHIFTED)

// Blocks of 256 are 16 groups of 16 weights. quants_x(p, j) returns the quants of
// group j, scale_x its factor, min_x its offset; j is a constant once unrolled.
#define ROWS256(NAME, BYTES, T, D, DMIN, MINS)                                                     \
  INLINE float NAME##_term(bytes p, bytes g) {                                                     \
    v128_t s = wasm_i32x4_const_splat(0);                                                          \
    _Pragma("clang loop unroll(full)") for (int j = 0; j < 16; j++) s = wasm_i32x4_add(            \
        s, wasm_i32x4_dot_i16x8(dot16(quants_##T(p, j), load(g + 16 * j)), wasm_i16x8_splat(scale_##T(p, j)))); \
    float dx = f32(g + SCALE256), sum = f16(p + D) * (float)sum4(s);                               \
    if (!MINS) return dx * sum;                                                                    \
    int32_t m = 0;                                                                                 \
    _Pragma("clang loop unroll(full)") for (int j = 0; j < 16; j++) m += min_##T(p, j) * (int16_t)u16(g + SUM16 + 2 * j); \
    return dx * (sum - f16(p + DMIN) * (float)m);                                                  \
  }                                                                                                \
  static void NAME(bytes w, int n, int rows, bytes x, int xs, float *out, int os) {          \
    for (int r = 0; r < rows; r++) {                                                               \
      float acc = 0;                                                                               \
      for (int b = 0; b < n / 256; b++, w += BYTES) acc += NAME##_term(w, x + b * GROUP);          \
      out[r] = acc;                                                                                \
    }                                                                                              \
  }

INLINE int scaleK(bytes s, int j) { return j < 4 ? s[j] & 63 : (s[4 + j] & 15) | s[j - 4] >> 6 << 4; }
INLINE int minK(bytes s, int j) { return j < 4 ? s[4 + j] & 63 : s[4 + j] >> 4 | s[j] >> 6 << 4; }

INLINE v128_t quants_q4_k(bytes p, int j) {
  v128_t q = load(p + 16 + j / 4 * 32 + j % 2 * 16);
  return j & 2 ? nibblesHigh(q) : nibblesLow(q);
}
INLINE int scale_q4_k(bytes p, int j) { return scaleK(p + 4, j / 2); }
INLINE int min_q4_k(bytes p, int j) { return minK(p + 4, j / 2); }

INLINE v128_t quants_q5_k(bytes p, int j) {
  v128_t q = load(p + 48 + j / 4 * 32 + j % 2 * 16), h = wasm_u8x16_shr(load(p + 16 + j % 2 * 16), j / 2);
  h = wasm_i8x16_shl(wasm_v128_and(h, wasm_i8x16_const_splat(1)), 4);
  return wasm_v128_or(j & 2 ? nibblesHigh(q) : nibblesLow(q), h);
}
INLINE int scale_q5_k(bytes p, int j) { return scaleK(p + 4, j / 2); }
INLINE int min_q5_k(bytes p, int j) { return minK(p + 4, j / 2); }

INLINE v128_t quants_q6_k(bytes p, int j) {
  int h = j / 8, quarter = j / 2 % 4, l = j % 2 * 16; // of 128, of 32, of 16
  v128_t q = load(p + 64 * h + quarter % 2 * 32 + l), top = wasm_u8x16_shr(load(p + 128 + 32 * h + l), 2 * quarter);
  top = wasm_i8x16_shl(wasm_v128_and(top, wasm_i8x16_const_splat(3)), 4);
  q = wasm_v128_or(quarter / 2 ? nibblesHigh(q) : nibblesLow(q), top);
  return wasm_i8x16_sub(q, wasm_i8x16_const_splat(32));
}
INLINE int scale_q6_k(bytes p, int j) { return (int8_t)p[192 + j]; }
INLINE int min_q6_k(bytes p, int j) { return 0; }

INLINE v128_t pairs(bytes p, int j) {
  v128_t q = wasm_u8x16_shr(load(p + 32 * (j / 8) + 16 * (j % 2)), j / 2 % 4 * 2);
  return wasm_v128_and(q, wasm_i8x16_const_splat(3));
}
INLINE v128_t quants_q2_k(bytes p, int j) { return pairs(p + 16, j); }
INLINE int scale_q2_k(bytes p, int j) { return p[j] & 15; }
INLINE int min_q2_k(bytes p, int j) { return p[j] >> 4; }

INLINE v128_t quants_q3_k(bytes p, int j) {
  v128_t h = wasm_v128_and(wasm_u8x16_shr(load(p + 16 * (j % 2)), j / 2), wasm_i8x16_const_splat(1));
  return wasm_i8x16_sub(wasm_v128_or(pairs(p + 32, j), wasm_i8x16_shl(h, 2)), wasm_i8x16_const_splat(4));
}
INLINE int scale_q3_k(bytes p, int j) {
  return ((p[96 + j % 8] >> j / 8 * 4 & 15) | (p[104 + j % 4] >> j / 4 * 2 & 3) << 4) - 32;
}
INLINE int min_q3_k(bytes p, int j) { return 0; }

INLINE v128_t quants_iq4_xs(bytes p, int j) {
  v128_t q = load(p + 8 + 16 * (j / 2));
  return wasm_i8x16_swizzle(iq4Values(), j % 2 ? nibblesHigh(q) : nibblesLow(q));
}
INLINE int scale_iq4_xs(bytes p, int j) {
  j /= 2;
  return (int)((p[4 + j / 2] >> j % 2 * 4 & 15) | (u16(p + 2) >> 2 * j & 3) << 4) - 32;
}
INLINE int min_iq4_xs(bytes p, int j) { return 0; }

ROWS256(dot_q2_k, 84, q2_k, 80, 82, 1)
ROWS256(dot_q3_k, 110, q3_k, 108, 0, 0)
ROWS256(dot_q4_k, 144, q4_k, 0, 2, 1)
ROWS256(dot_q5_k, 176, q5_k, 0, 2, 1)
ROWS256(dot_q6_k, 210, q6_k, 208, 0, 0)
ROWS256(dot_iq4_xs, 136, iq4_xs, 0, 0, 0)

// Four floats of a type at p.
INLINE v128_t four_f32(bytes p) { return load(p); }
INLINE v128_t four_bf16(bytes p) { return wasm_i32x4_shl(wasm_u32x4_load16x4(p), 16); }
INLINE v128_t four_f16(bytes p) {
  v128_t h = wasm_u32x4_load16x4(p), b = wasm_v128_and(h, wasm_i32x4_const_splat(0x7fff));
  v128_t f = wasm_i32x4_add(wasm_i32x4_shl(b, 13), wasm_i32x4_const_splat(112 << 23));
  v128_t tiny = wasm_f32x4_sub(wasm_v128_or(b, wasm_i32x4_const_splat(0x3f000000)), wasm_f32x4_const_splat(0.5f));
  f = wasm_v128_bitselect(tiny, f, wasm_i32x4_lt(b, wasm_i32x4_const_splat(0x400)));
  v128_t big = wasm_i32x4_ge(b, wasm_i32x4_const_splat(0x7c00)), nan = wasm_i32x4_gt(b, wasm_i32x4_const_splat(0x7c00));
  f = wasm_i32x4_add(f, wasm_v128_and(big, wasm_i32x4_const_splat(112 << 23)));
  f = wasm_v128_or(f, wasm_v128_and(nan, wasm_i32x4_const_splat(1 << 22)));
  return wasm_v128_or(f, wasm_i32x4_shl(wasm_v128_and(h, wasm_i32x4_const_splat(0x8000)), 16));
}

// n is a multiple of four.
#define ROWSF(T, SIZE)                                                                             \
  static void dot_##T(bytes w, int n, int rows, bytes x, int xs, float *out, int os) {    \
    for (int r = 0; r < rows; r++) {                                                               \
      v128_t acc = wasm_f32x4_const_splat(0);                                                      \
      for (int i = 0; i < n; i += 4, w += 4 * SIZE) acc = wasm_f32x4_add(acc, wasm_f32x4_mul(four_##T(w), load(x + 4 * i))); \
      out[r] = (wasm_f32x4_extract_lane(acc, 0) + wasm_f32x4_extract_lane(acc, 1)) +               \
               (wasm_f32x4_extract_lane(acc, 2) + wasm_f32x4_extract_lane(acc, 3));                \
    }                                                                                              \
  }

ROWSF(f32, 4)
ROWSF(f16, 2)
ROWSF(bf16, 2)

// sum_x adds p[r]·w[r] to dst, n a multiple of four.
#define SUMF(T, SIZE)                                                                              \
  static void sum_##T(float *dst, int n, bytes w, int rows, int stride, const float *p) { \
    for (int r = 0; r < rows; r++, w += stride)                                                    \
      for (int i = 0; i < n; i += 4)                                                               \
        wasm_v128_store(dst + i, wasm_f32x4_add(load((bytes)(dst + i)), wasm_f32x4_mul(wasm_f32x4_splat(p[r]), four_##T(w + SIZE * i)))); \
  }

SUMF(f32, 4)
SUMF(f16, 2)

// The kernels by number: kernels/dot/fast_wasm.go has the same list.
#define ONE(N, NAME) case N: return NAME(w, n, rows, x, xStride, out, outStride)
#define BOTH(N, NAME) ONE(N, NAME); ONE(64 + N, NAME##_4)

EXPORT(dot) void dot(int kernel, bytes w, int n, int rows, bytes x, int xStride, float *out, int outStride) {
  switch (kernel) {
    ONE(0, dot_f32); ONE(1, dot_f16); ONE(2, dot_bf16);
    BOTH(3, dot_q4_0); BOTH(4, dot_q4_1); BOTH(5, dot_q5_0); BOTH(6, dot_q5_1); BOTH(7, dot_q8_0);
    ONE(8, dot_q2_k); ONE(9, dot_q3_k); ONE(10, dot_q4_k); ONE(11, dot_q5_k); ONE(12, dot_q6_k);
    BOTH(13, dot_iq4_nl); ONE(14, dot_iq4_xs); BOTH(15, dot_mxfp4);
  }
  __builtin_trap();
}

EXPORT(sum) void sum(int kernel, float *dst, int n, bytes w, int rows, int stride, const float *p) {
  switch (kernel) {
    case 0: return sum_f32(dst, n, w, rows, stride, p);
    case 1: return sum_f16(dst, n, w, rows, stride, p);
  }
  __builtin_trap();
}

// A job is the product of a matrix with some activation rows, dealt out in chunks of weight
// rows: dot of every chunk for four activation rows at a time (kernel four, or none where it
// is negative), then one by one. Which chunk a thread takes changes no bits.
typedef struct {
  int one, four;
  bytes w;
  int n, rows, rowBytes, chunk;
  bytes x;
  int xStride, batch;
  float *out;
  int outStride;
} job;

INLINE void part(const job *j, int c) {
  int first = c * j->chunk, rows = j->rows - first < j->chunk ? j->rows - first : j->chunk, b = 0;
  bytes w = j->w + first * j->rowBytes;
  if (j->four >= 0)
    for (; b + 4 <= j->batch; b += 4) dot(j->four, w, j->n, rows, j->x + b * j->xStride, j->xStride, j->out + first + b * j->outStride, j->outStride);
  for (; b < j->batch; b++) dot(j->one, w, j->n, rows, j->x + b * j->xStride, j->xStride, j->out + first + b * j->outStride, j->outStride);
}

#ifdef __wasm_atomics__
// Helpers are instances of this module in other threads, on the same memory, which take
// chunks of a job. What they share stands below the first address that Go uses.
typedef struct {
  uint64_t claim;    // the job's number, above the next chunk of it
  uint32_t number;   // of the job, which helpers wait to change
  uint32_t helpers;  // that are there
  uint32_t asleep;   // of them
  uint32_t done;     // chunks that are
  uint32_t chunks;
  uint32_t patience; // times that a chunk of a helper is waited for, a millisecond each
  job job;
} team;

#define TEAM ((team *)1024)
enum { SPIN = 20000, NAP = 1000000 /* ns */ };

__attribute__((import_module("team"), import_name("lost"))) void lost(void);

#define READ(x) __atomic_load_n(&TEAM->x, __ATOMIC_SEQ_CST)
#define WRITE(x, v) __atomic_store_n(&TEAM->x, v, __ATOMIC_SEQ_CST)
#define ADD(x, v) __atomic_add_fetch(&TEAM->x, v, __ATOMIC_SEQ_CST)

// work takes chunks of a job until all are taken. A claim that succeeds proves that the job
// is not over, so what is read of it afterwards is of this one.
INLINE void work(uint32_t number) {
  for (uint64_t c; (c = READ(claim)) >> 32 == number && (uint32_t)c < READ(chunks);) {
    if (!__atomic_compare_exchange_n(&TEAM->claim, &c, c + 1, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) continue;
    part(&TEAM->job, (uint32_t)c);
    if (ADD(done, 1) == READ(chunks)) __builtin_wasm_memory_atomic_notify((int *)&TEAM->done, 1);
  }
}

// help is what a helper does as long as it lives. Jobs follow each other closely, so it
// looks for the next one for some 50 µs before it sleeps.
EXPORT(help) void help(int patience) {
  uint32_t seen = READ(number);
  WRITE(patience, patience);
  ADD(helpers, 1);
  for (;;) {
    for (int i = 0; i < SPIN && READ(number) == seen; i++);
    if (READ(number) == seen) {
      ADD(asleep, 1);
      __builtin_wasm_memory_atomic_wait32((int *)&TEAM->number, seen, -1);
      ADD(asleep, -1);
    }
    seen = READ(number);
    work(seen);
  }
}

// shared does a job with the helpers. One that takes a chunk and does not come back is given
// up, with all others: the chunks are done again here.
INLINE void shared(int chunks) {
  uint32_t number = READ(number) + 1;
  WRITE(done, 0);
  WRITE(chunks, chunks);
  WRITE(claim, (uint64_t)number << 32);
  WRITE(number, number);
  if (READ(asleep)) __builtin_wasm_memory_atomic_notify((int *)&TEAM->number, -1);
  work(number);
  for (int i = 0; i < SPIN && READ(done) != chunks; i++);
  for (uint32_t i = READ(patience), d; (d = READ(done)) != chunks; i--) {
    if (i == 0) {
      WRITE(helpers, 0);
      lost();
      for (int c = 0; c < chunks; c++) part(&TEAM->job, c);
      return;
    }
    __builtin_wasm_memory_atomic_wait32((int *)&TEAM->done, d, NAP);
  }
}
#endif

// rows is a whole job; see kernels/dot.Share.
EXPORT(rows) void rows(int one, int four, bytes w, int n, int rows, int rowBytes, int chunk, bytes x, int xStride, int batch, float *out, int outStride) {
  int chunks = (rows + chunk - 1) / chunk;
#ifdef __wasm_atomics__
  WRITE(claim, -1); // a helper that is late finds nothing to take
  job *j = &TEAM->job;
#else
  job *j = (job *)1024;
#endif
  *j = (job){one, four, w, n, rows, rowBytes, chunk, x, xStride, batch, out, outStride};
#ifdef __wasm_atomics__
  if (chunks > 1 && READ(helpers)) return shared(chunks);
#endif
  for (int c = 0; c < chunks; c++) part(j, c);
}
