// The rotated products with quantised weights.
#include "rotated.cuh"

ROTATED(blocks, 1) ROTATED(blocks, 2) ROTATED(blocks, 4) ROTATED(blocks, 8)
