// RWKV-7: the shift of tokens, and the memory.
#include "runs.cuh"

// token_shift writes each row mixed with the row before it, x + (before - x)·m for each of n
// rows m of mix, one behind the other. The state is the row before. Grid (width/128, runs,
// tiles of rows), a thread per channel; exact but for the order in which the CPU multiplies. Peng
// et al., "RWKV", 2023, §3.1.
KERNEL(128) token_shift(float *dst, const float *x, const float *mix, float *states, const int *runs, int width, int n, int stride) {
  int c = BLOCK * 128 + THREAD;
  run r = run_of(runs, states + c, stride);
  int first = r.from + BLOCK_Z * TILE_ROWS, last = least(first + TILE_ROWS, r.to);
  if (c >= width || first >= r.to) return;
  x += c, dst += c, mix += c;
  float before = first > r.from ? x[(int64_t)(first - 1) * width] : r.fresh ? 0.0f : r.state[0];
  for (int t = first; t < last; t++) {
    float v = x[(int64_t)t * width], more = before - v;
    for (int i = 0; i < n; i++) dst[((int64_t)t * n + i) * width] = fma(more, mix[(int64_t)i * width], v);
    before = v;
  }
  // The first tile alone has read the state, in this thread.
  if (BLOCK_Z == 0 && r.kept) r.state[0] = x[(int64_t)(r.to - 1) * width];
}

// The widest head there are registers for, and lanes that share out a column of its memory.
#define HEAD 64
#define LANES 4

// wkv7 is the memory of RWKV-7 with what stands before and behind it, row after row: w becomes
// exp(-e^-½·σ(w)), a becomes σ(a), κ is k⊙key scaled to length 1, k becomes k⊙(1 + (a - 1)⊙rate);
//
//	S = diag(w)·S - (κ⊙a)⊗(κᵀS) + k⊗v;  o = Sᵀr
//
// and o, normed and shifted within the head, + (Σ r⊙k⊙bonus)·v. Columns of S do not know of each
// other: a block has the 64 of a head, four threads each, which share out the keys and have them in
// registers over the run. Grid (heads, runs). Peng et al., "RWKV-7 'Goose'", 2025, §4.
KERNEL(256) wkv7(float *o, const float *r, const float *w, const float *k, const float *v, const float *a, const float *key, const float *rate, const float *bonus, const float *norm, const float *shift, float *states, const int *runs, int width, int head, float eps, int stride) {
  SHARED static float rs[HELD_ROWS * HEAD], ws[HELD_ROWS * HEAD], ks[HELD_ROWS * HEAD], vs[HELD_ROWS * HEAD], seen[HELD_ROWS * HEAD], back[HELD_ROWS * HEAD], os[HELD_ROWS * HEAD], plus[HELD_ROWS];
  int lane = THREAD & 31, warp = THREAD >> 5, sub = lane >> 3, at = warp * 8 + (lane & 7);
  int64_t of = (int64_t)BLOCK * head;
  bool there = at < head;
  run all = run_of(runs, states + of * head + at, stride);
  float s[HEAD / LANES];
#pragma unroll
  for (int i = 0; i < HEAD / LANES; i++) s[i] = there && !all.fresh && i * LANES + sub < head ? all.state[(i * LANES + sub) * head] : 0.0f;
  for (int first = all.from; first < all.to; first += HELD_ROWS) {
    int rows = least(HELD_ROWS, all.to - first);
    all_threads();
    // A warp takes a row.
    if (warp < rows) {
      float kk = 0.0f, much = 0.0f;
      for (int i = lane; i < HEAD; i += 32) {
        int to = warp * HEAD + i;
        int64_t in = (int64_t)(first + warp) * width + of + i;
        bool some = i < head;
        float ki = some ? k[in] : 0.0f, ai = some ? sigmoid(a[in]) : 0.0f, ri = some ? r[in] : 0.0f, unit = some ? ki * key[of + i] : 0.0f;
        rs[to] = ri, vs[to] = some ? v[in] : 0.0f, seen[to] = unit, back[to] = ai;
        ws[to] = some ? exponential(-0.606530660f * sigmoid(w[in])) : 0.0f;
        ks[to] = some ? ki * (1.0f + (ai - 1.0f) * rate[of + i]) : 0.0f;
        kk = fma(unit, unit, kk), much = some ? fma(ri * ks[to], bonus[of + i], much) : much;
      }
      all_lanes();
      kk = root(warp_sum(kk)), much = warp_sum(much);
      float by = 1.0f / (kk > 1e-12f ? kk : 1e-12f);
      for (int i = warp * HEAD + lane; i < (warp + 1) * HEAD; i += 32) seen[i] *= by, back[i] *= -seen[i];
      if (lane == 0) plus[warp] = much;
    }
    all_threads();
    for (int row = 0; row < rows; row++) {
      int from = row * HEAD + sub;
      float sum = 0.0f, x = vs[row * HEAD + at];
#pragma unroll
      for (int i = 0; i < HEAD / LANES; i++) sum = fma(s[i], seen[from + i * LANES], sum);
      for (int by = 8; by < 32; by <<= 1) sum += lane_xor(sum, by);
      float y = 0.0f;
#pragma unroll
      for (int i = 0; i < HEAD / LANES; i++) {
        s[i] = fma(s[i], ws[from + i * LANES], fma(x, ks[from + i * LANES], sum * back[from + i * LANES]));
        y = fma(s[i], rs[from + i * LANES], y);
      }
      for (int by = 8; by < 32; by <<= 1) y += lane_xor(y, by);
      if (sub == 0) os[row * HEAD + at] = y;
      all_lanes();
    }
    block_sync();
    if (warp < rows) {
      float mean = 0.0f, spread = 0.0f;
      for (int i = lane; i < head; i += 32) mean += os[warp * HEAD + i];
      all_lanes();
      mean = warp_sum(mean) / (float)head;
      for (int i = lane; i < head; i += 32) spread = fma(os[warp * HEAD + i] - mean, os[warp * HEAD + i] - mean, spread);
      all_lanes();
      spread = 1.0f / root(warp_sum(spread) / (float)head + eps);
      for (int i = lane; i < head; i += 32)
        o[(int64_t)(first + warp) * width + of + i] = fma((os[warp * HEAD + i] - mean) * spread, norm[of + i], shift[of + i]) + plus[warp] * vs[warp * HEAD + i];
    }
  }
  if (!all.kept || !there) return;
#pragma unroll
  for (int i = 0; i < HEAD / LANES; i++)
    if (i * LANES + sub < head) all.state[(i * LANES + sub) * head] = s[i];
}
