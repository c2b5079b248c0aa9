// Package vec holds functions of vectors and rows of float32: activations,
// norms, softmax, rotary positions, transcendental functions and adaptive
// instance norms.
package vec

// A vector is the assembly of one CPU level, as kernels/_gen describes its functions. They
// take a multiple of lanes values; Go computes the rest, and all where a function is nil.
// A level has all functions of a group or none.
type vector struct {
	lanes int

	siluGate func(dst, gate, up *float32, n int)
	expSum   func(x *float32, n int, top float32) float32

	*points
}

// points are the pointwise kernels and the sums over rows.
type points struct {
	tanh, sigmoid  func(dst, x *float32, n int)
	sin            func(dst, x *float32, n int)
	gelu, geluTanh func(dst, x, up *float32, n int)
	leaky          func(dst, x, scale, shift *float32, n int, slope float32)
	snake          func(dst, x, scale, shift, alpha, inverse *float32, n int)
	columnSums     func(sum, x *float32, stride, rows, n int)
	columnSquares  func(sum, x, mean *float32, stride, rows, n int)
	sum            func(x *float32, n int) float32
	squares        func(x *float32, n int, less float32) float32
	normal         func(dst, x, w, bias *float32, n int, less, by float32)
	scaleMax       func(x *float32, n int, by float32) float32
	scale          func(dst, x *float32, n int, by float32)
	add, mul, max  func(dst, x, y *float32, n int)
	plus           func(dst, x *float32, n int, by float32)
	affine         func(dst, x *float32, n int, by, add, floor float32)
	bend           func(dst, x *float32, n int, by, add, slope float32)
	ropeAdjacent   func(dst, x, cos, sin *float32, n int)
	ropeHalves     func(dst, x, cos, sin *float32, half, n int)
}

// mostPoints is the most values passed to a pointwise kernel at a time: assembly cannot be
// preempted, and the garbage collector may be waiting.
const mostPoints = 1 << 14

// whole returns the number of n values that whole vectors cover, 0 without assembly.
func (v *vector) whole(n int) int {
	if v.points == nil {
		return 0
	}
	return n &^ (v.lanes - 1)
}

// first is &x[0], nil for an empty slice.
func first(x []float32) *float32 {
	if len(x) == 0 {
		return nil
	}
	return &x[0]
}
