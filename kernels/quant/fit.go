package quant

import "math"

// The K encoders choose scales by weighted least squares. A candidate scale
// rounds the values to quants; for those quants the best scale has a closed
// form; the error of the pair decides between candidates. It is done twice:
// freely for each sub-block, then for the super-block among scales that can be
// stored. Products are kept apart from sums by conversions, so that no machine
// fuses them, and sums are eight beside each other, which vectors add alike: every machine writes the
// same bytes.

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

// A candidate is a scale and an offset to try: x becomes the quant nearest to (x + add)·inverse.
type candidate struct{ inverse, add float64 }

// fitted are weighted sums over the quants q of a candidate: Σw·q, Σw·q² and Σw·q·x.
type fitted struct{ q, qq, qx float64 }

// measureOne is trials.measure of a candidate. Sum l of eight is of the elements 8i+l.
func measureOne(c candidate, x, w []float64, low, top int) fitted {
	var sq, sqq, sqx [8]float64
	for ; len(x) >= 8 && len(w) >= 8; x, w = x[8:], w[8:] {
		v, by := (*[8]float64)(x), (*[8]float64)(w)
		for l, v := range v {
			q := float64(clampRound(float64(float64(v+c.add)*c.inverse), low, top))
			wq := float64(by[l] * q)
			sq[l] += wq
			sqq[l] += float64(wq * q)
			sqx[l] += float64(wq * v)
		}
	}
	return fitted{ofEight(&sq), ofEight(&sqq), ofEight(&sqx)}
}

// ofEight adds as vectors are folded: halves, halves of these, and the two that are left.
func ofEight(s *[8]float64) float64 {
	return ((s[0] + s[4]) + (s[2] + s[6])) + ((s[1] + s[5]) + (s[3] + s[7]))
}

// moments are the weighted sums an error and its minimum are computed from: those over quants,
// and Σw, Σw·x and Σw·x².
type moments struct {
	fitted
	one, x, xx float64
}

// total sets the sums that do not depend on quants.
func (m *moments) total(x, w []float64) {
	var one, sx, sxx [2]float64
	for ; len(x) >= 2 && len(w) >= 2; x, w = x[2:], w[2:] {
		a, b := float64(w[0]*x[0]), float64(w[1]*x[1])
		one[0], one[1] = one[0]+w[0], one[1]+w[1]
		sx[0], sx[1] = sx[0]+a, sx[1]+b
		sxx[0], sxx[1] = sxx[0]+float64(a*x[0]), sxx[1]+float64(b*x[1])
	}
	*m = moments{one: one[0] + one[1], x: sx[0] + sx[1], xx: sxx[0] + sxx[1]}
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
		inv := 1 / det
		scale = float64((float64(m.one*m.qx) - float64(m.q*m.x)) * inv)
		min = float64((float64(m.q*m.qx) - float64(m.qq*m.x)) * inv)
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

// Scales that are tried first, in quants beyond the largest.
var (
	rangeSteps  = tenths(-10, 15) // leave a quant unused, to cut the extremes
	signedSteps = tenths(-12, 9)
)

func tenths(from, to int) (steps []float64) {
	for i := from; i <= to; i++ {
		steps = append(steps, float64(i)/10)
	}
	return steps
}

// trials are candidates and their sums.
type trials struct {
	of   [26]candidate
	sums [26]fitted
}

// measure rounds x to quants low to top under each of the first n candidates and returns the sums
// over them.
func (t *trials) measure(n int, x, w []float64, low, top int) []fitted {
	if n == 0 || len(x) == 0 || len(x)%8 != 0 || len(w) < len(x) {
		panic("quant: measure of sizes that do not fit")
	}
	to, of := t.sums[:n], t.of[:n]
	if !fastMeasure(to, of, x, w, float64(low), float64(top)) {
		for i, c := range of {
			to[i] = measureOne(c, x, w, low, top)
		}
	}
	return to
}

// refined is how often a scale that was fitted is fitted again: rounding by it can only lower the
// error, and a few rounds exhaust that.
const refined = 4

// fitRange returns the scale and min of one sub-block, quants being 0 to top.
func (t *trials) fitRange(x, w []float64, total moments, top int) (scale, min float64) {
	var lo, hi float64
	for _, v := range x {
		if v < lo {
			lo = v
		}
		if v > hi {
			hi = v
		}
	}
	if !(hi-lo > tooSmall) {
		return 0, 0
	}
	m, best := total, math.Inf(1)
	better := func(f fitted) bool {
		m.fitted = f
		s, o := m.fit()
		e := m.loss(s, o)
		if !(e < best) {
			return false
		}
		best, scale, min = e, s, o
		return true
	}
	inv := 1 / (hi - lo)
	for i, step := range rangeSteps {
		t.of[i] = candidate{float64((float64(top) + step) * inv), -lo}
	}
	for _, f := range t.measure(len(rangeSteps), x, w, 0, top) {
		better(f)
	}
	for range refined {
		if scale < tooSmall {
			break
		}
		t.of[0] = candidate{1 / scale, min}
		if !better(t.measure(1, x, w, 0, top)[0]) {
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
	var t trials
	widen(x[:], src)
	var total [8]moments
	var scales, mins [8]float64
	var d, dmin float64
	for j := range 8 {
		xj, wj := x[32*j:32*j+32], w[32*j:32*j+32]
		fitWeights(wj, xj)
		total[j].total(xj, wj)
		scales[j], mins[j] = t.fitRange(xj, wj, total[j], top)
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
			s, o, least := t.storable(m, x[32*j:32*j+32], w[32*j:32*j+32], d, dmin, scales[j], mins[j], top)
			next.scales[j], next.mins[j] = uint8(s), uint8(o)
			e += least
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
		b.quants[i] = uint8(clampRound(float64((v+float64(dmin*float64(b.mins[i/32])))*inv), 0, top))
	}
}

// storable returns the multiples of d and dmin, near scale and min, that cost
// least once the values are rounded by them, and what that is. The sums are left to be those of them.
func (t *trials) storable(m *moments, x, w []float64, d, dmin, scale, min float64, top int) (s, o int, best float64) {
	s0 := clampRound(float64(scale*inverse(d)), 0, 63)
	o0 := clampRound(float64(min*inverse(dmin)), 0, 63)
	var steps [9][2]int
	n := 0
	for cs := max(s0-1, 0); cs <= s0+1 && cs <= 63; cs++ {
		inv := inverse(float64(d * float64(cs)))
		for co := max(o0-1, 0); co <= o0+1 && co <= 63; co++ {
			t.of[n], steps[n] = candidate{inv, float64(dmin * float64(co))}, [2]int{cs, co}
			n++
		}
	}
	best = math.Inf(1)
	var of fitted
	for i, f := range t.measure(n, x, w, 0, top) {
		m.fitted = f
		if e := m.loss(float64(d*float64(steps[i][0])), t.of[i].add); e < best || i == 0 {
			best, s, o, of = e, steps[i][0], steps[i][1], f
		}
	}
	m.fitted = of
	return s, o, best
}

// fitSigned returns the scale of one sub-block whose quants are −half to
// half−1.
func (t *trials) fitSigned(x, w []float64, half int) (scale float64) {
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
	better := func(f fitted) bool {
		// The best scale is qx/qq and lowers the error by qx²/qq.
		if gain := float64(f.qx*f.qx) / f.qq; gain > best {
			best, scale = gain, f.qx/f.qq
			return true
		}
		return false
	}
	// The largest value takes the largest quant, which is negative.
	inv := -1 / top
	for i, step := range signedSteps {
		t.of[i] = candidate{inverse: float64((float64(half) + step) * inv)}
	}
	for _, f := range t.measure(len(signedSteps), x, w, -half, half-1) {
		better(f)
	}
	for range refined {
		if math.Abs(scale) < tooSmall {
			break
		}
		t.of[0].inverse = 1 / scale
		if !better(t.measure(1, x, w, -half, half-1)[0]) {
			break
		}
	}
	return scale
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
	var t trials
	widen(x[:], src)
	fitWeights(w[:], x[:])
	var scales [16]float64
	var top float64
	for j := range scales {
		scales[j] = t.fitSigned(x[16*j:16*j+16], w[16*j:16*j+16], half)
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
			s0 := clampRound(float64(scales[j]*inverse(d)), -128, 127)
			from := max(s0-1, -128)
			n := min(s0+1, 127) - from + 1
			for i := range n {
				t.of[i] = candidate{inverse: inverse(float64(d * float64(from+i)))}
			}
			least := math.Inf(1)
			var of fitted
			for i, f := range t.measure(n, xj, wj, -half, half-1) {
				scale := float64(d * float64(from+i))
				// Less the constant Σ w·x².
				if c := float64(float64(scale*scale)*f.qq) - float64(2*float64(scale*f.qx)); c < least {
					least, of = c, f
					next.scales[j] = int8(from + i)
				}
			}
			e += least
			s := float64(next.scales[j])
			sx += float64(s * of.qx)
			ss += float64(float64(s*s) * of.qq)
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
		b.quants[i] = uint8(clampRound(float64(v*inv), -half, half-1) + half)
	}
}

// clampRound rounds to the nearest of low to top, halves up; what is not a number is low.
func clampRound(v float64, low, top int) int {
	if !(v > float64(low)) {
		return low
	}
	if v >= float64(top) {
		return top
	}
	return int(math.Floor(v + 0.5))
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
