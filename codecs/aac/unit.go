package aac

// Writing units: ISO/IEC 14496-3, tables 4.3 to 4.57, as far as is used here.

// Bits of what every unit has.
const (
	elementBits = 3 + 4
	endBits     = 3
	layoutLong  = 1 + 2 + 1 + 6 + 1
	layoutShort = 1 + 2 + 1 + 4 + 7
	channelBits = 8 + 3 // the gain; no pulses, noise shaping or gain control
	pairBits    = 1 + 2 // a common layout; the mask
	fillBits    = 3 + 4
)

// headBits are the bits of a unit but for sections, scalefactors, coefficients and mask.
func (e *Encoder) headBits() int {
	bits := elementBits + endBits + layoutLong + channelBits
	if e.last == eightShort {
		bits += layoutShort - layoutLong
	}
	if e.channels == 2 {
		bits += channelBits + pairBits
	}
	return bits
}

// writeUnit writes raw_data_block() and settles what it took with the reservoir.
func (e *Encoder) writeUnit() {
	w := &e.bits
	w.Reset()
	if e.channels == 1 {
		w.Write(elementSCE<<4, 7)
		e.writeChannel(&e.pair[0], true)
	} else {
		w.Write(elementCPE<<4, 7)
		w.Flag(true)
		e.writeLayout()
		w.Write(uint64(e.mask), 2)
		if e.mask == 1 {
			d := &e.division
			for g := range d.groups {
				for _, joint := range e.joint[g*d.bands:][:e.bands] {
					w.Flag(joint)
				}
			}
		}
		e.writeChannel(&e.pair[0], false)
		e.writeChannel(&e.pair[1], false)
	}
	e.rate.settle(w)
}

// writeLayout writes ics_info().
func (e *Encoder) writeLayout() {
	w, d := &e.bits, &e.division
	w.Write(0, 1)
	w.Write(uint64(d.sequence), 2)
	w.Write(0, 1) // sines
	if d.windows == 1 {
		w.Write(uint64(e.bands), 6)
		w.Write(0, 1) // no prediction
		return
	}
	w.Write(uint64(e.bands), 4)
	for g, n := range d.group[:d.groups] {
		if g > 0 {
			w.Flag(false)
		}
		w.Write(1<<(n-1)-1, n-1)
	}
}

// writeChannel writes individual_channel_stream().
func (e *Encoder) writeChannel(s *coding, layout bool) {
	w := &e.bits
	gain := e.finish(s)
	w.Write(uint64(gain), 8)
	if layout {
		e.writeLayout()
	}
	e.writeSections(s)
	e.writeScales(s, gain)
	w.Write(0, 3) // no pulses, noise shaping or gain control
	e.writeSpectrum(s)
}

// finish quantises what is coded and gives bands of zeros that have a codebook the
// scalefactor before them. It returns the first.
func (e *Encoder) finish(s *coding) int {
	gain := -1
	for g := range s.groups {
		for p := g * s.bands; p < g*s.bands+e.bands; p++ {
			if s.chosen[p].largest > 0 {
				from, to := s.start[p], s.start[p+1]
				e.words.quantise(s.quanta[from:to], s.sizes[:], s.x[from:to], s.pow[from:to], s.scales[p])
				if gain < 0 {
					gain = s.scales[p]
				}
			}
		}
	}
	gain = max(gain, 0)
	last := gain
	for g := range s.groups {
		for p := g * s.bands; p < g*s.bands+e.bands; p++ {
			if s.chosen[p].largest == 0 {
				clear(s.quanta[s.start[p]:s.start[p+1]])
				s.scales[p] = last
			}
			last = s.scales[p]
		}
	}
	return gain
}

// writeSections writes section_data().
func (e *Encoder) writeSections(s *coding) {
	w := &e.bits
	size, full := 5, 31
	if s.windows == 8 {
		size, full = 3, 7
	}
	for g := range s.groups {
		books := s.books[g*s.bands:][:e.bands]
		for len(books) > 0 {
			n := 1
			for n < len(books) && books[n] == books[0] {
				n++
			}
			w.Write(uint64(books[0]), 4)
			books = books[n:]
			for ; n >= full; n -= full {
				w.Write(uint64(full), size)
			}
			w.Write(uint64(n), size)
		}
	}
}

// writeScales writes scale_factor_data().
func (e *Encoder) writeScales(s *coding, last int) {
	for g := range s.groups {
		for p := g * s.bands; p < g*s.bands+e.bands; p++ {
			if s.books[p] == zeroBook {
				continue
			}
			c := e.words.scale[s.scales[p]-last+60]
			e.bits.Write(uint64(c.bits), int(c.n))
			last = s.scales[p]
		}
	}
}

// writeSpectrum writes spectral_data().
func (e *Encoder) writeSpectrum(s *coding) {
	for g := range s.groups {
		for p := g * s.bands; p < g*s.bands+e.bands; p++ {
			if book := int(s.books[p]); book != zeroBook {
				e.writePart(s.quanta[s.start[p]:s.start[p+1]], book)
			}
		}
	}
}

// writePart writes coefficients under a codebook.
func (e *Encoder) writePart(q []int16, book int) {
	w, codes, shape := &e.bits, e.words.spectral[book-1], shapes[book-1]
	for ; len(q) > 0; q = q[shape.values:] {
		symbol := 0
		for _, v := range q[:shape.values] {
			n := int(v)
			if !shape.signed {
				n = min(magnitude(v), escape)
			}
			symbol = symbol*shape.base + n + shape.offset
		}
		c := codes[symbol]
		w.Write(uint64(c.bits), int(c.n))
		if shape.signed {
			continue
		}
		for _, v := range q[:shape.values] {
			if v != 0 {
				w.Flag(v < 0)
			}
		}
		if book != escapeBook {
			continue
		}
		for _, v := range q[:shape.values] {
			if n := magnitude(v); n >= escape {
				length := escapeBits(n)
				ones := (length - 5) / 2
				w.Write(1<<(ones+1)-2, ones+1)
				w.Write(uint64(n), ones+4) // without the leading one
			}
		}
	}
}
