// Kernels of a mixture of experts. A slot is a row at one of its experts: slot
// row·used + k. Shazeer et al., "Outrageously Large Neural Networks", 2017.
#include "dot.cuh"

struct candidate { float score; int at; };

// better keeps the higher score, the lower number among equals. A number below
// 0 is none; NaN loses to all that is compared with it.
DEVICE candidate better(candidate a, candidate b) {
  bool take = b.at >= 0 && (a.at < 0 || b.score > a.score || (b.score == a.score && b.at < a.at));
  return {take ? b.score : a.score, take ? b.at : a.at};
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
    for (int by = 16; by > 0; by >>= 1) {
      candidate other = {lane_xor(best.score, by), lane_xor(best.at, by)};
      // Both of a pair compare in one order, or NaN would part them.
      bool high = THREAD & by;
      best = better({high ? other.score : best.score, high ? other.at : best.at}, {high ? best.score : other.score, high ? best.at : other.at});
    }
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
// matrix chosen[s] of w: grid (out/4, slots), one warp per weight row.
template <typename T> DEVICE void expert_blocks(float *dst, const uint8_t *w, const uint8_t *x, const float *bias, const int *chosen, int out, int in, int per) {
  int row = BLOCK * 4 + (THREAD >> 5);
  if (row >= out) return;
  int64_t at = (int64_t)chosen[BLOCK_Y] * out + row;
  float acc[1] = {};
  dot_blocks<T, 1>(acc, w + at * T::row_bytes(in), x + (int64_t)(BLOCK_Y / per) * ((in + 255) >> 8) * 320, 0, 1, in);
  if ((THREAD & 31) == 0) dst[(int64_t)BLOCK_Y * out + row] = bias ? acc[0] + bias[at] : acc[0];
}
template <typename T> DEVICE void expert_floats(float *dst, const uint8_t *w, const float *x, const float *bias, const int *chosen, int out, int in, int per) {
  int row = BLOCK * 4 + (THREAD >> 5);
  if (row >= out) return;
  int64_t at = (int64_t)chosen[BLOCK_Y] * out + row;
  float acc[1] = {};
  dot_floats<T, 1>(acc, w + at * T::row_bytes(in), x + (int64_t)(BLOCK_Y / per) * in, 1, in);
  if ((THREAD & 31) == 0) dst[(int64_t)BLOCK_Y * out + row] = bias ? acc[0] + bias[at] : acc[0];
}
#define EXPERT(T) \
  KERNEL(128) expert_gemv_##T(float *dst, const uint8_t *w, const uint8_t *x, const float *bias, const int *chosen, int out, int in, int per) { expert_blocks<T>(dst, w, x, bias, chosen, out, in, per); }
QUANTISED(EXPERT)
#undef EXPERT
#define EXPERT(T) \
  KERNEL(128) expert_gemv_##T(float *dst, const uint8_t *w, const float *x, const float *bias, const int *chosen, int out, int in, int per) { expert_floats<T>(dst, w, x, bias, chosen, out, in, per); }
FLOATS(EXPERT)
