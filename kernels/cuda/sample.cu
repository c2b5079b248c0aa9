// Kernels that choose tokens, one block of 256 threads per row of logits.
#include "gpu.cuh"

struct candidate { float value; int at; };

// before reports whether a stands before b: the higher logit, the lower number
// among equals. NaN stands behind everything, so that a number is always found.
DEVICE bool before(candidate a, candidate b) {
  if (a.at < 0 || b.at < 0) return a.at >= 0;
  bool an = a.value != a.value, bn = b.value != b.value;
  if (an || bn) return an == bn ? a.at < b.at : bn;
  return a.value > b.value || (a.value == b.value && a.at < b.at);
}

// next returns the first candidate of a row behind last, -1 for none.
DEVICE candidate next(const float *logits, int n, candidate last, candidate *part) {
  candidate best = {0.0f, -1};
  for (int i = THREAD; i < n; i += 256) {
    candidate c = {logits[i], i};
    if ((last.at < 0 || before(last, c)) && before(c, best)) best = c;
  }
  for (int by = 16; by > 0; by >>= 1) {
    candidate other = {lane_xor(best.value, by), lane_xor(best.at, by)};
    if (before(other, best)) best = other;
  }
  block_sync();
  if ((THREAD & 31) == 0) part[THREAD >> 5] = best;
  block_sync();
  for (int i = 0; i < 8; i++)
    if (before(part[i], best)) best = part[i];
  return best;
}

// argmax writes the number of each row's highest logit, the lower of equals.
KERNEL(256) argmax(int *dst, const float *logits, int n) {
  SHARED static candidate part[8];
  candidate best = next(logits + (int64_t)BLOCK * n, n, {0.0f, -1}, part);
  if (THREAD == 0) dst[BLOCK] = best.at;
}

// sample writes one of each row's k[row] likeliest tokens, at most 256, by the
// softmax of logit / temperature over them: the first, likeliest first, at which
// the cumulated probability passes u[row].
KERNEL(256) sample(int *dst, const float *logits, const float *u, const float *temperature, const int *k, int n) {
  SHARED static candidate part[8];
  SHARED static float weight[256];
  SHARED static int token[256];
  int many = most(1, least(least(k[BLOCK], 256), n));
  candidate last = {0.0f, -1};
  float top = 0.0f;
  for (int i = 0; i < many; i++) {
    last = next(logits + (int64_t)BLOCK * n, n, last, part);
    if (i == 0) top = last.value;
    if (THREAD == 0) {
      token[i] = last.at;
      weight[i] = last.value == top ? 1.0f : exponential((last.value - top) / temperature[BLOCK]);
    }
  }
  if (THREAD != 0) return;
  float sum = 0.0f;
  for (int i = 0; i < many; i++) sum += weight[i];
  float left = u[BLOCK] * sum;
  int i = 0;
  for (; i < many - 1; i++) {
    left -= weight[i];
    if (left < 0.0f) break;
  }
  dst[BLOCK] = token[i];
}
