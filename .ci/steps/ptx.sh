#!/usr/bin/env bash
# GPU kernels and the backend that runs them, on the interpreter of PTX: what a plain go test skips.
. "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"

QUERN_TEST_PTX=1 QUERN_TEST_CUDA=1 CGO_ENABLED=0 go test -count=1 -tags cuda ./kernels/cuda/... ./engine/cuda ./bench/cuda
