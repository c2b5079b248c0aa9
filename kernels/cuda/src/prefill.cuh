// Attention of prompts, on tensor cores: many rows of a sequence read each key
// and value once for all of them.
#pragma once
#include "cache.cuh"

#define BLOCKS_Y ((int)__nvvm_read_ptx_sreg_nctaid_y())
struct __attribute__((aligned(8))) uint2 { uint32_t x, y; };
struct __attribute__((aligned(8))) float2 { float x, y; };

// Two kinds of 16-bit numbers are multiplied; sums are float32. Lane l of a warp
// holds rows l/4 and l/4 + 8 and columns 2·(l%4) and the next of a 16 by 16 tile
// a, of 16 by 8 of it each of c: PTX ISA, §9.7.14.5.
struct halves {
  DEVICE uint32_t pack(float lo, float hi) {
    uint32_t v;
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(v) : "f"(hi), "f"(lo));
    return v;
  }
  DEVICE void mma(float *c, const uint32_t *a, uint32_t b0, uint32_t b1) {
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
  }
};
struct brains {
  DEVICE uint32_t pack(float lo, float hi) {
    uint32_t v;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(v) : "f"(hi), "f"(lo));
    return v;
  }
  DEVICE void mma(float *c, const uint32_t *a, uint32_t b0, uint32_t b1) {
    asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
  }
};

// copy_async copies 16 bytes, zeros unless there; wait_async waits for all.
DEVICE void copy_async(void *to, const void *from, bool there) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" : : "r"(shared_at(to)), "l"(from), "r"(there ? 16 : 0) : "memory");
}
DEVICE void wait_async() {
  asm volatile("cp.async.commit_group;\n\tcp.async.wait_group 0;" : : : "memory");
}

// Four 8 by 8 matrices, whose rows lanes 8i to 8i+7 point to; transposed they
// serve as columns.
DEVICE void load_matrices(uint32_t *r, const void *row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];" : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(shared_at(row)) : "memory");
}
DEVICE void load_transposed(uint32_t *r, const void *row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];" : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(shared_at(row)) : "memory");
}

// stage<T> brings chunk c, eight values, of a token to shared memory: fetch begins
// to load it, zeros unless there, and settle stores what was loaded. words loads
// it to be used at once. Numbers there, times unit, are the values. F16 and F8_E4M3
// are exact as halves, and what is rounded, queries and weights, is rounded eight
// times finer than as bf16; only BF16 has values that do not fit halves.
template <typename T> struct stage;
// Caches of 16-bit numbers are copied as they are.
template <typename N> struct copied {
  typedef N number;
  static constexpr float unit = 1.0f;
  DEVICE uint4 words(const uint8_t *p, int c) { return ((const uint4 *)p)[c]; }
  struct raw {};
  DEVICE raw fetch(uint16_t *to, const uint8_t *p, int c, bool there) {
    copy_async(to, p + c * 16, there);
    return {};
  }
  DEVICE void settle(uint16_t *, raw) {}
};
template <> struct stage<f16> : copied<halves> {};
template <> struct stage<bf16> : copied<brains> {};
template <> struct stage<f8_e4m3> {
  typedef halves number;
  // The bits of an F8_E4M3 in those of a half, subnormal or not, are a number 2^8 too small.
  static constexpr float unit = 256.0f;
  // pair does so with two bytes of b, which by takes to the upper halves.
  DEVICE uint32_t pair(uint32_t b, int by) {
    b = __nvvm_prmt(b, 0, by);
    return (b & 0x80008000) | (b >> 1 & 0x3f803f80);
  }
  DEVICE uint32_t broken(uint32_t h) {
    return h | ((h & 0x7fff) == 0x3f80 ? 0x7fff : 0) | ((h & 0x7fff0000) == 0x3f800000 ? 0x7fff0000 : 0);
  }
  DEVICE uint4 numbers(uint2 b) {
    uint4 v = {pair(b.x, 0x1404), pair(b.x, 0x3424), pair(b.y, 0x1404), pair(b.y, 0x3424)};
    if ((((b.x & 0x7f7f7f7f) + 0x01010101) | ((b.y & 0x7f7f7f7f) + 0x01010101)) & 0x80808080) {
      asm volatile("");  // a branch that is hardly ever taken, not work for all
      v.x = broken(v.x), v.y = broken(v.y), v.z = broken(v.z), v.w = broken(v.w);
    }
    return v;
  }
  DEVICE uint4 words(const uint8_t *p, int c) { return numbers(((const uint2 *)p)[c]); }
  typedef uint2 raw;
  DEVICE raw fetch(uint16_t *, const uint8_t *p, int c, bool there) {
    raw b = {0, 0};
    if (there) b = ((const uint2 *)p)[c];
    return b;
  }
  DEVICE void settle(uint16_t *to, raw b) { *(uint4 *)to = numbers(b); }
};
template <> struct stage<q8_0> {
  typedef halves number;
  static constexpr float unit = 1.0f;
  struct raw { uint32_t q[4]; uint32_t d; };
  DEVICE raw fetch(uint16_t *, const uint8_t *p, int c, bool there) {
    raw b = {};
    if (there) {
      const uint16_t *from = (const uint16_t *)(p + (c >> 2) * 34);
      b.d = from[0];
#pragma unroll
      for (int i = 0; i < 4; i++) b.q[i] = from[1 + (c & 3) * 4 + i];
    }
    return b;
  }
  // A byte plus 128 at the low end of 1024's significand is a half 1152 too large;
  // taking that off is exact, so that the product is rounded once.
  DEVICE uint4 numbers(raw b) {
    uint32_t d = __nvvm_prmt(b.d, 0, 0x1010), v[4];
#pragma unroll
    for (int i = 0; i < 4; i++) {
      v[i] = __nvvm_prmt(b.q[i] ^ 0x8080, 0x64646464, 0x4140);
      asm("sub.rn.f16x2 %0, %0, %1;\n\tmul.rn.f16x2 %0, %0, %2;" : "+r"(v[i]) : "r"(0x64806480), "r"(d));
    }
    uint4 all = {v[0], v[1], v[2], v[3]};
    return all;
  }
  DEVICE uint4 words(const uint8_t *p, int c) { return numbers(fetch(0, p, c, true)); }
  DEVICE void settle(uint16_t *to, raw b) { *(uint4 *)to = numbers(b); }
};

// The sizes of a block: heads wider than 128 have 8 warps, of which each half has
// half the columns of the result, since a lane has not registers for all, and
// both multiply queries by keys.
template <int D> struct shape {
  static constexpr int keys = D > 128 ? 32 : 64;      // of a tile
  static constexpr int sides = D > 128 ? 2 : 1;
  static constexpr int stride = D + 8;                // of a token in shared memory: rows of a matrix lie in other banks
};

DEVICE float raise2(float x) {
  float y;
  asm("ex2.approx.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
DEVICE int warp_least(int v) {
#pragma unroll
  for (int by = 16; by > 0; by >>= 1) v = least(v, lane_xor(v, by));
  return v;
}

// attend_prefill_T_D writes what attend_T and attend_combine do, for rows that
// are many of few sequences: grid (heads, rows/64), a block takes the 64 rows of
// a head sequence by sequence, a warp 16 of them. Tiles of keys and of values
// take turns in shared memory: values come while scores are computed, the next
// keys while values are summed. The last rows, which see most, begin first.
// Dao, "FlashAttention-2", 2023, algorithm 1.
//
// Queries (times scale), weights and what is staged are rounded, so the result is
// within ((3S + 1)·u + (S + head_dim + tokens)·2^-21)·V of the softmax's, where u is
// 2^-11, for Q8_0 2^-10 and for BF16 2^-8, S the largest Σ|q·k|·scale of a token,
// V = Σ p·|v|, and 2S·u is at most 1/2; but for BF16, q·scale is at most 65504, and
// it and p, of which the largest is 1, count as 2^-14 where they are less.
template <typename T, int D> DEVICE void attend_prefill(float *dst, const float *q, const uint8_t *cache, const int *tables, const int *seq, const int *ends, const float *sinks, int table_len, int rows, int heads, int kv_heads, int block_size, int window, float scale, float softcap, uint16_t *ks, uint16_t *vs, int *places) {
  typedef stage<T> staged;
  typedef typename staged::number number;
  constexpr int KEYS = shape<D>::keys, STRIDE = shape<D>::stride, COLS = D / shape<D>::sides, TALL = 16 * shape<D>::sides;
  const float none = as_float(0xff800000), log2e = 1.44269504f * staged::unit;
  int lane = THREAD & 31, warp = THREAD >> 5 & 3, cols = (THREAD >> 7) * COLS, g = lane >> 2, c = lane & 3;
  int head = BLOCK, kv = head / (heads / kv_heads), stop = least((BLOCKS_Y - BLOCK_Y) * 64, rows);
  int64_t values = (int64_t)kv_heads * block_size;  // from a key to its value, in tokens

  for (int from = (BLOCKS_Y - 1 - BLOCK_Y) * 64, to; from < stop; from = to) {
    // The rows of one sequence, and the tokens any of them sees.
    int sequence = seq[from];
    to = stop;
    for (int i = from + lane; i < stop; i += 32)
      if (seq[i] != sequence) to = least(to, i);
    to = warp_least(to);
    int low = 0x7fffffff, high = 0;
    for (int i = from + lane; i < to; i += 32) {
      int end = ends[i];
      if (end > 0) low = least(low, first_seen(end, window)), high = most(high, end);
    }
    low = warp_least(low), high = -warp_least(-high);

    // A lane has two rows, which see tokens [first, end).
    int64_t at[2];
    int first[2], end[2];
    bool there[2];
#pragma unroll
    for (int i = 0; i < 2; i++) {
      int row = from + warp * 16 + g + 8 * i;
      there[i] = row < to;
      end[i] = there[i] ? ends[row] : 0;
      first[i] = first_seen(end[i], window);
      at[i] = ((int64_t)(there[i] ? row : from) * heads + head) * D;
    }
    int some = -warp_least(-most(end[0], end[1])), all = warp_least(least(end[0], end[1]));
    int begun = -warp_least(-most(first[0], first[1])), begin = warp_least(least(end[0] > 0 ? first[0] : 0x7fffffff, end[1] > 0 ? first[1] : 0x7fffffff));

    uint32_t a[D / 16][4];
#pragma unroll
    for (int k = 0; k < D / 16; k++) {
#pragma unroll
      for (int i = 0; i < 4; i++) {
        float2 v = *(const float2 *)(q + at[i & 1] + k * 16 + (i >> 1) * 8 + c * 2);
        a[k][i] = number::pack(v.x * scale, v.y * scale);
      }
    }
    float acc[COLS / 8][4] = {}, top[2] = {none, none}, sum[2] = {0.0f, 0.0f};

    const int *table = tables + (int64_t)(high > 0 ? sequence : 0) * table_len;
    // find notes where the keys of a tile lie, in tokens; -1 is none.
    auto find = [&](int tile, int turn) __attribute__((always_inline)) {
      if (THREAD < KEYS) {
        int t = tile + THREAD, place = -1;
        if (t < high) place = (table[t / block_size] * 2 * kv_heads + kv) * block_size + t % block_size;
        places[turn * KEYS + THREAD] = place;
      }
    };
    // fetch and settle bring a tile. Eight lanes read a token's chunks side by side.
    typename staged::raw raw[KEYS / TALL][(D + 63) / 64];
    auto fetch = [&](uint16_t *to, int turn, int64_t more) __attribute__((always_inline)) {
#pragma unroll
      for (int i = 0; i < KEYS / TALL; i++) {
        int t = i * TALL + (THREAD >> 3), place = places[turn * KEYS + t];
        const uint8_t *p = cache + ((place < 0 ? 0 : place) + more) * T::bytes(D);
#pragma unroll
        for (int j = 0; j < (D + 63) / 64; j++) {
          int chunk = j * 8 + (THREAD & 7);
          raw[i][j] = {};
          if (D % 64 == 0 || chunk < D / 8) raw[i][j] = staged::fetch(to + t * STRIDE + chunk * 8, p, chunk, place >= 0);
        }
      }
    };
    auto settle = [&](uint16_t *to) __attribute__((always_inline)) {
#pragma unroll
      for (int i = 0; i < KEYS / TALL; i++) {
#pragma unroll
        for (int j = 0; j < (D + 63) / 64; j++) {
          int chunk = j * 8 + (THREAD & 7);
          if (D % 64 == 0 || chunk < D / 8) staged::settle(to + (i * TALL + (THREAD >> 3)) * STRIDE + chunk * 8, raw[i][j]);
        }
      }
      wait_async();
    };
    int turn = 0;
    if (low < high) {
      find(low, 0);
      block_sync();
      fetch(ks, 0, 0);
    }
    for (int tile = low; tile < high; tile += KEYS, turn ^= 1) {
      settle(ks);
      block_sync();
      fetch(vs, turn, values);

      // Warps none of whose rows see a token of the tile pass it over.
      bool busy = tile < some && tile + KEYS > begin;
      uint32_t p[KEYS / 8][2];
      float was[2];
      if (busy) {
        float s[KEYS / 8][4] = {};
#pragma unroll
        for (int k = 0; k < D / 16; k++) {
#pragma unroll
          for (int n = 0; n < KEYS / 16; n++) {
            uint32_t b[4];
            load_matrices(b, ks + (n * 16 + (lane >> 4) * 8 + (lane & 7)) * STRIDE + k * 16 + (lane >> 3 & 1) * 8);
            number::mma(s[2 * n], a[k], b[0], b[1]);
            number::mma(s[2 * n + 1], a[k], b[2], b[3]);
          }
        }
        if (softcap > 0.0f) {
#pragma unroll
          for (int n = 0; n < KEYS / 8; n++)
#pragma unroll
            for (int i = 0; i < 4; i++) s[n][i] = soft_cap(s[n][i] * staged::unit, softcap) * (1.0f / staged::unit);
        }
        if (tile + KEYS > all || tile < begun) {
#pragma unroll
          for (int n = 0; n < KEYS / 8; n++)
#pragma unroll
            for (int i = 0; i < 4; i++) {
              int t = tile + n * 8 + c * 2 + (i & 1);
              if (t >= end[i >> 1] || t < first[i >> 1]) s[n][i] = none;
            }
        }
#pragma unroll
        for (int r = 0; r < 2; r++) {
          float most = top[r];
#pragma unroll
          for (int n = 0; n < KEYS / 8; n++) {
            most = s[n][2 * r] > most ? s[n][2 * r] : most;
            most = s[n][2 * r + 1] > most ? s[n][2 * r + 1] : most;
          }
#pragma unroll
          for (int by = 1; by < 4; by *= 2) {
            float other = lane_xor(most, by);
            most = other > most ? other : most;
          }
          was[r] = top[r] == most ? 1.0f : raise2((top[r] - most) * log2e);
          top[r] = most;
          float less = most == none ? 0.0f : -most * log2e, more = 0.0f;
#pragma unroll
          for (int n = 0; n < KEYS / 8; n++) {
            float x = raise2(fma(s[n][2 * r], log2e, less)), y = raise2(fma(s[n][2 * r + 1], log2e, less));
            more += x + y;
            p[n][r] = number::pack(x, y);
          }
          sum[r] = fma(sum[r], was[r], more);
        }
      }
      if (tile + KEYS < high) find(tile + KEYS, turn ^ 1);
      settle(vs);
      block_sync();
      if (tile + KEYS < high) fetch(ks, turn ^ 1, 0);
      if (busy) {
#pragma unroll
        for (int n = 0; n < COLS / 8; n++)
#pragma unroll
          for (int i = 0; i < 4; i++) acc[n][i] *= was[i >> 1];
#pragma unroll
        for (int k = 0; k < KEYS / 16; k++) {
          uint32_t w[4] = {p[2 * k][0], p[2 * k][1], p[2 * k + 1][0], p[2 * k + 1][1]};
#pragma unroll
          for (int n = 0; n < COLS / 16; n++) {
            uint32_t b[4];
            load_transposed(b, vs + (k * 16 + (lane & 15)) * STRIDE + cols + n * 16 + (lane >> 4) * 8);
            number::mma(acc[2 * n], w, b[0], b[1]);
            number::mma(acc[2 * n + 1], w, b[2], b[3]);
          }
        }
      }
    }

#pragma unroll
    for (int r = 0; r < 2; r++) {
      float total = sum[r] + lane_xor(sum[r], 1), by = 1.0f;
      total += lane_xor(total, 2);
      if (sinks) {
        float is = top[r] * staged::unit, sink = sinks[head], most = is > sink ? is : sink;
        by = exponential(is - most);
        total = fma(total, by, exponential(sink - most));
      }
      by = total == 0.0f ? 0.0f : by * staged::unit / total;
      if (there[r]) {
#pragma unroll
        for (int n = 0; n < COLS / 8; n++) {
          float2 v = {acc[n][2 * r] * by, acc[n][2 * r + 1] * by};
          *(float2 *)(dst + at[r] + cols + n * 8 + c * 2) = v;
        }
      }
    }
  }
}
#define ATTEND_PREFILL(T, D) \
  KERNEL(128 * shape<D>::sides) attend_prefill_##T##_##D(float *dst, const float *q, const uint8_t *cache, const int *tables, const int *seq, const int *ends, const float *sinks, int table_len, int rows, int heads, int kv_heads, int block_size, int window, float scale, float softcap) { \
    SHARED __attribute__((aligned(16))) static uint16_t ks[shape<D>::keys * shape<D>::stride], vs[shape<D>::keys * shape<D>::stride]; \
    SHARED static int places[2 * shape<D>::keys]; \
    attend_prefill<T, D>(dst, q, cache, tables, seq, ends, sinks, table_len, rows, heads, kv_heads, block_size, window, scale, softcap, ks, vs, places); \
  }
