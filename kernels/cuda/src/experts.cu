// Kernels of a mixture of experts. A slot is a row at one of its experts: slot
// row·used + k. Shazeer et al., "Outrageously Large Neural Networks", 2017.
#include "held.cuh"

struct candidate { float score; int at; };

// better keeps the higher score, the lower number among equals. A number below
// 0 is none; NaN loses to all that is compared with it.
DEVICE candidate better(candidate a, candidate b) {
  bool take = b.at >= 0 && (a.at < 0 || b.score > a.score || (b.score == a.score && b.at < a.at));
  return {take ? b.score : a.score, take ? b.at : a.at};
}

// best_of returns the warp's best candidate to every lane.
DEVICE candidate best_of(candidate best) {
  for (int by = 16; by > 0; by >>= 1) {
    candidate other = {lane_xor(best.score, by), lane_xor(best.at, by)};
    // Both of a pair compare in one order, or NaN would part them.
    bool high = THREAD & by;
    best = better({high ? other.score : best.score, high ? other.at : best.at}, {high ? best.score : other.score, high ? best.at : other.at});
  }
  return best;
}

// experts_choose writes the used highest scores' numbers in descending order to
// chosen, and their weights as kernels.Experts has them: the softmax over all
// scores, with renormalise over those chosen, with sparse_mixer over those left
// whose score is near. One warp per row; at most 1024 experts. Weights are
// within (experts/32 + 8 + 2·spread)·2^-22, spread being the scores' range.
// Jiang et al., "Mixtral of Experts", 2024, §2.1; Liu et al., "GRIN", 2024, §2.
KERNEL(32) experts_choose(int *chosen, float *weight, const float *router, int experts, int used, int renormalise, int sparse_mixer, float jitter) {
  router += (int64_t)BLOCK * experts;
  chosen += (int64_t)BLOCK * used;
  weight += (int64_t)BLOCK * used;
  uint32_t taken = 0;  // bit i: expert 32·i + lane
  float top = 0.0f, sum = 0.0f;
  for (int k = 0; k < used; k++) {
    candidate best = {0.0f, -1};
    for (int i = 0; i * 32 + THREAD < experts; i++)
      if (!(taken >> i & 1)) best = better(best, {router[i * 32 + THREAD], i * 32 + THREAD});
    best = best_of(best);
    if (k == 0 || sparse_mixer) {
      top = best.score;
      float s = 0.0f;
      for (int i = 0; i * 32 + THREAD < experts; i++) {
        float v = router[i * 32 + THREAD], abs = absolute(v);
        // Written so that 0/0, of two scores of zero, counts as near.
        if (!sparse_mixer || (!(taken >> i & 1) && !((top - v) / (abs > top ? abs : top) > 2.0f * jitter))) s += exponential(v - top);
      }
      sum = warp_sum(s);
    }
    if ((best.at & 31) == THREAD) taken |= 1u << (best.at >> 5);
    if (THREAD == 0) {
      chosen[k] = best.at;
      weight[k] = sparse_mixer ? 1.0f / sum : exponential(best.score - top) / (renormalise ? 1.0f : sum);
    }
  }
  if (renormalise && !sparse_mixer && THREAD == 0) {
    sum = 0.0f;
    for (int k = 0; k < used; k++) sum += weight[k];
    for (int k = 0; k < used; k++) weight[k] /= sum;
  }
}

// experts_route is experts_choose where the scores are the router's sigmoids, or have a bias
// where experts are chosen, or experts are chosen within the best of their groups, or what they
// weigh has factors. Without bias and groups the router's own order decides. With `by` the
// weights go there, to multiply inputs, and those of results are 1. One warp per row; at most
// 1024 experts in at most 64 groups, whose scores are in shared memory. DeepSeek-AI,
// "DeepSeek-V3 Technical Report", 2024, §2.1.2; "DeepSeek-V2", 2024, §2.2.2.
KERNEL(32) experts_route(int *chosen, float *weight, float *by, const float *router, const float *bias, const float *factors, int experts, int used, int sigmoids, int groups, int used_groups, int group_max, int renormalise, float scale) {
  SHARED static float scores[1024], of_group[64];
  router += (int64_t)BLOCK * experts;
  chosen += (int64_t)BLOCK * used;
  weight += (int64_t)BLOCK * used;
  bool own = !bias && groups <= 1;
  float top = as_float(0xff800000), all = 0.0f;
  for (int i = THREAD; i < experts; i += 32) top = router[i] > top ? router[i] : top;
  __nvvm_bar_warp_sync(-1);
  for (int step = 16; step > 0; step >>= 1) {
    float other = lane_xor(top, step);
    top = other > top ? other : top;
  }
  for (int i = THREAD; i < experts; i += 32) {
    float s = sigmoids ? sigmoid(router[i]) : exponential(router[i] - top);
    all += s;
    scores[i] = own ? router[i] : s;
  }
  __nvvm_bar_warp_sync(-1);
  all = warp_sum(all);
  if (!own)
    for (int i = THREAD; i < experts; i += 32) scores[i] = (sigmoids ? scores[i] : scores[i] / all) + (bias ? bias[i] : 0.0f);
  __nvvm_bar_warp_sync(-1);
  if (groups > 1) {
    int n = experts / groups;
    for (int g = THREAD; g < groups; g += 32) {
      float first = scores[g * n], second = as_float(0xff800000);
      for (int i = 1; i < n; i++) {
        float s = scores[g * n + i];
        if (s > first) second = first, first = s;
        else if (s > second) second = s;
      }
      of_group[g] = group_max || n == 1 ? first : first + second;
    }
    __nvvm_bar_warp_sync(-1);
    uint64_t kept = 0;
    for (int k = 0; k < used_groups; k++) {
      int best = -1;
      for (int g = 0; g < groups; g++)
        if (!(kept >> g & 1) && (best < 0 || of_group[g] > of_group[best])) best = g;
      kept |= 1ull << best;
    }
    for (int i = THREAD; i < experts; i += 32)
      if (!(kept >> i / n & 1)) scores[i] = as_float(0xff800000);
    __nvvm_bar_warp_sync(-1);
  }
  uint32_t taken = 0;  // bit i: expert 32·i + lane
  float sum = 0.0f;
  for (int k = 0; k < used; k++) {
    candidate best = {0.0f, -1};
    for (int i = 0; i * 32 + THREAD < experts; i++)
      if (!(taken >> i & 1)) best = better(best, {scores[i * 32 + THREAD], i * 32 + THREAD});
    __nvvm_bar_warp_sync(-1);
    best = best_of(best);
    if ((best.at & 31) == THREAD) taken |= 1u << (best.at >> 5);
    float w = sigmoids ? sigmoid(router[best.at]) : exponential(router[best.at] - top);
    sum += w;
    if (THREAD == 0) chosen[k] = best.at, weight[k] = w;
    __nvvm_bar_warp_sync(-1);
  }
  if (THREAD > 0) return;
  // A sum of sigmoids may be nothing; that of a softmax is not.
  float share = renormalise ? sum + (sigmoids ? 1e-20f : 0.0f) : sigmoids ? 1.0f : all;
  for (int k = 0; k < used; k++) {
    float w = weight[k] / share;
    if (scale != 0.0f) w *= scale;
    if (factors) w *= factors[chosen[k]];
    if (by) by[(int64_t)BLOCK * used + k] = w, w = 1.0f;
    weight[k] = w;
  }
}

// experts_inputs writes row s/used of x, multiplied by slot s's number: grid (n/256, slots).
KERNEL(256) experts_inputs(float *dst, const float *x, const float *by, int n, int used) {
  int i = BLOCK * 256 + THREAD;
  if (i < n) dst[(int64_t)BLOCK_Y * n + i] = x[(int64_t)(BLOCK_Y / used) * n + i] * by[BLOCK_Y];
}

// experts_combine writes the sum of weight · y over a row's slots, in their
// order, as the CPU does: grid (n/256, rows).
KERNEL(256) experts_combine(float *dst, const float *y, const float *weight, int n, int used) {
  int i = BLOCK * 256 + THREAD;
  if (i >= n) return;
  float s = 0.0f;
  for (int k = 0; k < used; k++) {
    int64_t slot = (int64_t)BLOCK_Y * used + k;
    s += weight[slot] * y[slot * n + i];
  }
  dst[(int64_t)BLOCK_Y * n + i] = s;
}

// expert_gemv_T writes the product of slot s's activations, row s/per of x, with
// matrix chosen[s] of w: grid (out/8, slots), one warp per two weight rows. Without a choice
// there are `per` matrices in turn, and slot s is row s of x: each head has a matrix.
DEVICE void expert_finish(float *dst, float *acc, const float *bias, int64_t at, int row, int out) {
  float v = total<2>(acc);
  int upper = LANE >> 4;
  if ((LANE & 15) == 0 && row + upper < out) dst[(int64_t)BLOCK_Y * out + row + upper] = bias ? v + bias[at + upper] : v;
}
template <typename T> DEVICE void expert_blocks(float *dst, const uint8_t *w, const uint8_t *x, const float *bias, const int *chosen, int out, int in, int per) {
  int row = (BLOCK * 4 + (THREAD >> 5)) * 2;
  if (row >= out) return;
  int64_t at = (int64_t)(chosen ? chosen[BLOCK_Y] : BLOCK_Y % per) * out + row, bytes = T::row_bytes(in);
  const uint8_t *p[2] = {w + at * bytes, w + (at + (row + 1 < out)) * bytes};
  float acc[2] = {};
  dot_blocks<T, straight, 1>(acc, p, x + (int64_t)(chosen ? BLOCK_Y / per : BLOCK_Y) * ((in + 255) >> 8) * 320, 0, 1, in);
  expert_finish(dst, acc, bias, at, row, out);
}
template <typename T> DEVICE void expert_floats(float *dst, const uint8_t *w, const float *x, const float *bias, const int *chosen, int out, int in, int per) {
  int row = (BLOCK * 4 + (THREAD >> 5)) * 2;
  if (row >= out) return;
  int64_t at = (int64_t)(chosen ? chosen[BLOCK_Y] : BLOCK_Y % per) * out + row, bytes = T::row_bytes(in);
  const uint8_t *p[2] = {w + at * bytes, w + (at + (row + 1 < out)) * bytes};
  float acc[2] = {};
  dot_floats<T, plain, 1>(acc, p, x + (int64_t)(chosen ? BLOCK_Y / per : BLOCK_Y) * in, 1, in);
  expert_finish(dst, acc, bias, at, row, out);
}
#define EXPERT(T) \
  KERNEL(128) expert_gemv_##T(float *dst, const uint8_t *w, const uint8_t *x, const float *bias, const int *chosen, int out, int in, int per) { expert_blocks<T>(dst, w, x, bias, chosen, out, in, per); }
QUANTISED(EXPERT)
#undef EXPERT
#define EXPERT(T) \
  KERNEL(128) expert_gemv_##T(float *dst, const uint8_t *w, const float *x, const float *bias, const int *chosen, int out, int in, int per) { expert_floats<T>(dst, w, x, bias, chosen, out, in, per); }
FLOATS(EXPERT)

// experts_gated_S writes act(x · gateᵀ + bias) · (x · upᵀ + bias) of every slot of a
// row, by the matrices chosen for them, as expert_gemv and gate do one after the
// other. Grid (any, rows).
template <typename S> DEVICE void experts_gated(float *y, const matrix &g, const matrix &u, const float *x, const int *chosen, int act, int used, int in, int rows) {
  int pairs = (g.out + 1) >> 1, at = own_warp() * BLOCKS + BLOCK;
  chosen += (int64_t)BLOCK_Y * used;
  S::hold(x + (int64_t)BLOCK_Y * in, 0, 0.0f, 1, in, 0);
  for (; at < used * pairs; at += WARPS * BLOCKS) {
    int slot = at / pairs, row = at % pairs * 2, first = chosen[slot] * g.out;
    float v = 0.0f, up = 0.0f;
    // One piece of code for both, up first.
#pragma nounroll
    for (int second = 0; second < 2; second++) {
      const matrix &m = second ? g : u;
      float acc[2] = {};
      S::template dot<1>(acc, {m.w, m.type, first + row, first + least(row + 1, g.out - 1)}, 1, in);
      up = v, v = total<2>(acc);
    }
    row += UPPER(1);
    if (STORES(1) && row < g.out) {
      if (g.bias) v += g.bias[first + row];
      if (u.bias) up += u.bias[first + row];
      y[((int64_t)BLOCK_Y * used + slot) * g.out + row] = activated(v, up, act);
    }
    __nvvm_bar_warp_sync(-1);  // a warp of which not all lanes store is whole again
  }
}

// experts_down_S writes the sum of a row's slots, each through the matrix chosen for
// it and by its weight, as expert_gemv and experts_combine do. A block makes what
// some weight rows give for all slots, and then their sums: shared memory has `room`
// pairs of numbers behind what is held. Grid (any, rows).
template <typename S> DEVICE void experts_down(float *dst, const matrix &m, const float *x, const int *chosen, const float *weight, int used, int room, int in, int rows) {
  int out = m.out, pairs = (out + 1) >> 1, mine = (pairs - BLOCK + BLOCKS - 1) / BLOCKS, few = room / used;
  float *sums = (float *)(held + used * S::stride(in));
  chosen += (int64_t)BLOCK_Y * used, weight += (int64_t)BLOCK_Y * used, dst += (int64_t)BLOCK_Y * out;
  S::hold(x + (int64_t)BLOCK_Y * used * in, 0, 0.0f, used, in, 0);
  for (int from = 0; from < mine; from += few) {
    int n = least(few, mine - from);
    for (int at = own_warp(); at < n * used; at += WARPS) {
      int slot = at % used, row = (BLOCK + (from + at / used) * BLOCKS) * 2, first = chosen[slot] * out;
      float acc[2] = {};
      S::template dot<1>(acc, {m.w, m.type, first + row, first + least(row + 1, out - 1)}, 1, in, slot);
      float v = total<2>(acc);
      row += UPPER(1);
      if (STORES(1) && row < out) sums[2 * at + UPPER(1)] = m.bias ? v + m.bias[first + row] : v;
      __nvvm_bar_warp_sync(-1);
    }
    block_sync();
    for (int i = THREAD; i < 2 * n; i += THREADS) {
      int row = (BLOCK + (from + (i >> 1)) * BLOCKS) * 2 + (i & 1);
      if (row >= out) continue;
      float s = 0.0f;
      for (int k = 0; k < used; k++) s += weight[k] * sums[((i >> 1) * used + k) * 2 + (i & 1)];
      dst[row] = s;
    }
    __nvvm_bar_warp_sync(-1);
    block_sync();
  }
}

#define HELD_EXPERTS(S) \
  KERNEL_OF(THREADS_1, 1) experts_gated_##S(float *y, const uint8_t *w0, const float *b0, int type0, const uint8_t *w1, const float *b1, int type1, const float *x, const int *chosen, int act, int used, int out, int in, int rows) { \
    experts_gated<S>(y, {y, w0, b0, out, type0}, {y, w1, b1, out, type1}, x, chosen, act, used, in, rows); \
  } \
  KERNEL_OF(THREADS_1, 1) experts_down_##S(float *dst, const uint8_t *w, const float *b, int type, const float *x, const int *chosen, const float *weight, int used, int room, int out, int in, int rows) { \
    experts_down<S>(dst, {dst, w, b, out, type}, x, chosen, weight, used, room, in, rows); \
  }
HELD_EXPERTS(blocks) HELD_EXPERTS(floats)
