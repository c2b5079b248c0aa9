#!/usr/bin/env bash
# The race detector, where goroutines meet.
. "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"

need gcc gcc libc6-dev
CGO_ENABLED=1 go test -race -short -timeout 15m ./httpapi/... ./engine/{local,catalog,residency,textgen,embed} ./engine/sched/... ./engine/draft ./engine/cpu/... ./engine/chat/... ./engine/grammar ./engine/asr/... ./engine/onnx/... ./engine/tts ./engine/tts/formant ./kernels/{vec,gemm,matmul,attention,conv,recurrent,threads} ./kernels/cuda/driver ./cmd/... ./bench/serve/...
CGO_ENABLED=1 go test -race -run Concurrent ./engine/tts/g2p
CGO_ENABLED=1 go test -race -run Speak ./engine/tts/kokoro
