// runs.cuh is what kernels of recurrent layers share. Their blocks take a run, which is the
// rows of one sequence in a batch, and go through it row by row in the order of the text, so
// bits depend neither on where a text is cut nor on who shares the batch.
#pragma once
#include "norm.cuh"

// A run is rows [from, to), and where its sequence has the states of an op. Rows that fill a
// batch up have runs that keep nothing. A fresh one begins with zeros.
struct run {
  int from, to;
  bool kept, fresh;
  float *state;
};

// run_of reads run number BLOCK_Y: its rows, its slot, below 0 for none, and whether it is
// fresh. A slot has stride numbers.
DEVICE run run_of(const int *runs, float *states, int stride) {
  runs += 4 * BLOCK_Y;
  return {runs[0], runs[1], runs[2] >= 0, runs[2] < 0 || runs[3] != 0, states + (int64_t)most(runs[2], 0) * stride};
}

// Blocks hold so many rows of what they need in shared memory, and get those of one chunk together.
#define HELD_ROWS 8

// A block of what needs no row's result for the next has so many rows of a run.
#define TILE_ROWS 64

// all_lanes waits for a warp's lanes, some of which have been elsewhere.
DEVICE void all_lanes() { __nvvm_bar_warp_sync(-1); }

// all_threads is block_sync behind what not all lanes of a warp have done.
DEVICE void all_threads() {
  all_lanes();
  block_sync();
}

// softplus returns log(1 + e^x) within 2^-21 of it: log(1 + u) is 2·artanh(u / (2 + u)), whose
// argument is a third at most.
DEVICE float softplus(float x) {
  float u = exponential(-absolute(x)), s = u / (2.0f + u), q = s * s;
  float p = fma(q, fma(q, fma(q, fma(q, fma(q, 1.0f / 13, 1.0f / 11), 1.0f / 9), 1.0f / 7), 1.0f / 5), 1.0f / 3);
  return (x > 0.0f ? x : 0.0f) + 2.0f * fma(s, q * p, s);
}
