package vec

import (
	"fmt"
	"math"
)

// RopeTable writes the rotations of one position to cos and sin, one per
// pair: cos(position · freqs[i]) · magnitude and the sine alike. Angles are
// computed in float64: at position 100,000 a float32 angle is off by 0.004.
func RopeTable(cos, sin []float32, position int32, freqs []float64, magnitude float32) {
	if len(cos) != len(freqs) || len(sin) != len(freqs) {
		panic(fmt.Sprintf("vec: rotations of %d pairs into %d and %d floats", len(freqs), len(cos), len(sin)))
	}
	for i, f := range freqs {
		s, c := math.Sincos(float64(position) * f)
		cos[i], sin[i] = float32(c)*magnitude, float32(s)*magnitude
	}
}

// Rope rotates the first 2·len(cos) values of every head of x, a row of heads
// of headDim values, in pairs: (2i, 2i+1) when interleaved, else
// (i, i+len(cos)). The rest of a head is copied. dst may be x.
//
// Su et al., "RoFormer: Enhanced Transformer with Rotary Position Embedding",
// 2021, eq. 34.
func Rope(dst, x []float32, headDim int, cos, sin []float32, interleaved bool) {
	n := len(cos)
	if len(dst) != len(x) || headDim <= 0 || len(x)%headDim != 0 || len(sin) != n || 2*n > headDim {
		panic(fmt.Sprintf("vec: Rope of %d and %d pairs in heads of %d, %d floats into %d", n, len(sin), headDim, len(x), len(dst)))
	}
	v, done := vectors(), 0
	if v.points != nil {
		done = n &^ (ropePairs - 1)
	}
	for h := 0; h < len(x); h += headDim {
		in, out := x[h:h+headDim], dst[h:h+headDim]
		copy(out[2*n:], in[2*n:])
		switch {
		case done == 0:
		case interleaved:
			v.ropeAdjacent(&out[0], &in[0], &cos[0], &sin[0], done)
		default:
			v.ropeHalves(&out[0], &in[0], &cos[0], &sin[0], n, done)
		}
		for i := done; i < n; i++ {
			first, second := i, i+n
			if interleaved {
				first, second = 2*i, 2*i+1
			}
			a, b, c, s := in[first], in[second], cos[i], sin[i]
			out[first], out[second] = float32(a*c)-float32(b*s), float32(a*s)+float32(b*c)
		}
	}
}

// ropePairs is how many pairs the assembly rotates at once.
const ropePairs = 8
