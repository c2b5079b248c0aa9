// Adapters: what they add to products and to embeddings, by the row's own. Hu et al., "LoRA:
// Low-Rank Adaptation of Large Language Models", 2021, §4.1.
#include "gpu.cuh"

// A change adds scale · (x · aᵀ) · b; a is (rank, in), of embeddings (vocab, rank), b (rank,
// out). Without a there is none.
struct change {
  const float *a, *b;
  int rank;
  float scale;
};

// adapt_experts numbers the changes of slots, which are rows at one of their experts: that of
// adapter a, numbered from 1, and expert e is (a-1) · experts + e, from 1, 0 is none. Grid
// (slots/256).
KERNEL(256) adapt_experts(int *of, const int *adapters, const int *chosen, int experts, int used, int slots) {
  int s = BLOCK * 256 + THREAD;
  if (s >= slots) return;
  int a = adapters[s / used];
  of[s] = a == 0 ? 0 : (a - 1) * experts + chosen[s] + 1;
}

// adapt_down writes row r/per of x · aᵀ of the row's adapter, numbered from 1, to row r, of room
// numbers; rows without an adapter have none. Grid (room/8, rows), a warp per number.
KERNEL(256) adapt_down(float *low, const float *x, const change *changes, const int *adapters, int in, int room, int per) {
  int k = BLOCK * 8 + (THREAD >> 5), n = adapters[BLOCK_Y];
  if (n == 0) return;
  change c = changes[n - 1];
  if (!c.a || k >= c.rank) return;
  x += (int64_t)(BLOCK_Y / per) * in, c.a += (int64_t)k * in;
  float s = 0.0f;
  for (int i = THREAD & 31; i < in; i += 32) s = fma(x[i], c.a[i], s);
  __nvvm_bar_warp_sync(-1);  // a warp of which not all lanes loop is whole again
  s = warp_sum(s);
  if ((THREAD & 31) == 0) low[(int64_t)BLOCK_Y * room + k] = s;
}

// adapt_up adds scale · low · b of the row's adapter to dst; with ids, low is row ids[r] of a.
// Grid (out/256, rows), a thread per value.
KERNEL(256) adapt_up(float *dst, const float *low, const change *changes, const int *adapters, const int *ids, int out, int room) {
  int i = BLOCK * 256 + THREAD, n = adapters[BLOCK_Y];
  if (n == 0 || i >= out) return;
  change c = changes[n - 1];
  if (!c.a) return;
  low = ids ? c.a + (int64_t)ids[BLOCK_Y] * c.rank : low + (int64_t)BLOCK_Y * room;
  float s = 0.0f;
  for (int k = 0; k < c.rank; k++) s = fma(low[k], c.b[(int64_t)k * out + i], s);
  dst[(int64_t)BLOCK_Y * out + i] += c.scale * s;
}
