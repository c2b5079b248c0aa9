// Attention to Q8_0 caches on tensor cores.
#include "decode.cuh"

ATTEND_PREFILL(q8_0, 64) ATTEND_PREFILL(q8_0, 96) ATTEND_PREFILL(q8_0, 128) ATTEND_PREFILL(q8_0, 256)
ATTEND_GROUPS(q8_0)
