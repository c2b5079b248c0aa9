// Products of weight matrices with few rows of activations: one warp per weight
// row, four to a block, grid (out/4, rows/R). Bounds are in dot.cuh.
#include "dot.cuh"

// finish stores what R rows' products come to; every lane has the sums.
template <int R> DEVICE void finish(float *dst, const float *acc, const float *bias, const float *residual, int row, int out, int first, int live) {
#pragma unroll
  for (int r = 0; r < R; r++) {
    if ((THREAD & 31) == r && r < live) {
      int64_t at = (int64_t)(first + r) * out + row;
      float v = acc[r];
      if (bias) v += bias[row];
      if (residual) v += residual[at];
      dst[at] = v;
    }
  }
}

// gemv_T_R writes x · wᵀ + bias + residual; dst may be residual. T quantised: x
// is X32, its rows whole groups.
template <typename T, int R> DEVICE void gemv_blocks(float *dst, const uint8_t *w, const uint8_t *x, const float *bias, const float *residual, int out, int in, int rows) {
  int row = BLOCK * 4 + (THREAD >> 5), first = BLOCK_Y * R, live = least(R, rows - first);
  if (row >= out) return;
  int64_t stride = (int64_t)((in + 255) >> 8) * 320;
  float acc[R] = {};
  dot_blocks<T, R>(acc, w + row * T::row_bytes(in), x + first * stride, stride, live, in);
  finish<R>(dst, acc, bias, residual, row, out, first, live);
}

// The same for weights of a float type, and float32 activations.
template <typename T, int R> DEVICE void gemv_floats(float *dst, const uint8_t *w, const float *x, const float *bias, const float *residual, int out, int in, int rows) {
  int row = BLOCK * 4 + (THREAD >> 5), first = BLOCK_Y * R, live = least(R, rows - first);
  if (row >= out) return;
  float acc[R] = {};
  dot_floats<T, R>(acc, w + row * T::row_bytes(in), x + (int64_t)first * in, live, in);
  finish<R>(dst, acc, bias, residual, row, out, first, live);
}

#define GEMV_R(T, R, X, F) \
  KERNEL(128) gemv_##T##_##R(float *dst, const uint8_t *w, const X *x, const float *bias, const float *residual, int out, int in, int rows) { F<T, R>(dst, w, x, bias, residual, out, in, rows); }
#define GEMV(T) GEMV_R(T, 1, uint8_t, gemv_blocks) GEMV_R(T, 2, uint8_t, gemv_blocks) GEMV_R(T, 4, uint8_t, gemv_blocks) GEMV_R(T, 8, uint8_t, gemv_blocks)
QUANTISED(GEMV)
#undef GEMV
#define GEMV(T) GEMV_R(T, 1, float, gemv_floats) GEMV_R(T, 2, float, gemv_floats) GEMV_R(T, 4, float, gemv_floats) GEMV_R(T, 8, float, gemv_floats)
FLOATS(GEMV)
