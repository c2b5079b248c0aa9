package aac

import "math"

// rounding is what is added before a value is cut off to an integer. Less than a half
// is best for what is quantised by a power of three quarters.
const rounding = 0.4054

// A trial is a part quantised with one scalefactor: what is wrong with it then, and
// what it costs.
type trial struct {
	time    uint32 // of the spectrum it is of
	scale   int16
	largest int16  // magnitude
	least   uint16 // bits under the codebook that is best
	noise   float32
	bits    [12]uint16 // by codebook
}

// trials of a part are kept by the low bits of their scalefactor.
const kept = 32

// A coding is one channel of a unit on its way into it.
type coding struct {
	*division
	x      [maxFrame]float32 // in the order of the parts
	pow    [maxFrame]float32 // |x|^(3/4)
	energy [maxParts]float64 // of a line
	target [maxParts]float64 // noise of a line, up to a common factor

	// For level 0: the scalefactor that the target asks for, and the price of noise in bits.
	middle [maxParts]float64
	price  [maxParts]float64
	silent [maxParts]bool
	limit  [maxParts]int // least scalefactor that the coefficients allow
	time   uint32
	tried  [maxParts][kept]trial
	zeros  [maxParts]trial

	// A trial's values and their magnitudes.
	values, sizes [maxFrame]int16

	// What is chosen.
	quanta [maxFrame]int16
	scales [maxParts]int
	books  [maxParts]uint8
	chosen [maxParts]*trial
	path   path
}

// measure sets the energies of the parts and the targets that follow from them.
func (s *coding) measure() {
	for p := range s.parts {
		sum := 0.0
		for _, v := range s.x[s.start[p]:s.start[p+1]] {
			sum += float64(v) * float64(v)
		}
		s.energy[p] = sum / float64(s.lines[p])
	}
	s.model.Targets(s.target[:s.parts], s.energy[:s.parts], s.lines[:s.parts])
}

// prepare sets what trials need, once x is what will be coded.
func (s *coding) prepare(w *words) {
	s.time++
	for p := range s.parts {
		from, to := s.start[p], s.start[p+1]
		root, most := float32(0), float32(0)
		pow := s.pow[from:to]
		for i, v := range s.x[from:to] {
			v = float32(math.Abs(float64(v)))
			r := float32(math.Sqrt(float64(v)))
			root += r
			pow[i] = float32(math.Sqrt(float64(v * r)))
			most = max(most, pow[i])
		}
		// Halving noise takes half a bit of every line: that is the price where it is
		// at its target. A step of size s puts 4/27·s^(3/2)·√|x| of it on a line x.
		s.price[p] = 1 / (2 * math.Ln2 * s.target[p])
		s.silent[p] = most == 0
		if most > 0 {
			s.middle[p] = scaleZero + 8.0/3*math.Log2(6.75*s.target[p]*float64(s.lines[p])/float64(root))
			s.limit[p] = max(0, int(math.Ceil(scaleZero+16.0/3*math.Log2(float64(most)/(maxQuantum-1)))))
		}
		s.zeros[p].zero(w, int(s.lines[p]))
	}
}

// zero makes t the trial of n zeros.
func (t *trial) zero(w *words, n int) {
	for b := range t.bits {
		t.bits[b] = 0
		if b > zeroBook {
			c, shape := w.cost[b-1], shapes[b-1]
			t.bits[b] = uint16(int(c[shape.zero()]) * n / shape.values)
		}
	}
}

// try returns part p quantised with a scalefactor.
func (s *coding) try(w *words, p, scale int) *trial {
	t := &s.tried[p][scale%kept]
	if t.time == s.time && int(t.scale) == scale {
		return t
	}
	from, to := s.start[p], s.start[p+1]
	q, sizes := s.values[:to-from], s.sizes[:to-from]
	t.time, t.scale = s.time, int16(scale)
	t.largest, t.noise = w.quantise(q, sizes, s.x[from:to], s.pow[from:to], scale)
	t.least = w.count(q, sizes, int(t.largest), &t.bits)
	return t
}

// quantise sets q and the magnitudes of its values, and returns the largest of these and
// the noise.
func (w *words) quantise(q, sizes []int16, x, pow []float32, scale int) (largest int16, noise float32) {
	m, gain := w.shrink[scale], w.gain[scale]
	x, pow, sizes = x[:len(q)], pow[:len(q)], sizes[:len(q)]
	for i, v := range pow {
		n := int32(float32(v*m) + rounding)
		sign := math.Float32bits(x[i])
		d := math.Float32frombits(sign&^(1<<31)) - float32(w.power[n&(1<<13-1)]*gain)
		noise += float32(d * d)
		largest = max(largest, int16(n))
		sizes[i] = int16(n)
		mask := int32(sign) >> 31
		q[i] = int16((n ^ mask) - mask)
	}
	return largest, noise
}
