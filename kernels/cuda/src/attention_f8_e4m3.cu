// Attention to F8_E4M3 caches on tensor cores.
#include "decode.cuh"

ATTEND_PREFILL(f8_e4m3, 64) ATTEND_PREFILL(f8_e4m3, 80) ATTEND_PREFILL(f8_e4m3, 96) ATTEND_PREFILL(f8_e4m3, 128) ATTEND_PREFILL(f8_e4m3, 256)
ATTEND_GROUPS(f8_e4m3)
