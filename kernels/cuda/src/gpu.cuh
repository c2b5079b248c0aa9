// gpu.cuh is all that kernels need of CUDA, for a clang without a toolkit:
// attributes, thread indices, warp shuffles and the few instructions that have
// no C spelling. Everything is inlined; nothing becomes a variable in the PTX.
#pragma once

typedef signed char int8_t;
typedef unsigned char uint8_t;
typedef short int16_t;
typedef unsigned short uint16_t;
typedef int int32_t;
typedef unsigned uint32_t;
typedef long long int64_t;
typedef unsigned long long uint64_t;

struct __attribute__((aligned(16))) uint4 { uint32_t x, y, z, w; };
struct __attribute__((aligned(16))) float4 { float x, y, z, w; };

#define DEVICE static inline __attribute__((device, always_inline))
#define SHARED __attribute__((shared))
#define KERNEL(threads) extern "C" __attribute__((global, launch_bounds(threads))) void
// Of which a multiprocessor runs so many blocks, which bounds their registers.
#define KERNEL_OF(threads, blocks) extern "C" __attribute__((global, launch_bounds(threads, blocks))) void
#define RESTRICT __restrict__

#define THREAD ((int)__nvvm_read_ptx_sreg_tid_x())
#define THREADS ((int)__nvvm_read_ptx_sreg_ntid_x())
#define BLOCK ((int)__nvvm_read_ptx_sreg_ctaid_x())
#define BLOCK_Y ((int)__nvvm_read_ptx_sreg_ctaid_y())
#define BLOCK_Z ((int)__nvvm_read_ptx_sreg_ctaid_z())
#define BLOCKS_Z ((int)__nvvm_read_ptx_sreg_nctaid_z())

extern "C" __attribute__((device)) void __syncthreads();
DEVICE void block_sync() { __syncthreads(); }
// shared_at is an address of shared memory as instructions take it.
DEVICE uint32_t shared_at(const void *p) { return (uint32_t)(uint64_t)(__attribute__((address_space(3))) const void *)p; }
DEVICE float lane_xor(float v, int by) { return __nvvm_shfl_sync_bfly_f32(-1, v, by, 31); }
DEVICE int lane_xor(int v, int by) { return __nvvm_shfl_sync_bfly_i32(-1, v, by, 31); }

// The compiler fuses nothing by itself, so that what has to agree with the CPU
// to the bit does; where a fused multiply-add is wanted it is written.
DEVICE float fma(float a, float b, float c) { return __nvvm_fma_rn_f(a, b, c); }
DEVICE float absolute(float x) { return __builtin_fabsf(x); }
DEVICE float root(float x) { return __nvvm_sqrt_rn_f(x); }
DEVICE int least(int a, int b) { return a < b ? a : b; }
DEVICE int most(int a, int b) { return a > b ? a : b; }
DEVICE float as_float(uint32_t b) { return __builtin_bit_cast(float, b); }
DEVICE uint32_t as_bits(float f) { return __builtin_bit_cast(uint32_t, f); }

// warp_sum returns the sum of v over the 32 lanes, the same bits in each.
template <typename T> DEVICE T warp_sum(T v) {
  for (int by = 16; by > 0; by >>= 1) v += lane_xor(v, by);
  return v;
}

// block_sum returns the sum of v over a block of whole warps; part has a place
// for each of them and may be used again after another block_sync.
DEVICE float block_sum(float v, float *part) {
  v = warp_sum(v);
  if ((THREAD & 31) == 0) part[THREAD >> 5] = v;
  block_sync();
  v = 0.0f;
  for (int i = 0; i < THREADS >> 5; i++) v += part[i];
  return v;
}

DEVICE int dp4a(int a, int b, int c) {
  int d;
  asm("dp4a.s32.s32 %0, %1, %2, %3;" : "=r"(d) : "r"(a), "r"(b), "r"(c));
  return d;
}
DEVICE float from_f16(uint16_t h) {
  float f;
  asm("cvt.f32.f16 %0, %1;" : "=f"(f) : "h"(h));
  return f;
}
DEVICE uint16_t to_f16(float f) {
  uint16_t h;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(h) : "f"(f));
  return h;
}
DEVICE float from_bf16(uint16_t h) { return as_float((uint32_t)h << 16); }

// to_bf16 rounds to nearest even; NaN stays NaN.
DEVICE uint32_t to_bf16(float f) {
  uint32_t b = as_bits(f);
  if (f != f) return b >> 16 | 64;
  return (b + 0x7fff + (b >> 16 & 1)) >> 16;
}

// exponential returns e^x within (2 + |x|)·2^-22 of it: ex2.approx is good to 2
// units in the last place, and its argument to half of one.
DEVICE float exponential(float x) {
  float y;
  asm("ex2.approx.f32 %0, %1;" : "=f"(y) : "f"(x * 1.44269504f));
  return y;
}

// log2_of is good to 2^-22 between 1/2 and 2, and to 2 units in the last place elsewhere.
DEVICE float log2_of(float x) {
  float y;
  asm("lg2.approx.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

DEVICE float sigmoid(float x) { return 1.0f / (1.0f + exponential(-x)); }

// soft_cap returns limit · tanh(x / limit); tanh x = 1 - 2/(1 + e^2x).
DEVICE float soft_cap(float x, float limit) {
  return limit * (1.0f - 2.0f / (1.0f + exponential(2.0f * x / limit)));
}

// x32 quantises a lane's value with the 32 of its warp as quant.QuantizeActQ8_32
// does: the largest magnitude by its bits, d a 127th of it.
struct x32_value { int q, sum; float d; };
DEVICE x32_value x32(float v) {
  int top = as_bits(v) & 0x7fffffff;
  for (int by = 16; by > 0; by >>= 1) top = most(top, lane_xor(top, by));
  float d = as_float(top) / 127.0f, id = 1.0f / d;
  if (top >= 0x7f800000) d = as_float(0x7fc00000), id = 0.0f;
  else if (d < 0x1p-126f) d = id = 0.0f;
  // Adding 1.5·2^23 leaves the nearest integer in the low bits.
  int q = id == 0.0f ? 0 : (int)(int8_t)as_bits(v * id + 0x1.8p23f);
  x32_value r;
  r.q = q, r.sum = warp_sum(q), r.d = d;
  return r;
}

// x32_store writes value i of a row of ActQ8_32 groups: 256 int8, 8 float32 scales,
// 8 int32 of -128 times the sums.
DEVICE void x32_store(uint8_t *row, int i, x32_value v) {
  uint8_t *g = row + (int64_t)(i >> 8) * 320;
  g[i & 255] = (uint8_t)v.q;
  if ((i & 31) == 0) {
    ((float *)(g + 256))[i >> 5 & 7] = v.d;
    ((int *)(g + 288))[i >> 5 & 7] = -128 * v.sum;
  }
}
