package sample

import "math"

// expSteps is how many table entries there are to each power of two.
const expSteps = 256

// expTable[i] holds the bits of 2^(i/expSteps).
var expTable = func() (t [expSteps]uint64) {
	for i := range t {
		t[i] = math.Float64bits(math.Exp2(float64(i) / expSteps))
	}
	return t
}()

// exp returns e^x for x ≤ 0 with a relative error below 1e-9; below -700 it
// returns 0. It is several times as fast as math.Exp, which matters when it
// runs once per token of a vocabulary.
//
// x = n·ln2/expSteps + r, so e^x = 2^(n/expSteps)·e^r with |r| ≤ ln2/512, and
// the first three terms of e^r are off by at most r³/6 < 5e-10.
func exp(x float64) float64 {
	if x < -700 {
		return 0
	}
	// Adding 1.5·2^52 rounds to an integer and leaves it in the low bits.
	const round = 3 << 51
	t := x*(expSteps/math.Ln2) + round
	n := int32(math.Float64bits(t))
	r := x - (t-round)*(math.Ln2/expSteps)
	scale := math.Float64frombits(expTable[uint8(n)] + uint64(int64(n>>8))<<52)
	return scale + scale*(r+r*r*0.5)
}
