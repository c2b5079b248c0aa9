#!/usr/bin/env bash
# ONNX graphs beside ONNX Runtime.
. "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"

cp -r bench/onnx/package.json bench/onnx/peer.mjs "$scratch/"
(cd "$scratch" && npm_install)
go run ./bench/onnx -check "$scratch"
