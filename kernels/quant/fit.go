package quant

import "math"

// The K encoders choose scales by weighted least squares. A candidate scale
// rounds the values to quants; for those quants the best scale has a closed
// form; the error of the pair decides between candidates. It is done twice:
// freely for each sub-block, then for the super-block among scales that can be
// stored. Products are kept apart from sums by conversions, so that no machine
// fuses them and every machine writes the same bytes.

// fitWeights sets w to how much an error in each x counts: the root mean square
// of all plus the magnitude. Large weights matter more to a product, but
// activations are not known here, and errors near zero still add up.
func fitWeights(w, x []float64) {
	var sum float64
	for _, v := range x {
		sum += float64(v * v)
	}
	rms := math.Sqrt(sum / float64(len(x)))
	for i, v := range x {
		w[i] = rms + math.Abs(v)
	}
}

// moments are the weighted sums an error and its minimum are computed from:
// names spell what is summed, with q the quants.
type moments struct{ one, x, xx, q, qq, qx float64 }

// measure rounds x to quants 0 to top under the inverse scale inv and offset
// min, and sums over them.
func (m *moments) measure(x, w []float64, inv, min float64, top int) {
	var sq, sqq, sqx float64
	w = w[:len(x)]
	for i, v := range x {
		q := float64(clampRound(float64((v+min)*inv), top))
		wq := float64(w[i] * q)
		sq += wq
		sqq += float64(wq * q)
		sqx += float64(wq * v)
	}
	m.q, m.qq, m.qx = sq, sqq, sqx
}

// total sets the sums that do not depend on quants.
func (m *moments) total(x, w []float64) {
	*m = moments{}
	for i, v := range x {
		m.one += w[i]
		m.x += float64(w[i] * v)
		m.xx += float64(float64(w[i]*v) * v)
	}
}

// fit returns the scale and min that serve the quants best; neither is
// negative.
func (m *moments) fit() (scale, min float64) {
	if m.q == 0 {
		if m.x >= 0 {
			return 0, 0
		}
		return 0, -m.x / m.one
	}
	// Where all quants are the same only rounding keeps det from zero. One of
	// 32 that differs leaves at least 10⁻⁵ of the product, since the largest
	// weight is less than seven times the smallest.
	det := float64(m.one*m.qq) - float64(m.q*m.q)
	if det > 1e-9*m.one*m.qq {
		scale = (float64(m.one*m.qx) - float64(m.q*m.x)) / det
		min = (float64(m.q*m.qx) - float64(m.qq*m.x)) / det
		if min >= 0 {
			return max(scale, 0), min
		}
	}
	return max(m.qx/m.qq, 0), 0
}

// loss returns Σ w·(x − scale·q + min)².
func (m *moments) loss(scale, min float64) float64 {
	e := m.xx + float64(float64(scale*scale)*m.qq) + float64(float64(min*min)*m.one)
	return e - float64(2*float64(scale*m.qx)) + float64(2*float64(min*m.x)) - float64(2*float64(float64(scale*min)*m.q))
}

// tooSmall is below anything an F16 scale can express. Sub-blocks whose range
// is smaller are zero, which keeps every inverse finite.
const tooSmall = 1e-20

// fitRange returns the scale and min of one sub-block, quants being 0 to top.
func fitRange(x, w []float64, top int) (scale, min float64) {
	var lo, hi float64
	for _, v := range x {
		lo, hi = math.Min(lo, v), math.Max(hi, v)
	}
	if !(hi-lo > tooSmall) {
		return 0, 0
	}
	var m moments
	m.total(x, w)
	best := math.Inf(1)
	try := func(inv, offset float64) (better bool) {
		m.measure(x, w, inv, offset, top)
		s, o := m.fit()
		e := m.loss(s, o)
		if !(e < best) {
			return false
		}
		best, scale, min = e, s, o
		return true
	}
	// From a scale that leaves a quant unused to one that cuts the extremes.
	for step := -10; step <= 15; step++ {
		try((float64(top)+float64(step)/10)/(hi-lo), -lo)
	}
	// Rounding by the fitted scale can only lower the error; a few rounds
	// exhaust that.
	for range 4 {
		if scale < tooSmall || !try(1/scale, min) {
			break
		}
	}
	return scale, min
}

// A minBlock is the result of fitMins: what Q4_K and Q5_K have in common.
type minBlock struct {
	d, dmin      uint16 // F16
	scales, mins [8]uint8
	quants       [256]uint8
}

// fitMins encodes 256 values as eight sub-blocks of scale·q − min, q from 0 to
// top, scales and mins being multiples 0 to 63 of a common d and dmin.
func fitMins(b *minBlock, src []float32, top int) {
	var x, w [256]float64
	widen(x[:], src)
	var total [8]moments
	var scales, mins [8]float64
	var d, dmin float64
	for j := range 8 {
		xj, wj := x[32*j:32*j+32], w[32*j:32*j+32]
		fitWeights(wj, xj)
		total[j].total(xj, wj)
		scales[j], mins[j] = fitRange(xj, wj, top)
		d, dmin = max(d, scales[j]/63), max(dmin, mins[j]/63)
	}
	best := math.Inf(1)
	for range 3 {
		var next minBlock
		next.d, d = halfStep(d)
		next.dmin, dmin = halfStep(dmin)
		e, sum := 0.0, moments{}
		for j := range 8 {
			m := &total[j]
			s, o := storable(m, x[32*j:32*j+32], w[32*j:32*j+32], d, dmin, scales[j], mins[j], top)
			next.scales[j], next.mins[j] = uint8(s), uint8(o)
			scale, min := float64(d*float64(s)), float64(dmin*float64(o))
			m.measure(x[32*j:32*j+32], w[32*j:32*j+32], inverse(scale), min, top)
			e += m.loss(scale, min)
			// The same sums for the super-block: scale·q for q, −min for 1.
			fs, fo := float64(s), float64(o)
			sum.one += float64(float64(fo*fo) * m.one)
			sum.x += float64(fo * m.x)
			sum.q += float64(float64(fs*fo) * m.q)
			sum.qq += float64(float64(fs*fs) * m.qq)
			sum.qx += float64(fs * m.qx)
		}
		if !(e < best) {
			break
		}
		best = e
		b.d, b.dmin, b.scales, b.mins = next.d, next.dmin, next.scales, next.mins
		d, dmin = sum.fit()
	}
	d, dmin = float64(F16ToF32(b.d)), float64(F16ToF32(b.dmin))
	for i, v := range x {
		inv := inverse(float64(d * float64(b.scales[i/32])))
		b.quants[i] = uint8(clampRound(float64((v+float64(dmin*float64(b.mins[i/32])))*inv), top))
	}
}

// storable returns the multiples of d and dmin, near scale and min, that cost
// least once the values are rounded by them.
func storable(m *moments, x, w []float64, d, dmin, scale, min float64, top int) (s, o int) {
	s0 := clampRound(float64(scale*inverse(d)), 63)
	o0 := clampRound(float64(min*inverse(dmin)), 63)
	best := math.Inf(1)
	for cs := max(s0-1, 0); cs <= s0+1 && cs <= 63; cs++ {
		for co := max(o0-1, 0); co <= o0+1 && co <= 63; co++ {
			fs, fo := float64(d*float64(cs)), float64(dmin*float64(co))
			m.measure(x, w, inverse(fs), fo, top)
			if e := m.loss(fs, fo); e < best {
				best, s, o = e, cs, co
			}
		}
	}
	return s, o
}

// fitSigned returns the scale of one sub-block whose quants are −half to
// half−1.
func fitSigned(x, w []float64, half int) (scale float64) {
	var top float64
	for _, v := range x {
		if math.Abs(v) > math.Abs(top) {
			top = v
		}
	}
	if !(math.Abs(top) > tooSmall) {
		return 0
	}
	best := 0.0
	try := func(inv float64) (better bool) {
		qx, qq := measureSigned(x, w, inv, half)
		// The best scale is qx/qq and lowers the error by qx²/qq.
		if gain := float64(qx*qx) / qq; gain > best {
			best, scale = gain, qx/qq
			return true
		}
		return false
	}
	// The largest value takes the largest quant, which is negative.
	for step := -12; step <= 9; step++ {
		try(-(float64(half) + float64(step)/10) / top)
	}
	for range 4 {
		if math.Abs(scale) < tooSmall || !try(1/scale) {
			break
		}
	}
	return scale
}

// measureSigned rounds x to quants −half to half−1 and returns Σ w·q·x and
// Σ w·q².
func measureSigned(x, w []float64, inv float64, half int) (qx, qq float64) {
	for i, v := range x {
		q := float64(clampRound(float64(v*inv)+float64(half), 2*half-1) - half)
		wq := float64(w[i] * q)
		qx += float64(wq * v)
		qq += float64(wq * q)
	}
	return qx, qq
}

// A signedBlock is the result of fitScales.
type signedBlock struct {
	d      uint16 // F16
	scales [16]int8
	quants [256]uint8 // from 0, which stands for −half
}

// fitScales encodes 256 values as sixteen sub-blocks of scale·q, q from −half
// to half−1, scales being multiples −128 to 127 of a common d.
func fitScales(b *signedBlock, src []float32, half int) {
	var x, w [256]float64
	widen(x[:], src)
	fitWeights(w[:], x[:])
	var scales [16]float64
	var top float64
	for j := range scales {
		scales[j] = fitSigned(x[16*j:16*j+16], w[16*j:16*j+16], half)
		if math.Abs(scales[j]) > math.Abs(top) {
			top = scales[j]
		}
	}
	d := top / -128
	best := math.Inf(1)
	for range 3 {
		var next signedBlock
		next.d, d = halfStep(d)
		e, sx, ss := 0.0, 0.0, 0.0
		for j := range scales {
			xj, wj := x[16*j:16*j+16], w[16*j:16*j+16]
			s0 := clampRound(float64(scales[j]*inverse(d))+128, 255) - 128
			least := math.Inf(1)
			var qx, qq float64
			for s := max(s0-1, -128); s <= s0+1 && s <= 127; s++ {
				scale := float64(d * float64(s))
				cx, cq := measureSigned(xj, wj, inverse(scale), half)
				// Less the constant Σ w·x².
				if c := float64(float64(scale*scale)*cq) - float64(2*float64(scale*cx)); c < least {
					least, qx, qq = c, cx, cq
					next.scales[j] = int8(s)
				}
			}
			e += least
			s := float64(next.scales[j])
			sx += float64(s * qx)
			ss += float64(float64(s*s) * qq)
		}
		if !(e < best) {
			break
		}
		best = e
		b.d, b.scales = next.d, next.scales
		if ss > 0 {
			d = sx / ss
		}
	}
	d = float64(F16ToF32(b.d))
	for i, v := range x {
		inv := inverse(float64(d * float64(b.scales[i/16])))
		b.quants[i] = uint8(clampRound(float64(v*inv)+float64(half), 2*half-1))
	}
}

// clampRound rounds to the nearest of 0 to top; what is not a number is 0.
func clampRound(v float64, top int) int {
	if !(v > 0) {
		return 0
	}
	if v >= float64(top) {
		return top
	}
	return int(v + 0.5)
}

// inverse is 1/v, or 0 where there is none: all quants are then zero.
func inverse[F float32 | float64](v F) F {
	if v == 0 {
		return 0
	}
	return 1 / v
}

// halfScale rounds to F16, staying finite.
func halfScale(v float64) uint16 {
	const largest = 65504
	return F32ToF16(float32(min(max(v, -largest), largest)))
}

// halfStep rounds the step of a block's scales to F16 and returns the value it
// became. Subnormal steps go away from zero: the scales are multiples of them
// and make up for a step that is too large, not for one that is too small.
func halfStep(v float64) (uint16, float64) {
	h := halfScale(v)
	if h&0x7c00 == 0 && math.Abs(float64(F16ToF32(h))) < math.Abs(v) {
		h++
	}
	return h, float64(F16ToF32(h))
}

func widen(dst []float64, src []float32) {
	for i, v := range src {
		dst[i] = float64(v)
	}
}
