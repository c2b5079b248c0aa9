package flac

import (
	"math"
	"math/bits"
)

const (
	maxOrder     = 8  // of linear prediction, as `flac -5` has it
	precision    = 12 // bits of a coefficient
	maxPartition = 5  // log2 of the number of Rice partitions
	maxRice4     = 14 // the largest parameter of 4 bits
	maxRice5     = 30
)

// Types of a subframe: RFC 9639, section 9.2.1.
const (
	typeConstant = 0
	typeVerbatim = 1
	typeFixed    = 8
	typeLPC      = 32
)

// subframe is one channel of a frame and how it is to be written.
type subframe struct {
	x      []int32
	bits   int // of a sample
	size   int // in bits, as estimated
	kind   int
	order  int
	shift  int
	coeffs [maxOrder]int32
	rice   rice

	candidate rice // scratch
	window    []float64
	windowed  []float64
}

// plan chooses the encoding of x that takes the fewest bits.
func (s *subframe) plan(x []int32, sampleBits int) {
	s.x, s.bits, s.order = x, sampleBits, 0
	s.kind, s.size = typeVerbatim, len(x)*sampleBits
	constant := true
	for _, v := range x {
		constant = constant && v == x[0]
	}
	if constant {
		s.kind, s.size = typeConstant, sampleBits
		return
	}
	if order := fixedOrder(x); order < len(x) {
		s.candidate.residual = fixedResidual(s.candidate.residual[:0], x, order)
		s.consider(typeFixed, order, 0)
	}
	if len(x) > 4*maxOrder {
		s.linear()
	}
}

// consider takes the candidate's residual if it is smaller than what there is.
func (s *subframe) consider(kind, order, extra int) bool {
	s.candidate.plan(len(s.x), order)
	size := s.candidate.size + order*s.bits + extra
	if size >= s.size {
		return false
	}
	s.kind, s.order, s.size = kind, order, size
	s.rice, s.candidate = s.candidate, s.rice
	return true
}

// fixedOrder returns the order of the fixed predictor with the least sum of
// magnitudes.
func fixedOrder(x []int32) int {
	var s0, s1, s2, s3, s4 int64 // variables, since the compiler keeps arrays in memory
	var l0, l1, l2, l3 int64     // the differences before
	for i, v := range x {
		d0 := int64(v)
		d1 := d0 - l0
		d2 := d1 - l1
		d3 := d2 - l2
		d4 := d3 - l3
		l0, l1, l2, l3 = d0, d1, d2, d3
		if i >= 4 { // where all orders have a residual
			s0, s1, s2, s3, s4 = s0+max(d0, -d0), s1+max(d1, -d1), s2+max(d2, -d2), s3+max(d3, -d3), s4+max(d4, -d4)
		}
	}
	sums := [5]int64{s0, s1, s2, s3, s4}
	best := 0
	for order, sum := range sums {
		if sum < sums[best] {
			best = order
		}
	}
	return best
}

// fixedResidual appends the differences of x of so many orders.
func fixedResidual(dst, x []int32, order int) []int32 {
	var last [4]int32
	for i, d := range x {
		for k := range order {
			d, last[k] = d-last[k], d
		}
		if i >= order {
			dst = append(dst, d)
		}
	}
	return dst
}

// linear considers linear prediction of the order that promises most.
func (s *subframe) linear() {
	n := len(s.x)
	if len(s.window) != n {
		s.window = tukey(n)
	}
	s.windowed = s.windowed[:0]
	for i, v := range s.x {
		s.windowed = append(s.windowed, float64(v)*s.window[i])
	}
	auto := autocorrelation(s.windowed)
	if auto[0] <= 0 {
		return
	}
	coeffs, errors := levinson(auto)
	best, order := math.Inf(1), 0
	for o := 1; o <= maxOrder; o++ {
		// A Laplacian residual of this variance takes so many bits a sample.
		perSample := max(0, math.Log2(errors[o]/float64(n)*math.Ln2*math.Ln2/2)/2)
		if size := perSample*float64(n-o) + float64(o*(precision+s.bits)); size < best {
			best, order = size, o
		}
	}
	q, shift, ok := quantize(coeffs[order-1][:order])
	if !ok {
		return
	}
	s.candidate.residual = lpcResidual(s.candidate.residual[:0], s.x, q[:order], shift)
	if s.consider(typeLPC, order, 4+5+order*precision) {
		s.coeffs, s.shift = q, shift
	}
}

// autocorrelation returns the sums of the products of x with itself, later by 0 to maxOrder samples.
func autocorrelation(x []float64) (auto [maxOrder + 1]float64) {
	head := x[:min(maxOrder, len(x))]
	for lag := range auto {
		for i := lag; i < len(head); i++ {
			auto[lag] += head[i] * head[i-lag]
		}
	}
	s0, s1, s2, s3, s4, s5, s6, s7, s8 := auto[0], auto[1], auto[2], auto[3], auto[4], auto[5], auto[6], auto[7], auto[8]
	for i := maxOrder; i < len(x); i++ {
		v, w := x[i], (*[maxOrder]float64)(x[i-maxOrder:])
		s0 += v * v
		s1 += v * w[7]
		s2 += v * w[6]
		s3 += v * w[5]
		s4 += v * w[4]
		s5 += v * w[3]
		s6 += v * w[2]
		s7 += v * w[1]
		s8 += v * w[0]
	}
	return [...]float64{s0, s1, s2, s3, s4, s5, s6, s7, s8}
}

// tukey returns a window that rises and falls over a quarter of n each.
func tukey(n int) []float64 {
	w := make([]float64, n)
	edge := float64(n) / 4
	for i := range w {
		d := min(float64(i), float64(n-1-i)) + .5
		w[i] = 1
		if d < edge {
			w[i] = (1 - math.Cos(math.Pi*d/edge)) / 2
		}
	}
	return w
}

// levinson returns the predictor of each order up to maxOrder for a signal with
// this autocorrelation, and the energy of its residual, by order.
//
// Levinson-Durbin recursion; Makhoul, "Linear Prediction: A Tutorial Review",
// 1975, eq. 38.
func levinson(auto [maxOrder + 1]float64) (coeffs [maxOrder][maxOrder]float64, errors [maxOrder + 1]float64) {
	var a [maxOrder]float64
	e := auto[0]
	errors[0] = e
	for i := range maxOrder {
		r := auto[i+1]
		for j := range i {
			r -= a[j] * auto[i-j]
		}
		k := 0.0
		if e > 0 {
			k = r / e
		}
		prev := a
		a[i] = k
		for j := range i {
			a[j] = prev[j] - k*prev[i-1-j]
		}
		e = max(e*(1-k*k), 1e-9)
		errors[i+1] = e
		coeffs[i] = a
	}
	return coeffs, errors
}

// quantize rounds coefficients to integers times 2^-shift. The rounding error
// of each is passed on to the next.
func quantize(coeffs []float64) (q [maxOrder]int32, shift int, ok bool) {
	largest := 0.0
	for _, c := range coeffs {
		largest = max(largest, math.Abs(c))
	}
	if largest == 0 || math.IsNaN(largest) || math.IsInf(largest, 0) {
		return q, 0, false
	}
	_, exp := math.Frexp(largest)
	if shift = min(precision-1-exp, 15); shift < 0 {
		return q, 0, false
	}
	carry := 0.0
	for i, c := range coeffs {
		carry += math.Ldexp(c, shift)
		v := min(max(math.Round(carry), -(1<<(precision-1))), 1<<(precision-1)-1)
		carry -= v
		q[i] = int32(v)
	}
	return q, shift, true
}

// lpcResidual appends what prediction leaves of x.
func lpcResidual(dst, x, q []int32, shift int) []int32 {
	for i := len(q); i < min(maxOrder, len(x)); i++ {
		sum := int64(0)
		for k, c := range q {
			sum += int64(c) * int64(x[i-1-k])
		}
		dst = append(dst, x[i]-int32(sum>>shift))
	}
	var all [maxOrder]int64 // coefficients of zero beyond q
	for k, c := range q {
		all[k] = int64(c)
	}
	q0, q1, q2, q3, q4, q5, q6, q7 := all[0], all[1], all[2], all[3], all[4], all[5], all[6], all[7]
	for i := maxOrder; i < len(x); i++ {
		w := (*[maxOrder]int32)(x[i-maxOrder:])
		sum := q0*int64(w[7]) + q1*int64(w[6]) + q2*int64(w[5]) + q3*int64(w[4]) + q4*int64(w[3]) + q5*int64(w[2]) + q6*int64(w[1]) + q7*int64(w[0])
		dst = append(dst, x[i]-int32(sum>>shift))
	}
	return dst
}

// write appends the subframe to b.
func (s *subframe) write(b *bitWriter) {
	kind := s.kind
	switch kind {
	case typeFixed:
		kind += s.order
	case typeLPC:
		kind += s.order - 1
	}
	b.Write(uint64(kind)<<1, 8) // a zero on either side: no wasted bits
	warm := s.x[:s.order]
	switch s.kind {
	case typeConstant:
		warm = s.x[:1]
	case typeVerbatim:
		warm = s.x
	}
	for _, v := range warm {
		b.Write(uint64(v), s.bits)
	}
	if s.kind == typeLPC {
		b.Write(precision-1, 4)
		b.Write(uint64(s.shift), 5)
		for _, c := range s.coeffs[:s.order] {
			b.Write(uint64(c), precision)
		}
	}
	if s.kind >= typeFixed {
		s.rice.write(b, len(s.x), s.order)
	}
}

// rice is a residual in partitions with a parameter each: RFC 9639, section
// 9.2.7.
type rice struct {
	residual  []int32
	size      int // in bits, as estimated
	partition int // log2 of the number of partitions
	params    [1 << maxPartition]uint8
}

// plan chooses partitions and parameters for a residual of a block of n samples
// less order.
func (r *rice) plan(n, order int) {
	deepest := min(maxPartition, bits.TrailingZeros(uint(n)))
	for deepest > 0 && n>>deepest <= order {
		deepest--
	}
	var sums [1 << maxPartition]uint64
	rest := r.residual
	for p := range 1 << deepest {
		count := n >> deepest
		if p == 0 {
			count -= order
		}
		for _, v := range rest[:count] {
			sums[p] += uint64(zigzag(v))
		}
		rest = rest[count:]
	}
	r.size = math.MaxInt
	for depth := deepest; depth >= 0; depth-- {
		var params [1 << maxPartition]uint8
		size := 2 + 4
		for p := range 1 << depth {
			count := n >> depth
			if p == 0 {
				count -= order
			}
			k, s := parameter(sums[p], count)
			params[p] = uint8(k)
			size += 4 + s
		}
		if size < r.size {
			r.size, r.partition, r.params = size, depth, params
		}
		for p := range 1 << depth / 2 {
			sums[p] = sums[2*p] + sums[2*p+1]
		}
	}
}

// parameter returns the Rice parameter for count values of a sum, and about how
// many bits they take.
func parameter(sum uint64, count int) (k, size int) {
	if count == 0 {
		return 0, 0
	}
	size = math.MaxInt
	first := max(bits.Len64(sum/uint64(count))-2, 0)
	for try := first; try <= min(first+3, maxRice5); try++ {
		// The remainders that a shift cuts off are half a unit on average.
		quotients := int(sum>>try) - count/2
		if try == 0 {
			quotients = int(sum)
		}
		if s := count*(try+1) + max(quotients, 0); s < size {
			k, size = try, s
		}
	}
	return k, size
}

func zigzag(v int32) uint32 { return uint32(v<<1) ^ uint32(v>>31) }

func (r *rice) write(b *bitWriter, n, order int) {
	width, method := 4, uint64(0)
	for _, k := range r.params[:1<<r.partition] {
		if k > maxRice4 {
			width, method = 5, 1
		}
	}
	b.Write(method, 2)
	b.Write(uint64(r.partition), 4)
	rest := r.residual
	for p := range 1 << r.partition {
		count := n >> r.partition
		if p == 0 {
			count -= order
		}
		k := int(r.params[p])
		b.Write(uint64(k), width)
		for _, v := range rest[:count] {
			u := zigzag(v)
			b.unary(u >> k)
			b.Write(uint64(u), k)
		}
		rest = rest[count:]
	}
}
