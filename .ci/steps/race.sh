#!/usr/bin/env bash
# The race detector, where goroutines meet. Tests that are long and whose goroutines others have
# too are left out by name, for the detector makes Go ten times as slow.
. "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"

need gcc gcc libc6-dev
CGO_ENABLED=1 go test -race -short -timeout 15m -skip '^Test(Arrows|CUDATag|Doctor|Greeting|Quantize.*|Speakers|SpeakersOfWhisper|BodiesShare.*|FormBesideToolsOfEveryFormat|TerminalHelp|EightBits|Many(Objects|Items)|UncertainLanguage|OddTools)$' \
  ./httpapi/... ./engine/{local,catalog,residency,textgen,embed} ./engine/sched/... ./engine/draft ./engine/cpu/... \
  ./engine/asr ./engine/asr/{conformer,vad} ./engine/onnx/... ./engine/tts ./engine/tts/formant \
  ./kernels/{vec,gemm,matmul,attention,conv,recurrent,threads,offheap} ./kernels/cuda/driver ./cmd/... ./bench/serve/...
CGO_ENABLED=1 go test -race -run Concurrent ./engine/tts/g2p ./engine/grammar ./engine/chat/...
CGO_ENABLED=1 go test -race -run Speak ./engine/tts/kokoro
