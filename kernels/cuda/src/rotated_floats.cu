// The rotated products with weights of a float type.
#include "rotated.cuh"

ROTATED(floats, 1) ROTATED(floats, 2) ROTATED(floats, 4) ROTATED(floats, 8)
