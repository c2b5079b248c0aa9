// Recurrent layers: short convolutions, the scans of Mamba, and gated delta nets.
#include "runs.cuh"

// short_conv writes bias + Σ w[j] · x of the row taps - 1 - j before, for each channel, then SiLU
// of it if act. The state is the taps - 1 rows before, the oldest first. Grid (channels/128,
// runs, tiles of rows), a thread per channel with its last inputs in registers; rows are read
// and written side by side. At most eight taps. Within (taps + 4)·2^-22 of Σ|w·x|.
KERNEL(128) short_conv(float *dst, const float *x, const float *w, const float *bias, float *states, const int *runs, int channels, int taps, int act, int stride) {
  int c = BLOCK * 128 + THREAD, none = 8 - taps;
  run r = run_of(runs, states + c, stride);
  int first = r.from + BLOCK_Z * TILE_ROWS, last = least(first + TILE_ROWS, r.to);
  if (c >= channels || first >= r.to) return;
  x += c, dst += c;
  float by[8], v[8], plus = bias ? bias[c] : 0.0f;
#pragma unroll
  for (int j = 0; j < 8; j++) {
    int row = first - 7 + j, old = row - r.from + taps - 1;
    by[j] = j >= none ? w[(int64_t)c * taps + j - none] : 0.0f;
    v[j] = 0.0f;
    if (j < none || j == 7) continue;
    if (row >= r.from) v[j] = x[(int64_t)row * channels];
    else if (!r.fresh) v[j] = r.state[(int64_t)old * channels];
  }
  // Four rows are asked for together.
  for (int t = first; t < last; t += 4) {
    float in[4];
#pragma unroll
    for (int k = 0; k < 4; k++) in[k] = x[(int64_t)least(t + k, last - 1) * channels];
#pragma unroll
    for (int k = 0; k < 4; k++) {
      if (t + k >= last) break;
      v[7] = in[k];
      float s = plus;
#pragma unroll
      for (int j = 0; j < 8; j++) {
        if (j >= none) s = fma(by[j], v[j], s);
        if (j < 7) v[j] = v[j + 1];
      }
      dst[(int64_t)(t + k) * channels] = act ? activated(s, 1.0f, 0) : s;
    }
  }
  // The first tile alone has read the state, in this thread.
  if (BLOCK_Z > 0 || !r.kept) return;
  for (int j = 0; j < taps - 1; j++) {
    int row = r.to - taps + 1 + j, old = row - r.from + taps - 1;
    r.state[(int64_t)j * channels] = row >= r.from ? x[(int64_t)row * channels] : r.fresh ? 0.0f : r.state[(int64_t)old * channels];
  }
}

// A source is what the 16 channels of a block of a scan read of each row.
struct source {
  float *y;                      // (rows, y_row), of the block's first channel
  const float *x, *dt, *b, *c;   // likewise
  int y_row, x_row, dt_row, bc_row;
  float dt_bias;
};

// scan is one row after the other of
//
//	h = exp(dt·a)·h + dt·b·x;  y = h·c + d·x
//
// for 16 channels of which `live` are there, eight threads each: a thread has numbers sub, sub
// + 8, ... of the channel's n, at most K, in registers from the first row to the last, so the
// state is read and written once, in pieces of 32 bytes. What rows bring comes through shared
// memory, HELD_ROWS at a time. With OWN each channel has a step and a row of a of its own,
// otherwise they share them, and a decay is computed once. Gu & Dao, "Mamba", 2023, §3; Dao &
// Gu, "Transformers are SSMs", 2024, §2.
template <int K, bool OWN> DEVICE void scan(const source &s, const run &r, const float *a, const float *d, int live, int n) {
  SHARED static float bs[HELD_ROWS * K * 8], cs[HELD_ROWS * K * 8], xs[HELD_ROWS * 16], ds[HELD_ROWS * 16];
  int sub = THREAD & 7, at = THREAD >> 3;
  bool there = at < live;
  float *state = r.state + at * n;
  float h[K], rate[K], skip = there ? d[OWN ? at : 0] : 0.0f;
#pragma unroll
  for (int k = 0; k < K; k++) {
    bool some = there && k * 8 + sub < n;
    h[k] = some && !r.fresh ? state[k * 8 + sub] : 0.0f;
    rate[k] = OWN ? some ? a[at * n + k * 8 + sub] : 0.0f : a[0];
  }
  for (int first = r.from; first < r.to; first += HELD_ROWS) {
    int rows = least(HELD_ROWS, r.to - first);
    all_threads();
    for (int i = THREAD; i < rows * K * 8; i += 128) {
      int row = i / (K * 8), in = i % (K * 8);
      int64_t from = (int64_t)(first + row) * s.bc_row + in;
      bs[i] = in < n ? s.b[from] : 0.0f;
      cs[i] = in < n ? s.c[from] : 0.0f;
    }
    for (int i = THREAD; i < rows * 16; i += 128) {
      int row = i >> 4, in = i & 15;
      xs[i] = in < live ? s.x[(int64_t)(first + row) * s.x_row + in] : 0.0f;
      ds[i] = in < (OWN ? live : 1) ? softplus(s.dt[(int64_t)(first + row) * s.dt_row + in] + s.dt_bias) : 0.0f;
    }
    all_threads();
    for (int row = 0; row < rows; row++) {
      float x = xs[row * 16 + at], step = ds[row * 16 + (OWN ? at : 0)], decay = exponential(step * rate[0]), sum = 0.0f;
      x *= step;
#pragma unroll
      for (int k = 0; k < K; k++) {
        if (OWN && k > 0) decay = exponential(step * rate[k]);
        h[k] = fma(decay, h[k], bs[row * K * 8 + k * 8 + sub] * x);
        sum = fma(h[k], cs[row * K * 8 + k * 8 + sub], sum);
      }
      for (int by = 4; by > 0; by >>= 1) sum += lane_xor(sum, by);
      if (sub == 0 && there) s.y[(int64_t)(first + row) * s.y_row + at] = fma(skip, xs[row * 16 + at], sum);
      all_lanes();
    }
  }
  if (!r.kept || !there) return;
#pragma unroll
  for (int k = 0; k < K; k++)
    if (k * 8 + sub < n) state[k * 8 + sub] = h[k];
}

// mamba2_N is the scan of Mamba-2 for states of at most N: grid (heads · head/16, runs).
template <int K> DEVICE void mamba2(float *y, const float *xbc, const float *dt, const float *a, const float *d, const float *dt_bias, float *states, const int *runs, int heads, int head, int groups, int n, int stride) {
  int tiles = (head + 15) >> 4, h = BLOCK / tiles, in = BLOCK % tiles * 16, inner = heads * head, group = h / (heads / groups), width = inner + 2 * groups * n;
  int64_t channel = (int64_t)h * head + in;
  run r = run_of(runs, states + channel * n, stride);
  source s = {y + channel, xbc + channel, dt + h, xbc + inner + group * n, xbc + inner + (groups + group) * n, inner, width, heads, width, dt_bias[h]};
  scan<K, false>(s, r, a + h, d + h, least(16, head - in), n);
}
#define MAMBA2(N) \
  KERNEL(128) mamba2_##N(float *y, const float *xbc, const float *dt, const float *a, const float *d, const float *dt_bias, float *states, const int *runs, int heads, int head, int groups, int n, int stride) { \
    mamba2<N / 8>(y, xbc, dt, a, d, dt_bias, states, runs, heads, head, groups, n, stride); \
  }
MAMBA2(32) MAMBA2(128) MAMBA2(256)

// mamba1_N is the scan of Mamba for states of at most N: grid (width/16, runs).
template <int K> DEVICE void mamba1(float *y, const float *x, const float *dt, const float *b, const float *c, const float *a, const float *d, float *states, const int *runs, int width, int n, int stride) {
  int channel = BLOCK * 16;
  run r = run_of(runs, states + (int64_t)channel * n, stride);
  source s = {y + channel, x + channel, dt + channel, b, c, width, width, width, n, 0.0f};
  scan<K, true>(s, r, a + (int64_t)channel * n, d + channel, least(16, width - channel), n);
}
#define MAMBA1(N) \
  KERNEL(128) mamba1_##N(float *y, const float *x, const float *dt, const float *b, const float *c, const float *a, const float *d, float *states, const int *runs, int width, int n, int stride) { \
    mamba1<N / 8>(y, x, dt, b, c, a, d, states, runs, width, n, stride); \
  }
MAMBA1(16) MAMBA1(64)

// delta_K is a gated delta net with keys of at most K, row after row:
//
//	S = e^g·S;  S = S + k⊗beta·(v - Sᵀk);  o = Sᵀq
//
// with queries and keys scaled to length 1, and queries by 1/√key. Columns of S do not know of
// each other: a block has 32 of a head's, four threads each, which share out the keys and have
// them in registers over the run. Grid (heads · value/32, runs). Yang, Kautz & Hatamizadeh,
// "Gated Delta Networks", 2024, §3.
template <int K> DEVICE void delta(float *o, const float *qkv, const float *beta, const float *alpha, const float *a, const float *dt_bias, float *states, const int *runs, int heads, int key_heads, int key, int value, int tiled, int stride) {
  SHARED static float qs[HELD_ROWS * K * 4], ks[HELD_ROWS * K * 4], vs[HELD_ROWS * 32], decays[HELD_ROWS], betas[HELD_ROWS];
  int lane = THREAD & 31, warp = THREAD >> 5, sub = lane >> 3, at = warp * 8 + (lane & 7);
  int tiles = (value + 31) >> 5, head = BLOCK / tiles, from = BLOCK % tiles * 32, of = tiled ? head % key_heads : head / (heads / key_heads);
  int keys = key_heads * key, width = 2 * keys + heads * value, live = least(32, value - from);
  bool there = at < live;
  run r = run_of(runs, states + (int64_t)head * key * value + from + at, stride);
  float s[K], rate = a[head], bias = dt_bias[head], scale = 1.0f / root((float)key);
#pragma unroll
  for (int i = 0; i < K; i++) s[i] = there && !r.fresh && i * 4 + sub < key ? r.state[(i * 4 + sub) * value] : 0.0f;
  for (int first = r.from; first < r.to; first += HELD_ROWS) {
    int rows = least(HELD_ROWS, r.to - first);
    all_threads();
    // A warp takes a row, so that it knows the lengths of its query and key.
    for (int row = warp; row < rows; row += 4) {
      const float *in = qkv + (int64_t)(first + row) * width;
      float *q = qs + row * K * 4, *k = ks + row * K * 4, qq = 0.0f, kk = 0.0f;
      for (int i = lane; i < K * 4; i += 32) {
        q[i] = i < key ? in[of * key + i] : 0.0f;
        k[i] = i < key ? in[keys + of * key + i] : 0.0f;
        qq = fma(q[i], q[i], qq), kk = fma(k[i], k[i], kk);
      }
      qq = scale / root(warp_sum(qq) + 1e-6f), kk = 1.0f / root(warp_sum(kk) + 1e-6f);
      for (int i = lane; i < K * 4; i += 32) q[i] *= qq, k[i] *= kk;
      vs[row * 32 + lane] = lane < live ? in[2 * keys + head * value + from + lane] : 0.0f;
      if (lane == 0) {
        int64_t one = (int64_t)(first + row) * heads + head;
        decays[row] = exponential(rate * softplus(alpha[one] + bias)), betas[row] = sigmoid(beta[one]);
      }
      all_lanes();
    }
    all_threads();
    for (int row = 0; row < rows; row++) {
      const float *q = qs + row * K * 4 + sub, *k = ks + row * K * 4 + sub;
      float decay = decays[row], sum = 0.0f;
#pragma unroll
      for (int i = 0; i < K; i++) s[i] *= decay, sum = fma(s[i], k[i * 4], sum);
      for (int by = 8; by < 32; by <<= 1) sum += lane_xor(sum, by);
      float learn = betas[row] * (vs[row * 32 + at] - sum);
      sum = 0.0f;
#pragma unroll
      for (int i = 0; i < K; i++) s[i] = fma(k[i * 4], learn, s[i]), sum = fma(s[i], q[i * 4], sum);
      for (int by = 8; by < 32; by <<= 1) sum += lane_xor(sum, by);
      if (sub == 0 && there) o[((int64_t)(first + row) * heads + head) * value + from + at] = sum;
      all_lanes();
    }
  }
  if (!r.kept || !there) return;
#pragma unroll
  for (int i = 0; i < K; i++)
    if (i * 4 + sub < key) r.state[(i * 4 + sub) * value] = s[i];
}
#define DELTA(K) \
  KERNEL(128) delta_##K(float *o, const float *qkv, const float *beta, const float *alpha, const float *a, const float *dt_bias, float *states, const int *runs, int heads, int key_heads, int key, int value, int tiled, int stride) { \
    delta<K / 4>(o, qkv, beta, alpha, a, dt_bias, states, runs, heads, key_heads, key, value, tiled, stride); \
  }
DELTA(32) DELTA(128) DELTA(256)
