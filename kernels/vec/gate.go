package vec

// Gates of few models, plain Go.

// SigmoidGate writes up / (1 + exp(-gate)). dst may be gate or up.
func SigmoidGate(dst, gate, up []float32) {
	for i, g := range gate {
		dst[i] = up[i] / (1 + ExpScalar(-g))
	}
}

// Multiply writes x · y. dst may be either.
func Multiply(dst, x, y []float32) {
	for i, v := range x {
		dst[i] = v * y[i]
	}
}

// SquaredReLU writes max(x, 0)², times up where that is not nil. dst may be either.
func SquaredReLU(dst, x, up []float32) {
	for i, v := range x {
		v = max(v, 0)
		v *= v
		if up != nil {
			v *= up[i]
		}
		dst[i] = v
	}
}
