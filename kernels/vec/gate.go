package vec

// Gates and activations of few models, plain Go.

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

// ReLU writes max(x, 0), times up where that is not nil. dst may be either.
func ReLU(dst, x, up []float32) {
	for i, v := range x {
		v = max(v, 0)
		if up != nil {
			v *= up[i]
		}
		dst[i] = v
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

// Clamp writes x kept within ±limit. dst may be x. What is not a number stays so.
func Clamp(dst, x []float32, limit float32) {
	for i, v := range x {
		dst[i] = min(max(v, -limit), limit)
	}
}

// XIELU writes positive · x² + beta · x for x above 0, and elsewhere
// negative · (exp(min(x, epsilon)) − 1 − x) + beta · x. dst may be x. The difference keeps an
// absolute error of about 2·10⁻⁷: near 0 it is as small as x², which is far less than beta · x.
//
// Huang & Schlag, "Deriving Activation Functions Using Integration", 2025, §3.
func XIELU(dst, x []float32, positive, negative, beta, epsilon float32) {
	var buf [span]float32
	for len(x) > 0 {
		e := buf[:min(span, len(x))]
		for i := range e {
			e[i] = min(x[i], epsilon)
		}
		exps(e)
		for i, ex := range e {
			v := x[i]
			if v > 0 {
				dst[i] = positive*v*v + beta*v
			} else {
				dst[i] = negative*(ex-1-v) + beta*v
			}
		}
		x, dst = x[len(e):], dst[len(e):]
	}
}
