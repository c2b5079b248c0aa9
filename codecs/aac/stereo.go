package aac

import "math"

// A pairing is what the channels of a pair share: which bands are coded as
// middle and side.
type pairing struct {
	mode int // ms_mask_present: none, by band, all
	used [maxParts]bool
}

// readPairing reads which bands are coded as middle and side.
func (d *Decoder) readPairing(p *pairing, l *layout) {
	p.mode = d.bits.read(2)
	for i := range l.groups * l.bands {
		p.used[i] = p.mode == 2 || p.mode == 1 && d.bits.flag()
	}
}

// unpair undoes what is coded jointly: middle and side, and intensity, where
// the right channel is the left one by a factor. Both channels have the same
// layout.
//
// ISO/IEC 14496-3, 4.6.8.
func (p *pairing) unpair(l, r *channel) {
	window := 0
	for g := range r.groups {
		for i := range r.bands {
			part := g*r.bands + i
			book, factor := r.books[part], r.scales[part]
			switch {
			case book == intensityBook || book == intensityBook2:
				if book == intensityBook2 {
					factor = -factor
				}
				// The standard says so of mode 1 only, but encoders that
				// choose mode 2 count on it too.
				if p.used[part] {
					factor = -factor
				}
			case !p.used[part] || book == noiseBook || l.books[part] >= noiseBook:
				continue
			}
			for w := range r.group[g] {
				at := (window + w) * r.width
				from, to := at+int(r.offsets[i]), at+int(r.offsets[i+1])
				x, y := l.coefs[from:to], r.coefs[from:to]
				if book >= intensityBook2 {
					for j, v := range x {
						y[j] = factor * v
					}
					continue
				}
				for j, m := range x {
					s := y[j]
					x[j], y[j] = m+s, m-s
				}
			}
		}
		window += r.group[g]
	}
}

// fillNoise sets bands that the encoder replaced by noise of the same energy.
// Where a pair has noise in both channels of a band coded as middle and side,
// it is the same noise. r is nil for a single channel.
//
// ISO/IEC 14496-3, 4.6.13.
func (d *Decoder) fillNoise(l, r *channel, p *pairing) {
	window := 0
	for g := range l.groups {
		for i := range l.bands {
			part := g*l.bands + i
			left := l.books[part] == noiseBook
			right := r != nil && r.books[part] == noiseBook
			if !left && !right {
				continue
			}
			for w := range l.group[g] {
				at := (window + w) * l.width
				from, to := at+int(l.offsets[i]), at+int(l.offsets[i+1])
				seed := d.noise
				if left {
					d.noise = noise(l.coefs[from:to], l.scales[part], d.noise)
				}
				if right {
					if !(left && p.used[part]) {
						seed = d.noise
					}
					d.noise = noise(r.coefs[from:to], r.scales[part], seed)
				}
			}
		}
		window += l.group[g]
	}
}

// noise sets x to random values whose squares add up to that of scale, and
// returns the seed of the next ones.
func noise(x []float32, scale float32, seed uint32) uint32 {
	var energy float64
	for i := range x {
		// Numerical Recipes' linear congruential generator.
		seed = seed*1664525 + 1013904223
		v := float32(int32(seed)) / (1 << 31)
		x[i] = v
		energy += float64(v) * float64(v)
	}
	if energy == 0 {
		return seed
	}
	f := scale / float32(math.Sqrt(energy))
	for i := range x {
		x[i] *= f
	}
	return seed
}

// quarterPower is 2 to the power of n/4.
func quarterPower(n int) float32 { return float32(math.Exp2(float64(n) / 4)) }
