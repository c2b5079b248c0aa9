//go:build !(amd64 || arm64 || (wasm && js && simd128)) || noasm

package isa

func detect() Level { return Generic }
