// Products of weight matrices with many rows of activations by wgmma, the tensor
// cores of compute capability 9.0; gemm.cu makes the same of mma.sync, and its
// bounds hold here.
//
// A block is two warpgroups of 64 weight rows each and makes 128 of them by 128
// rows of activations: grid (out/128, rows/128). Weights are rounded to bfloat16 in
// the registers that wgmma takes them from (PTX ISA, §9.7.15.5.1.1: lane l has rows
// l/4 and l/4 + 8 of its warp's 16, and of 16 of k 2·(l%4), the next, and the same
// 8 on). So that a lane has 16 weights of a row that lie together, 64 of k are
// taken in another order, which activations are stored in: unit u of 16 bytes has
// values 2u and 2u + 1 of each 16.
#include "weights.cuh"

enum { TILE = 128, STEP = 64, STAGE = TILE * STEP * 2, STAGES = 3 };

// pair rounds two numbers to nearest even.
DEVICE uint32_t pair(float lo, float hi) {
  uint32_t d;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(d) : "f"(hi), "f"(lo));
  return d;
}

// gemm90_x writes rows of n floats as gemm90 reads them, up to whole steps: a
// block of 256 threads a unit each, grid (n/2048, rows). Zeros stand behind n.
KERNEL(256) gemm90_x(uint4 *dst, const float *x, int n) {
  int units = (n + STEP - 1) / STEP * 8, at = BLOCK * 256 + THREAD;
  if (at >= units) return;
  x += (int64_t)BLOCK_Y * n;
  uint32_t v[4];
#pragma unroll
  for (int c = 0; c < 4; c++) {
    int i = (at >> 3) * STEP + 16 * c + 2 * (at & 7);
    v[c] = pair(i < n ? x[i] : 0.0f, i + 1 < n ? x[i + 1] : 0.0f);
  }
  dst[(int64_t)BLOCK_Y * units + at] = {v[0], v[1], v[2], v[3]};
}

// signed_byte is byte b of q as a float: the byte plus 128 becomes the low end of
// 2^23's significand, which costs less than a conversion.
DEVICE float signed_byte(uint32_t q, int b) { return as_float(__nvvm_prmt(q ^ 0x80808080u, 0x4b000000, 0x7440 + b)) - 8388736.0f; }

// load16 is where it stands, so that what is read early is not read late.
DEVICE uint4 load16(const uint8_t *p) {
  uint4 v;
  asm volatile("ld.global.nc.v4.b32 {%0, %1, %2, %3}, [%4];" : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w) : "l"(p));
  return v;
}

// round_fours rounds 16 weights d·q + m. d·q is exact in every type, so fma gives
// what the CPU decodes.
DEVICE void round_fours(uint32_t *to, const int *q, float d, float m) {
#pragma unroll
  for (int k = 0; k < 4; k++) {
    float v[4];
#pragma unroll
    for (int b = 0; b < 4; b++) v[b] = fma(d, signed_byte((uint32_t)q[k], b), m);
    to[2 * k] = pair(v[0], v[1]), to[2 * k + 1] = pair(v[2], v[3]);
  }
}

// For each type, sixteen is that many weights of a row from weight i on: read
// early, and rounded when they have come.
template <typename T> struct wide {
  struct sixteen { int q[4]; float d, m; };
  DEVICE sixteen read(const uint8_t *p, int i) {
    sixteen w;
    int h = i >> 4 & 1;
#pragma unroll
    for (int k = 0; k < 4; k++) w.q[k] = T::pack(p, i >> 5, 4 * h + k);
    scaling s = T::scales(p, i >> 5);
    w.d = h ? s.d1 : s.d0, w.m = s.m;
    return w;
  }
  DEVICE void round(uint32_t *to, const sixteen &w, int) { round_fours(to, w.q, w.d, w.m); }
};

// round_k is for Q4_K and Q5_K, whose head has scales and mins of six bits.
DEVICE void round_k(uint32_t *to, const int *q, uint4 head, int j) {
  uint32_t at = (j & 3) * 8, a = head.y >> at, b = head.z >> at, c = head.w >> at;
  uint32_t late = -(uint32_t)(j >> 2 & 1); // all ones in the block's second half
  uint32_t s = (a & 63 & ~late) | (((c & 15) | (a >> 2 & 48)) & late), m = (b & 63 & ~late) | (((c >> 4 & 15) | (b >> 2 & 48)) & late);
  round_fours(to, q, from_f16((uint16_t)head.x) * (float)(int)s, -(from_f16((uint16_t)(head.x >> 16)) * (float)(int)m));
}
template <> struct wide<q4_k> {
  struct sixteen { uint4 q, head; };
  DEVICE sixteen read(const uint8_t *p, int i) {
    p += (int64_t)(i >> 8) * 144;
    return {load16(p + 16 + (i >> 6 & 3) * 32 + (i & 16)), load16(p)};
  }
  DEVICE void round(uint32_t *to, const sixteen &w, int i) {
    int q[4];
    nibbles(q, w.q, i >> 3 & 4);
    round_k(to, q, w.head, i >> 5);
  }
};
template <> struct wide<q5_k> {
  struct sixteen { uint4 q, fifth, head; };
  DEVICE sixteen read(const uint8_t *p, int i) {
    p += (int64_t)(i >> 8) * 176;
    return {load16(p + 48 + (i >> 6 & 3) * 32 + (i & 16)), load16(p + 16 + (i & 16)), load16(p)};
  }
  DEVICE void round(uint32_t *to, const sixteen &w, int i) {
    int q[4];
    nibbles(q, w.q, i >> 3 & 4);
    fifths(q, w.fifth, i >> 5 & 7);
    round_k(to, q, w.head, i >> 5);
  }
};

// Rows of float types are whole eights of weights.
template <> struct wide<bf16> {
  struct sixteen { uint4 v[2]; };
  DEVICE sixteen read(const uint8_t *p, int i) { return {load16(p + (int64_t)i * 2), load16(p + (int64_t)i * 2 + 16)}; }
  DEVICE void round(uint32_t *to, const sixteen &w, int) {
    to[0] = w.v[0].x, to[1] = w.v[0].y, to[2] = w.v[0].z, to[3] = w.v[0].w;
    to[4] = w.v[1].x, to[5] = w.v[1].y, to[6] = w.v[1].z, to[7] = w.v[1].w;
  }
};
template <> struct wide<f16> {
  typedef wide<bf16>::sixteen sixteen;
  DEVICE sixteen read(const uint8_t *p, int i) { return wide<bf16>::read(p, i); }
  DEVICE void round(uint32_t *to, const sixteen &w, int i) {
    wide<bf16>::round(to, w, i);
#pragma unroll
    for (int k = 0; k < 8; k++) to[k] = pair(from_f16((uint16_t)to[k]), from_f16((uint16_t)(to[k] >> 16)));
  }
};
template <> struct wide<f32> {
  struct sixteen { uint4 v[4]; };
  DEVICE sixteen read(const uint8_t *p, int i) {
    p += (int64_t)i * 4;
    return {load16(p), load16(p + 16), load16(p + 32), load16(p + 48)};
  }
  DEVICE void round(uint32_t *to, const sixteen &w, int) {
#pragma unroll
    for (int k = 0; k < 4; k++) to[2 * k] = pair(as_float(w.v[k].x), as_float(w.v[k].y)), to[2 * k + 1] = pair(as_float(w.v[k].z), as_float(w.v[k].w));
  }
};

// fetch starts to bring a step of activations to shared memory with 128-byte
// swizzling: the units of a row change places by the low bits of its number.
// Thread t has unit t%8 of rows t/8 and every 32nd after it; rows behind the last
// are zeros.
DEVICE void fetch(uint32_t stage, const uint8_t *x, int64_t pitch, int live) {
  int r = THREAD >> 3, c = THREAD & 7;
  uint32_t to = stage + r * 128 + ((c ^ (r & 7)) << 4);
#pragma unroll
  for (int u = 0; u < TILE; u += 32) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to + u * 128), "l"(x), "r"(r + u < live ? 16 : 0) : "memory");
    x += 32 * pitch;
  }
}
DEVICE void commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }

// The sums have registers that the compiler knows nothing of, so that it copies
// none while the tensor cores write them.
#define EACH(F) F(1) F(2) F(3) F(4) F(5) F(6) F(7) F(8) F(9) F(10) F(11) F(12) F(13) F(14) F(15) F(16) F(17) F(18) F(19) F(20) F(21) \
  F(22) F(23) F(24) F(25) F(26) F(27) F(28) F(29) F(30) F(31) F(32) F(33) F(34) F(35) F(36) F(37) F(38) F(39) F(40) F(41) F(42) \
  F(43) F(44) F(45) F(46) F(47) F(48) F(49) F(50) F(51) F(52) F(53) F(54) F(55) F(56) F(57) F(58) F(59) F(60) F(61) F(62) F(63)
#define NAMED(i) ",sum" #i
#define ZERO(i) "\n\tmov.f32 sum" #i ", 0f00000000;"

// multiply starts a step's products, of 16 of k each, 32 bytes of a row further on.
// The descriptor says 128-byte swizzling and 1024 bytes to the next eight rows
// (§9.7.15.5.1.2.2).
DEVICE void multiply(const uint32_t *a, const uint32_t *b, uint32_t stage) {
  uint64_t x = (uint64_t)(stage >> 4) | 1ull << 16 | 64ull << 32 | 1ull << 62;
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll
  for (int k = 0; k < 4; k++) {
    asm volatile("wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 {sum0" EACH(NAMED) "}, {%0, %1, %2, %3}, %4, 1, 1, 1, 0;"
                 :: "r"(a[2 * k]), "r"(b[2 * k]), "r"(a[2 * k + 1]), "r"(b[2 * k + 1]), "l"(x + 2 * k) : "memory");
  }
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}

// finish waits for them. The weights are named so that their registers are left
// alone until then.
DEVICE void finish(const uint32_t *a, const uint32_t *b) {
  asm volatile("wgmma.wait_group.sync.aligned 0;" ::"r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(a[4]), "r"(a[5]), "r"(a[6]), "r"(a[7]),
               "r"(b[0]), "r"(b[1]), "r"(b[2]), "r"(b[3]), "r"(b[4]), "r"(b[5]), "r"(b[6]), "r"(b[7]) : "memory");
}

// Sums go through shared memory, half of the columns at a time: columns, which are
// rows of the result, of 132 floats to spread them over the banks. Lane l has of
// every 8 columns 2·(l%4) and the next.
#define PITCH 132
#define STORE(i) asm volatile("st.shared.f32 [%0+%1], sum" #i ";" ::"r"(at), "n"((((i) % 32 / 4 * 8 + (i) % 2) * PITCH + (i) / 2 % 2 * 8) * 4) : "memory");
#define LOW(i) if (i < 32) STORE(i)
#define HIGH(i) if (i >= 32) STORE(i)

// in is a multiple of 16. Weights behind the last are other ones, which meet zeros.
template <typename T> DEVICE void gemm90(float *dst, const uint8_t *w, const uint8_t *x, const float *bias, const float *residual, int out, int in, int rows, uint8_t *tiles) {
  asm volatile(".reg .f32 sum<64>;\n\tmov.f32 sum0, 0f00000000;" EACH(ZERO));
  int lane = THREAD & 31, row = BLOCK * TILE + (THREAD >> 5) * 16 + (lane >> 2), col = BLOCK_Y * TILE, k = (lane & 3) * 16;
  const uint8_t *p0 = w + least(row, out - 1) * T::row_bytes(in), *p1 = w + least(row + 8, out - 1) * T::row_bytes(in);
  int steps = (in + STEP - 1) / STEP, live = rows - col;
  int64_t pitch = (int64_t)steps * STEP * 2;
  x += (col + (THREAD >> 3)) * pitch + (THREAD & 7) * 16;
  uint32_t stage = shared_at(tiles), first = stage, last = stage + (STAGES - 1) * STAGE, ahead = last;
  uint32_t a[8], b[8];
  fetch(first, x, pitch, live);
  commit();
  if (steps > 1) fetch(first + STAGE, x + STEP * 2, pitch, live);
  commit();
  int now = least(k, in - 16), next = least(k + STEP, in - 16);
  wide<T>::round(a, wide<T>::read(p0, now), now);
  wide<T>::round(b, wide<T>::read(p1, now), now);
  typename wide<T>::sixteen w0 = wide<T>::read(p0, next), w1 = wide<T>::read(p1, next);
#pragma unroll 1
  for (int i = 0; i < steps; i++) {
    // This step's activations are there, for the tensor cores to see; and nobody
    // reads the last step's any more.
    asm volatile("cp.async.wait_group 1;\n\tfence.proxy.async.shared::cta;" ::: "memory");
    block_sync();
    multiply(a, b, stage);
    if (i + 2 < steps) fetch(ahead, x + (i + 2) * STEP * 2, pitch, live);
    commit();
    stage = stage == last ? first : stage + STAGE;
    ahead = ahead == last ? first : ahead + STAGE;
    // Weights of the step after the next are on their way, those of the next are
    // rounded, while this one's are multiplied.
    int after = least((i + 2) * STEP + k, in - 16);
    typename wide<T>::sixteen v0 = wide<T>::read(p0, after), v1 = wide<T>::read(p1, after);
    uint32_t c[8], d[8];
    wide<T>::round(c, w0, next);
    wide<T>::round(d, w1, next);
    finish(a, b);
    w0 = v0, w1 = v1, next = after;
#pragma unroll
    for (int j = 0; j < 8; j++) a[j] = c[j], b[j] = d[j];
  }
  block_sync();
  int r = BLOCK * TILE + (THREAD & 127);
  float plus = bias && r < out ? bias[r] : 0.0f;
  uint32_t at = shared_at(tiles) + ((lane & 3) * 2 * PITCH + (THREAD >> 5) * 16 + (lane >> 2)) * 4;
  const float *sums = (const float *)tiles + (THREAD & 127);
#pragma unroll
  for (int h = 0; h < 2; h++) {
    if (h) { EACH(HIGH) }
    else { STORE(0) EACH(LOW) }
    block_sync();
#pragma unroll 1
    for (int n = THREAD >> 7; n < least(64, live - 64 * h); n += 2) {
      if (r < out) {
        int64_t to = (int64_t)(col + 64 * h + n) * out + r;
        float v = sums[n * PITCH] + plus;
        if (residual) v += residual[to];
        dst[to] = v;
      }
    }
    block_sync();
  }
}
#define GEMM90(T) \
  KERNEL(256) gemm90_##T(float *dst, const uint8_t *w, const uint8_t *x, const float *bias, const float *residual, int out, int in, int rows) { \
    SHARED static __attribute__((aligned(1024))) uint8_t tiles[STAGES * STAGE]; \
    gemm90<T>(dst, w, x, bias, residual, out, in, rows, tiles); \
  }
QUANTISED(GEMM90)
FLOATS(GEMM90)
