// Package ptxvm runs PTX on the CPU, so that the very text that ships for GPUs
// is what tests execute.
//
// Parse reads the part of PTX that clang emits for compute kernels, with matrix
// products by mma.sync and, of bf16, by wgmma, but of atomics only those that
// count, and without bulk copies; anything else is refused by name. A Device holds memory and runs a
// kernel over a grid of blocks, one block after the other, warps in order,
// the lanes of a diverged warp lowest program counter first: a run always gives
// the same bits. Every access is checked against bounds, alignment and whether
// the bytes, or the register, were ever written; barriers and warp collectives
// that only part of their threads reach are faults, and so is touching what an
// asynchronous product or copy still reads or writes. Races, timing and the order
// in which a GPU runs blocks are not seen.
//
// Arithmetic rounds as the PTX ISA says. Instructions the ISA calls
// approximate (ex2, rsqrt, rcp, sqrt, div with .approx) are rounded correctly here; a GPU may be off by what the ISA's tables allow,
// about 2 units in the last place.
//
// NVIDIA, "Parallel Thread Execution ISA", versions 7.5 and 8.0, chapters 5, 6 and 9.
package ptxvm
