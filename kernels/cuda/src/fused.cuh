// fused.cuh is the products of held rows with what stands behind them.
#pragma once
#include "held.cuh"

DEVICE pair pair_of(const matrix &m, int row) { return {m.w, m.type, row, least(row + 1, m.out - 1)}; }

// take finds pair number `at` of the three matrices' rows and makes m its matrix.
DEVICE pair take(matrix &m, const matrix &a, const matrix &b, const matrix &c, int at) {
  int of_a = (a.out + 1) >> 1, of_b = (b.out + 1) >> 1;
  m = a;
  if (at >= of_a) {
    at -= of_a, m = b;
    if (at >= of_b) at -= of_b, m = c;
  }
  return pair_of(m, 2 * at);
}

// project_S_R writes norm(x) · wᵀ + bias for up to three matrices of one input,
// and adds the residual to the first. Grid (any, rows/R); dst may be the residual.
template <typename S, int R> DEVICE void project(const matrix &a, const matrix &b, const matrix &c, const float *x, const float *norm, const float *residual, int in, int rows, float eps) {
  SHARED static float part[8 * R];
  int first = BLOCK_Y * R, live = least(R, rows - first);
  int all = ((a.out + 1) >> 1) + ((b.out + 1) >> 1) + ((c.out + 1) >> 1), at = own_warp() * BLOCKS + BLOCK;
  matrix m;
  uint32_t early = 0;
  if (at < all) {
    pair p = take(m, a, b, c, at);
    early = asked(p, S::row_bytes(p.type, in));
  }
  S::hold(x + (int64_t)first * in, norm, eps, live, in, part);
  NEEDED(early);
  for (; at < all; at += WARPS * BLOCKS) {
    pair p = take(m, a, b, c, at);
    // What is added is asked for first: it comes from far, too.
    int row = UPPER(R) ? p.high : p.low, r = least(ROW_OF(R), live - 1);
    float bias = m.bias ? m.bias[row] : 0.0f, plus = residual && m.y == a.y ? residual[(int64_t)(first + r) * m.out + row] : 0.0f;
    float acc[2 * R] = {};
    S::template dot<R>(acc, p, live, in);
    float v = total<2 * R>(acc);
    p = take(m, a, b, c, anew(at));
    row = p.low + UPPER(R);
    if (STORES(R) && ROW_OF(R) < live && row <= p.high) {
      if (m.bias) v += bias;
      if (residual && m.y == a.y) v += plus;
      m.y[(int64_t)(first + r) * m.out + row] = v;
    }
    __nvvm_bar_warp_sync(-1);  // a warp of which not all lanes store is whole again
  }
}

// gated_S_R writes act(norm(x) · gateᵀ + bias) · (norm(x) · upᵀ + bias); without
// up it is the activation alone. Grid (any, rows/R).
template <typename S, int R> DEVICE void gated(float *y, const matrix &g, const matrix &u, const float *x, const float *norm, int act, int in, int rows, float eps) {
  SHARED static float part[8 * R];
  int first = BLOCK_Y * R, live = least(R, rows - first), at = (own_warp() * BLOCKS + BLOCK) * 2;
  uint32_t early = 0;
  if (at < g.out) {
    pair p = pair_of(u.w ? u : g, at);
    early = asked(p, S::row_bytes(p.type, in));
  }
  S::hold(x + (int64_t)first * in, norm, eps, live, in, part);
  NEEDED(early);
  for (; at < g.out; at += WARPS * BLOCKS * 2) {
    float v = 0.0f, up = 0.0f;
    // One piece of code for both, up first.
#pragma nounroll
    for (int second = u.w == 0; second < 2; second++) {
      float acc[2 * R] = {};
      S::template dot<R>(acc, pair_of(second ? g : u, at), live, in);
      up = v, v = total<2 * R>(acc);
    }
    if (!u.w) up = 1.0f;
    int row = at + UPPER(R), r = ROW_OF(R);
    if (STORES(R) && r < live && row < g.out) {
      if (g.bias) v += g.bias[row];
      if (u.bias) up += u.bias[row];
      y[(int64_t)(first + r) * g.out + row] = activated(v, up, act);
    }
    __nvvm_bar_warp_sync(-1);
  }
}

// FUSED makes the kernels of a side that take R rows.
#define FUSED(S, R) \
  KERNEL_OF(THREADS_##R, 1) project_##S##_##R(float *y0, const uint8_t *w0, const float *b0, int out0, int type0, float *y1, const uint8_t *w1, const float *b1, int out1, int type1, float *y2, const uint8_t *w2, const float *b2, int out2, int type2, \
                                const float *x, const float *norm, const float *residual, int in, int rows, float eps) { \
    project<S, R>({y0, w0, b0, out0, type0}, {y1, w1, b1, out1, type1}, {y2, w2, b2, out2, type2}, x, norm, residual, in, rows, eps); \
  } \
  KERNEL_OF(THREADS_##R, 1) gated_##S##_##R(float *y, const uint8_t *w0, const float *b0, int type0, const uint8_t *w1, const float *b1, int type1, const float *x, const float *norm, int act, int out, int in, int rows, float eps) { \
    gated<S, R>(y, {y, w0, b0, out, type0}, {y, w1, b1, out, type1}, x, norm, act, in, rows, eps); \
  }
