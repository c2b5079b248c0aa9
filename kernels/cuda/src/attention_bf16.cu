// Attention to BF16 caches on tensor cores.
#include "decode.cuh"

ATTEND_PREFILL(bf16, 64) ATTEND_PREFILL(bf16, 80) ATTEND_PREFILL(bf16, 96) ATTEND_PREFILL(bf16, 128) ATTEND_PREFILL(bf16, 256)
ATTEND_GROUPS(bf16)
