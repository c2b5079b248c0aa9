// fused.cuh is the products of held rows with what stands behind them.
#pragma once
#include "held.cuh"

// project_S_R writes norm(x) · wᵀ + bias for up to three matrices of one input,
// and adds the residual to the first. Grid (any, rows/R); dst may be the residual.
template <typename S, int R> DEVICE void project(matrix a, matrix b, matrix c, const float *x, const float *norm, const float *residual, int in, int rows, float eps) {
  SHARED static float part[8];
  int first = BLOCK_Y * R, live = least(R, rows - first);
  S::hold(x + (int64_t)first * in, norm, eps, live, in, part);
  for (int at = BLOCK * 8 + (THREAD >> 5); at < a.out + b.out + c.out; at += BLOCKS * 8) {
    matrix m = a;
    int row = at;
    const float *plus = residual;
    if (row >= a.out) {
      row -= a.out, m = b, plus = 0;
      if (row >= b.out) row -= b.out, m = c;
    }
    float acc[R] = {};
    S::template dot<R>(acc, m.w, m.type, row, live, in);
#pragma unroll
    for (int r = 0; r < R; r++) {
      if ((THREAD & 31) == r && r < live) {
        int64_t to = (int64_t)(first + r) * m.out + row;
        float v = acc[r];
        if (m.bias) v += m.bias[row];
        if (plus) v += plus[to];
        m.y[to] = v;
      }
    }
  }
}

// gated_S_R writes act(norm(x) · gateᵀ + bias) · (norm(x) · upᵀ + bias); without
// up it is the activation alone. Grid (any, rows/R).
template <typename S, int R> DEVICE void gated(float *y, matrix g, matrix u, const float *x, const float *norm, int act, int in, int rows, float eps) {
  SHARED static float part[8];
  int first = BLOCK_Y * R, live = least(R, rows - first);
  S::hold(x + (int64_t)first * in, norm, eps, live, in, part);
  for (int row = BLOCK * 8 + (THREAD >> 5); row < g.out; row += BLOCKS * 8) {
    float acc[R] = {}, up[R];
    // One piece of code for both, up first.
#pragma nounroll
    for (int second = u.w == 0; second < 2; second++) {
#pragma unroll
      for (int r = 0; r < R; r++) up[r] = second ? acc[r] : 0.0f, acc[r] = 0.0f;
      S::template dot<R>(acc, second ? g.w : u.w, second ? g.type : u.type, row, live, in);
    }
#pragma unroll
    for (int r = 0; r < R; r++) {
      if ((THREAD & 31) == r && r < live) {
        float v = acc[r], w = u.w ? up[r] : 1.0f;
        if (g.bias) v += g.bias[row];
        if (u.bias) w += u.bias[row];
        y[(int64_t)(first + r) * g.out + row] = activated(v, w, act);
      }
    }
  }
}

// FUSED makes the kernels of a side that take R rows.
#define FUSED(S, R) \
  KERNEL(256) project_##S##_##R(float *y0, const uint8_t *w0, const float *b0, int out0, int type0, float *y1, const uint8_t *w1, const float *b1, int out1, int type1, float *y2, const uint8_t *w2, const float *b2, int out2, int type2, \
                                const float *x, const float *norm, const float *residual, int in, int rows, float eps) { \
    project<S, R>({y0, w0, b0, out0, type0}, {y1, w1, b1, out1, type1}, {y2, w2, b2, out2, type2}, x, norm, residual, in, rows, eps); \
  } \
  KERNEL(256) gated_##S##_##R(float *y, const uint8_t *w0, const float *b0, int type0, const uint8_t *w1, const float *b1, int type1, const float *x, const float *norm, int act, int out, int in, int rows, float eps) { \
    gated<S, R>(y, {y, w0, b0, out, type0}, {y, w1, b1, out, type1}, x, norm, act, in, rows, eps); \
  }
