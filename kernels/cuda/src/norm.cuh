// norm.cuh is what kernels of whole rows and those that do it in passing share,
// so that both give the same bits.
#pragma once
#include "gpu.cuh"

// squares returns the part of thread t of 256 of the sum of n values' squares:
// those of values t, t+256, ..., of which sixteen are asked for at a time.
DEVICE float squares(const float *x, int n, int t) {
  float s = 0.0f;
  for (int i = t; i < n; i += 4096) {
    float v[16];
#pragma unroll
    for (int k = 0; k < 16; k++) v[k] = i + k * 256 < n ? x[i + k * 256] : 0.0f;
#pragma unroll
    for (int k = 0; k < 16; k++) s = fma(v[k], v[k], s);
  }
  return s;
}

// inverse_rms returns 1 / rms(x) of n values to a block of 256; part has a place for
// each warp and may be used again after another block_sync.
DEVICE float inverse_rms(const float *x, int n, float eps, float *part) {
  return 1.0f / root(block_sum(squares(x, n, THREAD), part) / (float)n + eps);
}

// phi is the normal distribution within 2·10^-7. Formula 7.1.26 of Abramowitz &
// Stegun, 1964.
DEVICE float phi(float v) {
  float t = 1.0f / (1.0f + 0.231641888f * absolute(v));
  float p = fma(fma(fma(fma(1.061405429f, t, -1.453152027f), t, 1.421413741f), t, -0.284496736f), t, 0.254829592f);
  float tail = 0.5f * p * t * exponential(-0.5f * v * v);
  return v > 0.0f ? 1.0f - tail : tail;
}

// activated returns act(g) · u; act numbers are graph.Act's. Factors are within
// (4 + 2|g|)·2^-22 of the CPU's, GELU within 4·10^-7 · |g|, the hyperbolic tangent within
// 2^-21. Number 5 leaves g as it is: its gate is a product.
DEVICE float activated(float g, float u, int act) {
  if (act == 0) {
    g = g / (1.0f + exponential(-g));
  } else if (act == 1) {
    g = g * phi(g);
  } else if (act == 2) {
    g = g / (1.0f + exponential(-2.0f * 0.797884561f * g * (1.0f + 0.044715f * g * g)));
  } else if (act == 4) {
    g = sigmoid(g);
  } else if (act == 6) {
    g = g < 0.0f ? 0.0f : g * g;
  } else if (act == 7) {
    g = 1.0f - 2.0f / (1.0f + exponential(2.0f * g));
  } else if (act == 3) {
    g = g > 7.0f ? 7.0f : g;
    g = g / (1.0f + exponential(-1.702f * g));
    u = (u > 7.0f ? 7.0f : u < -7.0f ? -7.0f : u) + 1.0f;
  }
  return g * u;
}
