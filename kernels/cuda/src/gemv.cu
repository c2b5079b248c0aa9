// Products of weight matrices with few rows of activations: one warp per two
// weight rows, four to a block, grid (out/8, rows/R). Bounds are in dot.cuh.
#include "dot.cuh"

// finish stores what two weight rows by R rows come to.
template <int R> DEVICE void finish(float *dst, float *acc, const float *bias, const float *residual, int row, int out, int first, int live) {
  float v = total<2 * R>(acc);
  int at = LANE / (16 / R), r = at >> 1;
  row += at & 1;
  if (LANE % (16 / R) || r >= live || row >= out) return;
  int64_t to = (int64_t)(first + r) * out + row;
  if (bias) v += bias[row];
  if (residual) v += residual[to];
  dst[to] = v;
}

// gemv_T_R writes x · wᵀ + bias + residual; dst may be residual. T quantised: x
// is ActQ8_32, its rows whole groups.
template <typename T, int R> DEVICE void gemv_blocks(float *dst, const uint8_t *w, const uint8_t *x, const float *bias, const float *residual, int out, int in, int rows) {
  int row = (BLOCK * 4 + (THREAD >> 5)) * 2, first = BLOCK_Y * R, live = least(R, rows - first);
  if (row >= out) return;
  int64_t stride = (int64_t)((in + 255) >> 8) * 320, bytes = T::row_bytes(in);
  const uint8_t *p[2] = {w + row * bytes, w + least(row + 1, out - 1) * bytes};
  float acc[2 * R] = {};
  dot_blocks<T, straight, R>(acc, p, x + first * stride, stride, live, in);
  finish<R>(dst, acc, bias, residual, row, out, first, live);
}

// The same for weights of a float type, and float32 activations.
template <typename T, int R> DEVICE void gemv_floats(float *dst, const uint8_t *w, const float *x, const float *bias, const float *residual, int out, int in, int rows) {
  int row = (BLOCK * 4 + (THREAD >> 5)) * 2, first = BLOCK_Y * R, live = least(R, rows - first);
  if (row >= out) return;
  int64_t bytes = T::row_bytes(in);
  const uint8_t *p[2] = {w + row * bytes, w + least(row + 1, out - 1) * bytes};
  float acc[2 * R] = {};
  dot_floats<T, plain, R>(acc, p, x + (int64_t)first * in, live, in);
  finish<R>(dst, acc, bias, residual, row, out, first, live);
}

#define GEMV_R(T, R, X, F) \
  KERNEL(128) gemv_##T##_##R(float *dst, const uint8_t *w, const X *x, const float *bias, const float *residual, int out, int in, int rows) { F<T, R>(dst, w, x, bias, residual, out, in, rows); }
#define GEMV(T) GEMV_R(T, 1, uint8_t, gemv_blocks) GEMV_R(T, 2, uint8_t, gemv_blocks) GEMV_R(T, 4, uint8_t, gemv_blocks) GEMV_R(T, 8, uint8_t, gemv_blocks)
QUANTISED(GEMV)
#undef GEMV
#define GEMV(T) GEMV_R(T, 1, float, gemv_floats) GEMV_R(T, 2, float, gemv_floats) GEMV_R(T, 4, float, gemv_floats) GEMV_R(T, 8, float, gemv_floats)
FLOATS(GEMV)
