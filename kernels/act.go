package kernels

import (
	"fmt"
	"math"
)

// Add writes x + y to dst. The three have one length; dst may be x or y.
func Add(dst, x, y []float32) {
	if len(dst) != len(x) || len(dst) != len(y) {
		panic(fmt.Sprintf("kernels: Add of %d and %d floats into %d", len(x), len(y), len(dst)))
	}
	for i, v := range x {
		dst[i] = v + y[i]
	}
}

// SiLUGate writes gate · sigmoid(gate) · up to dst. The three have one length;
// dst may be gate or up. The sigmoid's relative error is below 4·2⁻²³.
func SiLUGate(dst, gate, up []float32) {
	if len(dst) != len(gate) || len(dst) != len(up) {
		panic(fmt.Sprintf("kernels: SiLUGate of %d and %d floats into %d", len(gate), len(up), len(dst)))
	}
	done := 0
	if v := vectors(); v.siluGate != nil {
		if done = len(dst) &^ (v.lanes - 1); done > 0 {
			v.siluGate(&dst[0], &gate[0], &up[0], done)
		}
	}
	for i := done; i < len(dst); i++ {
		g := gate[i]
		dst[i] = g / (1 + exp(-g)) * up[i]
	}
}

// expSum replaces every x by exp(x - top) and returns their sum, taken in an
// order that depends on the length and the CPU level only.
func expSum(x []float32, top float32) float32 {
	done, sum := 0, float32(0)
	if v := vectors(); v.expSum != nil {
		if done = len(x) &^ (v.lanes - 1); done > 0 {
			sum = v.expSum(&x[0], done, top)
		}
	}
	for i := done; i < len(x); i++ {
		x[i] = exp(x[i] - top)
		sum += x[i]
	}
	return sum
}

// exp returns eˣ with a relative error below 2·2⁻²³: 0 below -87.3 where the
// result would be subnormal, +Inf above 88.7, NaN for NaN. The vector forms
// stop at e^-87.3 and e^88.7 instead.
//
// x = k·ln 2 + r with |r| ≤ ln 2 / 2; eʳ is its Taylor polynomial of degree 7,
// whose remainder there is below 2⁻²⁶.
func exp(x float32) float32 {
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
	// 2ⁿ in two factors: n reaches 128, which is no exponent of its own.
	h := n >> 1
	return p * math.Float32frombits(uint32(h+127)<<23) * math.Float32frombits(uint32(n-h+127)<<23)
}
