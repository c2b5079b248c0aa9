package element

import (
	"math"
	"slices"

	"quern/engine/onnx/internal/run"
	"quern/engine/onnx/internal/tensor"
	"quern/formats/onnx"
	"quern/kernels/vec"
)

// A unary computes one element from one. Float32 and narrower floats go through
// fast, else through d and a rounding. A nil function stands for types the
// operator does not take.
type unary struct {
	fast func(dst, x []float32) // dst may be x
	d    func(float64) float64
	i    func(int64) int64
}

func mapped(c *run.Call, x *tensor.Tensor, f unary) *tensor.Tensor {
	if x.S != nil || x.Seq != nil || x.None() || x.I != nil && f.i == nil || x.I == nil && f.d == nil && f.fast == nil || x.D != nil && f.d == nil {
		tensor.Malformed("%s of %v", c.Node.Op, x.Type)
	}
	out := over(c, x.Shape, x)
	c.ByRows(x.Len(), 1, func(from, to int) {
		switch {
		case x.F != nil && f.fast != nil:
			f.fast(out.F[from:to], x.F[from:to])
			tensor.RoundAll(out.Type, out.F[from:to])
		case x.F != nil:
			for i, v := range x.F[from:to] {
				out.F[from+i] = float32(f.d(float64(v)))
			}
			tensor.RoundAll(out.Type, out.F[from:to])
		case x.D != nil:
			for i, v := range x.D[from:to] {
				out.D[from+i] = f.d(v)
			}
		default:
			for i, v := range x.I[from:to] {
				out.I[from+i] = tensor.Wrap(x.Type, f.i(v))
			}
		}
	})
	return out
}

func plain(f func(float64) float64) func(*run.Call) unary {
	return func(*run.Call) unary { return unary{d: f} }
}

// unaries are the functions of one element; the call gives their attributes.
func unaries() map[string]func(c *run.Call) unary {
	sigmoid := func(v float64) float64 { return 1 / (1 + math.Exp(-v)) }
	elu := func(alpha float64) func(float64) float64 {
		return func(v float64) float64 {
			if v < 0 {
				return alpha * math.Expm1(v)
			}
			return v
		}
	}
	return map[string]func(c *run.Call) unary{
		"Abs": func(c *run.Call) unary {
			u := unary{fast: absRow, d: math.Abs, i: func(v int64) int64 { return max(v, -v) }}
			if tensor.Unsigned(c.X(0).Type) {
				u.i = func(v int64) int64 { return v }
			}
			return u
		},
		"Neg": func(*run.Call) unary {
			return unary{negRow, func(v float64) float64 { return -v }, func(v int64) int64 { return -v }}
		},
		"Sign": func(c *run.Call) unary {
			u := unary{d: func(v float64) float64 {
				switch {
				case v > 0:
					return 1
				case v < 0:
					return -1
				}
				return v
			}, i: func(v int64) int64 { return min(max(v, -1), 1) }}
			if tensor.Unsigned(c.X(0).Type) {
				u.i = func(v int64) int64 { return tensor.Wrap(onnx.Bool, v) }
			}
			return u
		},
		"BitwiseNot": func(*run.Call) unary { return unary{i: func(v int64) int64 { return ^v }} },
		"Ceil":       plain(math.Ceil),
		"Floor":      plain(math.Floor),
		"Round":      plain(math.RoundToEven),
		"Sqrt":       func(*run.Call) unary { return unary{fast: sqrtRow, d: math.Sqrt} },
		"Reciprocal": func(*run.Call) unary { return unary{fast: reciprocalRow, d: func(v float64) float64 { return 1 / v }} },
		"Exp":        func(*run.Call) unary { return unary{fast: vec.Exp, d: math.Exp} },
		"Log":        plain(math.Log),
		"Sin":        func(*run.Call) unary { return unary{fast: sinRow, d: math.Sin} },
		"Cos":        plain(math.Cos),
		"Tan":        plain(math.Tan),
		"Asin":       plain(math.Asin),
		"Acos":       plain(math.Acos),
		"Atan":       plain(math.Atan),
		"Sinh":       plain(math.Sinh),
		"Cosh":       plain(math.Cosh),
		"Tanh":       func(*run.Call) unary { return unary{fast: tanhRow, d: math.Tanh} },
		"Asinh":      plain(math.Asinh),
		"Acosh":      plain(math.Acosh),
		"Atanh":      plain(math.Atanh),
		"Erf":        func(*run.Call) unary { return unary{fast: erfRow, d: math.Erf} },
		"Sigmoid":    func(*run.Call) unary { return unary{fast: vec.Sigmoid, d: sigmoid} },
		"Relu": func(*run.Call) unary {
			return unary{reluRow, func(v float64) float64 { return max(v, 0) }, func(v int64) int64 { return max(v, 0) }}
		},
		"LeakyRelu": func(c *run.Call) unary {
			alpha := c.Float("alpha", 0.01)
			narrow := float32(alpha)
			return unary{fast: func(dst, x []float32) {
				for i, v := range x {
					if v < 0 {
						v *= narrow
					}
					dst[i] = v
				}
			}, d: func(v float64) float64 {
				if v < 0 {
					return alpha * v
				}
				return v
			}}
		},
		"ThresholdedRelu": func(c *run.Call) unary {
			alpha := c.Float("alpha", 1)
			return unary{d: func(v float64) float64 {
				if v > alpha {
					return v
				}
				return 0
			}}
		},
		"Elu": func(c *run.Call) unary { return unary{d: elu(c.Float("alpha", 1))} },
		"Celu": func(c *run.Call) unary {
			alpha := c.Float("alpha", 1)
			return unary{d: func(v float64) float64 { return max(v, 0) + min(0, alpha*math.Expm1(v/alpha)) }}
		},
		"Selu": func(c *run.Call) unary {
			e, gamma := elu(c.Float("alpha", 1.67326319217681884765625)), c.Float("gamma", 1.05070102214813232421875)
			return unary{d: func(v float64) float64 { return gamma * e(v) }}
		},
		"Gelu": func(c *run.Call) unary {
			switch kind := c.Text("approximate", "none"); kind {
			case "none":
				return unary{fast: geluRow, d: gelu}
			case "tanh":
				return unary{fast: func(dst, x []float32) { vec.GELUTanh(dst, x, nil) }, d: func(v float64) float64 {
					return v / 2 * (1 + math.Tanh(math.Sqrt(2/math.Pi)*(v+0.044715*v*v*v)))
				}}
			default:
				tensor.Unsupported("Gelu by %.100q", kind)
			}
			return unary{}
		},
		"HardSigmoid": func(c *run.Call) unary {
			alpha, beta := c.Float("alpha", 0.2), c.Float("beta", 0.5)
			return unary{d: func(v float64) float64 { return max(0, min(1, alpha*v+beta)) }}
		},
		"HardSwish": plain(func(v float64) float64 { return v * max(0, min(1, v/6+0.5)) }),
		"Mish":      plain(func(v float64) float64 { return v * math.Tanh(softplus(v)) }),
		"Softplus":  plain(softplus),
		"Softsign":  plain(func(v float64) float64 { return v / (1 + math.Abs(v)) }),
		"Swish": func(c *run.Call) unary {
			alpha := c.Float("alpha", 1)
			u := unary{d: func(v float64) float64 { return v * sigmoid(alpha*v) }}
			if alpha == 1 {
				u.fast = siluRow
			}
			return u
		},
		"Shrink": func(c *run.Call) unary {
			bias, lambda := c.Float("bias", 0), c.Float("lambd", 0.5)
			f := func(v float64) float64 {
				switch {
				case v < -lambda:
					return v + bias
				case v > lambda:
					return v - bias
				}
				return 0
			}
			return unary{d: f, i: func(v int64) int64 { return int64(f(float64(v))) }}
		},
		"Clip": clip,
	}
}

// clip takes its limits from inputs, before opset 11 from attributes.
func clip(c *run.Call) unary {
	x := c.X(0)
	limits := [2]*tensor.Tensor{c.Opt(1), c.Opt(2)}
	for i, name := range []string{"min", "max"} {
		if a := c.Attr(name); limits[i] == nil && a != nil {
			limits[i] = tensor.New(onnx.Float)
			limits[i].F[0] = a.F
		}
	}
	lo, hi := math.Inf(-1), math.Inf(1)
	ilo, ihi := int64(math.MinInt64), int64(math.MaxInt64)
	if t := limits[0]; t != nil {
		lo = t.Scalar().At(0)
		if t.I != nil {
			ilo = t.I[0]
		}
	}
	if t := limits[1]; t != nil {
		hi = t.Scalar().At(0)
		if t.I != nil {
			ihi = t.I[0]
		}
	}
	flo, fhi := float32(lo), float32(hi)
	u := unary{
		fast: func(dst, x []float32) {
			for i, v := range x {
				if v < flo {
					v = flo
				}
				if v > fhi {
					v = fhi
				}
				dst[i] = v
			}
		},
		d: func(v float64) float64 { return min(max(v, lo), hi) },
		i: func(v int64) int64 { return min(max(v, ilo), ihi) },
	}
	if x.Type == onnx.Uint64 {
		ulo, uhi := uint64(0), uint64(math.MaxUint64)
		if limits[0] != nil {
			ulo = uint64(ilo)
		}
		if limits[1] != nil {
			uhi = uint64(ihi)
		}
		u.i = func(v int64) int64 { return int64(min(max(uint64(v), ulo), uhi)) }
	}
	return u
}

func gelu(v float64) float64 { return v / 2 * math.Erfc(-v/math.Sqrt2) }

// geluRow is the kernel but for the lower tail, where an error of 2·10⁻⁷ in Φ is
// one of more than a thousandth.
func geluRow(dst, x []float32) {
	const tail = -3
	var in [256]float32
	for len(x) > 0 {
		n := copy(in[:], x)
		vec.GELU(dst[:n], in[:n], nil)
		for i, v := range in[:n] {
			if v < tail {
				dst[i] = float32(gelu(float64(v)))
			}
		}
		dst, x = dst[n:], x[n:]
	}
}

// tanhRow is the kernel but next to zero, where its error is large beside the
// result.
//
// Abramowitz & Stegun, 1964, formula 4.5.64.
func tanhRow(dst, x []float32) {
	const near = 0.25
	var in [256]float32
	for len(x) > 0 {
		n := copy(in[:], x)
		vec.Tanh(dst[:n], in[:n])
		for i, v := range in[:n] {
			if v < near && v > -near {
				q := v * v
				dst[i] = v * (1 + q*(-1./3+q*(2./15+q*(-17./315+q*(62./2835)))))
			}
		}
		dst, x = dst[n:], x[n:]
	}
}

// sinRow is the kernel, but for angles beyond its bound.
func sinRow(dst, x []float32) {
	const bound = 1 << 22
	for n := 0; len(x) > 0; dst, x = dst[n:], x[n:] {
		n = min(len(x), 256)
		if far := func(v float32) bool { return !(v >= -bound && v <= bound) }; !slices.ContainsFunc(x[:n], far) {
			vec.Sin(dst[:n], x[:n])
			continue
		}
		for i, v := range x[:n] {
			dst[i] = float32(math.Sin(float64(v)))
		}
	}
}

func softplus(v float64) float64 { return max(v, 0) + math.Log1p(math.Exp(-math.Abs(v))) }

func absRow(dst, x []float32) {
	for i, v := range x {
		dst[i] = math.Float32frombits(math.Float32bits(v) &^ (1 << 31))
	}
}

func negRow(dst, x []float32) {
	for i, v := range x {
		dst[i] = -v
	}
}

func sqrtRow(dst, x []float32) {
	for i, v := range x {
		dst[i] = float32(math.Sqrt(float64(v)))
	}
}

func reciprocalRow(dst, x []float32) {
	for i, v := range x {
		dst[i] = 1 / v
	}
}

func reluRow(dst, x []float32) { vec.Affine(dst, x, 1, 0, 0) }

func siluRow(dst, x []float32) { vec.SiLU(dst, x, nil) }

// erfRow takes the error function from the kernel of GELU, 2·Φ(√2·x) - 1, but
// next to zero, where that cancels, from its series.
//
// Abramowitz & Stegun, 1964, formula 7.1.5.
func erfRow(dst, x []float32) {
	const far, near = 4, 0.5 // beyond far float32 has no more digits
	var t, g [256]float32
	for len(x) > 0 {
		n := min(len(x), len(t))
		for i, v := range x[:n] {
			t[i] = v * math.Sqrt2
		}
		vec.GELU(g[:n], t[:n], nil)
		for i, v := range x[:n] {
			switch {
			case v > far:
				dst[i] = 1
			case v < -far:
				dst[i] = -1
			case v > near || v < -near:
				dst[i] = 2*g[i]/t[i] - 1
			default:
				q := v * v
				p := 1 + q*(-1./3+q*(1./10+q*(-1./42+q*(1./216+q*(-1./1320+q*(1./9360))))))
				dst[i] = 2 / math.SqrtPi * v * p
			}
		}
		dst, x = dst[n:], x[n:]
	}
}

// predicates are questions about a number.
var predicates = map[string]func(c *run.Call) func(float64) bool{
	"IsNaN": func(*run.Call) func(float64) bool { return math.IsNaN },
	"IsInf": func(c *run.Call) func(float64) bool {
		down, up := c.Int("detect_negative", 1) != 0, c.Int("detect_positive", 1) != 0
		return func(v float64) bool { return down && math.IsInf(v, -1) || up && math.IsInf(v, 1) }
	},
}

func test(c *run.Call, f func(float64) bool) *tensor.Tensor {
	x := c.X(0)
	if x.F == nil && x.D == nil {
		tensor.Malformed("%s of %v", c.Node.Op, x.Type)
	}
	out := c.Zeros(onnx.Bool, x.Shape...)
	for i := range out.I {
		if f(x.At(i)) {
			out.I[i] = 1
		}
	}
	return out
}
