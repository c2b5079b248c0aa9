// held.cuh is products with few rows of activations that a block norms and
// quantises for itself, into shared memory, before its warps take weight rows, two
// at a time. A multiprocessor runs one block, so that the first part is done few
// times. Every number is the one that the kernels of rows.cu and gemv.cu give.
//
// A side S holds rows, and multiplies by them two weight rows of a type only known
// when it runs. Numbers of types are places in cuda.Types.
#pragma once
#include "dot.cuh"
#include "norm.cuh"

#define BLOCKS ((int)__nvvm_read_ptx_sreg_nctaid_x())
#define WARPS (THREADS >> 5)

// Threads of a block for R rows, all that a multiprocessor has registers for:
// cuda.fusedThreads.
#define THREADS_1 640
#define THREADS_2 640
#define THREADS_4 512
#define THREADS_8 512

// own_warp is the warp's number in its block, from a shuffle, so that the assembler
// knows that the lanes agree and keeps what follows from it once for all of them.
DEVICE int own_warp() { return __nvvm_shfl_sync_idx_i32(-1, THREAD >> 5, 0, 31); }

extern SHARED __attribute__((aligned(16))) uint8_t held[];

// sum_squares leaves the parts of rows' sums of squares at part, eight a row, as
// inverse_rms has them: warps take parts in turn.
DEVICE void sum_squares(const float *x, int live, int n, float *part) {
  for (int i = own_warp(); i < live * 8; i += WARPS) {
    float s = warp_sum(squares(x + (int64_t)(i >> 3) * n, n, (i & 7) * 32 + LANE));
    if (LANE == 0) part[i] = s;
    __nvvm_bar_warp_sync(-1);  // a warp of which one lane stores is whole again
  }
  block_sync();
}

// inverse_of returns what inverse_rms does, from those parts.
DEVICE float inverse_of(const float *part, int n, float eps) {
  float s = 0.0f;
#pragma unroll
  for (int i = 0; i < 8; i++) s += part[i];
  return 1.0f / root(s / (float)n + eps);
}

// A lane's eight values of a row, and of the norm.
struct eight {
  float4 a, b, c, d;
  int row, at;
  // load moves on to where there is a row, and asks for what is there. Groups of
  // 256 are a warp's.
  MEMBER void load(const float *x, const float *norm, int live, int n) {
    for (int whole = (n + 255) & ~255; at >= whole && row < live; row++) at -= whole;
    int i = least(at + LANE * 8, n - 8);  // lanes without values load the last
    const float4 *p = (const float4 *)(x + (int64_t)least(row, live - 1) * n + i);
    a = p[0], b = p[1];
    if (norm) c = ((const float4 *)(norm + i))[0], d = ((const float4 *)(norm + i))[1];
  }
};

// hold_blocks writes rows of floats, normed where there is a norm, to held as ActQ8_32
// turned, without the padding of the last group. A warp takes 256 values, and has
// the next 256 under way meanwhile; a lane takes eight, four lanes the 32 that
// share a scale: the same numbers as x32, in fewer shuffles.
DEVICE void hold_blocks(const float *x, const float *norm, float eps, int64_t stride, int live, int n, float *part) {
  eight next = {};
  next.at = own_warp() * 256;
  next.load(x, norm, live, n);
  if (norm) sum_squares(x, live, n, part);
  while (next.row < live) {
    eight e = next;
    next.at += WARPS * 256;
    next.load(x, norm, live, n);
    int i = e.at + LANE * 8;
    float v[8] = {e.a.x, e.a.y, e.a.z, e.a.w, e.b.x, e.b.y, e.b.z, e.b.w};
    if (norm) {
      float by = inverse_of(part + e.row * 8, n, eps), m[8] = {e.c.x, e.c.y, e.c.z, e.c.w, e.d.x, e.d.y, e.d.z, e.d.w};
#pragma unroll
      for (int k = 0; k < 8; k++) v[k] = v[k] * by * m[k];
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
      uint8_t *g = held + e.row * stride + (int64_t)(i >> 8) * 320;
      uint32_t *to = (uint32_t *)(g + turned::chunk(LANE >> 1) + (LANE & 1) * 8);
      to[0] = q[0], to[1] = q[1];
      if ((LANE & 3) == 0) {
        ((float *)(g + 256))[LANE >> 2] = d;
        ((int *)(g + 288))[LANE >> 2] = -128 * sum;
      }
    }
    __nvvm_bar_warp_sync(-1);  // a warp of which not all lanes store is whole again
  }
  block_sync();
}

// A pair is two weight rows that a warp takes together. asked has their first KiB
// each on its way, while a block holds rows; the assembler would leave out what
// nothing NEEDED.
struct pair { const uint8_t *w; int type, low, high; };
DEVICE uint32_t asked(const pair &p, int64_t bytes) {
  if (LANE * 32 + 4 > bytes) return 0;
  const uint8_t *a = p.w + p.low * bytes + LANE * 32, *b = p.w + p.high * bytes + LANE * 32;
  return *(const uint32_t *)(a - ((uint64_t)a & 2)) ^ *(const uint32_t *)(b - ((uint64_t)b & 2));
}
#define NEEDED(v) \
  if (rows == 0) part[0] = as_float(v)

struct blocks {
  DEVICE int64_t stride(int in) { return (int64_t)((in + 255) >> 8) * 320; }
  DEVICE void hold(const float *x, const float *norm, float eps, int live, int n, float *part) { hold_blocks(x, norm, eps, stride(n), live, n, part); }
  DEVICE int64_t row_bytes(int type, int n) {
    if (type < 2) return type == 0 ? q4_0::row_bytes(n) : q8_0::row_bytes(n);
    return (int64_t)(n >> 8) * (type == 2 ? 144 : type == 3 ? 176 : 210);
  }
  // dot takes the rows held from row `from`.
  template <int R> DEVICE void dot(float *acc, const pair &p, int live, int n, int from = 0) {
    int64_t bytes = row_bytes(p.type, n);
    const uint8_t *w[2] = {p.w + p.low * bytes, p.w + p.high * bytes};
#define OF(N, T) case N: dot_blocks<T, turned, R>(acc, w, held + from * stride(n), stride(n), live, n); break;
    switch (p.type) { OF(0, q4_0) OF(1, q8_0) OF(2, q4_k) OF(3, q5_k) default: OF(4, q6_k) }
#undef OF
  }
};

// hold_floats writes rows of floats, normed where there is a norm, to held, parted;
// a thread asks for eight at a time.
DEVICE void hold_floats(const float *x, const float *norm, float eps, int live, int n, float *part) {
  if (norm) sum_squares(x, live, n, part);
  bool whole = (n & 63) == 0;
  for (int r = 0; r < live; r++) {
    const float *row = x + (int64_t)r * n;
    float by = norm ? inverse_of(part + r * 8, n, eps) : 0.0f, *h = (float *)held + (int64_t)r * n;
    for (int from = THREAD; from < n; from += 8 * THREADS) {
      float v[8], w[8];
#pragma unroll
      for (int k = 0; k < 8; k++) {
        int i = least(from + k * THREADS, n - 1);
        v[k] = row[i], w[k] = norm ? norm[i] : 0.0f;
      }
#pragma unroll
      for (int k = 0; k < 8; k++) {
        int i = from + k * THREADS;
        if (i < n) h[parted::four(i >> 2, whole) * 4 + (i & 3)] = norm ? v[k] * by * w[k] : v[k];
      }
    }
  }
  __nvvm_bar_warp_sync(-1);  // a warp of which not all lanes loop is whole again
  block_sync();
}

struct floats {
  DEVICE void hold(const float *x, const float *norm, float eps, int live, int n, float *part) { hold_floats(x, norm, eps, live, n, part); }
  DEVICE int64_t row_bytes(int type, int n) { return (int64_t)n * (type == 7 ? 4 : 2); }
  DEVICE int64_t stride(int in) { return 4ll * in; }
  template <int R> DEVICE void dot(float *acc, const pair &p, int live, int n, int from = 0) {
    int64_t bytes = row_bytes(p.type, n);
    const uint8_t *w[2] = {p.w + p.low * bytes, p.w + p.high * bytes};
#define OF(N, T) case N: dot_floats<T, parted, R>(acc, w, (const float *)held + (int64_t)from * n, live, n); break;
    switch (p.type) { OF(5, f16) OF(6, bf16) default: OF(7, f32) }
#undef OF
  }
};

// Of the sums total gives, a lane has that of row ROW_OF(R) and of the lower or
// the upper weight row; the first of the lanes with the same one stores it.
#define ROW_OF(R) (LANE / (32 / (R)))
#define UPPER(R) (LANE / (16 / (R)) & 1)
#define STORES(R) (LANE % (16 / (R)) == 0)

struct matrix { float *y; const uint8_t *w; const float *bias; int out, type; };
