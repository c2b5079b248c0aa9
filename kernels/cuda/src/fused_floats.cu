// The fused products with weights of a float type.
#include "fused.cuh"

FUSED(floats, 1) FUSED(floats, 2) FUSED(floats, 4) FUSED(floats, 8)
