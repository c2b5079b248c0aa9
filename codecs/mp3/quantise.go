package mp3

import "math"

const maxValue = 15 + 1<<13 - 1 // of a quantised line

// part is one channel of one granule on its way into a frame.
type part struct {
	granule
	l      *layout
	edges  []int          // where the bands begin, for the choice of regions
	x      [lines]float32 // in the order of the bitstream
	pow    [lines]float32 // |x|^(3/4)
	target [39]float64    // noise of a line
	energy [39]float64

	factors [39]uint8 // scalefactors, without what preflag adds
	base    int       // global_gain - 210 at the estimated noise
	fbits   int       // bits of the scalefactors
	slen    [4]uint

	ix   [lines]uint16
	code coding
}

// setPow fills pow.
func (p *part) setPow() {
	for i, v := range p.x {
		v = float32(math.Abs(float64(v)))
		p.pow[i] = float32(math.Sqrt(float64(v) * math.Sqrt(float64(v))))
	}
}

// estimate returns the factor on all targets at which the parts should need
// about the given number of bits: half a bit for each factor of two by which a
// line's energy exceeds its noise, and a third of one for its sign and code. It only
// has to be near enough for choosing scalefactors.
func estimate(parts []*part, budget int) float64 {
	lo, hi := -80.0, 40.0 // log2
	for range 20 {
		mid := (lo + hi) / 2
		f := math.Exp2(mid)
		sum := 0.0
		for _, p := range parts {
			for b := range p.l.n {
				if e := p.energy[b] / (p.target[b] * f); e > 0.5 {
					sum += float64(p.l.width[b]) * (0.3 + 0.5*math.Log2(1+e))
				}
			}
		}
		if sum > float64(budget) {
			lo = mid
		} else {
			hi = mid
		}
	}
	return math.Exp2(hi)
}

// chooseFactors sets scalefactors and base gain for noise of level times the
// targets. A step of size s puts 4/27·s^(3/2)·√|x| of noise on a line x.
func (p *part) chooseFactors(level float64, lsf, allow bool) {
	var want [39]float64
	high := math.Inf(-1)
	any := false
	for b := range p.l.n {
		lo, hi := int(p.l.start[b]), int(p.l.start[b+1])
		noise := p.target[b] * level
		want[b] = math.Inf(1)
		if p.energy[b] <= 0.5*noise {
			continue
		}
		root := 0.0
		for _, v := range p.pow[lo:hi] {
			root += math.Cbrt(float64(v) * float64(v))
		}
		root /= float64(hi - lo)
		want[b] = 8.0 / 3 * math.Log2(6.75*noise/root)
		high = max(high, want[b])
		any = true
	}
	p.factors, p.scale, p.preflag = [39]uint8{}, 0, false
	if !any { // nothing to hear: a gain at which nothing is left
		p.base = 45
		p.setLengths(lsf)
		return
	}
	p.base = int(math.Round(high))
	if allow {
		for ; p.scale < 2; p.scale++ {
			fits := true
			for b := range p.l.n {
				f := p.factor(b, want[b])
				if f > p.limit(b) {
					fits = false
					f = p.limit(b)
				}
				p.factors[b] = uint8(f)
			}
			if fits {
				break
			}
		}
		p.scale = min(p.scale, 1)
		p.trimFactors()
	}
	p.setLengths(lsf)
}

// factor returns the scalefactor that brings band b nearest to gain want.
func (p *part) factor(b int, want float64) int {
	if p.limit(b) == 0 || math.IsInf(want, 1) {
		return 0
	}
	step := float64(int(2) << p.scale)
	return max(0, int(math.Round((float64(p.base)-want)/step)))
}

// limit is the largest scalefactor of band b. The last band has none.
func (p *part) limit(b int) int {
	per := 1
	if p.l.long == 0 {
		per = 3
	}
	switch b /= per; {
	case per == 1 && b < 11, per == 3 && b < 6:
		return 15
	case per == 1 && b < 21, per == 3 && b < 12:
		return 7
	}
	return 0
}

// trimFactors moves what all scalefactors have in common into the gain, if the
// bands without one are silent.
func (p *part) trimFactors() {
	least := uint8(255)
	for b := range p.l.n {
		if p.limit(b) == 0 {
			if p.energy[b] > 0 {
				return
			}
			continue
		}
		least = min(least, p.factors[b])
	}
	for b := range p.l.n {
		if p.limit(b) > 0 {
			p.factors[b] -= least
		}
	}
	p.base -= int(least) * (2 << p.scale)
}

// setLengths chooses scalefac_compress and counts the scalefactors' bits.
func (p *part) setLengths(lsf bool) {
	if lsf {
		p.setLengthsMPEG2()
		return
	}
	if p.l.long > 0 {
		p.preflag = true
		for b := 11; b < 21; b++ {
			p.preflag = p.preflag && p.factors[b] >= pretab[b]
		}
		if p.preflag {
			for b := 11; b < 21; b++ {
				p.factors[b] -= pretab[b]
			}
		}
	}
	low, n := 11, 21
	if p.l.long == 0 {
		low, n = 18, 36
	}
	a, b := bitsOf(p.factors[:low]), bitsOf(p.factors[low:n])
	p.fbits = 1 << 30
	for c, s := range slens {
		need := int(s[0])*low + int(s[1])*(n-low)
		if uint(s[0]) >= a && uint(s[1]) >= b && need < p.fbits {
			p.fbits = need
			p.compress = uint(c)
			p.slen = [4]uint{uint(s[0]), uint(s[1])}
		}
	}
}

// setLengthsMPEG2 is setLengths for MPEG-2, with scalefac_compress below 400.
func (p *part) setLengthsMPEG2() {
	at := 0
	p.fbits = 0
	for k, n := range slenCounts[0][p.kind()] {
		p.slen[k] = bitsOf(p.factors[at : at+int(n)])
		p.fbits += int(p.slen[k]) * int(n)
		at += int(n)
	}
	p.compress = (p.slen[0]*5+p.slen[1])<<4 | p.slen[2]<<2 | p.slen[3]
}

// bitsOf is how many bits the largest of v needs.
func bitsOf(v []uint8) (n uint) {
	for _, f := range v {
		for f>>n != 0 {
			n++
		}
	}
	return n
}

// quantise quantises x with gain finer than base by fine quarters of a power of
// two and counts the bits of everything; ok is false if the format cannot hold it.
func (p *part) quantise(c *counter, fine int) (bits int, ok bool) {
	q := p.base - fine
	p.gain = q + 210
	if p.gain < 0 || p.gain > 255 {
		return 0, false
	}
	step := int(2) << p.scale
	for b := range p.l.n {
		f := int(p.factors[b])
		if p.preflag {
			f += int(pretab[b])
		}
		m := float32(math.Exp2(-3.0 / 16 * float64(q-step*f)))
		lo, hi := p.l.start[b], p.l.start[b+1]
		ix := p.ix[lo:hi]
		for i, v := range p.pow[lo:hi] {
			v = v*m + 0.4054
			if v > maxValue+1 {
				return 0, false
			}
			ix[i] = uint16(int32(v))
		}
	}
	implicit := 0
	if p.blockType != 0 {
		implicit = p.regions[0]
	}
	p.code = c.count(&p.ix, p.edges, implicit)
	p.bits = p.code.bits + p.fbits
	return p.bits, p.bits <= 4095
}

// fit quantises the parts as finely as budget bits allow: all at one distance
// from the noise they were given, then one after another a little finer.
func fit(parts []*part, c *counter, budget int) {
	lo, hi := -300, 300 // fits at lo, not at hi
	total := func(fine int) (sum int, ok bool) {
		for _, p := range parts {
			// The gain's own bounds are no reason to refuse.
			n, ok := p.quantise(c, min(max(fine, p.base+210-255), p.base+210))
			if !ok {
				return 0, false
			}
			sum += n
		}
		return sum, sum <= budget
	}
	for probe, width := 0, 8; hi-lo > 1; {
		if _, ok := total(probe); ok {
			lo = probe
		} else {
			hi = probe
		}
		switch {
		case lo == -300:
			probe = max(hi-width, lo+1)
			width *= 2
		case hi == 300:
			probe = min(lo+width, hi-1)
			width *= 2
		default:
			probe = (lo + hi) / 2
		}
	}
	sum, _ := total(lo)
	for _, p := range parts {
		was := p.bits
		fine := p.base + 210 - p.gain
		keep, code, gain := p.ix, p.code, p.gain
		if n, ok := p.quantise(c, fine+1); ok && sum-was+n <= budget {
			sum += n - was
			continue
		}
		p.ix, p.code, p.gain, p.bits = keep, code, gain, was
	}
}
