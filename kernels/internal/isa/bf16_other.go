//go:build !amd64 || noasm

package isa

const hasBF16 = false
