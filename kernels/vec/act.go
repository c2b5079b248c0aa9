package vec

import (
	"fmt"
	"math"
)

// SiLUGate writes gate · sigmoid(gate) · up to dst. The three have one length;
// dst may be gate or up. The sigmoid's relative error is below 4·2⁻²³.
func SiLUGate(dst, gate, up []float32) {
	if len(dst) != len(gate) || len(dst) != len(up) {
		panic(fmt.Sprintf("vec: SiLUGate of %d and %d floats into %d", len(gate), len(up), len(dst)))
	}
	done := 0
	if v := vectors(); v.siluGate != nil {
		if done = len(dst) &^ (v.lanes - 1); done > 0 {
			v.siluGate(&dst[0], &gate[0], &up[0], done)
		}
	}
	for i := done; i < len(dst); i++ {
		g := gate[i]
		dst[i] = g / (1 + ExpScalar(-g)) * up[i]
	}
}

// Weigh multiplies each row of x by the sigmoid of its weight. dst and x are
// (len(weight), width); dst may be x. The sigmoid's relative error is below
// 4·2⁻²³.
func Weigh(dst, x, weight []float32) {
	if len(dst) != len(x) || len(weight) == 0 || len(x)%len(weight) != 0 {
		panic(fmt.Sprintf("vec: Weigh of %d floats by %d into %d", len(x), len(weight), len(dst)))
	}
	n := len(x) / len(weight)
	for i, w := range weight {
		Scale(dst[i*n:(i+1)*n], x[i*n:(i+1)*n], 1/(1+ExpScalar(-w)))
	}
}

// SiLU writes x · sigmoid(x) · up to dst; a nil up is all ones. The others have one length;
// dst may be x or up. The sigmoid's relative error is below 4·2⁻²³.
func SiLU(dst, x, up []float32) {
	checkGate("SiLU", dst, x, up)
	if up != nil {
		SiLUGate(dst, x, up)
		return
	}
	var ones [span]float32
	for i := range ones {
		ones[i] = 1
	}
	for at := 0; at < len(x); at += span {
		n := min(span, len(x)-at)
		SiLUGate(dst[at:at+n], x[at:at+n], ones[:n])
	}
}

// span is the number of values that the functions below pass to exps at a time. It is a
// multiple of every vector, so a value's bits do not depend on other rows as long as
// calls begin at a row.
const span = 128

// SoftCap writes limit · tanh(x / limit) to dst, within limit · 4·2⁻²³. dst may
// be x. tanh x = 1 - 2/(1 + e²ˣ).
func SoftCap(dst, x []float32, limit float32) {
	if len(dst) != len(x) {
		panic(fmt.Sprintf("vec: SoftCap of %d floats into %d", len(x), len(dst)))
	}
	var buf [span]float32
	for len(x) > 0 {
		e := buf[:min(span, len(x))]
		for i := range e {
			e[i] = 2 * x[i] / limit
		}
		exps(e)
		for i, v := range e {
			dst[i] = limit * (1 - 2/(1+v))
		}
		x, dst = x[len(e):], dst[len(e):]
	}
}

// GELU writes x · Φ(x) · up to dst; a nil up is all ones. The others have
// one length; dst may be x or up. Φ is within 2·10⁻⁷ of the normal distribution.
//
// Hendrycks & Gimpel, "Gaussian Error Linear Units", 2016, §2; the error
// function is formula 7.1.26 of Abramowitz & Stegun, 1964.
func GELU(dst, x, up []float32) {
	checkGate("GELU", dst, x, up)
	done := 0
	if v := vectors(); v.points != nil {
		done = v.whole(len(x))
		for at := 0; at < done; at += mostPoints {
			v.gelu(&dst[at], &x[at], first(up[min(at, len(up)):]), min(mostPoints, done-at))
		}
	}
	const p, a1, a2, a3, a4, a5 = 0.3275911, 0.254829592, -0.284496736, 1.421413741, -1.453152027, 1.061405429
	var buf [span]float32
	for at := done; at < len(x); at += span {
		e := buf[:min(span, len(x)-at)]
		for i := range e {
			v := x[at+i]
			e[i] = v * v * -0.5
		}
		exps(e)
		for i, ex := range e {
			v := x[at+i]
			t := 1 / (1 + float32(p/math.Sqrt2)*abs(v))
			// tail is 1 - erf(|x|/√2), so half of it is Φ(-|x|).
			tail := ((((a5*t+a4)*t+a3)*t+a2)*t + a1) * t * ex
			phi := 0.5 * tail
			if v > 0 {
				phi = 1 - phi
			}
			e[i] = v * phi
		}
		store(dst[at:], e, up, at)
	}
}

// GELUTanh is GELU by its approximation x/2 · (1 + tanh(√(2/π)·(x + 0.044715x³))),
// as the paper has it, with a relative error below 16·2⁻²³ where |x| < 8.
// x/2 · (1 + tanh u) = x / (1 + e⁻²ᵘ).
func GELUTanh(dst, x, up []float32) {
	checkGate("GELUTanh", dst, x, up)
	done := 0
	if v := vectors(); v.points != nil {
		done = v.whole(len(x))
		for at := 0; at < done; at += mostPoints {
			v.geluTanh(&dst[at], &x[at], first(up[min(at, len(up)):]), min(mostPoints, done-at))
		}
	}
	const root = 0.797884560802865355879892119868763737 // √(2/π)
	var buf [span]float32
	for at := done; at < len(x); at += span {
		e := buf[:min(span, len(x)-at)]
		for i := range e {
			v := x[at+i]
			e[i] = -2 * root * v * (1 + 0.044715*v*v)
		}
		exps(e)
		for i, ex := range e {
			e[i] = x[at+i] / (1 + ex)
		}
		store(dst[at:], e, up, at)
	}
}

// SwiGLUClamped writes g · sigmoid(1.702·g) · (u + 1) to dst, where g is gate
// but at most 7 and u is up limited to [-7, 7]. The three have one length; dst
// may be gate or up. The sigmoid's relative error is below 8·2⁻²³.
//
// OpenAI, "gpt-oss-120b & gpt-oss-20b Model Card", 2025, §2.2.
func SwiGLUClamped(dst, gate, up []float32) {
	checkGate("SwiGLUClamped", dst, gate, up)
	const alpha, limit = 1.702, 7
	var buf [span]float32
	for at := 0; at < len(gate); at += span {
		e := buf[:min(span, len(gate)-at)]
		for i := range e {
			e[i] = -alpha * min(gate[at+i], limit)
		}
		exps(e)
		for i, ex := range e {
			dst[at+i] = min(gate[at+i], limit) / (1 + ex) * (max(-limit, min(up[at+i], limit)) + 1)
		}
	}
}

func checkGate(name string, dst, x, up []float32) {
	if len(dst) != len(x) || up != nil && len(up) != len(x) {
		panic(fmt.Sprintf("vec: %s of %d and %d floats into %d", name, len(x), len(up), len(dst)))
	}
}

// store writes e, times up[at:] unless up is nil, to dst.
func store(dst, e, up []float32, at int) {
	if up == nil {
		copy(dst, e)
		return
	}
	for i, v := range e {
		dst[i] = v * up[at+i]
	}
}

func abs(x float32) float32 { return math.Float32frombits(math.Float32bits(x) &^ (1 << 31)) }

// ExpSum replaces every x by exp(x - top) and returns their sum, taken in an
// order that depends on the length and the CPU level only. An exponential's
// relative error is below 2·2⁻²³ down to x - top = -87.3; below that it is 0 or,
// in vectors, e^-87.3. NaN gives NaN.
func ExpSum(x []float32, top float32) float32 {
	done, sum := 0, float32(0)
	if v := vectors(); v.expSum != nil {
		if done = len(x) &^ (v.lanes - 1); done > 0 {
			sum = v.expSum(&x[0], done, top)
		}
	}
	for i := done; i < len(x); i++ {
		x[i] = ExpScalar(x[i] - top)
		sum += x[i]
	}
	return sum
}

// ExpScalar returns eˣ with a relative error below 2·2⁻²³: 0 below -87.3 where the
// result would be subnormal, +Inf above 88.7, NaN for NaN. The vector forms
// stop at e^-87.3 and e^88.7 instead.
//
// x = k·ln 2 + r with |r| ≤ ln 2 / 2; eʳ is its Taylor polynomial of degree 7,
// whose remainder there is below 2⁻²⁶.
func ExpScalar(x float32) float32 {
	const (
		log2e = 1 / math.Ln2
		ln2Hi = 0x1.62e4p-1 // 16 bits, so k·ln2Hi is exact
		ln2Lo = math.Ln2 - ln2Hi
	)
	switch {
	case x != x:
		return x
	case x > 88.72:
		return float32(math.Inf(1))
	case x < -87.33:
		return 0
	}
	// Adding 1.5·2²³ rounds to an integer, which is then in the low bits.
	const shift = 0x1.8p23
	t := float32(x*log2e) + shift
	k := t - shift
	r := x - k*ln2Hi - k*ln2Lo
	p := float32(1.0 / 5040)
	p = p*r + 1.0/720
	p = p*r + 1.0/120
	p = p*r + 1.0/24
	p = p*r + 1.0/6
	p = p*r + 0.5
	p = p*r + 1
	p = p*r + 1
	n := int32(math.Float32bits(t)) - int32(math.Float32bits(shift))
	// 2ⁿ in two factors: n reaches 128, which no float32 has as exponent.
	h := n >> 1
	return p * math.Float32frombits(uint32(h+127)<<23) * math.Float32frombits(uint32(n-h+127)<<23)
}
