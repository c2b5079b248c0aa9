// The fused products with quantised weights.
#include "fused.cuh"

FUSED(blocks, 1) FUSED(blocks, 2) FUSED(blocks, 4) FUSED(blocks, 8)
