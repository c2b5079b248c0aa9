package tensor

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"quern/formats/onnx"
)

// CastOptions say what becomes of numbers an 8-bit float cannot hold, and how
// Float8E8M0 is rounded: up, down or nearest.
type CastOptions struct {
	Saturate bool
	Mode     string
}

// Cast returns the elements of x as numbers of another type. Floats are cut to
// integers towards zero, integers to the bits there are.
func Cast(x *Tensor, to onnx.DType, o CastOptions) *Tensor {
	if x.Type == onnx.String || to == onnx.String {
		return castText(x, to, o)
	}
	if x.Len() == 0 && x.F == nil && x.D == nil && x.I == nil {
		Malformed("cast of %v", x.Type)
	}
	out := x.another(to, x.Shape...)
	switch {
	case x.F != nil && out.F != nil:
		copy(out.F, x.F)
		roundAs(out, o)
	case x.D != nil && out.F != nil:
		for i, v := range x.D {
			out.F[i] = o.round(to, v)
		}
	case x.I != nil && out.F != nil:
		if x.Type == onnx.Uint64 {
			for i, v := range x.I {
				out.F[i] = float32(uint64(v))
			}
		} else {
			for i, v := range x.I {
				out.F[i] = float32(v)
			}
		}
		roundAs(out, o)
	case out.D != nil:
		for i := range out.D {
			out.D[i] = x.At(i)
		}
	case x.F != nil:
		for i, v := range x.F {
			out.I[i] = whole(to, float64(v))
		}
	case x.D != nil:
		for i, v := range x.D {
			out.I[i] = whole(to, v)
		}
	default:
		for i, v := range x.I {
			out.I[i] = Wrap(to, v)
		}
	}
	return out
}

// whole cuts a number to an integer type.
func whole(to onnx.DType, v float64) int64 {
	switch {
	case to == onnx.Bool:
		if v != 0 {
			return 1
		}
		return 0
	case math.IsNaN(v):
		return 0
	case to == onnx.Uint64 && v >= 0x1p63:
		return int64(uint64(min(v, 0x1.fffffffffffffp63)))
	case v >= 0x1p63:
		return Wrap(to, math.MaxInt64)
	case v < -0x1p63:
		return Wrap(to, math.MinInt64)
	}
	return Wrap(to, int64(v))
}

func (o CastOptions) round(t onnx.DType, v float64) float32 {
	if t == onnx.Float8E8M0 {
		return float32(roundPower(v, o.Mode, o.Saturate))
	}
	return float32(RoundTo(t, v, o.Saturate))
}

// roundAs rounds what a tensor holds to its type.
func roundAs(t *Tensor, o CastOptions) {
	switch t.Type {
	case onnx.Float:
	case onnx.Float16, onnx.BFloat16:
		RoundAll(t.Type, t.F)
	default:
		for i, v := range t.F {
			t.F[i] = o.round(t.Type, float64(v))
		}
	}
}

// RoundAll rounds float32 to a narrower type in place, ties to even.
func RoundAll(t onnx.DType, x []float32) {
	switch t {
	case onnx.Float:
	case onnx.BFloat16:
		for i, v := range x {
			if v == v {
				b := math.Float32bits(v)
				x[i] = math.Float32frombits((b + 0x7fff + b>>16&1) &^ 0xffff)
			}
		}
	case onnx.Float16:
		for i, v := range x {
			b := math.Float32bits(v)
			switch a := b &^ (1 << 31); {
			case a >= 0x7f800000: // infinity and NaN
			case a < 0x38800000:
				// Below 2⁻¹⁴ the step is 2⁻²⁴, that of float32 next to ½.
				r := (math.Float32frombits(a) + 0.5) - 0.5
				x[i] = math.Float32frombits(math.Float32bits(r) | b&(1<<31))
			default:
				if b = (b + 0xfff + b>>13&1) &^ 0x1fff; b&^(1<<31) >= 0x47800000 {
					b = b&(1<<31) | 0x7f800000
				}
				x[i] = math.Float32frombits(b)
			}
		}
	default:
		for i, v := range x {
			x[i] = float32(Round(t, float64(v)))
		}
	}
}

// castText casts from and to strings. Numbers are written as numpy does, and
// read as it reads them.
func castText(x *Tensor, to onnx.DType, o CastOptions) *Tensor {
	out := x.another(to, x.Shape...)
	for i := range x.Len() {
		switch {
		case x.S != nil && out.I != nil:
			v, err := strconv.ParseInt(strings.TrimSpace(x.S[i]), 10, 64)
			if err != nil {
				f, err := strconv.ParseFloat(strings.TrimSpace(x.S[i]), 64)
				if err != nil {
					Malformed("%.100q as %v", x.S[i], to)
				}
				v = whole(to, f)
			}
			out.I[i] = Wrap(to, v)
		case x.S != nil:
			v, err := strconv.ParseFloat(strings.TrimSpace(x.S[i]), 64)
			if err != nil && !strings.Contains(err.Error(), "range") {
				Malformed("%.100q as %v", x.S[i], to)
			}
			if out.D != nil {
				out.D[i] = v
			} else {
				out.F[i] = o.round(to, v)
			}
		case x.F != nil:
			out.S[i] = number(float64(x.F[i]), 32)
		case x.D != nil:
			out.S[i] = number(x.D[i], 64)
		case x.Type == onnx.Bool:
			out.S[i] = [2]string{"False", "True"}[x.I[i]&1]
		case x.Type == onnx.Uint64:
			out.S[i] = fmt.Sprint(uint64(x.I[i]))
		default:
			out.S[i] = fmt.Sprint(x.I[i])
		}
	}
	return out
}

func number(v float64, bits int) string {
	switch {
	case math.IsNaN(v):
		return "NaN"
	case math.IsInf(v, 1):
		return "INF"
	case math.IsInf(v, -1):
		return "-INF"
	}
	if a := math.Abs(v); a != 0 && (a < 1e-4 || a >= 1e16) {
		return strconv.FormatFloat(v, 'e', -1, bits)
	}
	s := strconv.FormatFloat(v, 'f', -1, bits)
	if !strings.Contains(s, ".") {
		s += ".0"
	}
	return s
}

// Rounded returns t, whose numbers were computed in float32, with them rounded to its
// type.
func Rounded(t *Tensor) *Tensor {
	RoundAll(t.Type, t.F)
	return t
}
