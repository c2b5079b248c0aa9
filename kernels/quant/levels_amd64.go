//go:build amd64 && !noasm

package quant

import "quern/kernels/internal/isa"

// The assembly is called by name, so that no group escapes to the heap.

// fastQ8_32 is groupQ8_32 in assembly. It reports false, with undefined contents of g,
// where the level in force has none, or v has an infinity or NaN.
func fastQ8_32(g *group, v *[GroupLen]float32) bool {
	if isa.Current() < isa.AVX2 {
		return false
	}
	for j := range GroupLen / 32 {
		d, id := scaleOf(topAVX2(&v[32*j], 32))
		if d != d {
			return false
		}
		putFloat(g[x32Scale+4*j:], d)
		putFloat(g[x32Sum+4*j:], id)
	}
	roundQ8_32AVX2(&g[0], &v[0])
	return true
}

// fastQ8_256 is groupQ8_256 in the same way.
func fastQ8_256(g *group, v *[GroupLen]float32) bool {
	if isa.Current() < isa.AVX2 {
		return false
	}
	d, id := scaleOf(topAVX2(&v[0], GroupLen))
	if d != d {
		return false
	}
	putFloat(g[x256Scale:], d)
	roundQ8_256AVX2(&g[0], &v[0], id)
	return true
}

// mostHalves is the most floats passed to assembly at a time: it cannot be preempted, and the
// garbage collector may be waiting.
const mostHalves = 1 << 14

// fastHalves encodes the first of src as F16, as many as it returns.
func fastHalves(dst []byte, src []float32) int {
	if isa.Current() < isa.AVX2 {
		return 0
	}
	whole := len(src) &^ 7
	for i := 0; i < whole; i += mostHalves {
		halvesAVX2(&dst[2*i], &src[i], min(whole-i, mostHalves))
	}
	return whole
}

// fastFloats decodes the first of dst from F16, as many as it returns.
func fastFloats(dst []float32, src []byte) int {
	if isa.Current() < isa.AVX2 {
		return 0
	}
	whole := len(dst) &^ 7
	for i := 0; i < whole; i += mostHalves {
		floatsAVX2(&dst[i], &src[2*i], min(whole-i, mostHalves))
	}
	return whole
}

// fastTop is topBits of the first of x, as many as it returns.
func fastTop(x []float32) (top uint32, n int) {
	if n = len(x) &^ 31; n == 0 || isa.Current() < isa.AVX2 {
		return 0, 0
	}
	for i := 0; i < n; i += mostHalves {
		top = max(top, topAVX2(&x[i], min(n-i, mostHalves)))
	}
	return top, n
}

// fastMeasure is measureOne of each candidate, in assembly.
func fastMeasure(to []fitted, of []candidate, x, w []float64, low, top float64) bool {
	switch level := isa.Current(); {
	case level >= isa.AVX512:
		measureAVX512(&to[0], &of[0], len(of), &x[0], &w[0], len(x), low, top)
	case level >= isa.AVX2:
		measureAVX2(&to[0], &of[0], len(of), &x[0], &w[0], len(x), low, top)
	default:
		return false
	}
	return true
}
