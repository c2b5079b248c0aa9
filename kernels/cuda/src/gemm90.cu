// Products of weight matrices with many rows of activations by wgmma, the tensor
// cores of compute capability 9.0; gemm.cu makes the same of mma.sync, and its
// bounds hold here but for Q4_K and Q5_K, of whose weights some are rounded the
// other way.
//
// A block is two warpgroups of 64 weight rows each and makes 128 of them by 128
// rows of activations, or by 64 where there are few: grid (out/128, rows/128 or 64,
// parts of in). Weights are rounded to bfloat16 in the registers that wgmma takes
// them from (PTX ISA, §9.7.15.5.1.1: lane l has rows l/4 and l/4 + 8 of its warp's
// 16, and of 16 of k 2·(l%4), the next, and the same 8 on).
//
// So that what a lane loads lies together and is all used, 128 of k are taken in
// two steps and in another order: lane l has in step s the 16 weights from
// 64·(l%4/2) + 16·(l%2) + 32·s on, which of Q4_K and Q5_K are the low and the high
// halves of the same bytes. Activations are stored in that order: unit u of 16
// bytes of a step has values 2u and 2u + 1 of each lane's 16.
//
// A step is rounded while the one before is multiplied, and the next is given
// before that is done, so that the tensor cores never wait for a barrier. ptxas
// lets them overlap only where the loop has no branches and two sets of registers
// take turns without copies; else it says so (C7513) and waits after each product.
#include "norm.cuh"
#include "round90.cuh"

#define BLOCKS_Y ((int)__nvvm_read_ptx_sreg_nctaid_y())
enum { TILE = 128, STEP = 64, GROUP = 2 * STEP };

// A row of n values is so many units long, of whole groups; unit makes one of
// values that at gives, with zeros behind n.
DEVICE int units_of(int n) { return (n + GROUP - 1) / GROUP * 16; }
template <typename F> DEVICE uint4 unit(int u, int n, F at) {
  uint32_t v[4];
#pragma unroll
  for (int c = 0; c < 4; c++) {
    int i = (u >> 4) * GROUP + (c >> 1) * 64 + (u >> 3 & 1) * 32 + (c & 1) * 16 + 2 * (u & 7);
    v[c] = pair(i < n ? at(i) : 0.0f, i + 1 < n ? at(i + 1) : 0.0f);
  }
  return {v[0], v[1], v[2], v[3]};
}

// gemm90_x writes rows of n floats as gemm90 reads them: a block of 256 threads a
// unit each, grid (n/2048, rows).
KERNEL(256) gemm90_x(uint4 *dst, const float *x, int n) {
  int units = units_of(n), u = BLOCK * 256 + THREAD;
  if (u >= units) return;
  x += (int64_t)BLOCK_Y * n;
  dst[(int64_t)BLOCK_Y * units + u] = unit(u, n, [&](int i) __attribute__((always_inline)) { return x[i]; });
}

// gemm90_norm does so with what rmsnorm makes of them, a block a row.
KERNEL(256) gemm90_norm(uint4 *dst, const float *x, const float *w, int n, float eps) {
  SHARED static float part[8];
  x += (int64_t)BLOCK * n;
  float by = inverse_rms(x, n, eps, part);
  int units = units_of(n);
  for (int u = THREAD; u < units; u += 256)
    dst[(int64_t)BLOCK * units + u] = unit(u, n, [&](int i) __attribute__((always_inline)) { return x[i] * by * w[i]; });
}

// gemm90_sum adds up the parts of a product, in order: grid (out/256, rows).
KERNEL(256) gemm90_sum(float *dst, const float *part, const float *bias, const float *residual, int out, int parts) {
  int i = BLOCK * 256 + THREAD;
  if (i >= out) return;
  int64_t at = (int64_t)BLOCK_Y * out + i, n = (int64_t)BLOCKS_Y * out;
  float v = 0.0f, plus = bias ? bias[i] : 0.0f, more = residual ? residual[at] : 0.0f;
#pragma unroll 8
  for (int p = 0; p < parts; p++) v += part[p * n + at];
  dst[at] = v + plus + more;
}

// fetch starts to bring a step of activations to shared memory with 128-byte
// swizzling: the units of a row change places by the low bits of its number.
// Thread t has unit t%8 of rows t/8 and every 32nd after it; rows behind the last
// are zeros.
template <int N> DEVICE void fetch(uint32_t stage, const uint8_t *x, int64_t pitch, int live) {
  int r = THREAD >> 3, c = THREAD & 7;
  uint32_t to = stage + r * 128 + ((c ^ (r & 7)) << 4);
#pragma unroll
  for (int u = 0; u < N; u += 32) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to + u * 128), "l"(x), "r"(r + u < live ? 16 : 0) : "memory");
    x += 32 * pitch;
  }
}
DEVICE void commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }

// The sums have registers that the compiler knows nothing of, so that it copies
// none while the tensor cores write them.
#define HALF(F) F(1) F(2) F(3) F(4) F(5) F(6) F(7) F(8) F(9) F(10) F(11) F(12) F(13) F(14) F(15) F(16) F(17) F(18) F(19) F(20) F(21) \
  F(22) F(23) F(24) F(25) F(26) F(27) F(28) F(29) F(30) F(31)
#define REST(F) F(32) F(33) F(34) F(35) F(36) F(37) F(38) F(39) F(40) F(41) F(42) F(43) F(44) F(45) F(46) F(47) F(48) F(49) F(50) \
  F(51) F(52) F(53) F(54) F(55) F(56) F(57) F(58) F(59) F(60) F(61) F(62) F(63)
#define NAMED(i) ",sum" #i
#define ZERO(i) "\n\tmov.f32 sum" #i ", 0f00000000;"

// multiply starts a step's products, of 16 of k each, 32 bytes of a row further on.
// The descriptor says 128-byte swizzling and 1024 bytes to the next eight rows
// (§9.7.15.5.1.2.2).
template <int N> DEVICE void multiply(const uint32_t *a, const uint32_t *b, uint32_t stage) {
  uint64_t x = (uint64_t)(stage >> 4) | 1ull << 16 | 64ull << 32 | 1ull << 62;
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll
  for (int k = 0; k < 4; k++) {
    if (N == 128)
      asm volatile("wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 {sum0" HALF(NAMED) REST(NAMED) "}, {%0, %1, %2, %3}, %4, 1, 1, 1, 0;"
                   :: "r"(a[2 * k]), "r"(b[2 * k]), "r"(a[2 * k + 1]), "r"(b[2 * k + 1]), "l"(x + 2 * k) : "memory");
    else
      asm volatile("wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 {sum0" HALF(NAMED) "}, {%0, %1, %2, %3}, %4, 1, 1, 1, 0;"
                   :: "r"(a[2 * k]), "r"(b[2 * k]), "r"(a[2 * k + 1]), "r"(b[2 * k + 1]), "l"(x + 2 * k) : "memory");
  }
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}

// finish waits for them. The weights are named so that their registers are left
// alone until then.
template <int left> DEVICE void finish(const uint32_t *a, const uint32_t *b) {
  asm volatile("wgmma.wait_group.sync.aligned %16;" ::"r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(a[4]), "r"(a[5]), "r"(a[6]), "r"(a[7]),
               "r"(b[0]), "r"(b[1]), "r"(b[2]), "r"(b[3]), "r"(b[4]), "r"(b[5]), "r"(b[6]), "r"(b[7]), "n"(left) : "memory");
}

// Sums go through shared memory, half of the columns at a time: columns, which are
// rows of the result, of 132 floats to spread them over the banks. Lane l has of
// every 8 columns 2·(l%4) and the next.
#define PITCH 132
#define STORE(i) asm volatile("st.shared.f32 [%0+%1], sum" #i ";" ::"r"(at), "n"((((i) % 32 / 4 * 8 + (i) % 2) * PITCH + (i) / 2 % 2 * 8) * 4) : "memory");

// A stage is N rows of activations; the epilogue's columns lie in the same memory,
// and weights that are staged behind.
enum { STAGES = 3 };
template <int N> struct stages {
  static constexpr int bytes = N * STEP * 2, all = bytes * STAGES > 64 * PITCH * 4 ? bytes * STAGES : 64 * PITCH * 4;
};

// in is a multiple of 16. Weights behind the last are other ones, which meet zeros.
// Part z of several is written behind those before it, without bias and residual.
template <typename T, int N> DEVICE void gemm90(float *dst, const uint8_t *w, const uint8_t *x, const float *bias, const float *residual, int out, int in, int rows, uint8_t *tiles) {
  asm volatile(".reg .f32 sum<64>;\n\tmov.f32 sum0, 0f00000000;" HALF(ZERO));
  if (N == 128) asm volatile("mov.f32 sum32, 0f00000000;" REST(ZERO));
  constexpr int STAGE = stages<N>::bytes;
  int lane = THREAD & 31, warp = THREAD >> 5, row = BLOCK * TILE + warp * 16 + (lane >> 2), col = BLOCK_Y * N;
  int groups = (in + GROUP - 1) / GROUP, count = (groups + BLOCKS_Z - 1) / BLOCKS_Z, from = BLOCK_Z * count, live = rows - col;
  int64_t pitch = (int64_t)groups * GROUP * 2;
  int steps = 2 * least(count, groups - from), left = steps;
  dst += (int64_t)BLOCK_Z * rows * out;
  x += (col + (THREAD >> 3)) * pitch + (int64_t)from * GROUP * 2 + (THREAD & 7) * 16;
  uint32_t first = shared_at(tiles), last = first + (STAGES - 1) * STAGE, stage = first, ahead = last;
  uint32_t a[8], b[8], c[8] = {}, d[8] = {};
  // begin starts to bring the first steps' activations.
#define BEGIN \
  _Pragma("unroll") for (int s = 0; s < STAGES - 1; s++) { \
    fetch<N>(first + s * STAGE, x, pitch, s < steps ? live : 0); \
    commit(); \
    x += STEP * 2; \
  }
  // turn begins to multiply by A and B, and leaves OLD_A and OLD_B, by which the step
  // before multiplied, to be written anew. Weights are read first of all, since the
  // next turn's fence may wait for what is on its way.
#define TURN(A, B, OLD_A, OLD_B, ...) \
  /* This step's activations are there, for the tensor cores to see. */ \
  asm volatile("cp.async.wait_group %0;\n\tfence.proxy.async.shared::cta;" ::"n"(STAGES - 2) : "memory"); \
  block_sync(); \
  multiply<N>(A, B, stage); \
  __VA_ARGS__; \
  finish<1>(OLD_A, OLD_B); \
  /* The last step's are not read any more. */ \
  block_sync(); \
  fetch<N>(ahead, x, pitch, left > STAGES - 1 ? live : 0); \
  commit(); \
  x += STEP * 2, left--; \
  stage = stage == last ? first : stage + STAGE, ahead = ahead == last ? first : ahead + STAGE;
  if constexpr (wide<T>::apart) {
    typedef staged<T> S;
    constexpr int SIZE = TILE * S::pitch * 4;
    int bytes = (int)T::row_bytes(in), n = from, turn = 0, offsets[4];
    w += (int64_t)BLOCK * TILE * bytes;
    // Offsets in a tile of rows fit an int32.
#pragma unroll
    for (int r = 0; r < 4; r++) offsets[r] = least(warp * 16 + r * 4 + (lane >> 3), out - 1 - BLOCK * TILE) * bytes;
    int at0 = least(warp * 16 + (lane >> 2), out - 1 - BLOCK * TILE) * bytes, at1 = least(warp * 16 + (lane >> 2) + 8, out - 1 - BLOCK * TILE) * bytes;
    uint32_t to = shared_at(tiles) + stages<N>::all + ((warp * 16 + (lane >> 3)) * S::pitch + (lane & 7)) * 4;
    const uint32_t *row0 = (const uint32_t *)(tiles + stages<N>::all) + (warp * 16 + (lane >> 2)) * S::pitch, *row1 = row0 + 8 * S::pitch;
    if (steps > 0) {
      bring<T>(to, w, offsets, n, bytes);
      bring<T>(to + SIZE, w, offsets, n + 1, bytes);
      BEGIN
      asm volatile("cp.async.wait_group %0;" ::"n"(STAGES - 2) : "memory");
      block_sync();
      round_staged(S(), a, row0, (at0 + S::base(n)) & 2, 0);
      round_staged(S(), b, row1, (at1 + S::base(n)) & 2, 0);
#pragma unroll 1
      do {
        TURN(a, b, c, d, )
        round_staged(S(), c, row0 + turn, (at0 + S::base(n)) & 2, 1);
        round_staged(S(), d, row1 + turn, (at1 + S::base(n)) & 2, 1);
        TURN(c, d, a, b, bring<T>(to + turn * 4, w, offsets, n + 2, bytes))
        n++, turn = SIZE / 4 - turn;
        round_staged(S(), a, row0 + turn, (at0 + S::base(n)) & 2, 0);
        round_staged(S(), b, row1 + turn, (at1 + S::base(n)) & 2, 0);
      } while (left > 0);
      finish<0>(c, d);
    }
  } else if (steps > 0) {
    typedef wide<T> W;
    const uint8_t *p0 = w + least(row, out - 1) * T::row_bytes(in), *p1 = w + least(row + 8, out - 1) * T::row_bytes(in);
    int i = from * GROUP + (lane >> 1 & 1) * 64 + (lane & 1) * 16, end = in - 16;
    BEGIN
    typename W::early u0 = W::read(p0, least(i, end)), u1 = W::read(p1, least(i, end));
    typename W::late l0 = W::read_late(p0, least(i + 32, end)), l1 = W::read_late(p1, least(i + 32, end));
    typename W::early v0 = W::read(p0, least(i + GROUP, end)), v1 = W::read(p1, least(i + GROUP, end));
    W::round(a, u0, i);
    W::round(b, u1, i);
#pragma unroll 1
    do {
      TURN(a, b, c, d, )
      W::round_late(c, u0, l0, i + 32);
      W::round_late(d, u1, l1, i + 32);
      i += GROUP;
      l0 = W::read_late(p0, least(i + 32, end)), l1 = W::read_late(p1, least(i + 32, end));
      TURN(c, d, a, b, u0 = v0, u1 = v1; v0 = W::read(p0, least(i + GROUP, end)), v1 = W::read(p1, least(i + GROUP, end)))
      W::round(a, u0, i);
      W::round(b, u1, i);
    } while (left > 0);
    finish<0>(c, d);
  }
  asm volatile("cp.async.wait_group 0;" ::: "memory");
  block_sync();
  // A thread has four rows of every eighth column.
  int r = BLOCK * TILE + lane * 4;
  bool whole = (out & 3) == 0 && r < out;
  uint32_t at = shared_at(tiles) + ((lane & 3) * 2 * PITCH + warp * 16 + (lane >> 2)) * 4;
  const float *sums = (const float *)tiles + warp * PITCH + lane * 4;
#pragma unroll
  for (int h = 0; h < N; h += 64) {
    if (h) { STORE(32) REST(STORE) }
    else { STORE(0) HALF(STORE) }
    block_sync();
    int64_t to = (int64_t)(col + h + warp) * out + r, step = (int64_t)8 * out;
    int top = least(64, live - h);
    if (whole) {
      float4 plus = {};
      if (bias) plus = *(const float4 *)(bias + r);
      float4 more[8] = {};
      if (residual) {
        // All are on their way together.
#pragma unroll
        for (int k = 0; k < 8; k++)
          if (warp + 8 * k < top) more[k] = *(const float4 *)(residual + to + k * step);
      }
#pragma unroll
      for (int k = 0; k < 8; k++) {
        float4 v = *(const float4 *)(sums + k * 8 * PITCH);
        v.x += plus.x, v.y += plus.y, v.z += plus.z, v.w += plus.w;
        v.x += more[k].x, v.y += more[k].y, v.z += more[k].z, v.w += more[k].w;
        if (warp + 8 * k < top) *(float4 *)(dst + to + k * step) = v;
      }
    } else {
#pragma unroll 1
      for (int n = warp; n < top; n += 8, to += step, sums += 8 * PITCH)
        for (int i = 0; i < least(4, out - r); i++) {
          float v = sums[i] + (bias ? bias[r + i] : 0.0f);
          dst[to + i] = v + (residual ? residual[to + i] : 0.0f);
        }
      sums = (const float *)tiles + warp * PITCH + lane * 4;
    }
    block_sync();
  }
}
// Of the kernel for few rows, whose blocks wait for memory, two fit a processor.
#define GEMM90(T, N, BLOCKS, NAME, TILES) \
  KERNEL_OF(256, BLOCKS) NAME(float *dst, const uint8_t *w, const uint8_t *x, const float *bias, const float *residual, int out, int in, int rows) { \
    TILES; \
    gemm90<T, N>(dst, w, x, bias, residual, out, in, rows, tiles); \
  }
#define GEMM90_BOTH(T) \
  GEMM90(T, 128, 1, gemm90_##T, SHARED static __attribute__((aligned(1024))) uint8_t tiles[stages<128>::all]) \
  GEMM90(T, 64, 2, gemm90_##T##_64, SHARED static __attribute__((aligned(1024))) uint8_t tiles[stages<64>::all])
GEMM90_BOTH(q4_k) GEMM90_BOTH(q5_k)
FLOATS(GEMM90_BOTH)

// Shared memory beyond 48 KiB has to be dynamic.
extern SHARED __attribute__((aligned(1024))) uint8_t tiles[];
#define GEMM90_STAGED(T) GEMM90(T, 128, 1, gemm90_##T, ) GEMM90(T, 64, 2, gemm90_##T##_64, )
GEMM90_STAGED(q4_0) GEMM90_STAGED(q8_0) GEMM90_STAGED(q6_k)
